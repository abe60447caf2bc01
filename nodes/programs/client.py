"""Programs of a client: opens a run whose program comes with the input, not from a model of the agent."""

from collections.abc import Sequence
from typing import Any

from restgpt.nodes.dialogue.conversation import answered_apis
from restgpt.nodes.programs.program import is_running, written
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import Program
from restgpt.nodes.state.state import State
from restgpt.tools.errors import UnfinishedProgramError

THOUGHT = "A client gave the program."


def corrected(state: Any, thread: str) -> Program | None:
    """Return the program of the thread that a new one corrects: one that ended without a report.

    Raises `UnfinishedProgramError` for a program that has not ended: what it has changed so far has no step yet, so
    another program would make these changes once more.
    """
    before: Program | None = state.get("program")
    if is_running(before):
        raise UnfinishedProgramError(thread)
    return before if before is not None and before.get("end") != "report" else None


def client_update(
    run: Run, state: State, code: str, *, before: Program | None = None, operations: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the update that has the parser run a client's program; `before` is the one that it corrects.

    A corrected program belongs to the same sub-task, so that it gets the answers of the changes that were made. Its
    budget is a new one. `operations` limits the functions that it may call; raises `UnknownOperationError`.
    """
    functions = None
    if operations is not None:
        functions = [run.catalogue.function_name(run.catalogue.operation(name)) for name in operations]
    # The model behind a client may have seen every answer so far.
    seen = answered_apis(state["steps"], messages=state["messages"])
    number = before["number"] + 1 if before else 1
    program = written(
        run, code, writer="client", number=number, is_last=True, before=before, seen=seen, functions=functions
    )
    return {
        "decision": {"kind": "program", "text": program["code"], "thought": THOUGHT, "last": True},
        "plan": "",
        "task": state["task"] if before else state["task"] + 1,
        "round": state["round"] + 1,
        "api_plan": {"calls": [], "reason": THOUGHT},
        "program": program,
        "hint": "",
        "answer": "",
        "baseline": state["usage"],
        "usage": run.usage(),
    }

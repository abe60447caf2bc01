"""The caller's program for a sub-task: written from the operations of the API plan, or corrected after it failed."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from restgpt.nodes.arguments import functions_of, operations_of, sub_task
from restgpt.nodes.dialogue.conversation import answered_apis
from restgpt.nodes.dialogue.knowledge import rules_text
from restgpt.nodes.programs.ending import Ending, close
from restgpt.nodes.programs.program import program_text, written
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import PlannedCall
from restgpt.nodes.state.results import background
from restgpt.nodes.state.rounds import of_round
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render


def sub_task_program(run: Run, state: State) -> dict[str, Any]:
    """Have the model write the program of the API plan, or correct the one that failed."""
    before = state.get("program")
    planned = state["api_plan"]["calls"]
    is_last = state["decision"].get("last", False)
    prompt: list[BaseMessage] = [
        SystemMessage(render("caller_program", program=program_text(run, "caller_report"))),
        HumanMessage(
            render(
                "caller_program_task",
                today=run.today(),
                background=background(state["steps"], before_task=state["task"] + 1, turn=state["turn"]),
                instruction=state["instruction"],
                sub_task=sub_task(state).strip().removeprefix("Sub-task: "),
                last=f"\n{render('caller_program_last')}\n" if is_last else "",
                rules=rules_text(
                    run, operations_of(run, (call["operation"] for call in planned)), state["instruction"]
                ),
                calls="\n".join(
                    f"{number}. {_function(run, call)}: {call['purpose']}" for number, call in enumerate(planned, 1)
                ),
                functions=fenced("document", _functions(run, planned)),
            )
        ),
    ]
    if before is not None:
        feedback = render("caller_program_again", feedback=fenced("feedback", before["feedback"]))
        prompt += [AIMessage(f"```python\n{before['code']}\n```"), HumanMessage(feedback)]
    code = run.models.read_program("caller", prompt)
    number = before["number"] + 1 if before else 1
    seen = answered_apis(state["steps"], state["requests"], messages=state["messages"])
    program = written(run, code, writer="caller", number=number, is_last=is_last, before=before, seen=seen)
    if before is not None and before["code"] == program["code"]:
        return close(run, state, Ending("failed", before["feedback"], before, of_round(state), is_final=True))
    return {"program": program, "hint": "", "usage": run.usage()}


def _function(run: Run, call: PlannedCall) -> str:
    """Return the name of the function of a planned call; an operation's own name may be no name of Python."""
    return run.catalogue.function_name(run.catalogue.operation(call["operation"]))


def _functions(run: Run, planned: Sequence[PlannedCall]) -> str:
    """Return the signatures of the planned operations; their purposes select the fields of the answers."""
    operations = operations_of(run, (call["operation"] for call in planned))
    return functions_of(run, operations, " ".join(call["purpose"] for call in planned))

"""A single call, for a model whose plans cannot be used: it chooses one operation, and writes only its arguments.

A server with grammars lets the model write nothing else than the name of an operation, and arguments that fit the
operation's own schema.
"""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from pydantic import BaseModel, Field, RootModel, model_validator

from restgpt.nodes.dialogue.answer import MAX_NAMED
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import PlannedCall, Proposal, Step
from restgpt.nodes.state.results import told_results
from restgpt.prompts import fenced, render
from restgpt.specs import Operation, UnknownOperationError
from restgpt.specs.docs.arguments_schema import arguments_schema
from restgpt.tools.model.reply import written_calls

ASKED = "I could not find out which call, or which values, this needs"
"""How the question begins with which a turn ends whose model chose no call."""


class SingleOperation(BaseModel):
    """The name of an operation."""

    operation: str

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        calls = written_calls(given)
        return {"operation": calls[0].name} if calls else _first(given)


class Arguments(RootModel[dict[str, Any]]):
    """The arguments of one call, by place or by name."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        calls, first = written_calls(given), _first(given)
        found = first.get("arguments") if isinstance(first, dict) else None
        return calls[0].arguments if calls else found if isinstance(found, dict) else given


def _first(given: Any) -> Any:
    """Return the first entry of a reply that lists calls, as a reply about several of them does."""
    entries = given.get("calls") if isinstance(given, dict) else None
    return entries[0] if isinstance(entries, list) and entries else given


def single_operation(run: Run, prompt: Sequence[BaseMessage], operations: str, task: str) -> PlannedCall:
    """Ask the selector for one of the operations that a text lists; raises `ModelError`.

    `prompt` is that of the selector, whose system message is replaced.
    """
    names = [run.catalogue.name_of(operation) for operation in run.catalogue]
    # A map lists paths instead.
    listed: list[Any] = [name for name in names if f"- {name}:" in operations] or names

    class Choice(SingleOperation):
        operation: str = Field(description="The operation's name.", json_schema_extra={"enum": listed})

    def check(reply: Choice) -> None:
        try:
            run.catalogue.operation(reply.operation)
        except UnknownOperationError as error:
            raise ValueError(f"operation: {error}") from None

    rules = SystemMessage(render("single_operation", operations=fenced("document", operations)))
    reply = run.models.ask("selector", [rules, *prompt[1:]], Choice, check=check)
    name = run.catalogue.name_of(run.catalogue.operation(reply.operation))
    return {"operation": name, "purpose": task, "needs": []}


def single_arguments(
    run: Run, prompt: Sequence[BaseMessage], operation: Operation, check: Callable[[dict[str, Any]], None]
) -> None:
    """Ask the caller for the arguments of one call until `check`, which keeps them, raises no `ValueError`.

    `prompt` is that of the caller, whose system message is replaced. Raises `ModelError`.
    """

    class CallArguments(Arguments):
        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            about = f"The arguments of {operation.name}."
            return {"title": "CallArguments", "description": about, **arguments_schema(operation)}

    if not (operation.parameters or operation.body):
        check({})
        return
    rules = SystemMessage(render("single_call"))
    run.models.ask("caller", [rules, *prompt[1:]], CallArguments, check=lambda reply: check(reply.root))


def question(run: Run, steps: Sequence[Step], task: str, problem: str = "") -> Proposal:
    """Return the answer of a turn that goes on only with a person's help: what is missing, and what was found."""
    names = [run.catalogue.function_name(item) for item in run.catalogue.search(task, MAX_NAMED)]
    such = f" It may be one of {', '.join(names)}." if names else ""
    found = told_results(steps)
    lines = [f"{ASKED}: {task}", problem]
    lines += [f"Which function should I call, and with which values?{such}"]
    lines += [f"What was done and found until then:\n{found}"] if found else []
    return {"kind": "end", "text": "\n".join(filter(None, lines)), "fulfilled": False}

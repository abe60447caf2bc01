"""The state of a thread: plain JSON in every key, so that any checkpointer keeps it; response bodies are not in it."""

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from restgpt.nodes.records import ApiPlan, Decision, Request, Step, Usage, add_steps, add_usage, merge_requests
from restgpt.nodes.text import Given, Text, newer


class Instruction(BinaryOperatorAggregate[str]):
    """The channel of the instruction: its newest text, which is `Given` for the one step after it was written."""

    def update(self, values: Sequence[str]) -> bool:
        """Take in what was written; nothing, when a step went by without."""
        was_given = isinstance(self.value, Given)
        is_given = super().update(values)
        self.value = Given(self.value) if is_given else str(self.value)
        return is_given or was_given

    def checkpoint(self) -> Any:
        """The text as JSON, in a list while it is `Given`."""
        return [str(self.value)] if isinstance(self.value, Given) else self.value

    def from_checkpoint(self, checkpoint: Any) -> "Instruction":
        """The channel as it was kept."""
        return super().from_checkpoint(Given(checkpoint[0]) if isinstance(checkpoint, list) else checkpoint)


class InputState(TypedDict, total=False):
    """What a caller gives: a conversation, or just the instruction."""

    messages: Annotated[list[AnyMessage], add_messages]
    instruction: str


class OutputState(TypedDict, total=False):
    """What a caller gets."""

    messages: Annotated[list[AnyMessage], add_messages]
    answer: str
    usage: Annotated[Usage, add_usage]


class State(TypedDict):
    """Everything that a checkpoint holds.

    `asked` is the id of the message that holds the instruction. `turn` counts instructions of the thread, `task`
    sub-tasks of the turn, `round` API plans of the thread. `plan` is the current sub-task p_t, `api_plan` a_t, `steps`
    the finished (p, a, r). `hint` is what the caller tells the selector when a value is not known. `baseline` is the
    usage before this turn, against which budgets count.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    instruction: Annotated[str, Instruction(str, newer)]
    asked: str
    turn: int
    task: int
    round: int
    plan: Text
    decision: Decision
    api_plan: ApiPlan
    hint: Text
    requests: Annotated[list[Request], merge_requests]
    steps: Annotated[list[Step], add_steps]
    answer: Text
    usage: Annotated[Usage, add_usage]
    baseline: Usage

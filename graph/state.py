"""The state of a thread: plain JSON in every key, so that any checkpointer keeps it; response bodies are not in it."""

from typing import Annotated

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from restgpt.graph.channels import Aggregate, Checked, FormatChannel, Instruction
from restgpt.nodes.records import ApiPlan, Decision, Request, Step, Usage, add_steps, add_usage, merge_requests
from restgpt.nodes.text import Text, newer


class InputState(TypedDict, total=False):
    """What a caller gives: a conversation, or just the instruction."""

    messages: Annotated[list[AnyMessage], add_messages]
    instruction: str


class OutputState(TypedDict, total=False):
    """What a caller gets."""

    messages: Annotated[list[AnyMessage], add_messages]
    answer: str
    usage: Annotated[Usage, Aggregate(Usage, add_usage)]


class State(TypedDict):
    """Everything that a checkpoint holds; `format` is the number of its form.

    `asked` is the id of the message that holds the instruction. `turn` counts instructions of the thread, `task`
    sub-tasks of the turn, `round` API plans of the thread. `plan` is the current sub-task p_t, `api_plan` a_t, `steps`
    the finished (p, a, r). `hint` is what the caller tells the selector when a value is not known. `baseline` is the
    usage before this turn, against which budgets count.
    """

    format: Annotated[int, FormatChannel]
    messages: Annotated[list[AnyMessage], add_messages]
    instruction: Annotated[str, Instruction(str, newer)]
    asked: str
    turn: Annotated[int, Checked]
    task: Annotated[int, Checked]
    round: Annotated[int, Checked]
    plan: Text
    decision: Annotated[Decision, Checked]
    api_plan: Annotated[ApiPlan, Checked]
    hint: Text
    requests: Annotated[list[Request], Aggregate(list[Request], merge_requests)]
    steps: Annotated[list[Step], Aggregate(list[Step], add_steps)]
    answer: Text
    usage: Annotated[Usage, Aggregate(Usage, add_usage)]
    baseline: Annotated[Usage, Checked]

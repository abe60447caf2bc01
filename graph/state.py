"""The state of a thread: JSON in every key, so that any checkpointer can save it; response bodies are in the store."""

from typing import Annotated, Any

from langgraph.channels import UntrackedValue
from typing_extensions import TypedDict

from restgpt.calling.record import Request
from restgpt.graph.channels import (
    Aggregate,
    Checked,
    Conversation,
    FormatChannel,
    GivenConversation,
    Instruction,
    RecipeChannel,
    Requests,
    Steps,
)
from restgpt.nodes.state.records import (
    ApiPlan,
    Decision,
    FunctionChoice,
    Program,
    Proposal,
    RecipeRun,
    Usage,
    add_usage,
    merge_requests,
)
from restgpt.nodes.state.text import Text, newer

Structured = Annotated[Any, UntrackedValue(object, guard=False)]
"""The answer in the form that the host wants; no checkpoint holds it, because its class is one of the host."""


class InputState(TypedDict, total=False):
    """The input of the graph: a conversation, or only the instruction, or a recipe to run with its inputs."""

    messages: GivenConversation
    instruction: str
    recipe: RecipeRun | None


class OutputState(TypedDict, total=False):
    """The output of the graph."""

    messages: Conversation
    answer: str
    usage: Annotated[Usage, Aggregate(Usage, add_usage)]


class FormedState(OutputState, total=False):
    """The output of a graph whose host wants the answer in a form."""

    structured_response: Structured


class State(TypedDict):
    """The state that a checkpoint saves; `format` is the version of its form.

    `asked` is the id of the message with the instruction, `turn_id` that of the turn. `turn` counts the
    instructions of the thread, `task` the sub-tasks of the turn, `round` the API plans of the thread. `plan` is the
    current sub-task p_t. `selection` has the functions for a program that carries out the whole instruction,
    otherwise `api_plan` is a_t. `program` is that of the current round, empty for a round that makes its calls one
    by one. `recipe` is the recipe that the turn runs or has run, if any. `proposal` is what the planner decides
    next without its model. `steps` are the finished (p, a, r). `hint` is the caller's message to the selector about
    an unknown value. `road` is "roles" in a turn that the model's programs cannot carry out, so that it goes on
    call by call. `baseline` is the usage before this turn; budgets count the usage since then. `claim` is the
    number of the run, which no checkpoint holds.
    """

    format: Annotated[int, FormatChannel]
    messages: Conversation
    instruction: Annotated[str, Instruction(str, newer)]
    asked: str
    turn_id: str
    turn: Annotated[int, Checked]
    task: Annotated[int, Checked]
    round: Annotated[int, Checked]
    plan: Text
    decision: Annotated[Decision, Checked]
    selection: Annotated[FunctionChoice | None, Checked]
    api_plan: Annotated[ApiPlan, Checked]
    hint: Text
    road: Text
    program: Annotated[Program | None, Checked]
    proposal: Annotated[Proposal | None, Checked]
    recipe: Annotated[RecipeRun | None, RecipeChannel]
    requests: Annotated[list[Request], Aggregate(Requests, merge_requests)]
    steps: Steps
    answer: Text
    usage: Annotated[Usage, Aggregate(Usage, add_usage)]
    baseline: Annotated[Usage, Checked]
    claim: Annotated[int, UntrackedValue(int, guard=False)]
    structured_response: Structured


SHOWN = ("plan", "selection", "api_plan", "program", "steps")
"""The keys of `State` that clients of a server see besides the output: plan, functions, program and finished steps."""

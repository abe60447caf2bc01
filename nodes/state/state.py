"""The state of a thread: JSON in every key, so that any checkpointer can save it; response bodies are in the store.

Each channel validates what nodes and clients write to its key.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Annotated, Any, Self

from langchain_core.messages import AnyMessage, convert_to_messages
from langgraph.channels import BinaryOperatorAggregate, DeltaChannel, LastValue, UntrackedValue
from langgraph.graph.message import Messages, add_messages
from langgraph.types import Overwrite
from pydantic import AfterValidator, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from restgpt.calling.record import Request
from restgpt.nodes.state.recipe_run import GivenRecipe
from restgpt.nodes.state.records import (
    FORMAT,
    ApiPlan,
    Decision,
    FunctionChoice,
    Given,
    Program,
    Proposal,
    RecipeRun,
    StateError,
    Step,
    Text,
    Usage,
    add_steps,
    add_usage,
    merge_requests,
    newer,
    placed_id,
)
from restgpt.tools.errors import StoppingError
from restgpt.tools.text.storable import storable_value


def _answered(request: Request) -> Request:
    if request["status"] in ("sent", "parsed") and "status" not in request["response"]:
        raise ValueError(f"a call that is {request['status']} has the status of its response in `response`")
    return request


Requests = list[Annotated[Request, AfterValidator(_answered)]]
"""The requests of a round."""


class OtherFormatError(StoppingError):
    """Another version of RestGPT wrote the checkpoint."""

    def __init__(self, found: int) -> None:
        super().__init__(
            f"This thread was written by another version of RestGPT: its checkpoints have format {found}, and this "
            f"version reads format {FORMAT} only. What waited in it was not sent. `restgpt undo` with its id lists "
            "from the journal what was made and what is of unknown outcome, before it asks; for what is missing, ask "
            "again in a new thread. Or open it with that version. Nothing was changed."
        )


class FormatChannel(LastValue[int]):
    """The format number of a thread's checkpoints; raises `OtherFormatError` for any format but `FORMAT`."""

    def from_checkpoint(self, checkpoint: Any) -> "FormatChannel":
        """Return the channel with the value of a checkpoint."""
        if isinstance(checkpoint, int) and checkpoint != FORMAT:
            raise OtherFormatError(checkpoint)
        return super().from_checkpoint(checkpoint)


class _Checked:
    """A channel that raises `StateError` for a written value of another type than `kind`, or than that of the key."""

    key: str
    typ: Any
    kind: Any = None

    def update(self, values: Sequence[Any]) -> bool:
        """Store the written values."""
        check(self.key, self.kind or self.typ, values)
        return bool(super().update(values))  # type: ignore[misc]


class Checked(_Checked, LastValue[Any]):
    """A checked channel that keeps the newest value."""


class Aggregate(_Checked, BinaryOperatorAggregate[Any]):
    """A checked channel that merges written values with a reducer."""


class StepsChannel(_Checked, DeltaChannel[Any]):
    """The checked channel of the finished steps."""

    kind = list[Step]


def each(reducer: Callable[[Any, Any], Any]) -> Callable[[Any, Sequence[Any]], Any]:
    """Return a reducer of many writes that merges one after the other, so that their batches make no difference."""
    return lambda before, writes: reduce(reducer, writes, before)


class Instruction(BinaryOperatorAggregate[str]):
    """The channel of the instruction: keeps the newest text, as `Given` in the one superstep after it was written."""

    def update(self, values: Sequence[str]) -> bool:
        """Store the newest text; without a new text, make the old one a plain string."""
        was_given = isinstance(self.value, Given)
        is_given = super().update(values)
        self.value = Given(self.value) if is_given else str(self.value)
        return is_given or was_given

    def checkpoint(self) -> Any:
        """Return the text for a checkpoint, in a list if it is `Given`."""
        return [str(self.value)] if isinstance(self.value, Given) else self.value

    def from_checkpoint(self, checkpoint: Any) -> "Instruction":
        """Return the channel with the value of a checkpoint."""
        return super().from_checkpoint(Given(checkpoint[0]) if isinstance(checkpoint, list) else checkpoint)


class RecipeChannel(Checked):
    """The channel of the recipe: keeps the newest, as `GivenRecipe` in the one superstep after an input named it."""

    def update(self, values: Sequence[Any]) -> bool:
        """Store the written recipe; without a new one, make the old one a plain record."""
        was_given = isinstance(self.value, GivenRecipe)
        # A host may give anything, and a checkpoint takes only some of it.
        is_new = super().update([storable_value(value) if isinstance(value, dict) else value for value in values])
        # A node has opened a record that has a turn.
        if isinstance(self.value, dict):
            is_given = is_new and "turn" not in self.value
            self.value = GivenRecipe(self.value) if is_given else dict(self.value)
        return is_new or was_given

    def checkpoint(self) -> Any:
        """Return the record for a checkpoint, in a list if it is `GivenRecipe`."""
        return [dict(self.value)] if isinstance(self.value, GivenRecipe) else self.value

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """Return the channel with the value of a checkpoint."""
        return super().from_checkpoint(GivenRecipe(checkpoint[0]) if isinstance(checkpoint, list) else checkpoint)


def check(key: str, kind: Any, values: Sequence[object]) -> None:
    """Raise `StateError` unless all values written to a key have its type."""
    for value in values:
        try:
            _adapter(kind).validate_python(value.value if isinstance(value, Overwrite) else value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = "".join(f"[{part!r}]" for part in first["loc"])
            raise StateError(key, place, first["msg"]) from None


def merge_messages(left: list[AnyMessage], right: Messages) -> Messages:
    """Merge messages as `add_messages` does; raises `StateError` for what is none.

    A message without an id gets one by its place and its text, because it gets it again whenever the state is read.
    """
    try:
        added = convert_to_messages(right if isinstance(right, list) else [right])
        for place, message in enumerate(added, len(left)):
            message.id = message.id or placed_id(place, message.type, message.content)
        return add_messages(left, added)  # type: ignore[arg-type]
    except (ValueError, NotImplementedError) as error:
        # What follows is the value, and where to read on.
        raise StateError("messages", "", str(error).partition("\n")[0].partition(", got ")[0]) from None


# A checkpoint of such a channel has what was written, and every `snapshot_frequency` updates the whole list. LangGraph
# reads a state from the newest whole list on the way to its checkpoint and from the writes after that. Both numbers are
# about twenty turns: with more, opening a thread reads more checkpoints; with fewer, more of them hold all turns.
_CONVERSATION: DeltaChannel[Any] = DeltaChannel(each(merge_messages), snapshot_frequency=60)

Conversation = Annotated[list[AnyMessage], _CONVERSATION]
"""The messages of a thread."""

GivenConversation = Annotated[Sequence[AnyMessage | tuple[str, str] | dict[str, Any]], _CONVERSATION]
"""Messages as a host may give them: objects, pairs of a role and a text, or JSON."""

Steps = Annotated[list[Step], StepsChannel(each(add_steps), snapshot_frequency=40)]
"""The finished steps of a thread."""


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the cached validator of a type."""
    return TypeAdapter(kind)


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
    """The state that a checkpoint saves, and that every node gets; `format` is the version of its form.

    The first node of a turn lacks the keys that nobody has written yet. The parser has one more key while it runs:
    `live`, the program that waits in its process.

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

"""The settings of the graph `openfunctions`, and the records of its state."""

from typing import Annotated, Any, Literal

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from restgpt.nodes.run.services import Day
from restgpt.nodes.state.records import Text
from restgpt.tools.model.structured import Method

OnMissing = Literal["ask", "return", "placeholder"]
Prompting = Literal["structured", "tools", "v0", "v1", "v2"]
CallStyle = Literal["python", "json", "requests", "tools"]
Outcome = Literal["call", "ask", "refuse", "failed"]


class FunctionContext(BaseModel):
    """Run-time settings of `openfunctions`. Every one has a default; a run may override any of them."""

    model_config = ConfigDict(extra="forbid")

    model: Annotated[str, {"__template_metadata__": {"kind": "llm"}}] = Field(
        default="",
        description="The chat model as provider:name, or completion:name for a raw completions endpoint. "
        "Empty: RESTGPT_MODEL.",
    )
    temperature: float | None = Field(
        default=0.0, ge=0, le=2, description="Sampling temperature; null: the model's own."
    )
    prompting: Prompting = Field(
        default="structured",
        description="How the model is asked: for a structured reply, by native tool calling, or in the layout of "
        "OpenFunctions v0, v1 or v2.",
    )
    structured_output: Method = Field(
        default="auto", description="How a structured reply travels: JSON schema mode, a tool call, or JSON in text."
    )
    on_missing: OnMissing = Field(
        default="ask",
        description="What happens when a required value is missing: pause and ask, return the question, or write a "
        "placeholder as the original models do.",
    )
    call_style: CallStyle = Field(default="python", description="How the calls are written in the answer.")
    max_functions: int = Field(
        default=40, ge=1, le=1000, description="How many functions the model reads; of more, the best by search."
    )
    today: Day = Field(default="", description="The date taken for today (YYYY-MM-DD). Empty: the real one.")


class FunctionCall(TypedDict):
    """One call: the function's name and its arguments as plain JSON."""

    name: str
    arguments: dict[str, Any]


class MissingValue(TypedDict):
    """A required value that nobody gave: the number of its call (from 0), its JSON pointer and its documentation."""

    call: int
    function: str
    pointer: str
    name: str
    description: str


class FunctionUsage(TypedDict):
    """The cost of the model calls of one run."""

    calls: int
    input_tokens: int
    output_tokens: int


class FunctionInput(TypedDict, total=False):
    """The input of a run: a conversation or a prompt, and functions in any documented dialect."""

    messages: Annotated[list[AnyMessage], add_messages]
    prompt: str
    functions: Any


class FunctionOutput(TypedDict, total=False):
    """The output of a run: the outcome, the calls as data, as text and as tool calls, and requests for REST calls."""

    messages: Annotated[list[AnyMessage], add_messages]
    outcome: Outcome
    calls: list[FunctionCall]
    text: Text
    tool_calls: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    question: Text
    missing: list[MissingValue]
    answer: Text
    usage: FunctionUsage


class FunctionState(FunctionOutput, total=False):
    """Everything that a checkpoint holds; plain JSON but for the messages."""

    prompt: Text
    functions: Any
    offered: list[int]
    reason: Text

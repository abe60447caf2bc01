"""The settings of a run, as LangGraph's `context`: Studio shows them as configuration."""

from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from restgpt.calling.decision import Writes
from restgpt.nodes.state.records import Usage, tokens
from restgpt.prompts import checked, text_of
from restgpt.tools.model import Role
from restgpt.tools.model.structured import Method

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _checked(day: str) -> str:
    if day:
        date.fromisoformat(day)
    return day


Day = Annotated[str, AfterValidator(_checked)]
"""A date as YYYY-MM-DD; empty: the system date. pydantic rejects any other text."""

MAX_STEPS = 100
"""The maximum value of the setting `max_steps`."""


Road = Literal["auto", "program", "roles"]
"""The ways to carry out an instruction."""

PROMPTS = {"planner": "planner", "selector": "selector", "caller": "instruction", "parser": "parser"}
"""The prompt file of each role whose text a run may replace."""


def _setting(default: Any, description: str, nodes: str = "", **limits: Any) -> Any:
    """Return the field of a setting; Studio shows it at these nodes."""
    shown: Any = {"langgraph_nodes": nodes.split()} if nodes else None
    return Field(default=default, description=description, json_schema_extra=shown, **limits)


def _model(role: Role, name: str) -> Any:
    return _setting("", f"Chat model of the {name}, instead of `model`.", role)


def _prompt(role: Role, what: str) -> Any:
    shown: Any = {"langgraph_nodes": [role], "langgraph_type": "prompt"}
    return Field(default=text_of(PROMPTS[role]), description=f"System prompt {what}.", json_schema_extra=shown)


class Context(BaseModel):
    """The settings of a run. Each has a default, and a run may override it."""

    model_config = ConfigDict(extra="forbid")

    model: Annotated[str, {"__template_metadata__": {"kind": "llm"}}] = _setting(
        "",
        "Chat model of all roles as provider:name, such as openai:gpt-5-mini. Empty: RESTGPT_MODEL.",
        "planner selector caller parser",
    )
    planner_model: str = _model("planner", "planner")
    selector_model: str = _model("selector", "API selector")
    caller_model: str = _model("caller", "caller")
    parser_model: str = _model("parser", "parser")
    planner_prompt: str = _prompt("planner", "of the planner's model")
    selector_prompt: str = _prompt("selector", "of the API selector's model")
    caller_prompt: str = _prompt("caller", "of the caller, for a program that carries out the whole instruction")
    parser_prompt: str = _prompt("parser", "of the parser, for Python over one response")
    temperature: float | None = _setting(0.0, "Sampling temperature. null: the model's default.", ge=0, le=2)
    model_timeout: float = _setting(120, "Timeout of one model call, in seconds.", gt=0)
    structured_output: Method = _setting(
        "auto",
        "How replies are structured: the provider's JSON schema mode, a tool call, or JSON in text.",
        "planner selector caller",
    )
    apis: list[str] = Field(default_factory=list, description="Names of the APIs to use. Empty: all configured APIs.")
    writes: Writes = _setting(
        "ask", "Policy for requests that change data: ask a person, allow, deny, or only show them (dry-run).", "parser"
    )
    undo: bool = _setting(
        True, "Read the target of a change before sending the change, so that the change can be undone.", "parser"
    )
    today: Day = _setting("", "Date that prompts give as today's date (YYYY-MM-DD). Empty: the system date.")
    road: Road = _setting(
        "auto",
        "How an instruction is carried out: by a Python program, which a model writes for the whole of it first "
        "(program), or sub-task by sub-task and call by call, as in the paper (roles). auto: by a program where the "
        "sandbox runs programs; the roles carry on a turn of which no reply can be read.",
        "planner selector caller parser",
    )
    learned_shapes: bool = _setting(
        True,
        "Keep the names and types of the fields of responses, without values, and which arguments servers demand "
        "beyond their documents, and show both in prompts where the document lacks them.",
        "planner caller",
    )
    max_steps: int = _setting(15, "Maximum number of API plans for one instruction.", ge=1, le=MAX_STEPS)
    max_requests: int = _setting(200, "Maximum number of requests for one instruction.", ge=1, le=1000)
    max_tokens: int = _setting(500_000, "Maximum number of model tokens for one instruction.", ge=1000)
    max_reply_tokens: int = _setting(
        8192,
        "Maximum number of tokens of one reply, thoughts included, where the model itself has no limit.",
        "planner selector caller parser",
        ge=100,
    )
    max_seconds: float = _setting(
        900, "Maximum time for one instruction in seconds, without pauses for approval.", gt=0
    )
    operations_budget: int = _setting(
        6000,
        "Tokens of the selector's operation list. A longer list is cut to the best matches, in half as many tokens.",
        "selector",
        ge=200,
    )
    functions_budget: int = _setting(
        3400,
        "Maximum tokens of the functions in the caller's prompt. "
        "If not all fit, the best for the instruction are shown, the others as lines.",
        "selector caller",
        ge=200,
    )
    rules_budget: int = _setting(
        2000,
        "Maximum tokens of the descriptions and rules of the APIs in a prompt about the instruction. "
        "An API that only reads gets two fifths, planned calls get half.",
        "planner caller",
        ge=100,
    )
    documentation_budget: int = _setting(
        1800, "Maximum tokens of one operation's documentation or function in the caller's prompt.", "caller", ge=200
    )
    result_budget: int = _setting(
        2000,
        "Maximum tokens of one extracted result, and of a body that the model reads without code.",
        "parser",
        ge=100,
    )
    code: bool = _setting(
        True,
        "Extract results with generated Python, where calls are made one by one. "
        "false: the model reads the response body.",
        "parser",
    )

    @field_validator("planner_prompt", "selector_prompt", "caller_prompt", "parser_prompt")
    @classmethod
    def _complete(cls, text: str, info: ValidationInfo) -> str:
        return checked(PROMPTS[str(info.field_name).removesuffix("_prompt")], text)


Context.model_rebuild()


def used_up(context: Context, steps: int, spent: Usage) -> str:
    """Return the budgets that are used up, in words; empty if there is budget left."""
    budgets = {
        f"{context.max_steps} API plans": steps >= context.max_steps,
        f"{context.max_requests} requests": spent["requests"] >= context.max_requests,
        f"{context.max_tokens} tokens": tokens(spent) >= context.max_tokens,
        f"{context.max_seconds:g} seconds": spent["seconds"] >= context.max_seconds,
    }
    return ", ".join(name for name, over in budgets.items() if over)


def allows_a_last_question(context: Context, spent: Usage) -> bool:
    """Return whether tokens and seconds are left for one more model call, which writes the final answer."""
    return tokens(spent) < context.max_tokens and spent["seconds"] < context.max_seconds


def today_text(setting: Day, system_date: Callable[[], date]) -> str:
    """Return today's date for a prompt: the date of the setting `today`, or the system date if it is empty."""
    return dated(date.fromisoformat(setting) if setting else system_date())


def dated(day: date) -> str:
    """Format a date with its weekday, such as `2023-12-01, a Friday`, because models often get the weekday wrong."""
    return f"{day.isoformat()}, a {WEEKDAYS[day.weekday()]}"

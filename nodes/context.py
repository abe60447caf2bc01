"""The settings of a run: what Studio shows as configuration and a host passes as `context`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from restgpt.calling.policy import Writes
from restgpt.nodes.day import Day
from restgpt.tools.errors import SettingsError
from restgpt.tools.model.role import ROLES
from restgpt.tools.model.structured import Method

MAX_STEPS = 100
"""How many API plans the setting `max_steps` can allow."""


def _shown_at(*nodes: str) -> dict[str, Any]:
    """Which nodes Studio shows a setting at."""
    return {"langgraph_nodes": list(nodes)}


class Context(BaseModel):
    """Run-time settings. Every one has a default; a run may override any of them."""

    model_config = ConfigDict(extra="forbid")

    model: Annotated[str, {"__template_metadata__": {"kind": "llm"}}] = Field(
        default="",
        description="The chat model of all roles as provider:name, such as openai:gpt-5-mini. Empty: RESTGPT_MODEL.",
        json_schema_extra=_shown_at(*ROLES),
    )
    planner_model: str = Field(
        default="", description="Another model for the planner.", json_schema_extra=_shown_at("planner")
    )
    selector_model: str = Field(
        default="", description="Another model for the API selector.", json_schema_extra=_shown_at("selector")
    )
    caller_model: str = Field(
        default="", description="Another model for the caller.", json_schema_extra=_shown_at("caller")
    )
    parser_model: str = Field(
        default="", description="Another model for the parser.", json_schema_extra=_shown_at("parser")
    )
    temperature: float | None = Field(
        default=0.0, ge=0, le=2, description="Sampling temperature; null: the model's own."
    )
    model_timeout: float = Field(default=120, gt=0, description="Seconds that one model call may take.")
    structured_output: Method = Field(
        default="auto",
        description="How replies are structured: by the provider's JSON schema mode, a tool call, or JSON in text.",
        json_schema_extra=_shown_at("planner", "selector", "caller"),
    )
    apis: list[str] = Field(
        default_factory=list, description="Names of the APIs to use. Empty: all that are configured."
    )
    writes: Writes = Field(
        default="ask",
        description="What happens to a request that changes something: ask a person, allow, deny, or only show it.",
        json_schema_extra=_shown_at("approval"),
    )
    undo: bool = Field(
        default=True,
        description="Read what a change replaces before it is made, so that it can be undone.",
        json_schema_extra=_shown_at("sender"),
    )
    today: Day = Field(
        default="", description="The date that the agent takes for today (YYYY-MM-DD). Empty: the real one."
    )
    max_steps: int = Field(default=15, ge=1, le=MAX_STEPS, description="Upper bound on API plans for one instruction.")
    max_requests: int = Field(default=60, ge=1, le=1000, description="Upper bound on requests for one instruction.")
    max_tokens: int = Field(default=500_000, ge=1000, description="Upper bound on model tokens for one instruction.")
    max_seconds: float = Field(default=900, gt=0, description="Upper bound on active seconds for one instruction.")
    operations_budget: int = Field(
        default=6000,
        ge=200,
        description="Tokens of the selector's operation list; of a longer one the best are shown, for half of them.",
        json_schema_extra=_shown_at("selector"),
    )
    documentation_budget: int = Field(
        default=1800,
        ge=200,
        description="Tokens of documentation that the caller reads for one operation.",
        json_schema_extra=_shown_at("caller"),
    )
    schema_budget: int = Field(
        default=1000,
        ge=100,
        description="Tokens of response schema that the parser reads.",
        json_schema_extra=_shown_at("parser"),
    )
    result_budget: int = Field(
        default=2000,
        ge=100,
        description="Tokens of one extracted result, and of a body that is read without code.",
        json_schema_extra=_shown_at("parser"),
    )
    grounding: bool = Field(
        default=True,
        description="Refuse ids that stand neither in the instruction nor in a result.",
        json_schema_extra=_shown_at("caller"),
    )
    code: bool = Field(
        default=True,
        description="Read responses with generated Python. Off: the model reads the body.",
        json_schema_extra=_shown_at("parser"),
    )


Context.model_rebuild()


def checked_context(given: Mapping[str, Any]) -> Context:
    """The settings of a run; raises `SettingsError` that names each one that is wrong, and the settings there are."""
    try:
        return Context(**given)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False)]
        known = ", ".join(name for name in Context.model_fields if name != "apis")
        raise SettingsError(f"Settings that cannot be used: {'; '.join(problems)}. Known: {known}") from None

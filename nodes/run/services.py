"""The settings of a run, as LangGraph's `context`: Studio shows them as configuration.

The services of a graph: APIs, models, HTTP client, store and clocks, built once and shared by all of its runs.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import date
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from restgpt.calling.decision import Writes
from restgpt.nodes.state.records import Usage, tokens
from restgpt.prompts import checked, text_of
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api, Catalogue
from restgpt.specs.api import reached, slug
from restgpt.specs.reach import Reach
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.errors import FolderError, SettingsError
from restgpt.tools.http.connection import SessionAdapter
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.model import Role
from restgpt.tools.model.provider import ChatModel, bounded, chat_model, resolve_model
from restgpt.tools.model.structured import Method
from restgpt.tools.response.store import BodyCache, BoundedMemory, locked
from restgpt.tools.settings import Settings
from restgpt.tools.text.redaction import Redactor

if TYPE_CHECKING:
    import requests

    from restgpt.recipes.book import RecipeBook

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _checked_day(day: str) -> str:
    if day:
        date.fromisoformat(day)
    return day


Day = Annotated[str, AfterValidator(_checked_day)]
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
        "How an instruction is carried out: by a Python program (program), or sub-task by sub-task and call by call, "
        "as in the paper (roles). auto: by a program, or by roles in a turn of which no reply can be read.",
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
    max_wait: float = _setting(
        60,
        "Maximum time in seconds that a run waits at once where a program waits; for longer waits it stops, to be "
        "resumed later.",
        ge=0,
    )
    approval_hours: float = _setting(0, "Hours after which a question without an answer is rejected. 0: never.", ge=0)
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


log = logging.getLogger("restgpt.recipes")


class Services:
    """The APIs, models, connections, store and clock of a graph; tests replace any of them.

    Without `apis`, a run reads the APIs of `apis.yaml` when it first needs them, and without `recipes` those in the
    folder of the settings. Requests go by `session`, if there is one (`SessionAdapter`). Runs use `store` if
    LangGraph gives them none: LangGraph gives a subgraph only the store of its parent.
    """

    def __init__(
        self,
        apis: Api | Sequence[Api] | None = None,
        *,
        model: str | ChatModel | None = None,
        models: Mapping[str, str | ChatModel] | None = None,
        defaults: Context | None = None,
        store: BaseStore | None = None,
        http: HttpClient | None = None,
        session: "requests.Session | None" = None,
        settings: Settings | None = None,
        examples: Mapping[str, str] | None = None,
        recipes: "RecipeBook | Sequence[Recipe] | None" = None,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], date] = date.today,
        now: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        self.defaults = defaults or Context()
        self.clock = clock
        self.today = today
        self.now = now
        self.new_id = new_id
        self._apis = _checked(apis) if apis is not None else None
        self._model = model if model is None or isinstance(model, str) else chat_model(model)
        self._models = {
            role: item if isinstance(item, str) else chat_model(item) for role, item in (models or {}).items()
        }
        self._resolved: dict[tuple[str | int, float | None, float, int], BaseChatModel] = {}
        self._http = http
        self._session = session
        self._settings = settings and settings.beside_apis(self._apis or ())
        self._examples = dict(examples or {})
        self._recipes = recipes
        self.store = store
        self._memory = BoundedMemory()
        self.bodies = BodyCache()
        self.rule = ""
        self._lock = Lock()
        self._catalogues: dict[tuple[str, ...], Catalogue] = {}
        self._reaches: tuple[Reach, ...] = ()

    def with_defaults(self, **settings: Any) -> "Services":
        """Return the same services with other default settings of runs."""
        other = copy(self)
        other.defaults = self.defaults.model_copy(update=settings)
        return other

    def with_rule(self, rule: str) -> "Services":
        """Return the same services with a further rule of the host for every role."""
        other = copy(self)
        other.rule = rule
        return other

    def within(self, reach: Reach) -> "Services":
        """Return the same services without the operations that a reach bars."""
        other = copy(self)
        other._reaches, other._catalogues = (*self._reaches, reach), {}
        return other

    def store_of(self, runtime: Runtime[Context]) -> BaseStore:
        """Return the store of a run: that of LangGraph, else that of the graph, else one in memory."""
        store = runtime.store or self.store
        return locked(store) if store else self._memory

    @property
    def settings(self) -> Settings:
        """The settings of the environment, read once."""
        with self._lock:
            if self._settings is None:
                self._settings = Settings.from_env(is_allowed=self._apis is not None).beside_apis(self._apis or ())
            return self._settings

    @property
    def http(self) -> HttpClient:
        """The HTTP client of all runs, with the connections, rate limits and the redactor."""
        settings = self.settings
        with self._lock:
            if self._http is None:
                adapter = None if self._session is None else SessionAdapter(self._session)
                self._http = HttpClient(settings=settings, tokens=OAuthTokens(settings), adapter=adapter)
            return self._http

    def redactor(self) -> Redactor:
        """Return the redactor of all secrets that are known by now; it reads no document, and never fails."""
        with self._lock:
            apis = [*(self._apis or ()), *(api for item in self._catalogues.values() for api in item.apis)]
        try:
            return self.http.redactor(*apis)
        except SettingsError:
            return Redactor(value for api in apis for value in api.auth.values())

    def catalogue(self, names: Sequence[str]) -> Catalogue:
        """Return the operations of the named APIs, or of all APIs; raises `SettingsError` for an unknown name."""
        key = tuple(names)
        settings = self.settings
        with self._lock:
            if key not in self._catalogues:
                self._catalogues[key] = Catalogue(reached(_chosen(self._apis, names, settings), *self._reaches))
            return self._catalogues[key]

    def recipes(self) -> Sequence[Recipe]:
        """Return the recipes that runs can use: those given, or those in the folder of the settings as they are now."""
        # Late, because it reads YAML, which most programs do not need.
        from restgpt.recipes.book import RecipeBook, RecipeFileError

        given = self._recipes
        if given is not None and not isinstance(given, RecipeBook):
            return given
        try:
            recipes, problems = (given or RecipeBook(self.settings.recipes)).all()
        except (RecipeFileError, FolderError, OSError) as error:
            # Runs without a recipe need no folder of recipes.
            recipes, problems = [], [str(error)]
        for problem in problems:
            log.warning("A recipe file is left out. %s", problem)
        return recipes

    def model(self, role: Role, context: Context, instead: Role | None = None) -> BaseChatModel:
        """Return the model of a role; the first of these that is set names it.

        The role's setting of the run, the graph's `models`, the run's `model`, the graph's `model`, the environment. A
        role without a setting of its own takes the model of the role `instead`.
        """
        own = self._own(role, context)
        if not own and instead and not self.settings.models.get(role):
            role = instead
            own = self._own(role, context)
        wanted = own or context.model or self._model or self.settings.model_for(role)
        name, most = wanted if isinstance(wanted, str) else id(wanted), context.max_reply_tokens
        key = (name, context.temperature, context.model_timeout, most)
        with self._lock:
            if key not in self._resolved:
                model = resolve_model(wanted, temperature=context.temperature, timeout=context.model_timeout)
                self._resolved[key] = bounded(model, most)
            return self._resolved[key]

    def _own(self, role: Role, context: Context) -> str | BaseChatModel | None:
        return getattr(context, f"{role}_model") or self._models.get(role)

    def examples(self, role: Role) -> str:
        """Return the examples for a role's prompt, given with the APIs; empty for most APIs."""
        text = self._examples.get(role, "").strip()
        return f"\n# Examples\n{text}" if text else ""


def _checked(apis: Api | Sequence[Api]) -> list[Api]:
    """Return the APIs as a list; raises `TypeError` for anything but loaded APIs."""
    listed = [apis] if isinstance(apis, Api) else list(apis)
    for api in listed:
        if not isinstance(api, Api):
            raise TypeError(
                f"apis must be loaded APIs, but contains {type(api).__name__}. Give load_api(…), or a list of such."
            )
    return listed


def _chosen(apis: Sequence[Api] | None, names: Sequence[str], settings: Settings) -> list[Api]:
    """Return the named APIs, or all, from `apis` or else from the settings; raises `SettingsError`."""
    known = [api.name for api in apis] if apis is not None else list(settings.apis)
    wanted = {slug(name) for name in names or known}
    if unknown := [name for name in names if slug(name) not in map(slug, known)]:
        listed = ", ".join(known) or "none"
        raise SettingsError(
            f"There is no API {unknown[0]!r}. The configured APIs are: {listed}. Choose one of them, or add the API to "
            "apis.yaml. A server reads that file once, so start it again."
        )
    if not wanted:
        raise SettingsError(
            "No API is configured. Describe your APIs in apis.yaml, in the folder in which the server or program was "
            "started or in RESTGPT_HOME, and start it again. The command line also takes a document with --spec, and "
            "Python takes build_graph([load_api(…)])."
        )
    if apis is None:
        return [settings.load(name) for name in settings.apis if slug(name) in wanted]
    own = [settings.reached(api) for api in apis]
    return [api for api in own if slug(api.name) in wanted]

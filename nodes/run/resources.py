"""The resources of the nodes: APIs, models, HTTP client, stores. All runs share them; each is opened on first use."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from restgpt.calling.journal.claim import Claim
from restgpt.calling.journal.journal import Journal
from restgpt.calling.notes import Answered, Notes
from restgpt.calling.permissions import Permissions
from restgpt.calling.policy import Rules
from restgpt.calling.session import Session, Watch, unwatched
from restgpt.calling.shapes import Shapes
from restgpt.nodes.run.answer_stream import AnswerStream
from restgpt.nodes.run.claims import CLAIM, RunClaims
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.model_calls import ModelCalls
from restgpt.nodes.run.progress import request_reporter
from restgpt.nodes.run.role_models import RoleModels
from restgpt.nodes.run.today import today_text
from restgpt.nodes.state.recipe_run import has_reader, stricter
from restgpt.nodes.state.records import Request, Usage
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api, Catalogue
from restgpt.specs.api import slug
from restgpt.specs.docs.interface import Learned
from restgpt.specs.status import is_success
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.errors import SettingsError
from restgpt.tools.http.client import HttpClient
from restgpt.tools.model.embeddings import vector_search
from restgpt.tools.model.role import Role
from restgpt.tools.response.memory_store import BoundedMemory, locked
from restgpt.tools.response.store import BodyCache, ResponseStore, UnknownHandleError
from restgpt.tools.sandbox.result import Limits
from restgpt.tools.sandbox.runner import runs_programs
from restgpt.tools.sandbox.waiting import WaitingPrograms
from restgpt.tools.settings import Settings
from restgpt.tools.text.redaction import Redactor

if TYPE_CHECKING:
    from restgpt.recipes.book import RecipeBook

log = logging.getLogger("restgpt.recipes")

SECONDS_PER_DAY = 86_400

SHORTEST_RUN = 0.05
"""The least time that a sandbox run is given, in seconds; it ends with a timeout where nothing is left."""

MOST_LEARNED = 1_000_000
"""The maximum size of a response whose shape is learned, in bytes."""


def check_store(checkpointer: BaseCheckpointSaver[Any] | bool | None, store: BaseStore | None) -> None:
    """Raise `ValueError` for a persistent checkpointer without a store: a resumed run would have no write journal."""
    lasts = isinstance(checkpointer, BaseCheckpointSaver) and not isinstance(checkpointer, InMemorySaver)
    if lasts and store is None:
        raise ValueError(
            "A persistent checkpointer needs a store, which saves the write journal and the response bodies. Give a "
            "store, such as SqliteStore(…), to build_graph or to the parent graph: "
            "compile(checkpointer=SqliteSaver(…), store=SqliteStore(…))"
        )


class Resources:
    """The APIs, models, connections, store and clock of a graph; tests replace any of them.

    Without `apis`, a run reads the APIs of `apis.yaml` when it first needs them, and without `recipes` those in the
    folder of the settings. Runs use `store` if LangGraph gives
    them none: LangGraph gives a subgraph only the store of its parent.
    """

    def __init__(
        self,
        apis: Sequence[Api] | None = None,
        *,
        model: str | BaseChatModel | None = None,
        models: Mapping[str, str | BaseChatModel] | None = None,
        defaults: Context | None = None,
        store: BaseStore | None = None,
        http: HttpClient | None = None,
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
        self._models = RoleModels(model, models or {}, lambda: self.settings)
        self._http = http
        self._settings = settings and settings.beside_apis(self._apis or ())
        self._examples = dict(examples or {})
        self._recipes = recipes
        self._store = store
        self._memory = BoundedMemory()
        self.bodies = BodyCache()
        self.waiting_programs = WaitingPrograms()
        self.claims = RunClaims()
        self._lock = Lock()
        self._catalogues: dict[tuple[str, ...], Catalogue] = {}

    def with_defaults(self, **settings: Any) -> "Resources":
        """Return the same resources with other default settings of runs."""
        other = copy(self)
        other.defaults = self.defaults.model_copy(update=settings)
        return other

    def open(
        self,
        runtime: Runtime[Context],
        config: RunnableConfig,
        *,
        spent: float | None = None,
        tokens: int | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> "Run":
        """Return the resources of one node run; the settings of the run override the graph's defaults.

        `spent` is the number of seconds that the turn has taken so far. Without it, no deadline ends this node run.
        `tokens` is the number of model tokens that it has taken. Without it, any number of model calls may be made. If
        the `state` has a recipe for the turn whose file bans changes, this run has that setting.
        Raises `ValueError` for the same reason as `check_store`: a subgraph gets its parent's checkpointer only here.
        """
        context = self.defaults
        # A parent graph passes its own context to a subgraph; ignore a context of another class.
        if isinstance(runtime.context, Context):
            context = context.model_copy(update=runtime.context.model_dump(exclude_unset=True))
        writes = stricter(context.writes, state or {})
        if writes != context.writes:
            context = context.model_copy(update={"writes": writes})
        configured = config.get("configurable", {})
        check_store(configured.get("__pregel_checkpointer"), runtime.store or self._store)
        thread = str(configured.get("thread_id") or "no-thread")
        claim = configured.get(CLAIM)
        return Run(
            self,
            context,
            self.store_of(runtime),
            thread,
            started=self.clock(),
            spent=spent,
            tokens=tokens,
            claim=claim,
            has_reader=has_reader(state or {}),
            watch=request_reporter(runtime.stream_writer),
        )

    def store_of(self, runtime: Runtime[Context]) -> BaseStore:
        """Return the store of a run: that of LangGraph, else that of the graph, else one in memory."""
        store = runtime.store or self._store
        return locked(store) if store else self._memory

    @property
    def settings(self) -> Settings:
        """The settings of the environment, read once."""
        with self._lock:
            if self._settings is None:
                self._settings = Settings.from_env().beside_apis(self._apis or ())
            return self._settings

    @property
    def http(self) -> HttpClient:
        """The HTTP client of all runs, with the connections, rate limits and the redactor."""
        settings = self.settings
        with self._lock:
            if self._http is None:
                self._http = HttpClient(settings=settings, tokens=OAuthTokens(settings))
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
                self._catalogues[key] = Catalogue(_chosen(self._apis, names, settings), vector_search(settings))
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
        except (RecipeFileError, OSError) as error:
            # Runs without a recipe need no folder of recipes.
            recipes, problems = [], [str(error)]
        for problem in problems:
            log.warning("A recipe file is left out. %s", problem)
        return recipes

    def model(self, role: Role, context: Context, instead: Role | None = None) -> BaseChatModel:
        """Return the chat model of a role, as `RoleModels.model`."""
        return self._models.model(role, context, instead)

    def examples(self, role: Role) -> str:
        """Return the examples for a role's prompt, given with the APIs; empty for most APIs."""
        text = self._examples.get(role, "").strip()
        return f"\n# Examples\n{text}" if text else ""


@dataclass(slots=True)
class Run:
    """The resources of one node run, and a count of what it uses: `models` asks the models of its roles.

    `has_reader` says whether a model may read the answers of this turn. `answer` shows the answer while it is written,
    `watch` the requests while they are sent.
    """

    resources: Resources
    context: Context
    store: BaseStore
    thread: str
    started: float
    spent: float | None = None
    tokens: int | None = None
    claim: Claim | None = None
    has_reader: bool = True
    watch: Watch = unwatched
    answer: AnswerStream = field(default_factory=AnswerStream)
    models: ModelCalls = field(init=False)
    _session: Session | None = None

    def __post_init__(self) -> None:
        def model(role: Role, instead: Role | None) -> BaseChatModel:
            return self.resources.model(role, self.context, instead)

        self.models = ModelCalls(model, self.context, self.left, lambda: self.session.redactor(), tokens=self.tokens)

    @property
    def catalogue(self) -> Catalogue:
        """The operations of this run's APIs."""
        return self.resources.catalogue(self.context.apis)

    @property
    def shapes(self) -> Shapes:
        """The learned shapes of responses; they stay empty if the run's setting is off."""
        return Shapes(self.store if self.context.learned_shapes else None)

    @property
    def notes(self) -> Notes:
        """What servers demand beyond their documents; there are no notes if the run's setting is off."""
        return Notes(self.store if self.context.learned_shapes else None)

    @property
    def rules(self) -> Rules:
        """The user's rules, and what a person permitted."""
        return Rules(self.resources.settings, self.context.writes, Permissions(self.store))

    @property
    def writes_programs(self) -> bool:
        """Whether models write programs; if not, they make calls one by one, on the paper's road."""
        return self.context.road == "program" or (self.context.road == "auto" and runs_programs())

    @property
    def session(self) -> Session:
        """The session that sends the calls of this node run."""
        if self._session is None:
            self._session = Session(
                catalogue=self.catalogue,
                http=self.resources.http,
                responses=ResponseStore(self.store, cache=self.resources.bodies),
                journal=Journal(self.store, self.thread, run=self.claim),
                rules=self.rules,
                keep_earlier=self.context.undo,
                compares=self.has_reader,
                watch=self.watch,
            )
            if self.spent is not None:
                self._session.deadline = self._session.clock() + self.left()
        return self._session

    def left(self) -> float:
        """Return the seconds until the deadline of the turn, which all work of this node run must keep."""
        if self.spent is None:
            return math.inf
        return max(0.0, self.context.max_seconds - self.spent - (self.resources.clock() - self.started))

    def limits(self, limits: Limits) -> Limits:
        """Return the limits of a sandbox run that ends by the deadline of the turn."""
        left = max(SHORTEST_RUN, self.left())
        if left == math.inf:
            return limits
        return replace(limits, wall=min(limits.wall, left), cpu=min(limits.cpu, left), total=left)

    def usage(self) -> Usage:
        """Return the usage of this node run; the state's reducer adds it to the usage of the thread."""
        return {
            "roles": self.models.usage(),
            "requests": self._session.requests if self._session else 0,
            "seconds": round(self.resources.clock() - self.started, 3),
        }

    def today(self) -> str:
        """Return today's date for a prompt."""
        return today_text(self.context.today, self.resources.today)

    def now(self) -> float:
        """Return the time for a program, in seconds since 1970, on the day of the setting `today` if there is one."""
        now = self.resources.now()
        if not self.context.today:
            return now
        day = datetime.combine(date.fromisoformat(self.context.today), datetime.min.time(), UTC)
        return day.timestamp() + now % SECONDS_PER_DAY

    def new_id(self) -> str:
        """Return a new request id."""
        return self.resources.new_id()

    def examples(self, role: Role) -> str:
        """Return the examples for a role's system message."""
        return self.resources.examples(role)

    def learned(self, focus: str = "") -> Learned:
        """What earlier calls taught of operations; the fields of answers that `focus` names come first."""
        return Learned(
            lambda operation: self.shapes.seen(operation, focus=focus) or "",
            lambda operation: "; ".join(note.text for note in self.notes.of(operation)),
        )

    def learn(self, request: Request, earlier: Iterable[Request] = ()) -> None:
        """Learn the shape of the response to a request, if it is a successful one with JSON of a moderate size.

        Learn also which arguments made the difference to requests in `earlier` that the server refused. All this is
        learned for a model, so without a reader nothing is.
        """
        response = request["response"]
        if not self.has_reader:
            return
        same = (_answered(item) for item in earlier if item["operation"] == request["operation"] and item["response"])
        self.notes.learn(self.catalogue.operation(request["operation"]), _answered(request), same)
        if not is_success(int(response.get("status", 0))) or response.get("kind") != "json" or response["truncated"]:
            return
        if response["size"] <= MOST_LEARNED:
            try:
                body = self.session.responses.open(response["handle"])
            except UnknownHandleError:
                return
            self.shapes.learn(self.catalogue.operation(request["operation"]), body.value)


def _answered(request: Request) -> Answered:
    return Answered(request["arguments"], int(request["response"].get("status", 0)))


def _checked(apis: Sequence[Api]) -> list[Api]:
    """Return the APIs as a list; raises `TypeError` for anything but loaded APIs."""
    listed = list(apis)
    for api in listed:
        if not isinstance(api, Api):
            raise TypeError(
                f"apis must be a list of loaded APIs, but contains {type(api).__name__}. Give [load_api(…)]."
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
    for api in apis:
        settings.entry(api)
    return [api for api in apis if slug(api.name) in wanted]

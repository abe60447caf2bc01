"""What nodes work with: APIs, models, the HTTP client, the stores. Opened when first used, shared by all runs."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from restgpt.calling.journal import Journal
from restgpt.calling.policy import Rules
from restgpt.calling.session import Session
from restgpt.nodes.context import Context
from restgpt.nodes.records import Usage
from restgpt.prompts import dated
from restgpt.specs import Api, Catalogue, load_api
from restgpt.specs.api import slug
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.errors import SettingsError
from restgpt.tools.http.client import HttpClient
from restgpt.tools.model.errors import ModelReplyError
from restgpt.tools.model.provider import resolve_model
from restgpt.tools.model.reply import read_text
from restgpt.tools.model.role import Role
from restgpt.tools.model.structured import ask
from restgpt.tools.model.usage import ModelUsage
from restgpt.tools.response.memory_store import BoundedMemory, locked
from restgpt.tools.response.store import BodyCache, ResponseStore
from restgpt.tools.settings import ApiEntry, Settings

Answer = TypeVar("Answer", bound=BaseModel)

MOST_SUBJECTS = 24
"""How many subjects of an API the planner is told."""


def check_store(checkpointer: BaseCheckpointSaver[Any] | bool | None, store: BaseStore | None) -> None:
    """Refuse a checkpointer that outlives the process without a store, since a resumed run would have no journal."""
    lasts = isinstance(checkpointer, BaseCheckpointSaver) and not isinstance(checkpointer, InMemorySaver)
    if lasts and store is None:
        raise ValueError(
            "A checkpointer that outlives the process needs a store beside it, for the write journal and the response "
            "bodies. Give one, such as SqliteStore(…), to build_graph or to the graph that holds this one: "
            "compile(checkpointer=SqliteSaver(…), store=SqliteStore(…))"
        )


class Resources:
    """The outside world of a graph, behind seams that tests replace.

    Without `apis`, those that `apis.yaml` names are read when a run first needs them. `store` serves runs whose graph
    has none: LangGraph gives a graph that is part of another the store of that one only.
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
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], date] = date.today,
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        self.defaults = defaults or Context()
        self.clock = clock
        self.today = today
        self.new_id = new_id
        self._apis = _checked(apis) if apis is not None else None
        self._model = model
        self._models = dict(models or {})
        self._http = http
        self._settings = settings
        self._examples = dict(examples or {})
        self._store = store
        self._memory = BoundedMemory()
        self.bodies = BodyCache()
        self._lock = Lock()
        self._catalogues: dict[tuple[str, ...], Catalogue] = {}
        self._resolved: dict[tuple[str, float | None, float], BaseChatModel] = {}

    def open(self, runtime: Runtime[Context], config: RunnableConfig) -> "Run":
        """What one node run may use; its context is the graph's defaults with the run's own settings over them.

        Raises `ValueError` as `check_store`: a graph that is part of another learns of its checkpointer only here.
        """
        context = self.defaults
        # A host graph hands its own context down to a subgraph; that is not ours.
        if isinstance(runtime.context, Context):
            context = context.model_copy(update=runtime.context.model_dump(exclude_unset=True))
        configured = config.get("configurable", {})
        store = runtime.store or self._store
        check_store(configured.get("__pregel_checkpointer"), store)
        thread = str(configured.get("thread_id") or "no-thread")
        return Run(self, context, locked(store) if store else self._memory, thread, started=self.clock())

    @property
    def settings(self) -> Settings:
        """The settings from the environment, read once."""
        with self._lock:
            if self._settings is None:
                self._settings = Settings.from_env()
            return self._settings

    @property
    def http(self) -> HttpClient:
        """The one client of all runs: it holds connections, rate limits and the redactor."""
        settings = self.settings
        with self._lock:
            if self._http is None:
                self._http = HttpClient(settings=settings, tokens=OAuthTokens(settings))
            return self._http

    def catalogue(self, names: Sequence[str]) -> Catalogue:
        """The operations of the APIs of these names, or of all; raises `SettingsError` for a name nobody configured."""
        key = tuple(names)
        settings = self.settings
        with self._lock:
            if key not in self._catalogues:
                self._catalogues[key] = Catalogue(_chosen(self._apis, names, settings))
            return self._catalogues[key]

    def model(self, role: Role, context: Context) -> BaseChatModel:
        """The model of a role: the role's own, else the run's, else the graph's, else the environment's."""
        wanted: str | BaseChatModel | None = (
            getattr(context, f"{role}_model")
            or self._models.get(role)
            or context.model
            or self._model
            or self.settings.model_for(role)
        )
        if isinstance(wanted, BaseChatModel):
            return wanted
        key = (wanted or "", context.temperature, context.model_timeout)
        with self._lock:
            if key not in self._resolved:
                self._resolved[key] = resolve_model(
                    wanted, temperature=context.temperature, timeout=context.model_timeout
                )
            return self._resolved[key]

    def examples(self, role: Role) -> str:
        """Examples of a role for the APIs at hand: data beside the APIs, empty for most."""
        text = self._examples.get(role, "").strip()
        return f"\n# Examples\n{text}" if text else ""


@dataclass(slots=True)
class Run:
    """What one run of one node uses, and what it spent."""

    resources: Resources
    context: Context
    store: BaseStore
    thread: str
    started: float
    _spent: dict[str, ModelUsage] = field(default_factory=dict)
    _session: Session | None = None

    @property
    def catalogue(self) -> Catalogue:
        """The operations at hand."""
        return self.resources.catalogue(self.context.apis)

    @property
    def session(self) -> Session:
        """What the calls of this node run work with."""
        if self._session is None:
            self._session = Session(
                catalogue=self.catalogue,
                http=self.resources.http,
                responses=ResponseStore(self.store, cache=self.resources.bodies),
                journal=Journal(self.store, self.thread),
                rules=Rules(self.resources.settings, self.context.writes),
                keep_earlier=self.context.undo,
            )
        return self._session

    def ask(
        self,
        role: Role,
        prompt: Sequence[BaseMessage],
        schema: type[Answer],
        *,
        check: Callable[[Answer], None] | None = None,
    ) -> Answer:
        """Ask the model of a role for a `schema`; raises `ModelError`."""
        model = self.resources.model(role, self.context)
        try:
            asked = ask(model, prompt, schema, method=self.context.structured_output, check=check)
        except ModelReplyError as error:
            self._note(role, error.usage)
            raise
        self._note(role, asked.usage)
        return asked.value

    def read(self, role: Role, prompt: Sequence[BaseMessage]) -> str:
        """Ask the model of a role for text; raises `ModelError`."""
        text, usage = read_text(self.resources.model(role, self.context), prompt)
        self._note(role, usage)
        return text

    def _note(self, role: Role, usage: ModelUsage) -> None:
        self._spent[role] = self._spent.get(role, ModelUsage()) + usage

    def usage(self) -> Usage:
        """What this node run spent; its reducer adds it to the thread's."""
        return {
            "roles": {
                role: {"calls": spent.calls, "input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens}
                for role, spent in self._spent.items()
            },
            "requests": self._session.requests if self._session else 0,
            "seconds": round(self.resources.clock() - self.started, 3),
        }

    def today(self) -> str:
        """The day that the agent takes for today, as prompts name it."""
        return dated(date.fromisoformat(self.context.today) if self.context.today else self.resources.today())

    def new_id(self) -> str:
        """A new request id."""
        return self.resources.new_id()

    def examples(self, role: Role) -> str:
        """Examples for the system message of a role."""
        return self.resources.examples(role)

    def describe_apis(self) -> str:
        """The APIs at hand, a line each, for the planner: what they are, not what operations they have."""
        return "\n".join(_described(api) for api in self.catalogue.apis)


def _checked(apis: Sequence[Api]) -> list[Api]:
    """The APIs as a list; raises `TypeError` for documents that nobody loaded."""
    listed = list(apis)
    for api in listed:
        if not isinstance(api, Api):
            raise TypeError(f"apis: a list of loaded APIs is wanted, not of {type(api).__name__}: [load_api(…)].")
    return listed


@lru_cache(maxsize=64)
def _described(api: Api) -> str:
    """An API for the planner: what it is and what it deals with, not which operations it has."""
    about = " ".join((api.description or "").split())
    if len(about) > 300:
        about = about[:300].rsplit(" ", 1)[0] + " …"
    line = f"- {api.title or api.name} ({len(api.operations)} operations). {about}".rstrip()
    subjects = _subjects(api)
    return f"{line} It deals with: {', '.join(subjects)}." if subjects else line


def _subjects(api: Api) -> list[str]:
    """The tags of the operations, or without any the first words of their paths; the most frequent first."""
    tags = Counter(tag for operation in api.operations for tag in operation.tags)
    words = Counter(
        word.replace("_", " ").replace("-", " ")
        for operation in api.operations
        for word in [part for part in operation.path.split("/") if part and "{" not in part][:1]
    )
    return [name for name, _ in (tags or words).most_common(MOST_SUBJECTS)]


def _chosen(apis: Sequence[Api] | None, names: Sequence[str], settings: Settings) -> list[Api]:
    """The APIs of these names, or all, out of those given or else of those configured."""
    known = [api.name for api in apis] if apis is not None else list(settings.apis)
    wanted = {slug(name) for name in names or known}
    if unknown := [name for name in names if slug(name) not in map(slug, known)]:
        listed = ", ".join(known) or "none"
        raise SettingsError(f"There is no API {unknown[0]!r}. Configured are: {listed}. Add it to apis.yaml.")
    if not wanted:
        raise SettingsError(
            "No API is configured. List APIs in apis.yaml, in the working folder or in RESTGPT_HOME; or name a "
            "document, with --spec on the command line or build_graph([load_api(…)]) in Python."
        )
    if apis is not None:
        return [api for api in apis if slug(api.name) in wanted]
    return [open_api(entry, settings) for name, entry in settings.apis.items() if slug(name) in wanted]


def open_api(entry: ApiEntry, settings: Settings) -> Api:
    """Read the document of a configured API; raises `SpecError`."""
    return load_api(
        entry.spec,
        base_url=entry.base_url,
        auth=entry.credentials(),
        name=entry.name,
        cache=settings.home / "index",
    )

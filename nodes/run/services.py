"""The services of a graph: APIs, models, HTTP client, store and clocks, built once and shared by all of its runs."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import date
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from restgpt.nodes.run.context import Context
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api, Catalogue
from restgpt.specs.api import slug
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.errors import FolderError, SettingsError
from restgpt.tools.http.client import HttpClient
from restgpt.tools.model import Role
from restgpt.tools.model.provider import ChatModel, bounded, chat_model, resolve_model
from restgpt.tools.network.connection import SessionAdapter
from restgpt.tools.response.store import BodyCache, BoundedMemory, locked
from restgpt.tools.settings import Settings
from restgpt.tools.text.redaction import Redactor

if TYPE_CHECKING:
    import requests

    from restgpt.recipes.book import RecipeBook

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
                self._catalogues[key] = Catalogue(_chosen(self._apis, names, settings))
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
    for api in apis:
        settings.entry(api)
    return [api for api in apis if slug(api.name) in wanted]

"""All settings of the user together.

The settings that one run brings: validated by the pydantic model of a graph's context, and offered by its schema.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from restgpt.specs.api import Api, load_api, slug
from restgpt.specs.reading.download import public_url
from restgpt.tools.errors import SettingsError
from restgpt.tools.model import ROLES
from restgpt.tools.settings.apis_file import load_apis, references
from restgpt.tools.settings.entry import ApiEntry, ServerAccess
from restgpt.tools.settings.environment import (
    APIS_FILE,
    AUTH_PREFIX,
    RECIPES,
    Secret,
    auth_variable,
    bearer_tokens,
    check_folder,
    home_of,
    read_dotenv,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings from outside the program; each entry point builds them once by `from_env`.

    `beside` holds the documents in use that are no entries of `apis.yaml`, by identity and base URL. `recipes` is the
    folder of the recipes, which may not exist. `mcp_key` seals the handles of MCP servers, which make a key of their
    own without it; `mcp_tokens` are the bearer tokens of their clients, by subject. `server` says who else may talk to
    servers. `allow_external` lets every document refer to files beside it. `variables` are the names of the environment
    variables in use that may hold a secret.
    """

    model: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    has_openai_api_key: bool = False
    openai_base_url: str | None = None
    data: Path | None = None
    home: Path = field(default_factory=lambda: Path.home() / ".restgpt")
    database_url: Secret | None = None
    auth: Mapping[str, Secret] = field(default_factory=dict)
    apis: Mapping[str, ApiEntry] = field(default_factory=dict)
    beside: frozenset[tuple[str, str | None]] = frozenset()
    ca_bundle: str | None = None
    recipes: Path = RECIPES
    mcp_key: Secret | None = None
    mcp_tokens: Mapping[str, Secret] = field(default_factory=dict)
    server: ServerAccess = field(default_factory=ServerAccess)
    allow_external: bool = False
    apis_file: Path | None = None
    variables: tuple[str, ...] = ()

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] = os.environ,
        *,
        dotenv: Path | None = None,
        apis: Path | None = None,
        is_allowed: bool = False,
    ) -> "Settings":
        """Read settings from `environ` (default: the process's), a `.env` file below it, and `apis.yaml`.

        `apis` defaults to the file in `RESTGPT_APIS`, else `apis.yaml` in the working directory, else in the home
        folder. `is_allowed` says that the caller names its APIs itself, so that the file of the working directory may
        hold only rules for them. Raises SettingsError; FolderError for the file of a folder that nobody allowed.
        """
        values = {name: value for name, value in {**read_dotenv(dotenv), **environ}.items() if value != ""}

        def path(name: str) -> Path | None:
            return Path(values[name]).expanduser() if name in values else None

        def secret(name: str) -> Secret | None:
            return Secret(values[name]) if name in values else None

        home = home_of(values)
        file = apis or path("RESTGPT_APIS")
        if file is None:
            file = next((path for path in (APIS_FILE, home / APIS_FILE) if path.is_file()), None)
            if not is_allowed:
                check_folder(APIS_FILE, environ=values)
        elif not file.is_file():
            raise SettingsError(f"{file} is not a file; give the path of an apis.yaml")
        entries = load_apis(file, values)
        named = {"RESTGPT_DATABASE_URL", *references(file)}
        return cls(
            model=values.get("RESTGPT_MODEL"),
            models={role: values[name] for role in ROLES if (name := f"RESTGPT_MODEL_{role.upper()}") in values},
            has_openai_api_key="OPENAI_API_KEY" in values,
            openai_base_url=values.get("OPENAI_BASE_URL"),
            data=path("RESTGPT_DATA"),
            home=home,
            database_url=secret("RESTGPT_DATABASE_URL"),
            auth={
                name.removeprefix(AUTH_PREFIX).upper(): Secret(value)
                for name, value in values.items()
                if name.upper().startswith(AUTH_PREFIX)
            },
            apis=entries,
            ca_bundle=values.get("REQUESTS_CA_BUNDLE") or values.get("SSL_CERT_FILE"),
            recipes=path("RESTGPT_RECIPES") or (file.parent if file else Path()) / RECIPES,
            mcp_key=secret("RESTGPT_MCP_KEY"),
            mcp_tokens=bearer_tokens(values.get("RESTGPT_MCP_TOKEN", "")),
            server=ServerAccess.from_env(values),
            allow_external=values.get("RESTGPT_ALLOW_EXTERNAL", "").lower() in ("1", "true"),
            apis_file=file,
            variables=tuple(sorted(name for name in values if name.upper().startswith(AUTH_PREFIX) or name in named)),
        )

    def load(self, name: str, *, base_url: str | None = None) -> Api:
        """Load the API of an entry; raises SettingsError if there is no such entry, and SpecError."""
        entry = self._named(name)
        return load_api(
            entry.spec,
            base_url=base_url or entry.base_url,
            auth=entry.credentials(),
            name=entry.name,
            notes=entry.notes,
            entry=entry.name,
            given=entry.given,
            cache=self.home / "index",
            allow_external=entry.allow_external or self.allow_external,
            include=entry.include or None,
            exclude=entry.exclude,
        )

    def reached(self, api: Api) -> Api:
        """Return an API that was loaded elsewhere without the operations that its entries bar."""
        return api.within(*(entry.reach for entry in self.rules(api)))

    def entry(self, api: Api) -> ApiEntry | None:
        """The entry that an API was loaded from; raises SettingsError if `apis.yaml` has no such entry."""
        return None if api.entry is None else self._named(api.entry)

    def _named(self, name: str) -> ApiEntry:
        """The entry of a name; names are compared as slugs, as the file may not have two names with the same slug."""
        for known, entry in self.apis.items():
            if slug(known) == slug(name):
                return entry
        raise SettingsError(f"apis.yaml has no entry {name!r}. {self.entries} Correct the name, or add the entry.")

    @property
    def entries(self) -> str:
        """A sentence that names the entries of `apis.yaml`, or says where the file was looked for."""
        if self.apis:
            return f"Its entries are: {', '.join(self.apis)}."
        if self.apis_file is not None:
            return f"{self.apis_file} has no entries."
        return f"There is no apis.yaml in {Path.cwd()} or in {self.home}, and RESTGPT_APIS names none."

    def rules(self, api: Api) -> tuple[ApiEntry, ...]:
        """The entries whose rules hold for an API.

        An API without an entry, whose document may have any title, gets the rules of each entry with its name or its
        source as far as they tighten.
        """
        if (own := self.entry(api)) is not None:
            return (own,)
        return tuple(
            entry.tightened()
            for name, entry in self.apis.items()
            if slug(name) == api.name or _location(entry.spec) in (api.identity, api.source)
        )

    def beside_apis(self, apis: Iterable[Api]) -> "Settings":
        """The same settings for the use of these APIs, so that no credential of the environment is for two of them."""
        return replace(self, beside=self.beside | {_place(api) for api in apis if api.entry is None})

    def has_several(self, api: Api) -> bool:
        """Whether `api` is one of several APIs in use, the entries of `apis.yaml` included.

        A single document beside a single entry is the same API if it was read from the same file, unless only the entry
        has a base URL: then the servers of the document are others.
        """
        others = self.beside if api.entry is not None else self.beside | {_place(api)}
        if len(self.apis) == len(others) == 1:
            (entry,), ((identity, base_url),) = self.apis.values(), others
            is_same = identity == _location(entry.spec) and (base_url is not None or entry.base_url is None)
            return not is_same
        return len(self.apis) + len(others) > 1

    def model_for(self, role: str) -> str | None:
        """The model of a role: `RESTGPT_MODEL_<ROLE>`, else `RESTGPT_MODEL`."""
        return self.models.get(role) or self.model

    def auth_variables(self, scheme: str, api: Api) -> tuple[str, ...]:
        """The environment variables that may hold an API's credential of a security scheme, the nearest first.

        The variable of an entry has its name, which a document cannot choose. A variable without the name of an API is
        for a single API only. There may be no variable: RESTGPT_AUTH_A_B_KEY is for the entry a-b, whatever a document
        of the entry a calls its schemes.
        """
        own: tuple[str, ...] = ()
        if (entry := self.entry(api)) is not None:
            variable = auth_variable(f"{entry.name}_{scheme}")
            own = (variable,) if self._owner(variable) is entry else ()
        return own if self.has_several(api) else (*own, auth_variable(scheme))

    def _owner(self, variable: str) -> ApiEntry | None:
        """The entry with the longest name that a variable begins with."""
        fitting = [entry for entry in self.apis.values() if variable.startswith(f"{auth_variable(entry.name)}_")]
        return max(fitting, key=lambda entry: len(entry.name), default=None)

    def credential(self, scheme: str, api: Api) -> Secret | None:
        """An API's credential of a security scheme from the environment."""
        return next((secret for name in self.auth_variables(scheme, api) if (secret := self.variable(name))), None)

    def variable(self, name: str) -> Secret | None:
        """The value of an environment variable of a credential."""
        return self.auth.get(name.removeprefix(AUTH_PREFIX))

    def secrets(self) -> list[str]:
        """All configured secrets, for redaction."""
        found = list(self.auth.values())
        for entry in self.apis.values():
            found += entry.secrets()
        if self.database_url is not None:
            found.append(self.database_url)
        if self.server.token is not None:
            found.append(self.server.token)
        return [secret.reveal() for secret in found]


def _location(spec: str) -> str:
    """The location of a document, as `Api.location` holds it; empty if the URL cannot be read."""
    if not spec.lower().startswith(("http://", "https://")):
        return _file_location(spec, os.getcwd())
    try:
        return public_url(spec)
    except ValueError:
        return ""


@lru_cache(maxsize=256)
def _file_location(spec: str, folder: str) -> str:
    return (Path(folder) / Path(spec).expanduser()).resolve().as_uri()


def _place(api: Api) -> tuple[str, str | None]:
    return api.identity, api.base_url


RunSettings = TypeVar("RunSettings", bound=BaseModel)


def checked_settings(schema: type[RunSettings], given: Mapping[str, Any]) -> RunSettings:
    """Validate the settings of a run; raises `SettingsError` that names each invalid setting and all settings."""
    try:
        return schema(**given)
    except ValidationError as error:
        known = ", ".join(name for name in schema.model_fields if name != "apis")
        raise SettingsError(f"Invalid settings: {problems_of(error)}. The settings of a run are: {known}.") from None


def problems_of(error: ValidationError) -> str:
    """Return each problem that pydantic found, with its place."""
    return "; ".join(map(_problem, error.errors(include_url=False)))


def _problem(item: ErrorDetails) -> str:
    place, what = ".".join(map(str, item["loc"])), item["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{place}: {what}" if place else what


def offering_apis(schema: type[RunSettings], names: Sequence[str]) -> type[RunSettings]:
    """Return a model with the same settings whose JSON schema lists `names` as the values that `apis` can have.

    A run is still validated by `schema` and by the APIs that it finds, whose names may be spelled in several ways.
    """
    given = schema.model_fields.get("apis")
    if given is None or not names:
        return schema
    name = Annotated[str, Field(json_schema_extra={"enum": list(names)})]
    about = f"{given.description} The configured APIs are: {', '.join(names)}."
    apis: Any = (list[name], Field(default_factory=list, description=about))
    return create_model(schema.__name__, __base__=schema, __doc__=schema.__doc__, apis=apis)

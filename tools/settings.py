"""The settings of the user: environment, `.env` and `apis.yaml`. No other module reads the environment."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from restgpt.specs.api import MOST_NOTES, Api, load_api, slug
from restgpt.specs.operation import Operation
from restgpt.specs.reading.download import public_url
from restgpt.tools.errors import SettingsError
from restgpt.tools.model.role import ROLES
from restgpt.tools.network.addresses import Origin
from restgpt.tools.network.authority import Authority, authority_of, web_origin_of
from restgpt.tools.redaction import is_public_header

AUTH_PREFIX = "RESTGPT_AUTH_"
APIS_FILE = "apis.yaml"
RECIPES_FOLDER = "recipes"
"""The folder of the recipes, beside the `apis.yaml` in use, unless `RESTGPT_RECIPES` is set."""
CONCURRENCY = 256
"""The most nodes of one process that run at once under asyncio, unless `RESTGPT_CONCURRENCY` is set."""
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable with which the user asks for the content of prompts, replies and calls in spans."""
SERVER_HOSTS, SERVER_ORIGINS = "RESTGPT_SERVER_HOSTS", "RESTGPT_SERVER_ORIGINS"
SERVER_TOKEN = "RESTGPT_SERVER_TOKEN"
COLLECTOR = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""The variables with which the user names the collector that gets traces."""
MODEL_ADDRESSES = {
    "OPENAI_BASE_URL": "OPENAI_API_KEY",
    "OPENAI_API_BASE": "OPENAI_API_KEY",
    "AZURE_OPENAI_ENDPOINT": "AZURE_OPENAI_API_KEY",
    "ANTHROPIC_BASE_URL": "ANTHROPIC_API_KEY",
    "ANTHROPIC_API_URL": "ANTHROPIC_API_KEY",
    "MISTRAL_BASE_URL": "MISTRAL_API_KEY",
    "GROQ_API_BASE": "GROQ_API_KEY",
    "GROQ_BASE_URL": "GROQ_API_KEY",
    "DEEPSEEK_API_BASE": "DEEPSEEK_API_KEY",
    "CO_API_URL": "COHERE_API_KEY",
    "OLLAMA_HOST": "OLLAMA_API_KEY",
}
"""The variables with which providers' packages read the address of a model's server, and that of its key."""
Decision = Literal["allow", "ask", "deny"]
Kind = Literal["read", "change"]
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""The form of a bearer token (RFC 6750, section 2.1)."""
_SUBJECT = re.compile(r"[A-Za-z0-9-]{1,64}=[^=]")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9]")
_ENTRY_KEYS = (
    "spec",
    "base_url",
    "auth",
    "headers",
    "query",
    "cookies",
    "policy",
    "effects",
    "from",
    "notes",
    "hosts",
    "auth_servers",
    "allow_private",
    "retry_429",
    "requests_per_second",
    "ca_file",
    "cert_file",
    "key_file",
)
_FILE_KEYS = ("ca_file", "cert_file", "key_file")
_CRITERIA = ("method", "id", "tag", "path")
_RULE_KEYS = ("decision", "from_user", *_CRITERIA)
_EFFECT_KEYS = ("effect", *_CRITERIA)
MODEL = "model"
"""The word in `from` that lets values through which a model wrote."""
_OWN_SOURCES = ("user", "document", "self")

_SECRET_ENDS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


class Secret:
    """A value that `str`, `repr`, logs and pickles never contain; only `reveal` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not stored")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule for all operations that match every criterion; an empty criterion matches all."""

    methods: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def applies_to(self, operation: Operation) -> bool:
        """Whether the rule applies to an operation; paths are globs, `*` within a segment and `**` across segments."""
        return (
            (not self.methods or operation.method in self.methods)
            and (not self.ids or operation.name in self.ids or operation.operation_id in self.ids)
            and (not self.tags or bool(set(self.tags) & set(operation.tags)))
            and (not self.paths or any(glob_pattern(path).fullmatch(operation.path) for path in self.paths))
        )


@dataclass(frozen=True, slots=True)
class PolicyRule(Rule):
    """The decision on some operations.

    `from_user` names arguments whose values must come from the user; a rule with `from_user` needs no decision.
    """

    decision: Decision | None
    from_user: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EffectRule(Rule):
    """The user's word on some operations: they only read, or they change something."""

    effect: Kind


@dataclass(frozen=True, slots=True)
class ApiEntry:
    """One API in `apis.yaml`: the location of its document, and the settings for its requests.

    `hosts` are further hosts that redirects may lead to; they get no credentials. `auth_servers` are URLs of token
    servers that may get the API's client secret if its document names them. `ca_file` holds the certificate authorities
    that the server's certificate is verified by, instead of the default ones. `cert_file` and `key_file`
    are the client certificate. Without `retry_429` a change that the API answers 429 is not sent again. `missing` lists
    unset environment variables that the secrets need; a request to the API then fails, but the other APIs work. `notes`
    is the user's own text about the API, which models read. `sources` are the entries whose values requests to this API
    may hold unasked, and `MODEL`.
    """

    name: str
    spec: str
    base_url: str | None = None
    auth: Mapping[str, Secret] = field(default_factory=dict)
    headers: Mapping[str, Secret] = field(default_factory=dict)
    query: Mapping[str, Secret] = field(default_factory=dict)
    cookies: Mapping[str, Secret] = field(default_factory=dict)
    policy: tuple[PolicyRule, ...] = ()
    effects: tuple[EffectRule, ...] = ()
    hosts: tuple[str, ...] = ()
    auth_servers: tuple[str, ...] = ()
    allow_private: bool = False
    requests_per_second: float | None = None
    retry_429: bool = True
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    missing: tuple[str, ...] = ()
    notes: str = ""
    sources: tuple[str, ...] = ()

    def decide(self, operation: Operation) -> Decision | None:
        """The decision of the first rule that applies; None if no rule with a decision applies."""
        return next((rule.decision for rule in self.policy if rule.decision and rule.applies_to(operation)), None)

    def effect(self, operation: Operation) -> Kind | None:
        """The effect by the first rule that applies; None if no rule applies."""
        return next((rule.effect for rule in self.effects if rule.applies_to(operation)), None)

    def from_user(self, operation: Operation) -> tuple[str, ...]:
        """The arguments that must come from the user by any rule that applies, such as `path.*` or `body.recipient`."""
        return tuple(name for rule in self.policy if rule.applies_to(operation) for name in rule.from_user)

    def tightened(self) -> "ApiEntry":
        """The entry with only its rules that deny, ask, mark a change, or reserve arguments for the user."""
        policy = [replace(rule, decision=None) if rule.decision == "allow" else rule for rule in self.policy]
        return ApiEntry(
            self.name,
            self.spec,
            policy=tuple(rule for rule in policy if rule.decision or rule.from_user),
            effects=tuple(rule for rule in self.effects if rule.effect == "change"),
            retry_429=self.retry_429,
        )

    def secrets(self) -> list[Secret]:
        """All values that must be redacted: not those of headers that are public by their name, such as Accept."""
        headers = [value for name, value in self.headers.items() if not is_public_header(name)]
        return [*self.auth.values(), *headers, *self.query.values(), *self.cookies.values()]

    def credentials(self) -> dict[str, str]:
        """The credentials by scheme as plain text, for `load_api(auth=…)`."""
        return {scheme: secret.reveal() for scheme, secret in self.auth.items()}


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """Who may talk to the servers of this program beside programs on this machine, as the user says.

    `hosts` are names that lead to a server, such as that of a proxy: without a port for any port, and `*.example.com`
    for all names below a domain. `origins` are those of pages that may use it. `token` is the bearer token of all
    requests to the LangGraph server that do not come from this machine.
    """

    hosts: tuple[Authority, ...] = ()
    origins: tuple[Origin, ...] = ()
    token: Secret | None = None

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> "ServerAccess":
        """Read `RESTGPT_SERVER_HOSTS`, `RESTGPT_SERVER_ORIGINS` and `RESTGPT_SERVER_TOKEN`; raises SettingsError."""
        given = os.environ if environ is None else environ
        hosts, origins = (_listed(given.get(name, "")) for name in (SERVER_HOSTS, SERVER_ORIGINS))
        return cls(
            tuple(map(_named_host, hosts)), tuple(map(_named_origin, origins)), _server_token(given.get(SERVER_TOKEN))
        )

    def with_origin(self, origin: Origin) -> "ServerAccess":
        """The same, and pages of one more origin."""
        return replace(self, origins=(*self.origins, origin))

    def has_host(self, host: Authority) -> bool:
        """Whether the user names a host."""
        return any(
            known.port in (None, host.port)
            and (host.host.endswith(known.host[1:]) if known.host.startswith("*.") else host.host == known.host)
            for known in self.hosts
        )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _named_host(text: str) -> Authority:
    below = text.removeprefix("*.")
    if (host := authority_of(below)) is None:
        raise SettingsError(
            f"{SERVER_HOSTS}: {text!r} is no host. Write agent.example.com, agent.example.com:8443 or *.example.com."
        )
    return host if below == text else replace(host, host=f"*.{host.host}")


def _named_origin(text: str) -> Origin:
    if (origin := web_origin_of(text.removesuffix("/"))) is None:
        raise SettingsError(
            f"{SERVER_ORIGINS}: {text!r} is no origin. Write scheme, host and port only, such as "
            "https://chat.example.com or http://localhost:3000."
        )
    return origin


def _server_token(text: str | None) -> Secret | None:
    if text and not _BEARER.fullmatch(text):
        raise SettingsError(
            f"{SERVER_TOKEN} cannot be sent in a header. Use letters, digits, and - . _ ~ + / only, such as the output "
            "of `openssl rand -hex 32`."
        )
    return Secret(text) if text else None


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings from outside the program; each entry point builds them once by `from_env`.

    `beside` holds the documents in use that are no entries of `apis.yaml`, by identity and base URL. `recipes` is the
    folder of the recipes, which may not exist. `mcp_key` seals the handles of MCP servers, which make a key of their
    own without it; `mcp_tokens` are the bearer tokens of their clients, by subject. `server` says who else may talk to
    servers.
    """

    model: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    has_openai_api_key: bool = False
    openai_base_url: str | None = None
    data: Path | None = None
    home: Path = field(default_factory=lambda: Path.home() / ".restgpt")
    database_url: Secret | None = None
    embeddings: str | None = None
    auth: Mapping[str, Secret] = field(default_factory=dict)
    apis: Mapping[str, ApiEntry] = field(default_factory=dict)
    beside: frozenset[tuple[str, str | None]] = frozenset()
    ca_bundle: str | None = None
    recipes: Path = Path(RECIPES_FOLDER)
    mcp_key: Secret | None = None
    mcp_tokens: Mapping[str, Secret] = field(default_factory=dict)
    server: ServerAccess = field(default_factory=ServerAccess)

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, *, dotenv: Path | None = None, apis: Path | None = None
    ) -> "Settings":
        """Read settings from `environ` (default: the process's), a `.env` file below it, and `apis.yaml`.

        `apis` defaults to the file in `RESTGPT_APIS`, else `apis.yaml` in the working directory, else in the home
        folder. Raises SettingsError.
        """
        values = {**_read_dotenv(dotenv), **(os.environ if environ is None else environ)}
        values = {name: value for name, value in values.items() if value != ""}
        home = Path(values.get("RESTGPT_HOME") or Path.home() / ".restgpt").expanduser()
        data, database = values.get("RESTGPT_DATA"), values.get("RESTGPT_DATABASE_URL")
        recipes, named = values.get("RESTGPT_RECIPES"), values.get("RESTGPT_APIS")
        file = _apis_file(apis or (Path(named).expanduser() if named else None), home)
        return cls(
            model=values.get("RESTGPT_MODEL"),
            models={role: values[name] for role in ROLES if (name := f"RESTGPT_MODEL_{role.upper()}") in values},
            has_openai_api_key="OPENAI_API_KEY" in values,
            openai_base_url=values.get("OPENAI_BASE_URL"),
            data=Path(data).expanduser() if data else None,
            home=home,
            database_url=Secret(database) if database else None,
            embeddings=values.get("RESTGPT_EMBEDDINGS"),
            auth={
                name.removeprefix(AUTH_PREFIX).upper(): Secret(value)
                for name, value in values.items()
                if name.upper().startswith(AUTH_PREFIX)
            },
            apis=load_apis(file, values),
            ca_bundle=values.get("REQUESTS_CA_BUNDLE") or values.get("SSL_CERT_FILE"),
            recipes=Path(recipes).expanduser() if recipes else (file.parent if file else Path()) / RECIPES_FOLDER,
            mcp_key=Secret(values["RESTGPT_MCP_KEY"]) if "RESTGPT_MCP_KEY" in values else None,
            mcp_tokens=bearer_tokens(values.get("RESTGPT_MCP_TOKEN", "")),
            server=ServerAccess.from_env(values),
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
            cache=self.home / "index",
        )

    def entry(self, api: Api) -> ApiEntry | None:
        """The entry that an API was loaded from; raises SettingsError if `apis.yaml` has no such entry."""
        return None if api.entry is None else self._named(api.entry)

    def _named(self, name: str) -> ApiEntry:
        """The entry of a name; names are compared as slugs, as the file may not have two names with the same slug."""
        for known, entry in self.apis.items():
            if slug(known) == slug(name):
                return entry
        listed = f"Its entries are: {', '.join(self.apis)}." if self.apis else "It is missing or empty."
        raise SettingsError(f"apis.yaml has no entry {name!r}. {listed} Correct the name, or add the entry.")

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


def environment_secrets(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the values of environment variables that hold secrets by their name, such as OPENAI_API_KEY."""
    values = os.environ if environ is None else environ
    return [value for name, value in values.items() if name.startswith(AUTH_PREFIX) or name.endswith(_SECRET_ENDS)]


def concurrency_from_env(environ: Mapping[str, str] | None = None) -> int:
    """The most nodes of this process that run at once under asyncio; raises SettingsError.

    Not a part of `Settings.from_env`, because it is called on an event loop, which must not block on a file.
    """
    given = (os.environ if environ is None else environ).get("RESTGPT_CONCURRENCY") or str(CONCURRENCY)
    if not given.isdecimal() or int(given) < 1:
        raise SettingsError(f"RESTGPT_CONCURRENCY must be a whole number above zero, not {given!r}.")
    return int(given)


def captures_content(environ: Mapping[str, str] | None = None) -> bool:
    """Whether spans may hold content: if the variable of OpenTelemetry's GenAI conventions says so for spans.

    Not a part of `Settings.from_env`, because spans exist in processes that have no settings.
    """
    given = (os.environ if environ is None else environ).get(CAPTURE, "").strip().upper()
    return given in ("SPAN_ONLY", "SPAN_AND_EVENT")


def exports_traces(environ: Mapping[str, str] | None = None) -> bool:
    """Whether a variable of OpenTelemetry names a collector for traces, and none turns traces off."""
    given = os.environ if environ is None else environ
    if given.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or given.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    return any(given.get(name) for name in COLLECTOR)


def bearer_tokens(text: str) -> dict[str, Secret]:
    """Read `RESTGPT_MCP_TOKEN`: one token, whose subject is `client`, or `SUBJECT=TOKEN` pairs with commas between.

    Raises SettingsError, with the number of the pair but no part of a token.
    """
    pairs = [pair.strip() for pair in text.split(",") if pair.strip()]
    if len(pairs) == 1 and not _SUBJECT.match(pairs[0]):
        return {"client": Secret(pairs[0])}
    found: dict[str, Secret] = {}
    for number, pair in enumerate(pairs, 1):
        subject, _, token = pair.partition("=")
        if not _SUBJECT.match(pair) or subject in found or not token:
            raise SettingsError(
                f"RESTGPT_MCP_TOKEN: pair {number} must be SUBJECT=TOKEN. The subject has letters, digits and "
                "hyphens, and no other pair has it."
            )
        found[subject] = Secret(token)
    return found


def variable_part(name: str) -> str:
    """Spell the name of an API or a security scheme as a part of an environment variable."""
    return _NOT_IN_NAME.sub("_", name).upper()


def auth_variable(scheme: str, part: str = "") -> str:
    """Name the environment variable that holds the credential of a scheme, or one part of it (`CLIENT_ID`, …)."""
    return f"{AUTH_PREFIX}{variable_part(scheme)}" + (f"_{part}" if part else "")


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


def glob_pattern(glob: str) -> re.Pattern[str]:
    """Compile a path glob: `*` is anything within a segment, `**` anything at all."""
    parts = re.split(r"(\*\*|\*)", glob)
    return re.compile("".join({"**": ".*", "*": "[^/]*"}.get(part) or re.escape(part) for part in parts))


def is_http_address(url: str) -> bool:
    """Whether a text is an HTTP URL with a host and no invalid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.split() == [url]
    except ValueError:
        return False


def _read_dotenv(path: Path | None) -> dict[str, str]:
    if path is None or not path.is_file():
        return {}
    from dotenv import dotenv_values

    try:
        values = dotenv_values(path, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {_reason(error)}.") from None
    return {name: value for name, value in values.items() if value is not None}


def _reason(error: Exception) -> str:
    """The reason why a file cannot be read, without any of its content."""
    if isinstance(error, OSError):
        return str(error.strerror)
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    import yaml

    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return "it is not YAML" + (f"; see line {mark.line + 1}, column {mark.column + 1}" if mark else "")


def load_dotenv(path: Path = Path(".env")) -> None:
    """Add the variables of a `.env` file to the environment of the process; existing variables are kept.

    Only entry points call it, because model libraries read their keys from the environment.
    """
    for name, value in _read_dotenv(path).items():
        os.environ.setdefault(name, value)


@dataclass(frozen=True, slots=True)
class DotenvAddress:
    """The address of a model's server that a `.env` file set.

    `outer_key` is the variable of the provider's key if the environment has it from elsewhere; empty otherwise.
    """

    variable: str
    url: str = field(repr=False)
    outer_key: str = ""


def addresses_of_dotenv(
    path: Path = Path(".env"), environ: Mapping[str, str] | None = None
) -> tuple[DotenvAddress, ...]:
    """The addresses of models' servers that are in effect and that a `.env` file sets; raises SettingsError."""
    given, values = os.environ if environ is None else environ, _read_dotenv(path)
    found = []
    for variable, key in MODEL_ADDRESSES.items():
        url = values.get(variable)
        if url and given.get(variable) == url:
            is_outer = bool(given.get(key)) and given.get(key) != values.get(key)
            found.append(DotenvAddress(variable, url, key if is_outer else ""))
    return tuple(found)


def _apis_file(given: Path | None, home: Path) -> Path | None:
    if given is not None:
        if not given.is_file():
            raise SettingsError(f"{given} is not a file; give the path of an apis.yaml")
        return given
    return next((path for path in (Path(APIS_FILE), home / APIS_FILE) if path.is_file()), None)


def load_apis(path: Path | None, environ: Mapping[str, str]) -> Mapping[str, ApiEntry]:
    """Read `apis.yaml`: names of APIs with their spec, base URL, credentials and policy.

    `${NAME}` and `${NAME:-default}` stand for environment variables. A relative spec is looked up beside the file.
    Raises SettingsError with the place of the error, never with a value.
    """
    if path is None:
        return {}
    # Late, because most programs have no such file and the import takes long.
    import yaml

    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
        return {} if raw is None else _read_entries(raw, path, environ)
    except (yaml.YAMLError, ValueError, OSError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be read: {_reason(error)}") from None


def _read_entries(raw: Any, path: Path, environ: Mapping[str, str]) -> dict[str, ApiEntry]:
    reader = _EntryReader(path, environ)
    entries = reader.mapping(raw, "")
    reader.refuse_duplicates([str(name) for name in entries])
    found = {str(name): reader.entry(str(name), item) for name, item in entries.items()}
    return {name: replace(entry, sources=reader.sources(entry, found)) for name, entry in found.items()}


class _EntryReader:
    """Reads the entries of one apis.yaml; every error names the file and the place in it."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self._path = path
        self._environ = environ
        self._missing: list[str] = []

    def _error(self, place: str, message: str) -> SettingsError:
        return SettingsError(f"{self._path}: {place or 'the file'} {message}")

    def mapping(self, raw: Any, place: str, keys: tuple[str, ...] = ()) -> dict[str, Any]:
        """A mapping; with `keys`, any other key is an error."""
        if not isinstance(raw, dict):
            raise self._error(place, "must be a mapping")
        for key in raw:
            if keys and key not in keys:
                raise self._error(f"{place}.{key}", f"is unknown; the known keys are {', '.join(keys)}")
        return raw

    def refuse_duplicates(self, names: list[str]) -> None:
        """Raise SettingsError if two names have the same slug: the policy of one API would also apply to the other."""
        seen: dict[str, str] = {}
        for name in names:
            if (other := seen.setdefault(slug(name), name)) != name:
                raise self._error(
                    name, f"is the same name as {other}, because case and punctuation do not count; rename one of them"
                )

    def text(self, raw: Any, place: str) -> str:
        """A scalar as text, with `${NAME}` replaced."""
        if isinstance(raw, bool) or not isinstance(raw, str | int | float):
            raise self._error(place, "must be text")

        def replace(match: re.Match[str]) -> str:
            value = self._environ.get(match.group(1), match.group(2))
            if value is None:
                raise self._error(place, f"needs the environment variable {match.group(1)}, which is not set")
            return value

        return _REFERENCE.sub(replace, str(raw))

    def texts(self, raw: Any, place: str) -> tuple[str, ...]:
        """One text or a list of texts."""
        return tuple(self.text(item, place) for item in (raw if isinstance(raw, list) else [raw]))

    def secrets(self, raw: Any, place: str) -> dict[str, Secret]:
        """Named secrets; a nested mapping (`client_id`, `client_secret`, …) is flattened to `SCHEME.client_id`."""
        found: dict[str, Secret] = {}
        for name, value in self.mapping(raw, place).items():
            if isinstance(value, dict):
                found |= {f"{name}.{key}": secret for key, secret in self.secrets(value, f"{place}.{name}").items()}
            elif unset := self._unset_variables(value):
                self._missing += unset
            else:
                found[str(name)] = Secret(self.text(value, f"{place}.{name}"))
        return found

    def _unset_variables(self, raw: Any) -> list[str]:
        """The unset environment variables in a text that have no default there."""
        named = _REFERENCE.finditer(raw) if isinstance(raw, str) else ()
        return [item.group(1) for item in named if item.group(2) is None and item.group(1) not in self._environ]

    def entry(self, name: str, raw: Any) -> ApiEntry:
        """One API; a plain string is its spec."""
        given = self.mapping({"spec": raw} if isinstance(raw, str) else raw, name, _ENTRY_KEYS)
        if "spec" not in given:
            raise self._error(name, "needs a spec: the path or URL of its OpenAPI document")
        self._missing = []
        groups = {
            key: self.secrets(given.get(key) or {}, f"{name}.{key}") for key in ("auth", "headers", "query", "cookies")
        }
        policy, effects = (self._rules(given.get(key), f"{name}.{key}") for key in ("policy", "effects"))
        base_url = given.get("base_url")
        ca_file, cert_file, key_file = (self._file(given.get(key), f"{name}.{key}") for key in _FILE_KEYS)
        if key_file is not None and cert_file is None:
            raise self._error(f"{name}.key_file", "needs a cert_file; add cert_file beside it")
        return ApiEntry(
            name=name,
            spec=self._spec(self.text(given["spec"], f"{name}.spec")),
            base_url=self._address(base_url, f"{name}.base_url") if base_url is not None else None,
            **groups,
            policy=tuple(self.rule(item, f"{name}.policy[{number}]") for number, item in enumerate(policy)),
            effects=tuple(self.effect(item, f"{name}.effects[{number}]") for number, item in enumerate(effects)),
            hosts=self.texts(given.get("hosts") or [], f"{name}.hosts"),
            auth_servers=self._addresses(given.get("auth_servers"), f"{name}.auth_servers"),
            allow_private=self._flag(given.get("allow_private", False), f"{name}.allow_private"),
            retry_429=self._flag(given.get("retry_429", True), f"{name}.retry_429"),
            requests_per_second=self._rate(given.get("requests_per_second"), f"{name}.requests_per_second"),
            ca_file=ca_file,
            cert_file=cert_file,
            key_file=key_file,
            missing=tuple(dict.fromkeys(self._missing)),
            notes=self._notes(given.get("notes"), f"{name}.notes"),
            sources=self.texts(given.get("from") or [], f"{name}.from"),
        )

    def sources(self, entry: ApiEntry, entries: Mapping[str, ApiEntry]) -> tuple[str, ...]:
        """The entries in `from` as the file spells them, and `MODEL`; values of the API's own sources always pass."""
        place, spelled = f"{entry.name}.from", {slug(name): name for name in entries}
        words = (*_OWN_SOURCES, MODEL)
        found: list[str] = []
        for source in entry.sources:
            if source in words and slug(source) in spelled:
                raise self._error(place, f"names {source}, which is a word of its own here; rename the API {source}")
            if source not in words and slug(source) not in spelled:
                known = ", ".join([*words, *entries])
                raise self._error(place, f"names {source}, which is no API of this file; the known names are {known}")
            if source not in _OWN_SOURCES:
                found.append(source if source == MODEL else spelled[slug(source)])
        return tuple(found)

    def rule(self, raw: Any, place: str) -> PolicyRule:
        """One policy rule."""
        given = self.mapping(raw, place, _RULE_KEYS)
        decision = given.get("decision")
        if decision not in ("allow", "ask", "deny") and (decision is not None or not given.get("from_user")):
            raise self._error(f"{place}.decision", "must be allow, ask or deny")
        from_user = self.texts(given["from_user"], f"{place}.from_user") if "from_user" in given else ()
        return PolicyRule(cast("Decision | None", decision), **self._criteria(given, place), from_user=from_user)

    def effect(self, raw: Any, place: str) -> EffectRule:
        """One rule on the effect of operations; it must name them, so that no rule makes a whole API a read."""
        given = self.mapping(raw, place, _EFFECT_KEYS)
        if (kind := given.get("effect")) not in ("read", "change"):
            raise self._error(f"{place}.effect", "must be read or change")
        criteria = self._criteria(given, place)
        if not any(criteria.values()):
            raise self._error(place, f"must name operations, by {', '.join(_CRITERIA)}")
        return EffectRule(kind, **criteria)

    def _criteria(self, given: Mapping[str, Any], place: str) -> dict[str, tuple[str, ...]]:
        lists = {f"{key}s": self.texts(given[key], f"{place}.{key}") if key in given else () for key in _CRITERIA}
        return {**lists, "methods": tuple(method.upper() for method in lists["methods"])}

    def _rules(self, raw: Any, place: str) -> list[Any]:
        if not isinstance(raw or [], list):
            raise self._error(place, "must be a list of rules")
        return raw or []

    def _spec(self, spec: str) -> str:
        if spec.startswith(("http://", "https://")):
            return spec
        return str(self._path.parent / Path(spec).expanduser())

    def _file(self, raw: Any, place: str) -> Path | None:
        """The path of a file, relative to apis.yaml; a request to the API checks whether the file exists."""
        return None if raw is None else self._path.parent / Path(self.text(raw, place)).expanduser()

    def _notes(self, raw: Any, place: str) -> str:
        """The user's notes on the API, a text or a list of texts; each instruction's prompts hold all of them."""
        notes = "\n".join(self.texts(raw, place)) if raw is not None else ""
        if len(notes) > MOST_NOTES:
            raise self._error(place, f"has {len(notes):,} characters; shorten it to at most {MOST_NOTES:,}")
        return notes

    def _address(self, raw: Any, place: str) -> str:
        url = self.text(raw, place)
        if not is_http_address(url):
            raise self._error(place, "must be an HTTP URL, such as https://api.example.com/v1")
        return url

    def _addresses(self, raw: Any, place: str) -> tuple[str, ...]:
        given = raw if isinstance(raw, list) else [] if raw is None else [raw]
        return tuple(self._address(item, f"{place}[{number}]") for number, item in enumerate(given))

    def _flag(self, raw: Any, place: str) -> bool:
        if not isinstance(raw, bool):
            raise self._error(place, "must be true or false")
        return raw

    def _rate(self, raw: Any, place: str) -> float | None:
        if raw is None:
            return None
        if isinstance(raw, bool) or not isinstance(raw, int | float) or raw <= 0:
            raise self._error(place, "must be a number above zero")
        return float(raw)

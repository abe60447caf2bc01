"""Who may talk to the servers of this program.

One API of `apis.yaml`, and its rules on operations: the fields are the keys of the file.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    Strict,
    StrictBool,
    ValidationInfo,
)
from pydantic_core.core_schema import no_info_after_validator_function

from restgpt.specs.api import MOST_NOTES
from restgpt.specs.operation import Operation
from restgpt.specs.reach import LISTED, STRICT, Excluded, Included, Reach, Rule, Texts, named
from restgpt.specs.security import flat_credentials
from restgpt.tools.errors import SettingsError
from restgpt.tools.http.addresses import Origin
from restgpt.tools.http.authority import Authority, authority_of, web_origin_of
from restgpt.tools.settings.environment import Secret
from restgpt.tools.text.redaction import is_public_header
from restgpt.tools.text.storable import storable_text

SERVER_HOSTS, SERVER_ORIGINS = "RESTGPT_SERVER_HOSTS", "RESTGPT_SERVER_ORIGINS"
SERVER_WRITES = "RESTGPT_SERVER_WRITES"
WRITES = ("deny", "dry-run", "ask", "allow")
"""The values of the setting `writes`, from the strictest on."""
SERVER_TOKEN = "RESTGPT_SERVER_TOKEN"
_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""The form of a bearer token (RFC 6750, section 2.1)."""


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """Who may talk to the servers of this program beside programs on this machine, as the user says.

    `hosts` are names that lead to a server, such as that of a proxy: without a port for any port, and `*.example.com`
    for all names below a domain. `origins` are those of pages that may use it. `token` is the bearer token of all
    requests to the LangGraph server that do not come from this machine. `writes` is the most that a client of that
    server may choose as the setting `writes` of its runs.
    """

    hosts: tuple[Authority, ...] = ()
    origins: tuple[Origin, ...] = ()
    token: Secret | None = None
    writes: str = "ask"

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "ServerAccess":
        """Read the variables that begin with `RESTGPT_SERVER_`; raises SettingsError."""
        hosts, origins = (_listed(environ.get(name, "")) for name in (SERVER_HOSTS, SERVER_ORIGINS))
        writes = environ.get(SERVER_WRITES, "").strip() or "ask"
        if writes not in WRITES:
            raise SettingsError(f"{SERVER_WRITES}: {writes!r} is none of {', '.join(WRITES)}.")
        token = _server_token(environ.get(SERVER_TOKEN))
        return cls(tuple(map(_named_host, hosts)), tuple(map(_named_origin, origins)), token, writes)

    def check_run(self, context: Mapping[str, Any]) -> None:
        """Raise SettingsError for settings of a client's run that go beyond what the owner of the server set."""
        if WRITES.index(context.get("writes", "ask")) > WRITES.index(self.writes):
            raise SettingsError(
                f"A client of this server may choose `writes: {self.writes}` at most, not {context['writes']}. Its "
                f"owner allows more with {SERVER_WRITES} in its environment."
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


Decision = Literal["allow", "ask", "deny"]
Kind = Literal["read", "change"]
OR_NONE = BeforeValidator(lambda raw: raw or ())
"""Reads a key with nothing behind it as an empty list."""


@dataclass(frozen=True, slots=True)
class PolicyRule(Rule):
    """The decision on some operations.

    `from_user` names arguments whose values must come from the user; a rule with `from_user` needs no decision. The
    `reason` stands in refusals, for the model and for people.
    """

    decision: Decision | None
    from_user: Texts = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class EffectRule(Rule):
    """The user's word on some operations: they only read, or they change something."""

    effect: Kind


@dataclass(frozen=True, slots=True)
class TimeoutRule(Rule):
    """How long the answer of some operations may take, in seconds."""

    seconds: Annotated[float, Field(gt=0)]


@dataclass(frozen=True, slots=True)
class Failure:
    """How an API says in an answer with a status of success that it failed: `field` has the value `when`.

    `error` is the field that says why.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    field: str
    when: StrictBool | Annotated[int, Strict()] | str = False
    error: str = "error"

    def told_by(self, value: Any) -> str:
        """What an answer says of its failure; empty if it says nothing."""
        found = value.get(self.field) if isinstance(value, dict) else None
        if type(found) is not type(self.when) or found != self.when:
            return ""
        why = " ".join(storable_text(str(value.get(self.error) or "")).split())[:MOST_FAILURE]
        return f"{self.field} is {json.dumps(found)}" + (f": {why}" if why else "")


FAILURES = (Failure("ok"), Failure("success"))
"""What is told of answers of an API of which its entry says nothing."""

MOST_FAILURE = 200
"""The most characters of why an answer of success is a failure."""


def _undecided(raw: Any) -> Any:
    """Let a rule with `from_user` leave the decision out, and no other."""
    if not isinstance(raw, dict) or raw.get("decision") is not None:
        return raw
    return {**raw, "decision": None if raw.get("from_user") else ""}


PolicyRules = Annotated[tuple[Annotated[PolicyRule, BeforeValidator(_undecided)], ...], OR_NONE]
EffectRules = Annotated[tuple[Annotated[EffectRule, AfterValidator(named)], ...], OR_NONE]


MODEL = "model"
"""The word in `from` that lets values through which a model wrote."""


def is_http_address(url: str) -> bool:
    """Whether a text is an HTTP URL with a host and no invalid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.split() == [url]
    except ValueError:
        return False


def _address(url: str) -> str:
    if not is_http_address(url):
        raise ValueError("must be an HTTP URL, such as https://api.example.com/v1")
    return url


def _source(spec: str, info: ValidationInfo) -> str:
    return spec if spec.startswith(("http://", "https://")) else str(_file(Path(spec), info))


def _file(path: Path, info: ValidationInfo) -> Path:
    """A path relative to the folder of the file; a request to the API checks whether the file exists."""
    return cast("Path", info.context) / path.expanduser()


def _beside_certificate(path: Path, info: ValidationInfo) -> Path:
    if info.data.get("cert_file") is None:
        raise ValueError("needs a cert_file; add cert_file beside it")
    return path


def _notes(texts: tuple[str, ...]) -> str:
    """The user's notes on the API; each instruction's prompts hold all of them."""
    notes = "\n".join(texts)
    if len(notes) > MOST_NOTES:
        raise ValueError(f"has {len(notes):,} characters; shorten it to at most {MOST_NOTES:,}")
    return notes


def _flat(raw: Any) -> Any:
    return flat_credentials(raw) if isinstance(raw, dict) else raw or {}


Address = Annotated[str, AfterValidator(_address)]
Source = Annotated[str, AfterValidator(_source)]
File = Annotated[Path, AfterValidator(_file)]
Notes = Annotated[
    str, GetPydanticSchema(lambda _, read: no_info_after_validator_function(_notes, read(Texts))), OR_NONE
]
SecretText = Annotated[Secret, GetPydanticSchema(lambda _, read: no_info_after_validator_function(Secret, read(str)))]
Secrets = Annotated[Mapping[str, SecretText], BeforeValidator(_flat)]


@dataclass(frozen=True, slots=True)
class ApiEntry:
    """One API in `apis.yaml`: the location of its document, and the settings for its requests.

    `hosts` are further hosts that redirects may lead to; they get no credentials. `auth_servers` are URLs of token
    servers that may get the API's client secret if its document names them. `ca_file` holds the certificate authorities
    that the server's certificate is verified by, instead of the default ones. `cert_file` and `key_file` are the client
    certificate. An answer may take `timeout` seconds, or those of the first of `timeouts` that fits. Without
    `retry_429` a change that the API answers 429 is not sent again. `failures` says which answers with a status of
    success are none. `missing` lists unset environment variables that the secrets need; a request to the API then
    fails, but the other APIs work. `notes` is the user's own text about the API, which models read. `sources` are the
    entries whose values requests to this API may hold unasked, and `MODEL`. `include` and `exclude` say which
    operations may be used at all. `hidden` are secrets that another program gave, which are redacted only. All fields
    but `name`, `missing` and `hidden` are keys of the file.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    name: str
    spec: Source
    base_url: Address | None = None
    auth: Secrets = field(default_factory=dict)
    headers: Secrets = field(default_factory=dict)
    query: Secrets = field(default_factory=dict)
    cookies: Secrets = field(default_factory=dict)
    policy: PolicyRules = ()
    effects: EffectRules = ()
    include: Included = ()
    exclude: Excluded = ()
    sources: Annotated[Texts, OR_NONE] = field(default=(), metadata={"alias": "from"})
    notes: Notes = ""
    hosts: Annotated[Texts, OR_NONE] = ()
    auth_servers: Annotated[tuple[Address, ...], LISTED, OR_NONE] = ()
    allow_private: StrictBool = False
    allow_external: StrictBool = False
    retry_429: StrictBool = True
    failures: Failure | None = None
    timeout: Annotated[float, Field(gt=0)] | None = None
    timeouts: Annotated[tuple[TimeoutRule, ...], OR_NONE] = ()
    requests_per_second: Annotated[float, Strict(), Field(gt=0)] | None = None
    ca_file: File | None = None
    cert_file: File | None = None
    key_file: Annotated[File, AfterValidator(_beside_certificate)] | None = None
    missing: tuple[str, ...] = ()
    hidden: tuple[SecretText, ...] = ()

    @property
    def given(self) -> frozenset[tuple[str, str]]:
        """The places and names of what is sent with every request; names of headers are in lower case."""
        places = {"header": map(str.lower, self.headers), "query": self.query, "cookie": self.cookies}
        return frozenset((place, name) for place, names in places.items() for name in names)

    @property
    def reach(self) -> Reach:
        """The operations of the API that may be used."""
        return Reach(self.include, self.exclude)

    def decide(self, operation: Operation) -> Decision | None:
        """The decision of the first rule that applies; None if no rule with a decision applies."""
        rule = self.rule(operation)
        return rule.decision if rule is not None else None

    def rule(self, operation: Operation) -> PolicyRule | None:
        """The first rule with a decision that applies; None if there is none."""
        return next((rule for rule in self.policy if rule.decision and rule.applies_to(operation)), None)

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
            include=self.include,
            exclude=self.exclude,
            retry_429=self.retry_429,
        )

    def secrets(self) -> list[Secret]:
        """All values that must be redacted: not those of headers that are public by their name, such as Accept."""
        headers = [value for name, value in self.headers.items() if not is_public_header(name)]
        return [*self.auth.values(), *self.hidden, *headers, *self.query.values(), *self.cookies.values()]

    def credentials(self) -> dict[str, str]:
        """The credentials by scheme as plain text, for `load_api(auth=…)`."""
        return {scheme: secret.reveal() for scheme, secret in self.auth.items()}

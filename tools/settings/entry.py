"""One API of `apis.yaml`: its fields are the keys of the file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, GetPydanticSchema, Strict, StrictBool, ValidationInfo
from pydantic_core.core_schema import no_info_after_validator_function

from restgpt.specs.api import MOST_NOTES
from restgpt.specs.operation import Operation
from restgpt.tools.settings.rule import LISTED, OR_NONE, STRICT, Decision, EffectRules, Kind, PolicyRules, Texts
from restgpt.tools.settings.secret import Secret
from restgpt.tools.text.redaction import is_public_header

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


Address = Annotated[str, AfterValidator(_address)]
Source = Annotated[str, AfterValidator(_source)]
File = Annotated[Path, AfterValidator(_file)]
Notes = Annotated[
    str, GetPydanticSchema(lambda _, read: no_info_after_validator_function(_notes, read(Texts))), OR_NONE
]
SecretText = Annotated[Secret, GetPydanticSchema(lambda _, read: no_info_after_validator_function(Secret, read(str)))]
Secrets = Mapping[str, SecretText]


@dataclass(frozen=True, slots=True)
class ApiEntry:
    """One API in `apis.yaml`: the location of its document, and the settings for its requests.

    `hosts` are further hosts that redirects may lead to; they get no credentials. `auth_servers` are URLs of token
    servers that may get the API's client secret if its document names them. `ca_file` holds the certificate authorities
    that the server's certificate is verified by, instead of the default ones. `cert_file` and `key_file`
    are the client certificate. Without `retry_429` a change that the API answers 429 is not sent again. `missing` lists
    unset environment variables that the secrets need; a request to the API then fails, but the other APIs work. `notes`
    is the user's own text about the API, which models read. `sources` are the entries whose values requests to this API
    may hold unasked, and `MODEL`. All fields but `name` and `missing` are keys of the file.
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
    sources: Annotated[Texts, OR_NONE] = field(default=(), metadata={"alias": "from"})
    notes: Notes = ""
    hosts: Annotated[Texts, OR_NONE] = ()
    auth_servers: Annotated[tuple[Address, ...], LISTED, OR_NONE] = ()
    allow_private: StrictBool = False
    retry_429: StrictBool = True
    requests_per_second: Annotated[float, Strict(), Field(gt=0)] | None = None
    ca_file: File | None = None
    cert_file: File | None = None
    key_file: Annotated[File, AfterValidator(_beside_certificate)] | None = None
    missing: tuple[str, ...] = ()

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

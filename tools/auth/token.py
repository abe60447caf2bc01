"""OAuth2 tokens: read from the answers of an authorization server, and kept in a file that only its owner can read."""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import Any

from restgpt.specs.api import Api
from restgpt.specs.reading.json_text import is_too_deep
from restgpt.tools.errors import BrokenFault, LoginError, SettingsError
from restgpt.tools.file_lock import file_lock

Token = Mapping[str, Any]

ERROR_CODES = frozenset(
    {"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"}
    | {"invalid_scope", "invalid_token", "access_denied", "server_error", "temporarily_unavailable", "login_required"}
    | {"interaction_required", "consent_required", "unsupported_token_type"}
)
"""The error codes of a token endpoint (RFC 6749 section 5.2, RFC 6750, OpenID Connect Core)."""

LONGEST_LIFE = 10**12
"""The most seconds that `expires_in` may say, which is longer than any token is valid."""

_CHECK = "check its token URL, or ask who runs it"
_TOKENS = ("access_token", "refresh_token", "id_token")
# VSCHAR, of which tokens consist (RFC 6749 appendix A.12); headers, files and redaction take nothing else.
_VISIBLE = re.compile(r"[\x21-\x7e][\x20-\x7e]*")
_SECONDS = re.compile(r"[0-9]{1,12}")

WRITE_S = 30.0
"""How long a write waits for those of other processes, in seconds."""


def read_token_answer(status: int, body: bytes, origin: object) -> dict[str, Any]:
    """Read the answer of a token endpoint (RFC 6749 sections 5.1 and 5.2): its token, or its `error`.

    Only an answer with a status 2xx has a token. The messages quote nothing of the answer, which could repeat a secret
    of the request. Raises LoginError if the answer is of no use, and BrokenFault if the server failed.
    """
    if status >= 500:
        raise BrokenFault(f"the authorization server {origin} answered the token request with {status}; try again")
    found = read_object(body)
    if found is not None and (code := found.get("error")):
        return {"error": code if isinstance(code, str) and code in ERROR_CODES else "unknown error"}
    if not 200 <= status < 300:
        raise LoginError(f"the authorization server {origin} answered the token request with {status}; {_CHECK}")
    if found is None:
        raise LoginError(f"the authorization server {origin} did not answer in JSON to the token request; {_CHECK}")
    token = visible(found, (*_TOKENS, "scope", "token_type"))
    if lost := [name for name in _TOKENS if found.get(name) and name not in token]:
        raise LoginError(f"the {lost[0]} from the authorization server {origin} is no text that can be sent; {_CHECK}")
    if (kind := found.get("token_type")) and not str(kind).lower().startswith("bearer"):
        raise LoginError(f"the authorization server {origin} gives tokens of another type than bearer; {_CHECK}")
    if (expires := found.get("expires_in")) not in (None, ""):
        token["expires_in"] = _seconds(expires)
        if token["expires_in"] is None:
            raise LoginError(f"expires_in from the authorization server {origin} is no number of seconds; {_CHECK}")
    return token


def read_discovery(status: int, body: bytes, origin: object) -> dict[str, str]:
    """Read the endpoints of an OpenID provider (OpenID Connect Discovery 1.0 section 4.2); raises LoginError."""
    found = read_object(body)
    if status != 200 or found is None:
        raise LoginError(
            f"{origin} did not answer as an OpenID Connect server does; correct openIdConnectUrl in the document, or "
            "set token_url and authorization_url in apis.yaml"
        )
    return visible(found, ("token_endpoint", "authorization_endpoint"))


def visible(found: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The members of these names that are texts of visible ASCII characters, of which the first is no blank."""
    return {name: found[name] for name in names if isinstance(found.get(name), str) and _VISIBLE.fullmatch(found[name])}


def read_object(body: bytes) -> dict[str, Any] | None:
    """Read a JSON object; None if the body is none, or is nested too deeply to be read."""
    if is_too_deep(body):
        return None
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _seconds(given: Any) -> int | None:
    """A number of seconds, also in a text, as some servers write it; None if it is none."""
    if isinstance(given, str):
        return int(given) if _SECONDS.fullmatch(given) else None
    if not isinstance(given, int | float) or not 0 <= given <= LONGEST_LIFE:
        return None
    return int(given)


class TokenFile:
    """Tokens by identity of the API and scheme in one JSON file of mode 600.

    Safe across threads and processes; each change replaces the whole file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, api: Api, scheme: str) -> Token:
        """The token of a scheme, empty if there is none; raises SettingsError if the file cannot be read."""
        return self._read().get(_key(api, scheme), {})

    def put(self, api: Api, scheme: str, token: Token) -> None:
        """Store a token; it replaces the earlier one."""
        with self._locked("file", WRITE_S):
            self._write({**self._read(), _key(api, scheme): dict(token)})

    def renewal(self, api: Api, scheme: str, seconds: float) -> AbstractContextManager[None]:
        """Lock one token, to read, renew and store it; raises SettingsError if it stays locked for so many seconds.

        A refresh token that rotates is good for one request, and the second one revokes all tokens (RFC 9700, section
        4.14.2).
        """
        return self._locked(sha256(_key(api, scheme).encode()).hexdigest()[:32], seconds)

    def _locked(self, name: str, seconds: float) -> AbstractContextManager[None]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        busy = SettingsError(f"another process or run keeps {self._path} locked; wait until it ends, or stop it")
        return file_lock(self._path.parent / f".tokens-{name}.lock", busy, seconds=seconds, is_kept=False)

    def _read(self) -> dict[str, Token]:
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
            return {str(key): dict(token) for key, token in data.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, TypeError):
            raise SettingsError(f"{self._path} cannot be read; delete it and log in again") from None

    def _write(self, tokens: Mapping[str, Token]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # mkstemp creates the file with mode 600.
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".tokens-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(tokens, stream)
            os.replace(name, self._path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _key(api: Api, scheme: str) -> str:
    return json.dumps([api.identity, scheme])

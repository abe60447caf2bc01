"""A file for OAuth2 tokens that only its owner can read."""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import Any

from restgpt.specs.api import Api
from restgpt.tools.errors import SettingsError
from restgpt.tools.file_lock import file_lock

Token = Mapping[str, Any]

WRITE_S = 30.0
"""How long a write waits for those of other processes, in seconds."""


class TokenFile:
    """Tokens by identity of the API and scheme in one JSON file of mode 600.

    Safe across threads and processes; each change replaces the whole file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, api: Api, scheme: str) -> Token | None:
        """The token of a scheme; raises SettingsError if the file cannot be read."""
        return self._read().get(_key(api, scheme))

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

    def forget(self, api: Api, scheme: str) -> None:
        """Delete a token, as a logout does."""
        with self._locked("file", WRITE_S):
            self._write({key: token for key, token in self._read().items() if key != _key(api, scheme)})

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

"""The principal of a request: whose handles are valid. It stays the same when the server is started again.

Over stdio it is whoever owns the folder `RESTGPT_HOME`: its secret id is in a file that only the owner can read. Over
HTTP it is the subject of the bearer token; without tokens, everybody who reaches the loopback address is one principal.
"""

import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import Secret

FILE = "owner"
LOOPBACK = "loopback"
TOKEN = "token "
"""The beginning of the principal of a client with a bearer token."""

LEAST_TOKEN = 16
"""The fewest characters of a bearer token."""


def process_owner(home: Path) -> str:
    """Return the principal of stdio; makes its file at the first use. Raises `OSError` if it cannot be written."""
    path = home / FILE
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{FILE}.{secrets.token_hex(8)}")
    if not path.exists():
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_hex(16), encoding="ascii")
        try:
            # A link fails if another process has made the file meanwhile; its id counts then.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return f"owner {path.read_text(encoding='ascii').strip()}"


class Tokens:
    """The bearer tokens of a server by subject, compared in constant time."""

    def __init__(self, tokens: Mapping[str, Secret]) -> None:
        for subject, token in tokens.items():
            if len(token.reveal()) < LEAST_TOKEN:
                raise SettingsError(
                    f"The token of {subject} in RESTGPT_MCP_TOKEN has fewer than {LEAST_TOKEN} characters. Make one "
                    "with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
                )
        self._tokens = dict(tokens)

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def subject(self, token: str) -> str | None:
        """Return the subject of a token; None for an unknown one. Every token is compared, whichever fits."""
        given = token.encode("utf-8", "surrogatepass")
        found = [name for name, known in self._tokens.items() if hmac.compare_digest(known.reveal().encode(), given)]
        return found[0] if found else None

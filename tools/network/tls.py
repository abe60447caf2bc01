"""Which certificates a connection trusts, and which one it shows: what `apis.yaml` says of an API, for its own server.

An encrypted key is refused: nobody is there to be asked for its password.
"""

from dataclasses import dataclass
from pathlib import Path

from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import ApiEntry


@dataclass(frozen=True, slots=True)
class Trust:
    """The files of one API, and the authorities that are trusted everywhere else (None: the usual ones)."""

    entry: ApiEntry | None
    ca_bundle: str | None

    def towards(self, *, home: bool) -> tuple[str | bool, tuple[str, str] | None]:
        """The `verify` and `cert` of requests for a connection; raises SettingsError where a file is missing.

        Where a redirect leads away from `home`, the server of the API, neither of its files counts.
        """
        entry = self.entry
        if entry is None or not home:
            return self.ca_bundle or True, None
        authorities = _found(entry, "ca_file", entry.ca_file) or self.ca_bundle or True
        certificate = _found(entry, "cert_file", entry.cert_file)
        key = _found(entry, "key_file", entry.key_file) or certificate
        return authorities, (certificate, key) if certificate and key else None


def _found(entry: ApiEntry, name: str, path: Path | None) -> str | None:
    if path is not None and not path.is_file():
        raise SettingsError(f"{entry.name}.{name} in apis.yaml names {path}, which is not a file")
    return None if path is None else str(path)

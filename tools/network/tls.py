"""The TLS options of an API from `apis.yaml`: its CA file, and the client certificate for its own server.

An encrypted key file fails, because no one can be asked for its password.
"""

from dataclasses import dataclass
from pathlib import Path

from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import ApiEntry


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The TLS files of one API entry, and the CA bundle for all other connections (None: the default bundle)."""

    entry: ApiEntry | None
    ca_bundle: str | None

    def for_connection(self, *, home: bool) -> tuple[str | bool, tuple[str, str] | None]:
        """The arguments `verify` and `cert` of requests for a connection; raises SettingsError if a file is missing.

        `home` means a connection to the server of the API. Other servers, after a redirect, get none of its files.
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

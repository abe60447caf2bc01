"""Who may talk to the servers of this program."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from restgpt.tools.errors import SettingsError
from restgpt.tools.network.addresses import Origin
from restgpt.tools.network.authority import Authority, authority_of, web_origin_of
from restgpt.tools.settings.secret import Secret

SERVER_HOSTS, SERVER_ORIGINS = "RESTGPT_SERVER_HOSTS", "RESTGPT_SERVER_ORIGINS"
SERVER_TOKEN = "RESTGPT_SERVER_TOKEN"
_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""The form of a bearer token (RFC 6750, section 2.1)."""


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

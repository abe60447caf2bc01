"""Who may talk to the servers of this program."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from restgpt.tools.errors import SettingsError
from restgpt.tools.network.addresses import Origin
from restgpt.tools.network.authority import Authority, authority_of, web_origin_of
from restgpt.tools.settings.environment import Secret

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

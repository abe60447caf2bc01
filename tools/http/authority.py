"""The host and port in the headers `Host` and `Origin` of a request that comes in, read whole or not at all.

A check that looks at the beginning of such a text lets `127.0.0.1:2024.evil.example` pass.
"""

import ipaddress
import re
from dataclasses import dataclass

from restgpt.tools.http.addresses import PORTS, Address, Origin

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Authority:
    """Host and port (RFC 9110, section 7.2): the host in lower case and without brackets; no port if none is named."""

    host: str
    port: int | None = None

    @property
    def address(self) -> Address | None:
        """The IP address that the host is; None for a name."""
        return address_of(self.host)

    @property
    def is_loopback(self) -> bool:
        """Whether the host can only be the machine of the client itself, whatever a name server says.

        Connections to the unspecified address, which servers show as theirs, end on the own machine too.
        """
        if (address := self.address) is not None:
            return address.is_loopback or address.is_unspecified
        return self.host == "localhost"


def authority_of(text: str) -> Authority | None:
    """Read the value of a `Host` header; None if it is none."""
    match = _AUTHORITY.fullmatch(text.lower())
    if match is None:
        return None
    host, port = match.group(1).strip("[]"), match.group(2)
    if (match.group(1) != host and address_of(host) is None) or (port is not None and not 0 < int(port) < 65536):
        return None
    return Authority(host, None if port is None else int(port))


def web_origin_of(text: str) -> Origin | None:
    """Read the value of an `Origin` header (RFC 6454, section 7); None for `null` and for what is no HTTP origin."""
    scheme, separator, rest = text.lower().partition("://")
    authority = authority_of(rest)
    if scheme not in PORTS or not separator or authority is None:
        return None
    return Origin(scheme, authority.host, authority.port or PORTS[scheme])


def address_of(host: str) -> Address | None:
    """Return the IP address that a text without brackets is, IPv4 in IPv6 as IPv4; None for another text."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address

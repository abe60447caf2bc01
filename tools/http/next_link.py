"""Reads the address of the next page from response headers: `Link` (RFC 8288), or `Next-Page`, as Kinto sends it."""

import re
from collections.abc import Mapping

_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^,;\"=]+(?:=\s*\"[^\"]*\"|=[^,;\"]*)?)*)")
# Possessive, because a server may send many spaces.
_REL_NEXT = re.compile(r";\s*+rel\s*+=\s*+\"?[^\";]*\bnext\b", re.IGNORECASE)


def next_link(headers: Mapping[str, str]) -> str:
    """Return the address of `rel="next"`, else the one of the header `Next-Page`, or an empty string."""
    found = {name.lower(): value for name, value in headers.items()}
    for address, parameters in _LINK.findall(found.get("link", "")):
        if _REL_NEXT.search(parameters):
            return str(address)
    return found.get("next-page", "")

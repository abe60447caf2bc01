"""JSON pointers (RFC 6901), as plain text and as URI fragments."""

from collections.abc import Iterable
from urllib.parse import unquote


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """Split a plain JSON pointer into its unescaped tokens; the leading slash may be missing."""
    if pointer in ("", "/"):
        return ()
    tokens = pointer.removeprefix("/").split("/")
    return tuple([token.replace("~1", "/").replace("~0", "~") for token in tokens] if "~" in pointer else tokens)


def parse_fragment(fragment: str) -> tuple[str, ...]:
    """Split the percent-encoded fragment of a `$ref` into tokens (RFC 6901 section 6)."""
    return parse_pointer(unquote(fragment))


def format_pointer(tokens: Iterable[str]) -> str:
    """Write tokens as a plain JSON pointer."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)

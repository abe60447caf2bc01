"""The headers of a response that a result mentions: where a new resource is, its version, how many items there are.

Headers are foreign text, so names come from a fixed list, and values are short and without control characters.
"""

from collections.abc import Mapping

from restgpt.specs.operation import Operation
from restgpt.specs.status import is_success

# How many characters of a value are shown.
LONGEST = 200
# Statuses with which a server names another resource, or says when to try again (RFC 9110).
LOCATED = frozenset({201, 202, 300, 301, 302, 303, 307, 308})
LATER = frozenset({202, 429, 503})
TOTALS = ("x-total-count", "x-total", "x-total-items", "x-total-results", "x-count", "total-count", "content-range")
CONDITIONS = frozenset({"if-match", "if-none-match"})


def useful_headers(operation: Operation, status: int, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a response that later calls may need; `headers` have names in lower case."""
    wanted = ["location"] if status in LOCATED else []
    wanted += ["retry-after"] if status in LATER else []
    if is_success(status):
        wanted += TOTALS if operation.is_safe else ()
        wanted += ["etag"] if headers.get("etag") and has_conditions(operation) else []
    shown = {name: _shown(headers[name]) for name in wanted if name in headers}
    return {name: value for name, value in shown.items() if value}


def has_conditions(operation: Operation) -> bool:
    """Whether an operation on the same path takes If-Match or If-None-Match, so that a version is of use."""
    return any(
        parameter.location == "header" and parameter.name.lower() in CONDITIONS
        for item in operation.api.near_path(operation.path)
        if item.path == operation.path
        for parameter in item.parameters
    )


def _shown(value: str) -> str:
    """Return a value without control and formatting characters, empty if it is too long to be of use."""
    plain = "".join(char for char in str(value) if char.isprintable()).strip()
    return plain if len(plain) <= LONGEST else ""

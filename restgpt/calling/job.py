"""The job that an answer began: which operation tells its state, and whether it goes on (RFC 9110, section 15.3.3)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from restgpt.specs import Operation
from restgpt.specs.reading.index import VARIABLE, path_pattern, variables
from restgpt.tools.response.content import Reply

HEADERS = ("operation-location", "azure-asyncoperation", "location")
"""The headers with the address of a job's state; the last one only of an answer that says so by its status."""

STATES = ("state", "status", "provisioningState")
GOES_ON = frozenset({
    *("accepted", "created", "enqueued", "inprogress", "new", "notstarted", "pending", "preparing", "processing"),
    *("provisioning", "queued", "running", "scheduled", "started", "starting", "submitted", "updating", "waiting"),
})  # fmt: skip
"""The states in which APIs say that a job is not over, as letters in lower case."""


class Job(NamedTuple):
    """The call that tells the state of a job."""

    operation: Operation
    arguments: dict[str, Any]


def job_of(operation: Operation, reply: Reply) -> Job | None:
    """The call that tells what becomes of a request which was accepted and is not carried out yet, if one is named.

    It is named by the address in a header or in the body, such as Google's `operations/7`, or by an id in the body.
    """
    body = reply.content.value if reply.content.kind == "json" and not reply.truncated else None
    names = HEADERS if reply.status in (202, 303) else HEADERS[:2]
    addresses = [text for name in names if (text := reply.header(name))]
    is_google = isinstance(body, Mapping) and str(body.get("name", "")).startswith("operations/") and "done" not in body
    if not (addresses or reply.status == 202 or is_google):
        return None
    readers = [other for other in operation.api.operations if other.method == "GET" and "{" in other.path]
    for address in [*addresses, *_texts(body)]:
        if found := _addressed(readers, address):
            return found
    return _by_id(operation, readers, body)


def goes_on(status: int, body: Any) -> bool:
    """Whether an answer about a job says that it is not over: by its status, by `done`, or by a usual word."""
    if status == 202 or not isinstance(body, Mapping):
        return status == 202
    if isinstance(body.get("done"), bool):
        return not body["done"]
    return any(re.sub("[^a-z]", "", str(body.get(name, "")).lower()) in GOES_ON for name in STATES)


def _texts(body: Any, depth: int = 2) -> Iterator[str]:
    """The texts of a body that may be an address."""
    if isinstance(body, str) and "/" in body:
        yield body
    elif isinstance(body, Mapping) and depth:
        for value in body.values():
            yield from _texts(value, depth - 1)


def _addressed(readers: list[Operation], address: str) -> Job | None:
    """The call of an address: of several templates, the one that says most of it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    found: list[tuple[int, Job]] = []
    for reader in readers:
        if match := re.search(f"(?:^|/){path_pattern(reader.path.lstrip('/'))}/?$", parts.path):
            values = dict(zip(variables(reader.path), map(unquote, match.groups()), strict=True))
            known = {item.name for item in reader.parameters if item.location == "query"}
            query = {name: value for name, value in parse_qsl(parts.query) if name in known}
            found.append((len(reader.path), Job(reader, {"path": values, **({"query": query} if query else {})})))
    return max(found, key=lambda item: item[0])[1] if found else None


def _by_id(operation: Operation, readers: list[Operation], body: Any) -> Job | None:
    """The call that takes the id in a body: one thing of the same list, else the only one whose variable it names."""
    if not isinstance(body, Mapping):
        return None
    found = []
    for reader in readers:
        above, _, last = reader.path.rpartition("/")
        name = last[1:-1]
        if not VARIABLE.fullmatch(last) or "{" in above:
            continue
        value = body.get(name, body.get("id") if above == operation.path else None)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            found.append(Job(reader, {"path": {name: value}}))
    return found[0] if len(found) == 1 else None

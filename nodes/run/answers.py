"""The answers of APIs that a thread has kept, read again from the store within bounds."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from restgpt.calling.record import CallRecord
from restgpt.tools.response.store import MOST_CACHED, ResponseStore, UnknownHandleError

MAX_TRACED = 30
"""The maximum number of responses that are searched for the origin of an argument of a single call."""

MAX_TRACED_SIZE = 4_000_000
"""The maximum size of a response that is searched for that, in bytes."""

MAX_TRACED_TOTAL = 16_000_000
"""The maximum size of all responses that are searched for that, in bytes; the newest are searched."""


def kept_answers(
    kept: ResponseStore, requests: Sequence[CallRecord], *, most: int = MAX_TRACED
) -> Iterator[tuple[str, Any]]:
    """Yield the saved responses to requests by handle, newest first, up to `most`, without binary and large ones."""
    handles = dict.fromkeys(request["response"].get("handle") for request in reversed(requests))
    left = MAX_TRACED_TOTAL
    for handle in islice(filter(None, handles), most):
        try:
            body = kept.open(handle)
        except UnknownHandleError:
            continue
        # A body too heavy for the cache would be parsed again for every call.
        if not body.is_binary and body.size <= MAX_TRACED_SIZE and body.weight <= MOST_CACHED:
            left -= body.size
            if left < 0:
                return
            yield handle, body.value if body.is_json else body.text()

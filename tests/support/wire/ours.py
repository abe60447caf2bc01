"""The adapter of this project: document to reply, without a model."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from wire.case import Case, Outcome

from restgpt.specs import SpecError, load_api
from restgpt.tools.errors import RestgptError
from restgpt.tools.http.http_client import HttpClient, HttpLimits
from restgpt.tools.http.pagination import PageWalk, merge_pages
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.response.content import Reply, read_content


class SkippingClock:
    """Real time, but sleeping takes none of it."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def now(self) -> float:
        """Seconds, those slept included."""
        return time.monotonic() + self._skipped

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self._skipped += seconds


class RestgptAdapter:
    """Calls through `load_api`, `build_request` and `HttpClient`."""

    name = "restgpt"

    def call(self, case: Case, document: Mapping[str, Any]) -> Outcome:
        """Perform the call of a case."""
        clock = SkippingClock()
        client = HttpClient(limits=HttpLimits(body_bytes=200_000, read_seconds=5.0), clock=clock.now, sleep=clock.sleep)
        try:
            base_url = load_api(dict(document)).operation("probe").base_url
            # The user gives the address of a server on this machine, which no document may choose.
            typed = base_url if urlsplit(base_url).hostname == "127.0.0.1" else None
            operation = load_api(dict(document), auth=case.auth, base_url=typed).operation("probe")

            def send(arguments: Mapping[str, Any]) -> Reply:
                return client.send(build_request(operation, arguments), operation)

            replies = list(PageWalk(send, operation, case.arguments, send(case.arguments), most=case.pages))
        except (RestgptError, SpecError) as error:
            return Outcome(None, reason=str(error))
        finally:
            client.close()
        values = [read_content(reply.body, reply.header("content-type")).value for reply in replies]
        reason = "truncated" if any(reply.truncated for reply in replies) else ""
        return Outcome(replies[0].status, merge_pages(values), reason)

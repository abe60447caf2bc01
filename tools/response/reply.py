"""The reply to one request, returned by the HTTP client: secrets are redacted, the body is parsed at most once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from restgpt.specs.status import is_success
from restgpt.tools.response.content import Body, read_content


@dataclass(frozen=True)
class Reply:
    """One HTTP reply; `truncated` means that the body was longer than the client's limit and was cut.

    `elapsed_ms` is the time from the first attempt to the end of the body, waits included. `tries` are the statuses of
    all attempts; with `outcome_unknown` one of them may have carried out a change that this reply refuses. `next_link`
    is the address of the next page from the headers, in which only known secrets are redacted: it is for pagination,
    and is not shown.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    media_type: str
    body: bytes
    truncated: bool = False
    elapsed_ms: int = 0
    tries: tuple[str, ...] = ()
    outcome_unknown: bool = False
    url: str = ""
    next_link: str = field(default="", repr=False)

    @property
    def is_success(self) -> bool:
        """Whether the status is a 2xx (RFC 9110, section 15.3)."""
        return is_success(self.status)

    @property
    def attempts(self) -> int:
        """How often the request was sent."""
        return len(self.tries) or 1

    @cached_property
    def content(self) -> Body:
        """The normalized body; it is decoded and parsed at the first use of this property."""
        return read_content(self.body, self.header("content-type"))

    def header(self, name: str) -> str:
        """The value of a header, whose name may be in any case; an empty string if it is missing."""
        folded = name.lower()
        return next((value for key, value in self.headers.items() if key.lower() == folded), "")

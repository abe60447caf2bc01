"""The session of some calls: the operations, the HTTP client, the journal, the stored responses, the rules."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from uuid import uuid4

from restgpt.calling.call import Call, read_call
from restgpt.calling.decision import Rules
from restgpt.calling.journal import Journal
from restgpt.calling.record import CallRecord
from restgpt.calling.target import NO_TARGET, UNREAD, Target, reader_arguments, reader_of
from restgpt.specs import Api, Catalogue, Operation
from restgpt.tools.auth.credentials import refused_credential
from restgpt.tools.errors import (
    ArgumentError,
    ConnectFault,
    HttpFault,
    LoginError,
    MissingCredentialError,
    RefusedCredentialError,
    ResolveFault,
)
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.request.prepared_request import PreparedRequest, build_request
from restgpt.tools.response.content import Reply
from restgpt.tools.response.store import ResponseStore
from restgpt.tools.text.redaction import MARK, Redactor

ETAGS = frozenset({"etag", "@odata.etag"})
"""The fields in which some APIs answer the ETag of a thing (OData JSON Format 4.01, section 4.5.10)."""

NO_THREAD = "no-thread"
"""The thread of runs that are given none."""

LOOK_S = 20.0
"""How long a look at a target may take, in seconds: a person waits for it."""

UNREACHABLE = (ConnectFault, ResolveFault)
"""Nothing was sent, and nothing that a model could say would help: the run stops, to be resumed when the API is up."""


@dataclass(slots=True)
class RequestProgress:
    """One request while it is sent; `status` is set when its response is there."""

    status: int | None = None


Watch: TypeAlias = Callable[["Session", PreparedRequest, Operation], AbstractContextManager[RequestProgress]]
"""A function that `Session.send` calls for each request; the request is sent inside the returned context manager."""


def unwatched(
    session: "Session", request: PreparedRequest, operation: Operation
) -> AbstractContextManager[RequestProgress]:
    """Return a context manager without effect: the default of a session."""
    return nullcontext(RequestProgress())


@dataclass(slots=True)
class Session:
    """Everything outside that the calls of one thread use, and the number of requests they sent.

    `keep_earlier` has the target of a change read before the change is made, so that it can be undone. `compares` has
    answers compared with their documented schemas, which gives notices for a reader of the answers. Seam: `clock`,
    in seconds, which is the HTTP client's. `deadline` is the moment of that clock by which all requests end. `watch`
    gives the context manager in which each request is sent.
    """

    catalogue: Catalogue
    http: HttpClient
    responses: ResponseStore
    journal: Journal
    rules: Rules
    keep_earlier: bool = True
    compares: bool = True
    clock: Callable[[], float] = time.monotonic
    requests: int = 0
    deadline: float | None = None
    watch: Watch = unwatched
    _built: dict[tuple[str, str], Call] = field(default_factory=dict)
    _own: str = field(default_factory=lambda: f"run {uuid4().hex}")

    def keep(self, call: Call) -> CallRecord:
        """Return the JSON form of a call, whose request stays built for the next step in this session."""
        key = (call.id, call.fingerprint)
        if call.is_over:
            self._built.pop(key, None)
        else:
            self._built[key] = call
        return call.to_json()

    def call(self, record: CallRecord) -> Call:
        """Return a kept call that may still be sent; raises `OutdatedCallError`.

        Its request is built again, unless this session has just built it: then nobody can have edited the record, of
        which only the number of pages may have been cut since.
        """
        found = self._built.get((record["id"], record["fingerprint"]))
        if found is None or found.stage != record["status"]:
            return read_call(record, self.catalogue)
        return replace(found, pages=record["pages"])

    def send(
        self,
        request: PreparedRequest,
        operation: Operation,
        *,
        deadline: float | None = None,
        is_read: bool = False,
        before_send: Callable[[], None] | None = None,
    ) -> Reply:
        """Send one request and count it; raises as `HttpClient.send`, and RefusedCredentialError."""
        self.requests += 1
        moments = [moment for moment in (deadline, self.deadline) if moment is not None]
        until = min(moments, default=None)
        with self.watch(self, request, operation) as exchange:
            reply = self.http.send(
                request, operation, deadline=until, is_read=is_read, before_send=before_send, thread=self._jar
            )
            exchange.status = reply.status
        if self.session_hint(operation, reply):
            return reply
        refused = refused_credential(operation, reply, self.http.credentials)
        # What an earlier try may have done must not be lost with the error.
        if refused and not reply.outcome_unknown:
            raise refused
        return reply

    def require_credential(self, operation: Operation) -> None:
        """Raise MissingCredentialError if a request of this operation lacks a credential, before anybody is asked."""
        self.http.credentials.check(operation, self.http.cookies.names(self._jar, operation.api.identity))

    def missing_login(self, operation: Operation) -> str:
        """How to log in, if only a session cookie is missing; raises MissingCredentialError for anything else."""
        try:
            self.require_credential(operation)
        except MissingCredentialError as error:
            if not error.can_log_in:
                raise
            return str(error)
        return ""

    def session_hint(self, operation: Operation, reply: Reply) -> str:
        """How to log in, if an answer refuses a request for its session cookie or for the lack of one; else empty."""
        return self.http.credentials.session_hint(operation, reply)

    @property
    def _jar(self) -> str:
        """The thread whose cookies are sent: an undo has those of its thread, and a run without a thread its own."""
        return self.journal.thread.removesuffix("/undo") if self.journal.thread != NO_THREAD else self._own

    def redactor(self, about: Api | None = None) -> Redactor:
        """What hides the secrets of all APIs of the session, and of their tokens those of the API of a question."""
        return self.http.redactor(*self.catalogue.apis, about=about)

    def shown(self, request: PreparedRequest) -> dict[str, Any]:
        """A request as prompts and journals may hold it: without secrets and values of secret names, bounded."""
        about = [api for api in self.catalogue.apis if api.name == request.api]
        return request.shown(self.redactor(about[0] if len(about) == 1 else None))

    def redacted(self, text: str) -> str:
        """A text of a model as people may see it: without secrets."""
        return self.redactor().text(text)

    def look(self, operation: Operation, arguments: Any, *, firm: bool = False) -> Target:
        """Read the target of a change; the target is unknown unless the answer is a 200 with JSON, a 404 or a 410.

        Nothing is read that the rules do not let through unasked. A `firm` look raises `HttpFault` if the API cannot
        be reached. RefusedCredentialError is raised where the change would be refused too.
        """
        reader = reader_of(operation)
        if reader is None or self.rules.verdict(reader) != "allow":
            return NO_TARGET
        wanted = reader_arguments(operation, reader, arguments)
        if wanted is None:
            return NO_TARGET
        try:
            request = build_request(reader, wanted)
            if request.acts_as != reader.method:
                return NO_TARGET
            reply = self.send(request, reader, deadline=self.clock() + LOOK_S, is_read=True)
        except UNREACHABLE:
            if firm:
                raise
            return NO_TARGET
        except RefusedCredentialError as error:
            # The credential is not valid any more, so the change would be refused too, and no question is needed.
            if firm or (error.status == 401 and reader.security == operation.security):
                raise
            return NO_TARGET
        except (ArgumentError, HttpFault, MissingCredentialError, LoginError):
            return NO_TARGET
        return _target(reply, request.fingerprint)


def _target(reply: Reply, reader: str) -> Target:
    if reply.status in (404, 410):
        return Target.of({"known": "absent", "value": None}, reader=reader)
    if reply.status != 200 or reply.truncated or reply.content.kind != "json":
        return Target.of(UNREAD, reader=reader)
    value = reply.content.value
    told = {name: text for name in ("etag", "last-modified") if (text := reply.header(name)) and MARK not in text}
    fields = value.items() if isinstance(value, dict) else ()
    tags = [item for name, item in fields if name.strip("_").lower() in ETAGS and isinstance(item, str)]
    told = {"etag": tags[0], **told} if tags and MARK not in tags[0] else told
    return Target.of({"known": "present", "value": value, "validators": told}, reader=reader)

"""What one run of a node needs: its claim on the thread, services, settings, kept answers, and a count of its use."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import islice
from typing import Any

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from restgpt.calling.claim import Claim, LostClaimError
from restgpt.calling.decision import Rules
from restgpt.calling.journal import Journal
from restgpt.calling.notes import Answered, Notes
from restgpt.calling.permissions import Permissions
from restgpt.calling.record import CallRecord, Request
from restgpt.calling.session import NO_THREAD, Session, Watch, unwatched
from restgpt.calling.shapes import Shapes
from restgpt.nodes.run.events import request_reporter
from restgpt.nodes.run.model_calls import AnswerStream, ModelCalls
from restgpt.nodes.run.services import Context, Services, today_text
from restgpt.nodes.state.recipe_run import has_reader, stricter
from restgpt.nodes.state.records import Usage, tokens
from restgpt.specs import Catalogue, Operation
from restgpt.specs.docs.interface import Learned
from restgpt.specs.docs.prose import current_time
from restgpt.specs.problem import is_success
from restgpt.tools.model import Role
from restgpt.tools.model.reply import echo_of
from restgpt.tools.request.arguments import claimed
from restgpt.tools.response.store import MOST_CACHED, ResponseStore, UnknownHandleError
from restgpt.tools.sandbox.result import Limits
from restgpt.tools.text.redaction import Redactor, is_secret_name

SECONDS_PER_DAY = 86_400

SHORTEST_RUN = 0.05
"""The least time that a sandbox run is given, in seconds; it ends with a timeout where nothing is left."""

MOST_LEARNED = 1_000_000
"""The maximum size of a response whose shape is learned, in bytes."""


MAX_TRACED = 30
"""The maximum number of responses that are searched for the origin of an argument of a single call."""

MAX_TRACED_SIZE = 4_000_000
"""The maximum size of a response that is searched for that, in bytes."""

MAX_TRACED_TOTAL = 16_000_000
"""The maximum size of all responses that are searched for that, in bytes; the newest are searched."""

CLAIM = "restgpt_claim"
"""The key in a node's `configurable` under which it finds the claim of its run."""


def check_store(checkpointer: BaseCheckpointSaver[Any] | bool | None, store: BaseStore | None) -> None:
    """Raise `ValueError` for a persistent checkpointer without a store: a resumed run would have no write journal."""
    lasts = isinstance(checkpointer, BaseCheckpointSaver) and not isinstance(checkpointer, InMemorySaver)
    if lasts and store is None:
        raise ValueError(
            "A persistent checkpointer needs a store, which saves the write journal and the response bodies. Give a "
            "store, such as SqliteStore(…), to build_graph or to the parent graph: "
            "compile(checkpointer=SqliteSaver(…), store=SqliteStore(…))"
        )


def run_claim(number: int | None, store: BaseStore, runtime: Runtime[Context], config: RunnableConfig) -> Claim | None:
    """Return the claim of a run: that of its `number`, or the next one of its thread; None without checkpoints.

    A subgraph claims for itself: two of them may run at once in one thread. Raises `LostClaimError` for a run that is
    about to take its first claim, if another run has saved newer checkpoints since this one loaded its own.
    """
    configured = config.get("configurable", {})
    thread, place = configured.get("thread_id"), str(configured.get("checkpoint_ns", "")).rpartition("|")[0]
    if not thread or not isinstance(configured.get("__pregel_checkpointer"), BaseCheckpointSaver):
        return None
    journal = Journal(store, str(thread))
    if number is not None:
        return journal.run_claim(place, number)
    # Before the claim, so that a run that is late takes nothing from the other one; and after it, because the run may
    # have been stopped in between.
    _check_is_newest(place, runtime, config)
    claim = journal.run_claim(place)
    _check_is_newest(place, runtime, config)
    return claim


def _check_is_newest(place: str, runtime: Runtime[Context], config: RunnableConfig) -> None:
    """Raise `LostClaimError` if the thread has newer checkpoints; not for a run that was given an old one to start."""
    configured, loaded = config.get("configurable", {}), runtime.execution_info
    if loaded is None or config.get("metadata", {}).get("checkpoint_id"):
        return
    thread: RunnableConfig = {"configurable": {"thread_id": configured["thread_id"], "checkpoint_ns": place}}
    newest = configured["__pregel_checkpointer"].get_tuple(thread)
    if newest is not None and newest.checkpoint["id"] > loaded.checkpoint_id:
        raise LostClaimError


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


def _host_rules(services: Services, messages: Iterable[AnyMessage]) -> str:
    """Return the rules of the host: the system messages of the thread, and the rule of the services."""
    said = (str(message.text) for message in messages if message.type == "system")
    return "\n".join(filter(None, [*said, services.rule]))


@dataclass(slots=True)
class Run:
    """The services of one node run, and a count of what it uses: `models` asks the models of its roles.

    `agent` is the name of the graph in its answers. `answer` shows the answer while it is written, `watch` the requests
    while they are sent. `state` is that of the thread, as far as the node was given it.
    """

    services: Services
    context: Context
    store: BaseStore
    thread: str
    started: float
    used: Usage | None = None
    claim: Claim | None = None
    agent: str = ""
    watch: Watch = unwatched
    state: Mapping[str, Any] = field(default_factory=dict)
    answer: AnswerStream = field(default_factory=AnswerStream)
    models: ModelCalls = field(init=False)
    _session: Session | None = None

    @classmethod
    def open(
        cls,
        services: Services,
        runtime: Runtime[Context],
        config: RunnableConfig,
        *,
        used: Usage | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> "Run":
        """Open one node run; the settings of the run override the graph's defaults.

        `used` is what the turn has used so far. Without it, no deadline ends this node run, and any number of model
        calls may be made. If the `state` has a recipe for the turn whose file bans changes, or another road, this run
        has that setting.
        Raises `ValueError` for the same reason as `check_store`: a subgraph gets its parent's checkpointer only here.
        """
        context = services.defaults
        # A parent graph passes its own context to a subgraph; ignore a context of another class.
        if isinstance(runtime.context, Context):
            context = context.model_copy(update=runtime.context.model_dump(exclude_unset=True))
        writes = stricter(context.writes, state or {})
        if writes != context.writes:
            context = context.model_copy(update={"writes": writes})
        if context.road == "auto" and (state or {}).get("road") == "roles":
            context = context.model_copy(update={"road": "roles"})
        configured = config.get("configurable", {})
        check_store(configured.get("__pregel_checkpointer"), runtime.store or services.store)
        thread = str(configured.get("thread_id") or NO_THREAD)
        claim = configured.get(CLAIM)
        return cls(
            services,
            context,
            services.store_of(runtime),
            thread,
            started=services.clock(),
            used=used,
            claim=claim,
            watch=request_reporter(runtime.stream_writer),
            state=state or {},
        )

    def __post_init__(self) -> None:
        self.models = ModelCalls(
            lambda role, instead: self.services.model(role, self.context, instead),
            self.context,
            self.left,
            redactor=lambda: self.session.redactor().extended(self._tokens()),
            hidden=lambda: Redactor(self._tokens()),
            is_echo=echo_of(self._answers),
            tokens=None if self.used is None else tokens(self.used),
            host=_host_rules(self.services, self.state.get("messages", ())),
        )

    @property
    def catalogue(self) -> Catalogue:
        """The operations of this run's APIs."""
        return self.services.catalogue(self.context.apis)

    @property
    def shapes(self) -> Shapes:
        """The learned shapes of responses; they stay empty if the run's setting is off."""
        return Shapes(self.store if self.context.learned_shapes else None)

    @property
    def notes(self) -> Notes:
        """What servers demand beyond their documents; there are no notes if the run's setting is off."""
        return Notes(self.store if self.context.learned_shapes else None)

    def _requests(self) -> list[Request]:
        """Return the requests of this thread that the state has."""
        steps = self.state.get("steps") or ()
        return [*(item for step in steps for item in step["requests"]), *(self.state.get("requests") or ())]

    def _answers(self) -> Iterator[Any]:
        """Yield the answers of APIs in this thread that a model may quote."""
        return (answer for _, answer in kept_answers(self.session.responses, self._requests()))

    def _tokens(self) -> Iterator[str]:
        """Yield the tokens that APIs answered in headers; a program may send them on, and no prompt shows them."""
        for request in self._requests():
            headers: Mapping[str, str] = request["response"].get("headers") or {}
            yield from (value for name, value in headers.items() if is_secret_name(name))

    @property
    def rules(self) -> Rules:
        """The user's rules, and what a person permitted."""
        permissions, hours = Permissions(self.store), self.context.approval_hours
        return Rules(self.services.settings, self.context.writes, permissions, hours, self.services.now)

    @property
    def writes_programs(self) -> bool:
        """Whether models write programs; if not, they make calls one by one, on the paper's road."""
        return self.context.road in ("program", "auto")

    @property
    def session(self) -> Session:
        """The session that sends the calls of this node run."""
        if self._session is None:
            self._session = Session(
                catalogue=self.catalogue,
                http=self.services.http,
                responses=ResponseStore(self.store, cache=self.services.bodies),
                journal=Journal(self.store, self.thread, run=self.claim),
                rules=self.rules,
                keep_earlier=self.context.undo,
                compares=has_reader(self.state),
                watch=self.watch,
            )
            if self.used is not None:
                self._session.deadline = self._session.clock() + self.left()
        return self._session

    def left(self) -> float:
        """Return the seconds until the deadline of the turn, which all work of this node run must keep."""
        if self.used is None:
            return math.inf
        return max(0.0, self.context.max_seconds - self.used["seconds"] - (self.services.clock() - self.started))

    def limits(self, limits: Limits) -> Limits:
        """Return the limits of a sandbox run that ends by the deadline of the turn."""
        left = max(SHORTEST_RUN, self.left())
        if left == math.inf:
            return limits
        return replace(limits, wall=min(limits.wall, left))

    def usage(self) -> Usage:
        """Return the usage of this node run; the state's reducer adds it to the usage of the thread."""
        return {
            "roles": self.models.usage(),
            "requests": self._session.requests if self._session else 0,
            "seconds": round(self.services.clock() - self.started, 3),
        }

    def today(self) -> str:
        """Return today's date for a prompt, and the current time that the document of an API states instead."""
        times = {api.name: current_time(api.description) for api in self.catalogue.apis}
        stated = (
            f"; the spec of {name} states the time {time}, which counts there" for name, time in times.items() if time
        )
        return "".join([today_text(self.context.today, self.services.today), *stated])

    def now(self) -> float:
        """Return the time for a program, in seconds since 1970, on the day of the setting `today` if there is one."""
        now = self.services.now()
        if not self.context.today:
            return now
        day = datetime.combine(date.fromisoformat(self.context.today), datetime.min.time(), UTC)
        return day.timestamp() + now % SECONDS_PER_DAY

    @property
    def turn_id(self) -> str:
        """The id of the turn, with which the ids of its requests begin."""
        return str(self.state["turn_id"])

    def request_id(self, number: int) -> str:
        """Return the id of the request of a number in the turn; a replay of the turn, or a fork of it, has it too."""
        return f"{self.turn_id}-{number}"

    def examples(self, role: Role) -> str:
        """Return the examples for a role's system message."""
        return self.services.examples(role)

    def learned(self, focus: str = "") -> Learned:
        """What earlier calls taught of operations; the fields of answers that `focus` names come first."""
        shapes, notes = self.shapes, self.notes

        def noted(operation: Operation) -> str:
            return "; ".join(filter(None, [*(note.text for note in notes.of(operation)), shapes.sent(operation)]))

        return Learned(lambda operation: shapes.seen(operation, focus=focus) or "", noted)

    def learn(self, request: Request, earlier: Iterable[Request] = ()) -> None:
        """Learn the shape of the response to a request, if it is a successful one with JSON of a moderate size.

        Learn also which arguments made the difference to requests in `earlier` that the server refused. All this is
        learned for a model, so without a reader nothing is.
        """
        response = request["response"]
        if not has_reader(self.state):
            return
        same = (_answered(item) for item in earlier if item["operation"] == request["operation"] and item["response"])
        self.notes.learn(self.catalogue.operation(request["operation"]), _answered(request), same)
        if not is_success(int(response.get("status", 0))) or response.get("kind") != "json" or response["truncated"]:
            return
        if response["size"] <= MOST_LEARNED:
            try:
                body = self.session.responses.open(response["handle"])
            except UnknownHandleError:
                return
            self.shapes.learn(self.catalogue.operation(request["operation"]), body.value)


def _answered(request: Request) -> Answered:
    against = tuple(claimed(claim) for claim in request.get("insisted", ()))
    return Answered(request["arguments"], int(request["response"].get("status", 0)), against)

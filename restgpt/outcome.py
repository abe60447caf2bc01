"""The outcome of a call or a program without a model: it waits for a person, or it is over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from restgpt.calling.record import CallRecord, End, Provenance, RequestLine
    from restgpt.nodes.state.records import ProgramEnd, Step
    from restgpt.tools.response.content import Body


REPORT = "report-"
"""The beginning of the handle of a program's text: the number of its round and its thread follow."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Calls that wait for a person: the id of the pause, the actions, and the decisions allowed for each.

    `actions` are action requests of LangChain's human-in-the-loop middleware; `allowed` maps their names to decisions.
    `program` is the program that makes the calls, with the place of each action; None if no program makes them. The
    value is complete: it can be kept as JSON, shown by another process, and decided there. `approve` and `reject` are
    for a person where the client is at hand that gave it.
    """

    id: str
    actions: tuple[dict[str, Any], ...]
    allowed: dict[str, list[str]]
    program: Mapping[str, Any] | None = None
    thread: str = ""
    _decide: "Callable[[Pending, Mapping[str, Any]], Any] | None" = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        names = ", ".join(str(action["name"]) for action in self.actions)
        return f"<Pending {names}{f' thread={self.thread}' if self.thread else ''}>"

    @classmethod
    def of(cls, interrupt: Any, *, thread: str = "") -> "Pending":
        """Read an interrupt with the payload of LangChain's human-in-the-loop middleware."""
        value = interrupt.value if isinstance(interrupt.value, dict) else {}
        allowed = {config["action_name"]: config["allowed_decisions"] for config in value.get("review_configs", [])}
        return cls(interrupt.id, tuple(value.get("action_requests", ())), allowed, value.get("program"), thread)

    @classmethod
    def all_of(cls, snapshot: Any, *, thread: str = "") -> list["Pending"]:
        """Return the questions of a thread that an answer can decide, from its newest state.

        These are the open ones; without any, those whose approval can be taken back, since the request did not go out.
        """
        from restgpt.graph.node import pause_of, unused_approvals

        unused: dict[str, list[Any]] = {}
        for request in unused_approvals(snapshot):
            unused.setdefault(pause_of(request), []).append(request)
        return [
            *(cls.of(interrupt, thread=thread) for interrupt in snapshot.interrupts),
            *(cls._unused(pause, requests, thread) for pause, requests in unused.items()),
        ]

    @classmethod
    def _unused(cls, pause: str, requests: Sequence[Any], thread: str) -> "Pending":
        actions = [
            request.get("question") or {"name": request["operation"], "args": request["arguments"], "description": ""}
            for request in requests
        ]
        kinds = ["approve", "edit", "reject", "respond"]
        return cls(pause, tuple(actions), {action["name"]: kinds for action in actions}, thread=thread)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Pending":
        """Read what `to_json` wrote."""
        program, thread = value.get("program"), value.get("thread", "")
        return cls(value["id"], tuple(value["actions"]), dict(value["allowed"]), program, thread)

    @property
    def description(self) -> str:
        """Everything that a person has to see of the calls, as text in sections."""
        return "\n\n".join(str(action["description"]) for action in self.actions)

    def to_dict(self) -> dict[str, Any]:
        """Return the pause as plain JSON, without its thread."""
        program = {} if self.program is None else {"program": dict(self.program)}
        return {"id": self.id, "actions": list(self.actions), "allowed": self.allowed, **program}

    def to_json(self) -> dict[str, Any]:
        """Return the whole value as plain JSON."""
        return {**self.to_dict(), "thread": self.thread}

    def approve(self, *, permit: Mapping[str, Any] | None = None) -> Any:
        """Have exactly these requests sent, each once, as `Client.decide` does; never pass on what a model decided.

        `permit` lets further requests that look like these go out unasked, such as
        `{"free": ["/body/title"], "times": 5, "hours": 2}`; the `permit` of an action says what may be free.
        """
        return self._decided({"type": "approve"} if permit is None else {"type": "approve", "permit": dict(permit)})

    def reject(self, reason: str = "") -> Any:
        """Have none of these requests sent; a program or an agent reads the reason."""
        return self._decided({"type": "reject", "message": reason})

    def _decided(self, decision: Mapping[str, Any]) -> Any:
        if self._decide is None:
            raise RuntimeError("This question was read from JSON: answer it with Client.decide(pending, decision).")
        return self._decide(self, decision)

    def allows(self, kind: str) -> bool:
        """Return whether every action allows a decision of this kind."""
        return all(kind in self.allowed.get(action["name"], [kind]) for action in self.actions)


@dataclass(frozen=True, slots=True)
class Called:
    """A call that is over, by its JSON form (`restgpt.calling.record`).

    `thread` is the thread of a change; empty for a call that only read. The body of the response is in the store;
    `json` and `body` load it.
    """

    record: "CallRecord"
    thread: str = ""
    _open: "Callable[[str], Body] | None" = field(default=None, repr=False, compare=False)
    _undo: "Callable[[str], Pending | Undone] | None" = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        thread = f" thread={self.thread}" if self.thread else ""
        return f"<Call {self.operation} {self.status_code or self.state}{thread}>"

    @property
    def operation(self) -> str:
        """The name of the operation."""
        return self.record["operation"]

    @property
    def state(self) -> "End":
        """What happened: an answer came, none came, somebody or a rule said no, or a dry run kept it back."""
        return self.record["status"]  # type: ignore[return-value]

    @property
    def ok(self) -> bool:
        """Whether the API carried the call out."""
        from restgpt.calling.record import succeeded

        return succeeded(self.record)

    @property
    def status_code(self) -> int | None:
        """The HTTP status of the response; None if none came."""
        found = self.record["response"].get("status")
        return None if found is None else int(found)

    @property
    def status(self) -> int | None:
        """The HTTP status of the response, by its former name."""
        return self.status_code

    @property
    def note(self) -> str:
        """The reason why no answer came, or a remark on the answer; may be empty."""
        return self.record["note"]

    @property
    def rejection(self) -> str | None:
        """The reason with which a person rejected the call, which may be empty; None if no person did."""
        from restgpt.calling.decision import REJECTED

        said = self.note.removeprefix(REJECTED)
        return said.strip() if self.state == "rejected" and said != self.note else None

    @property
    def notices(self) -> tuple[str, ...]:
        """Remarks on the answer, such as that a list is not whole."""
        return tuple(self.record["response"].get("notices", ()))

    @property
    def provenance(self) -> "Sequence[Provenance]":
        """The origin of each argument, where it was traced."""
        return self.record.get("provenance", [])

    @property
    def handle(self) -> str:
        """The handle of the body in the store; empty if there is none."""
        return str(self.record["response"].get("handle") or "")

    @property
    def json(self) -> Any:
        """The body: JSON as its value, other text as a string, binary data as bytes, no body as None.

        Raises `UnknownHandleError` if the store does not have it any more.
        """
        return None if self._open is None or not self.handle else self._open(self.handle).value

    @property
    def body(self) -> "Body | None":
        """The stored body of the answer; None if there is none. Raises `UnknownHandleError` as `json` does."""
        return None if self._open is None or not self.handle else self._open(self.handle)

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the response that are kept, by their names in lower case."""
        return self.record["response"].get("headers") or {}

    @property
    def request(self) -> "RequestLine | None":
        """The method and the URL of the request, without secrets; None if it is not kept."""
        return self.record.get("request")

    def undo(self) -> "Pending | Undone":
        """Reverse the change, as `Client.undo` does; raises `ValueError` for a call that only read."""
        if self._undo is None or not self.thread:
            raise ValueError(f"{self!r} changed nothing that this process can undo.")
        return self._undo(self.thread)

    def to_json(self) -> "CallRecord":
        """Return the call as plain JSON, without its body."""
        return self.record


@dataclass(frozen=True, slots=True)
class Undone:
    """The reversal of a thread's changes: the calls that were made for it, newest change first.

    `left` says of each change why nothing can be undone, where nothing was.
    """

    thread: str
    calls: tuple[Called, ...]
    left: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all reversing calls succeeded."""
        return not self.left and all(call.ok for call in self.calls)


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that is over, and the calls that it made.

    With `end` "report", `text` is what it printed. Otherwise the program ended early, and `text` tells its writer why,
    with the line, what was printed and the shapes of the answers. A corrected program in the same thread does not
    repeat the changes that succeeded. `handle` names the text for `Client.body`.
    """

    thread: str
    end: "ProgramEnd"
    text: str
    calls: tuple[Called, ...] = ()
    handle: str = ""

    @classmethod
    def of(
        cls, state: Mapping[str, Any], *, thread: str = "", body: "Callable[[str], Body] | None" = None
    ) -> "Ran | None":
        """Read the last program of a thread from its state; None while it has not ended, or without one.

        `body` opens the body of a call by its handle.
        """
        from restgpt.calling.record import record_of

        program, steps = state.get("program"), state.get("steps")
        if program is None or program["status"] == "running" or not steps:
            return None
        calls = tuple(Called(record_of(request), thread, body) for request in steps[-1]["requests"])
        handle = f"{REPORT}{steps[-1]['round']}-{thread}" if thread else ""
        return cls(thread, program.get("end", "failed"), _program_text(state, steps[-1]), calls, handle)

    @property
    def ok(self) -> bool:
        """Whether the program ran to its end."""
        return self.end == "report"


def report_of(handle: str, state_of: Callable[[str], Mapping[str, Any]]) -> str | None:
    """Return the text of a program by its handle, from the state of its thread; None if it has no such program."""
    number, _, thread = handle.removeprefix(REPORT).partition("-")
    state = state_of(thread)
    rounds = (step for step in state.get("steps", ()) if str(step["round"]) == number)
    return next((_program_text(state, step) for step in rounds), None)


def _program_text(state: Mapping[str, Any], step: "Step") -> str:
    """Return what a program said: its report alone where that is known, else the result of its round."""
    is_last = step["round"] == state["steps"][-1]["round"]
    return (state["answer"] if is_last else "") or step["result"]


Outcome = Pending | Called
"""The outcome of one call."""


def status_of(outcome: Any) -> Literal["paused", "done", "failed"]:
    """Return the status of a thread whose run had this outcome: it waits for a person, or it is over."""
    if isinstance(outcome, Pending):
        return "paused"
    return "done" if outcome.ok else "failed"

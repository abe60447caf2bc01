"""The earlier calls of each conversation of this process: what a model may have read when it writes the next one."""

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import cast
from uuid import uuid4

from langchain_core.messages import AnyMessage

from restgpt.calling.record import CallRecord, Request, request_of
from restgpt.nodes.dialogue.conversation import is_answered, seen_message, told_apis
from restgpt.nodes.state.state import State

MOST_EARLIER = 200
"""The maximum number of earlier calls of a conversation whose answers are searched for the origin of arguments."""

MOST_CONVERSATIONS = 1_000
"""The maximum number of conversations whose calls are kept."""


class Earlier:
    """The newest calls of each conversation; of all conversations, which APIs answered. A restart forgets them."""

    def __init__(self) -> None:
        self._writer = uuid4().hex
        self._calls: dict[str, list[Request]] = {}
        self._answered: dict[str, dict[str, str]] = {}
        self._expected: dict[str, str] = {}
        self._refused: dict[str, list[str]] = {}
        self._lock = Lock()

    def run(self, conversation: str) -> str:
        """Return the id of a conversation in this process, for which a person may let values of one API go to another.

        Another process may have the conversation of somebody else by the same name, so its person is asked again.
        """
        return f"conversation {self._writer} {conversation}"

    def refused(self, conversation: str, claims: Sequence[str] = ()) -> list[str]:
        """Return the claims of the refusals that a model of the conversation has read, and add more for later calls."""
        with self._lock:
            known = self._refused.pop(conversation, [])
            self._refused[conversation] = [*known, *claims][-MOST_EARLIER:]
            for oldest in list(self._refused)[:-MOST_CONVERSATIONS]:
                del self._refused[oldest]
        return known

    def expect(self, thread: str, conversation: str) -> None:
        """Note the conversation to which the call of a thread belongs."""
        with self._lock:
            self._expected[thread] = conversation

    def settle(self, thread: str, records: Sequence[CallRecord]) -> None:
        """Add calls that are over to the conversation of their thread."""
        with self._lock:
            conversation = self._expected.pop(thread, None)
        if conversation is not None:
            for record in records:
                self.add(conversation, record)

    def add(self, conversation: str, record: CallRecord) -> None:
        """Add a call that is over."""
        with self._lock:
            calls = self._calls[conversation] = self._calls.pop(conversation, [])
            if len(self._calls) > MOST_CONVERSATIONS:
                del self._calls[next(iter(self._calls))]
            if record["id"] not in [call["id"] for call in calls]:
                calls.append(request_of(record, round_number=0, call=len(calls) + 1))
            del calls[:-MOST_EARLIER]
            if is_answered(record):
                self._answered.setdefault(conversation, {})[record["api"]["id"]] = record["api"]["name"]

    def read(self, conversation: str, messages: Iterable[AnyMessage]) -> None:
        """Note the APIs whose answers are in the messages of a run, which a model of the conversation has read."""
        apis = told_apis(messages)
        with self._lock:
            self._answered.setdefault(conversation, {}).update(apis)

    def state(self, conversation: str) -> State:
        """Return the calls as the state of a conversation in which no user has said anything."""
        with self._lock:
            calls, apis = [*self._calls.get(conversation, ())], {**self._answered.get(conversation, {})}
        messages: list[AnyMessage] = [seen_message(apis)] if apis else []
        return cast(State, {"messages": messages, "instruction": "", "requests": calls, "steps": [], "turn": 1})

    def statuses(self, conversation: str, fingerprint: str) -> tuple[int, ...]:
        """Return the statuses by which the very same request was answered in the conversation, the oldest first.

        0 is that of one that may have been carried out, though no answer came.
        """
        same = [call for call in self.state(conversation)["requests"] if call["fingerprint"] == fingerprint]
        sent = (call for call in same if "status" in call["response"] or call.get("outcome_unknown"))
        return tuple(int(call["response"].get("status", 0)) for call in sent)

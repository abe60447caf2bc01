"""The earlier calls of a conversation: what a model may have read when it writes a call, in this process or another."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from hashlib import sha256
from threading import Lock
from typing import Any
from uuid import uuid4

from langchain_core.messages import AnyMessage
from langgraph.store.base import BaseStore, PutOp

from restgpt.calling.record import ApiRecord, CallRecord, Request, request_of
from restgpt.nodes.dialogue.conversation import ConversationState, is_answered, seen_message, told_apis
from restgpt.tools.text.storable import storable_value

MOST_EARLIER = 200
"""The maximum number of earlier calls of a conversation whose answers are searched for the origin of arguments."""

MOST_CONVERSATIONS = 1_000
"""The maximum number of conversations whose calls a process keeps; of older ones it reads them in the store again."""

MOST_SPARE = 20
"""How many calls of a process are noted before the oldest notes are looked for and deleted."""

MOST_READ = 10_000
"""The most notes of one kind that are read of a conversation."""

NAMESPACE = ("restgpt", "earlier")
CALLS, APIS = "calls", "apis"


class Earlier:
    """The earlier calls of each conversation, which a model may have read when it writes the next one.

    The newest `MOST_EARLIER` of each conversation are kept in this process; of older ones, and of all conversations,
    it keeps which APIs answered.
    A `store` tells other processes of the conversation, and a later one, everything of that.
    """

    def __init__(self, store: BaseStore | None = None) -> None:
        self._writer = uuid4().hex
        self._shared = None if store is None else SharedEarlier(store)
        self._calls: dict[str, list[Request]] = {}
        self._answered: dict[str, dict[str, str]] = {}
        self._expected: dict[str, str] = {}
        self._lock = Lock()

    def on(self, store: BaseStore) -> "Earlier":
        """Return the same calls, shared with other processes through another store."""
        other = copy(self)
        other._shared = SharedEarlier(store)
        return other

    def run(self, conversation: str) -> str:
        """Return the id of a conversation in this process, for which a person may let values of one API go to another.

        Another process may have the conversation of somebody else by the same name, so its person is asked again.
        """
        return f"conversation {self._writer} {conversation}"

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
        if self._shared is not None and conversation:
            self._shared.add(conversation, record)

    def read(self, conversation: str, messages: Iterable[AnyMessage]) -> None:
        """Note the APIs whose answers are in the messages of a run, which a model of the conversation has read."""
        apis = told_apis(messages)
        with self._lock:
            self._answered.setdefault(conversation, {}).update(apis)
        if self._shared is not None and conversation:
            self._shared.read(conversation, apis)

    def state(self, conversation: str, *, has_calls: bool = True) -> ConversationState:
        """Return the calls as the state of a conversation in which no user has said anything.

        Without the calls it has only the APIs that answered, which is read faster.
        """
        shared = self._shared if conversation else None
        apis = {} if shared is None else shared.apis(conversation)
        with self._lock:
            own = [*self._calls.get(conversation, ())] if has_calls else []
            apis |= self._answered.get(conversation, {})
        others = [] if shared is None or not has_calls else shared.calls(conversation, {call["id"] for call in own})
        return {
            "messages": [seen_message(apis)] if apis else [],
            "instruction": "",
            "requests": [*others, *own][-MOST_EARLIER:],
            "steps": [],
            "turn": 1,
        }

    def statuses(self, conversation: str, fingerprint: str) -> tuple[int, ...]:
        """Return the statuses by which the very same request was answered in the conversation, the oldest first."""
        same = (call["response"] for call in self.state(conversation)["requests"] if call["fingerprint"] == fingerprint)
        return tuple(int(response["status"]) for response in same if "status" in response)


class SharedEarlier:
    """The notes of all processes about conversations, in a store.

    Each note is written whole, so that no process needs a lock. Which APIs answered is kept for good, of the calls the
    newest `MOST_EARLIER` and up to `MOST_SPARE` for each process.
    """

    def __init__(self, store: BaseStore, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._known: set[tuple[str, str]] = set()
        self._added = 0

    def add(self, conversation: str, record: CallRecord) -> None:
        """Note a call that is over."""
        api = record["api"]
        if is_answered(record):
            self.read(conversation, {api["id"]: api["name"]})
        self._add_call(conversation, api, record)

    def read(self, conversation: str, apis: Mapping[str, str]) -> None:
        """Note the APIs, by id with their names, of which a model may have read answers."""
        for key, name in apis.items():
            if (conversation, key) in self._known:
                continue
            if self._store.get(_namespace(conversation, APIS), key) is None:
                self._put(conversation, APIS, key, {"id": key, "name": name})
            if len(self._known) >= MOST_READ:
                self._known.clear()
            self._known.add((conversation, key))

    def calls(self, conversation: str, known: Collection[str]) -> list[Request]:
        """Return the calls of all processes but those with the `known` ids, the oldest first."""
        calls = sorted(self._items(conversation, CALLS), key=lambda item: item["at"])
        return [_request(item) for item in calls if item["id"] not in known]

    def apis(self, conversation: str) -> dict[str, str]:
        """Return the ids and names of the APIs that answered in any process."""
        return {item["id"]: item["name"] for item in self._items(conversation, APIS)}

    def _add_call(self, conversation: str, api: ApiRecord, record: CallRecord) -> None:
        response = {
            key: record["response"][key] for key in ("handle", "headers", "status") if key in record["response"]
        }
        noted = {key: record[key] for key in ("id", "operation", "status", "fingerprint")} | {
            "api": dict(api),
            "response": response,
        }
        self._put(conversation, CALLS, record["id"], {**noted, "at": self._clock()})
        self._added += 1
        if self._added % MOST_SPARE == 1:
            kept = self._store.search(_namespace(conversation, CALLS), limit=MOST_READ)
            old = sorted(kept, key=lambda item: item.value["at"])[:-MOST_EARLIER]
            self._store.batch([PutOp(item.namespace, item.key, None) for item in old])

    def _put(self, conversation: str, kind: str, key: str, value: Mapping[str, Any]) -> None:
        self._store.put(_namespace(conversation, kind), key, storable_value(dict(value)), index=False)

    def _items(self, conversation: str, kind: str) -> list[dict[str, Any]]:
        return [item.value for item in self._store.search(_namespace(conversation, kind), limit=MOST_READ)]


def _namespace(conversation: str, kind: str) -> tuple[str, ...]:
    # A store refuses some characters in a namespace.
    digest = sha256(conversation.encode("utf-8", "surrogatepass")).hexdigest()
    return (*NAMESPACE, digest, kind)


def _request(noted: Mapping[str, Any]) -> Request:
    record: CallRecord = {
        "id": noted["id"],
        "operation": noted["operation"],
        "safe": True,
        "arguments": {},
        "pages": 1,
        "description": "",
        "fingerprint": noted.get("fingerprint", ""),
        "status": noted["status"],
        "note": "",
        "response": noted["response"],
        "api": noted["api"],
    }
    return request_of(record, round_number=0, call=1)

"""Guards the write journal: what is known of a request before and after it was sent."""

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from restgpt.calling.journal import Journal, entry_id

SHOWN = {"method": "POST", "url": "https://things.example/things"}
ANSWER = {"status": "sent", "response": {"status": 201}}


def test_a_request_is_new_then_unknown_then_answered_unless_it_is_retracted() -> None:
    journal = Journal(InMemoryStore(), "thread")
    assert journal.look_up("r1", "abc").known == "new"
    for _ in range(2):
        journal.intend("r1", "abc", SHOWN)
        assert (journal.look_up("r1", "abc").known, journal.look_up("r1", "xyz").known) == ("unknown", "new")
        journal.retract("r1", "abc")
        assert journal.look_up("r1", "abc").known == "new"
    journal.intend("r1", "abc", SHOWN)
    journal.conclude("r1", "abc", ANSWER)
    entry = journal.look_up("r1", "abc")
    assert (entry.known, entry.outcome) == ("answered", ANSWER)


def test_threads_do_not_share_a_journal() -> None:
    store = InMemoryStore()
    Journal(store, "one").intend("r1", "abc", SHOWN)
    assert Journal(store, "two").look_up("r1", "abc").known == "new"
    assert Journal(store, "two").entries() == []


def test_entries_come_oldest_first_with_request_and_outcome() -> None:
    journal = Journal(InMemoryStore(), "thread")
    for number in (2, 1):
        journal.intend(f"r{number}", "abc", SHOWN)
    journal.conclude("r2", "abc", ANSWER)
    expected = [(entry_id("r2", "abc"), ANSWER), (entry_id("r1", "abc"), None)]
    assert [(entry["id"], entry["outcome"]) for entry in journal.entries()] == expected
    assert journal.entries()[0]["request"] == SHOWN


def test_a_clock_that_is_set_back_does_not_change_the_order(store: BaseStore) -> None:
    times = [1_790_000_000.25, 1_789_996_400.0, 1_789_996_400.0, 1_789_996_401.5]
    for number, now in enumerate(times):
        journal = Journal(store, "thread", clock=lambda now=now: now)  # type: ignore[misc]
        journal.intend(f"r{9 - number}", "abc", SHOWN)
    Journal(store, "thread", clock=lambda: 0.0).conclude("r9", "abc", ANSWER)
    expected = [entry_id(f"r{9 - number}", "abc") for number in range(len(times))]
    assert [entry["id"] for entry in Journal(store, "thread").entries()] == expected


@pytest.mark.parametrize("thread", ["a.b", "", "langgraph", "one/two", "ü\ud800", "x" * 500])
def test_a_thread_may_be_called_anything(thread: str) -> None:
    store = InMemoryStore()
    Journal(store, thread).intend("r1", "abc", SHOWN)
    assert Journal(store, thread).look_up("r1", "abc").known == "unknown"
    assert Journal(store, "other").entries() == []


def nested(levels: int) -> object:
    value: object = "end"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "odd", ["half \ud800 of a pair", 2**70, "\0", {"\udfff": [2**64]}, float("inf"), nested(500)], ids=range(6)
)
def test_whatever_an_api_answered_can_be_kept(odd: object) -> None:
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        journal = Journal(store, "thread")
        journal.intend("r1", "abc", SHOWN, earlier={"known": "present", "value": odd})
        journal.conclude("r1", "abc", ANSWER)
        journal.note(entry_id("r1", "abc"), undo={"arguments": {"body": odd}})
        assert journal.look_up("r1", "abc").outcome == ANSWER
        assert journal.entries()[0]["earlier"]["known"] == "present"


def test_a_request_that_was_edited_after_it_was_sent_leaves_both_entries() -> None:
    journal = Journal(InMemoryStore(), "thread")
    journal.intend("r1", "abc", SHOWN)
    journal.conclude("r1", "abc", ANSWER)
    journal.intend("r1", "xyz", SHOWN)
    assert journal.look_up("r1", "abc").known == "answered"
    assert journal.look_up("r1", "xyz").known == "unknown"
    assert len(journal.entries()) == 2

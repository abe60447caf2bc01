"""Guards the in-memory store: it keeps the newest bodies, within its limit."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.store.memory import InMemoryStore

from restgpt.calling.journal import Journal
from restgpt.tools.response.store import NAMESPACE, BoundedMemory, ResponseStore, UnknownHandleError, locked


def test_the_oldest_bodies_go_whole_and_can_be_kept_again() -> None:
    memory = BoundedMemory(most=250)
    responses = ResponseStore(memory, piece=40)
    Journal(memory, "thread").intend("r.0", "abc", {})
    handles = [responses.put_value(letter * 80).handle for letter in "abcde"]
    assert [responses.open(handle).value for handle in handles[-2:]] == ["d" * 80, "e" * 80]
    with pytest.raises(UnknownHandleError):
        responses.open(handles[0])
    assert len(memory.search(("restgpt", "bodies"), limit=100)) == 2 * len(["about", "1st", "2nd", "3rd piece"])
    assert responses.put_value("a" * 80).handle == handles[0]
    assert responses.open(handles[0]).value == "a" * 80
    assert Journal(memory, "thread").entries()


def test_a_body_past_the_bound_is_kept_until_the_next() -> None:
    responses = ResponseStore(BoundedMemory(most=10))
    large, small = (responses.put_value(text).handle for text in ("x" * 100, "y"))
    assert responses.open(small).value == "y"
    with pytest.raises(UnknownHandleError):
        responses.open(large)


def test_a_body_that_is_just_being_kept_is_passed_over() -> None:
    memory = BoundedMemory(most=10)
    memory.put(NAMESPACE, "body-unfinished.0", {"text": "x" * 100})
    handle = ResponseStore(memory).put_value("y" * 20).handle
    assert ResponseStore(memory).open(handle).value == "y" * 20


def test_a_hosts_store_in_memory_serves_several_threads_at_once() -> None:
    """Without the lock a search fails while another thread adds a namespace."""
    store = InMemoryStore()
    errors: list[RuntimeError] = []

    def use(number: int) -> None:
        kept = locked(store)
        for entry in range(100):
            try:
                kept.put((str(number), str(entry)), "key", {"at": entry}, index=False)
                kept.search((str(number),), filter={"at": {"$gte": 0}})
            except RuntimeError as error:
                errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(use, range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert locked(BoundedMemory()).__class__ is BoundedMemory

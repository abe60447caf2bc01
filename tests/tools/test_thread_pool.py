"""Guards the thread pool of nodes: its context variables, its size, and that cancelled work never starts."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from threading import Barrier, Event, current_thread
from typing import Any

import pytest

from restgpt.tools.errors import SettingsError
from restgpt.tools.graphs import ThreadPool
from restgpt.tools.http.cancellation import cancellation
from restgpt.tools.settings.environment import CONCURRENCY, concurrency_from_env

WORD: ContextVar[str] = ContextVar("word", default="none")


def test_a_function_sees_the_context_variables_of_its_caller_and_changes_only_its_copy() -> None:
    def change() -> str:
        seen = WORD.get()
        WORD.set("changed")
        return seen

    async def one(threads: ThreadPool, word: str) -> tuple[str, str]:
        WORD.set(word)
        return await threads.run(change), WORD.get()

    async def both() -> Any:
        threads = ThreadPool(1)
        return await asyncio.gather(one(threads, "first"), one(threads, "second"))

    assert asyncio.run(both()) == [("first", "first"), ("second", "second")]


def test_as_many_functions_run_at_once_as_there_are_threads_and_no_more() -> None:
    all_there = Barrier(3)

    async def run() -> set[str]:
        threads = ThreadPool(3)
        names = await asyncio.gather(
            *(threads.run(lambda: (all_there.wait(), current_thread().name)) for _ in range(6))
        )
        return {name for _, name in names}

    assert len(asyncio.run(run())) == 3


def test_a_function_can_check_whether_its_caller_was_cancelled() -> None:
    begun, free = Event(), Event()
    said: list[bool] = []

    def work() -> None:
        said.append(cancellation().is_cancelled)
        begun.set()
        free.wait()
        said.append(cancellation().is_cancelled)

    async def run() -> None:
        threads = ThreadPool(1)
        task = asyncio.create_task(threads.run(work))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.wait([task])
        free.set()
        said.append(await threads.run(lambda: cancellation().is_cancelled))

    asyncio.run(run())
    assert said == [False, True, False]
    assert not cancellation().is_cancelled


def test_a_function_that_waits_for_a_thread_is_never_started_once_its_caller_is_cancelled() -> None:
    begun, free = Event(), Event()
    ran: list[str] = []

    def hold() -> None:
        begun.set()
        free.wait()
        ran.append("held")

    async def run() -> None:
        threads = ThreadPool(1)
        held = asyncio.create_task(threads.run(hold))
        waiting = asyncio.create_task(threads.run(ran.append, "waiting"))
        await asyncio.to_thread(begun.wait)
        waiting.cancel()
        await asyncio.wait([waiting])
        free.set()
        await held
        await threads.run(ran.append, "last")

    asyncio.run(run())
    assert ran == ["held", "last"]


def test_a_function_that_runs_goes_on_to_its_end_when_its_caller_is_cancelled() -> None:
    begun, free, ended = Event(), Event(), Event()

    def hold() -> None:
        begun.set()
        free.wait()
        ended.set()

    async def run() -> None:
        task = asyncio.create_task(ThreadPool(1).run(hold))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(run())
    assert not ended.is_set()
    free.set()
    ended.wait()


def test_the_same_threads_serve_several_event_loops_and_an_exhausted_iterator_is_no_hang() -> None:
    threads = ThreadPool(1)
    names = [asyncio.run(threads.run(lambda: current_thread().name)) for _ in range(2)]
    assert names[0] == names[1]
    with pytest.raises(RuntimeError):
        asyncio.run(threads.run(next, iter(())))


def test_no_default_executor_is_made() -> None:
    class Refusing(ThreadPoolExecutor):
        def submit(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("the default executor was used")

    async def run() -> str:
        asyncio.get_running_loop().set_default_executor(Refusing())
        return await ThreadPool(1).run(str, 1)

    assert asyncio.run(run()) == "1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    threads = ThreadPool(1)
    asyncio.run(threads.run(str))
    child = os.fork()
    if child == 0:
        os._exit(asyncio.run(threads.run(lambda: 7)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_the_size_comes_from_the_environment_when_it_is_first_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert concurrency_from_env({}) == CONCURRENCY
    assert concurrency_from_env({"RESTGPT_CONCURRENCY": ""}) == CONCURRENCY
    threads = ThreadPool()
    monkeypatch.setenv("RESTGPT_CONCURRENCY", "1")

    async def names() -> set[str]:
        return set(await asyncio.gather(*(threads.run(lambda: current_thread().name) for _ in range(4))))

    assert len(asyncio.run(names())) == 1


@pytest.mark.parametrize("given", ["0", "-1", "many", "2.5"])
def test_a_size_that_is_no_number_above_zero_is_refused(given: str) -> None:
    with pytest.raises(SettingsError, match="RESTGPT_CONCURRENCY must be a whole number above zero"):
        concurrency_from_env({"RESTGPT_CONCURRENCY": given})
    with pytest.raises(ValueError, match="above zero"):
        ThreadPool(0)

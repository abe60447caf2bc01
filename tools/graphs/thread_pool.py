"""A thread pool for nodes under asyncio, so that they do not fill the default executor of the host.

LangGraph runs synchronous nodes and routers in the default executor of the event loop. That executor has six threads
on two cores, and the host needs it too, for example to resolve names. `run_in_threads` runs the nodes of a graph in a
separate pool. `on_loop` runs a router on the event loop itself, because a router only reads the state. A node in the
pool ends before its next request if its caller was cancelled.
"""

import os
from asyncio import CancelledError
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import run_in_executor
from langgraph.graph import StateGraph

from restgpt.tools.http.cancellation import Cancellation, cancellable
from restgpt.tools.settings.environment import concurrency_from_env

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ThreadPool:
    """A pool of at most `size` threads, each started when it is first needed; safe to use from several event loops.

    Without `size` the pool has the size in `RESTGPT_CONCURRENCY`, which is read when the pool is first used.
    """

    def __init__(self, size: int | None = None) -> None:
        if size is not None and size < 1:
            raise ValueError(f"concurrency must be a whole number above zero, not {size}.")
        self._size = size
        # By process id, because a forked child has no threads of its parent.
        self._pools: dict[int, ThreadPoolExecutor] = {}

    async def run(
        self, function: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Run a function in one of the threads, with the context variables of the caller.

        If the caller is cancelled, a function that waits for a thread is never started, and a running one is
        cancelled (`tools.http.cancellation`).
        """
        cancellation = Cancellation()
        with cancellable(cancellation):
            context = copy_context()
        try:
            return await run_in_executor(self._pool(), partial(context.run, function, *args, **kwargs))
        except CancelledError:
            cancellation.cancel()
            raise

    def _pool(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if process not in self._pools:
            size = self._size or concurrency_from_env()
            self._pools.setdefault(process, ThreadPoolExecutor(size, thread_name_prefix="restgpt"))
        return self._pools[process]


SHARED = ThreadPool()
"""The pool of all graphs that are built without `concurrency`."""


class ThreadedNode(Runnable[Any, Any]):
    """A node that `invoke` runs in the caller's thread and `ainvoke` in one of `threads`, with the same code."""

    def __init__(self, node: Runnable[Any, Any], threads: ThreadPool) -> None:
        self.name = node.get_name()
        self._node = node
        self._threads = threads

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node in the caller's thread."""
        return self._node.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node in a thread of the pool."""
        return await self._threads.run(self._node.invoke, input, config, **kwargs)


def run_in_threads(builder: StateGraph[Any, Any, Any, Any], concurrency: int | None = None) -> None:
    """Make the nodes added so far run in a thread pool under asyncio; call it before the graph is compiled.

    With `concurrency` the graph has its own pool of that size, else it shares the pool of the process. Raises
    `ValueError` for a `concurrency` below one.
    """
    threads = SHARED if concurrency is None else ThreadPool(concurrency)
    for spec in builder.nodes.values():
        if isinstance(spec.runnable, Runnable):
            spec.runnable = ThreadedNode(spec.runnable, threads)


def on_loop(router: Callable[[Any], Result]) -> Runnable[Any, Result]:
    """Make a router that runs on the event loop under asyncio, so it must not block."""

    @wraps(router)
    async def route(state: Any) -> Result:
        return router(state)

    return RunnableLambda(router, route)

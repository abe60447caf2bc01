"""Operations of APIs as tools of LangChain, for any agent; a pause for approval is a pause of the agent's graph."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, cast

from langchain_core.runnables.config import ensure_config
from langchain_core.tools import StructuredTool, ToolException
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.runtime import get_runtime
from langgraph.store.base import BaseStore

from restgpt.calling.call import Call
from restgpt.client import Client
from restgpt.earlier import Earlier
from restgpt.graph.build import make_resources
from restgpt.host.definitions import (
    CHANGE,
    READ,
    RESERVED,
    Definition,
    call_arguments,
    calling_definitions,
    check_reads,
)
from restgpt.host.named_arguments import CallPlace, CallPlaces, taken_arguments
from restgpt.host.operations import FOUND, described_text, direct_definitions, found_text
from restgpt.host.preview import Preview, preview, preview_ran, read
from restgpt.nodes.run.services import Context, Services
from restgpt.outcome import Called
from restgpt.specs import Api, Catalogue, Operation, UnknownOperationError
from restgpt.specs.reach import Reach, Rules
from restgpt.tools.errors import RepairableError, told
from restgpt.tools.graphs import SHARED, own_thread
from restgpt.tools.response.store import BoundedMemory, UnknownHandleError

STATE = ("requests", "steps", "program", "answer")
"""The keys of a subgraph's state from which the result of a tool is made, as far as it has them."""


MOST_CLIENTS = 8
"""How many stores of hosts the tools keep a client for; a host may pass a new store object to each run."""


def as_tools(
    apis: Api | Sequence[Api] | None = None,
    *,
    direct: Sequence[str] | bool = False,
    context: Context | Mapping[str, Any] | None = None,
    store: BaseStore | None = None,
    services: Services | None = None,
    include: Rules = (),
    exclude: Rules = (),
) -> list[StructuredTool]:
    """Return a few tools for all operations of `apis`: find, describe and call operations, run programs, read results.

    With `direct` each operation is a tool instead, at most 40; a list of operation names chooses them. The rules
    `include` and `exclude` say which operations the tools know and send, as those of `load_api` do. The other arguments
    are those of `Client`; without `store`, the tools use the store of the graph that calls them. In a node of
    a LangGraph graph, a call that needs approval pauses the graph with the payload of LangChain's human-in-the-loop
    middleware, and the graph is resumed with its decisions. Raises `SettingsError` if there is no API, and for too many
    direct tools.
    """
    services = make_resources(apis, model=None, models=None, context=context, store=store, services=services)
    if include or exclude:
        services = services.within(Reach.of(include, exclude))
    return _Toolset(services, store).direct(direct) if direct else _Toolset(services, store).few()


class _Toolset:
    """The tools of some APIs, which share their connections, and what models have read in each thread of the host."""

    def __init__(self, services: Services, store: BaseStore | None) -> None:
        self._resources = services
        self._own = store or BoundedMemory()
        self._given = store
        self._clients: dict[int, Client] = {}
        self._earlier = Earlier()
        self._lock = Lock()
        self._places = CallPlaces()

    def few(self) -> list[StructuredTool]:
        """Return the tools that serve every operation."""
        functions: dict[str, tuple[Callable[..., Any], bool]] = {
            "find_operations": (self._find, False),
            "describe_operation": (self._describe, False),
            READ: (self._call_read, True),
            CHANGE: (self._call, True),
            "run_program": (self._run, True),
            "read_result": (self._read, False),
        }
        apis = self._catalogue.apis
        return [self._tool(item, *functions[item.name]) for item in calling_definitions(apis, has_threads=False)]

    def direct(self, chosen: Sequence[str] | bool) -> list[StructuredTool]:
        """Return a tool for each operation, and those that describe operations and read results."""
        catalogue = self._catalogue
        operations = list(catalogue) if chosen is True else [catalogue.operation(key) for key in chosen or ()]
        found = direct_definitions(catalogue, operations)
        own = [self._tool(found[number], self._caller(operation), True) for number, operation in enumerate(operations)]
        more: dict[str, Callable[..., Any]] = {"describe_operation": self._describe, "read_result": self._read}
        rest = {item.name: item for item in found[len(operations) :]}
        return [*own, *(self._tool(rest[name], function, False) for name, function in more.items())]

    @property
    def _catalogue(self) -> Catalogue:
        return self._resources.catalogue(self._resources.defaults.apis)

    def _tool(self, definition: Definition, function: Callable[..., Any], sends: bool) -> StructuredTool:
        def take(given: Mapping[str, Any]) -> Any:
            # The document decides whether the arguments of a direct tool fit.
            return function(**(taken_arguments(definition, given) if definition.name in RESERVED else given))

        def run(**given: Any) -> str:
            made = _answered(take, given)
            if not sends:
                return str(made)
            place = self._place(definition, given)
            begun = place.saver.get_tuple(place.own) if place else None
            if called := self._read_at_once(made, begun):
                return _told(preview(called))
            shown = place.saver.get_tuple(place.shown) if place and place.has_answer else None
            graph, start = self._client().embedded(made)
            config = place.config(begun, shown) if place else own_thread()
            keys = [key for key in STATE if key in graph.channels]
            return self._finished(graph.invoke(start, config, output_keys=keys))

        async def arun(**given: Any) -> str:
            if not sends:
                return str(await SHARED.run(_answered, take, given))
            async with self._places.together(ensure_config().get("configurable", {})):
                return await acall(given)

        async def acall(given: Mapping[str, Any]) -> str:
            made = await SHARED.run(_answered, take, given)
            place = self._place(definition, given)
            begun = await place.saver.aget_tuple(place.own) if place else None
            if called := await SHARED.run(self._read_at_once, made, begun):
                return _told(preview(called))
            shown = await place.saver.aget_tuple(place.shown) if place and place.has_answer else None
            graph, start = self._client().embedded(made)
            config = place.config(begun, shown) if place else own_thread()
            keys = [key for key in STATE if key in graph.channels]
            output = await graph.ainvoke(start, config, output_keys=keys)
            return await SHARED.run(self._finished, output)

        return StructuredTool(
            name=definition.name,
            description=definition.description or definition.name,
            args_schema=dict(definition.input_schema),
            func=run,
            coroutine=arun,
            handle_tool_error=True,
        )

    def _find(self, query: str, limit: int = FOUND) -> str:
        return found_text(self._catalogue, query, limit, learned=self._client().learned)

    def _describe(self, operations: list[str]) -> str:
        return described_text(
            self._catalogue, operations, effects=self._client().effect, learned=self._client().learned
        )

    def _read(self, handle: str, pointer: str = "", page: int = 1) -> str:
        return read(self._client().body, handle, pointer, page).text

    def _call_read(self, operation: str, **given: Any) -> Call:
        found = self._catalogue.operation(operation)
        check_reads(found, self._client().effect, self._catalogue.name_of(found))
        return self._call(operation, **given)

    def _call(self, operation: str, arguments: Mapping[str, Any] | None = None, pages: int = 1, **beside: Any) -> Call:
        given = call_arguments(arguments or {}, beside)
        return self._client().draft(operation, given, pages=pages, conversation=_thread())

    def _caller(self, operation: Operation) -> Callable[..., Call]:
        name = self._catalogue.name_of(operation)

        def call(**arguments: Any) -> Call:
            return self._call(name, arguments)

        return call

    def _run(self, code: str) -> Any:
        return self._client().program_input(code, conversation=_thread())

    def _place(self, definition: Definition, given: Mapping[str, Any]) -> CallPlace | None:
        return self._places.place(ensure_config().get("configurable", {}), definition.name, given)

    def _read_at_once(self, made: Any, begun: CheckpointTuple | None) -> Called | None:
        """Send a call that only reads; None for any other, and for one that a person was asked about.

        After a restart nobody remembers why the person was asked, so the checkpoint of the call counts.
        """
        if begun is not None or not isinstance(made, Call):
            return None
        read = partial(self._client().read, conversation=_thread())
        return cast("Called | None", _answered(read, made))

    def _finished(self, output: Mapping[str, Any]) -> str:
        """Return the text of the result as `_told`."""
        outcome = self._client().embedded_outcome(output, conversation=_thread())
        return _told(preview(outcome) if isinstance(outcome, Called) else preview_ran(outcome))

    def _client(self) -> Client:
        """Return the client over the store of the host's graph, or over the tools' own where there is none."""
        store = self._given or _host_store() or self._own
        with self._lock:
            client = self._clients.pop(id(store), None) or self._opened(store)
            self._clients[id(store)] = client
            for oldest in list(self._clients)[:-MOST_CLIENTS]:
                del self._clients[oldest]
        return client

    def _opened(self, store: BaseStore) -> Client:
        client = Client(services=self._resources, store=store)
        # What a model has read in a thread stays known, whatever store object its host passes next.
        client.earlier = self._earlier
        return client


def _answered(function: Callable[[Any], Any], given: Any) -> Any:
    """Call a function with what a model gave; what the model can repair becomes the result of its tool."""
    try:
        return function(given)
    except (RepairableError, UnknownOperationError, UnknownHandleError) as error:
        raise ToolException(told(error)) from None


def _told(shown: Preview) -> str:
    """Return the text of a result; raises `ToolException` with that of an error."""
    if shown.structured["ok"] or shown.structured.get("state") == "held":
        return shown.text
    raise ToolException(shown.text)


def _host_store() -> BaseStore | None:
    try:
        runtime: Any = get_runtime()
    except (KeyError, RuntimeError):
        # Outside of any graph.
        return None
    return cast("BaseStore | None", getattr(runtime, "store", None))


def _thread() -> str:
    return str(ensure_config().get("configurable", {}).get("thread_id") or "")

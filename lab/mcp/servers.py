"""Compares `restgpt mcp` with FastMCP's server, both over HTTP and on the same documents, in one run.

    python -m lab.mcp.servers

The documents are the bundled ones. Tools, schemas and tokens are those of the first operations that a host can get as
direct tools; RestGPT's own few tools have a column too. The other rows are of calls that are made.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, ClassVar

import yaml
from mcp import Client, types

from lab.kit.table import markdown
from lab.mcp.suite_server import PNG, Quiet, answering, served
from restgpt.host.operations import MOST
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.reading.download import bundled_document
from restgpt.specs.reading.tree import places_in
from restgpt_bench.worlds import open_world
from restgpt_bench.worlds.server import serve

DOCUMENTS = ("toy", "tmdb", "spotify")
SERVERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "RestGPT --direct": ("restgpt", ("--direct", "--writes", "allow")),
    "RestGPT": ("restgpt", ("--writes", "allow")),
    "FastMCP": ("fastmcp", ()),
}
METHODS = ("get", "put", "post", "delete", "patch")
LIMITS = ("enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "default")
"""The keywords by which the wholeness of schemas is measured."""
IN_WORDS = (r"\d(?=\.\.)", r"\.\.(?=\d)", r"=(?=\S)", r" [^\s|,]+(?:\|[^\s|,=]+)+")
"""The same in the words of a direct tool that has no schema: `1..`, `..500`, `=1`, ` new|old`."""

ROWS = [{"id": number, "name": f"row {number}"} for number in range(60_000)]
READS = 50
WRONG: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("get_task", {}),
    ("get_task", {"task_id": "none"}),
    ("find_tasks", {"page": "first"}),
    ("find_tasks", {"nonsense": 1}),
    ("create_task", {"project_id": 1}),
    ("create_task", {"project_id": 1, "title": "x", "hours": "many"}),
    ("create_task", {"project_id": 1, "title": "x", "tytle": "y"}),
)
"""Calls of the toy API that do not fit its document."""

Call = Callable[[str, Mapping[str, Any]], Awaitable[types.CallToolResult]]


class Api(Quiet):
    """An API with a list of 60,000 rows, an image, and a change that answers late."""

    made: ClassVar[list[str]] = []
    began = Event()

    def do_GET(self) -> None:
        """Answer the list, or the image."""
        is_image = self.path == "/image"
        kind = {"Content-Type": "image/png" if is_image else "application/json"}
        self.answer(200, PNG if is_image else json.dumps(ROWS).encode(), kind)

    def do_POST(self) -> None:
        """Make a change, and answer two seconds later."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.made.append(self.path)
        self.began.set()
        time.sleep(2)
        with suppress(OSError):
            self.answer(201, b'{"id": 1}', {"Content-Type": "application/json"})


def described() -> dict[str, Any]:
    """Return the document of the API."""
    done = {"200": {"description": "Done"}}
    paths: dict[str, Any] = {
        f"/{name}": {"get": {"operationId": name, "responses": done}} for name in ("rows", "image")
    }
    paths["/things"] = {"post": {"operationId": "make_thing", "responses": {"201": {"description": "Made"}}}}
    return {"openapi": "3.1.0", "info": {"title": "Things", "version": "1"}, "paths": paths}


def first(name: str) -> dict[str, Any]:
    """Return a bundled document with the first operations that a host can get as direct tools."""
    document: dict[str, Any] = yaml.safe_load(bundled_document(name).read_text(encoding="utf-8"))
    room = MOST
    for path, item in list(document["paths"].items()):
        for method in [method for method in METHODS if method in item]:
            room -= 1
            if room < 0:
                del item[method]
        if not item.keys() & set(METHODS):
            del document["paths"][path]
    return document


def limits(schema: Any) -> int:
    """Count the limits, values and defaults in a schema; a property of such a name does not count."""
    return sum(
        path[-1:] != [] and path[-1] in LIMITS and path[-2:-1] != ["properties"] for path, _ in places_in(schema)
    )


def told(tool: Mapping[str, Any]) -> int:
    """Count the limits that a model reads of a tool: in the schema, or in the words about arguments instead of one."""
    schema, words = tool["inputSchema"], tool.get("description", "")
    in_words = [] if "properties" in schema else [found for part in IN_WORDS for found in re.findall(part, words)]
    return limits(schema) + len(in_words)


@contextmanager
def opened(server: str, options: Sequence[str], document: Mapping[str, Any], url: str) -> Iterator[str]:
    """Start a server over a document; gives its address."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "api.yaml"
        path.write_text(yaml.safe_dump(dict(document)), encoding="utf-8")
        with served(server, path, url, Path(folder), *options) as address:
            yield address


def calling(client: Client, server: str) -> Call:
    """Return how a server's tools call an operation."""

    async def call(operation: str, given: Mapping[str, Any]) -> types.CallToolResult:
        if server != "RestGPT":
            return await client.call_tool(operation, dict(given))
        reads = operation.startswith(("get", "find", "list", "rows", "image"))
        tool = "read_operation" if reads else "change_operation"
        return await client.call_tool(tool, {"operation": operation, "arguments": dict(given)})

    return call


async def definitions(url: str) -> dict[str, Any]:
    """Measure the tools of a server."""
    async with Client(url) as client:
        tools = (await client.list_tools()).tools
    sent = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    read = [{name: item[name] for name in ("name", "description", "inputSchema") if name in item} for item in sent]
    typed = [item for item in sent if len(json.dumps(item.get("outputSchema", {}).get("properties", {}))) > 2]
    return {
        "tokens of definitions": len(json.dumps(read, separators=(",", ":"))) // TOKEN,
        "limits, values and defaults of arguments": sum(map(told, sent)),
        "tools with typed results": f"{len(typed)} of {len(sent)}",
    }


async def toy(url: str, server: str, log: Sized) -> dict[str, Any]:
    """Measure calls of the toy API, whose requests are in the log."""
    async with Client(url) as client:
        call = calling(client, server)
        before = len(log)
        for operation, given in WRONG:
            with suppress(Exception):
                await call(operation, given)
        refused = len(WRONG) - (len(log) - before)
        seconds = []
        for _ in range(READS):
            begun = time.perf_counter()
            await call("list_projects", {})
            seconds.append(time.perf_counter() - begun)
        return {
            "wrong calls refused before sending": f"{refused} of {len(WRONG)}",
            "a read, median ms": round(median(seconds) * 1000, 1),
        }


async def results(url: str, server: str) -> dict[str, Any]:
    """Measure the results of a list of 60,000 rows and of an image."""
    async with Client(url) as client:
        call = calling(client, server)
        rows, image = await call("rows", {}), await call("image", {})
        return {
            "bytes of a list of 60,000": len(rows.model_dump_json(by_alias=True, exclude_none=True)),
            "an image is an image": "yes" if any(part.type == "image" for part in image.content) else "no",
        }


async def cancelled(url: str, server: str) -> None:
    """Make a change, and cancel the call when the API has it."""
    Api.began.clear()
    async with Client(url) as client:
        call = asyncio.ensure_future(calling(client, server)("make_thing", {}))
        await asyncio.to_thread(Api.began.wait, 30)
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call


async def made(url: str, server: str) -> None:
    """Make the change again, as a client does that got no answer."""
    async with Client(url) as client:
        await calling(client, server)("make_thing", {})


def changes(kind: str, options: Sequence[str], server: str, url: str) -> dict[str, Any]:
    """Count the changes of a call that is cancelled and repeated, and of one whose server is started again between."""
    found = {}
    for row in ("changes of a call that is cancelled and repeated", "the same, with another server process"):
        Api.made.clear()
        with TemporaryDirectory() as folder:
            path = Path(folder) / "api.json"
            path.write_text(json.dumps(described()), encoding="utf-8")
            with served(kind, path, url, Path(folder), *options) as address:
                asyncio.run(cancelled(address, server))
                if row.startswith("changes"):
                    asyncio.run(made(address, server))
            if not row.startswith("changes"):
                with served(kind, path, url, Path(folder), *options) as address:
                    asyncio.run(made(address, server))
        found[row] = len(Api.made)
    return found


def main() -> int:
    """Print the table."""
    columns: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        own, world = stack.enter_context(answering(Api)), stack.enter_context(serve(open_world("toy")))
        for server, (kind, options) in SERVERS.items():
            found = columns[server] = {}
            for name in DOCUMENTS:
                with opened(kind, options, first(name), world.url) as url:
                    found |= {f"{row}, {name}": value for row, value in asyncio.run(definitions(url)).items()}
                    if name == "toy":
                        found |= asyncio.run(toy(url, server, world.world.log))
            with opened(kind, options, described(), own) as url:
                found |= asyncio.run(results(url, server))
            found |= changes(kind, options, server, own)
    rows = dict.fromkeys(row for found in columns.values() for row in found)
    print("\n".join(markdown(["", *columns], ([row, *(found[row] for found in columns.values())] for row in rows))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Seeds LangGraph's server; a resource is a thread, an assistant, or an item of the store."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lab.real.http import Call, Http
from lab.real.server import Server
from lab.real.state import NEW, Effect, Sent, State
from restgpt.tools.settings import EffectRule

PAGE = 100
THREAD, ASSISTANT = ("metadata",), ("name", "graph_id", "metadata", "context", "description")
READS = ("/search", "/count", "/history", "/versions", "/store/namespaces")
"""The ends of the paths of POST requests that only read."""

CONFIGURATION = {"dependencies": ["."], "graphs": {"clerk": "lab.real.langgraph.graph:graph"}}


class LangGraph(Server):
    """The server of `langgraph dev`, with threads, assistants and a store."""

    name, product, about, document = "langgraph", "langgraph-api", ("/info", "version"), "/openapi.json"
    missing = "LangGraph's server is not installed. Install it with: make setup"
    reads = (EffectRule("read", methods=("POST",), paths=tuple(f"**{end}" for end in READS)),)
    environment: ClassVar[Mapping[str, str]] = {
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "1",
        "LANGSMITH_TRACING": "false",
        # The graph is in the lab, which is importable in the checkout's folder only.
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }

    def program(self) -> Path | None:
        """Return the program."""
        program = Path(sys.executable).with_name("langgraph")
        return program if program.exists() else None

    def options(self, folder: Path, port: int) -> Sequence[str]:
        """Return the options for a server that keeps its state in the folder."""
        (folder / "langgraph.json").write_text(json.dumps(CONFIGURATION), encoding="utf-8")
        return ["dev", "--no-browser", "--no-reload", "--port", str(port)]

    def reset(self, http: Http) -> None:
        """Delete everything, and create the seed in the same order each time, because lists are ordered by age."""
        for key in self.state(http):
            http.send(_removal(key))
        for key, content in self.seed.items():
            http.send(_creation(key, content))

    def state(self, http: Http) -> State:
        """Return all threads, assistants and items; the assistants that the server makes itself are left out."""
        threads = {f"/threads/{item['thread_id']}": _part(item, THREAD) for item in _all(http, "/threads/search")}
        assistants = {
            f"/assistants/{item['assistant_id']}": _part(item, ASSISTANT)
            for item in _all(http, "/assistants/search")
            if item["metadata"].get("created_by") != "system"
        }
        items = {_item_key(item): {"value": item["value"]} for item in _items(http)}
        return threads | assistants | items

    def effects(self, sent: Sent, http: Http) -> Sequence[Effect]:
        """Return the effects of a request; the effect of a run is one on the key /runs."""
        kind, _, name = sent.path.strip("/").partition("/")
        body = sent.body if isinstance(sent.body, dict) else {}
        match sent.method, kind, name:
            case (("PUT" | "DELETE"), "store", "items"):
                return [Effect(_item_key(body), None if sent.method == "DELETE" else {"value": body.get("value")})]
            case "POST", "runs", ("wait" | "stream" | ""):
                return [Effect("/runs", {})]
            case "POST", "threads", "prune" if body.get("strategy", "delete") == "delete":
                return [Effect(f"/threads/{thread}", None) for thread in body.get("thread_ids", ())]
            case "POST", ("threads" | "assistants"), "":
                chosen = body.get(f"{kind[:-1]}_id") or NEW
                return [Effect(f"/{kind}/{chosen}", _part(body, (*THREAD, *ASSISTANT)))]
            case "PATCH", ("threads" | "assistants"), _ if "/" not in name:
                return [Effect(sent.path, _part(body, (*THREAD, *ASSISTANT)))]
            case "DELETE", ("threads" | "assistants"), _ if "/" not in name:
                return [Effect(sent.path, None)]
        return [Effect(sent.path, {})]

    def only_reads(self, sent: Sent) -> bool:
        """Return whether a request changes nothing, as the documentation of the server says."""
        return super().only_reads(sent) or (sent.method == "POST" and sent.path.endswith(READS))


def _part(item: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: item[name] for name in names if name in item}


def _all(http: Http, path: str) -> Iterator[Any]:
    offset = 0
    while found := http.send(Call("POST", path, {"limit": PAGE, "offset": offset})).json():
        yield from found
        offset += PAGE


def _items(http: Http) -> Iterator[Any]:
    yield from http.send(Call("POST", "/store/items/search", {"namespace_prefix": [], "limit": 1000})).json()["items"]


def _item_key(item: dict[str, Any]) -> str:
    return f"/store/{'.'.join(map(str, item.get('namespace') or ()))}/{item.get('key')}"


def _item_place(key: str) -> dict[str, Any]:
    _, _, namespace, name = key.split("/")
    return {"namespace": namespace.split("."), "key": name}


def _removal(key: str) -> Call:
    return Call("DELETE", "/store/items", _item_place(key)) if key.startswith("/store/") else Call("DELETE", key)


def _creation(key: str, content: dict[str, Any]) -> Call:
    if key.startswith("/store/"):
        return Call("PUT", "/store/items", {**_item_place(key), **content})
    _, kind, name = key.split("/")
    return Call("POST", f"/{kind}", {f"{kind[:-1]}_id": name, **content})

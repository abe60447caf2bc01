"""Lets an API answer with hostile bodies and headers, and measures the CPU time and the memory that each answer takes.

Each answer is given to two runs in a process of its own: a program whose second call is traced to the answer, and the
loop that goes call by call. An answer must be read, cut with a notice, or fail with an error that names the cause, and
take at most `MOST_CPU_S` of this process and `MOST_MEMORY` above what the process held before.
"""

import argparse
import gzip
import json
import os
import resource
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pydantic import PrivateAttr

from lab.kit.fresh import fresh
from lab.kit.memory import forget_peak, memory
from lab.kit.tally import say
from lab.kit.template import filled, filled_text
from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Services
from restgpt.specs import Api, load_api
from restgpt.tools.errors import RestgptError
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.model.scripted import Reply, ScriptedChatModel
from restgpt.tools.settings import Settings

MOST_CPU_S = 10.0
"""The most seconds of CPU time that one answer may take of the process that reads it, without the sandbox."""

MOST_MEMORY = 500_000_000
"""The most bytes that one answer may add to the memory of the process that reads it."""

SECRET = "sk-live-4f9a8c7b6d5e"

PROGRAM = """\
found = list_things(pages=20)
put_note(note_id="n-1", body={"text": f"of type {type(found).__name__}, no-such-id-12"})
print("The answer was read.")
"""


@dataclass(frozen=True, slots=True)
class HostileAnswer:
    """An answer of a hostile API.

    Body, media type and headers are templates, of which `count` is the full size; the body is `zipped` so many times.
    """

    name: str
    body: str = "[]"
    count: int = 0
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    status: str = "200 OK"
    encoding: str = "utf-8"
    zipped: int = 0

    def sent(self, part: float) -> bytes:
        """Return the whole response as bytes of HTTP/1.1, at a part of its full size."""
        size = max(1, int(self.count * part))
        write = BODIES.get(self.name)
        body = filled_text(self.body, size).encode(self.encoding) if write is None else write(size)
        for _ in range(self.zipped):
            body = gzip.compress(body, 9, mtime=0)
        headers = {
            "Content-Type": filled_text(self.media_type, size),
            "Content-Length": len(body),
            "Connection": "close",
        }
        headers |= {"Content-Encoding": "gzip"} if self.zipped else {}
        lines = [f"{name}: {value}" for name, value in (headers | filled(self.headers, size)).items()]
        return "\r\n".join([f"HTTP/1.1 {self.status}", *lines, "", ""]).encode("latin-1") + body


def _entities(size: int) -> bytes:
    """Return XML with nine entities, each of which is ten times the one before it."""
    lines = [b'<!ENTITY %c "%s">' % (98 + at, b"&%c;" % (97 + at) * 10) for at in range(9)]
    return b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + b"".join(lines) + b"]><a>&j;</a>"


def _objects(size: int) -> bytes:
    return json.dumps([{f"n{number}x{at}": at for at in range(100_000)} for number in range(size)]).encode()


def _escaped(size: int) -> bytes:
    return "".join(f"\\u{ord(letter):04x}" for letter in SECRET).encode() + b"\\u0073" * size


BODIES: dict[str, Callable[[int], bytes]] = {
    "10 objects of 10^5 names each": _objects,
    "900 nested arrays, 2000 times": lambda size: b"[" + b",".join([b"[" * 900 + b"]" * 900] * size) + b"]",
    "2,000 integers of 3,999 digits": lambda size: b"[" + b",".join([b"9" * 3999] * size) + b"]",
    "XML with entities of entities": _entities,
    "8 MB with a secret in escapes": _escaped,
    "1 MB of pieces of a secret": lambda size: SECRET[:-1].encode() * size,
    "gzip of 10^6 empty members": lambda size: gzip.compress(b"", 9, mtime=0) * size,
}
"""The bodies that no template can write."""


@cache
def _data() -> dict[str, Any]:
    source = Path(__file__).with_name("answers.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(source.replace("$secret", SECRET))
    return data


def hostile_answers() -> list[HostileAnswer]:
    """Every hostile answer, at full size."""
    return [HostileAnswer(name, **given) for name, given in _data()["answers"].items()]


@dataclass(frozen=True, slots=True)
class Cost:
    """What an answer took of the process that read it, and the words for how the runs ended."""

    name: str
    cpu: float
    wall: float
    memory: int
    sandbox: float
    endings: tuple[str, ...]

    @property
    def is_bounded(self) -> bool:
        """Whether the answer took no more than it may."""
        return self.cpu <= MOST_CPU_S and self.memory <= MOST_MEMORY


@contextmanager
def answering(sent: bytes) -> Iterator[str]:
    """Serve one response to every GET on loopback; `{next}` in its head is the number of the GET."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            """Read the head of a request and answer it."""
            is_change = self.rfile.readline().startswith(b"PUT")
            while self.rfile.readline() not in (b"\r\n", b"\n", b""):
                pass
            if is_change:
                self.wfile.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                return
            server.count += 1  # type: ignore[attr-defined]
            head, gap, body = sent.partition(b"\r\n\r\n")
            with suppress(OSError):
                self.wfile.write(head.replace(b"{next}", b"%d" % server.count) + gap)  # type: ignore[attr-defined]
                self.wfile.write(memoryview(body))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.count = 0  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


class ReadingModel(ScriptedChatModel):
    """A model that has the answer read: by one program, or call by call."""

    _asked: list[str] = PrivateAttr(default_factory=list)

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """The next decision."""
        opening = str(messages[0].text)
        is_first = opening not in self._asked
        self._asked.append(opening)
        if opening.startswith("You fulfil a user's instruction with the functions"):
            return {"decision": "program", "text": PROGRAM} if is_first else {"decision": "end", "text": "Ended."}
        if opening.startswith("You are the planner"):
            return {"decision": "plan" if is_first else "end", "text": "List the things."}
        if opening.startswith("You are the API selector"):
            return {"calls": [{"operation": "list_things", "purpose": "list", "needs": []}], "answer": ""}
        if opening.startswith("You are the caller"):
            wanted = {"call": 1, "arguments": {}, "description": "things", "output_instruction": "the names"}
            return {"calls": [wanted], "missing": ""}
        return "print(type(data).__name__, len(str(data)[:100]))"


def read_answer(answer: HostileAnswer, part: float = 1.0) -> Cost:
    """Give an answer to both runs and measure what this process spends."""
    sent = answer.sent(part)
    _both_runs(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]")
    before = memory("VmRSS")
    forget_peak()
    cpu, children, wall = time.process_time(), _of_children(), time.monotonic()
    endings = _both_runs(sent)
    return Cost(
        answer.name,
        round(time.process_time() - cpu, 2),
        round(time.monotonic() - wall, 2),
        memory("VmHWM") - before,
        round(_of_children() - children, 2),
        endings,
    )


def _both_runs(sent: bytes) -> tuple[str, ...]:
    with answering(sent) as url:
        api = load_api(_data()["document"], base_url=url, auth={"Key": SECRET})
        return _ending(api, {}), _ending(api, {"road": "roles"})


def _ending(api: Api, context: Mapping[str, Any]) -> str:
    """Run the agent once, and return its answer and the notices of its requests, or its error."""
    settings, config = Settings(home=Path("/nonexistent")), RunnableConfig(configurable={"thread_id": "t"})
    services = Services([api], model=ReadingModel(), http=HttpClient(settings=settings), settings=settings)
    services = services.with_defaults(writes="allow", **context)
    graph = build_graph(services=services, checkpointer=InMemorySaver(), store=InMemoryStore())
    try:
        state = graph.invoke({"instruction": "List the things in the note n-1"}, config)
    except RestgptError as error:
        return f"{type(error).__name__}: {error}"[:200]
    values = graph.get_state(config).values
    sent = [item for step in values["steps"] for item in step["requests"]]
    notices = [note for item in sent for note in item["response"].get("notices", ())]
    notes = [item["note"] for item in sent if item["note"]]
    said = str(state["messages"][-1].text) if state.get("messages") else str(state.get("answer"))
    results = [step["result"][:150] for step in values["steps"]]
    return json.dumps([said[:100], *results[:2], *notices, *notes], ensure_ascii=False)[:600]


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cost_of(name: str, part: float = 1.0) -> Cost:
    """Measure one answer in a new process."""
    return fresh(read_answer, next(item for item in hostile_answers() if item.name == name), part)


def main() -> int:
    """Measure the answers whose names contain the given text, and print a table; 1 if one takes too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="", help="measure only answers with this text in their name")
    parser.add_argument("--part", type=float, default=1.0, help="the part of the full size")
    parser.add_argument("--endings", action="store_true", help="print how the runs ended")
    options = parser.parse_args()
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    wrong = 0
    for answer in hostile_answers():
        if options.text in answer.name:
            cost = cost_of(answer.name, options.part)
            wrong += not cost.is_bounded
            used = f"{cost.cpu:7.2f} s CPU {cost.wall:7.2f} s {cost.memory / 1e6:6.0f} MB"
            say(f"{' ' if cost.is_bounded else '!'} {used} {cost.sandbox:6.2f} s in the sandbox  {cost.name}")
            say(*(f"      {ending}\n" for ending in cost.endings if options.endings), sep="", end="")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""Lets an API answer with hostile bodies and headers, and measures the CPU time and the memory that each answer takes.

Each answer is given to two runs in a process of its own: a program whose second call is traced to the answer, and the
loop that goes call by call. An answer must be read, cut with a notice, or fail with an error that names the cause, and
take at most `MOST_CPU_S` of this process and `MOST_MEMORY` above what the process held before.
"""

import argparse
import gzip
import json
import multiprocessing
import os
import resource
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pydantic import PrivateAttr

from restgpt.graph.build import build_graph
from restgpt.lab.kit.memory import forget_peak, memory
from restgpt.nodes.run.resources import Resources
from restgpt.specs import Api, load_api
from restgpt.tools.errors import RestgptError
from restgpt.tools.http.client import HttpClient
from restgpt.tools.model.scripted import Reply, ScriptedChatModel
from restgpt.tools.settings import Settings

MOST_CPU_S = 10.0
"""The most seconds of CPU time that one answer may take of the process that reads it, without the sandbox."""

MOST_MEMORY = 500_000_000
"""The most bytes that one answer may add to the memory of the process that reads it."""

SECRET = "sk-live-4f9a8c7b6d5e"

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Things", "version": "1"},
    "security": [{"Key": []}],
    "paths": {
        "/things": {
            "get": {
                "operationId": "list_things",
                "parameters": [{"name": "page", "in": "query", "schema": {"type": "integer"}}],
                "responses": {
                    "200": {
                        "description": "The things.",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Things"}}},
                    }
                },
            }
        },
        "/notes/{note_id}": {
            "put": {
                "operationId": "put_note",
                "parameters": [{"name": "note_id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"type": "object", "properties": {"text": {"type": "string"}}}}
                    }
                },
                "responses": {"204": {"description": "Kept."}},
            }
        },
    },
    "components": {
        "securitySchemes": {"Key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "schemas": {
            "Things": {
                "type": "array",
                "items": {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}},
            }
        },
    },
}

PROGRAM = """\
found = list_things(pages=20)
put_note(note_id="n-1", body={"text": f"of type {type(found).__name__}, no-such-id-12"})
print("The answer was read.")
"""


@dataclass(frozen=True, slots=True)
class HostileAnswer:
    """An answer of a hostile API: its name, its body at full size or a part of it, its headers and its status."""

    name: str
    body: Callable[[float], bytes]
    media_type: str = "application/json"
    headers: Callable[[float], Sequence[tuple[str, str]]] = lambda part: ()
    status: str = "200 OK"

    def sent(self, part: float) -> bytes:
        """Return the whole response as bytes of HTTP/1.1."""
        body = self.body(part)
        lines = [f"Content-Type: {self.media_type}", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers(part)]
        return "\r\n".join([f"HTTP/1.1 {self.status}", *lines, "", ""]).encode("latin-1") + body


def hostile_answers() -> list[HostileAnswer]:
    """Every hostile answer, at full size."""
    return [*_lines(), *_arrays(), *_objects(), *_numbers(), *_texts(), *_compressed(), *_headed(), *_paged()]


def _lines() -> Iterator[HostileAnswer]:
    lines, stream = "application/x-ndjson", "text/event-stream"
    yield HostileAnswer("8 MB of JSON Lines with one digit each", _times(b"1\n", 4_000_000), lines)
    yield HostileAnswer("8 MB of JSON Lines with an empty object each", _times(b"{}\n", 2_700_000), lines)
    yield HostileAnswer("8 MB of JSON Lines that are announced as JSON", _times(b'{"a":1}\n', 1_000_000))
    yield HostileAnswer(
        "8 MB of JSON Lines without a type", _times(b'{"a":1}\n', 1_000_000), "application/octet-stream"
    )
    yield HostileAnswer("JSON Lines with a broken last line", lambda part: b'{"a":1}\n' * int(1e6 * part) + b"{", lines)
    yield HostileAnswer(
        "JSON Lines with a broken first line", lambda part: b"{\n" + b'{"a":1}\n' * int(1e6 * part), lines
    )
    yield HostileAnswer("a JSON text sequence", _times(b'\x1e{"a":1}\n', 800_000), "application/json-seq")
    yield HostileAnswer("8 MB of empty lines", lambda part: b"{}" + b"\n" * int(8e6 * part) + b"{}", lines)
    yield HostileAnswer("an event stream", _times(b'data: {"a":1}\n\n', 500_000), stream)
    yield HostileAnswer("8 MB of CSV with one letter a cell", _times(b"a,b,c,d\n", 1_000_000), "text/csv")
    yield HostileAnswer("CSV with an open quote", lambda part: b'a,"' + b"b,\n" * int(2.5e6 * part), "text/csv")


def _arrays() -> Iterator[HostileAnswer]:
    yield HostileAnswer("an array of 10^6 small integers", _array(lambda number: str(number % 100), 1_000_000))
    yield HostileAnswer("an array of 10^6 different integers", _array(str, 1_000_000))
    yield HostileAnswer("an array of 20 million zeros", _array(lambda number: "0", 20_000_000))
    yield HostileAnswer("an array of 10 million empty arrays", _array(lambda number: "[]", 10_000_000))
    yield HostileAnswer("an array of 10 million empty objects", _array(lambda number: "{}", 10_000_000))
    yield HostileAnswer("an array of 10^6 short texts", _array(lambda number: f'"t{number}"', 1_000_000))
    yield HostileAnswer(
        "an array of 10^5 objects with different names",
        _array(lambda number: f'{{"a{number}":1,"b{number}":2}}', 100_000),
    )
    yield HostileAnswer(
        "10 objects of 10^5 names each",
        _array(lambda number: json.dumps({f"n{number}x{at}": at for at in range(100_000)}), 10),
    )


def _objects() -> Iterator[HostileAnswer]:
    yield HostileAnswer("10^5 nested arrays", lambda part: b"[" * int(1e5 * part) + b"]" * int(1e5 * part))
    yield HostileAnswer("10^5 nested objects", lambda part: b'{"a":' * int(1e5 * part) + b"1" + b"}" * int(1e5 * part))
    yield HostileAnswer("900 nested arrays, 2000 times", _array(lambda number: "[" * 900 + "]" * 900, 2000))
    yield HostileAnswer("10^5 opening brackets", lambda part: b"[" * int(1e5 * part))
    yield HostileAnswer("5 million opening braces of names", lambda part: b'{"a":' * int(5e6 * part))
    yield HostileAnswer(
        "an object of 10^6 names",
        lambda part: b"{" + b",".join(b'"n%d":%d' % (at, at) for at in range(int(1e6 * part))) + b"}",
    )
    yield HostileAnswer(
        "an object with one name 10^6 times",
        lambda part: b"{" + b",".join(b'"n":%d' % at for at in range(int(1e6 * part))) + b"}",
    )
    yield HostileAnswer("names of control characters", _array(lambda at: f'{{"\\u0000\\ud800{at}":"\\u0007"}}', 50_000))
    yield HostileAnswer("a name of 8 MB", lambda part: b'{"' + b"n" * int(8e6 * part) + b'":1}')


def _numbers() -> Iterator[HostileAnswer]:
    yield HostileAnswer("an integer of 10^6 digits", lambda part: b'{"a":' + b"9" * int(1e6 * part) + b"}")
    yield HostileAnswer("2,000 integers of 3,999 digits", _array(lambda number: "9" * 3999, 2000))
    yield HostileAnswer(
        "10^5 floats of 1e999, NaN and Infinity", _array(lambda n: ("1e999", "NaN", "-Infinity")[n % 3], 100_000)
    )
    yield HostileAnswer("a float of 10^6 digits", lambda part: b"[0." + b"9" * int(1e6 * part) + b"e-5]")


def _texts() -> Iterator[HostileAnswer]:
    entity = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + at, b"&%c;" % (97 + at) * 10) for at in range(9)
    )
    external = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    yield HostileAnswer("a text of 10 MB", lambda part: json.dumps("a" * int(1e7 * part)).encode())
    yield HostileAnswer("a text of 8 MB of escapes", lambda part: b'"' + b"\\u0041" * int(1.3e6 * part) + b'"')
    yield HostileAnswer("10 MB of one word as plain text", _times(b"a", 10_000_000), "text/plain")
    yield HostileAnswer("10 MB of spaces", lambda part: b" " * int(1e7 * part) + b"1")
    yield HostileAnswer("XML with entities of entities", lambda part: entity + b"]><a>&j;</a>", "application/xml")
    yield HostileAnswer("XML with an external entity", lambda part: external, "application/xml")
    yield HostileAnswer("10^5 nested elements", lambda part: b"<a>" * int(1e5 * part), "text/xml")
    yield HostileAnswer(
        "8 MB of bytes in a wrong charset", _times(b"\xe9\x80\xff", 2_700_000), "application/json; charset=utf-7"
    )
    yield HostileAnswer(
        "UTF-16 that is announced as UTF-8", lambda part: ('{"a": "ä"}' * int(4e5 * part)).encode("utf-16")
    )
    yield HostileAnswer("10 MB of escaped percent signs", _times(b"%25", 3_300_000), "text/plain")
    yield HostileAnswer("8 MB of HTML escapes", _times(b"&amp;", 1_600_000), "text/html")
    yield HostileAnswer("8 MB of backslashes", _times(b"\\", 8_000_000), "text/plain")
    yield HostileAnswer(
        "8 MB with a secret in escapes",
        lambda part: "".join(f"\\u{ord(letter):04x}" for letter in SECRET).encode() + b"\\u0073" * int(1.3e6 * part),
        "text/plain",
    )
    yield HostileAnswer("1 MB of pieces of a secret", _times(SECRET[:-1].encode(), 50_000), "text/plain")


def _compressed() -> Iterator[HostileAnswer]:
    def zipped(body: bytes) -> bytes:
        return gzip.compress(body, 9, mtime=0)

    def headers(part: float) -> Sequence[tuple[str, str]]:
        return [("Content-Encoding", "gzip")]

    yield HostileAnswer("gzip of 300 MB of zeros", lambda part: zipped(bytes(int(3e8 * part))), "text/plain", headers)
    yield HostileAnswer(
        "gzip of an array of 150 million zeros",
        lambda part: zipped(b"[" + b"0," * int(1.5e8 * part) + b"0]"),
        headers=headers,
    )
    yield HostileAnswer(
        "gzip of 30 million empty objects",
        lambda part: zipped(b"[" + b"{}," * int(2e7 * part) + b"0]"),
        headers=headers,
    )
    yield HostileAnswer("gzip of 10^6 empty members", lambda part: zipped(b"") * int(1e6 * part), headers=headers)
    yield HostileAnswer("gzip of gzip", lambda part: zipped(zipped(bytes(int(1e8 * part)))), headers=headers)


def _headed() -> Iterator[HostileAnswer]:
    yield HostileAnswer(
        "10^4 headers", lambda part: b"[]", headers=lambda part: [(f"X-{at}", "a") for at in range(int(1e4 * part))]
    )
    yield HostileAnswer("a header of 1 MB", lambda part: b"[]", headers=lambda part: [("X-A", "a" * int(1e6 * part))])
    yield HostileAnswer(
        "a Link header of 60 kB",
        lambda part: b"[]",
        headers=lambda part: [("Link", "<a>;" + ";a=b" * int(15_000 * part))],
    )
    yield HostileAnswer(
        "a Link header of 60 kB of brackets",
        lambda part: b"[]",
        headers=lambda part: [("Link", "<" * int(60_000 * part))],
    )
    yield HostileAnswer(
        "a Link header of 60 kB of spaces",
        lambda part: b"[]",
        headers=lambda part: [("Link", "<a>;rel=" + " " * int(60_000 * part) + "x")],
    )
    yield HostileAnswer(
        "a header of 60 kB of question marks",
        lambda part: b"[]",
        headers=lambda part: [("X-A", "?a" * int(30_000 * part))],
    )
    yield HostileAnswer(
        "numbers of 60 kB in headers",
        lambda part: b"[]",
        headers=lambda part: [("X-Total-Count", "9" * int(60_000 * part)), ("Retry-After", "9" * 300)],
    )
    yield HostileAnswer("a charset of 60 kB", lambda part: b"[]", "application/json; charset=" + "a" * 60_000)
    lookalike = f"http://{SECRET}\u2100.example/".encode().decode("latin-1")
    for name, location in (("an open bracket", "http://[bad/"), ("a secret in its host", lookalike)):
        yield HostileAnswer(
            f"a redirect to an address with {name}",
            lambda part: b"[]",
            headers=partial(_location, location),
            status="302 Found",
        )


def _location(location: str, part: float) -> Sequence[tuple[str, str]]:
    return [("Location", location)]


def _paged() -> Iterator[HostileAnswer]:
    def more(part: float) -> Sequence[tuple[str, str]]:
        return [("Link", '<?page={next}>; rel="next"')]

    yield HostileAnswer("pages of one item without an end", lambda part: b'[{"id":1}]', headers=more)
    yield HostileAnswer("pages of 8 MB without an end", _array(lambda number: '{"id":1}', 900_000), headers=more)
    yield HostileAnswer("pages of different types", _array(lambda number: "[]", 300_000), "text/plain", headers=more)


def _times(piece: bytes, count: int) -> Callable[[float], bytes]:
    return lambda part: piece * max(1, int(count * part))


def _array(item: Callable[[int], str], count: int) -> Callable[[float], bytes]:
    return lambda part: f"[{','.join(map(item, range(max(1, int(count * part)))))}]".encode()


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
        self._asked.append(opening)
        if opening.startswith("You fulfil a user's instruction with the functions"):
            is_first = sum(text == opening for text in self._asked) == 1
            return {"decision": "program", "text": PROGRAM} if is_first else {"decision": "end", "text": "Ended."}
        if opening.startswith("You are the planner"):
            is_first = sum(text == opening for text in self._asked) == 1
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
        api = load_api(DOCUMENT, base_url=url, auth={"Key": SECRET})
        return _ending(api, {}), _ending(api, {"execution": "calls"})


def _ending(api: Api, context: Mapping[str, Any]) -> str:
    """Run the agent once, and return its answer and the notices of its requests, or its error."""
    settings = Settings(home=Path("/nonexistent"))
    with_client = Resources([api], model=ReadingModel(), http=HttpClient(settings=settings), settings=settings)
    resources = with_client.with_defaults(writes="allow", **context)
    graph = build_graph(resources=resources, checkpointer=InMemorySaver(), store=InMemoryStore())
    try:
        state = graph.invoke({"instruction": "List the things in the note n-1"}, _config())
    except RestgptError as error:
        return f"{type(error).__name__}: {error}"[:200]
    values = graph.get_state(_config()).values
    notices = [
        note for step in values["steps"] for item in step["requests"] for note in item["response"].get("notices", ())
    ]
    notes = [item["note"] for step in values["steps"] for item in step["requests"] if item["note"]]
    said = str(state["messages"][-1].text) if state.get("messages") else str(state.get("answer"))
    results = [step["result"][:150] for step in values["steps"]]
    return json.dumps([said[:100], *results[:2], *notices, *notes], ensure_ascii=False)[:600]


def _config() -> RunnableConfig:
    return {"configurable": {"thread_id": "t"}}


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _measured(name: str, part: float) -> dict[str, Any]:
    return asdict(read_answer(next(item for item in hostile_answers() if item.name == name), part))


def cost_of(name: str, part: float = 1.0) -> Cost:
    """Measure one answer in a new process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__spec__.name if __spec__ else __name__])
    with context.Pool(1) as pool:
        return Cost(**pool.apply(_measured, (name, part)))


def main() -> int:
    """Measure the answers whose names contain the given text, and print a table; 1 if one takes too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="", help="measure only answers with this text in their name")
    parser.add_argument("--part", type=float, default=1.0, help="the part of the full size")
    parser.add_argument("--endings", action="store_true", help="print how the runs ended")
    options = parser.parse_args()
    wrong = 0
    for answer in hostile_answers():
        if options.text not in answer.name:
            continue
        cost = cost_of(answer.name, options.part)
        wrong += not cost.is_bounded
        mark = " " if cost.is_bounded else "!"
        print(
            f"{mark} {cost.cpu:7.2f} s CPU {cost.wall:7.2f} s {cost.memory / 1e6:6.0f} MB",
            f"{cost.sandbox:6.2f} s in the sandbox  {cost.name}",
        )
        if options.endings:
            print(*(f"      {ending}" for ending in cost.endings), sep="\n")
        sys.stdout.flush()
    return bool(wrong)


if __name__ == "__main__":
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    sys.exit(main())

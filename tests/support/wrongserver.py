"""Servers at a model's address that are no model's: each answers every request with the same bytes."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loopback import Handler, served

PAGE = b"<!DOCTYPE html><html><body>It works!</body></html>"
DEEP = b"[" * 100_000


def http(body: bytes, kind: str = "application/json", status: str = "200 OK", **headers: str) -> bytes:
    """An HTTP response; clients are told not to send the request again."""
    lines = {"Content-Type": kind, "Content-Length": str(len(body)), "X-Should-Retry": "false", **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}Connection: close\r\n\r\n".encode() + body


def completion(message: Any, **more: Any) -> bytes:
    """A chat completion with this message, which need not be one."""
    choice = {"index": 0, "message": message, "finish_reason": "stop", **more}
    return http(json.dumps({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}).encode())


def calls(value: Any) -> bytes:
    """A chat completion whose message has these tool calls, which need not be any."""
    return completion({"role": "assistant", "content": None, "tool_calls": value})


def stream(*events: bytes) -> bytes:
    """A stream of server-sent events."""
    return http(b"".join(b"data: " + event + b"\n\n" for event in events), "text/event-stream")


def chunk(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    """An event of a streamed chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return json.dumps(
        {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}
    ).encode()


def _delta(text: str) -> bytes:
    return chunk({"role": "assistant", "content": text})


WRONG = {
    "a web page": http(PAGE, "text/html"),
    "a web page that says JSON": http(PAGE),
    "no page": http(PAGE, "text/html", "404 Not Found"),
    "a page that refuses the method": http(PAGE, "text/html", "405 Method Not Allowed"),
    "a broken page": http(PAGE, "text/html", "500 Internal Server Error"),
    "a gateway": http(PAGE, "text/html", "502 Bad Gateway"),
    "a redirect to nowhere": http(b"", "text/html", "302 Found", Location="http://[bad/"),
    "a redirect to itself": http(b"", "text/html", "307 Temporary Redirect", Location="/v1/chat/completions"),
    "a redirect without a place": http(b"", "text/html", "301 Moved Permanently"),
    "nothing": http(b""),
    "nothing and no type": http(b"", ""),
    "no content": http(b"", "", "204 No Content"),
    "text": http(b"Ollama is running", "text/plain"),
    "an empty object": http(b"{}"),
    "an empty list": http(b"[]"),
    "null": http(b"null"),
    "true": http(b"true"),
    "a number": http(b"17"),
    "a string": http(b'"hello"'),
    "an error with 200": http(b'{"error": {"message": "no such route", "code": 404}}'),
    "an error text with 200": http(b'{"error": "no such route"}'),
    "another API": http(b'{"data": [], "page": 1}'),
    "no choices": http(b'{"choices": []}'),
    "null for choices": http(b'{"choices": null}'),
    "an object for choices": http(b'{"choices": {}}'),
    "null for a choice": http(b'{"choices": [null]}'),
    "an empty choice": http(b'{"choices": [{}]}'),
    "text for choices": http(b'{"choices": ["hello"]}'),
    "null for the message": completion(None),
    "text for the message": completion("hello"),
    "a list for the message": completion(["hello"]),
    "a number for content": completion({"role": "assistant", "content": 5}),
    "an object for content": completion({"role": "assistant", "content": {"text": "hello"}}),
    "a number for the role": completion({"role": 5, "content": "hello"}),
    "text for tool calls": calls("hello"),
    "text for a tool call": calls(["hello"]),
    "an empty tool call": calls([{}]),
    "a tool call without a function": calls([{"id": "1", "type": "function", "function": None}]),
    "text for usage": http(b'{"choices": [], "usage": "much"}'),
    "nesting": http(DEEP),
    "nesting in an object": http(b'{"choices": ' + DEEP),
    "no UTF-8": http(b"\xff\xfe\xff" * 100),
    "an endless number": http(b'{"choices": ' + b"9" * 5000 + b"}"),
    "a gzip that is none": http(b"{}", Content_Encoding="gzip"),
    "a gzip that is cut": http(gzip.compress(b"{}" * 1000)[:20], Content_Encoding="gzip"),
    "an unknown encoding": http(b"\x01\x02\x03", Content_Encoding="zzz"),
    "a huge page": http(PAGE * 40_000, "text/html"),
    "an empty stream": stream(),
    "a stream of nothing": stream(b"[DONE]"),
    "a stream of no JSON": stream(b"hello"),
    "a stream of a list": stream(b"[]"),
    "a stream of null": stream(b"null", b"[DONE]"),
    "a stream of nesting": stream(DEEP),
    "a stream of errors": stream(b'{"error": {"message": "no such route"}}'),
    "a stream with null for a delta": stream(b'{"choices": [{"index": 0, "delta": null}]}', b"[DONE]"),
    "a cut body": http(b'{"choices": [', Content_Length="1000"),
    "a broken chunk": http(b"zzz\r\nhello", Content_Length="", Transfer_Encoding="chunked"),
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "silence": b"",
}
"""Answers that are no chat completion, whether the client asks for a whole reply or for a stream."""


CUT = stream(*(_delta(text) for text in ("print('a')\n", "print('b')\n")))
"""A stream that ends in good order, but without its last parts."""

UNFIT = {
    "a list for arguments": calls([{"id": "1", "type": "function", "function": {"name": "x", "arguments": []}}]),
    "half a pair": completion({"role": "assistant", "content": "\ud800"}),
    "a stream of empty objects": stream(b"{}", b"[DONE]"),
    "a stream with null for choices": stream(b'{"choices": null}', b"[DONE]"),
}
"""Chat completions that are empty, or whose text is of no use."""


@contextmanager
def wrong_server(answer: bytes) -> Iterator[str]:
    """Serve the answer on loopback; the value is the address."""

    class Wrong(Handler):
        protocol_version = "HTTP/1.0"

        def do_POST(self) -> None:
            self.body()
            self.wfile.write(answer)

        do_GET = do_POST

    with served(Wrong) as url:
        yield f"{url}/v1"

"""Show a built request to the person who approves it: all that will be sent, without the secrets that are known.

A value is hidden because it is a known secret, never because of its name: the document chooses the names, and a value
under the name `token` can be an account number. The arguments of a call are in the checkpoint anyway. Prompts, the
journal and the trace have the stricter form, `PreparedRequest.shown`.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Any

from restgpt.tools.request.body import essence, kind_of
from restgpt.tools.request.prepared_request import MOST_SHOWN, PreparedRequest, json_or_text
from restgpt.tools.text.quotation import excerpt, named, quotation, remark, section, visible
from restgpt.tools.text.redaction import MARK, Redactor
from restgpt.tools.text.storable import storable_text

HEAD, TAIL = 2_000, 1_000
"""How many bytes of the start and of the end of a long body are shown."""

PART_HEAD = 200
"""How many bytes of a file in a multipart body are shown."""

MOST_PARTS = 50
"""How many parts of a multipart body are shown."""

MOST_BODY_LINES = 300
"""How many lines of a body are shown."""

MARGIN = 4_096
"""How many bytes beyond a cut are searched too, so that no half of a secret is left at the cut."""

_BOUNDARY = re.compile(r'boundary="?([^";]+)')


def view(request: PreparedRequest, redactor: Redactor) -> dict[str, Any]:
    """The request as JSON; of a body that is long or no text, its size, hash, head and tail, and the parts it has."""
    return {
        "method": request.method,
        "url": redactor.text(request.url),
        "headers": redactor.headers(request.headers, by_name=False),
        "body": _body(request, redactor),
        "api": request.api,
        "operation": request.operation,
    }


def whole_view(request: PreparedRequest, redactor: Redactor) -> dict[str, Any]:
    """The request as JSON with its whole body: as text, or in Base64 if it is no text."""
    body = None if request.body is None else redactor.data(request.body)
    text = None if body is None else _plain_text(body)
    whole = {"base64": base64.b64encode(body).decode("ascii")} if body is not None and text is None else text
    facts = {} if request.body is None else {"bytes": len(request.body), "sha256": _digest(request.body)}
    return {**view(request, redactor), "body": whole, **facts}


def view_sections(
    request: PreparedRequest, redactor: Redactor, *, headers: Iterable[str] | None = None, whole: bool = False
) -> list[str]:
    """The request as sections of a question: the request line with the named `headers` (None: all), and the body.

    A long body is cut unless the `whole` of it is wanted.
    """
    lines, shown = [f"{request.method} {redactor.text(request.url)}"], _headers(request, redactor)
    wanted = None if headers is None else {"cookie", *map(str.lower, headers)} - {"content-type", "accept"}
    lines += [line for name, line in shown.items() if wanted is None or name.lower() in wanted]
    most = None if whole else MOST_SHOWN
    found = [section("The request, but for credentials:", "\n".join(lines), most=most)]
    if request.body:
        found.append(_body_section(request, request.body, redactor, whole=whole))
    if _hides_a_secret(request, "\n".join([lines[0], *shown.values()]), redactor):
        found.append(f"It contains a configured credential as a value, which is shown as {MARK}.")
    return found


def _headers(request: PreparedRequest, redactor: Redactor) -> dict[str, str]:
    shown = redactor.headers(request.headers, by_name=False)
    return {name: f"{name}: {value}" for name, value in shown.items()}


def headers_section(request: PreparedRequest, redactor: Redactor) -> list[str]:
    """All headers of the request but those of credentials, as a section."""
    lines = _headers(request, redactor).values()
    return [section("Headers:", "\n".join(lines))] if lines else []


def is_cut(request: PreparedRequest) -> bool:
    """Whether a question shows only a part of the body."""
    body = request.body or b""
    return len(body) > MOST_SHOWN or body.count(b"\n") > MOST_BODY_LINES


def _hides_a_secret(request: PreparedRequest, shown: str, redactor: Redactor) -> bool:
    raw = "\n".join([request.url, *request.headers, *request.headers.values()])
    body = request.body or b""
    return shown.count(MARK) > raw.count(MARK) or redactor.data(body) != body


def _body(request: PreparedRequest, redactor: Redactor) -> Any:
    if request.body is None:
        return None
    text = None if is_cut(request) else _plain_text(request.body)
    if text is not None:
        return redactor.json(json_or_text(text, kind_of(_content_type(request))))
    head, tail = _ends(request.body, redactor)
    shown = {"bytes": len(request.body), "sha256": _digest(request.body), "media_type": essence(_content_type(request))}
    return {**shown, "head": visible(head), "tail": visible(tail)}


def _body_section(request: PreparedRequest, body: bytes, redactor: Redactor, *, whole: bool) -> str:
    content_type = _content_type(request)
    if not is_cut(request):
        return section("Its body:", _text(redactor.data(body)), most=None)
    size = f"{len(body):,} bytes of {named(essence(content_type))}"
    if whole:
        return section(f"Its body, {size}:", _text(redactor.data(body)), most=None)
    label = f"Its body, {size}, SHA-256 {_digest(body)}, too long to show here as a whole:"
    boundary = _BOUNDARY.search(content_type) if kind_of(content_type) == "multipart" else None
    parts = _parts(body, boundary[1].encode()) if boundary else []
    if parts:
        return f"{label}\n\n{_parts_text(parts, redactor)}"
    head, tail = _ends(body, redactor)
    return f"{label}\n\n{excerpt(head, tail, f'{len(body) - HEAD - TAIL:,} bytes are left out here')}"


def _parts(body: bytes, boundary: bytes) -> list[tuple[bytes, bytes]]:
    """The headers and the content of each part of a multipart body."""
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary)[1:-1]
    split = (piece.removeprefix(b"\r\n").partition(b"\r\n\r\n") for piece in pieces)
    return [(head, content) for head, _, content in split]


def _parts_text(parts: list[tuple[bytes, bytes]], redactor: Redactor) -> str:
    shown = []
    for head, content in parts[:MOST_PARTS]:
        start = _text(_cut(content, PART_HEAD, redactor))
        size = f"{len(content):,} bytes, SHA-256 {_digest(content)}"
        more = f", of which {len(content) - PART_HEAD:,} are left out here" if len(content) > PART_HEAD else ""
        shown += [quotation(_text(redactor.data(head))), remark(f"{size}{more}:"), quotation(start)]
    left = len(parts) - MOST_PARTS
    return "\n".join([*shown, *([remark(f"and {left:,} more parts")] if left > 0 else [])])


def _ends(body: bytes, redactor: Redactor) -> tuple[str, str]:
    """The head and the tail of a body as text, the tail empty where the head is all of it."""
    if len(body) <= HEAD + TAIL:
        return _text(redactor.data(body)), ""
    last = redactor.data(body[-TAIL - MARGIN :])[-TAIL:]
    return _text(_cut(body, HEAD, redactor)), _text(last)


def _cut(data: bytes, most: int, redactor: Redactor) -> bytes:
    """The start of some bytes; a secret that the cut would halve is hidden first."""
    return redactor.data(data[: most + MARGIN], cut=len(data) > most + MARGIN)[:most]


def _text(data: bytes) -> str:
    """Bytes as text, in which each byte that is no UTF-8 is an escape."""
    return data.decode("utf-8", "backslashreplace")


def _plain_text(body: bytes) -> str | None:
    """A body as text, if it is UTF-8 that every store takes."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return text if storable_text(text) == text else None


def _content_type(request: PreparedRequest) -> str:
    return next((value for name, value in request.headers.items() if name.lower() == "content-type"), "")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

"""Previews of the outcome of a call or a program, for the model of a host: bounded, and marked as data.

Pages of results for the model of a host: text that says what part it is, where to go on, and what is data.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from restgpt.outcome import Called, Ran
from restgpt.prompts import fenced
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.reading.tree import format_pointer, parse_pointer
from restgpt.tools.errors import RepairableError
from restgpt.tools.response.content import UNREAD, Body
from restgpt.tools.response.page import (
    BUDGET,
    BodyPreview,
    NoSuchPartError,
    Page,
    preview_body,
    preview_text,
    read_page,
)
from restgpt.tools.response.store import UnknownHandleError
from restgpt.tools.text.storable import storable_value

NOTES = 600
"""The most characters of the notes and notices of an answer."""

AROUND = 160
"""The tokens of a preview for the lines around its data."""

POINTER = 120
"""The most characters of the pointer at which reading goes on; a longer one is left out."""

IMAGE = 1_000_000
"""The most bytes of an image that a model is shown."""

STARTS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
"""The first bytes of the images that models take, beside WebP."""

MOST_CALLS = 8
"""How many operations the line about the calls of a program names."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview: its text, the same in short as plain JSON, and the handle by which the whole is read.

    `handle` is empty if there is nothing to read. `pointer` and `page` are the place where reading goes on.
    """

    text: str
    structured: dict[str, Any] = field(default_factory=dict)
    handle: str = ""
    is_whole: bool = False
    pointer: str = ""
    page: int = 1
    image: "Image | None" = None


@dataclass(frozen=True, slots=True)
class Image:
    """An image, with the type of its bytes, whatever the answer says: a wrong one ends a whole conversation."""

    data: bytes
    media_type: str


def preview(called: Called, *, budget: int = BUDGET, handle: str = "") -> Preview:
    """Preview a call that is over, in at most `budget` tokens of four characters.

    The text names `handle` as the one to read the whole by; by default it is the handle in the store.
    """
    head = f"{called.operation}: {_outcome(called)}"
    notes = " ".join(filter(None, [called.note, *called.notices]))[:NOTES]
    structured: dict[str, Any] = {"operation": called.operation, "status": called.state, "ok": called.ok}
    structured |= {"http_status": called.status_code} if called.status_code is not None else {}
    structured |= {"note": fenced("note", notes)} if notes else {}
    lines = [head, *([f"Note: {fenced('note', notes)}"] if notes else [])]
    try:
        body = called.body
    except UnknownHandleError as error:
        return Preview("\n".join([*lines, str(error)])[: budget * TOKEN], structured)
    if body is None or not body.size:
        return Preview("\n".join([*lines, "No body."])[: budget * TOKEN], structured, is_whole=True)
    structured |= {"media_type": body.media_type, "bytes": body.size}
    handle = handle or called.handle
    found = preview_body(body, budget=_left(budget, [*lines, handle]))
    if found.is_whole and (value := body.json_value) is not UNREAD:
        structured["body"] = storable_value(value)
    return replace(_with(lines, found, structured, handle, "response"), image=_image(body))


def preview_ran(ran: Ran, *, budget: int = BUDGET, handle: str = "") -> Preview:
    """Preview a program that is over, in at most `budget` tokens; `handle` as in `preview`."""
    made = [call.operation for call in ran.calls]
    names = list(dict.fromkeys(made))
    counted = [f"{name} ×{made.count(name)}" if made.count(name) > 1 else name for name in names[:MOST_CALLS]]
    more = f" and {len(names) - MOST_CALLS} more" if len(names) > MOST_CALLS else ""
    lines = ["The program reported:" if ran.ok else f"The program ended without a report ({ran.end})."]
    if counted:
        lines.insert(0, f"Calls: {', '.join(counted)}{more}."[:NOTES])
    if not ran.ok and ran.end != "unknown" and ran.thread:
        lines.append(f"Correct it with thread={ran.thread}: changes that were made are not repeated.")
    thread = {"thread": ran.thread} if ran.thread else {}
    structured = {"ok": ran.ok, "end": ran.end, **thread, "calls": len(made), "media_type": "text/plain"}
    structured["bytes"] = len(ran.text.encode("utf-8", "replace"))
    handle = handle or ran.handle
    left = _left(budget, [*lines, handle])
    return _with(lines, preview_text(ran.text, budget=left), structured, handle, "report")


def _image(body: Body) -> Image | None:
    """Return a body as an image that models take; None for anything else, and for one of more than `IMAGE` bytes."""
    is_webp = body.raw[:4] == b"RIFF" and body.raw[8:12] == b"WEBP"
    kind = next((kind for start, kind in STARTS.items() if body.raw.startswith(start)), "image/webp" * is_webp)
    return Image(body.raw, kind) if kind and body.size <= IMAGE else None


def _left(budget: int, lines: list[str]) -> int:
    """Return the tokens that the lines around the data leave to it."""
    return max(1, budget - AROUND - sum(len(line) + 1 for line in lines) // TOKEN)


def _outcome(called: Called) -> str:
    match called.state:
        case "held":
            return "not sent, because changes are only shown (dry run)."
        case "rejected":
            return "not sent."
        case "failed":
            return "no response."
    return f"HTTP {called.status_code}{'' if called.ok else ', an error'}."


def _with(lines: list[str], found: BodyPreview, structured: dict[str, Any], handle: str, label: str) -> Preview:
    """Add the data to the lines above it, and how to read what it leaves out.

    A pointer consists of foreign names, so it is written inside the marks of the data.
    """
    if found.is_whole:
        return Preview("\n".join([*lines, fenced(label, found.text)]), structured, handle, is_whole=True)
    is_short = len(found.pointer) <= POINTER
    pointer, page = (found.pointer, found.page) if is_short else ("", 1)
    place = f"{f' pointer={pointer}' if pointer else ''}{f' page={page}' if page > 1 else ''}"
    text = f"{found.text}\nLeft out: {found.left_out}.{f' It goes on at{place}' if place else ''}"
    last = f"This is not the whole result. Read on with handle={handle}, by pointer and page."
    structured = {**structured, "result": handle, "left_out": found.left_out}
    return Preview("\n".join([*lines, fenced(label, text), last]), structured, handle, pointer=pointer, page=page)


TEMPLATE = "restgpt://result/{handle}{?pointer,page}"
"""The URI template (RFC 6570) of the pages of a result."""

PAGE_BUDGET = 2_000
"""The tokens of a page."""

NOTE = 120
"""The tokens of a page that the sentences about it may take."""

_URI = re.compile(r"restgpt://result/([^/?#]+)(?:\?([^#]*))?")


class NoSuchAddressError(RepairableError):
    """A URI does not have the form of `TEMPLATE`."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A page as a model reads it; `next` and `previous` are the numbers of the pages beside it, if there are any."""

    text: str
    mime_type: str
    next: int | None
    previous: int | None


def read(
    open_body: Callable[[str], Body],
    handle: str,
    pointer: str = "",
    page: int = 1,
    *,
    budget: int = PAGE_BUDGET,
) -> ResultPage:
    """Return a page of the value at a JSON pointer in a stored body, in at most `budget` tokens.

    `open_body` is `Client.body`. Raises `UnknownHandleError`, and `NoSuchPartError` for a wrong pointer or page, with
    the names that are there, marked as data.
    """
    body = open_body(handle)
    try:
        found = read_page(body, pointer, page, room=max(TOKEN, (budget - NOTE) * TOKEN))
    except NoSuchPartError as error:
        # It lists names of the answer.
        raise NoSuchPartError(f"The result has no such part.\n{fenced('response', str(error))}") from None
    note = _note(found, body)
    return ResultPage(f"{note}\n{fenced('response', found.content)}", "text/plain", found.next, found.previous)


def _note(page: Page, body: Body) -> str:
    """Return the sentences about a page: its place, whether something in it is shortened, and the pages beside it.

    They do not repeat the pointer, whose names are foreign text.
    """
    where = "This part" if page.pointer else "The result"
    match page.kind:
        case "empty":
            return "The result has no body."
        case "value":
            return f"{where} is one value{', shortened' if page.is_cut else ''}."
        case "list" | "object":
            noun = "items" if page.kind == "list" else "fields"
        case "binary":
            noun = f"bytes of {body.media_type or 'binary data'}, as Base64"
        case _:
            noun = "characters"
    if not page.total:
        return f"{where} has no {noun}."
    last = page.stop - 1
    part = f"{where}: {noun} {page.start:,} to {last:,} of {page.total:,}"
    around = f", page {page.number:,} of {page.count:,}" if page.count > 1 else ""
    cut = " Some are shortened (…): read one whole by its own pointer." if page.is_cut else ""
    onward = f" Next: page={page.next}." if page.next else ""
    return f"{part}{around}.{cut}{onward}"


def result_uri(handle: str, pointer: str = "", page: int = 1) -> str:
    """Return the URI of a page of a result."""
    parts = [f"pointer={quote(pointer, safe='/')}"] if pointer else []
    parts += [f"page={page}"] if page != 1 else []
    return f"restgpt://result/{quote(handle, safe='')}{'?' if parts else ''}{'&'.join(parts)}"


def parse_uri(uri: str) -> tuple[str, str, int]:
    """Return handle, pointer and page of the URI of a page; raises `NoSuchAddressError`."""
    match = _URI.fullmatch(uri)
    if match is None:
        raise NoSuchAddressError(f"A result has an address of the form {TEMPLATE}.")
    given = parse_qs(match.group(2) or "", keep_blank_values=True)
    page = given.get("page", ["1"])[-1]
    if not (page.isdecimal() and page.isascii() and len(page) < 10):
        raise NoSuchAddressError("The page in the address of a result is a number from 1.")
    return unquote(match.group(1)), format_pointer(parse_pointer(given.get("pointer", [""])[-1])), int(page)

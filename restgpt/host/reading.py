"""Pages of results for the model of a host: text that says what part it is, where to go on, and what is data."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote

from restgpt.prompts import fenced
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.reading.tree import format_pointer, parse_pointer
from restgpt.tools.errors import RepairableError
from restgpt.tools.response.content import Body
from restgpt.tools.response.page import NoSuchPartError, Page, read_page

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

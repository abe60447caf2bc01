"""Documentation of operations and responses for prompts, within a token budget.

    POST /playlists  Create a playlist
    query  limit: int = 20 1..50  How many to return.
    body*  application/json  {name*: str, public: bool = True}
      name: The new name.
    answers 201 application/json  {id, name, tracks: {total: int}}

A star marks required values. Values and what is said of them are written as in signatures (`value.py`, `field.py`).
"""

from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from restgpt.specs.docs.field import NOTE_MOST, RULE_NOTE, plain_text, written
from restgpt.specs.docs.focus import Relevance, focus_of, fold
from restgpt.specs.docs.prose import prose
from restgpt.specs.docs.value import Value, argument, argument_type
from restgpt.specs.effort import within
from restgpt.specs.media_type import Response
from restgpt.specs.operation import Operation
from restgpt.specs.parameter import Parameter
from restgpt.specs.reading.tree import marks
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.search.query import STOP_STEMS, stems

# How many steps the documentation of one operation may take; what is below the schemas read by then is `any`.
STEPS_MOST = 25_000
# Characters of a token, on average.
TOKEN = 4
# The share of the room for the operation's own description, for its parameters, and for the body with its notes.
DESCRIPTION_SHARE, PARAMETERS_SHARE, BODY_SHARE = 0.3, 0.6, 0.8
# The share of a body's and of an answer's room for the fields; what is said of them takes the rest.
SENT_SHARE, ANSWERED_SHARE = 0.6, 0.8
# The most that the answer takes, as a part of the budget, and the least that is worth writing.
RESPONSE_PART, RESPONSE_LEAST = 3, 40
# Characters for the enumerated values of a parameter.
VALUES_MOST = 400
# Words of descriptions that say only that a request succeeded.
_EMPTY_STEMS = frozenset(
    stems(
        """
        ok okay success successes successful successfully succeeded response responses answer reply result results
        default operation operations request requests call http status code api complete completed performed executed
        processed handled returned returns good done expected standard normal empty body content description
        """
    )
)
_STATUSES = frozenset(str(int(status)) for status in HTTPStatus)


@marks
def documentation(operation: Operation, *, budget: int = 1500, focus: str = "") -> str:
    """Document the parameters, body and response of an operation in about `budget` tokens of four characters.

    If not all fits, required parameters and fields stay, and those that the words of `focus` touch come first. The
    response takes at most a third of the tokens.
    """
    with within(STEPS_MOST, operation.document.allowance):
        relevance = Relevance(operation.document, focus_of(focus))
        room = budget * TOKEN
        text = _cut_lines(_request(operation, relevance, room), room)
        left = min(room - len(text) - 1, room // RESPONSE_PART)
        response = operation.response()
        if response is None or left < RESPONSE_LEAST:
            return text
        return f"{text}\nanswers {_response(operation, response, left, relevance)}"


@marks
def response_documentation(
    operation: Operation, status: int | None = None, *, budget: int = 800, focus: str = "", received: Any = None
) -> str:
    """Document the response of a status (None: success) in about `budget` tokens of four characters.

    A long one keeps the fields that match the words of `focus`. If `received`, a received body, is given, fields that
    do not occur in it are left out.
    """
    response = operation.response(status)
    if response is None:
        return "The document does not describe this response."
    with within(STEPS_MOST, operation.document.allowance):
        relevance = Relevance(operation.document, focus_of(focus))
        return _response(operation, response, budget * TOKEN, relevance, received)


@marks
def described_status(operation: Operation, status: int) -> str:
    """Return the document's description of a response status, empty if it only says that the request succeeded."""
    response = operation.response(status)
    if response is None or (response.status.startswith("2") and response.status not in (str(status), "2XX")):
        # The description of another status is none of this one.
        return ""
    return _meaning(response, status, 200)


def _meaning(response: Response, status: int | str, most: int) -> str:
    """Return the description of a response, empty if its words only repeat the status."""
    reason = HTTPStatus(int(status)).phrase if str(status) in _STATUSES else ""
    said = set(stems(response.description)) - STOP_STEMS - _EMPTY_STEMS - {str(status), *stems(reason)}
    return plain_text(response.description, most) if said else ""


def _request(operation: Operation, relevance: Relevance, room: int) -> str:
    lines = [f"{operation.method} {operation.path}  {plain_text(operation.summary, 200)}".rstrip()]
    described = int(room * DESCRIPTION_SHARE)
    description = prose(operation.description, described, rules_most=described)
    if description and description.rstrip(".") != plain_text(operation.summary, described).rstrip("."):
        lines.append(description)
    left = room - sum(len(line) + 1 for line in lines)
    lines += _parameters(operation, relevance, int(left * PARAMETERS_SHARE))
    left = room - sum(len(line) + 1 for line in lines)
    return "\n".join([*lines, *_body(operation, relevance, int(left * BODY_SHARE))])


def _parameters(operation: Operation, relevance: Relevance, room: int) -> Iterator[str]:
    """Write a line for each parameter, required ones first, with what is said of them as far as it fits."""
    items = [replace(item, name=item.field) for item in operation.keywords]
    families = fold(items, lambda item: argument_type(item.shape, relevance, VALUES_MOST))
    listed = [item for item in items if not (item.name in families.folded and item.location == "query")]
    score = {id(item): relevance.of_keyword(item) for item in listed}
    listed.sort(key=lambda item: (not item.parameter.required, -score[id(item)]))
    shapes = {id(item): item.shape for item in listed}
    heads: dict[int, str] = {}
    for item in listed:
        shape = shapes[id(item)]
        kind = argument_type(shape, relevance, VALUES_MOST)
        old = "  (deprecated)" if item.parameter.deprecated else ""
        star = item.parameter.required
        heads[id(item)] = f"{item.location}  {argument(item.name, kind, shape, is_required=star)}{old}"
    room -= sum(map(len, heads.values()))
    each = max(NOTE_MOST, room // max(1, len(listed)))
    for item in listed:
        text = plain_text(shapes[id(item)].description, min(each, RULE_NOTE))
        text = text if room >= len(text) else ""
        room -= len(text)
        sample = _example(item.parameter) if room > 0 else ""
        yield f"{heads[id(item)]}{f'  {text}' if text else ''}{sample}"
    yield from (f"query  {line}" for line in families.lines)


def _example(parameter: Parameter) -> str:
    example = parameter.example if parameter.example is not None else parameter.schema.get("example")
    if example is None or isinstance(example, dict | list):
        return ""
    return f"  e.g. {plain_text(str(example), NOTE_MOST)}"


def _body(operation: Operation, relevance: Relevance, room: int) -> Iterator[str]:
    body = operation.body
    if body is None:
        return
    media = body.preferred
    head = f"body{'*' if body.required else ''}  {media.media_type}  "
    said = prose(body.description, NOTE_MOST)
    shape = Shape(operation.document, media.schema, request=True)
    value = Value(shape, relevance, {}, request=True, whole=True)
    text = value.text(int((room - len(head)) * SENT_SHARE))
    yield f"{head}{text}{f'  {said}' if said else ''}"
    yield from _said(value, room - len(head) - len(text))
    others = [kind for kind in body.content if kind != media.media_type]
    if others:
        yield f"  also accepted: {', '.join(others[:4])}"


def _said(value: Value, room: int) -> Iterator[str]:
    """Write what the document says of the fields of a value, a line each."""
    return (f"  {note}" for note in written(list(value.notes(frozenset())), room))


def _response(operation: Operation, response: Response, room: int, relevance: Relevance, received: Any = None) -> str:
    media = next(iter(response.content.values()), None)
    if media is None:
        return f"{response.status} without a body  {_meaning(response, response.status, 100)}".rstrip()
    head = f"{response.status} {media.media_type}  "
    shape = Shape(operation.document, media.schema)
    value = Value(shape, relevance, {}, request=False, whole=True, received=received, is_typed=True)
    text = value.text(int((room - len(head)) * ANSWERED_SHARE))
    return _cut_lines("\n".join([head + text, *_said(value, room - len(head) - len(text))]), room)


def _cut_lines(text: str, room: int) -> str:
    """Keep the lines that fit, and mark that the rest is cut."""
    kept: list[str] = []
    left = room - 20
    for line in text.split("\n"):
        left -= len(line) + 1
        if left < 0:
            return "\n".join([*kept, "… (cut)"]) if kept else line[: max(0, room)]
        kept.append(line)
    return "\n".join(kept)

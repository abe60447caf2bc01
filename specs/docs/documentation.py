"""Documentation of operations and responses for prompts, within a token budget.

    POST /playlists  Create a playlist
    query  limit  integer 1..50 =20  How many to return.
    body*  application/json  {
      name*: string  The new name.
    }
    answers 201 application/json  Playlist

A star marks required values. Schemas are in the notation of `notation.py`. Descriptions are shortened before lines are
cut.
"""

from http import HTTPStatus
from typing import Any

from restgpt.specs.content import Response
from restgpt.specs.docs.notation import ALWAYS, DEFAULT_MOST, Notation, spelled
from restgpt.specs.docs.plain_text import plain_text
from restgpt.specs.operation import Operation
from restgpt.specs.parameter import Parameter
from restgpt.specs.search.stemmer import STOP_STEMS, stems

# Characters of a token, on average.
TOKEN = 4
# Characters of each field's description, and of the operation's description, from generous to few.
DETAILS = ((160, 1200), (80, 600), (40, 300), (0, 160))
# The share of the budget that the request leaves to the response, and the divisor for the most that it takes.
RESPONSE_SHARE = 0.15
RESPONSE_PART = 3
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


def documentation(operation: Operation, *, budget: int = 1500, focus: str = "") -> str:
    """Document the parameters, body and response of an operation in about `budget` tokens of four characters.

    The response takes at most a third of them; a long one keeps the fields that match the words of `focus`.
    """
    room = budget * TOKEN
    text = ""
    for field, own in DETAILS:
        text = _request(operation, field, own, room)
        if len(text) <= room * (1 - RESPONSE_SHARE):
            break
    if len(text) > room:
        text = _cut_lines(text, room)
    left = min(room - len(text) - 1, room // RESPONSE_PART)
    response = operation.response()
    if response is None or left < 40:
        return text
    answer = _response(operation, response, left, DETAILS[1][0], focus_stems(focus))
    return f"{text}\nanswers {answer}" if answer else text


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
    return _response(operation, response, budget * TOKEN, DETAILS[1][0], focus_stems(focus), received)


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


def focus_stems(focus: str) -> frozenset[str]:
    """Return the stems of a focus, without stop words and without those of `ALWAYS`, which are shown anyway."""
    return frozenset(stems(focus)) - STOP_STEMS - {stem for name in ALWAYS for stem in stems(name)}


def _request(operation: Operation, field: int, own: int, room: int) -> str:
    notation = Notation(operation.document, request=True, details=field)
    lines = [f"{operation.method} {operation.path}  {plain_text(operation.summary, 200)}".rstrip()]
    description = plain_text(operation.description, own)
    if description and description != plain_text(operation.summary, own):
        lines.append(description)
    for parameter in sorted(operation.parameters, key=lambda item: not item.required):
        lines.append(_parameter_line(notation, parameter, field))
    body = operation.body
    if body is not None:
        media = body.preferred
        star = "*" if body.required else ""
        lines.append(
            f"body{star}  {media.media_type}  {notation.body(media)}  {plain_text(body.description, field)}".rstrip()
        )
        others = [kind for kind in body.content if kind != media.media_type]
        if others:
            lines.append(f"  also accepted: {', '.join(others[:4])}")
    return "\n".join([*lines, *notation.definitions(room - sum(map(len, lines)))])


def _parameter_line(notation: Notation, parameter: Parameter, field: int) -> str:
    star = "*" if parameter.required else ""
    old = "(deprecated) " if parameter.deprecated else ""
    kind = notation.type_of(parameter.schema)
    text = plain_text(parameter.description or str(parameter.schema.get("description") or ""), field)
    example = parameter.example if parameter.example is not None else parameter.schema.get("example")
    shown = example is not None and field and not isinstance(example, dict | list)
    sample = f"  e.g. {spelled(example)[:DEFAULT_MOST]}" if shown else ""
    return f"{parameter.location}  {parameter.name}{star}  {kind}  {old}{text}{sample}".rstrip()


def _response(
    operation: Operation,
    response: Response,
    room: int,
    field: int,
    focus: frozenset[str],
    received: Any = None,
) -> str:
    """Write a response in full if it fits, else with the fields of the focus, else with fewer words and lines."""
    media = next(iter(response.content.values()), None)
    if media is None:
        return f"{response.status} without a body  {_meaning(response, response.status, 100)}".rstrip()
    text = ""
    for details, wanted in ((field, frozenset()), (field, focus), (0, focus), (0, focus or frozenset({""}))):
        notation = Notation(operation.document, request=False, details=details, focus=wanted, received=received)
        head = f"{response.status} {media.media_type}  {notation.body(media)}"
        text = "\n".join([head, *notation.definitions(room - len(head))])
        if len(text) <= room and not notation.left_out:
            return text
    return _cut_lines(text, room)


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

"""Operations and responses described to a model in the notation of schemas, within a token budget.

    POST /playlists  Create a playlist
    query  limit  integer 1..50 =20  How many to return.
    body*  application/json  {
      name*: string  The new name.
    }
    answers 201 application/json  Playlist

A star marks what is required. Descriptions are shortened before lines are cut.
"""

from typing import Any

from restgpt.specs.docs.notation import ALWAYS, DEFAULT_MOST, Notation, plain_text, spelled
from restgpt.specs.operation import Operation, Parameter, Response
from restgpt.specs.search.words import STOPPED, stems

TOKEN = 4
# Characters of a field's description, and of the operation's own, from generous to none.
DETAILS = ((160, 1200), (80, 600), (40, 300), (0, 160))
# Of the whole: what is kept free for the response, and the most that it takes, as one part in so many.
RESPONSE_SHARE = 0.15
RESPONSE_PART = 3


def describe_operation(operation: Operation, budget: int, focus: str = "") -> str:
    """Describe parameters, body and response of an operation in about `budget` tokens of four characters.

    The response takes at most a third of them and is cut to the words of `focus` where it is long.
    """
    room = budget * TOKEN
    text = ""
    for field, own in DETAILS:
        text = _request_docs(operation, field, own, room)
        if len(text) <= room * (1 - RESPONSE_SHARE):
            break
    if len(text) > room:
        text = _cut_lines(text, room)
    left = min(room - len(text) - 1, room // RESPONSE_PART)
    response = operation.response()
    if response is None or left < 40:
        return text
    answer = _response_docs(operation, response, left, DETAILS[1][0], _words(focus))
    return f"{text}\nanswers {answer}" if answer else text


def describe_response(operation: Operation, status: int | None, focus: str, budget: int, received: Any = None) -> str:
    """Describe the response of a status, cut to the words of `focus`, in about `budget` tokens of four characters.

    With `received`, a received body, fields that do not occur in it are left out.
    """
    response = operation.response(status)
    if response is None:
        return "The document does not describe this response."
    return _response_docs(operation, response, budget * TOKEN, DETAILS[1][0], _words(focus), received)


def _words(focus: str) -> frozenset[str]:
    """The words that say what is wanted: names and ids are asked for of everything, and are always shown."""
    return frozenset(stems(focus)) - STOPPED - {stem for name in ALWAYS for stem in stems(name)}


def _request_docs(operation: Operation, field: int, own: int, room: int) -> str:
    notation = Notation(operation.api.document, request=True, details=field)
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


def _response_docs(
    operation: Operation,
    response: Response,
    room: int,
    field: int,
    focus: frozenset[str],
    received: Any = None,
) -> str:
    """Write a response in full where it fits, else cut to the focus, else to fewer words and lines."""
    media = next(iter(response.content.values()), None)
    if media is None:
        return f"{response.status} without a body  {plain_text(response.description, 100)}".rstrip()
    text = ""
    for details, wanted in ((field, frozenset()), (field, focus), (0, focus), (0, focus or frozenset({""}))):
        notation = Notation(operation.api.document, request=False, details=details, focus=wanted, received=received)
        head = f"{response.status} {media.media_type}  {notation.body(media)}"
        text = "\n".join([head, *notation.definitions(room - len(head))])
        if len(text) <= room and not notation.left_out:
            return text
    return _cut_lines(text, room)


def _cut_lines(text: str, room: int) -> str:
    """Keep whole lines that fit, and say that some are missing."""
    kept: list[str] = []
    left = room - 20
    for line in text.split("\n"):
        left -= len(line) + 1
        if left < 0:
            return "\n".join([*kept, "… (cut)"]) if kept else line[: max(0, room)]
        kept.append(line)
    return "\n".join(kept)

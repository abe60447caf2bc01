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
from restgpt.specs.docs.notation import DEFAULT_MOST, NOT_SHOWN, Notation, spelled
from restgpt.specs.docs.words.families import fold_fields
from restgpt.specs.docs.words.focus import PARTLY, VALUED, Relevance, focus_of
from restgpt.specs.docs.words.plain_text import plain_text
from restgpt.specs.docs.words.sentences import prose
from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.parameter import Parameter
from restgpt.specs.search.stemmer import STOP_STEMS, stems

# How many steps the documentation of one operation may take; what is below the schemas read by then is `any`.
STEPS_MOST = 25_000
# Characters of a token, on average.
TOKEN = 4
# Characters of each field's description, and of the operation's description, from generous to few.
DETAILS = ((160, 1200), (80, 600), (40, 300), (0, 160))
# The most characters of the sentences of an operation that state rules, however short the rest of its description is.
RULES_MOST = 3000
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

    If not all fits, the parameters and fields that the words of `focus` touch come first, with their descriptions. The
    response takes at most a third of the tokens.
    """
    with within(STEPS_MOST, operation.document.allowance):
        return _documented(operation, budget * TOKEN, focus)


def _documented(operation: Operation, room: int, focus: str) -> str:
    relevance = Relevance(operation.document, focus_of(focus))
    text = _whole_request(operation, room) or (_focused_request(operation, relevance, room) if focus else "")
    text = text or _request(operation, *DETAILS[-1], room=room)
    if len(text) > room:
        text = _cut_lines(text, room)
    left = min(room - len(text) - 1, room // RESPONSE_PART)
    response = operation.response()
    if response is None or left < 40:
        return text
    answer = _response(operation, response, left, DETAILS[1][0], relevance)
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
    with within(STEPS_MOST, operation.document.allowance):
        relevance = Relevance(operation.document, focus_of(focus))
        return _response(operation, response, budget * TOKEN, DETAILS[1][0], relevance, received)


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


def _whole_request(operation: Operation, room: int) -> str:
    """Document a request with all its parameters and schemas, with descriptions as long as fit; empty if none do."""
    for field, own in DETAILS:
        text = _request(operation, field, own, room=room)
        if len(text) <= room * (1 - RESPONSE_SHARE) and NOT_SHOWN not in text:
            return text
    return ""


def _focused_request(operation: Operation, relevance: Relevance, room: int) -> str:
    """Document a request with the descriptions of what the focus touches, and with less of the rest."""
    text = ""
    most = int(room * (1 - RESPONSE_SHARE))
    for rest in (DETAILS[1][0], 0):
        text = _request(operation, DETAILS[0][0], DETAILS[2][1], room=most, rest=rest, relevance=relevance)
        if len(text) <= most and NOT_SHOWN not in text:
            break
    return text


def _request(
    operation: Operation,
    field: int,
    own: int,
    *,
    room: int,
    rest: int | None = None,
    relevance: Relevance | None = None,
) -> str:
    """Document a request with descriptions of `field` characters; with a focus, `rest` where it touches nothing."""
    notation = Notation(operation.document, request=True, details=field, rest=rest or 0, relevance=relevance)
    lines = [f"{operation.method} {operation.path}  {plain_text(operation.summary, 200)}".rstrip()]
    description = prose(operation.description, own, rules_most=min(RULES_MOST, room // 2))
    if description and description.rstrip(".") != plain_text(operation.summary, own).rstrip("."):
        lines.append(description)
    score = {id(item): _score(relevance, item) if relevance else 0.0 for item in operation.parameters}
    families = fold_fields(operation, lambda item: notation.type_of(item.schema))
    for parameter in sorted(operation.parameters, key=lambda item: (not item.required, score[id(item)] < VALUED)):
        if parameter.name in families.folded and parameter.location == "query":
            continue
        details = field if rest is None or score[id(parameter)] >= PARTLY else rest
        lines.append(_parameter_line(notation, parameter, details))
    lines += [f"query  {line}" for line in families.lines]
    body = operation.body
    if body is not None:
        media = body.preferred
        head = f"body{'*' if body.required else ''}  {media.media_type}  "
        said = f"  {plain_text(body.description, field)}".rstrip()
        left = room - sum(len(line) + 1 for line in lines) - len(head) - len(said)
        lines.append(f"{head}{notation.body(media, max(0, left) if relevance else None)}{said}")
        others = [kind for kind in body.content if kind != media.media_type]
        if others:
            lines.append(f"  also accepted: {', '.join(others[:4])}")
    return "\n".join([*lines, *notation.definitions(room - sum(len(line) + 1 for line in lines))])


def _score(relevance: Relevance, parameter: Parameter) -> float:
    """Return how much a parameter has to do with the focus."""
    described = parameter.description or parameter.schema.get("description")
    return relevance.of_field(parameter.name, {**parameter.schema, "description": described})


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
    relevance: Relevance,
    received: Any = None,
) -> str:
    """Write a response in full if it fits, else with the fields of the focus, else with fewer words and lines."""
    media = next(iter(response.content.values()), None)
    if media is None:
        return f"{response.status} without a body  {_meaning(response, response.status, 100)}".rstrip()
    text = ""
    levels = (
        (field, None, False),
        (field, relevance, False),
        (0, relevance, False),
        (0, relevance, not relevance.focus),
    )
    for details, wanted, bare in levels:
        notation = Notation(
            operation.document, request=False, details=details, relevance=wanted, bare=bare, received=received
        )
        head = f"{response.status} {media.media_type}  "
        head += notation.body(media, room - len(head) if wanted else None)
        text = "\n".join([head, *notation.definitions(room - len(head) - 1)])
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

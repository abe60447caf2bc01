"""Plain text of a description: one line without the marks of Markdown and HTML.

A sign stays where it is no mark: `#` inside a line, `*` between spaces, underscores, what code spans hold, and angle
brackets around anything but an HTML element.

How prompts write one field or argument: its type in Python's words, its limits, its default, and what it means.

duration: int 1..86400 = 60      mode*: 'soft'|'hard'      currency*: str /^[A-Z]{3}$/
duration: In milliseconds.
"""

import html
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from restgpt.specs.docs.prose import says_more, sentences
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.schemas.validation import LISTS
from restgpt.specs.search.query import stems

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)[\w+-]*[ \t]*$", re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]{1,1000})(?<!`)\1(?!`)")
_RULE = re.compile(r"^ {0,3}(?:={3,}|-{3,}|\*{3,}|_{3,}|\|?[ \t]*:?-{3,}[\s:|-]*)$", re.MULTILINE)
# "# of items" counts items; a heading does not begin so.
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]+(?!of\b)|$)", re.MULTILINE)
_QUOTE = re.compile(r"^ {0,3}>[ \t]?(?=[A-Za-z*_`\[])", re.MULTILINE)
_BULLET = re.compile(r"^([ \t]*)[*+](?=[ \t])", re.MULTILINE)
_LINK = re.compile(r"(?<!\w)!?\[([^\[\]]{0,300})\]\([^()\s]{0,1000}(?:[ \t]+[\"'][^\"'()]{0,200}[\"'])?\)")
_ADDRESS = re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,1000})>")
_EMPHASIS = re.compile(r"(?<![\w*\\])(\*{1,3})(?=[\w\"'(\[<$#@/:{])([^*]{0,300}[^\s*(\[{\\])\1(?![\w*])")
_ESCAPE = re.compile(r"\\([*_#`])")
_COMMENT = re.compile(r"<!--.{0,500}?-->", re.DOTALL)
_BLOCKS = "br|p|li|ul|ol|div|table|thead|tbody|tr|td|th|h[1-6]|hr|pre|blockquote|dl|dt|dd|details|summary|section"
_INLINE = "a|b|i|u|s|em|strong|code|kbd|tt|span|font|small|big|sub|sup|img|mark|del|ins|q|cite|abbr|var|samp|center"
_BLOCK = re.compile(rf"</?(?:{_BLOCKS})(?:\s[^<>]{{0,300}})?/?>", re.IGNORECASE)
_ELEMENT = re.compile(rf"</?(?:{_INLINE})(?:\s[^<>]{{0,300}})?/?>", re.IGNORECASE)
# How much of a text is read for each character that is wanted, and how much more.
_READ, _READ_MORE = 4, 2000
_MARK = re.compile(r"[<>&`*#\[\\~]|[-=_]{3}")


def plain_text(text: str, most: int) -> str:
    """Return a description as one line without markup, cut at a word to `most` characters; empty if that is 0."""
    if most <= 0 or not text:
        return ""
    text = text[: _READ * most + _READ_MORE]
    flat = " ".join((_unmarked(text) if _MARK.search(text) else text).split())
    if len(flat) <= most:
        return flat
    return flat[:most].rsplit(" ", 1)[0].rstrip(".,;: ") + "…"


def _unmarked(text: str) -> str:
    """Take the marks out of a text; what code spans hold stays as it is."""
    parts: list[str] = []
    end = 0
    text = _FENCE.sub("", text)
    for match in _CODE.finditer(text):
        parts += [text[end : match.start()], match[2]]
        end = match.end()
    parts.append(text[end:])
    # Marks of the text around a code span may lie on both of its sides, so the spans are put back at the end.
    spans = iter(parts[1::2])
    prose = _without_marks("\0".join(part.replace("\0", "") for part in parts[::2]))
    return html.unescape(re.sub("\0", lambda _: next(spans), prose))


def _without_marks(prose: str) -> str:
    for pattern, replacement in (
        (_COMMENT, ""),
        (_RULE, ""),
        (_HEADING, ""),
        (_QUOTE, ""),
        (_BULLET, r"\1-"),
        (_LINK, r"\1"),
        (_ADDRESS, r"\1"),
        (_BLOCK, " "),
        (_ELEMENT, ""),
        (_EMPHASIS, r"\2"),
        (_EMPHASIS, r"\2"),
        (_ESCAPE, r"\1"),
    ):
        prose = pattern.sub(replacement, prose)
    return prose


Key = TypeVar("Key", bound=Hashable)

PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}
FORMATS = {
    "date": "date",
    "date-time": "datetime",
    "time": "time",
    "uuid": "uuid",
    "binary": "bytes",
    "byte": "base64",
}
# Formats that a caller has to write, and that say little of an answer.
SENT_FORMATS = {
    **FORMATS,
    "byte": "base64 byte",
    "email": "email",
    "uri": "uri",
    "url": "url",
    "duration": "duration",
    "hostname": "hostname",
    "ipv4": "ipv4",
    "ipv6": "ipv6",
    "password": "password",
}
# How many arrays nest in one another in the text.
ARRAYS_MOST = 3
# A longer default or pattern is not shown, and a larger bound says nothing.
DEFAULT_MOST, PATTERN_MOST, LARGEST_BOUND = 40, 80, 10**9
# Characters of a description, of one that decides a right call, and of an example; names before a shared note.
NOTE_MOST, RULE_NOTE, EXAMPLE_MOST, NAMED_MOST = 80, 600, 40, 3
# The fewest characters of a note where not all fit as they are, and what a unit or a notation adds to its worth.
NOTE_LEAST, MEASURED = 60, 5.0
# How a list of values begins, the fewest characters of a long one, and how many values it has.
VALUES, VALUES_LEAST, VALUES_NOTED = "one of ", 300, 24

DECIDING = re.compile(
    r"\b(?:(?:milli|micro|nano)?seconds?|ms|minutes|hours|days|(?:in|of|per) (?:a )?(?:minute|hour|day|week|month|year)"
    r"|in (?:weeks|months|years)|(?:kilo|mega|giga)?bytes?|[KMG]i?B|per ?cent(?:age)?|cents|fractions?"
    r"|minor units?|smallest (?:currency )?units?"
    r"|ISO[- ]?\d+|RFC ?\d+|E\.164|BCP ?47|UTC|time ?zone|base64|comma.separated|separated by|epoch|unix|timestamps?"
    r"|(?:kilo|centi|milli)?met(?:er|re)s?|miles?|inch(?:es)?|degrees?|celsius|fahrenheit|pixels?|(?:kilo)?grams?|pounds?"
    r"|lit(?:er|re)s?|rpm|bps|hex\w*|[YH]{2,4}[-:/]?M{1,2}\S*|upper.?case|lower.?case|read.?only|null|encoded)\b|[%°]"
    r"|\bus(?:e|ing) (?:the )?\W?[\w-]+\W? alias\b",
    re.IGNORECASE,
)
"""Words of units, notations and aliases: without them a value of the right type is still a wrong one."""


def type_of(shape: Shape, most: int, *, is_sent: bool = False, depth: int = ARRAYS_MOST) -> str:
    """Write the type of a value in Python's words, enumerated values while they fit in `most` characters.

    Arrays nest `depth` times at most, since a schema may contain itself.
    """
    if shape.shown_values:
        texts = [repr(value) for value in shape.shown_values]
        if len("|".join(texts)) <= most or len(texts) == 1:
            return "|".join(texts)[:most]
    if not shape.kinds:
        return "any"
    if shape.kinds == ("array",):
        if shape.items is None or depth == 0:
            return "[any]"
        items = type_of(shape.items, most, is_sent=is_sent, depth=depth - 1)
        return f"[{items}{limits(shape.items) if is_sent else ''}]"
    if shape.kinds == ("object",) and not shape.fields and shape.mapped is not None:
        is_deep = shape.mapped.has_fields or depth == 0
        kind = "{…}" if is_deep else type_of(shape.mapped, most, is_sent=is_sent, depth=depth - 1)
        return "{str: " + kind + "}"
    if shape.kinds == ("string",):
        return (SENT_FORMATS if is_sent else FORMATS).get(str(shape.flat.get("format")), "str")
    return "|".join(PYTHON[kind] for kind in shape.kinds)


def limits(shape: Shape) -> str:
    """Write the bounds and the pattern of a value that is sent, with a space before each; empty without any."""
    flat = shape.flat
    pattern = flat.get("pattern")
    shown = isinstance(pattern, str) and 0 < len(pattern) <= PATTERN_MOST and not shape.values
    found = [
        _span(flat.get("minimum"), flat.get("maximum")),
        _span(flat.get("minLength"), flat.get("maxLength"), "characters"),
        _span(flat.get("minItems"), flat.get("maxItems"), "items"),
        f"/{pattern}/" if shown else "",
    ]
    for sign, key in ((">", "exclusiveMinimum"), ("<", "exclusiveMaximum")):
        if _is_bound(value := flat.get(key)):
            found.append(f"{sign}{value}")
    return "".join(f" {text}" for text in found if text)


def _span(least: Any, most: Any, unit: str = "") -> str:
    """Write the two ends of a range; a least of 0 or 1 is what everybody expects."""
    low = least if _is_bound(least) and least not in (0, 1) else None
    high = most if _is_bound(most) else None
    if low is None and high is None:
        return ""
    if low is not None and high is not None:
        text = f"{low}" if low == high else f"{low}..{high}"
    else:
        text = f"≤{high}" if low is None else f"≥{low}"
    return f"{text} {unit}".rstrip()


def _is_bound(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST_BOUND


def default_of(shape: Shape) -> str:
    """Write the default of a value with an equals sign before it; empty without a short one."""
    value = shape.flat.get("default")
    return f" = {value!r}" if is_plain(value) else ""


def is_plain(value: Any) -> bool:
    """Tell whether a default is worth its room: a short scalar that is not empty."""
    return value not in (None, "") and not isinstance(value, dict | list) and len(str(value)) <= DEFAULT_MOST


DANGLING = re.compile(r"[\s,;]*(?:\b\w+ )?\b(?:values?|one of|defaults?)(?: (?:are|is|to|include))?:?…$", re.IGNORECASE)
"""The beginning of a list of values, or of a default, that a cut text ends with."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is said of a field beside its type; `decides` tells that a call may go wrong without it."""

    name: str
    text: str
    worth: float
    decides: bool


def note_of(
    name: str,
    description: str,
    shape: Shape,
    said: frozenset[str],
    *,
    worth: float,
    is_wanted: bool = False,
) -> Note | None:
    """Return what the description of a field says beyond its name and the words `said`: what decides first.

    With `is_wanted`, the instruction names the field, so that everything said of it decides.
    """
    found = [one for one in sentences(description) if not (shape.shown_values and LISTS.match(one.text))]
    measured = [item.text for item in found if DECIDING.search(item.text)]
    deciding = [*measured, *(item.text for item in found if item.is_rule and item.text not in measured)]
    text = plain_text(" ".join(deciding or [item.text for item in found]), RULE_NOTE if deciding else NOTE_MOST)
    known = said | frozenset(stems(name))
    is_new = not known.issuperset(stems(text)) if deciding else says_more(text, known, 0 if is_wanted else 1)
    text = text if is_new else ""
    example = shape.flat.get("example")
    if isinstance(example, str) and shape.kinds == ("string",) and not shape.values and not deciding:
        sample = f"e.g. {example!r}"
        if 0 < len(example) <= EXAMPLE_MOST and example not in description and "format" not in shape.flat:
            text = f"{text.rstrip('.')}, {sample}" if text else sample
    return Note(name, text, worth + (MEASURED if measured else 0.0), bool(deciding) or is_wanted) if text else None


def values_note(name: str, shape: Shape, text: str, worth: float) -> Note | None:
    """Return the values of a field as what decides, if the `text` of its type does not have them."""
    values = [repr(value) for value in shape.shown_values]
    if len(values) < 2 or values[-1] in text:
        return None
    listed = [*values[:VALUES_NOTED], *(["…"] if values[VALUES_NOTED:] else [])]
    return Note(name, VALUES + " | ".join(listed), worth, decides=True)


def written(notes: Sequence[Note], room: int) -> Iterator[str]:
    """Write notes while they fit in `room` characters: those that decide first, then by worth, and equal ones once.

    What was said of the same name in more words is not said again.
    """
    names: dict[str, list[str]] = {}
    told: dict[str, str] = {}
    for note in sorted(notes, key=lambda note: (not note.decides, -note.worth)):
        if note.text.rstrip(".…") not in told.get(note.name, ""):
            names.setdefault(note.text, []).append(note.name)
            told[note.name] = f"{told.get(note.name, '')}\n{note.text}"
    heads = {
        text: ", ".join(found[:NAMED_MOST]) + (", …" if found[NAMED_MOST:] else "") for text, found in names.items()
    }
    fitting: dict[str, int] = {}
    needed = 0
    for text, head in heads.items():
        cost = len(head) + 4
        if needed + cost + _least(text) <= room:
            fitting[text] = len(text)
            needed += _least(text)
            room -= cost
    for text, most in shares(fitting, room, _least).items():
        short = DANGLING.sub("…", plain_text(text, most))
        yield f"{heads[text]}: {short if short[-1] in '.…' else short + '.'}"


def _least(text: str) -> int:
    """Return the fewest characters of a note; a list of values says nothing if it is cut."""
    return min(len(text), VALUES_LEAST if text.startswith(VALUES) else NOTE_LEAST)


def shares(wanted: Mapping[Key, int], room: int, least: Callable[[Key], int] = lambda key: 0) -> dict[Key, int]:
    """Return the characters of each key: all that it wants, or an equal share of what those that want less leave.

    It is never less than `least` of the key, or all that the key wants.
    """
    granted: dict[Key, int] = {}
    for number, key in enumerate(sorted(wanted, key=wanted.__getitem__)):
        granted[key] = min(wanted[key], max(least(key), room // (len(wanted) - number)))
        room -= granted[key]
    return {key: granted[key] for key in wanted}

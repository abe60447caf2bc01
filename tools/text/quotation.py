"""The one Markdown fence around a whole text, in which a model puts a reply (CommonMark, fenced code blocks).

Quote foreign text for a person: invisible characters shown, length bounded, every line marked as foreign.

Models, documents, answers and arguments may hold any text. In a question, each of its lines gets a mark that no line of
this program has, so foreign text cannot pass for the program's own words. The four blanks before the mark make the
lines a code block in Markdown, in which nothing is a heading or a link.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*\n(.*?)\n?[ \t]*\1", re.DOTALL)


class Fence(NamedTuple):
    """The language that a fence names, in lower case, and the text in it."""

    language: str
    text: str


def fence_around(text: str) -> Fence | None:
    """Return the fence that a text consists of; None if it has none, several, or text outside of it."""
    found = _FENCE.fullmatch(text.strip())
    if found is None or any(line.lstrip().startswith(found[1]) for line in found[3].split("\n")):
        return None
    return Fence(found[2].lower(), found[3])


def unfenced(text: str) -> str:
    """Return a text without the fence around it; any other text is only stripped."""
    fence = fence_around(text)
    return text.strip() if fence is None else fence.text.strip()


Escape = Callable[[str], str]
"""Writes one character as an escape."""

FOREIGN = "    │ "
"""The mark of a line of foreign text."""

GOES_ON = "    ┆ "
"""The mark of the rest of a foreign line that is too long for one line of a terminal."""

LEFT_OUT = "    ⋮ "
"""The mark of this program's own remark between foreign lines."""

WIDTH = 72
"""How many columns of foreign text a line has: with its mark it fits on a terminal of 80, which wraps no such line."""

FIELDS = (',"', ",{", ",[", "&")
"""The borders between fields of JSON, or of a query, after which a long line is best broken."""

MOST_SHOWN = 2_000
"""How many characters of a foreign text are shown, unless the caller says otherwise."""

MOST_LINES = 400
"""How many lines of a foreign text are shown."""

MOST_BLANKS = 24
"""The longest run of blanks inside a line that is shown as it is."""

MOST_MARKS = 4
"""How many combining characters on one letter are shown as they are; more of them cover the lines around."""

MOST_NAME = 60
"""How many characters of a name are shown."""

# Letters and symbols that look like nothing although Unicode calls them printable.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159")
_JOINER = "\u200d"
_BEYOND_ASCII = re.compile(r"[^\n\t\x20-\x7e]+")
_BEYOND = re.compile(r"[^\x00-\x7e]")
_ODD_BLANKS = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]{2,}")
_RUN_OF_BLANKS = re.compile(f"(?<=[^ ]) {{{MOST_BLANKS + 1},}}|^ {{{WIDTH + 1},}}")
_SPACES = " \t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_./~-]+")
_IN_NAMES = frozenset(" _-./~")


def visible(text: str) -> str:
    """Escape control, reordering and invisible characters; a newline stays, and so does a tab."""
    return _with_escapes(text, _escaped)


@dataclass(frozen=True, slots=True)
class JsonText:
    """A large JSON value as its text, since the value itself takes up to thirty times as much memory."""

    text: str


def visible_json(value: Any, *, is_ascii: bool = False) -> str:
    """A value as indented JSON with the escapes of JSON for what `visible` escapes, so that it is the same value.

    A `JsonText` in it stays as it is written. With `is_ascii` everything beyond ASCII is escaped. Raises the errors of
    `json.dumps`.
    """
    place, texts = uuid4().hex, []

    def hold(item: Any) -> str:
        if not isinstance(item, JsonText):
            raise TypeError(f"{type(item).__name__} is no JSON")
        # Between the values of a JSON text, a carriage return is a blank.
        texts.append(item.text.replace("\r", ""))
        return place

    try:
        text = json.dumps(value, ensure_ascii=is_ascii, indent=2, default=hold)
    except RecursionError:
        # The encoder without indentation is in C, which takes three times as many levels.
        text = json.dumps(value, ensure_ascii=is_ascii, default=hold)
    for whole in texts:
        text = text.replace(f'"{place}"', whole, 1)
    return _BEYOND.sub(lambda match: _json_escaped(match[0]), text) if is_ascii else _with_escapes(text, _json_escaped)


def _with_escapes(text: str, escape: Escape) -> str:
    shown = _ODD_BLANKS.sub(lambda match: _shown_blanks(match, escape), text)
    return _BEYOND_ASCII.sub(lambda match: _shown_run(match, escape), shown)


def _shown_blanks(match: re.Match[str], escape: Escape) -> str:
    """Escape all blanks of a run but plain ones: a single no-break space is typography, a run of them is padding."""
    return "".join(char if char == " " else escape(char) for char in match.group())


def _shown_run(match: re.Match[str], escape: Escape) -> str:
    run, shown, marks = match.group(), [], 0
    for at, char in enumerate(run):
        marks = marks + 1 if _is_combining(char) else 0
        is_shown = _is_seen(run, at) and marks <= MOST_MARKS
        shown.append(char if is_shown else escape(char))
    return "".join(shown)


def _is_seen(run: str, at: int) -> bool:
    """Whether a character of a run can be seen; joiners and variation selectors count where they shape a pictogram."""
    char = run[at]
    if char == _JOINER:
        return 0 < at < len(run) - 1 and _is_pictogram(run[at - 1]) and _is_pictogram(run[at + 1])
    if _is_selector(char):
        return char in "\ufe0e\ufe0f" and at > 0 and unicodedata.category(run[at - 1]) == "So"
    return char not in _BLANK and (char.isprintable() or unicodedata.category(char) == "Zs")


def _is_pictogram(char: str) -> bool:
    return unicodedata.category(char) in ("So", "Sk") or char in "\ufe0e\ufe0f"


def _is_combining(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me")


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" or "\u180b" <= char <= "\u180f"


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if char != "\x7f" else "\\u007f"


def named(text: str) -> str:
    """A foreign name inside a sentence: as it is if it is plain, else quoted, escaped and cut.

    Only letters, digits and a few signs stay, so a name can neither end its quotation marks nor be Markdown.
    """
    if _PLAIN_NAME.fullmatch(text) and len(text) <= MOST_NAME and "www." not in text.lower():
        return text
    shown = "".join(map(_shown_in_name, text[:MOST_NAME]))
    # Markdown makes a link of this prefix.
    shown = re.sub(r"(?i)(www)\.", r"\1\\x2e", shown)
    return f'"{shown}"' + (f" (of {len(text):,} characters)" if len(text) > MOST_NAME else "")


def _shown_in_name(char: str) -> str:
    is_kept = char in _IN_NAMES or (char.isalnum() and _is_seen(char, 0))
    return char if is_kept else _escaped(char)


def quoted(text: str, most: int) -> str:
    """A foreign text inside a quoted line: on one line, in quotation marks that it cannot close, and cut."""
    start = text[:most].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{visible(start)}"' + (f"… (of {len(text):,} characters)" if len(text) > most else "")


def quotation(text: str, *, most: int | None = MOST_SHOWN) -> str:
    """Foreign text as marked lines; of a long text the head and the tail, with a remark between them."""
    if most is None:
        return "\n".join(_marked(text))
    if len(text) <= most:
        return "\n".join(_few(list(_marked(text))))
    tail = most // 3
    return excerpt(text[: most - tail], text[len(text) - tail :], f"{len(text) - most:,} characters are left out here")


def excerpt(head: str, tail: str, left_out: str) -> str:
    """The head and the tail of a foreign text as marked lines, with a remark of this program between them."""
    first, last = list(_marked(head)), list(_marked(tail))
    most_first, most_last = MOST_LINES * 3 // 4, MOST_LINES // 4
    more = max(len(first) - most_first, 0) + max(len(last) - most_last, 0)
    remarks = [remark(left_out), *([remark(f"and {more:,} more lines")] if more else [])]
    return "\n".join([*first[:most_first], *remarks, *last[-most_last:]])


def remark(text: str) -> str:
    """A remark of this program among the lines of foreign text; it must hold no foreign text."""
    return LEFT_OUT + text


def section(label: str, text: str, *, most: int | None = MOST_SHOWN) -> str:
    """A label in this program's words, and below it a foreign text."""
    return f"{label}\n\n{quotation(text, most=most)}"


def wrapped(line: str) -> list[str]:
    """One line of visible text in pieces of at most `WIDTH` columns, which end after a field of JSON or a blank."""
    pieces, start = [], 0
    while (end := _end_of_piece(line, start)) < len(line):
        field = max(line.rfind(mark, start + WIDTH // 2, end) for mark in FIELDS)
        border = field if field >= 0 else line.rfind(" ", start + WIDTH // 2, end)
        end = border + 1 if border >= 0 else end
        pieces.append(line[start:end])
        start = end
    return [*pieces, line[start:]]


def _end_of_piece(line: str, start: int) -> int:
    """The index up to which a line fits into `WIDTH` columns from `start`."""
    nearby = line[start : start + WIDTH]
    if nearby.isascii():
        return start + len(nearby)
    end, left = start, WIDTH
    while end < len(line) and (left := left - _columns(line[end])) >= 0:
        end += 1
    return end


def _columns(char: str) -> int:
    if _is_combining(char) or char == _JOINER:
        return 0
    # Terminals differ about symbols and about the characters that Unicode calls ambiguous; the wider one counts.
    return 2 if unicodedata.east_asian_width(char) in "WFA" or unicodedata.category(char) == "So" else 1


def one_line(text: str) -> str:
    """Visible text for one line of a listing: tabs as escapes, since their width varies, and long runs of blanks."""
    return _RUN_OF_BLANKS.sub(lambda run: f"\\x20{{{len(run.group())}}}", visible(text).replace("\t", "\\t"))


def _marked(text: str) -> Iterator[str]:
    """The marked lines of a text; more than two empty ones in a row become a remark."""
    empty = 0
    for line in [*text.split("\n"), None]:
        if line is not None and not line.strip(_SPACES):
            empty += 1
            continue
        yield from [remark(f"{empty:,} empty lines")] if empty > 2 else [FOREIGN.rstrip()] * empty
        empty = 0
        if line is not None:
            first, *rest = wrapped(one_line(line))
            yield FOREIGN + first
            yield from (GOES_ON + piece for piece in rest)


def _few(lines: Sequence[str]) -> Sequence[str]:
    """At most `MOST_LINES` lines: the first ones and the last ones."""
    if len(lines) <= MOST_LINES:
        return lines
    tail = MOST_LINES // 4
    head = MOST_LINES - tail
    return [*lines[:head], remark(f"{len(lines) - MOST_LINES:,} lines are left out here"), *lines[-tail:]]

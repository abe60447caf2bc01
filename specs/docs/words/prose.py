"""The prose of a description: its Markdown read into paragraphs, list items and table rows under their headings."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

MOST_READ = 200_000
"""The maximum number of characters of a description that are read."""

MOST_PASSAGES = 2000
"""The maximum number of passages of a description."""

LONGEST_PARAGRAPH = 400
"""The number of characters above which a paragraph is read as one passage for each sentence."""

LONGEST_HEADING = 200
"""The maximum number of characters of a heading."""

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_HEADING = re.compile(r"#{1,6}\s+(.*)|(?:\*\*|__)([^*_]+)(?:\*\*|__):?")
_UNDERLINE = re.compile(r"=+|-+")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_RULER = re.compile(r"[\s|:*_=-]*")
_COMMENT = re.compile(r"<!--(?:(?!-->)[\s\S])*(?:-->|\Z)")
_LIST_ITEM = re.compile(r"<li\b[^<>]{0,200}>", re.IGNORECASE)
_BREAK = re.compile(r"</?(?:p|br|li|ul|ol|div|tr|table|blockquote|h[1-6])\b[^<>]{0,200}>", re.IGNORECASE)
_HTML_HEADING = re.compile(r"<h[1-6]\b[^<>]{0,200}>([^<>]{1,200})</h[1-6]>", re.IGNORECASE)
_CODE = re.compile(r"(?<!`)(`{1,3})([^`\n]{1,500})\1(?!`)")
_MARKS = re.compile(
    r"!\[[^\[\]\n]{0,300}\]\([^()\n]{0,2000}\)"
    r"|\[([^\[\]\n]{1,300})\]\([^()\n]{0,2000}\)"
    r"|</?[a-zA-Z][^<>]{0,300}>"
    r"|\*{1,3}(?=\S)([^*\n]{1,500})(?<=\S)\*{1,3}"
    r"|(?<!\w)_{1,3}(?=\S)([^_\n]{1,500})(?<=\S)_{1,3}(?!\w)"
)
_LINK = re.compile(r"\[[^\[\]]{0,300}\]\([^()]{0,2000}\)|https?://\S+")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!i\.e\.)(?<!e\.g\.)\s+(?=[^\sa-z])|(?<=[。！？])(?=\S)")


@dataclass(frozen=True, slots=True)
class Passage:
    """One paragraph, sentence of a long paragraph, list item or table row; `heading` is of the section it is in.

    `block` numbers the paragraph, so that neighbouring sentences of one paragraph can be joined again.
    """

    text: str
    heading: str = ""
    block: int = 0


def passages(description: str) -> list[Passage]:
    """Read the passages of a description in its order, without code blocks, comments, images and badges."""
    return list(islice(_passages(description[:MOST_READ]), MOST_PASSAGES))


def _passages(text: str) -> Iterator[Passage]:
    heading, block = "", 0
    for kind, raw in _blocks(text):
        plain = _plain(raw)
        if not re.search(r"\w", plain) or (kind == "item" and _LINK.fullmatch(raw.strip())):
            continue
        if kind == "heading":
            heading = plain.rstrip(":")
            continue
        block += 1
        parts = _SENTENCE.split(plain) if len(plain) > LONGEST_PARAGRAPH else [plain]
        for part in parts:
            yield Passage(f"- {part}" if kind == "item" and part is parts[0] else part, heading, block)


def sentences_of(text: str) -> list[str]:
    """Split the text of a passage into its sentences."""
    return _SENTENCE.split(text)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the blocks of Markdown as pairs of their kind (heading, item, text) and their source."""
    kind, lines = "text", list[str]()
    for line in [*_lines(text), ""]:
        heading = _heading(line) if not lines or line.startswith("#") else ""
        is_underlined = len(lines) == 1 and kind == "text" and bool(_UNDERLINE.fullmatch(line))
        item = _ITEM.match(line)
        if lines and (not line or heading or is_underlined or item or line.startswith("|")):
            yield ("heading" if is_underlined else kind), " ".join(lines)
            kind, lines = "text", []
        if heading:
            yield "heading", heading
        elif item:
            kind, lines = "item", [line[item.end() :]]
        elif not _RULER.fullmatch(line):
            lines.append(line.lstrip("> ").strip("| "))


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of Markdown outside code blocks, without their indentation; HTML blocks become lines."""
    text = _COMMENT.sub("", text.replace("\r\n", "\n"))
    text = _LIST_ITEM.sub("\n\n- ", _HTML_HEADING.sub(r"\n\n# \1\n\n", text))
    lines = _BREAK.sub("\n\n", text).split("\n")
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    # A fence that nobody closes does not hide the rest of the text.
    opening = set(fences[: len(fences) // 2 * 2])
    is_code = False
    for number, line in enumerate(lines):
        if number in opening:
            is_code = not is_code
            yield ""
        elif not is_code:
            yield line.strip()


def _heading(line: str) -> str:
    """Return the words of a heading; empty for another line."""
    found = _HEADING.fullmatch(line) if len(line) <= LONGEST_HEADING else None
    return next(filter(None, found.groups()), "").strip("# ") if found else ""


def _plain(source: str) -> str:
    """Return the source of a block without marks, on one line; its words stay as they are."""
    codes: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        codes.append(match.group(2))
        return f"\x00{len(codes) - 1}\x00"

    # Code keeps its characters: `#12` and `<id>` are words of a rule there.
    bare = _CODE.sub(put_aside, source.replace("\x00", ""))
    bare = _MARKS.sub(lambda match: next(filter(None, match.groups()), ""), bare)
    bare = re.sub("\x00(\\d+)\x00", lambda match: codes[int(match.group(1))], html.unescape(bare))
    return " ".join(bare.replace("|", " | ").replace("\x00", "").split())

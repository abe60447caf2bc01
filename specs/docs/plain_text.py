"""Plain text of a description: one line without the marks of Markdown and HTML.

A sign stays where it is no mark: `#` inside a line, `*` between spaces, underscores, what code spans hold, and angle
brackets around anything but an HTML element.
"""

import html
import re

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

"""Plain text of a description: one line without Markdown and HTML."""

import html
import re

MARKUP = re.compile(r"<[^<>]{1,200}>|!?\[([^\]]*)\]\([^)]*\)|[`*#]+")


def plain_text(text: str, most: int) -> str:
    """Return a description as one line without markup, cut at a word to `most` characters; empty if that is 0."""
    if most <= 0 or not text:
        return ""
    flat = " ".join(html.unescape(MARKUP.sub(lambda match: match.group(1) or "", text)).split())
    if len(flat) <= most:
        return flat
    return flat[:most].rsplit(" ", 1)[0].rstrip(".,;: ") + "…"

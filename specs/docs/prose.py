"""The prose of a description: its Markdown read into paragraphs, list items and table rows under their headings.

Docstrings of Python functions, which frameworks publish as descriptions of operations: their text and their blocks.

Blocks are those of the Google style (`Args:` above deeper lines) and the fields of Sphinx (`:param name:`).

The words by which a sentence is known to state a rule, and those of sentences about sign-in and access.

Which passages state a rule of an API's owner: they limit or oblige the users of the API.

The sentences of a description by their worth: those that state a rule first, so that a short text keeps them.

The current time that a description states, where an API lives by a clock of its own, such as that of a test.
"""

import html
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from restgpt.specs.search.query import STOP_STEMS, stems

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


_KINDS = {
    **dict.fromkeys(("args", "arguments", "parameters", "params", "param", "other parameters"), "arguments"),
    **dict.fromkeys(("returns", "return", "yields"), "returns"),
    **dict.fromkeys(("raises", "raise", "throws", "type", "rtype"), "aside"),
}
_HEADER = re.compile(r"\s*([A-Za-z]+(?: [A-Za-z]+)?)\s*:(?:\s+(\S.*))?\s*")
_ENTRY = re.compile(r"\s*(?:[-*] )?[*`]{0,2}(\w+)`{0,2}\s*(?:\([^)]*\))?\s*:\s*(.*)")
_FIELD = re.compile(r"\s*:(param|returns?|raises?|type|rtype)\b\s*(?:[\w\[\], .]+\s+)?(\w*)\s*:\s*(.*)")


class Docstring(NamedTuple):
    """A description without its blocks, the texts of the arguments by name, and the text about the result.

    What is raised is in none of them: a failed call says it.
    """

    text: str
    arguments: dict[str, str]
    returns: str


@lru_cache(maxsize=1024)
def docstring(description: str) -> Docstring:
    """Take a description apart; one without blocks is the text of its own."""
    text, returns, arguments = list[str](), list[str](), dict[str, str]()
    kind, depth, name, entry_depth = "", 0, "", 0
    for line in description.splitlines():
        indent = len(line) - len(line.lstrip())
        header, field = _HEADER.fullmatch(line), _FIELD.fullmatch(line)
        known = _KINDS.get(header[1].lower(), "") if header else ""
        if field is not None:
            kind, depth, name, entry_depth = _KINDS[field[1]], indent, field[2], indent
            if kind == "arguments":
                arguments[name] = field[3]
            returns += [field[3]] if kind == "returns" else []
        elif known and header and not (kind and indent > depth) and (known != "arguments" or not header[2]):
            kind, depth, name = known, indent, ""
            returns += [header[2]] if kind == "returns" and header[2] else []
        elif kind and (not line.strip() or indent > depth):
            entry = _ENTRY.fullmatch(line) if kind == "arguments" and (not name or indent <= entry_depth) else None
            if entry is not None:
                name, entry_depth = entry[1], indent
                arguments[name] = entry[2].strip()
            elif kind == "arguments" and name and line.strip():
                arguments[name] = f"{arguments[name]} {line.strip()}".strip()
            returns += [line.strip()] if kind == "returns" and line.strip() else []
        else:
            kind = ""
            text.append(line)
    return Docstring("\n".join(text).strip(), arguments, " ".join(returns))


RULE = re.compile(
    r"\b(?:must(?:n't)?|(?<!-)only|never|cannot|can(?:no|')t|can not|may not|shall|should|always|unless|except|exactly"
    r"|not (?:be )?(?:allowed|permitted|possible|accepted|changed|deleted)|prohibited|forbidden|requires?|required"
    r"|our (?:\w+ )?polic(?:y|ies)|polic(?:y|ies)(?= is| are|:)|ensure|make sure|before (?:you|any|an?|the|\w+ing)\b"
    r"|irreversibl[ey]|at (?:most|least)|no more than|not more than|fewer than|up to \d|maximum|minimum|limit(?:s|ed)?"
    r"|within \d+|(?:\d+|one|two|three|a) (?:\w+ )?(?:per|times)"
    # German, French, Spanish, Italian, Portuguese, Dutch
    r"|muss|müssen|nur|nie(?:mals)?|darf|dürfen|verboten|unzulässig|höchstens|mindestens|innerhalb"
    r"|doit|doivent|jamais|uniquement|seulement|interdite?s?|obligatoires?|au (?:plus|moins)"
    r"|debe[ns]?|nunca|sólo|solo|solamente|prohibid[oa]s?|obligatori[oa]s?|como máximo|no se puede[ns]?"
    r"|dev(?:e|ono|em)|soltanto|vietat[oi]|entro \d+|apenas|somente|proibid[oa]s?|obrigatóri[oa]s?"
    r"|moet(?:en)?|nooit|alleen|verplicht|mag niet|mogen niet)\b"
    r"|(?:^|[.!?:;,-] |please |and |you |users? |customers? |clients? )(?:do not|don't)\b"
    r"|\bне более\b|\bне менее\b|должн|только|нельзя|никогда|запрещ"
    r"|必须|必須|只能|禁止|不得|不能|不允许|最多|必ず|のみ|できません|までに|반드시|금지|할 수 없",
    re.IGNORECASE,
)
TOLD = re.compile(
    r"\b(?:means?|defaults?|formats?|one of|instead|otherwise|ignored?|wildcards?|regular expressions?"
    r"|case.(?:in)?sensitive|all of|any of|either|if|when|omit(?:s|ted)?|leave (?:\w+ )?(?:empty|out|blank)"
    r"|sorted|order(?:ed)? by|pagina\w+|pages?|cursors?|offset|deprecated|asynchronous(?:ly)?|polls?|overwrit\w+"
    r"|replaces?|etag|if-match)\b"
    r"|\bpass\b|(?<!\S)[`'\"]?[~*%@$][`'\"]?(?!\S)",
    re.IGNORECASE,
)
"""Words by which the description of one operation or parameter tells its callers how to use it, besides `RULE`."""

SIGN_IN = re.compile(
    r"\b(?:api.?keys?|bearer|(?:access|refresh|personal|auth\w*|app|your) tokens?|oauth\S*|basic auth\w*|sign up"
    r"|authorization header|client.secret|pip install|npm install|sdks?|postman|swagger)\b",
    re.IGNORECASE,
)

ACCESS = re.compile(
    r"\b(?:(?:admin\w*|owner|write|read|push|pull|required?|sufficient) (?:access|roles?)|permissions?"
    r"|privileges?|oauth|scopes?|authenticated user|must be (?:an? )?(?:\w+ ){0,2}(?:admin\w*|owner|member|manager)"
    r"|(?:owners?|admin(?:istrator)?s?|members|maintainers?|managers?) (?:can|may|of)|for more information"
    r"|sign(?:ed)?.in)\b",
    re.IGNORECASE,
)
"""Words of sentences about who may call an operation, and of references to other pages."""


_RULED = re.compile(
    r"\b(?:rules?|polic(?:y|ies)|restrictions?|limits?|limitations?|constraints?|conditions?|terms|warning|important"
    r"|regeln|règles|reglas|regole|regras)\b",
    re.IGNORECASE,
)
_SETUP = re.compile(
    r"\b(?:change ?logs?|release notes|what.?s new|version history|sdks?|(?:client|code) librar\w+|install\w*"
    r"|quick ?start|getting started|cors|cross.origin\w*|errors?(?: codes?| handling| responses?)?"
    r"|(?:http )?status codes?|(?:request |response )?headers?|rate.?limit\w*|curl\w*|versioning)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:authenticat\w*|authori[sz]\w*|o?auth2?|api keys?|credentials|support|contact|community|licen[sc]e"
    r"|useful links|about (?:us|swagger)|acknowledge?ments?)\b",
    re.IGNORECASE,
)


def is_rule_passage(passage: Passage) -> bool:
    """Return whether a passage limits or obliges; passages about sign-in, installation and changes do not count."""
    if _SETUP.search(passage.heading) or SIGN_IN.search(passage.text):
        return False
    return bool(RULE.search(passage.text)) or names_rules(passage.heading)


def names_rules(text: str) -> bool:
    """Return whether a text is about rules, as the heading of a section or the words of somebody who asks for them."""
    return bool(_RULED.search(text))


def is_aside(passage: Passage) -> bool:
    """Return whether a passage says nothing about what the API does."""
    return any(mark.search(passage.heading) for mark in (_SETUP, _ASIDE)) or bool(SIGN_IN.search(passage.text))


MOST_READ_OF_ONE = 12_000
"""The maximum number of characters of a description that are read."""

LEAST_PART = 24
"""The fewest characters of a sentence that is cut."""

COMMON_LEAST = 3
"""The fewest descriptions that must have a sentence before it is common."""

_OUTCOME = re.compile(r"\b(?:[1-5]\d\d|status|response|output|returns?|raises?)\b", re.IGNORECASE)

_BODY = r"(?:request|response) (?:model|schema|body|object|payload)"
IDLE = re.compile(rf"(?:- )?(?:{_BODY} (?:for|of)\b.*|(?:the )?{_BODY}|raises \w*(?:Error|Exception)\b.*)\.?", re.I)
"""A sentence in the place of the purpose that says nothing of it."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, list item or table row without marks; `is_rule` tells whether it says how to call an operation."""

    text: str
    is_rule: bool


@lru_cache(maxsize=1024)
def sentences(description: str) -> tuple[Sentence, ...]:
    """Read the sentences of a description in its order, without code blocks and headings."""
    texts = [part for passage in passages(description[:MOST_READ_OF_ONE]) for part in sentences_of(passage.text)]
    return tuple(Sentence(text, is_rule(text)) for text in texts if not IDLE.fullmatch(text))


def common_sentences(descriptions: Collection[str]) -> tuple[str, ...]:
    """Return the sentences that most of the descriptions have, whole or in a block of a docstring."""
    parts = [(text, *docstring(text)[::2]) for text in descriptions]
    found = [dict.fromkeys(one.text for text in texts for one in sentences(text)) for texts in parts]
    counted = Counter(text for texts in found for text in texts)
    least = max(COMMON_LEAST, len(descriptions) // 2 + 1)
    return tuple(text for text, count in counted.items() if count >= least)


def is_common_rule(text: str) -> bool:
    """Tell whether a sentence that is common states a rule, and not only what the outcome of a call looks like."""
    return is_rule(text) and not _OUTCOME.search(text)


def is_rule(text: str) -> bool:
    """Tell whether a sentence limits, obliges or explains; those about sign-in and permissions do not count."""
    return bool(RULE.search(text) or TOLD.search(text)) and not (SIGN_IN.search(text) or ACCESS.search(text))


def beyond(description: str, summary: str, common: Collection[str] = ()) -> tuple[Sentence, ...]:
    """Return the sentences of a description that say more than the summary; a cut summary goes on with its rest.

    The sentences in `common` stand elsewhere or say nothing.
    """
    start = summary.removesuffix("…").rstrip(". ")
    known = frozenset(stems(start))
    found: list[Sentence] = []
    for sentence in sentences(description):
        if sentence.text in common:
            continue
        text = sentence.text.removeprefix("- ")
        if start and text.startswith(start):
            rest = text[len(start) :].strip(" .")
            if rest:
                found.append(Sentence(f"…{rest}" if summary.endswith("…") else rest, sentence.is_rule))
        elif says_more(text, known) or (sentence.is_rule and not known.issuperset(stems(text))):
            found.append(sentence)
    return tuple(found)


def says_more(text: str, known: frozenset[str], least: int = 1) -> bool:
    """Tell whether a text has more than `least` words that are not known yet."""
    return len(frozenset(stems(text)) - STOP_STEMS - known - {"id"}) > least


def chosen(found: Sequence[Sentence], most: int, rules_most: int) -> list[str]:
    """Choose sentences of at most about `most` characters in their order: rules first, then the leading others.

    Rules may take `rules_most` characters. The last text says how many rules were left out, if any were.
    """
    kept: dict[int, str] = {}
    left = rules_most
    rules = [number for number, sentence in enumerate(found) if sentence.is_rule]
    for number in rules:
        if len(found[number].text) < left:
            kept[number] = found[number].text
            left -= len(found[number].text) + 1
    missing = len(rules) - len(kept)
    more = [f"… {missing} more rule{'s' if missing > 1 else ''}."] if missing else []
    left = most - sum(len(text) + 1 for text in (*kept.values(), *more))
    for number, sentence in enumerate(found):
        if sentence.is_rule:
            continue
        text = sentence.text if len(sentence.text) < left else _part(sentence.text, left)
        if text:
            kept[number] = text
        left -= len(text) + 1
        if text != sentence.text:
            break
    return [*(kept[number] for number in sorted(kept)), *more]


def prose(description: str, most: int, *, rules_most: int = 0) -> str:
    """Return a description as one line of at most `most` characters, rules first; they may take `rules_most`."""
    return " ".join(chosen(sentences(description), most, max(most, rules_most))) if description else ""


def _part(text: str, most: int) -> str:
    """Return the beginning of a text, cut at a word; empty if it is too short to say anything."""
    cut = text[: max(0, most - 2)].rsplit(" ", 1)[0].rstrip(".,;: ")
    return f"{cut}…" if len(cut) >= LEAST_PART else ""


_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)(?:uary|ruary|ch|il|ust|ember|ober)?"
_DATE = (
    rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}|\d{{1,2}}\.? {_MONTH},? \d{{4}}"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})"
)
_HOUR = r"(?:(?:T|,? (?:at )?)\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm]\b)?(?: ?(?:Z|(?-i:[A-Z]{2,5})|[+-]\d\d:?\d\d)\b)?)"
_STATED = re.compile(
    r"\b(?:(?:current|present|today.?s) (?:date(?: and time)?|time|day|timestamp)\b[^\d.]{0,40}?"
    r"|today(?: is|:) (?:\w+day, )?(?:the )?|it is (?:now |currently )?|now is )"
    rf"({_DATE}{_HOUR}?)(?![\w-])",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\be\.g|\bexamples?\b|\bfor instance\b|\bsuch as\b|\bformats?\b|\bversions?\b", re.IGNORECASE)


@lru_cache(maxsize=64)
def current_time(description: str) -> str:
    """Return the date, and the time if there is one, that a description states as the current one; empty without one.

    It consists of digits, the name of a month, separators and a time zone only, so that it can stand outside of a
    fence.
    """
    for passage in passages(description):
        for sentence in sentences_of(passage.text):
            found = _STATED.search(sentence)
            if found and not _EXAMPLE.search(sentence):
                return found[1]
    return ""

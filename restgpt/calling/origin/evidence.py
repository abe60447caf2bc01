"""Evidence: exactly what counts as said in some texts, such as the words of the user.

`restgpt/calling/origin/provenance.py` uses it for arguments that must come from the user.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any
from unicodedata import category, name, normalize, numeric

_WORD = re.compile(r"[\w\-]+")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_LONGEST_NUMBER = 40
_LONGEST_RUN = 8

_LIST = re.compile(r"[,\s]+")
_URI = re.compile(r"[:/]")
_POSSESSIVE = re.compile(r"['’‘´]s(?!\w)")

# Any other sign between a value and a word joins them to one word, of which the value is only a piece.
_QUOTES = frozenset('"“”„«»‹›`「」『』')
_CJK_SIGNS = frozenset("、。，；：！？・—―（）【】")
_MARKS = frozenset("•‣→⇒")
_OPENING, _CLOSING = frozenset("([{<（【《〈"), frozenset(")]}>）】》〉")
_BEFORE = frozenset("'’‘‚#@*~:¿¡")
_AFTER = frozenset(".,:;!?…'’‘*~")

# Scripts without spaces between words, as the Unicode names of their characters begin.
_SCRIPTS = frozenset({"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "MYANMAR", "KHMER"})

# A number before one of these is another number, such as in "5 million"; `mill?i` begins Millionen and miliardi too.
_SCALE = re.compile(
    r"\s{1,3}(?:k\b|[0-9]/[0-9]|dozen|hundred|thousand|billion|trillion|bn\b|m(?:ill?i|io|ln|rd))", re.IGNORECASE
)
# A number of up to two digits beside the name of a month is the day of a date, such as in "June 13" and "13 June".
_MONTH = (
    r"(?:(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)|May|MAY)"
)
_OF_MONTH = re.compile(rf"\s{{1,3}}(?:of\s)?{_MONTH}\b")
_IN_MONTH = re.compile(rf"\b{_MONTH}\.?,?\s{{1,3}}\Z")
_DIGITS = re.compile(r"[0-9]+(?:[.,'’_\u00a0\u2009\u202f][0-9]+)*")
_SPACED = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?: [0-9]{3})+(?![0-9])(?:[.,][0-9]{1,2}(?![0-9]))?")
_PHONE = re.compile(r"(?<!\w)(?:\+|00)[1-9][0-9 ()./\-\u00a0]{5,}[0-9]")
_AMBIGUOUS = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
_PLAIN = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_BY_COMMAS = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_BY_DOTS = re.compile(r"[1-9][0-9]{0,2}(?:(?:\.[0-9]{3})+,[0-9]+|(?:\.[0-9]{3}){2,})")
_BY_OTHERS = re.compile(r"[1-9][0-9]{0,2}(?:['’_ \u00a0\u2009\u202f][0-9]{3})+(?:[.,][0-9]+)?")
_COMMA = re.compile(r"0,[0-9]+|[1-9][0-9]*,[0-9]{1,2}")
_NUMBERS = re.compile(r"(?:0|[1-9][0-9]*)(?:,(?:0|[1-9][0-9]*)){2,}")


class Evidence:
    """Some texts, and what they say; their words and numbers are extracted at the first use."""

    def __init__(self, *texts: str) -> None:
        self._text = "\n".join(texts).replace("\r\n", "\n")
        self._known: dict[tuple[bool, str], bool] = {}

    def says(self, value: Any) -> bool:
        """Whether the texts say a value, whole: not as a piece of a longer word, number, address or date.

        Signs such as `.`, `-`, `@` or `/` between the value and a word make it a piece of that word; the punctuation of
        a sentence, quotes, brackets and a possessive `'s` do not. A number is said in digits, whatever separates its
        thousands, with or without the sign of a currency or `%`; a letter beside it makes it a piece of a word. If it
        can be read as two numbers, only its own spelling counts. Ordinary words ignore case; words with digits, signs
        or capitals inside do not. Letters are compared in Unicode NFC and are never folded.
        """
        text = text_of(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        known = self._known.get((is_number, text))
        if known is None:
            known = self._known[is_number, text] = self._says(text, is_number=is_number)
        return known

    def _says(self, text: str, *, is_number: bool) -> bool:
        if len(text) <= _LONGEST_NUMBER and (is_number or _DECIMAL.fullmatch(text)):
            return self._says_number(text, is_text=not is_number)
        return self._says_text(text.replace("\r\n", "\n").rstrip("\n"))

    def has_word(self, text: str) -> bool:
        """Whether the texts contain a text exactly and cut no word of it; a hyphen is a part of its word."""
        if _WORD.fullmatch(text):
            return text in self._words
        before = r"(?<![\w\-])" if _WORD.match(text) else ""
        after = r"(?![\w\-])" if _WORD.match(text[-1:]) else ""
        return bool(text) and re.search(before + re.escape(text) + after, self._text) is not None

    def has_id(self, value: Any) -> bool:
        """Whether the texts contain an id exactly: as a whole word, as each id of a list, or as the last part of a URI.

        This finds ids that a model invented. It does not decide whether the user said a value, because an id counts
        inside a URI too.
        """
        text = text_of(value)
        if self.has_word(text):
            return True
        parts = [part for part in _LIST.split(text) if part]
        if len(parts) > 1:
            return all(self.has_id(part) for part in parts)
        return _URI.split(text)[-1] in self._words

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self._text))

    @cached_property
    def _normal(self) -> str:
        return normalize("NFC", self._text)

    @cached_property
    def _folded(self) -> str:
        return _folded(self._normal)

    @cached_property
    def _groups(self) -> list[re.Match[str]]:
        return _groups(self._normal)

    @cached_property
    def _group_spans(self) -> list[tuple[int, int]]:
        return [match.span() for match in self._groups]

    @cached_property
    def _numbers(self) -> dict[str, list[re.Match[str]]]:
        """The places of all numbers by their digits, without zeros at the ends; most are never looked at again."""
        found: dict[str, list[re.Match[str]]] = {}
        spaced = (match for match in self._groups if match.re is _SPACED)
        for match in chain(spaced, _DIGITS.finditer(self._normal)):
            listed = match[0].split(",") if match[0].count(",") > 1 else ()
            for spelling in {match[0], *listed}:
                found.setdefault(_figures(spelling), []).append(match)
        return found

    def _says_number(self, text: str, *, is_text: bool) -> bool:
        number = Decimal(text)
        figures = _figures(format(abs(number), "f")) if number.is_finite() else text
        return any(self._is_number(match, number, text, is_text=is_text) for match in self._numbers.get(figures, ()))

    def _is_number(self, match: re.Match[str], number: Decimal, text: str, *, is_text: bool) -> bool:
        """Whether the number at a place is this one, and no piece of a larger one or of a word."""
        is_piece = match.re is _DIGITS and _overlapping(match.span(), self._group_spans)
        sign = None if is_piece else _sign(self._normal, *match.span())
        if sign is None:
            return False
        if _AMBIGUOUS.fullmatch(match[0]):
            return sign + match[0] == text
        said = [Decimal(f"{sign}{reading}") for reading in _readings(match[0])]
        # Of versions in texts, 3.1 is not 3.10; but an amount of 10 may be written as 10.00.
        return any(one == number and (not is_text or _decimals(one) in (0, _decimals(number))) for one in said)

    def _says_text(self, sought: str) -> bool:
        if not sought or sought != sought.strip():
            return False
        normal = normalize("NFC", sought)
        if sought not in (normal, normalize("NFD", sought)):
            # NFC replaces signs such as the Kelvin sign by letters that look like them.
            places = (match.span(1) for match in _found(sought, self._text))
            return any(_starts(self._text, start) and _ends(self._text, end) for start, end in places)
        return any(
            self._is_whole(*match.span(1)) and _is_spelled(self._normal[slice(*match.span(1))], normal)
            for match in _found(_folded(normal), self._folded)
        )

    def _is_whole(self, start: int, end: int) -> bool:
        """Whether a place cuts no word, no telephone number and no number with spaces between its thousands."""
        if not (_starts(self._normal, start) and _ends(self._normal, end)):
            return False
        inside = _overlapping((start, end), self._group_spans)
        return all(start <= first and last <= end for first, last in inside)


def text_of(value: Any) -> str:
    """The text of a value: a string unchanged, any other value as JSON."""
    if isinstance(value, str):
        return value
    # For the commonest type, because a search compares millions of values.
    return str(value) if type(value) is int else json.dumps(value)


def _found(sought: str, text: str) -> Iterator[re.Match[str]]:
    """All places of a text in another one, as group 1, overlapping ones too; a space is any white space of a line."""
    parts = sought.split(" ")
    if any(part not in text for part in parts):
        return
    # These edges are only for speed.
    before = r"(?<![a-zA-Z0-9_])" if re.match(r"[a-zA-Z0-9]", sought) else ""
    after = r"(?![a-zA-Z0-9_])" if re.match(r"[a-zA-Z0-9]", sought[-1]) else ""
    inner = r"[^\S\n]+".join(map(re.escape, parts))
    pattern = re.compile(f"{before}({inner}){after}")
    at = text.find(parts[0])
    while at >= 0:
        if match := pattern.match(text, at):
            yield match
        at = text.find(parts[0], at + 1)


def _folded(text: str) -> str:
    """A text in lower case, of the same length: a letter that would become several letters stays as it is."""
    lower = text.lower()
    if len(lower) == len(text) and "Σ" not in text:
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _is_spelled(found: str, sought: str) -> bool:
    """Whether two texts that differ in case and spaces at most are the same: only ordinary words ignore case."""
    pairs = zip(found.split(), sought.split(), strict=True)
    return all(one == other or (_is_ordinary(one) and _is_ordinary(other)) for one, other in pairs)


def _is_ordinary(word: str) -> bool:
    """Whether a word has only letters, hyphens and apostrophes, and no capital letters after small ones."""
    core = "".join(sorted(_AFTER - {"*", "~"})) + "".join(sorted(_QUOTES | _OPENING | _CLOSING))
    parts = re.split(r"[-'’]", word.strip(core))
    return all(part.isalpha() and (part.islower() or part.isupper() or part[1:].islower()) for part in parts)


def _starts(text: str, start: int) -> bool:
    """Whether something that starts here is not the rest of a longer word."""
    return _is_edge(text, start, -1, _OPENING, _BEFORE)


def _ends(text: str, end: int) -> bool:
    """Whether something that ends here is not the beginning of a longer word."""
    return _POSSESSIVE.match(text, end) is not None or _is_edge(text, end - 1, 1, _CLOSING, _AFTER)


def _is_edge(text: str, at: int, step: int, brackets: Collection[str], signs: Collection[str]) -> bool:
    """Whether a word ends at a character in the direction of `step`: at a separator or bracket, or a few `signs` on."""
    inner = text[at]
    for place in range(at + step, at + step * (_LONGEST_RUN + 1), step):
        if not 0 <= place < len(text) or _separates(text, place):
            return True
        outer, beyond = text[place], place + step
        if outer in brackets:
            return not (inner.isdigit() and 0 <= beyond < len(text) and text[beyond].isdigit())
        if _is_word(outer) or outer not in signs:
            return place == at + step and _is_other_script(outer, inner)
    return not 0 <= at + step * (_LONGEST_RUN + 1) < len(text)


def _separates(text: str, at: int) -> bool:
    """Whether the sign at this place separates its neighbours, even without a space."""
    sign = text[at]
    if sign.isspace() or sign in _QUOTES or sign in _MARKS or category(sign) == "So":
        return True
    if sign in _CJK_SIGNS:
        return not (text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit())
    if sign not in ",;" or not 0 < at < len(text) - 1:
        return False
    before, after = text[at - 1], text[at + 1]
    # Not in a number, and not in an address, whose query may have commas.
    return _is_word(before) and _is_word(after) and not (before.isdigit() and after.isdigit()) and not _is_url(text, at)


def _is_url(text: str, at: int) -> bool:
    before, after = text[max(at - 200, 0) : at].rpartition(" ")[2], text[at : at + 200].partition(" ")[0]
    return any(sign in before + after for sign in "/=?&")


def _is_word(char: str) -> bool:
    """Whether a character is a part of a word: a letter, a digit, or what is drawn or read together with one."""
    return char.isalnum() or char == "_" or category(char)[0] == "M" or category(char) == "Cf" or "🏻" <= char <= "🏿"


def _is_other_script(outer: str, inner: str) -> bool:
    """Whether a word begins between two letters of two scripts of which one has no spaces, or at an emoji."""
    if not outer.isalnum() or outer.isdigit() or "Lm" in (category(outer), category(inner)):
        return False
    return category(inner) == "So" or (inner.isalpha() and _script(outer) != _script(inner))


def _script(char: str) -> str:
    script = name(char, "").partition(" ")[0]
    return script if script in _SCRIPTS else ""


def _groups(text: str) -> list[re.Match[str]]:
    """The telephone numbers in a text, and the numbers with spaces between their thousands, in their order."""
    found = list(_PHONE.finditer(text))
    phones = [match.span() for match in found]
    for match in _SPACED.finditer(text):
        first, *others = match[0].split(" ")
        # "1 000" is one number; "101 102" may be two.
        is_one = len(first) < 3 or any(group.startswith("0") for group in others)
        if is_one and not _overlapping(match.span(), phones):
            found.append(match)
    return sorted(found, key=re.Match.start)


def _overlapping(place: tuple[int, int], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans that overlap a place, of spans in their order that do not overlap each other."""
    first = bisect_left(spans, place[1], key=itemgetter(0))
    while first and spans[first - 1][1] > place[0]:
        first -= 1
    return [span for span in spans[first : first + place[1] - place[0] + 1] if span[0] < place[1]]


def _figures(spelling: str) -> str:
    return re.sub(r"[^0-9]", "", spelling).strip("0")


def _sign(text: str, start: int, end: int) -> str | None:
    """The sign of a number, `-` or nothing; None if the number is a piece of a larger one or of a word."""
    start -= category(text[start - 1 : start] or " ") == "Sc"
    end += category(text[end : end + 1] or " ") == "Sc" or text[end : end + 1] == "%"
    sign = text[start - 1 : start] if text[start - 1 : start] in ("-", "−", "+") else ""
    if end - start > _LONGEST_NUMBER or not (_starts(text, start - len(sign)) and _ends(text, end)):
        return None
    following = text[end : end + 2].lstrip()[:1] or " "
    # "5 ½" is another number too.
    is_scaled = _SCALE.match(text, end) or (not following.isdecimal() and numeric(following, None) is not None)
    is_day = end - start < 3 and (_OF_MONTH.match(text, end) or _IN_MONTH.search(text, max(start - 15, 0), start))
    return None if is_scaled or is_day else {"-": "-", "−": "-"}.get(sign, "")


def _readings(spelling: str) -> Iterator[Decimal]:
    """The numbers that a spelling without sign stands for: none if it is no number, several if it is a list."""
    if _PLAIN.fullmatch(spelling):
        yield Decimal(spelling)
    elif _BY_COMMAS.fullmatch(spelling):
        yield Decimal(spelling.replace(",", ""))
    elif _BY_DOTS.fullmatch(spelling) or _COMMA.fullmatch(spelling):
        yield Decimal(spelling.replace(".", "").replace(",", "."))
    elif _BY_OTHERS.fullmatch(spelling):
        yield Decimal(re.sub(r"[^0-9.]", "", spelling.replace(",", ".")))
    elif _NUMBERS.fullmatch(spelling):
        yield from map(Decimal, spelling.split(","))


def _decimals(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0

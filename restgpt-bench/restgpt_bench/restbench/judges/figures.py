"""Finds the numbers and dates that a text states, in all common forms."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date

MONTHS: tuple[str, ...] = ("january", "february", "march", "april", "may", "june")
MONTHS += ("july", "august", "september", "october", "november", "december")
UNITS: tuple[str, ...] = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
UNITS += ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

# Thousands are set apart by a comma, an apostrophe or a space that does not break the line.
_DIGITS = r"(?:\d{1,3}(?:,\d{2,3})*,\d{3}|\d{1,3}(?:['’\u00a0\u2009\u202f]\d{3})+|\d+)(?:\.\d+)?"
_NUMBER = rf"(?<![^\W_])(?<!\d\.)(?<![^\W\d_]-){_DIGITS}(?![^\W_])"
_WORD = rf"\b(?:{'|'.join(UNITS + TENS)})\b"

_MONTH = "|".join(f"{name}|{name[:4]}|{name[:3]}" for name in MONTHS)
_YEAR, _DAY, _GAP = r"(?P<y>\d{4})", r"(?P<d>\d{1,2})(?:st|nd|rd|th)?", r"[\s.,*_-]+"
_DATES = tuple(
    re.compile(rf"(?<!\w){form}(?!\d)", re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?P<s>[-/.])(?P<m>\d{{1,2}})(?P=s){_DAY}",
        rf"(?P<m>{_MONTH}){_GAP}(?:the\s+)?{_DAY}{_GAP}{_YEAR}",
        rf"{_DAY}[\s.*_-]+(?:of\s+)?(?P<m>{_MONTH}){_GAP}{_YEAR}",
        rf"{_YEAR}[\s,-]+(?P<m>{_MONTH})[\s-]+{_DAY}",
        rf"(?P<m>\d{{1,2}})/{_DAY}/{_YEAR}",
        rf"(?P<d>1[3-9]|2\d|3[01])/(?P<m>\d{{1,2}})/{_YEAR}",
        rf"{_DAY}(?P<s>[.-])(?P<m>\d{{1,2}})(?P=s){_YEAR}",
    )
)
_NO_COUNTS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"^\s*\d+[.)]\s",
        r"\b(?:season|episode|part|chapter|volume|no\.|task|top)[\s-]*#?\d+",
        rf"(?:\b(?:not|never)|n['’]t)\s+(?:(?!only|just|fewer|less|more)\w+\s+)?(?:{_NUMBER}|{_WORD})",
        rf"{_WORD}\s+(?:or|to)\s+{_WORD}",
    )
)
"""The numbering of lists, names of parts, denied numbers, a choice of two."""
_ROW = re.compile(rf"{_NUMBER}(?:(?:,?\s+(?:or|to)\s+|\s?[/–—-]\s?|,\s*){_NUMBER})+", re.IGNORECASE)
_PAIR = re.compile(rf"{_NUMBER},\s*{_NUMBER}")


def numbers(text: str) -> set[float]:
    """All numbers that `text` states, in digits (with thousands separators) or in English words."""
    digits = {float(re.sub(r"[^\d.]", "", found)) for found in re.findall(_NUMBER, text)}
    return digits | set(map(float, _in_words(re.findall(r"[a-z]+", text.casefold()))))


def counts(text: str) -> set[float]:
    """The numbers that `text` states as its answer.

    These do not count: the days of dates (their years do), the numbering of lists and parts, denied numbers ("not 7"),
    ranges and choices ("7 or 8", "5-9", "6, 7, 8").
    """
    text = _with_dates(text, lambda day: str(day.year))
    for pattern in _NO_COUNTS:
        text = pattern.sub(" / ", text)
    # Two numbers with a comma between them may belong to two clauses; any longer row leaves the choice to the reader.
    return numbers(_ROW.sub(lambda row: row[0] if _PAIR.fullmatch(row[0]) else " / ", text))


def _in_words(words: Sequence[str]) -> Iterable[int]:
    """The numbers in a row of words: `part` is the part below a thousand, `whole` the complete thousands."""
    whole, part = 0, None
    for word in (*words, "."):
        value = UNITS.index(word) if word in UNITS else 10 * (TENS.index(word) + 2) if word in TENS else None
        if value is not None and (part is None or _fits(part, value)):
            part = (part or 0) + value
        elif word == "hundred":
            part = 100 * (1 if part is None else part)
        elif word == "thousand":
            whole, part = 1000 * (1 if part is None else part), 0
        elif word != "and" and part is not None:
            yield whole + part
            whole, part = 0, value


def _fits(part: int, value: int) -> bool:
    """Whether `value` can go on after `part` in one number: four after twenty or a hundred, but not after three."""
    return part % 100 == 0 or (part % 10 == 0 and part % 100 >= 20 and value < 10)


def dates(text: str) -> set[date]:
    """All full dates in `text`: 1999-03-30, March 30, 1999, 30 March 1999, 03/30/1999, 30.03.1999 and the like."""
    found: list[date] = []

    def keep(day: date) -> str:
        found.append(day)
        return ""

    _with_dates(text, keep)
    return set(found)


def plain_dates(text: str) -> str:
    """`text` with every full date as YYYY-MM-DD."""
    return _with_dates(text, date.isoformat)


def _with_dates(text: str, write: Callable[[date], str]) -> str:
    """`text` with every full date written in another way."""

    def rewritten(found: re.Match[str]) -> str:
        month = found["m"].casefold()
        number = int(month) if month.isdecimal() else 1 + [name[:3] for name in MONTHS].index(month[:3])
        try:
            return write(date(int(found["y"]), number, int(found["d"])))
        except ValueError:
            return found[0]

    for form in _DATES:
        text = form.sub(rewritten, text)
    return text


def long_date(day: date) -> str:
    """`day` in English words, such as March 30, 1999."""
    return f"{MONTHS[day.month - 1].title()} {day.day}, {day.year}"

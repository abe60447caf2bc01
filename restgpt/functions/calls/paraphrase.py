"""Paraphrases: whether a value can be worked out from texts that give it in other words.

This is a looser question than whether the texts say the value (`restgpt/calling/origin/evidence.py`), and protects
nothing: it finds function calls with invented values. It uses no model: most words of a text and their other forms,
numbers in words, percentages and units, relative dates, abbreviations.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

from restgpt.calling.origin.evidence import Evidence
from restgpt.specs.search.stemmer import stem

UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
AMOUNTS: dict[str, float] = {
    **{word: float(number) for number, word in enumerate(UNITS)},
    **{word: 20.0 + 10 * number for number, word in enumerate(TENS)},
    **{"half": 0.5, "quarter": 0.25, "dozen": 12, "couple": 2, "pair": 2, "both": 2, "double": 2, "twice": 2},
    **{"a": 1, "an": 1, "single": 1, "once": 1, "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5},
    "decade": 10,
}
SUFFIXES = {"k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000, "bn": 1e9, "billion": 1e9}
CONVERSIONS = {
    "hour": (60, 3600),
    "minute": (60,),
    "day": (24, 1440, 86400),
    "week": (7,),
    "month": (30,),
    "year": (12, 365),
    "decade": (10,),
    "km": (1000,),
    "kg": (1000,),
    "dozen": (12,),
    "$": (100,),
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CURRENCIES = {
    **{"dollar": "usd", "euro": "eur", "pound": "gbp", "sterling": "gbp", "yen": "jpy", "franc": "chf", "yuan": "cny"},
    **{"rupee": "inr", "won": "krw", "peso": "mxn", "real": "brl", "ruble": "rub", "krona": "sek", "zloty": "pln"},
}
LANGUAGES = {
    **{"english": "en", "spanish": "es", "french": "fr", "german": "de", "italian": "it", "portuguese": "pt"},
    **{"dutch": "nl", "russian": "ru", "chinese": "zh", "japanese": "ja", "korean": "ko", "arabic": "ar"},
    **{"hindi": "hi", "turkish": "tr", "polish": "pl", "swedish": "sv", "greek": "el", "hebrew": "he"},
}
STOPWORDS = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "i", "in", "into", "is", "it"),
        *("its", "me", "my", "of", "on", "or", "our", "please", "s", "t", "that", "the", "their", "them", "this", "to"),
        *("us", "was", "we", "were", "what", "which", "with", "you", "your"),
    }
)

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?[$€£]?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?\s?(%|k\b|m\b|bn\b|thousand|million|billion)?"
)
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_RELATIVE = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|current(?:ly)?|weekend|(?:this|next|last|past|coming|previous|following)"
    r"\s+(?:\w+\s+)?(?:second|minute|hour|day|night|week|weekend|month|quarter|year|decade|century|spring|summer|autumn"
    r"|fall|winter|morning|afternoon|evening|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|in\s+\w+\s+(?:minute|hour|day|week|month|year)s?"
    r"|\w+\s+(?:minute|hour|day|week|month|year)s?\s+ago|christmas|easter|new year)\b",
    re.IGNORECASE,
)
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})[a-z]*\.?\b", re.IGNORECASE)
_ISO = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b")
_SLASHED = re.compile(r"\b\d{1,4}[/.]\d{1,2}[/.]\d{1,4}\b")
_DAYTIME = re.compile(r"\b(?:noon|midnight|midday|morning|afternoon|evening|tonight|night)\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s?([ap])\.?m\b|\b(\d{1,2}):(\d{2})(?!\d)", re.IGNORECASE)


def words_of(text: str) -> list[str]:
    """The words of a text; `camelCase`, `snake_case` and paths are split."""
    return [part for word in _WORD.findall(text) for part in _CAMEL.split(word)]


class Paraphrase:
    """The words, numbers, dates and times in some texts; each kind is extracted at its first use."""

    def __init__(self, *texts: str) -> None:
        self._text = "\n".join(texts)
        self._evidence = Evidence(*texts)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words."""
        return frozenset(map(stem, words_of(self._text)))

    @cached_property
    def _lower_words(self) -> tuple[str, ...]:
        return tuple(word.lower() for word in words_of(self._text))

    @cached_property
    def _numbers(self) -> frozenset[float]:
        return frozenset(_numbers(self._text))

    @cached_property
    def _dates(self) -> frozenset[str]:
        return frozenset(_ISO.findall(self._text)) | frozenset(_SLASHED.findall(self._text))

    @cached_property
    def _clocks(self) -> frozenset[tuple[int, int]]:
        return frozenset(_clocks(self._text))

    @cached_property
    def _is_relative(self) -> bool:
        return bool(_RELATIVE.search(self._text))

    @cached_property
    def _loose_text(self) -> str:
        return _loosened(self._text)

    def _contains(self, value: str) -> bool:
        """Whether the texts contain the words of a value in a row, in any case and with any white space between."""
        sought = _loosened(value)
        before = r"(?<!\w)" if re.match(r"\w", sought) else ""
        after = r"(?!\w)" if re.match(r"\w", sought[-1:]) else ""
        is_loose = bool(sought) and re.search(before + re.escape(sought) + after, self._loose_text) is not None
        return is_loose or self._evidence.says(value)

    def has_number(self, value: float) -> bool:
        """Whether the texts contain a number: in digits or words, as a percentage, or in a unit that converts to it."""
        if self._evidence.says(value) or any(_close(value, number) for number in self._numbers):
            return True
        text = self._loose_text
        factors = (factor for unit, found in CONVERSIONS.items() if unit in text for factor in found)
        if any(_close(value, number * factor) for factor in factors for number in self._numbers):
            return True
        return float(value).is_integer() and 1900 <= abs(value) <= 2100 and self._is_relative

    def has_text(self, value: str, beside: frozenset[str] = frozenset()) -> bool:
        """Whether the texts contain a text: literally, most of its words, or the words that it abbreviates.

        `beside` are stems that do not count as evidence, such as the stems of the parameter's name.
        """
        words = [word for word in words_of(value) if word.lower() not in STOPWORDS]
        telling = [word for word in words if stem(word) not in beside] or words
        if not telling or (len(telling) == len(words) and self._contains(value)):
            return True
        if any(char.isdigit() for char in value) and not self._has_digits(telling):
            return False
        said = sum(self._has_word(word) for word in telling)
        if said * 2 > len(telling) or self.has_abbreviation(value):
            return True
        # In `Oslo, Norway` for Oslo, the part after the comma only explains the part before it.
        head, comma, _ = value.partition(",")
        return bool(comma) and self.has_text(head, beside)

    def _has_word(self, word: str) -> bool:
        return stem(word) in self.stems or self._is_amount(word) or self.has_abbreviation(word)

    def _has_digits(self, words: list[str]) -> bool:
        digits = [word for word in words if word[0].isdigit()]
        return all(stem(word) in self.stems or self._is_amount(word) for word in digits)

    def _is_amount(self, word: str) -> bool:
        number = re.match(r"\d+", word)
        return number is not None and len(number[0]) < 16 and self.has_number(float(number[0]))

    def has_abbreviation(self, value: str) -> bool:
        """Whether a short code abbreviates words of the texts: `UK`, `USD`, `MSFT`, `es` for Spanish."""
        code = value.strip().lower()
        if not re.fullmatch(r"[a-z]{2,5}", code):
            return False
        if any(
            CURRENCIES.get(word.removesuffix("s")) == code or LANGUAGES.get(word) == code for word in self._lower_words
        ):
            return True
        if not value.strip().isupper():
            return False
        initials = "".join(word[0] for word in self._lower_words)
        if len(code) <= 3 and code in initials:
            return True
        return any(word[0] == code[0] and len(word) > 3 and _shares(code, word) for word in self._lower_words)

    def has_date(self, value: str) -> bool:
        """Whether a date or a time of day can be derived from the texts."""
        dates = _ISO.findall(value)
        if dates:
            is_derived = self._is_relative or _MONTH.search(self._text) is not None
            return is_derived or (bool(self._dates) and all(_same_day(one, self._dates) for one in dates))
        clocks = set(_clocks(value))
        return bool(clocks) and (bool(clocks & self._clocks) or self._has_daytime())

    def _has_daytime(self) -> bool:
        """Whether the texts contain a time of day without a clock time: `in the evening`, `now`."""
        is_named = _DAYTIME.search(self._text) is not None and not self._clocks
        return is_named or re.search(r"\b(?:now|current)", self._loose_text) is not None


def is_date(value: str) -> bool:
    """Whether a text is a date, a time of day, or both."""
    rest = _ISO.sub("", _CLOCK.sub("", value))
    found = bool(_ISO.search(value) or _CLOCK.search(value))
    return found and not re.sub(r"[\s:TZ.+\-\d]|[AP]M", "", rest, flags=re.IGNORECASE)


def _loosened(text: str) -> str:
    return " ".join(re.sub(r"[_\s]+", " ", text.casefold()).split())


def _close(value: float, number: float) -> bool:
    return abs(value - number) <= 1e-9 * max(1.0, abs(value))


def _numbers(text: str) -> Iterator[float]:
    for match in _NUMBER.finditer(text):
        number = float(match[1].replace(",", "") + (match[2] or ""))
        yield number
        yield -number
        if match[3] == "%":
            yield number / 100
        elif match[3]:
            yield number * SUFFIXES[match[3].lower()]
    for match in re.finditer(r"(?<![\w.])(\d+)(?:st|nd|rd|th|[a-zA-Z]{1,3})\b", text):
        yield float(match[1])
    yield from _worded_numbers(text.lower())


def _worded_numbers(text: str) -> Iterator[float]:
    """Numbers in words: each word alone, and pairs such as `twenty five`, `three hundred` and `two million`."""
    words = re.findall(r"[a-z]+|\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", text))
    for first, second in pairwise([*words, ""]):
        amount = AMOUNTS.get(first, float(first) if first[0].isdigit() and len(first) < 16 else None)
        if amount is None:
            continue
        yield amount
        if second in SCALES:
            yield amount * SCALES[second]
        if first in TENS and second in UNITS:
            yield amount + AMOUNTS[second]


def _clocks(text: str) -> Iterator[tuple[int, int]]:
    for match in _CLOCK.finditer(text):
        hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
        if match[3]:
            hour = hour % 12 + (12 if match[3].lower() == "p" else 0)
        yield hour, minute


def _same_day(date: str, said: frozenset[str]) -> bool:
    parts = [int(part) for part in date.split("-")]
    return any(sorted(parts) == sorted(int(part) for part in re.split(r"[-/.]", one)) for one in said)


def _shares(code: str, word: str) -> bool:
    """Whether a word contains most letters of a code, in order."""
    position, found = 0, 0
    for letter in code:
        at = word.find(letter, position)
        if at >= 0:
            position, found = at + 1, found + 1
    return found * 4 >= len(code) * 3

"""The current time that a description states, where an API lives by a clock of its own, such as that of a test."""

import re
from functools import lru_cache

from restgpt.specs.docs.words.prose import passages, sentences_of

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

"""The sentences of a description by their worth: those that state a rule first, so that a short text keeps them."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from restgpt.specs.docs.words.docstring import docstring
from restgpt.specs.docs.words.prose import passages, sentences_of
from restgpt.specs.docs.words.rule_words import ACCESS, RULE, SIGN_IN, TOLD
from restgpt.specs.search.stemmer import STOP_STEMS, stems

MOST_READ = 12_000
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
    texts = [part for passage in passages(description[:MOST_READ]) for part in sentences_of(passage.text)]
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

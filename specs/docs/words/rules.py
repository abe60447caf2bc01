"""The rules that an API's owner states in its document: passages that limit or oblige the users of the API."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice

from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.words.prose import MOST_READ, Passage, passages
from restgpt.specs.docs.words.rule_words import RULE, SIGN_IN

SHORT = 300
"""The maximum number of characters of a description that is given whole."""

REST_PART = 4
"""The part of the budget that passages without a rule may take."""

MOST_TAGS = 2000
"""The maximum number of tags whose descriptions are read, as far as they have `MOST_READ` characters together."""

LONGEST_NAME = 60
"""The maximum number of characters of a tag's name."""

_RULED = re.compile(
    r"\b(?:rules?|polic(?:y|ies)|restrictions?|limits?|limitations?|constraints?|conditions?|terms|warning|important"
    r"|regeln|règles|reglas|regole|regras)\b",
    re.IGNORECASE,
)
_SETUP = re.compile(
    r"\b(?:change ?logs?|release notes|what.?s new|version history|sdks?|(?:client|code) librar\w+|install\w*"
    r"|quick ?start|getting started|cors|cross.origin\w*)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:authenticat\w*|authori[sz]\w*|o?auth2?|api keys?|credentials|support|contact|community|licen[sc]e"
    r"|useful links|about (?:us|swagger)|acknowledge?ments?)\b",
    re.IGNORECASE,
)


def description_of(description: str, tags: Mapping[str, str], budget: int) -> list[str]:
    """Return the lines of an API's description and of the rules of its tags, in at most about `budget` tokens.

    A short description is given whole. Of a longer one the rules are kept first. The last line says how much was left
    out.
    """
    found = passages(description)
    if sum(len(passage.text) + 1 for passage in found) <= SHORT:
        ruled = list(_tag_rules(tags))
        kept = _fitting(ruled, range(len(ruled)), budget * TOKEN - SHORT)
        whole = _written(found, set(range(len(found))))
        return [*whole, *_written(ruled, kept), *_left_out(ruled, kept)]
    found = [*found, *_tag_rules(tags)]
    rules = _rules(found)
    chosen = _fitting(found, rules, budget * TOKEN)
    others = [number for number in range(len(found)) if number not in set(rules) and not _is_aside(found[number])]
    used = sum(len(found[number].text) for number in chosen)
    room = min(budget * TOKEN - used, max(SHORT, budget * TOKEN // REST_PART))
    chosen |= _fitting(found, list(_leading(found, others, room)), room)
    return [*_written(found, chosen), *_left_out(found, chosen)]


def rules_of(description: str, tags: Mapping[str, str], budget: int) -> list[str]:
    """Return only the lines of an API's rules, in at most about `budget` tokens; empty if its document states none."""
    found = [*passages(description), *_tag_rules(tags)]
    rules = _rules(found)
    chosen = _fitting(found, rules, budget * TOKEN)
    others = set(range(len(found))) - set(rules)
    return [*_written(found, chosen), *_left_out(found, chosen | others)]


def _tag_rules(tags: Mapping[str, str]) -> Iterator[Passage]:
    """Yield the rules in the descriptions of tags; the rest of them adds little to the names of the tags."""
    block = 1_000_000
    left = MOST_READ
    for name, description in islice(tags.items(), MOST_TAGS):
        left -= len(description)
        if left < 0:
            return
        for passage in passages(description):
            if _is_rule(passage):
                heading = f"{name[:LONGEST_NAME]}: {passage.heading}".rstrip(": ")
                yield Passage(passage.text, heading, block + passage.block)
        block += 1_000_000


def _rules(found: Sequence[Passage]) -> list[int]:
    return [number for number, passage in enumerate(found) if _is_rule(passage)]


def _is_rule(passage: Passage) -> bool:
    """Return whether a passage limits or obliges; passages about sign-in, installation and changes do not count."""
    if _SETUP.search(passage.heading) or SIGN_IN.search(passage.text):
        return False
    return bool(RULE.search(passage.text) or _RULED.search(passage.heading))


def _is_aside(passage: Passage) -> bool:
    """Return whether a passage says nothing about what the API does."""
    return any(mark.search(passage.heading) for mark in (_SETUP, _ASIDE)) or bool(SIGN_IN.search(passage.text))


def _fitting(found: Sequence[Passage], numbers: Iterable[int], room: int) -> set[int]:
    """Return the numbers of the passages that fit into the room, each whole, in their order."""
    chosen: set[int] = set()
    headings: set[str] = set()
    for number in numbers:
        passage = found[number]
        cost = len(passage.text) + 1 + (len(passage.heading) + 2 if passage.heading not in headings else 0)
        if cost <= room:
            room -= cost
            chosen.add(number)
            headings.add(passage.heading)
    return chosen


def _leading(found: Sequence[Passage], numbers: Iterable[int], room: int) -> Iterator[int]:
    """Yield the first passages that fit; plain prose mostly begins with the purpose of the API."""
    for number in numbers:
        room -= len(found[number].text) + 1
        if room < 0:
            return
        yield number


def _written(found: Sequence[Passage], chosen: set[int]) -> list[str]:
    """Return the chosen passages as lines in the order of the document, each section below or beside its heading."""
    lines: list[str] = []
    for heading, numbers in groupby(sorted(chosen), key=lambda number: found[number].heading):
        section = _section(found, list(numbers))
        is_beside = len(section) == 1 and not section[0].startswith("- ")
        if heading and is_beside:
            lines.append(f"{heading}: {section[0]}")
        else:
            lines += [*([f"{heading}:"] if heading else []), *section]
    return lines


def _section(found: Sequence[Passage], numbers: Sequence[int]) -> list[str]:
    """Return passages as lines; sentences of one paragraph are joined, with a mark where others are left out."""
    lines: list[str] = []
    for before, number in zip([-1, *numbers], numbers, strict=False):
        passage = found[number]
        if before >= 0 and found[before].block == passage.block:
            lines[-1] += f" {passage.text}" if before == number - 1 else f" … {passage.text}"
        else:
            lines.append(passage.text)
    return lines


def _left_out(found: Sequence[Passage], chosen: set[int]) -> list[str]:
    """Return the line that says how many paragraphs were left out, wholly or in part."""
    count = len({passage.block for number, passage in enumerate(found) if number not in chosen})
    return [f"… {count} more paragraph{'s' if count > 1 else ''}"] if count else []

"""The sections of an API's description, chosen as wholes by what an instruction is about, within a budget of tokens.

A section is a heading of the Markdown with its text: of the description of the API, of a tag or of a path item.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice

from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.prose import MOST_READ, Passage, is_aside, is_rule_passage, passages
from restgpt.specs.search.query import STOP_STEMS, stems, synonyms
from restgpt.specs.search.search_index import impacts, rarity

SHORT = 300
"""The maximum number of characters of a description that is given whole."""

REST_PART = 4
"""The part of the budget for passages of sections that neither state a rule nor have words of the instruction."""

MOST_TEXTS = 2000
"""The maximum number of tags and of path items whose descriptions are read, with `MOST_READ` characters together."""

LONGEST_NAME = 60
"""The maximum number of characters of the name of a tag, a path or a section that was left out."""

MOST_NAMED = 30
"""The maximum number of sections that are named as left out."""

FIT = 0.4
"""A section fits an instruction if its score is at least this part of the best score."""

BEST_PASSAGES = 3
"""The number of passages whose scores count for their section."""

RELATED = 0.5
"""The weight of synonyms of the instruction's words and of words of its functions; its own words have the weight 1."""

WEIGHTS = {"heading": 2.0, "text": 1.0}

_GENERAL = re.compile(
    r"\b(?:general|overview|introduction|about|basics?|rules|polic(?:y|ies)|terms|principles|guidelines|important|notes?"
    r"|allgemeine\w*|généra\w+|general\w*|generali)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What an instruction is about: its own text, and the words of the functions that seem to carry it out.

    `functions` returns these words; it is called only if not all sections fit.
    """

    text: str
    functions: Callable[[], str] = str

    def weights(self) -> dict[str, float]:
        """Return the weight of each stem that counts; numbers are values and do not count."""
        own = {stem for stem in stems(self.text) if not stem.isdecimal()} - STOP_STEMS
        related = {other for stem in own for other in synonyms().get(stem, ())} | set(stems(self.functions()))
        return {**dict.fromkeys(related - STOP_STEMS, RELATED), **dict.fromkeys(own, 1.0)}


class Sections:
    """The sections of the descriptions of one API: passages by number, and which of them belong together."""

    def __init__(self, description: str, *named: Mapping[str, str]) -> None:
        """Read a description; of `named` descriptions, as of tags and paths, the sections that state a rule."""
        own = passages(description)
        whole = len(own) if sum(len(passage.text) + 1 for passage in own) <= SHORT else 0
        self._passages = [*own, *(passage for texts in named for passage in _ruled_sections(texts))]
        self._rules = {number for number, passage in enumerate(self._passages) if is_rule_passage(passage)}
        kept = (
            number
            for number, passage in enumerate(self._passages)
            if number < whole or number in self._rules or not is_aside(passage)
        )
        self._sections = [tuple(group) for _, group in groupby(kept, lambda number: self._passages[number].heading)]

    def chosen(
        self,
        subject: Subject,
        budget: int,
        *,
        rules_only: bool = False,
        fitting_only: bool = False,
        shown: frozenset[int] = frozenset(),
    ) -> frozenset[int]:
        """Choose passages of about `budget` tokens: whole sections while they fit, those of the subject first.

        Of a section that does not fit, its rules and the passages of the subject are chosen. With `rules_only`, only
        sections with a rule count, with `fitting_only` only those of the subject; passages in `shown` do not count.
        """
        room = budget * TOKEN
        open_sections = [
            numbers
            for section in self._sections
            if (numbers := [number for number in section if number not in shown])
            and (not rules_only or self._rules.intersection(section))
        ]
        everything = frozenset(number for section in open_sections for number in section)
        rest = max(SHORT, room // REST_PART)
        if self._cost(everything) <= (room if self._rules else rest) and not fitting_only:
            return everything
        scores = self._scores(subject)
        top = max(scores.values(), default=0.0)
        fitting = {number for number, score in scores.items() if score >= FIT * top or not self._is_named(number)}
        strength = {section[0]: self._strength(section, scores, top) for section in open_sections}
        best = max(strength.values(), default=0.0) or 1.0
        found: set[int] = set()
        for section in sorted(open_sections, key=lambda numbers: (-strength[numbers[0]], self._cost(numbers))):
            fits = bool(fitting.intersection(section)) and strength[section[0]] >= FIT * best
            if not fits and (fitting_only or not self._rules.intersection(section)):
                continue
            wanted = section
            if self._cost(section) > room:
                wanted = [number for number in section if number in self._rules or number in fitting]
                wanted.sort(key=lambda number: -scores.get(number, 0.0))
            new = self._fitting(wanted, room)
            room -= self._cost(new)
            found |= new
        if not (rules_only or fitting_only):
            found |= self._leading(sorted(everything - found - self._rules), room, rest)
        return frozenset(found)

    def _leading(self, plain: Sequence[int], room: int, rest: int) -> set[int]:
        """Choose the first passages: plain prose mostly begins with the purpose of the API.

        Those with a heading get the `rest` of the room only, because they can be asked for by its name.
        """
        unnamed = self._fitting((number for number in plain if not self._is_named(number)), room)
        named = filter(self._is_named, plain)
        return unnamed | self._fitting(named, min(room - self._cost(unnamed), rest))

    def lines(self, chosen: Iterable[int]) -> list[str]:
        """Return passages as lines in the order of the document, each section below or beside its heading."""
        lines: list[str] = []
        for heading, numbers in groupby(sorted(chosen), key=lambda number: self._passages[number].heading):
            section = self._section(list(numbers))
            is_beside = len(section) == 1 and not section[0].startswith("- ")
            if heading and is_beside:
                lines.append(f"{heading}: {section[0]}")
            else:
                lines += [*([f"{heading}:"] if heading else []), *section]
        return lines

    def left_out(self, chosen: frozenset[int], remedy: str = "") -> list[str]:
        """Return the lines that name the headings which were left out, wholly or in part, and count other paragraphs.

        `remedy` says how to see them.
        """
        missing = (number for section in self._sections for number in section if number not in chosen)
        passages = [self._passages[number] for number in missing]
        names = list(dict.fromkeys(passage.heading[:LONGEST_NAME] for passage in passages if passage.heading))
        more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        count = len({passage.block for passage in passages if not passage.heading})
        return [
            *([f"Left out{remedy}: {'; '.join([*names[:MOST_NAMED], *more])}"] if names else []),
            *([f"… {count} more paragraph{'s' if count > 1 else ''}"] if count else []),
        ]

    def _is_named(self, number: int) -> bool:
        return bool(self._passages[number].heading)

    @cached_property
    def _impacts(self) -> list[dict[str, float]]:
        documents = [
            {"heading": Counter(stems(passage.heading)), "text": Counter(stems(passage.text))}
            for passage in self._passages
        ]
        return list(impacts(documents, WEIGHTS, length=0.5))

    @cached_property
    def _frequencies(self) -> Counter[str]:
        return Counter(stem for impact in self._impacts for stem in impact)

    def _scores(self, subject: Subject) -> dict[int, float]:
        """Return the scores of the passages that have words of a subject; a heading that it names counts most."""
        size = len(self._passages)
        weights = {
            stem: weight * rarity(self._frequencies[stem], size)
            for stem, weight in subject.weights().items()
            if stem in self._frequencies
        }
        scores = {
            number: sum(weight * impact[stem] for stem, weight in weights.items() if stem in impact)
            for number, impact in enumerate(self._impacts)
            if not weights.keys().isdisjoint(impact)
        }
        best, text = max(scores.values(), default=1.0), subject.text.casefold()
        for number, passage in enumerate(self._passages):
            if passage.heading and passage.heading.casefold() in text:
                scores[number] = scores.get(number, 0.0) + best / FIT
        return scores

    def _strength(self, section: Sequence[int], scores: Mapping[int, float], top: float) -> float:
        """Return the score of a section; one without a particular subject has at least the `top` score of a passage."""
        heading = self._passages[section[0]].heading
        own = sum(sorted((scores.get(number, 0.0) for number in section), reverse=True)[:BEST_PASSAGES])
        is_general = section[0] == 0 or not heading or bool(_GENERAL.search(heading))
        return max(own, top) if is_general else own

    def _cost(self, numbers: Iterable[int]) -> int:
        """Return the number of characters of passages and their headings."""
        found = [self._passages[number] for number in numbers]
        headings = {passage.heading for passage in found}
        return sum(len(passage.text) + 1 for passage in found) + sum(len(heading) + 2 for heading in headings)

    def _fitting(self, numbers: Iterable[int], room: int) -> set[int]:
        """Return the numbers of the first passages that fit into the room, each whole."""
        fitting: set[int] = set()
        headings: set[str] = set()
        for number in numbers:
            passage = self._passages[number]
            cost = len(passage.text) + 1 + (0 if passage.heading in headings else len(passage.heading) + 2)
            if cost <= room:
                room -= cost
                fitting.add(number)
                headings.add(passage.heading)
        return fitting

    def _section(self, numbers: Sequence[int]) -> list[str]:
        """Return passages as lines; sentences of one paragraph are joined, with a mark where others are left out."""
        lines: list[str] = []
        for before, number in zip([-1, *numbers], numbers, strict=False):
            passage = self._passages[number]
            if before >= 0 and self._passages[before].block == passage.block:
                lines[-1] += f" {passage.text}" if before == number - 1 else f" … {passage.text}"
            else:
                lines.append(passage.text)
        return lines


def _ruled_sections(texts: Mapping[str, str]) -> Iterator[Passage]:
    """Yield the sections with a rule in descriptions by name; the rest of them adds little to the names."""
    start, left = 0, MOST_READ
    for name, description in islice(texts.items(), MOST_TEXTS):
        start += 1_000_000
        left -= len(description)
        if left < 0:
            return
        for heading, section in groupby(passages(description), lambda passage: passage.heading):
            found = list(section)
            if any(map(is_rule_passage, found)):
                title = f"{name[:LONGEST_NAME]}: {heading}".rstrip(": ")
                yield from (Passage(passage.text, title, start + passage.block) for passage in found)

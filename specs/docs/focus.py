"""Families of filters: arguments such as `start_date_gte` and `start_date_lt`, folded into one line.

start_date, end_date: each also _gte, _gt, _lte, _lt
price (float): each with _min, _max, _empty (bool)

The focus of documentation: the words of a plan, and how much the fields of a schema have to do with them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from restgpt.specs.effort import can_spend
from restgpt.specs.operation import Keyword
from restgpt.specs.reading.document import Document, follow_safely
from restgpt.specs.search.query import STOP_STEMS, stems

ENDINGS = """
eq ne n neq not gt gte ge lt lte le in not_in any all contains icontains ncontains ic nic ie nie isw nisw
iew niew exact iexact startswith istartswith endswith iendswith like ilike nlike regex iregex match search
pattern prefix_pattern prefix suffix range between min max from to since until before after
empty isempty is_empty null isnull is_null exists isset lower upper
"""
"""The endings of the names of filters that compare, each after an underscore, a dot or in brackets."""

_ENDED = re.compile(
    rf"(.+?)(__?|\.|\[)({'|'.join(sorted(ENDINGS.split(), key=len, reverse=True))})(\]?)\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Families:
    """The lines of folded arguments, and the names that these lines stand for."""

    lines: tuple[str, ...]
    folded: frozenset[str]


def fold(keywords: Sequence[Keyword], type_of: Callable[[Keyword], str]) -> Families:
    """Fold the optional arguments of a query that differ in an ending only; bases with equal endings share a line."""
    names = {item.name: item for item in keywords}
    by_base: dict[str, dict[str, Keyword]] = {}
    for item in keywords:
        ended = _ENDED.fullmatch(item.name) if item.location == "query" and not item.required else None
        if ended is not None:
            by_base.setdefault(ended[1], {})[ended[2] + ended[3] + ended[4]] = item
    groups: dict[tuple[bool, str, str], list[str]] = {}
    for base, members in by_base.items():
        has_base = base in names
        kind = type_of(names[base] if has_base else next(iter(members.values())))
        groups.setdefault((has_base, "" if has_base else kind, _endings(members, kind, type_of)), []).append(base)
    lines: list[str] = []
    folded: set[str] = set()
    for (has_base, kind, endings), bases in groups.items():
        members_of = [by_base[base] for base in bases]
        # One argument beside its base, or alone, is as short when it is written by its name.
        if len(members_of[0]) < 2 and not (has_base and len(bases) > 1):
            continue
        folded.update(item.name for members in members_of for item in members.values())
        head = ", ".join(bases) + (f" ({kind})" if kind and kind != "str" else "")
        each = "each " if len(bases) > 1 else ""
        lines.append(f"{head}: {each}{'also' if has_base else 'with'} {endings}")
    return Families(tuple(lines), frozenset(folded))


def _endings(members: Mapping[str, Keyword], kind: str, type_of: Callable[[Keyword], str]) -> str:
    """Write the endings of one base, with the type of those whose type is another one."""
    types = {ending: type_of(item) for ending, item in members.items()}
    return ", ".join(ending if types[ending] == kind else f"{ending} ({types[ending]})" for ending in members)


# Field names that a shortened response keeps, whatever the focus: names, ids, counts and the lists themselves.
ALWAYS = frozenset({"id", "name", "title", "total", "count", "next", "results", "items", "data", "error", "message"})
# Scores: the plan has the name of a field, one of its enumerated values, a part of its name, a word of its description.
NAMED, VALUED, PARTLY, DESCRIBED = 4.0, 3.0, 2.0, 1.0
# The part of its score that a field passes to the field above it, and how many levels are searched, with references.
KEPT, REACH = 0.9, 7
# How many characters of a description and how many enumerated values are compared.
DESCRIPTION_MOST, VALUES_MOST = 200, 60

_NAME = re.compile(r"[A-Za-z_$@][\w$@-]+", re.ASCII)
_ALWAYS_STEMS = frozenset(stem for name in ALWAYS for stem in stems(name))


class Focus:
    """The words of a plan: their stems, without stop words and those that are always shown, and names as written."""

    def __init__(self, text: str) -> None:
        self._said = frozenset(stems(text))
        self.stems = self._said - STOP_STEMS - _ALWAYS_STEMS
        self.names = frozenset(name.lower() for name in _NAME.findall(text)) if self.stems else frozenset()

    def __bool__(self) -> bool:
        return bool(self.stems)

    def score_of_name(self, name: str) -> float:
        """Return the score of the name of a field or a type."""
        parts = frozenset(stems(name)) - STOP_STEMS
        if parts and (parts <= self._said if len(parts) > 1 else name.lower() in self.names):
            # `flow_runs` fits "flow runs" better than `flows` does.
            return NAMED + min(1.0, 0.5 * (len(parts) - 1))
        # "mpi" names `mpi_data` too.
        telling = parts - _ALWAYS_STEMS
        if telling and telling <= self.stems:
            return NAMED
        return 0.0 if self.stems.isdisjoint(telling) else PARTLY

    def score_of_type(self, name: str) -> float:
        """Return the score of the name of a type: all its words are in the plan, or none count."""
        parts = frozenset(stems(name)) - STOP_STEMS
        return NAMED if parts and parts <= self._said and not parts <= _ALWAYS_STEMS else 0.0

    def score_of_values(self, values: Any) -> float:
        """Return the score of enumerated values."""
        texts = [value for value in values[:VALUES_MOST] if isinstance(value, str)] if isinstance(values, list) else []
        return VALUED if any(parts and self.stems.issuperset(parts) for parts in map(stems, texts)) else 0.0

    def score_of_description(self, text: Any) -> float:
        """Return the score of a description, of which only the beginning counts."""
        said = stems(text[:DESCRIPTION_MOST]) if isinstance(text, str) else ()
        return 0.0 if self.stems.isdisjoint(said) else DESCRIBED


@lru_cache(maxsize=256)
def focus_of(text: str) -> Focus:
    """Return the focus of a text; cached, because the prompts of one instruction use the same focus many times."""
    return Focus(text)


NOTHING = Focus("")
"""The focus of documentation that nobody has a plan for."""


class Relevance:
    """The scores of the fields of one document for one focus."""

    def __init__(self, document: Document, focus: Focus) -> None:
        self.focus = focus
        self._document = document
        self._inside: dict[str, float] = {}
        # Keeps a reference to each schema, so that no other object gets its `id`.
        self._own: dict[tuple[str, int], tuple[Any, float]] = {}
        self._best: dict[tuple[str, int], float] = {}

    def of_field(self, name: str, schema: Any) -> float:
        """Return the score of a field: its own, or what it keeps of the best below it."""
        return self._of_field(name, schema, REACH) if self.focus else 0.0

    def of_keyword(self, item: Keyword) -> float:
        """Return the score of an argument, whose description counts before that of its schema."""
        return self.of_field(item.field, item.parameter.described)

    def _of_field(self, name: str, schema: Any, reach: int) -> float:
        key = (name, id(schema))
        if key not in self._best:
            own = self.of_field_itself(name, schema)
            self._best[key] = max(own, KEPT * self.inside(schema, reach))
        return self._best[key]

    def of_field_itself(self, name: str, schema: Any) -> float:
        """Return the score of a field's name, enumerated values and description, without the fields below it."""
        key = (name, id(schema))
        if key not in self._own:
            self._own[key] = (schema, self._of_words(name, schema) if self.focus else 0.0)
        return self._own[key][1]

    def _of_words(self, name: str, schema: Any) -> float:
        node = schema if isinstance(schema, dict) else {}
        focus = self.focus
        own = max(focus.score_of_name(name), self._of_values(node), focus.score_of_description(node.get("description")))
        return own if own else self._of_type_name(node)

    def inside(self, schema: Any, reach: int = REACH) -> float:
        """Return the best score of the fields below a schema; each level keeps a part of it."""
        if not isinstance(schema, dict) or reach <= 0 or not self.focus or not can_spend():
            return 0.0
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference not in self._inside:
                # A schema that contains itself finds nothing new in itself.
                self._inside[reference] = 0.0
                self._inside[reference] = self.inside(self._resolve(reference), reach - 1)
            return self._inside[reference]
        fields = schema.get("properties")
        listed = fields.items() if isinstance(fields, dict) else ()
        found = [self._of_field(name, item, reach - 1) for name, item in listed]
        return max([*found, *(self.inside(item, reach - 1) for item in _parts(schema))], default=0.0)

    def _of_values(self, node: dict[str, Any]) -> float:
        """Return the score of enumerated values of a field, of its items or of its alternatives."""
        target = self._resolve(node["$ref"]) if isinstance(node.get("$ref"), str) else node
        listed = [target, *(part for part in _parts(target) if isinstance(part, dict))]
        ends = [self._resolve(part["$ref"]) if isinstance(part.get("$ref"), str) else part for part in listed]
        return max((self.focus.score_of_values(end.get("enum")) for end in ends), default=0.0)

    def _of_type_name(self, node: dict[str, Any]) -> float:
        """Return the score of a field whose type the plan names."""
        references = [part.get("$ref") for part in (node, *_parts(node)) if isinstance(part, dict)]
        names = (reference.rsplit("/", 1)[-1] for reference in references if isinstance(reference, str))
        return max(map(self.focus.score_of_type, names), default=0.0)

    def _resolve(self, reference: str) -> dict[str, Any]:
        node = follow_safely(self._document, {"$ref": reference})
        return node if isinstance(node, dict) else {}


def _parts(schema: dict[str, Any]) -> Iterator[Any]:
    """Yield the schemas of items, of further fields and of alternatives."""
    yield from (schema[key] for key in ("items", "additionalProperties") if key in schema)
    for key in ("allOf", "oneOf", "anyOf"):
        members = schema.get(key)
        yield from members if isinstance(members, list) else ()

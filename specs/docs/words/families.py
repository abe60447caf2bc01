"""Families of filters: arguments such as `start_date_gte` and `start_date_lt`, folded into one line.

start_date, end_date: each also _gte, _gt, _lte, _lt
price (float): each with _min, _max, _empty (bool)
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from restgpt.specs.keyword import Keyword

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

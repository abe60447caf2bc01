"""What a program uses of the answers to its calls, and whether the answers of a run still have it.

Only the fields that the program names count. A list may be shorter or longer, but not empty where it had items.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from restgpt.calling.origin.evidence import text_of
from restgpt.recipes.guards.closure import READ_TYPES, overlap
from restgpt.recipes.guards.pattern import ANY, places, scalars, type_of
from restgpt.recipes.guards.shift import Shift, place_of, types_text, value_text
from restgpt.recipes.recipe import Echo, Recipe, UsedOperation
from restgpt.recipes.sent import Sent
from restgpt.specs.reading.tree import format_pointer, parse_pointer
from restgpt.specs.status import is_success

Relation = Literal["equal", "contains", "within"]

MOST_COMPARED = 2000
"""The maximum number of characters of a text that are compared."""

SHORTEST_WITHIN = 4
"""How many characters a name has at least that counts as a part of an input."""

_APOSTROPHES = re.compile("['’‘`´]")
_WORDS = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|[0-9]+")
_NAMES = frozenset(
    {"name", "title", "label", "login", "username", "email", "mail", "subject", "headline", "heading", "handle", "slug"}
    | {"symbol", "nickname", "surname", "filename", "hostname", "key", "code", "sku", "isbn"}
)
_STRENGTH = {"equal": 3, "contains": 2, "within": 1}


def words_of(text: str) -> str:
    """Return the words of a text in lower case, without accents and punctuation, with one space between them."""
    bare = _APOSTROPHES.sub("", text[:MOST_COMPARED]).replace("&", " and ")
    plain = "".join(char for char in unicodedata.normalize("NFKD", bare) if not unicodedata.combining(char))
    return " ".join(_WORDS.findall(plain.casefold()))


def relation_of(found: str, named: str) -> Relation | None:
    """Return how a text that was found is like one that names it: equal to it, containing it as words, or within it."""
    one, other = words_of(found), words_of(named)
    if not one or not other:
        return "equal" if found.strip() and found.strip() == named.strip() else None
    if one.replace(" ", "") == other.replace(" ", ""):
        return "equal"
    if f" {other} " in f" {one} ":
        return "contains"
    return "within" if len(one) >= SHORTEST_WITHIN and f" {one} " in f" {other} " else None


def strength(relation: Relation | None) -> int:
    """Return how strong a relation is: 3 if equal, 0 if there is none."""
    return _STRENGTH[relation] if relation is not None else 0


def name_words(name: str) -> list[str]:
    """Return the words of a name in lower case: `display` and `name` for `displayName` and `display_name`."""
    return [word.lower() for word in _PARTS.findall(name)]


def is_name(field: str) -> bool:
    """Whether the name of a field says that it names its object, such as `title` or `displayName`."""
    parts = name_words(field)
    return bool(parts) and (parts[-1] in _NAMES or "".join(parts) in _NAMES)


MOST_READS = 200
"""The maximum number of fields of one operation that are compared."""

MOST_ITEMS = 1000
"""The maximum number of items of a list in which the fields are looked for."""


def read_patterns(bodies: Iterable[Any], words: frozenset[str]) -> list[str]:
    """Return the patterns of the fields in some answers that a program with these words may read.

    A list, and an object with a list, is read without being named, as `rows` does.
    """
    found: dict[str, None] = {}
    for body in bodies:
        waiting: list[tuple[tuple[str, ...], Any]] = [((), body)]
        while waiting and len(found) < MOST_READS:
            path, value = waiting.pop(0)
            if isinstance(value, Mapping | list) or path[-1:] == (ANY,):
                found.setdefault(format_pointer(path))
            if isinstance(value, list):
                waiting += [((*path, ANY), item) for item in value[:MOST_ITEMS]]
            elif isinstance(value, Mapping):
                for name, inner in value.items():
                    if name in words:
                        found.setdefault(format_pointer((*path, name)))
                        waiting.append(((*path, name), inner))
                    elif isinstance(inner, list) or (isinstance(inner, Mapping) and _has_list(inner)):
                        waiting.append(((*path, name), inner))
    return list(found)


def _has_list(value: Mapping[str, Any]) -> bool:
    return any(isinstance(inner, list) for inner in value.values())


def types_at(body: Any, pattern: str) -> tuple[str, ...]:
    """Return the JSON types at a pattern, `missing` among them for an object that does not have the field."""
    found = {type_of(value) for _, value in places(body, pattern)}
    *above, name = parse_pointer(pattern) or [ANY]
    holders = [] if name == ANY else [value for _, value in places(body, format_pointer(above))]
    if any(isinstance(holder, Mapping) and name not in holder for holder in holders):
        found.add("missing")
    return tuple(sorted(found))


def saved_items(
    calls: Sequence[Sent], patterns: Iterable[str], *, takes_one: bool
) -> dict[str, Literal["one", "some"]]:
    """Return what the lists in the answers of an operation held: one item, which the program took, or some."""
    found: dict[str, Literal["one", "some"]] = {}
    for array in _arrays(patterns):
        sizes = [len(value) for call in calls for _, value in places(call.body, array) if isinstance(value, list)]
        if any(sizes):
            found[array] = "one" if takes_one and set(sizes) == {1} else "some"
    return found


def _arrays(patterns: Iterable[str]) -> list[str]:
    """Return the outermost lists on the way to some fields."""
    split = [parse_pointer(pattern) for pattern in patterns]
    return sorted({format_pointer(parts[: parts.index(ANY)]) for parts in split if ANY in parts})


def saved_echo(
    calls: Sequence[Sent], items: Iterable[str], inputs: Mapping[str, Any], *, takes_one: bool
) -> Echo | None:
    """Return the field by which the first items of the answers, or the answers, are what an input names; or None."""
    above = next((f"{array}/{ANY}" for array in items), "")
    if (above and not takes_one) or not calls or any(call.is_change for call in calls):
        return None
    best: Echo | None = None
    first = next((value for _, value in places(calls[0].body, above)), None)
    for field in first if isinstance(first, Mapping) else ():
        for name in inputs if is_name(field) else ():
            echo = Echo(field=above + format_pointer([field]), input=name, relation="within")
            found = [_likeness(call, echo, _asked(call, inputs[name])) for call in calls]
            if all(rank for rank, _ in found) and (weakest := min(found)[0]) > (strength(best.relation) if best else 0):
                relation: Any = ("within", "contains", "equal")[weakest - 1]
                best = echo.model_copy(update={"relation": relation, "alike": max(alike for _, alike in found)})
    return best


def _asked(call: Sent, value: Any) -> list[str]:
    """Return the texts of an input that a call got."""
    given = [f" {words_of(text_of(item))} " for _, item in scalars(call.arguments)]
    texts = [item for _, item in scalars(value) if isinstance(item, str) and words_of(item)]
    return [text for text in texts if any(f" {words_of(text)} " in argument for argument in given)]


def _likeness(call: Sent, echo: Echo, texts: Sequence[str]) -> tuple[int, int]:
    """Return how much the first item of an answer is like a text, and how many items are so at least."""
    values = [value for _, value in places(call.body, echo.field) if isinstance(value, str)]
    ranks = [max((strength(relation_of(value, text)) for text in texts), default=0) for value in values]
    return (ranks[0], sum(rank >= ranks[0] for rank in ranks)) if ranks else (0, 0)


def answer_shifts(recipe: Recipe, sent: Sequence[Sent], inputs: Mapping[str, Any]) -> list[Shift]:
    """Compare the answers so far with those of the saved run, and return the differences that matter."""
    found: list[Shift] = []
    for used in recipe.operations:
        calls = [call for call in sent if call.function == used.function and call.status]
        found += [shift for call in calls for shift in _status_shifts(used, call)]
        good = [call for call in calls if is_success(call.status)]
        found += _field_shifts(used, good)
        found += _item_shifts(used, good)
        found += [shift for call in good for shift in _named_shifts(used, call, inputs)]
    return list(dict.fromkeys(found))


def _status_shifts(used: UsedOperation, call: Sent) -> Iterator[Shift]:
    if used.status and call.status // 100 not in {code // 100 for code in used.status}:
        expected = " or ".join(map(str, used.status))
        yield Shift(place_of(used, "status"), f"{expected}, as when the recipe was saved", str(call.status))


def _field_shifts(used: UsedOperation, calls: Sequence[Sent]) -> Iterator[Shift]:
    """Compare the types of each field over all answers of an operation, because any of them may lack a field."""
    for pattern, types in used.reads.items():
        now = {kind for call in calls for kind in types_at(call.body, pattern)}
        # A saved run that found nothing there, or only null, does not show which other types are allowed.
        if set(types) <= {"missing", "null"} or not (strange := _strange(used, pattern, set(types), now)):
            continue
        expected = types_text(kind for kind in READ_TYPES if kind in types)
        found = types_text(kind for kind in READ_TYPES if kind in strange)
        place = place_of(used, "field", pattern) if pattern else place_of(used, "the answer")
        yield Shift(place, f"{expected}, as when the recipe was saved", found)


def _strange(used: UsedOperation, pattern: str, saved: set[str], now: set[str]) -> set[str]:
    """Return the types that are new at a place; nothing and null count where they are in all places."""
    documented = used.documented.answer.get(pattern, ())
    if now <= {"missing", "null"}:
        return {kind for kind in now - saved if kind not in documented}
    new = {kind for kind in now - saved - {"missing", "null"} if not overlap([kind], saved)}
    # What the document allows is no surprise, if it was right about the saved run.
    is_right = all(overlap([kind], documented) for kind in saved - {"missing", "null"})
    return {kind for kind in new if not (documented and is_right and overlap([kind], documented))}


def _item_shifts(used: UsedOperation, calls: Sequence[Sent]) -> Iterator[Shift]:
    """Find lists without items where there were some, and with several where there was one."""
    for array, saved in used.items.items():
        lists = [value for call in calls for _, value in places(call.body, array) if isinstance(value, list)]
        place = place_of(used, "array", array or "/")
        if lists and len(calls) >= used.calls and not any(lists):
            yield Shift(place, "items, as when the recipe was saved", "none")
        elif saved == "one" and (most := max(map(len, lists), default=1)) > 1:
            yield Shift(place, "one item, as when the recipe was saved", f"{most:,}")


def _named_shifts(used: UsedOperation, call: Sent, inputs: Mapping[str, Any]) -> Iterator[Shift]:
    """Find an answer whose first item is not what the input names, or not the only one."""
    echo = used.named
    texts = _asked(call, inputs.get(echo.input)) if echo else []
    value = next((value for _, value in places(call.body, echo.field)), None) if echo and texts else None
    if echo is None or value is None:
        return
    rank, alike = _likeness(call, echo, texts)
    wanted, place = f"what the input {echo.input} names, {value_text(texts[0])}", place_of(used, "field", echo.field)
    others = [item for _, item in places(call.body, echo.field) if isinstance(item, str)][1:]
    if rank < strength(echo.relation):
        yield Shift(place, wanted, value_text(text_of(value)))
    elif rank < strength("equal") and any(relation_of(item, text) == "equal" for item in others for text in texts):
        yield Shift(place, wanted, f"{value_text(text_of(value))} beside one that is named exactly so")
    elif echo.alike == 1 and alike > 1:
        yield Shift(place, f"one item, {wanted}", f"{alike:,}")

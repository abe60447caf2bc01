"""Records which arguments of a recipe's calls are values of earlier answers, and how the item was chosen.

A link is recorded only through fields that the program read. At a run, each link must hold again before its call is
handed over: the value must be at the same place of an answer, and the item must still be the one that an input names.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.calling.origin.evidence import text_of
from restgpt.recipes.guards.closure import argument_place
from restgpt.recipes.guards.likeness import Relation, is_name, name_words, relation_of, strength, words_of
from restgpt.recipes.guards.pattern import (
    ANY,
    Path,
    last_name,
    pattern_of,
    places,
    pointer_of,
    scalars,
    value_at,
    without_indices,
)
from restgpt.recipes.guards.shift import Shift, place_of, short, value_text
from restgpt.recipes.recipe import Echo, Link, Recipe, Source
from restgpt.recipes.sent import Sent
from restgpt.specs.reading.pointer import format_pointer, parse_pointer
from restgpt.specs.status import is_success

MOST_FIELDS, MOST_TEXT = 80, 400
"""How many fields of an item are compared with inputs, and how long their texts may be."""

MOST_PLACES = 200
"""How many places of one value in one answer are checked."""

SMALL = 1000
"""A number below this is often equal to another by chance: it is a link only if names say that it is an id."""

_NUMBER = re.compile(r"-?[0-9.]+")
_PARTS = re.compile(r"[,;|]")
_IDS = frozenset({"id", "ids", "uri", "urls", "uris", "url", "href", "slug", "key", "sha", "ref", "uuid", "guid"})
_PAGING = frozenset({"page", "offset", "limit", "skip", "start", "count", "size", "total", "per", "index", "number"})
_ENUM = re.compile(r"[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:_[A-Z]+)*")


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of an input; `is_argument` says that the answering call got it."""

    input: str
    text: str
    is_argument: bool


@dataclass(frozen=True, slots=True)
class _Chosen:
    """An item of an answer with the value that was taken: the paths of both, and of the array, if there is one."""

    call: Sent
    take: str
    path: Path

    @property
    def item(self) -> Path:
        """The path of the innermost object that is an item of an array; without one, of the object around the value."""
        for end in range(len(self.path), 0, -1):
            if isinstance(self.path[end - 1], int) and isinstance(value_at(self.call.body, self.path[:end]), Mapping):
                return self.path[:end]
        return self.path[:-1]

    @property
    def array(self) -> Path | None:
        """The path of the innermost array on the way to the value."""
        ends = [end for end, part in enumerate(self.path) if isinstance(part, int)]
        return self.path[: ends[-1]] if ends else None

    @property
    def index(self) -> int:
        array = self.array
        number = self.path[len(array)] if array is not None else 0
        return number if isinstance(number, int) else 0

    @property
    def size(self) -> int | None:
        """The number of items of the innermost array."""
        return None if self.array is None else len(value_at(self.call.body, self.array))

    def siblings(self) -> list[tuple[str, Any]]:
        """The items beside the chosen one, itself included, each with the value that would be taken from it."""
        item = self.item
        if not item or not isinstance(item[-1], int):
            return [("", value_at(self.call.body, item))]
        rest = pointer_of(self.path[len(item) :])
        items = value_at(self.call.body, item[:-1])
        return [(_taken(other, rest, number), other) for number, other in enumerate(items)]


def _taken(item: Any, rest: str, number: int) -> str:
    """The text of the value that would be taken from an item; its number if it has none."""
    parts = parse_pointer(rest)
    for part in parts:
        if isinstance(item, Mapping) and part in item:
            item = item[part]
        elif isinstance(item, list) and part.isdigit() and int(part) < len(item):
            item = item[int(part)]
        else:
            return f"#{number}"
    return text_of(item) if isinstance(item, str | int | float) else f"#{number}"


def links_of(sent: Sequence[Sent], inputs: Mapping[str, Any], *, literals: Collection[Any] = ()) -> list[Link]:
    """Return the links of a run: the scalar arguments that came from earlier answers, through fields that were read.

    Values that are inputs, or `literals` of the program, come from there.
    """
    written = {text_of(value) for value in literals}
    known = _texts_of(inputs) | written
    # A number such as 2 hours is often equal to a small id by chance.
    numbers = {text for text in known if _NUMBER.fullmatch(text)} - _texts_in(inputs)
    tables: dict[int, _Table] = {}
    found: list[tuple[int, _Chosen, Link]] = []
    for number, call in enumerate(sent):
        earlier = [item for item in sent[:number] if item.status and _precedes(item, call)]
        for argument, value in _arguments(call):
            is_number = text_of(value) in numbers
            for part in _parts(value, known - numbers):
                chosen = _origin(argument, part, earlier, tables)
                if chosen is not None and not (is_number and _fit(argument, chosen.take) < 2):
                    found.append((number, chosen, _link(chosen, call.function, argument, inputs)))
    return _merged(link for link in _with_each(found) if not _is_chance(link, sent, found, known))


def _is_chance(
    link: Link, sent: Sequence[Sent], found: Sequence[tuple[int, _Chosen, Link]], known: Collection[str]
) -> bool:
    """Whether most calls have a value that no answer holds, so that the others are equal to one by chance."""
    linked = {number for number, _, other in found if (other.call, other.argument) == (link.call, link.argument)}
    own = [
        number
        for number, call in enumerate(sent)
        if call.function == link.call
        and any(argument == link.argument and text_of(value) not in known for argument, value in _arguments(call))
    ]
    return len(own) > 2 * len(linked.intersection(own)) > 0


def _arguments(call: Sent) -> Iterator[tuple[str, Any]]:
    """Yield the patterns and values of the scalar arguments, without nulls, truths and empty texts."""
    for path, value in scalars(call.arguments):
        if not _is_trivial(value):
            yield pattern_of(path), value


def _is_trivial(value: Any) -> bool:
    return value is None or isinstance(value, bool) or (isinstance(value, str) and not value.strip())


def _texts_of(value: Any) -> set[str]:
    return {text_of(item) for _, item in scalars(value) if not _is_trivial(item)}


def _texts_in(value: Any) -> set[str]:
    return {item for _, item in scalars(value) if isinstance(item, str)}


def _parts(value: Any, known: Collection[str]) -> list[Any]:
    """Return a value, or the parts of a joined text, that no input holds; nothing if all of it is known."""
    if text_of(value) in known:
        return []
    parts = _joined(value)
    if len(parts) > 1:
        return [part for part in parts if part not in known]
    return [value]


def _joined(value: Any) -> list[str]:
    """Return the parts of a text that lists values, and nothing of other texts."""
    if not isinstance(value, str):
        return []
    parts = [part.strip() for part in _PARTS.split(value)]
    return parts if len(parts) > 1 and all(part and " " not in part for part in parts) else []


class _Table:
    """The scalars of one answer that the program read, by their texts."""

    def __init__(self, call: Sent) -> None:
        self.places: dict[str, list[tuple[str, Path]]] = {}
        reads = list(call.reads)
        for pattern in reads:
            # A value that was read as a whole counts with everything inside of it.
            is_whole = not any(other.startswith(f"{pattern}/") for other in reads)
            for path, value in places(call.body, pattern):
                if not isinstance(value, Mapping | list):
                    self._add(value, pattern, path)
                elif is_whole:
                    for inner, item in scalars(value):
                        self._add(item, pattern + pattern_of(inner), (*path, *inner))

    def _add(self, value: Any, pattern: str, path: Path) -> None:
        if not _is_trivial(value):
            self.places.setdefault(text_of(value), []).append((pattern, path))


def _origin(argument: str, value: Any, earlier: Sequence[Sent], tables: dict[int, _Table]) -> _Chosen | None:
    """Return the best place of a value in earlier answers: by its name, the latest answer, and the fewest places."""
    best: tuple[tuple[int, int, int], _Chosen] | None = None
    for number, call in enumerate(earlier):
        table = tables.get(id(call))
        if table is None:
            table = tables[id(call)] = _Table(call)
        for text in _spellings(value):
            found = table.places.get(text, [])
            for pattern, path in found:
                fit = _fit(argument, pattern)
                if not _is_telling(argument, pattern, value, fit):
                    continue
                rank = (fit, number, -sum(one == pattern for one, _ in found))
                if best is None or rank > best[0]:
                    best = rank, _Chosen(call, pattern, path)
    return best[1] if best is not None else None


def _spellings(value: Any) -> Iterator[str]:
    """Yield the texts by which an answer may hold a value: itself, and the id at the end of a URI."""
    text = text_of(value)
    yield text
    if isinstance(value, str) and " " not in text:
        end = re.split("[:/]", text)[-1]
        if end != text and len(end) > 1:
            yield end


def _fit(argument: str, take: str) -> int:
    """Return how well the name of a field fits that of an argument: 2 for the same or `id`, 1 for an id, else 0."""
    wanted, given = last_name(argument), last_name(take)
    ends = [name_words(name) for name in (wanted, given)]
    if _plain(wanted) == _plain(given) or (given.lower() in _IDS and name_words(wanted)[-1:] == name_words(given)[-1:]):
        return 2
    both = [words[-1].removesuffix("s") if words else "" for words in ends]
    if both[0] == both[1] and both[0] in _IDS:
        return 2
    return 1 if ends[1] and ends[1][-1] in _IDS else 0


def _plain(name: str) -> str:
    return "".join(name_words(name))


def _is_telling(argument: str, take: str, value: Any, fit: int) -> bool:
    """Whether a value that is equal to a read field was most likely taken from there."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return fit > 0 or not _ENUM.fullmatch(value)
    try:
        is_large = abs(float(value)) >= SMALL and float(value).is_integer()
    except (ValueError, OverflowError):
        return True
    names = {*name_words(last_name(argument)), *name_words(last_name(take))}
    return names.isdisjoint(_PAGING) and (is_large or (fit > 0 and not names.isdisjoint(_IDS)))


def _link(chosen: _Chosen, function: str, argument: str, inputs: Mapping[str, Any]) -> Link:
    echo = _echo(chosen, inputs)
    size = chosen.size
    choice: Any = "only"
    if size is not None and size > 1:
        is_named = echo is not None and not echo[1].is_argument
        ends = "first" if chosen.index == 0 else "last" if chosen.index == size - 1 else ""
        choice = "named" if is_named or (echo is not None and not ends) else ends or "other"
    alike = echo[2] if echo is not None else size
    return Link(
        answer_of=chosen.call.function,
        take=chosen.take,
        call=function,
        argument=argument,
        choice=choice,
        echo=echo[0] if echo is not None else None,
        alike=alike,
    )


def _echo(chosen: _Chosen, inputs: Mapping[str, Any]) -> tuple[Echo, _Text, int] | None:
    """Return the field by which an input recognises the chosen item, the input's text, and how many items it does."""
    best: tuple[tuple[Any, ...], tuple[Echo, _Text, int]] | None = None
    if chosen.call.is_change:
        # What was just made has the names that it was given; nobody chose it.
        return None
    siblings = chosen.siblings()
    item = chosen.item
    above = format_pointer(parse_pointer(chosen.take)[: len(item)])
    for field, value in _fields(value_at(chosen.call.body, item)):
        pattern = above + field
        for text in _input_texts(inputs, chosen.call):
            relation = relation_of(value, text.text)
            if relation is None:
                continue
            alike = _alike(siblings, field, [text.text], relation)
            if _is_recognised(chosen, field, pattern, text, relation, alike, len(siblings)):
                is_direct = field.count("/") == 1
                likeness = (strength(relation), -alike, len(text.text))
                rank = (text.is_argument, is_name(last_name(field)), is_direct, *likeness)
                if best is None or rank > best[0]:
                    best = rank, (Echo(field=pattern, input=text.input, relation=relation), text, alike)
    return best[1] if best is not None else None


def _is_recognised(
    chosen: _Chosen, field: str, pattern: str, text: _Text, relation: Relation, alike: int, size: int
) -> bool:
    """Whether a field that is like an input is what the item was recognised by, and not like it by chance."""
    name = last_name(field)
    if not text.is_argument:
        # A program that looks for the item itself reads the field, and no other item has the same text there.
        is_read = pattern in chosen.call.reads
        is_telling = is_name(name) or (_plain(name) == _plain(text.input) and relation == "equal")
        return is_read and is_telling and size > 1 and alike == 1
    if is_name(name):
        return True
    wanted = [
        last_name(argument) for argument, value in _arguments(chosen.call) if relation_of(text_of(value), text.text)
    ]
    is_asked = _plain(name) in map(_plain, wanted)
    return relation == "equal" and (is_asked or (size > 1 and alike == 1))


def _fields(item: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts of an object, and of the objects directly in it, with their pointers."""
    left = MOST_FIELDS
    if not isinstance(item, Mapping):
        return
    for name, value in item.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        for path, text in ([(name,), value], *(((name, key), part) for key, part in inner)):
            if isinstance(text, str) and 0 < len(text) <= MOST_TEXT and left > 0:
                left -= 1
                yield pointer_of(path), text


def _input_texts(inputs: Mapping[str, Any], call: Sent) -> list[_Text]:
    """Return the texts of the inputs; of an input with several, those that the call got, if it got any."""
    given = [words_of(text_of(value)) for _, value in _arguments(call)]
    found: list[_Text] = []
    for name, value in inputs.items():
        texts = [item for _, item in scalars(value) if isinstance(item, str) and words_of(item)]
        own = [text for text in texts if any(f" {words_of(text)} " in f" {argument} " for argument in given)]
        found += [_Text(name, text, bool(own)) for text in own or texts]
    return found


def _alike(siblings: Sequence[tuple[str, Any]], field: str, texts: Sequence[str], relation: Relation) -> int:
    """Return how many different items have a field that is at least so much like one of the texts."""
    found = set()
    for taken, item in siblings:
        value = _text_at(item, field)
        if value and any(strength(relation_of(value, text)) >= strength(relation) for text in texts):
            found.add(taken)
    return len(found)


def _text_at(item: Any, field: str) -> str:
    value = next((value for _, value in places(item, field)), None)
    return value if isinstance(value, str) else ""


def _precedes(one: Sent, other: Sent) -> bool:
    """Whether a call was answered before another one was made, and not beside it in a `gather`."""
    if not one.position or not other.position:
        return True
    first, second = (re.split(r"\.", call.position) for call in (one, other))
    for at, (left, right) in enumerate(zip(first, second, strict=False)):
        if left != right:
            # Places alternate: the number of the call, then that of the branch of a `gather`.
            return at % 2 == 0 and left.isdigit() and right.isdigit() and int(left) < int(right)
    return False


def _with_each(found: Sequence[tuple[int, _Chosen, Link]]) -> Iterator[Link]:
    """Yield the links; those that take several items of one array go over its items, unless each has its own name."""
    groups: dict[Any, list[tuple[_Chosen, Link]]] = {}
    for _, chosen, link in found:
        groups.setdefault((link.call, link.argument, id(chosen.call), link.take), []).append((chosen, link))
    for group in groups.values():
        several = {chosen.path for chosen, _ in group}
        inputs = {link.echo.input if link.echo else "" for _, link in group}
        is_each = len(several) > 1 and not ("" not in inputs and len(inputs) == len(several))
        for chosen, link in group:
            size = chosen.size
            yield link.model_copy(update={"choice": "each", "echo": None, "alike": size}) if is_each else link


def _merged(links: Iterable[Link]) -> list[Link]:
    """Make one of the links that differ only in how the item was chosen; links with different echoes stay apart."""
    found: dict[Any, Link] = {}
    for link in links:
        key = (link.answer_of, link.take, link.call, link.argument, link.echo and (link.echo.field, link.echo.input))
        found[key] = _joint(found[key], link) if key in found else link
    return list(found.values())


def _joint(one: Link, other: Link) -> Link:
    choices = {one.choice, other.choice}
    named = [choice for choice in choices if choice != "only"]
    choice = one.choice if len(choices) == 1 else named[0] if len(named) == 1 else "other"
    if "each" in choices:
        choice = "each"
    alike = max((link.alike for link in (one, other) if link.alike is not None), default=None)
    echo = min(
        (link.echo for link in (one, other) if link.echo), key=lambda echo: strength(echo.relation), default=None
    )
    return one.model_copy(update={"choice": choice, "alike": alike, "echo": echo})


def link_shifts(recipe: Recipe, wanted: Sequence[Sent], sent: Sequence[Sent], inputs: Mapping[str, Any]) -> list[Shift]:
    """Check the links of the calls that are about to be handed over against the answers so far."""
    check = _Check(recipe, sent, inputs)
    return list(dict.fromkeys(shift for call in wanted for shift in check.of(call)))


def unfound_shifts(recipe: Recipe, sent: Sequence[Sent], inputs: Mapping[str, Any]) -> list[Shift]:
    """Find lists in which no input names an item any more, of which the saved run took the named one.

    Only the end of a program shows this, because it may request further lists before.
    """
    found: list[Shift] = []
    for link in recipe.links:
        used, echo = recipe.used(link.answer_of), link.echo
        calls = [call for call in sent if call.function == link.answer_of and call.status]
        is_used = any(call.function == link.call for call in sent)
        if link.choice != "named" or echo is None or used is None or is_used or not calls:
            continue
        texts = _texts_in(inputs.get(echo.input))
        values = [value for call in calls for _, value in places(call.body, echo.field) if isinstance(value, str)]
        if texts and not any(_strongest(value, sorted(texts)) for value in values):
            wanted = f"what the input {echo.input} names, {value_text(min(texts))}"
            found.append(Shift(place_of(used, "field", echo.field), wanted, "nothing of this name"))
    return list(dict.fromkeys(found))


class _Check:
    """The check of the links of a run; the places of the values of an answer are kept for further calls."""

    def __init__(self, recipe: Recipe, sent: Sequence[Sent], inputs: Mapping[str, Any]) -> None:
        self._recipe = recipe
        self._sent = [call for call in sent if call.status]
        self._failed = {call.function for call in sent if not is_success(call.status)}
        self._inputs = inputs
        self._known = _texts_of(inputs) | _texts_of(list(recipe.constants))
        self._places: dict[tuple[int, str], dict[str, list[Path]]] = {}

    def of(self, call: Sent) -> Iterator[Shift]:
        """Yield the shifts of one call."""
        links: dict[str, list[Link]] = {}
        for link in self._recipe.links:
            if link.call == call.function:
                links.setdefault(without_indices(link.argument), []).append(link)
        given: dict[str, list[Any]] = {}
        for argument, value in _arguments(call):
            given.setdefault(without_indices(argument), []).append(value)
        for argument, alternatives in links.items():
            if argument not in given:
                yield from self._absent(call, argument, alternatives)
            for value in given.get(argument, ()):
                yield from self._value(call, argument, value, alternatives)

    def _absent(self, call: Sent, argument: str, links: Sequence[Link]) -> Iterator[Shift]:
        """Find an argument that every call of the saved run took from an answer, and that now has no value."""
        sources = self._sources(call.function, argument)
        is_always = bool(sources) and all(source is not None and source.call for source in sources)
        if is_always and all(link.choice != "each" for link in links):
            yield Shift(self._argument(call, argument), _expected(links[0]), "no value")

    def _sources(self, function: str, argument: str) -> list[Source | None]:
        """Return the sources of an argument in the calls of the saved run; None for a call without it."""
        found: list[Source | None] = []
        for saved in self._recipe.calls:
            if saved.function == function:
                own = [source for pointer, source in saved.arguments.items() if without_indices(pointer) == argument]
                found += own or [None]
        return found

    def _argument(self, call: Sent, argument: str) -> str:
        used = self._recipe.used(call.function)
        return argument_place(used, argument) if used is not None else call.function

    def _value(self, call: Sent, argument: str, value: Any, links: Sequence[Link]) -> Iterator[Shift]:
        found = self._best(call, value, links)
        if found is None:
            if text_of(value) in self._known or self._may_be_other(call.function, argument, value):
                return
            if self._is_looked_up(call, value, links):
                return
            parts = [self._best(call, part, links) for part in _joined(value) if part not in self._known]
            found = [shift for part in parts for shift in part or ()]
            if not parts or None in parts:
                text = value_text(text_of(value))
                found = [Shift(self._argument(call, argument), _expected(links[0]), f"{text}, which is in none")]
        yield from found

    def _may_be_other(self, function: str, argument: str, value: Any) -> bool:
        """Whether a value may have no link: some calls of the saved run had none for this argument."""
        sources = [source for source in self._sources(function, argument) if source is not None]
        others = [source for source in sources if not source.call]
        if not others or len(others) == len(sources):
            return False
        return any(source.value is None or text_of(source.value) == text_of(value) for source in others)

    def _is_looked_up(self, call: Sent, value: Any, links: Sequence[Link]) -> bool:
        """Whether a value is the same field in an answer of a new function, because the call of a link failed."""
        saved = {item.function for item in self._recipe.calls}
        names = {last_name(link.take) for link in links if link.answer_of in self._failed}
        others = [item for item in self._sent if saved and item.function not in saved and _precedes(item, call)]
        return any(
            text in self._table(answered, pattern)
            for answered in others
            for pattern in answered.reads
            if last_name(pattern) in names
            for text in _spellings(value)
        )

    def _best(self, call: Sent, value: Any, links: Sequence[Link]) -> list[Shift] | None:
        """Return the shifts of the link and the place that fit best; None if no answer holds the value."""
        best: list[Shift] | None = None
        for link in links:
            for chosen in self._origins(call, value, link):
                found = list(self._choice_shifts(link, chosen, call))
                if not found:
                    return []
                best = found if best is None or len(found) < len(best) else best
        return best

    def _origins(self, call: Sent, value: Any, link: Link) -> Iterator[_Chosen]:
        for answered in reversed(self._sent):
            if answered.function != link.answer_of or not _precedes(answered, call):
                continue
            for take in _takes(link.take, answered):
                known = self._table(answered, take)
                for text in _spellings(value):
                    for path in known.get(text, ())[:MOST_PLACES]:
                        yield _Chosen(answered, take, path)

    def _table(self, answered: Sent, take: str) -> dict[str, list[Path]]:
        key = (id(answered), take)
        if key not in self._places:
            table = self._places[key] = {}
            for path, value in places(answered.body, take):
                if not isinstance(value, Mapping | list) and not _is_trivial(value):
                    table.setdefault(text_of(value), []).append(path)
        return self._places[key]

    def _choice_shifts(self, link: Link, chosen: _Chosen, call: Sent) -> Iterator[Shift]:
        if link.choice == "each":
            return
        if link.echo is not None:
            yield from self._echo_shifts(link, link.echo, chosen)
        elif link.choice == "only" and link.alike == 1 and (chosen.size or 0) > 1 and self._is_one_wanted(chosen, call):
            used = self._recipe.used(link.answer_of)
            place = (
                place_of(used, "array", pattern_of(chosen.array or ()) or "/") if used is not None else link.answer_of
            )
            yield Shift(place, "one item, as when the recipe was saved", f"{chosen.size:,}")

    def _is_one_wanted(self, chosen: _Chosen, call: Sent) -> bool:
        """Return whether nobody can have meant any of several items: an input searched, or one item is changed."""
        # A program with a loop may have gone over a list that had one item.
        is_target = call.is_change and self._recipe.is_linear and parse_pointer(chosen.take).count(ANY) == 1
        return is_target or self._is_search(chosen)

    def _is_search(self, chosen: _Chosen) -> bool:
        """Whether an answer lists what an input asked for: the array is not inside of another, and no path names it."""
        asked = {place: group for place, group in chosen.call.arguments.items() if place in ("query", "body")}
        inputs = [words_of(text) for text in _texts_of(self._inputs)]
        given = [words_of(text) for text in _texts_of(asked)]
        is_given = any(text and f" {text} " in f" {argument} " for text in inputs for argument in given)
        return is_given and parse_pointer(chosen.take).count(ANY) == 1

    def _echo_shifts(self, link: Link, echo: Echo, chosen: _Chosen) -> Iterator[Shift]:
        """Check that the chosen item is still the one that the input names, and the only one."""
        named = {echo.input: self._inputs.get(echo.input)}
        texts = [item.text for item in _input_texts(named, chosen.call)] or sorted(_texts_in(named))
        used = self._recipe.used(link.answer_of)
        if not texts or used is None:
            return
        field = _in_item(echo, link.take)
        item = value_at(chosen.call.body, chosen.item)
        place = place_of(used, "field", echo.field)
        wanted = f"what the input {echo.input} names, {value_text(texts[0])}"
        value = _text_at(item, field)
        if not value:
            yield Shift(place, wanted, "nothing")
            return
        relation = _strongest(value, texts)
        if strength(relation) < 3 and (other := _equal_name(item, texts)):
            field, relation = other, "equal"
        siblings = chosen.siblings()
        if relation is None or strength(relation) < strength(echo.relation):
            yield Shift(place, wanted, value_text(value))
        elif relation != "equal" and _alike(siblings, field, texts, "equal"):
            yield Shift(place, wanted, f"{value_text(value)} beside one that is named exactly so")
        elif link.alike == 1 and (alike := _alike(siblings, field, texts, relation)) > 1:
            yield Shift(place, f"one item that the input {echo.input} names, {value_text(texts[0])}", f"{alike:,}")


def _takes(take: str, answered: Sent) -> Iterator[str]:
    """Yield the pattern of a link, and those of the same field in a list that the program read at another place."""
    yield take
    parts = parse_pointer(take)
    if ANY in parts:
        end = format_pointer(parts[len(parts) - 1 - parts[::-1].index(ANY) :])
        yield from (pattern for pattern in answered.reads if pattern != take and pattern.endswith(end))


def _in_item(echo: Echo, take: str) -> str:
    """Return the pointer of the field of an echo in its item."""
    parts = parse_pointer(echo.field)
    start = len(parts) - parts[::-1].index(ANY) if ANY in parts else max(len(parse_pointer(take)) - 1, 0)
    return format_pointer(parts[start:])


def _strongest(value: str, texts: Sequence[str]) -> Relation | None:
    return max((relation_of(value, text) for text in texts), key=strength, default=None)


def _equal_name(item: Any, texts: Sequence[str]) -> str:
    """Return another field by which an item is exactly the named one, such as an original title; empty if none is."""
    for field, value in _fields(item):
        if field.count("/") == 1 and is_name(last_name(field)) and _strongest(value, texts) == "equal":
            return field
    return ""


def _expected(link: Link) -> str:
    return f"a value of the field {short(link.take or '/')} in an answer of {link.answer_of}"

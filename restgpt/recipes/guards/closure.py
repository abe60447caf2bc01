"""Records what a recipe uses of an operation, and compares the document with that when the recipe runs.

A document may change in a thousand places that a recipe does not use. Only the used arguments, the required ones, the
media type of the body and the read fields are recorded, so that everything else may change.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast, get_args

from restgpt.calling.idempotency import HEADERS
from restgpt.recipes.guards.pattern import ANY
from restgpt.recipes.guards.shift import Shift, place_of, short, types_text
from restgpt.recipes.recipe import Documented, JsonType, ReadType, UsedOperation
from restgpt.recipes.sent import Sent
from restgpt.specs.content import MediaType
from restgpt.specs.effort import within
from restgpt.specs.keyword import Keyword, identifier
from restgpt.specs.operation import Operation
from restgpt.specs.reading.path_template import VARIABLE, variables
from restgpt.specs.reading.tree import parse_pointer
from restgpt.specs.schemas.shape import Shape
from restgpt.tools.request.arguments import pointer_part
from restgpt.tools.request.body import BodyEncodingError, choose_media, essence, kind_of

MOST_STEPS = 50_000
"""How many steps the schemas of one operation may take."""

MOST_ARGUMENTS, DEEPEST = 500, 24
"""How many different arguments of one operation are recorded, and how deep they may be nested."""

READ_TYPES: tuple[ReadType, ...] = get_args(ReadType)

_NUMBERS = frozenset({"integer", "number"})
BODY = "body"


def used_operation(function: str, operation: Operation, sent: Sequence[Sent], *, api: str) -> UsedOperation:
    """Return the entry of a recipe for one function, made from its calls among those of the run."""
    own = [call for call in sent if call.function == function]
    return UsedOperation(
        function=function,
        api=api,
        method=operation.method,
        path=operation.path,
        calls=len(own),
        status=tuple(sorted({call.status for call in own if call.status})),
        reads=_reads(own),
        documented=_documented(operation, own),
    )


def _reads(calls: Sequence[Sent]) -> dict[str, tuple[ReadType, ...]]:
    found: dict[str, set[str]] = {}
    for call in calls:
        for pattern, types in call.reads.items():
            found.setdefault(pattern, set()).update(types)
    kept = {pattern: tuple(kind for kind in READ_TYPES if kind in types) for pattern, types in sorted(found.items())}
    return {pattern: types for pattern, types in kept.items() if types}


def _documented(operation: Operation, calls: Sequence[Sent]) -> Documented:
    """Record what the document says of the used part; nothing of it if its schemas are too complex to be read."""
    media = _sent_media(operation, calls)
    with within(MOST_STEPS, operation.document.allowance) as effort:
        today = _Today(operation, essence(media.media_type) if media is not None else "")
        parameters = today.used_arguments(calls)
        found = Documented(
            parameters=parameters,
            required=tuple(sorted(today.required(parameters))),
            media=today.media,
            answer=dict(today.answer(_reads(calls), {call.status for call in calls if call.status})),
        )
    return Documented(media=today.media) if effort.is_spent else found


def _sent_media(operation: Operation, calls: Sequence[Sent]) -> MediaType | None:
    body = next((call.arguments[BODY] for call in calls if call.arguments.get(BODY) is not None), None)
    if body is None or operation.body is None:
        return None
    try:
        return choose_media(operation, operation.body, body)
    except BodyEncodingError:
        return operation.body.preferred


@dataclass(frozen=True)
class _Found:
    """The schema of one place in a document, None if it describes none; `is_gone` if no value can be there."""

    shape: Shape | None = None
    is_gone: bool = False

    @property
    def types(self) -> tuple[JsonType, ...]:
        if self.shape is None:
            return ()
        null = ("null",) if self.shape.kinds and self.shape.is_nullable else ()
        return cast(tuple[JsonType, ...], (*self.shape.kinds, *null))


class _Today:
    """The arguments and answers of an operation in the document of today; `media` is the type of the body."""

    def __init__(self, operation: Operation, media: str) -> None:
        self.operation = operation
        self.media = media

    @cached_property
    def keywords(self) -> dict[str, Keyword]:
        """The parameters by place and name, without those that the program sets itself."""
        return {
            f"{item.location}/{pointer_part(item.field)}": item
            for item in self.operation.keywords
            if item.location != "header" or item.field.lower() not in HEADERS
        }

    @cached_property
    def body(self) -> Shape | None:
        """The schema of the body in its media type; None if the operation takes no such body."""
        if self.operation.body is None:
            return None
        same = (item for item in self.operation.body.content.values() if fits_media(item.media_type, self.media))
        media = next(same, None)
        return Shape(self.operation.document, media.schema, request=True) if media is not None else None

    def root(self, pattern: str) -> tuple[Shape | None, tuple[str, ...]]:
        """Return the schema of the argument that a pattern leads into, and the rest of the pattern."""
        place, *parts = parse_pointer(pattern)
        if place == BODY:
            return self.body, tuple(parts)
        item = self.keywords.get(f"{place}/{pointer_part(parts[0])}") if parts else None
        if item is None:
            return None, ()
        return item.shape, tuple(parts[1:])

    def find(self, pattern: str) -> _Found:
        """Return what the document says of an argument."""
        shape, parts = self.root(pattern)
        return _Found(is_gone=True) if shape is None else _walked(shape, parts)

    def used_arguments(self, calls: Sequence[Sent]) -> dict[str, tuple[JsonType, ...]]:
        """Return the types of the arguments that were sent, by place and pattern."""
        found: dict[str, tuple[JsonType, ...]] = {}
        for call in calls:
            for pattern, shape in self._roots(call.arguments):
                for place, inner in _leaves(pattern, shape[0], shape[1]):
                    if len(found) < MOST_ARGUMENTS:
                        found[place] = _Found(inner).types
        return dict(sorted(found.items()))

    def _roots(self, arguments: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, Shape | None]]]:
        names = {pattern.lower() if pattern.startswith("header/") else pattern: pattern for pattern in self.keywords}
        for place, group in arguments.items():
            if place == BODY and group is not None:
                yield BODY, (group, self.body)
            elif place != BODY and isinstance(group, Mapping):
                for name, value in group.items():
                    pattern = f"{place}/{pointer_part(str(name))}"
                    known = names.get(pattern.lower() if place == "header" else pattern)
                    if known is not None:
                        yield known, (value, self.root(known)[0])

    def required(self, parameters: Iterable[str]) -> set[str]:
        """Return the arguments that the document requires, inside of the body those of the objects that were sent."""
        found = {pattern for pattern, item in self.keywords.items() if item.required}
        if self.operation.body is not None and self.operation.body.required:
            found.add(BODY)
        for pattern in {above for item in parameters for above in _objects(item)}:
            shape = self.find(pattern).shape
            if shape is not None:
                found |= {f"{pattern}/{pointer_part(name)}" for name in shape.required}
        return found

    def answers(self, status: Iterable[int]) -> list[Shape]:
        """Return the schemas of the JSON answers with these statuses."""
        found: list[Shape] = []
        for code in sorted(status):
            response = self.operation.response(code)
            media = response.preferred if response is not None else None
            if media is not None and media.schema and kind_of(media.media_type) in ("json", "any"):
                found.append(Shape(self.operation.document, media.schema))
        return found

    def answer(
        self, reads: Mapping[str, tuple[ReadType, ...]], status: Iterable[int]
    ) -> Iterator[tuple[str, tuple[JsonType, ...]]]:
        """Yield the read fields that the document describes, with their types."""
        roots = self.answers(status)
        for pattern, types in reads.items():
            found = (_walked(root, parse_pointer(pattern)) for root in roots if set(types) != {"missing"})
            described = next((item for item in found if item.shape is not None), None)
            if described is not None:
                yield pattern, described.types


def _walked(shape: Shape, parts: Sequence[str]) -> _Found:
    """Follow the parts of a pattern through a schema."""
    for part in parts:
        below = _below(shape, part)
        if below is None:
            return _Found(is_gone=not _may_have(shape, part))
        shape = below
    return _Found(shape)


def _below(shape: Shape, part: str) -> Shape | None:
    if part == ANY and shape.items is not None:
        return shape.items
    if part in shape.fields:
        return shape.fields[part]
    return shape.mapped


def _may_have(shape: Shape, part: str) -> bool:
    """Whether a value may have this part although its schema does not describe it."""
    kinds = shape.kinds
    if kinds and "object" not in kinds:
        return False
    return part == ANY or not shape.fields or shape.is_open or shape.is_base


def _leaves(pattern: str, value: Any, shape: Shape | None) -> Iterator[tuple[str, Shape | None]]:
    """Yield the patterns of the scalars and empty containers in an argument, with what the document says of each."""
    waiting = [(pattern, value, shape, 0)]
    while waiting:
        place, item, known, depth = waiting.pop()
        children: list[tuple[str, Any]] = []
        if isinstance(item, list):
            children = [(ANY, part) for part in item]
        elif isinstance(item, Mapping):
            fields = None if known is None or known.mapped is None else known.fields
            for name, part in item.items():
                children.append((str(name) if fields is None or str(name) in fields else ANY, part))
        if not children or depth >= DEEPEST:
            yield place, known
        for part, inner in children if depth < DEEPEST else ():
            below = None if known is None else _below(known, part)
            waiting.append((f"{place}/{pointer_part(part)}", inner, below, depth + 1))


def _objects(pattern: str) -> Iterator[str]:
    """Yield the patterns of the objects of the body that a place is in; the body itself may be empty."""
    if pattern.partition("/")[0] == BODY:
        yield from (BODY, *_above(pattern))


def _above(pattern: str) -> Iterator[str]:
    """Yield the patterns of everything that a place is in."""
    parts = pattern.split("/")
    for end in range(1, len(parts)):
        yield "/".join(parts[:end])


def fits_media(documented: str, sent: str) -> bool:
    """Whether a documented media type, which may be a range such as `application/*`, includes the one that was sent."""
    name = essence(documented)
    return name in (sent, "*/*") or (name.endswith("/*") and sent.startswith(name[:-1]))


def template_of(path: str) -> str:
    """Return a path template without the names of its parameters."""
    return VARIABLE.sub("{}", path)


def find_operation(used: UsedOperation, operations: Iterable[Operation]) -> Operation | None:
    """Find the operation of a recipe by its API, method and path; names of path parameters do not count."""
    wanted = template_of(used.path)
    found = None
    for operation in operations:
        if operation.method == used.method.upper() and operation.api.name == used.api:
            if operation.path == used.path:
                return operation
            if found is None and template_of(operation.path) == wanted:
                found = operation
    return found


def moved_operation(used: UsedOperation, operations: Iterable[Operation]) -> Operation | None:
    """Find an operation with the name of the recipe's function, for one whose method or path has changed."""
    same = (item for item in operations if item.api.name == used.api and identifier(item.name) == used.function)
    return next(same, None)


def renamed_parameters(used: UsedOperation, operation: Operation) -> dict[str, str]:
    """Return the names that path parameters had when the recipe was saved, with those that they have today."""
    pairs = zip(variables(used.path), variables(operation.path), strict=False)
    return {before: after for before, after in pairs if before != after}


def document_shifts(used: UsedOperation, operation: Operation | None) -> list[Shift]:
    """Compare what a recipe uses of an operation with the document of today.

    `operation` is what `find_operation` found, or else `moved_operation`, or None.
    """
    if operation is None:
        return [Shift(place_of(used), "the operation in the document", "nothing")]
    if (operation.method, template_of(operation.path)) != (used.method.upper(), template_of(used.path)):
        moved = place_of(used.model_copy(update={"method": operation.method, "path": operation.path}))
        return [Shift(place_of(used), "this method and path", f"{moved} instead")]
    with within(MOST_STEPS, operation.document.allowance) as effort:
        found = list(_Comparison(used, operation).shifts())
    if effort.is_spent:
        return [Shift(place_of(used), "schemas that can be compared", "schemas that are too complex to be read")]
    return found


class _Comparison:
    """The comparison of one operation of a recipe with the document of today."""

    def __init__(self, used: UsedOperation, operation: Operation) -> None:
        self.used = used
        self.documented = used.documented
        self.today = _Today(operation, used.documented.media)
        self.names = {
            f"path/{pointer_part(before)}": f"path/{pointer_part(after)}"
            for before, after in renamed_parameters(used, operation).items()
        }

    def shifts(self) -> Iterator[Shift]:
        if self.documented.media and self.today.body is None:
            yield self._media_shift()
        yield from dict.fromkeys(self._argument_shifts())
        yield from self._required_shifts()
        yield from self._answer_shifts()

    def _media_shift(self) -> Shift:
        body = self.today.operation.body
        found = " and ".join(map(essence, body.content)) if body is not None else "no body"
        return Shift(place_of(self.used, "media type of the body"), self.documented.media, short(found))

    def _today(self, pattern: str) -> str:
        """Return the pattern of an argument with the name that its path parameter has today."""
        head = "/".join(pattern.split("/")[:2])
        return self.names.get(head, head) + pattern[len(head) :]

    def _argument_shifts(self) -> Iterator[Shift]:
        for saved, types in self.documented.parameters.items():
            pattern = self._today(saved)
            head = "/".join(pattern.split("/")[:2])
            is_body = saved.partition("/")[0] == BODY
            if is_body and self.today.body is None:
                continue
            if not is_body and head not in self.today.keywords:
                yield self._missing_parameter(saved, head)
                continue
            found = self.today.find(pattern)
            if found.is_gone and types:
                yield Shift(argument_place(self.used, saved), "the argument in the document", "nothing")
            elif not overlap(types, found.types) and not (not is_body and _is_same_text(types, found.types)):
                yield Shift(argument_place(self.used, saved), types_text(types), types_text(found.types))

    def _missing_parameter(self, saved: str, head: str) -> Shift:
        name = head.partition("/")[2]
        others = [place for place in ("path", "query", "header", "cookie") if f"{place}/{name}" in self.today.keywords]
        found = f"a {others[0]} parameter of this name" if others else "nothing"
        place = "/".join(saved.split("/")[:2])
        return Shift(argument_place(self.used, place), "the parameter in the document", found)

    def _required_shifts(self) -> Iterator[Shift]:
        sent = [self._today(pattern) for pattern in self.documented.parameters]
        given = {*sent, *(above for pattern in sent for above in _above(pattern))}
        known = given | {self._today(pattern) for pattern in self.documented.required}
        if self.documented.media:
            known.add(BODY)
        for pattern in sorted(self.today.required(sent) - known):
            place = argument_place(self.used, pattern)
            yield Shift(place, "no required argument that the recipe does not send", "a required one")

    def _answer_shifts(self) -> Iterator[Shift]:
        roots = self.today.answers(self.used.status)
        for pattern, types in self.documented.answer.items():
            found = [_walked(root, parse_pointer(pattern)) for root in roots]
            place = place_of(self.used, "field", pattern or "/")
            if found and all(item.is_gone for item in found):
                yield Shift(place, "the field in the documented answer", "nothing")
                continue
            known = [item.types for item in found if item.shape is not None]
            seen = [kind for kind in self.used.reads.get(pattern, ()) if kind != "missing"]
            if known and not any(overlap(types, item) or (seen and overlap(seen, item)) for item in known):
                yield Shift(place, f"{types_text(types)} in the documented answer", types_text(known[0]))


def argument_place(used: UsedOperation, pattern: str) -> str:
    """Name an argument of an operation of a recipe, such as its query parameter `page`."""
    place, _, name = pattern.removeprefix("/").partition("/")
    if place == BODY:
        return place_of(used, "field of the body" if name else "the body", f"/{name}" if name else "")
    return place_of(used, f"{place} parameter", name)


def _is_same_text(saved: Iterable[str], today: Iterable[str]) -> bool:
    """Return whether values in a path, a query or a header are sent as the same text: numbers where texts are taken."""
    return "string" in today and set(saved) <= {"integer", "number", "boolean", "string"}


def overlap(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two lists of JSON types have one in common; integers are numbers, and an empty list is any type."""
    first, second = ({"number" if kind in _NUMBERS else kind for kind in kinds} for kinds in (one, other))
    return not first or not second or not first.isdisjoint(second)

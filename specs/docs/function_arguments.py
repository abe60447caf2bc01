"""The arguments of an operation: grouped by their place in the request, and the JSON schema of these groups."""

import difflib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from restgpt.specs.effort import within
from restgpt.specs.operation import BODY, CONTENT_TYPE, GROUPS, Keyword, Operation, identifier
from restgpt.specs.reading.json_text import is_too_deep
from restgpt.specs.schemas.shape import Shape

LIKENESS = 0.6
# How many steps the schemas of one call may take, and how many names a wrong one is compared with.
STEPS_MOST, COMPARED_MOST = 50_000, 1000
# How many names a message lists.
LISTED = 24


class SignatureError(ValueError):
    """A function was called with arguments that it does not have, or without one that it needs."""

    def __init__(self, problems: Sequence[str], known: str) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{' '.join(problems)} {known}")


def arguments_of(
    operation: Operation,
    given: Mapping[str, Any],
    positional: Sequence[Any] = (),
    *,
    name: str = "",
    absent: Collection[str] = (),
) -> dict[str, Any]:
    """Group the arguments of a function call by their place in the request; groups without an argument are left out.

    Positional arguments are taken in the order of `keywords`. None leaves an optional argument out. An unknown argument
    that is a field of the body is put into the body, whose media type is `content_type`. `pages` is no part of the
    request: take it out before. Raises SignatureError with every problem; the values themselves are not validated.
    Required arguments may be `absent`.
    """
    with within(STEPS_MOST, operation.document.allowance):
        return _Call(operation, name or identifier(operation.name), absent).group(given, positional)


def grouped(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments grouped by their place in the request, which are given so, or by name as those of the function.

    A place may also be null, or an object as JSON text, as some clients write it. Raises SignatureError for names that
    the function does not have, and for a place that is no object.
    """
    places = [key for key in given if key in GROUPS.values()]
    wrong = [key for key in places if not isinstance(given[key], Mapping)]
    has_names = any(key != BODY and key not in places for key in given)
    if not wrong and not has_names:
        return dict(given)
    try:
        return arguments_of(operation, given)
    except SignatureError:
        read = {key: _place_of(given[key]) for key in wrong}
        if wrong and None not in read.values():
            return grouped(operation, {**given, **read})
        if has_names or not wrong:
            raise
        problems = [f"{key!r} must be an object with the {key} arguments by their names." for key in wrong]
        raise SignatureError(problems, "A place without arguments is left out.") from None


def _place_of(value: Any) -> Mapping[str, Any] | None:
    """Return the arguments of a place that are null or JSON text; None if they are neither."""
    if value is None:
        return {}
    try:
        found = json.loads(value) if isinstance(value, str) and not is_too_deep(value) else None
    except ValueError:
        return None
    return found if isinstance(found, Mapping) else None


class _Call:
    """Groups the arguments of one call and collects its problems."""

    def __init__(self, operation: Operation, function: str, absent: Collection[str]) -> None:
        self._absent = absent
        self._operation = operation
        self._function = function
        self._keywords = operation.accepted
        self._by_name = {item.name: item for item in self._keywords}
        self._body = operation.sent
        self._body_names = body_fields(self._body)
        self._problems: list[str] = []
        self._suggested: set[str] = set()

    def group(self, given: Mapping[str, Any], positional: Sequence[Any]) -> dict[str, Any]:
        values = self._positional(positional)
        fields: dict[str, Any] = {}
        for key, value in given.items():
            self._place(key, value, values, fields)
        arguments: dict[str, Any] = {}
        for item in self._keywords:
            self._add(item, values, arguments)
        if self._chooses(CONTENT_TYPE) and given.get(CONTENT_TYPE) is not None:
            arguments.setdefault("header", {})["Content-Type"] = given[CONTENT_TYPE]
        body = self._joined(given.get(BODY), fields)
        if body is not None:
            arguments[BODY] = body
        elif self._operation.body is not None and self._operation.body.required:
            self._without_body(BODY in given, arguments)
        if self._problems:
            raise SignatureError(self._problems, self._known())
        return arguments

    def _positional(self, positional: Sequence[Any]) -> dict[str, Any]:
        names = [item.name for item in self._keywords]
        if len(positional) > len(names):
            self._problems.append(
                f"{self._function} takes {len(names)} positional arguments but {len(positional)} were given."
            )
        return dict(zip(names, positional, strict=False))

    def _place(self, key: str, value: Any, values: dict[str, Any], fields: dict[str, Any]) -> None:
        """Put an argument among the values of the parameters or the fields of the body; else it is a problem."""
        item = self._by_name.get(key)
        if key == BODY or (key == CONTENT_TYPE and self._chooses(key)):
            return
        item = item or self._by_field(key)
        if item is not None:
            self._put(item.name, value, values, key)
        elif key in self._body_names:
            self._put(self._body_names[key], value, fields, key)
        else:
            self._refuse(key, {*values, *fields})

    def _chooses(self, key: str) -> bool:
        """Whether it is a word of the call, and no argument of the operation."""
        return self._operation.takes_type and not {key} & (self._by_name.keys() | self._body_names.keys())

    def _put(self, name: str, value: Any, into: dict[str, Any], key: str) -> None:
        if name in into:
            self._problems.append(f"{self._function} got two values for {key!r}.")
        into[name] = value

    def _by_field(self, key: str) -> Keyword | None:
        """Find a parameter by its name in the API; names of headers are case-insensitive."""
        for item in self._keywords:
            if item.field == key or (item.location == "header" and item.field.lower() == key.lower()):
                return item
        return None

    def _refuse(self, key: str, used: set[str]) -> None:
        names = [item.name for item in self._keywords if item.name not in used]
        names += [name for name in self._body_names if name not in used]
        names += [BODY] if self._body is not None else []
        missing = [item.name for item in self._keywords if item.required and item.name not in used]
        near = _nearest(key, names) or (missing[0] if len(missing) == 1 else "")
        self._suggested.add(near)
        hint = f": did you mean {near!r}?" if near else "."
        self._problems.append(f"{self._function} has no argument {key!r}{hint}")

    def _add(self, item: Keyword, values: Mapping[str, Any], arguments: dict[str, Any]) -> None:
        value = values.get(item.name)
        if value is None and item.required:
            if item.name in values and item.shape.is_nullable:
                arguments.setdefault(item.location, {})[item.field] = None
            elif item.name not in self._suggested | {*self._absent}:
                self._problems.append(f"{self._function} needs the argument {item.name!r}.")
        elif value is not None:
            arguments.setdefault(item.location, {})[item.field] = value

    def _joined(self, body: Any, fields: Mapping[str, Any]) -> Any:
        """Return the body with the fields that were given as arguments; None if there is neither."""
        if self._body is None:
            if body not in (None, {}, ""):
                self._problems.append(f"{self._function} takes no body.")
            return None
        known = self._body.fields
        kept = {name: value for name, value in fields.items() if value is not None or known[name].is_nullable}
        if not kept:
            return body
        if body is not None and not isinstance(body, Mapping):
            listed = ", ".join(map(repr, kept))
            self._problems.append(f"{self._function} got {listed} beside a body that is no object: put it in the body.")
            return body
        twice = [name for name in kept if name in (body or {})]
        self._problems += [f"{self._function} got two values for {name!r}: one is in the body." for name in twice]
        return {**(body or {}), **kept}

    def _without_body(self, is_given: bool, arguments: dict[str, Any]) -> None:
        if is_given and self._body is not None and self._body.is_nullable:
            arguments[BODY] = None
        elif self._suggested.isdisjoint({BODY, *self._body_names}):
            self._problems.append(f"{self._function} needs the argument {BODY!r}.")

    def _known(self) -> str:
        return f"It takes {argument_names(self._operation) or 'no arguments'}."


def argument_names(operation: Operation, most: int = LISTED, hidden: Collection[str] = ()) -> str:
    """Name the arguments of an operation and the fields of its body, `most` of each; a star marks required ones."""
    parts = [_some({item.name: item.required for item in operation.keywords if item.name not in hidden}, most)]
    body = operation.sent
    if body is not None and operation.body is not None:
        inside = _some({name: name in body.required for name in body.fields}, most)
        parts.append(f"{BODY}{'*' * operation.body.required}{' {' + inside + '}' if inside else ''}")
    return ", ".join(filter(None, parts))


def _some(names: Mapping[str, bool], most: int) -> str:
    """Write names, required ones first, with a star."""
    listed = [f"{name}{'*' * names[name]}" for name in sorted(names, key=lambda name: not names[name])]
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")


def body_fields(body: Shape | None) -> dict[str, str]:
    """Map each spelling of a field of the body to its name: its own, and the one as a Python identifier."""
    names = list(body.fields) if body is not None and body.kinds in ((), ("object",)) else []
    return {**{identifier(name): name for name in names}, **{name: name for name in names}}


def _nearest(key: str, names: Iterable[str]) -> str:
    """Return the name that is most like a wrong one, or that begins or ends with it; empty if none is."""
    wanted = _folded(key)
    best, found = 0.0, ""
    for name in islice(names, COMPARED_MOST):
        folded = _folded(name)
        likeness = difflib.SequenceMatcher(None, wanted, folded).ratio()
        is_part = bool(wanted) and (folded.startswith(wanted) or folded.endswith(wanted) or wanted.endswith(folded))
        if likeness > best and (is_part or likeness >= LIKENESS):
            best, found = likeness, name
    return found


def _folded(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def arguments_schema(operation: Operation) -> dict[str, Any]:
    """Return the schema of an object with the places path, query, header, cookie and body.

    The definitions that it refers to are in `$defs` of the whole (JSON Schema 2020-12, section 8.2.4).
    """
    places: dict[str, Any] = {}
    definitions: dict[str, Any] = {}

    def converted(raw: Any) -> dict[str, Any]:
        schema = operation.json_schema(raw, request=True)
        definitions.update(schema.get("$defs", {}))
        return schema

    for item in operation.keywords:
        place = places.setdefault(item.location, {"type": "object", "properties": {}, "required": []})
        described = {"description": item.parameter.description} if item.parameter.description else {}
        place["properties"][item.field] = {**converted(item.parameter.schema), **described}
        place["required"] += [item.field] if item.parameter.required else []
    needed = [name for name, place in places.items() if place["required"]]
    if operation.body is not None:
        places["body"] = converted(operation.body.preferred.schema)
        needed += ["body"] if operation.body.required else []
    found = {"type": "object", "properties": places, "required": needed}
    return {**found, "$defs": definitions} if definitions else found

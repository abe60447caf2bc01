"""The notation of schemas in prompts: compact lines and braces instead of JSON Schema.

    {
      name*: string  The new name.
      limit: integer 1..50 =20
      tracks: [Track]
    }
    Track = {
      uri*: string
    }

A star marks required fields. Each named schema is written once, the nearest first; a last line names those that do not
fit.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from restgpt.specs.content import MediaType
from restgpt.specs.docs.plain_text import plain_text
from restgpt.specs.reading.coercion import coerce
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.references import follow_safely
from restgpt.specs.schemas.all_of import merge_all_of
from restgpt.specs.schemas.types import fit_values, is_true, schema_types
from restgpt.specs.search.stemmer import stems

ENUM_MOST, BRANCH_MOST, PATTERN_MOST, DEFAULT_MOST = 24, 8, 60, 40
NESTING = 3
# How deep schemas nest in the text, and how many of these levels may be named schemas that are written in place.
DEEPEST, IN_PLACE = 64, 8
FEW_FIELDS = 6
# How many levels of a field's schema are searched for words of the focus, references and alternatives included.
REACH = 7
# Field names that a shortened response keeps, whatever the focus: names, ids, counts and the lists themselves.
ALWAYS = frozenset({"id", "name", "title", "total", "count", "next", "results", "items", "data", "error", "message"})
SILENT_FORMATS = frozenset({"int32", "int64", "float", "double", "string", "integer", "number"})

Schema = dict[str, Any]


class Notation:
    """Writes schemas of one document, and collects the named ones that are still to be written.

    `details` is the length of descriptions in characters. If `focus` is given, a response keeps the fields that have
    one of these stems. If `received`, a body, is given, only fields that occur in it are written.
    """

    def __init__(
        self,
        document: Document,
        *,
        request: bool,
        details: int,
        focus: Iterable[str] = frozenset(),
        received: Any = None,
    ) -> None:
        self._document = document
        self._hidden = "readOnly" if request else "writeOnly"
        self._details = details
        self._focus = frozenset(focus)
        self._present = None if received is None else names_in(received)
        self._top = frozenset(received) if isinstance(received, dict) else None
        self._names: dict[str, str] = {}
        self._waiting: list[str] = []
        self._nested_stems: dict[str, frozenset[str]] = {}
        self._open: list[str] = []
        self._depth = 0
        self.left_out: list[str] = []

    def body(self, media: MediaType) -> str:
        """Write the schema of a body, its fields one level deep."""
        if media.schema is None:
            return "any"
        schema = media.schema
        if self._top is not None:
            reference = schema.get("$ref")
            schema = merge_all_of(self._document, self._resolve(reference) if isinstance(reference, str) else schema)
            fields = schema.get("properties")
            if isinstance(fields, dict):
                schema = {**schema, "properties": {name: fields[name] for name in fields if name in self._top}}
        return self.type_of(schema, expand=True)

    def definitions(self, room: int) -> list[str]:
        """Write the named schemas that the text refers to, nearest first, while they fit in `room` characters."""
        lines: list[str] = []
        while self._waiting:
            reference = self._waiting.pop(0)
            block = f"{self._names[reference]} = {self.type_of({'$ref': reference}, expand=True)}"
            room -= len(block) + 1
            if room < 0:
                self.left_out = [self._names[item] for item in (reference, *self._waiting)]
                lines.append(f"(not shown: {', '.join(self.left_out[:12])}{'…' if len(self.left_out) > 12 else ''})")
                break
            lines.append(block)
        return lines

    def type_of(self, schema: Any, *, expand: bool = False, level: int = 0) -> str:
        """Write a schema; with `expand`, a named one is written with its fields instead of its name."""
        if not isinstance(schema, dict) or not schema or self._depth > DEEPEST:
            return "any"
        self._depth += 1
        reference = schema.get("$ref")
        text = (
            self._referred(reference, schema, expand, level)
            if isinstance(reference, str)
            else self._own_type(schema, level)
        )
        self._depth -= 1
        return text

    def _referred(self, reference: str, schema: Schema, expand: bool, level: int) -> str:
        """Write a reference by name, or in place if its schema is simple and does not contain itself."""
        target = self._resolve(reference)
        is_circle = reference in self._open or reference in self._names or len(self._open) > IN_PLACE
        if not expand and (is_circle or _is_worth_a_name(target)):
            return self._name(reference)
        self._open.append(reference)
        text = self.type_of({**target, **_siblings(schema)}, expand=expand, level=level)
        self._open.pop()
        return text

    def _own_type(self, schema: Schema, level: int) -> str:
        flat = merge_all_of(self._document, schema)
        kinds = schema_types(flat)
        text = self._plain_type(flat, kinds, level)
        nullable = (
            is_true(flat.get("nullable")) or is_true(flat.get("x-nullable")) or ("null" in kinds and len(kinds) > 1)
        )
        return f"{text} | null" if nullable and "null" not in text else text

    def _plain_type(self, flat: Schema, kinds: list[str], level: int) -> str:
        if "const" in flat:
            return spelled(flat["const"])
        if kinds == ["null"]:
            return "null"
        values = flat.get("enum")
        if isinstance(values, list) and values and "array" not in kinds:
            return _enum(fit_values(values, kinds)) + (_default(flat) if self._hidden == "readOnly" else "")
        for key in ("oneOf", "anyOf"):
            if isinstance(flat.get(key), list) and flat[key]:
                return self._alternatives(flat, flat[key], level)
        kind = next((kind for kind in kinds if kind != "null"), "")
        if kind == "array" or (not kind and "items" in flat):
            items = flat.get("items")
            if isinstance(items, dict) and isinstance(values, list):
                items = {**items, "enum": values}
            return f"[{self.type_of(items, level=level)}]{_bounds(flat, 'minItems', 'maxItems', 'items')}"
        if isinstance(flat.get("properties"), dict) and flat["properties"]:
            return self._fields(flat, level)
        if kind == "object" or "additionalProperties" in flat:
            more = flat.get("additionalProperties")
            return (
                "{string: " + self.type_of(more, level=level + 1) + "}" if isinstance(more, dict) and more else "object"
            )
        others = [name for name in kinds if name != "null"]
        if self._hidden == "writeOnly":
            return "|".join(others) or "any"
        return ("|".join(others) if len(others) > 1 else _scalar(flat, kind)) + _default(flat)

    def _alternatives(self, flat: Schema, branches: list[Any], level: int) -> str:
        shared: Schema = {key: flat[key] for key in ("properties", "required") if key in flat}
        branches = [branch for branch in branches if self._can_be(branch)] or branches
        texts = list(dict.fromkeys(self.type_of(branch, level=level) for branch in branches[:BRANCH_MOST]))
        if len(branches) > BRANCH_MOST:
            texts.append("…")
        text = " | ".join(texts)
        discriminator = flat.get("discriminator")
        name = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
        if isinstance(name, str):
            mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
            keys = f": {'|'.join(map(str, list(mapping)[:ENUM_MOST]))}" if isinstance(mapping, dict) else ""
            text = f"{text} (chosen by {name}{keys})"
        has_fields = isinstance(shared.get("properties"), dict) and bool(shared["properties"])
        return f"{self._fields(shared, level)} and ({text})" if has_fields else text

    def _can_be(self, branch: Any) -> bool:
        """Tell whether the received body has all fields that an alternative requires."""
        if self._present is None or not isinstance(branch, dict):
            return True
        flat = self._resolve(branch["$ref"]) if isinstance(branch.get("$ref"), str) else branch
        required = merge_all_of(self._document, flat).get("required")
        return not isinstance(required, list) or all(name in self._present for name in map(str, required))

    def _fields(self, flat: Schema, level: int) -> str:
        """Write the fields of an object in braces, required ones first, one a line."""
        if level >= NESTING:
            names = [name for name, item in flat["properties"].items() if self._is_shown(name, item)]
            return "{" + ", ".join(names[:ENUM_MOST]) + "}"
        required = flat.get("required")
        needed = set(map(str, required)) if isinstance(required, list) else set()
        items = {name: item for name, item in flat["properties"].items() if self._is_shown(name, item)}
        ordered = sorted(items, key=lambda name: name not in needed)
        shown, rest = self._split(ordered, items, needed)
        pad = "  " * (level + 1)
        lines = [self._field_line(name, items[name], name in needed, level, pad) for name in shown]
        if rest:
            listed = ", ".join(rest[: 2 * ENUM_MOST])
            lines.append(f"{pad}… {len(rest)} more: {listed}{'…' if len(rest) > 2 * ENUM_MOST else ''}")
        more = flat.get("additionalProperties")
        if isinstance(more, dict) and more:
            lines.append(f"{pad}(any other): {self.type_of(more, level=level + 1)}")
        return "\n".join(["{", *lines, "  " * level + "}"]) if lines else "object"

    def _split(self, names: Sequence[str], items: Schema, needed: set[str]) -> tuple[list[str], list[str]]:
        """Split the fields into those that match the focus, and the rest.

        Keep a field if its name or description has a focus word, or a nested name does and few siblings share that
        word.
        """
        if not self._focus or len(names) <= FEW_FIELDS:
            return list(names), []
        own = {name: self._focus & field_stems(name, items[name]) for name in names}
        unmatched = [name for name in names if not own[name]]
        missing = self._focus.difference(*own.values())
        nested = {name: missing & self._nested(items[name], REACH) for name in unmatched}
        shared = Counter(word for words in nested.values() for word in words)
        rare = {word for word in missing if shared[word] * 2 <= max(2, len(unmatched))}
        shown = [name for name in names if name.lower() in ALWAYS or own[name] or nested[name] & rare]
        if self._hidden == "readOnly":
            shown = [name for name in names if name in needed or name in shown]
        return shown, [name for name in names if name not in shown]

    def _nested(self, schema: Any, reach: int) -> frozenset[str]:
        """Return the stems of the focus that the names of fields below a schema have."""
        if not isinstance(schema, dict) or reach <= 0:
            return frozenset()
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference not in self._nested_stems:
                self._nested_stems[reference] = frozenset()
                self._nested_stems[reference] = self._nested(self._resolve(reference), reach - 1)
            return self._nested_stems[reference]
        properties = schema.get("properties")
        fields = properties if isinstance(properties, dict) else {}
        inner = [*fields.values(), schema.get("items"), schema.get("additionalProperties")]
        for key in ("allOf", "oneOf", "anyOf"):
            members = schema.get(key)
            inner += members if isinstance(members, list) else []
        own = self._focus.intersection(stem for name in fields for stem in stems(name))
        return own.union(*(self._nested(item, reach - 1) for item in inner))

    def _field_line(self, name: str, schema: Any, needed: bool, level: int, pad: str) -> str:
        node = schema if isinstance(schema, dict) else {}
        kind = self.type_of(node, level=level + 1)
        text = plain_text(str(node.get("description") or ""), self._details)
        old = "  (deprecated)" if is_true(node.get("deprecated")) else ""
        return f"{pad}{name}{'*' if needed else ''}: {kind}{old}{'  ' + text if text else ''}"

    def _is_shown(self, name: str, schema: Any) -> bool:
        return (self._present is None or name in self._present) and not self._is_hidden(schema)

    def _is_hidden(self, schema: Any) -> bool:
        if not isinstance(schema, dict):
            return False
        if is_true(schema.get(self._hidden)):
            return True
        reference = schema.get("$ref")
        return isinstance(reference, str) and is_true(self._resolve(reference).get(self._hidden))

    def _name(self, reference: str) -> str:
        if reference not in self._names:
            stem = reference.rstrip("/").rsplit("/", 1)[-1]
            taken = set(self._names.values())
            name, number = stem, 2
            while name in taken:
                name, number = f"{stem}_{number}", number + 1
            self._names[reference] = name
            self._waiting.append(reference)
        return self._names[reference]

    def _resolve(self, reference: str) -> Schema:
        node = follow_safely(self._document, {"$ref": reference})
        return node if isinstance(node, dict) else {}


def field_stems(name: str, schema: Any) -> set[str]:
    """Return the stems of a field's name and of the beginning of its description."""
    text = schema.get("description") if isinstance(schema, dict) else None
    return {*stems(name), *(stems(text[:200]) if isinstance(text, str) else ())}


def names_in(value: Any) -> frozenset[str]:
    """Return the names of all fields at any depth of a JSON value."""
    names: set[str] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            names.update(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return frozenset(names)


def _siblings(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("default", "nullable") if key in schema}


def _is_worth_a_name(target: Schema) -> bool:
    """Tell whether a schema has fields or alternatives; scalars and lists of them are written in place."""
    return any(target.get(key) for key in ("properties", "oneOf", "anyOf", "allOf")) or (
        isinstance(target.get("items"), dict) and bool(target["items"].get("properties"))
    )


def _enum(values: list[Any]) -> str:
    texts = [spelled(value) for value in values]
    more = f"|…{len(texts) - ENUM_MOST} more" if len(texts) > ENUM_MOST else ""
    return f"enum({'|'.join(texts[:ENUM_MOST])}{more})"


def _default(flat: Schema) -> str:
    value = flat.get("default")
    if value is None or value == "" or isinstance(value, dict | list):
        return ""
    return f" ={spelled(value)[:DEFAULT_MOST]}"


def spelled(value: Any) -> str:
    """Write a scalar as JSON does, texts without quotes unless they are empty."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value) or '""'


def _scalar(flat: Schema, kind: str) -> str:
    form = flat.get("format")
    text = kind or "any"
    if isinstance(form, str) and form and form not in SILENT_FORMATS and len(form) < 24:
        text = form if kind == "string" else f"{text} {form}"
    if kind in ("integer", "number"):
        return text + _bounds(flat, "minimum", "maximum")
    text += _bounds(flat, "minLength", "maxLength", "characters")
    pattern = flat.get("pattern")
    return f"{text} /{pattern}/" if isinstance(pattern, str) and len(pattern) <= PATTERN_MOST else text


def _bounds(flat: Schema, low: str, high: str, unit: str = "") -> str:
    least, most = coerce(flat.get(low), "number"), coerce(flat.get(high), "number")
    if unit and least in (0, 1):
        least = None
    if not isinstance(least, int | float) and not isinstance(most, int | float):
        return ""
    span = f"{'' if least is None else least}..{'' if most is None else most}"
    return f" {span} {unit}".rstrip()

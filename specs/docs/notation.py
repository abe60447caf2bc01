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
fit. With a focus, the schemas that its words touch come first, and a schema that is too long keeps the fields that they
touch.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from restgpt.specs.content import MediaType
from restgpt.specs.docs.words.focus import ALWAYS, NAMED, NOTHING, PARTLY, REACH, VALUED, Relevance
from restgpt.specs.docs.words.plain_text import plain_text
from restgpt.specs.effort import can_spend
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.references import follow_safely
from restgpt.specs.reading.text.coercion import coerce
from restgpt.specs.reading.tree import values_in
from restgpt.specs.reading.unique_names import UniqueNames
from restgpt.specs.schemas.all_of import merge_all_of
from restgpt.specs.schemas.types import fit_values, is_true, schema_types
from restgpt.specs.search.stemmer import stems

ENUM_MOST, BRANCH_MOST, PATTERN_MOST, DEFAULT_MOST = 24, 8, 60, 40
NESTING = 3
# How deep schemas nest in the text, and how many of these levels may be named schemas that are written in place.
DEEPEST, IN_PLACE = 64, 8
FEW_FIELDS = 6
# Above it are all fields on the way to a field that is named.
ABOVE_PARTLY = PARTLY + 0.05
# The least scores of the fields that a block shows, tried until it fits; the others are named, if they fit.
SCORES = (0.0, PARTLY, ABOVE_PARTLY, NAMED)
# A block is shortened if it takes a larger share of the room while other schemas wait.
BLOCK_SHARE = 0.45
# The characters that are kept for the names of the schemas that do not fit, and how that line begins.
NOT_SHOWN_ROOM = 60
NOT_SHOWN = "(not shown: "
# How much of a type's score the types that it refers to have in addition to their own.
INHERITED = 0.5
# The fewest characters of the description of a field that the focus touches.
TOUCHED_DETAILS = 80
# Field names that a block keeps even where it is shortened most.
KEYS = frozenset({"id", "name"})
SILENT_FORMATS = frozenset({"int32", "int64", "float", "double", "string", "integer", "number"})

Schema = dict[str, Any]


class Notation:
    """Writes schemas of one document, and collects the named ones that are still to be written.

    `details` is the length of descriptions in characters. With a focus in `relevance`, a response keeps the fields that
    it touches, and in a request the other fields have descriptions of `rest` characters. With `bare`, it touches no
    field, and those that are not needed are only named. If `received`, a body, is given, only fields that occur in it
    are written.
    """

    def __init__(
        self,
        document: Document,
        *,
        request: bool,
        details: int,
        rest: int = 0,
        relevance: Relevance | None = None,
        bare: bool = False,
        received: Any = None,
    ) -> None:
        self._document = document
        self._hidden = "readOnly" if request else "writeOnly"
        self._details = details
        self._rest = rest
        self._relevance = Relevance(document, NOTHING) if relevance is None or bare else relevance
        self._focus = frozenset({""}) if bare else self._relevance.focus.stems
        objects = (value for value in values_in(received) if isinstance(value, dict))
        self._present = None if received is None else frozenset(name for value in objects for name in value)
        self._top = frozenset(received) if isinstance(received, dict) else None
        self._names: dict[str, str] = {}
        self._unique = UniqueNames()
        # The references that are still to be written, and the best score with which each was met.
        self._waiting: list[str] = []
        self._priority: dict[str, float] = {}
        # The score that the written text gives to the references in it, and the least that a field is shown with.
        self._context = 0.0
        self._least = 0.0
        # The score of the field that is being written, the references of touched fields, and whether this is one.
        self._own = 0.0
        self._touched: set[str] = set()
        self._is_touched = False
        self._nested_stems: dict[str, frozenset[str]] = {}
        self._open: list[str] = []
        self._depth = 0
        self.left_out: list[str] = []

    def body(self, media: MediaType, room: int | None = None) -> str:
        """Write the schema of a body, its fields one level deep; with `room`, shorter if it takes more characters."""
        if media.schema is None:
            return "any"
        schema = media.schema
        if self._top is not None:
            reference = schema.get("$ref")
            schema = merge_all_of(self._document, self._resolve(reference) if isinstance(reference, str) else schema)
            fields = schema.get("properties")
            if isinstance(fields, dict):
                schema = {**schema, "properties": {name: fields[name] for name in fields if name in self._top}}

        def write() -> str:
            return self.type_of(schema, expand=True)

        return write() if room is None else self._fitted(write, int(room * BLOCK_SHARE))

    def definitions(self, room: int) -> list[str]:
        """Write the named schemas that the text refers to while they fit in `room` characters.

        Those that the focus touches come first, then the nearest.
        """
        lines: list[str] = []
        while self._waiting:
            # Equal ones in the order in which they were met.
            reference = max(self._waiting, key=lambda item: self._priority[item])
            self._waiting.remove(reference)
            block = self._definition(reference, room)
            if len(block) + 1 > room - (NOT_SHOWN_ROOM if self._waiting else 0):
                missing = sorted((reference, *self._waiting), key=lambda item: -self._priority[item])
                self.left_out = [self._names[item] for item in missing]
                lines.append(self._not_shown(room))
                break
            room -= len(block) + 1
            lines.append(block)
        return lines

    def _not_shown(self, room: int) -> str:
        """Name the schemas that are left out, at least the first and at most twelve, while the names fit."""
        count = 1
        while count < min(12, len(self.left_out)) and len(", ".join(self.left_out[: count + 1])) < room - 20:
            count += 1
        more = "…" if count < len(self.left_out) else ""
        return f"{NOT_SHOWN}{', '.join(self.left_out[:count])}{more})"

    def _definition(self, reference: str, room: int) -> str:
        self._context = INHERITED * self._priority[reference]
        self._is_touched = reference in self._touched

        def write() -> str:
            return f"{self._names[reference]} = {self.type_of({'$ref': reference}, expand=True)}"

        return self._fitted(write, int(room * BLOCK_SHARE) if self._waiting else room - 1)

    def _fitted(self, write: Callable[[], str], room: int) -> str:
        """Write a text with the fields of a score so high that it fits in `room`; without a focus, as it is."""
        text = ""
        for least in SCORES if self._focus else SCORES[:1]:
            self._least = least
            names, waiting = dict(self._names), list(self._waiting)
            text = write()
            if len(text) <= room or least == SCORES[-1]:
                break
            if not self._focus:
                break
            # Schemas to which only the longer text refers must not be written.
            self._names, self._waiting = names, waiting
            self._unique = UniqueNames(names.values())
        self._least = 0.0
        return text

    def type_of(self, schema: Any, *, expand: bool = False, level: int = 0) -> str:
        """Write a schema; with `expand`, a named one is written with its fields instead of its name."""
        if not isinstance(schema, dict) or not schema or self._depth > DEEPEST or not can_spend():
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
        if len(branches) > BRANCH_MOST and self._focus:
            branches = sorted(branches, key=self._relevance.inside, reverse=True)
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
        if level >= NESTING and not (self._focus and level <= 2 * NESTING and self._relevance.inside(flat) >= PARTLY):
            names = [name for name, item in flat["properties"].items() if self._is_shown(name, item)]
            return "{" + ", ".join(names[:ENUM_MOST]) + "}"
        required = flat.get("required")
        needed = set(map(str, required)) if isinstance(required, list) else set()
        items = {name: item for name, item in flat["properties"].items() if self._is_shown(name, item)}
        score = {name: self._relevance.of_field(name, item) for name, item in items.items()}
        ordered = sorted(items, key=lambda name: (name not in needed, score[name] < VALUED))
        shown, rest = self._split(ordered, items)
        if self._least:
            # Each of the more important fields, in a request too, so that no required one is missed.
            shown = [name for name in ordered if name in needed or score[name] >= self._least or name.lower() in KEYS]
            rest = [name for name in ordered if name not in shown]
        pad = "  " * (level + 1)
        lines = [self._field_line(name, items[name], name in needed, level, score[name]) for name in shown]
        if rest:
            most = ENUM_MOST // 2 if self._least else 2 * ENUM_MOST
            lines.append(f"{pad}… {len(rest)} more: {', '.join(rest[:most])}{'…' if len(rest) > most else ''}")
        more = flat.get("additionalProperties")
        if isinstance(more, dict) and more:
            lines.append(f"{pad}(any other): {self.type_of(more, level=level + 1)}")
        return "\n".join(["{", *lines, "  " * level + "}"]) if lines else "object"

    def _split(self, names: Sequence[str], items: Schema) -> tuple[list[str], list[str]]:
        """Split the fields into those that match the focus, and the rest.

        Keep a field if its name or description has a focus word, or a nested name does and few siblings share that
        word.
        """
        if not self._focus or len(names) <= FEW_FIELDS or self._hidden == "readOnly":
            return list(names), []
        own = {name: self._focus & field_stems(name, items[name]) for name in names}
        unmatched = [name for name in names if not own[name]]
        missing = self._focus.difference(*own.values())
        nested = {name: missing & self._nested(items[name], REACH) for name in unmatched}
        shared = Counter(word for words in nested.values() for word in words)
        rare = {word for word in missing if shared[word] * 2 <= max(2, len(unmatched))}
        shown = [name for name in names if name.lower() in ALWAYS or own[name] or nested[name] & rare]
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

    def _field_line(self, name: str, schema: Any, needed: bool, level: int, score: float) -> str:
        node = schema if isinstance(schema, dict) else {}
        context, own = self._context, self._own
        self._own = self._relevance.of_field_itself(name, node)
        self._context += self._own
        kind = self.type_of(node, level=level + 1)
        self._context, self._own = context, own
        text = plain_text(str(node.get("description") or ""), self._details_of(score))
        old = "  (deprecated)" if is_true(node.get("deprecated")) else ""
        pad = "  " * (level + 1)
        return f"{pad}{name}{'*' if needed else ''}: {kind}{old}{'  ' + text if text else ''}"

    def _details_of(self, score: float) -> int:
        """Return how long the description of a field may be."""
        if not self._focus or self._hidden == "writeOnly":
            return self._details if score < VALUED else max(self._details, TOUCHED_DETAILS)
        return max(self._details, TOUCHED_DETAILS) if score >= PARTLY or self._is_touched else self._rest

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
            self._names[reference] = self._unique.claim(stem)
            self._waiting.append(reference)
        if self._own >= PARTLY:
            self._touched.add(reference)
        score = self._context + self._relevance.inside({"$ref": reference})
        self._priority[reference] = max(score, self._priority.get(reference, 0.0))
        return self._names[reference]

    def _resolve(self, reference: str) -> Schema:
        node = follow_safely(self._document, {"$ref": reference})
        return node if isinstance(node, dict) else {}


def field_stems(name: str, schema: Any) -> set[str]:
    """Return the stems of a field's name and of the beginning of its description."""
    text = schema.get("description") if isinstance(schema, dict) else None
    return {*stems(name), *(stems(text[:200]) if isinstance(text, str) else ())}


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

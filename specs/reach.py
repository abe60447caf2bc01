"""Which operations of an API may be used: rules by tag, method, path and operation, and the reach that they make."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from restgpt.specs.operation import Operation
from restgpt.specs.problem import SpecError

STRICT = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
"""How pydantic reads `apis.yaml`: a number is text, and an unknown key is an error."""
LISTED = BeforeValidator(lambda raw: raw if isinstance(raw, list | tuple) else [raw])
"""Reads one value as a list of one."""
Texts = Annotated[tuple[str, ...], LISTED]
"""One text or a list of texts."""
CRITERIA = ("method", "id", "tag", "path")
"""The keys of a rule that name operations."""
_PAIR = re.compile(rf"(?:^|\s)({'|'.join(CRITERIA)})=")


def _upper(methods: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(method.upper() for method in methods)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule for all operations that match every criterion; an empty criterion matches all."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    methods: Annotated[Texts, AfterValidator(_upper)] = field(default=(), metadata={"alias": "method"})
    ids: Texts = field(default=(), metadata={"alias": "id"})
    tags: Texts = field(default=(), metadata={"alias": "tag"})
    paths: Texts = field(default=(), metadata={"alias": "path"})

    def __str__(self) -> str:
        values = zip(CRITERIA, (self.methods, self.ids, self.tags, self.paths), strict=True)
        return " ".join(f"{key}={value}" for key, several in values for value in several)

    def applies_to(self, operation: Operation) -> bool:
        """Whether the rule applies to an operation; paths are globs, `*` within a segment and `**` across segments."""
        return (
            (not self.methods or operation.acts_as in self.methods)
            and (not self.ids or not operation.ids.isdisjoint(self.ids))
            and (not self.tags or bool(set(self.tags) & set(operation.tags)))
            and (not self.paths or any(glob_pattern(path).fullmatch(operation.path) for path in self.paths))
        )


def glob_pattern(glob: str) -> re.Pattern[str]:
    """Compile a path glob: `*` is anything within a segment, `**` anything at all."""
    parts = re.split(r"(\*\*|\*)", glob)
    return re.compile("".join({"**": ".*", "*": "[^/]*"}.get(part) or re.escape(part) for part in parts))


def named(rule: Rule) -> Rule:
    """Refuse a rule that names no operations, so that it is not one for a whole API; raises ValueError."""
    if not str(rule):
        raise ValueError(f"must name operations, by {', '.join(CRITERIA)}")
    return rule


def _of_text(raw: Any) -> Any:
    """Read `method=GET path=/trips/**`; a key may be repeated."""
    if not isinstance(raw, str):
        return raw
    start, *parts = _PAIR.split(raw)
    if start.strip():
        raise ValueError(f"must be a mapping, or a text such as method=GET path=/trips/** with {', '.join(CRITERIA)}")
    found: dict[str, list[str]] = {}
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        found.setdefault(key, []).append(value.strip())
    return found


def _some(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Refuse an `include` without a rule, which might mean all operations or none; raises ValueError."""
    if not rules:
        raise ValueError("must name operations, or be left out")
    return rules


Excluded = Annotated[
    tuple[Annotated[Rule, BeforeValidator(_of_text), AfterValidator(named)], ...],
    BeforeValidator(lambda raw: [raw] if isinstance(raw, str | Mapping) else list(raw or ())),
]
"""Rules, each a mapping or a text."""
Included = Annotated[Excluded, AfterValidator(_some)]
Rules = Iterable[Rule | Mapping[str, Any] | str] | Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class Reach:
    """The operations that may be used: those of `include`, or all without it, but for those of `exclude`.

    It holds for the API with the `identity`, or for each API without one.
    """

    include: Included = ()
    exclude: Excluded = ()
    identity: str = ""

    @classmethod
    def of(cls, include: Rules | None = None, exclude: Rules = ()) -> "Reach":
        """Read rules as they stand in `apis.yaml`, or as texts; raises SpecError."""
        given = {"exclude": exclude} | ({} if include is None else {"include": include})
        try:
            return _adapter().validate_python(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place, why = str(first["loc"][0]), first["msg"].removeprefix("Value error, ")
            raise SpecError(f"{place} cannot be read: it {why}") from None

    @classmethod
    def kept(cls, value: Mapping[str, Any]) -> "Reach":
        """Return a reach from its JSON, as `asdict` makes it."""

        def rules(key: str) -> tuple[Rule, ...]:
            return tuple(Rule(**{name: tuple(found) for name, found in rule.items()}) for rule in value[key])

        return cls(rules("include"), rules("exclude"), value["identity"])

    def bars(self, operation: Operation) -> str:
        """Return the rule that bars an operation; empty if it may be used."""
        if self.identity not in ("", operation.api.identity):
            return ""
        for rule in self.exclude:
            if rule.applies_to(operation):
                return f"exclude: {rule}"
        if self.include and not any(rule.applies_to(operation) for rule in self.include):
            return f"include: {'; '.join(map(str, self.include))}"
        return ""

    def unfit(self, operations: Sequence[Operation]) -> Rule | None:
        """Return a rule of `exclude` that fits no operation, as one with a typing error; one of methods alone may."""
        rules = (rule for rule in self.exclude if rule.ids or rule.tags or rule.paths)
        return next((rule for rule in rules if not any(map(rule.applies_to, operations))), None)


@cache
def _adapter() -> TypeAdapter[Reach]:
    return TypeAdapter(Reach)

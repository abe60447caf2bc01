"""The rules of an entry of `apis.yaml`: what is decided on which operations, and which of them only read."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict

from restgpt.specs.operation import Operation

Decision = Literal["allow", "ask", "deny"]
Kind = Literal["read", "change"]
STRICT = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
"""How pydantic reads `apis.yaml`: a number is text, and an unknown key is an error."""
LISTED = BeforeValidator(lambda raw: raw if isinstance(raw, list | tuple) else [raw])
"""Reads one value as a list of one."""
Texts = Annotated[tuple[str, ...], LISTED]
"""One text or a list of texts."""
OR_NONE = BeforeValidator(lambda raw: raw or ())
"""Reads a key with nothing behind it as an empty list."""


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

    def applies_to(self, operation: Operation) -> bool:
        """Whether the rule applies to an operation; paths are globs, `*` within a segment and `**` across segments."""
        return (
            (not self.methods or operation.acts_as in self.methods)
            and (not self.ids or operation.name in self.ids or operation.operation_id in self.ids)
            and (not self.tags or bool(set(self.tags) & set(operation.tags)))
            and (not self.paths or any(glob_pattern(path).fullmatch(operation.path) for path in self.paths))
        )


@dataclass(frozen=True, slots=True)
class PolicyRule(Rule):
    """The decision on some operations.

    `from_user` names arguments whose values must come from the user; a rule with `from_user` needs no decision.
    """

    decision: Decision | None
    from_user: Texts = ()


@dataclass(frozen=True, slots=True)
class EffectRule(Rule):
    """The user's word on some operations: they only read, or they change something."""

    effect: Kind


def _undecided(raw: Any) -> Any:
    """Let a rule with `from_user` leave the decision out, and no other."""
    if not isinstance(raw, dict) or raw.get("decision") is not None:
        return raw
    return {**raw, "decision": None if raw.get("from_user") else ""}


def _named(rule: EffectRule) -> EffectRule:
    """Refuse a rule that names no operations, so that no rule makes a whole API a read."""
    if not (rule.methods or rule.ids or rule.tags or rule.paths):
        raise ValueError("must name operations, by method, id, tag, path")
    return rule


PolicyRules = Annotated[tuple[Annotated[PolicyRule, BeforeValidator(_undecided)], ...], OR_NONE]
EffectRules = Annotated[tuple[Annotated[EffectRule, AfterValidator(_named)], ...], OR_NONE]


def glob_pattern(glob: str) -> re.Pattern[str]:
    """Compile a path glob: `*` is anything within a segment, `**` anything at all."""
    parts = re.split(r"(\*\*|\*)", glob)
    return re.compile("".join({"**": ".*", "*": "[^/]*"}.get(part) or re.escape(part) for part in parts))

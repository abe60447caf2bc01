"""The check of expressions, conditions and selectors: they parse, and name what the workflow has."""

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from restgpt.recipes.arazzo.document import Criterion, Step, Workflow
from restgpt.recipes.arazzo.fault import Fault, unsupported
from restgpt.tools.sandbox.guest.expression import (
    ExpressionError,
    NotSupportedError,
    embedded,
    expressions_of,
    is_expression,
    is_selector,
    parse_condition,
    parse_expression,
    pointer_tokens,
    type_of,
)
from restgpt.tools.sandbox.guest.jsonpath import PathError, parse

if TYPE_CHECKING:
    from restgpt.tools.sandbox.guest.expression import Expression

REMEDY = "Write it as steps and outputs that RestGPT runs, or leave it out"
_VERSIONS = {"jsonpath": "rfc9535", "jsonpointer": "rfc6901"}


class Checks:
    """Checks the texts of one workflow, and collects the faults."""

    def __init__(self, workflow: Workflow, inputs: Collection[str]) -> None:
        self.faults: list[Fault] = []
        self._outputs = {step.step_id: step.outputs.keys() for step in workflow.steps}
        self._order = {step.step_id: number for number, step in enumerate(workflow.steps)}
        actions = [*workflow.success_actions, *workflow.failure_actions]
        actions += [action for step in workflow.steps for action in (*step.on_success, *step.on_failure)]
        jumps = any(action.type in ("goto", "retry") or action.reference for action in actions)
        # Without jumps and dependencies the order of the list is that of the run.
        self._is_straight = not jumps and not any(step.depends_on for step in workflow.steps)
        self._inputs = inputs

    def fault(self, place: str, text: str) -> None:
        """Keep a fault."""
        self.faults.append(Fault(place, text))

    def expression(self, text: str, place: str, step: Step | None = None) -> None:
        """Check a runtime expression."""
        try:
            self._names(parse_expression(text), text, place, step)
        except NotSupportedError as error:
            self.fault(place, unsupported(str(error), REMEDY))
        except ExpressionError as error:
            self.fault(place, str(error))

    def _names(self, expression: "Expression", text: str, place: str, step: Step | None) -> None:
        """Check that a step, an output or an input that an expression names exists."""
        root, owners, name, _ = expression
        if root == "steps":
            owner = owners[0]
            if owner not in self._outputs:
                self.fault(place, f"{text[:80]!r}: there is no step {owner!r} in this workflow")
            elif not _has(self._outputs[owner], name):
                known = ", ".join(self._outputs[owner]) or "none"
                self.fault(place, f"{text[:80]!r}: the step {owner!r} has no output {name!r}; it has {known}")
            elif step is not None and self._is_straight and self._order[owner] > self._order[step.step_id]:
                self.fault(place, f"{text[:80]!r}: the step {owner!r} comes later; change the order of the steps")
        elif root == "inputs" and not _has(self._inputs, name):
            known = ", ".join(self._inputs) or "none"
            self.fault(place, f"{text[:80]!r}: the workflow has no input {name!r}; it has {known}")

    def template(self, value: Any, place: str, step: Step | None = None) -> None:
        """Check the expressions and selectors of a template."""
        if isinstance(value, str):
            for text in [value] if is_expression(value) else embedded(value):
                self.expression(text, place, step)
        elif isinstance(value, Mapping):
            if is_selector(value):
                self._selector(value, place, step)
                return
            for key, part in value.items():
                self.template(part, f"{place}/{key}", step)
        elif isinstance(value, list | tuple):
            for number, part in enumerate(value):
                self.template(part, f"{place}/{number}", step)

    def _selector(self, selector: Mapping[str, Any], place: str, step: Step | None) -> None:
        if not all(isinstance(selector[key], str) for key in ("context", "selector")):
            self.fault(place, "the context and the selector have to be texts")
            return
        self.expression(selector["context"], f"{place}/context", step)
        self.target(selector["selector"], selector["type"], place, "/selector")

    def target(self, text: str, kind: Any, place: str, field: str = "/target") -> None:
        """Check a JSON pointer or JSONPath, unless expressions are put into it."""
        if not self._kind(kind, place, ("jsonpath", "jsonpointer")) or embedded(text):
            return
        try:
            if type_of(kind) == "jsonpath":
                parse(text)
            else:
                pointer_tokens(text)
        except (PathError, ExpressionError) as error:
            self.fault(place + field, str(error))

    def _kind(self, kind: Any, place: str, known: Collection[str]) -> bool:
        name = type_of(kind)
        version = kind.get("version") if isinstance(kind, Mapping) else None
        if name not in known:
            self.fault(f"{place}/type", unsupported(f"the type {name[:40]!r}", f"Use {' or '.join(known)}"))
        elif version is not None and version != _VERSIONS.get(name):
            text = unsupported(f"the version {str(version)[:40]!r} of {name}", f"Use {_VERSIONS.get(name)}")
            self.fault(f"{place}/type/version", text)
        else:
            return True
        return False

    def outputs(self, outputs: Mapping[str, Any], place: str) -> None:
        """Check outputs: each is an expression or a selector."""
        for name, value in outputs.items():
            if isinstance(value, Mapping) and is_selector(value):
                self._selector(value, f"{place}/{name}", None)
            elif isinstance(value, str):
                self.expression(value, f"{place}/{name}")
            else:
                self.fault(f"{place}/{name}", "an output is a runtime expression or a selector")

    def criterion(self, criterion: Criterion, place: str) -> dict[str, Any]:
        """Check a criterion, and return it as the program gets it."""
        kind = criterion.type if isinstance(criterion.type, str) else criterion.type.model_dump()
        if not self._kind(kind, place, ("simple", "regex", "jsonpath")):
            return {}
        name, text = type_of(kind), criterion.condition
        if name == "simple":
            self._simple(text, f"{place}/condition")
            return {"condition": text}
        if not criterion.context:
            self.fault(place, f"a condition of the type {name} needs a context, such as $response.body")
        else:
            self.expression(criterion.context, f"{place}/context")
        for inner in embedded(text):
            self.expression(inner, f"{place}/condition")
        if not embedded(text):
            self._pattern(name, text, f"{place}/condition")
        return {"context": criterion.context, "condition": text, "type": name}

    def _simple(self, text: str, place: str) -> None:
        try:
            for expression in expressions_of(parse_condition(text)):
                self._names(expression, text, place, None)
        except NotSupportedError as error:
            self.fault(place, unsupported(str(error), REMEDY))
        except ExpressionError as error:
            self.fault(place, str(error))

    def _pattern(self, kind: str, text: str, place: str) -> None:
        try:
            if kind == "jsonpath":
                parse(text)
            else:
                re.compile(text)
        except PathError as error:
            self.fault(place, str(error))
        except (re.error, RecursionError, OverflowError) as error:
            self.fault(place, f"the regular expression {text[:80]!r} is not valid: {error}")


def _has(names: Collection[str], name: str) -> bool:
    """Return whether a name is among some, whole or up to one of its points."""
    parts = name.split(".")
    return any(".".join(parts[:count]) in names for count in range(len(parts), 0, -1))

"""The values of a workflow as code: expressions, templates, selectors and criteria, checked as they are written."""

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from restgpt.recipes.arazzo.code import Code, listed, members
from restgpt.recipes.arazzo.document import Criterion, ExpressionType, Step, Workflow
from restgpt.recipes.arazzo.expression import (
    EMBEDDED,
    Expression,
    ExpressionError,
    NotSupportedError,
    condition_code,
    embedded,
    is_expression,
    parse_expression,
    pointer_tokens,
)
from restgpt.recipes.arazzo.fault import Fault, unsupported
from restgpt.recipes.arazzo.jsonpath import Path, PathError
from restgpt.tools.storable import storable_value

REMEDY = "Write it as steps and outputs that RestGPT runs, or leave it out"
_VERSIONS = {"jsonpath": "rfc9535", "jsonpointer": "rfc6901"}
_NONE = "None"
"""The code of a value that has a fault; a program with faults is not run."""


class Values:
    """Writes the values of one workflow, and collects the faults.

    `constants` are the scalars of templates: values that the document gives, as a user would.
    """

    def __init__(self, workflow: Workflow, inputs: Collection[str], constants: list[Any]) -> None:
        self.faults: list[Fault] = []
        self._outputs = {step.step_id: step.outputs.keys() for step in workflow.steps}
        self._order = {step.step_id: number for number, step in enumerate(workflow.steps)}
        actions = [*workflow.success_actions, *workflow.failure_actions]
        actions += [action for step in workflow.steps for action in (*step.on_success, *step.on_failure)]
        jumps = any(action.type in ("goto", "retry") or action.reference for action in actions)
        # Without jumps and dependencies the order of the list is that of the run.
        self._is_straight = not jumps and not any(step.depends_on for step in workflow.steps)
        self._inputs = inputs
        self._constants = constants

    def fault(self, place: str, text: str) -> str:
        """Keep a fault, and return the code that stands for the value."""
        self.faults.append(Fault(place, text))
        return _NONE

    def _written(self, place: str, write: Callable[[], str]) -> str:
        """Return code, or keep the fault of the text that it is made of."""
        try:
            return write()
        except NotSupportedError as error:
            return self.fault(place, unsupported(str(error), REMEDY))
        except (ExpressionError, PathError) as error:
            return self.fault(place, str(error))

    def expression(self, text: str, place: str, step: Step | None = None) -> str:
        """Return the code of a runtime expression."""
        return self._written(place, lambda: self._named(parse_expression(text), text, place, step))

    def _named(self, expression: Expression, text: str, place: str, step: Step | None) -> str:
        """Return the code of an expression whose step, output or input exists."""
        root, name = expression.root, expression.name
        if root == "steps":
            [owner] = expression.owners
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
        return expression.code

    def argument(self, value: Any, place: str, step: Step | None = None, *, whole: bool = False) -> Code:
        """Return the code of a template that gives None if its value does not exist."""
        code = self.template(value, place, step, whole=whole)
        return f"given({code})" if _may_miss(value) else code

    def template(self, value: Any, place: str, step: Step | None = None, *, whole: bool = False) -> Code:
        """Return the code of a template: its expressions and selectors are replaced by their values.

        With `whole`, a text that is nothing but one expression in braces gives an array or an object as it is.
        """
        if isinstance(value, str):
            return self._text(value, place, step, whole)
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            self._keep(value)
            return repr(value)
        if isinstance(value, list | tuple):
            return listed([self.argument(part, f"{place}/{key}", step, whole=whole) for key, part in enumerate(value)])
        if not isinstance(value, Mapping):
            return self.fault(place, f"{str(value)[:80]!r} is no value of JSON: write it as a text in quotes")
        if _is_selector(value):
            return self._selector(value, place, step)
        if not all(isinstance(key, str) for key in value):
            return self.fault(place, "a key is no text: write it in quotes")
        found = {key: self.template(part, f"{place}/{key}", step, whole=whole) for key, part in value.items()}
        return members(found, "kept({", "})") if any(map(_may_miss, value.values())) else members(found)

    def _keep(self, value: Any) -> None:
        if value is not None and (kept := storable_value(value)) not in self._constants:
            self._constants.append(kept)

    def _text(self, value: str, place: str, step: Step | None, whole: bool) -> str:
        if is_expression(value):
            return self.expression(value, place, step)
        if not embedded(value):
            self._keep(value)
            return repr(value)
        if whole and (only := EMBEDDED.fullmatch(value)) is not None:
            return f"whole({self.expression(only[1], place, step)})"
        return self._filled(value, place, step)

    def _filled(self, value: str, place: str, step: Step | None = None) -> str:
        """Return the code of a text with the expressions in its braces replaced by the texts of their values."""
        parts = [part if number % 2 else repr(part) for number, part in enumerate(self._parts(value, place, step))]
        return f"text({', '.join(part for part in parts if part != repr(''))})" if len(parts) > 1 else parts[0]

    def _parts(self, value: str, place: str, step: Step | None) -> list[str]:
        """Return the texts of a text and, between them, the codes of its expressions in braces."""
        parts = [""]
        for number, part in enumerate(EMBEDDED.split(value)):
            if number % 2 == 0:
                parts[-1] += part
            elif is_expression(part):
                parts += [self.expression(part, place, step), ""]
            else:
                parts[-1] += f"{{{part}}}"
        return parts

    def _selector(self, selector: Mapping[str, Any], place: str, step: Step | None) -> str:
        if not all(isinstance(selector[key], str) for key in ("context", "selector")):
            return self.fault(place, "the context and the selector have to be texts")
        context = self.expression(selector["context"], f"{place}/context", step)
        found = self._target(selector["selector"], selector["type"], place, "/selector", step)
        if isinstance(found, Path):
            code = f"selected({context}, {found.code})"
            return f"get({code}, 0)" if found.is_singular else code
        return f"get({', '.join([context, *found])})"

    def target(self, text: str, kind: Any, place: str, step: Step | None = None) -> str:
        """Return the code of the place of a replacement: a function that finds places, or the keys that lead to it."""
        found = self._target(text, kind, place, "/target", step)
        return f"({found.code})" if isinstance(found, Path) else f"[{', '.join(found)}]"

    def _target(self, text: str, kind: Any, place: str, field: str, step: Step | None) -> Path | list[str]:
        """Return a JSONPath, or the code of each token of a JSON pointer."""
        found: list[Path | list[str]] = [[]]

        def write() -> str:
            if type_of(kind) == "jsonpath":
                found[0] = Path(self._parts(text, place + field, step))
            else:
                found[0] = [self._filled(token, place + field, step) for token in pointer_tokens(text)]
            return ""

        if self._kind(kind, place, ("jsonpath", "jsonpointer")):
            self._written(place + field, write)
        return found[0]

    def _kind(self, kind: Any, place: str, known: Collection[str]) -> bool:
        name = type_of(kind)
        version = kind.get("version") if isinstance(kind, Mapping) else getattr(kind, "version", None)
        if name not in known:
            self.fault(f"{place}/type", unsupported(f"the type {name[:40]!r}", f"Use {' or '.join(known)}"))
        elif version is not None and version != _VERSIONS.get(name):
            text = unsupported(f"the version {str(version)[:40]!r} of {name}", f"Use {_VERSIONS.get(name)}")
            self.fault(f"{place}/type/version", text)
        else:
            return True
        return False

    def outputs(self, outputs: Mapping[str, Any], place: str) -> Code:
        """Return the function that finds outputs: each is an expression or a selector."""
        found: dict[str, Code] = {}
        for name, value in outputs.items():
            if isinstance(value, Mapping) and _is_selector(value):
                found[name] = self._selector(value, f"{place}/{name}", None)
            elif isinstance(value, str):
                found[name] = self.expression(value, f"{place}/{name}")
            else:
                self.fault(f"{place}/{name}", "an output is a runtime expression or a selector")
        return members(found, "lambda at: kept({", "})")

    def criterion(self, criterion: Criterion, place: str) -> str:
        """Return the code of whether a criterion is satisfied; one that cannot be evaluated is not."""
        name, text, at = type_of(criterion.type), criterion.condition, f"{place}/condition"
        if not self._kind(criterion.type, place, ("simple", "regex", "jsonpath")):
            return _NONE
        if name == "simple":
            return self._written(
                at, lambda: condition_code(text, lambda part: self._named(parse_expression(part), text, at, None))
            )
        if not criterion.context:
            return self.fault(place, f"a condition of the type {name} needs a context, such as $response.body")
        context = self.expression(criterion.context, f"{place}/context")
        if name == "regex":
            self._check_pattern(text, at)
            return f"searched({self._filled(text, at)}, {context})"
        return self._written(at, lambda: f"bool(({Path(self._parts(text, at, None)).code})({context}))")

    def _check_pattern(self, text: str, place: str) -> None:
        try:
            if not embedded(text):
                re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            self.fault(place, f"the regular expression {text[:80]!r} is not valid: {error}")


def _may_miss(template: Any) -> bool:
    """Return whether the value of a template may not exist."""
    if isinstance(template, str):
        return is_expression(template) or EMBEDDED.fullmatch(template) is not None
    return isinstance(template, Mapping) and _is_selector(template)


def _is_selector(template: Mapping[str, Any]) -> bool:
    """Return whether an object of a document is a Selector Object."""
    return template.keys() == {"context", "selector", "type"}


def type_of(kind: Any) -> str:
    """Return the type of a criterion or selector, which may be given as an object with a version."""
    if isinstance(kind, ExpressionType):
        return kind.type
    return str(kind.get("type", "")) if isinstance(kind, dict) else str(kind)


def _has(names: Collection[str], name: str) -> bool:
    """Return whether a name is among some, whole or up to one of its points."""
    parts = name.split(".")
    return any(".".join(parts[:count]) in names for count in range(len(parts), 0, -1))

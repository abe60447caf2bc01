"""The steps of Arazzo workflows inside a program: calls, criteria, actions, outputs.

A program gives the workflows as data, with a function for each call. It cannot wait, so a retry follows at once.
Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import sys

from restgpt.tools.sandbox.guest.expression import ExpressionError, Scope, as_text, pointer_tokens, type_of
from restgpt.tools.sandbox.guest.jsonpath import NOTHING, PathError, find, parse
from restgpt.tools.sandbox.guest.replay import ApiError, Held

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from restgpt.tools.sandbox.guest.replay import Driver

    Made = Mapping[str, Mapping[str, Any]]

MOST_STEPS = 1000  # the most steps of one run, which ends a circle of goto
MOST_NESTED = 20  # the most workflows inside one another


def bound(driver: Driver) -> Callable[[Mapping[str, Any], Made, str], None]:
    """Return the function `arazzo` of a program: it runs a workflow and prints its outputs."""

    def arazzo(inputs: Mapping[str, Any], workflows: Made, name: str) -> None:
        flow = Flow(driver, workflows)
        outputs = flow.run(name, inputs)
        if flow.failure:
            driver.stop(flow.failure, {key: value for key, value in outputs.items() if type(value) is not Held} or None)
        lines = [f"{key}: {_shown(value)}" for key, value in outputs.items()]
        said = f"The workflow {name} was carried out: {', '.join(flow.carried_out) or 'no step'}."
        sys.stdout.write("\n".join(lines or [said]) + "\n")

    return arazzo


def _answered(status: int) -> str:
    return f"the answer was HTTP {status}." if status else "no answer came."


def _shown(value: Any) -> str:
    return "not known in a dry run" if type(value) is Held else as_text(value)


class Values:
    """Fills in the arguments of a call."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __call__(self, template: Any) -> Any:
        """Return an argument; None if the value does not exist."""
        value = self._scope.value(template)
        return None if value is NOTHING else value

    def inputs(self, templates: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs of a workflow; those without a value are left out."""
        found = {name: self._scope.value(template) for name, template in templates.items()}
        return {name: value for name, value in found.items() if value is not NOTHING}

    def body(self, template: Any, replacements: Sequence[tuple[str, Any, Any]] = ()) -> Any:
        """Return a body: members without a value are left out. A replacement is a place, its type and a value."""
        body = self._scope.value(template, whole=True)
        body = None if body is NOTHING else body
        body = _copied(body) if replacements else body
        for target, kind, replacement in replacements:
            value = self(replacement)
            for place in self._places(target, type_of(kind), body):
                body = _with(body, place, value)
        return body

    def _places(self, target: str, kind: str, body: Any) -> list[Sequence[Any]]:
        text = self._scope.filled(target, is_path=kind == "jsonpath")
        if kind == "jsonpath":
            return [place for place, _ in find(parse(text), body)]
        return [pointer_tokens(text)]


def _copied(value: Any) -> Any:
    """Return a body that may be changed without changing the answers that its parts come from."""
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value


def _with(body: Any, place: Sequence[Any], value: Any) -> Any:
    """Return a body with a value at a place, whose parents exist."""
    if not place:
        return value
    parent = body
    for token in place[:-1]:
        parent = parent[int(token)] if isinstance(parent, list) else parent[token]
    if isinstance(parent, list):
        if str(place[-1]) == "-":
            parent.append(value)
        else:
            parent[int(place[-1])] = value
    else:
        parent[place[-1]] = value
    return body


class Flow:
    """Runs workflows. `failure` says why the last one failed, `carried_out` lists the steps."""

    def __init__(self, driver: Driver, workflows: Made) -> None:
        self._driver = driver
        self._workflows = workflows
        self._results: dict[str, Any] = {}
        self._answer: dict[str, Any] = {"status": 0, "headers": {}, "body": None}
        self._count = self._depth = 0
        self.failure = ""
        self.carried_out: list[str] = []

    def run(self, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run a workflow after those that it depends on, and return its outputs; `failure` says if it failed."""
        workflow = self._workflows[name]
        if self._depth >= MOST_NESTED:
            self.failure = f"The workflow {name} starts too many workflows inside one another."
            return {}
        self._depth += 1
        try:
            for other in workflow.get("after", ()):
                if other not in self._results:
                    self.run(other, inputs)
                    if self.failure:
                        return {}
            scope = Scope(inputs, self._answer, self._results, lambda value: type(value) is Held)
            goes_on = self._steps(name, workflow, scope)
            if goes_on is not None:
                return self.run(*goes_on)
            outputs = self._outputs(workflow.get("outputs", {}), scope)
            self._results[name] = {"inputs": inputs, "outputs": outputs}
            return outputs
        finally:
            self._depth -= 1

    def _steps(self, name: str, workflow: Mapping[str, Any], scope: Scope) -> tuple[str, Mapping[str, Any]] | None:
        """Carry out the steps; return the workflow that takes over, if one does."""
        steps: Sequence[Mapping[str, Any]] = workflow["steps"]
        places = {step["id"]: index for index, step in enumerate(steps)}
        tries: dict[tuple[int, str], int] = {}
        done: set[str] = set()
        index = 0
        while index < len(steps):
            step = steps[index]
            missing = [other for other in step.get("needs", ()) if other not in done]
            self._count += 1
            self.failure = ""
            if missing:
                self.failure = f"The step {step['id']} of {name} needs the step {missing[0]}, which is not done."
                return None
            if self._count > MOST_STEPS:
                self.failure = f"The workflow {name} was stopped after {MOST_STEPS} steps, at {step['id']}."
                return None
            self._carry_out(name, step, scope)
            failure = self.failure
            action = self._action(step, index, scope, tries)
            if not failure:
                done.add(step["id"])
                tries = {key: count for key, count in tries.items() if key[0] != index}
            kind = action.get("type", "")
            if kind == "retry":
                self._before_retry(name, action, steps, places, scope)
                continue
            if kind == "goto":
                self.failure = ""
                if "workflow" in action:
                    return action["workflow"], Values(scope).inputs(action.get("inputs", {}))
                index = places[action["step"]]
                continue
            if kind == "end" or failure:
                self.failure = failure
                return None
            index += 1
        return None

    def _carry_out(self, name: str, step: Mapping[str, Any], scope: Scope) -> None:
        """Make the call of a step and set `failure`; a change that a dry run held back counts as a success."""
        values = Values(scope)
        scope.outputs = {}
        is_held = False
        self.failure = ""
        if "workflow" in step:
            scope.outputs = self.run(step["workflow"], values.inputs(step.get("inputs", {})))
        else:
            is_held = self._call(step, values)
            status = self._answer["status"]
            if not is_held and not step.get("success") and not 200 <= status < 400:
                self.failure = f"The step {step['id']} of {name} failed: {_answered(status)}"
        criteria: Sequence[Mapping[str, Any]] = () if is_held else step.get("success", ())
        failed = next((item for item in criteria if not scope.holds(item)), None)
        if failed is not None:
            reason = f"{failed['condition']} is not so; {_answered(self._answer['status'])}"
            self.failure = self.failure or f"The step {step['id']} of {name} failed: {reason}"
        elif step.get("success"):
            self.failure = ""
        outputs = self._outputs(step.get("outputs", {}), scope)
        scope.steps[step["id"]] = {**scope.steps.get(step["id"], {}), **outputs}
        self.carried_out.append(step["id"])

    def _call(self, step: Mapping[str, Any], values: Values) -> bool:
        try:
            body = step["call"](values)
            is_held = type(body) is Held
            # A change that a dry run holds back has no status: whatever asks for its answer ends the run.
            status: Any = body if is_held else self._driver.status
            self._answer.update(status=status, headers={} if is_held else self._driver.headers(), body=body)
        except ApiError as error:
            self._answer.update(status=error.status, headers=self._driver.headers(), body=error.body)
            is_held = False
        return is_held

    def _outputs(self, wanted: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
        found = {}
        for name, template in wanted.items():
            try:
                value = scope.value(template)
            except (PathError, ExpressionError):
                continue
            if value is not NOTHING:
                found[name] = value
        return found

    def _action(
        self, step: Mapping[str, Any], index: int, scope: Scope, tries: dict[tuple[int, str], int]
    ) -> Mapping[str, Any]:
        """Return the first action whose criteria hold; a retry only as long as its limit allows one."""
        actions: Sequence[Mapping[str, Any]] = step.get("on_failure" if self.failure else "on_success", ())
        for action in actions:
            if not all(scope.holds(item) for item in action.get("criteria", ())):
                continue
            if action["type"] != "retry":
                return action
            key = (index, action["name"])
            if tries.get(key, 0) < action.get("limit", 1):
                tries[key] = tries.get(key, 0) + 1
                return action
        return {}

    def _before_retry(
        self,
        name: str,
        action: Mapping[str, Any],
        steps: Sequence[Mapping[str, Any]],
        places: Mapping[str, int],
        scope: Scope,
    ) -> None:
        """Carry out the step or the workflow that a retry names."""
        if "workflow" in action:
            self.run(action["workflow"], Values(scope).inputs(action.get("inputs", {})))
        elif "step" in action:
            self._carry_out(name, steps[places[action["step"]]], scope)

"""What imported programs import: workflows are carried out, and their values found and compared.

A program cannot wait, so a retry follows at once. Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import json
import re
import sys

from restgpt.tools.sandbox.guest.replay import ApiError, Held

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Nodes = list[tuple[tuple[Any, ...], Any]]

MOST_STEPS = 1000  # the most steps of one run, which ends a circle of goto
MOST_NESTED = 20  # the most workflows inside one another
NOTHING = object()  # the value of an expression that names nothing
PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?|true|false|null")
NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
DOT = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\.", re.DOTALL)


def is_held(value: Any) -> bool:
    """Return whether a value is the answer to a change that a dry run did not send."""
    return type(value) is Held


def get(value: Any, *tokens: Any) -> Any:
    """Return the part of a value at some keys and indexes, or NOTHING."""
    for token in tokens:
        if is_held(value):
            return value
        if isinstance(value, dict) and str(token) in value:
            value = value[str(token)]
        elif isinstance(value, list) and str(token).lstrip("-").isdecimal() and -len(value) <= int(token) < len(value):
            value = value[int(token)]
        else:
            return NOTHING
    return value


def dotted(value: Any, name: str) -> Any:
    """Return the member of a name that may contain points; the part behind a point may also be a field below."""
    if type(value) is not dict:
        return value
    head, below = name, list[str]()
    while head not in value:
        head, point, last = head.rpartition(".")
        if not point:
            return NOTHING
        below.insert(0, last)
    return get(value[head], *below)


def text(*parts: Any) -> str:
    """Return values as one text: structures as JSON."""
    return "".join(
        part if isinstance(part, str) else "null" if part is NOTHING else json.dumps(part, ensure_ascii=False)
        for part in parts
    )


def whole(value: Any) -> Any:
    """Return a value for a text that is nothing but one expression in braces: an array or an object as it is."""
    return value if value is NOTHING or value is None or isinstance(value, dict | list) else text(value)


def given(value: Any) -> Any:
    """Return the value of an argument; None if it does not exist."""
    return None if value is NOTHING else value


def kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without the members whose values do not exist."""
    return {key: value for key, value in values.items() if value is not NOTHING}


def replaced(body: Any, *changes: tuple[Any, Any]) -> Any:
    """Return a body with other values: each change is a place, or a function that finds places, and the value."""
    body = json.loads(json.dumps(body))  # its parts may be those of an answer
    for where, value in changes:
        for place in [found for found, _ in where(body)] if callable(where) else [where]:
            body = put(body, place, value)
    return body


def put(body: Any, place: Sequence[Any], value: Any) -> Any:
    """Return a body with a value at a place, whose parents exist."""
    if not place:
        return value
    *way, last = place
    parent = body
    for token in way:
        parent = parent[int(token)] if isinstance(parent, list) else parent[token]
    if not isinstance(parent, list):
        parent[last] = value
    elif str(last) == "-":
        parent.append(value)
    else:
        parent[int(last)] = value
    return body


def is_true(value: Any) -> bool:
    """Return whether the value of a condition counts as true: all but false and null."""
    return value is not None and value is not False and value is not NOTHING


def loosely(left: Any, sign: str, right: Any) -> bool:
    """Compare letters in any case, texts of digits as numbers where the other side is one; null and truths by ==."""
    left, right = given(left), given(right)
    left, right = loose(left, right), loose(right, left)
    return (sign in ("==", "!=") or are_ordered(left, right)) and compared(left, sign, right)


def loose(value: Any, other: Any) -> Any:
    """Return a value as it is compared with another one."""
    if not isinstance(value, str):
        return value
    return float(value) if is_number(other) and NUMBER.fullmatch(value) else value.casefold()


def compared(left: Any, sign: str, right: Any) -> bool:
    """Compare two values as JSONPath does."""
    if sign in ("==", "!="):
        return same(left, right) == (sign == "==")
    if sign in ("<=", ">=") and same(left, right):
        return True
    if sign[0] == ">":
        left, right = right, left
    return are_ordered(left, right) and left < right


def are_ordered(left: Any, right: Any) -> bool:
    """Return whether two values are two texts or two numbers."""
    return (isinstance(left, str) and isinstance(right, str)) or (is_number(left) and is_number(right))


def same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def is_number(value: Any) -> bool:
    """Return whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def searched(pattern: str, value: Any, method: str = "search") -> bool:
    """Return whether a regular expression is found in a value; it is not if there is none."""
    if value is NOTHING or value is None:
        return False
    try:
        return getattr(re.compile(pattern), method)(text(value)) is not None
    except (re.error, RecursionError, OverflowError):
        return False


def matched(method: str, value: Any, pattern: Any) -> bool:
    """Carry out match() or search() of JSONPath, where a dot outside of brackets is no line break of either kind."""
    if not (isinstance(value, str) and isinstance(pattern, str)):
        return False
    return searched(DOT.sub(lambda found: "[^\\n\\r]" if found[0] == "." else found[0], pattern), value, method)


def bare(value: Any) -> Any:
    """Return a value that stands in a JSONPath expression without quotes: a text of digits is a number."""
    return json.loads(value) if isinstance(value, str) and PLAIN.fullmatch(value) else value


def length(value: Any) -> Any:
    """Return the length of a text, an array or an object."""
    return len(value) if isinstance(value, str | list | dict) else NOTHING


def only(found: Sequence[tuple[Any, Any]]) -> Any:
    """Return the value of the only node, or NOTHING."""
    return found[0][1] if len(found) == 1 else NOTHING


def every(value: Any) -> bool:
    """Select all children of a node: the wildcard of JSONPath."""
    return True


def selected(context: Any, path: Callable[[Any], Sequence[tuple[Any, Any]]]) -> Any:
    """Return the values that a path finds in a context, if there is one."""
    return context if context is NOTHING or is_held(context) else [value for _, value in path(context)]


def nodes(value: Any, *path: Any) -> Nodes:
    """Return the nodes that a JSONPath finds: the keys that lead to each, and its value.

    The path has names, indexes, slices, tests and tuples of these; `...` before one of them stands for any depth.
    """
    found: Nodes = [] if value is NOTHING else [((), value)]
    for part in path:
        if part is ...:
            found = [inner for node in found for inner in below(*node)]
        else:
            selectors = part if isinstance(part, tuple) else (part,)
            found = [inner for node in found for selector in selectors for inner in children(*node, selector)]
    return found


def below(place: tuple[Any, ...], value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield a node and all below it, parents before children."""
    waiting = [(place, value)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(list(children(*node, every))))


def children(place: tuple[Any, ...], value: Any, selector: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the children of a node that a name, an index, a slice or a test selects."""
    keys: Iterable[Any] = ()
    if callable(selector):
        listed = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
        keys = [key for key in listed if selector(value[key])]
    elif isinstance(value, dict):
        keys = [selector] if isinstance(selector, str) and selector in value else ()
    elif isinstance(value, list) and isinstance(selector, slice):
        keys = range(len(value))[selector]
    elif isinstance(value, list) and type(selector) is int and -len(value) <= selector < len(value):
        keys = [selector % len(value)]
    for key in keys:
        yield (*place, key), value[key]


class At:
    """The values that expressions name at a step, beside the last answer and the results of other workflows."""

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        self.inputs = inputs
        self.steps: dict[str, dict[str, Any]] = {}
        self.outputs: dict[str, Any] = {}
        self.failure = ""


# The last answer, and the inputs and outputs of the workflows that were carried out.
answer: dict[str, Any] = {"status": 0, "headers": {}, "body": None}
results: dict[str, dict[str, Any]] = {}


class Flow:
    """Runs workflows, and keeps the names of the steps that were carried out."""

    def __init__(
        self,
        workflows: Mapping[str, Mapping[str, Any]],
        status: Callable[[], int],
        headers: Callable[[], dict[str, str]],
        stop: Callable[[str, Any], None],
    ) -> None:
        self.workflows, self.status, self.headers, self.stop = workflows, status, headers, stop
        self.carried_out: list[str] = []
        self.steps = self.depth = 0

    def report(self, name: str, inputs: Mapping[str, Any]) -> None:
        """Run a workflow and print its outputs; if it fails, stop with its reason."""
        outputs, failure = self.run(name, inputs)
        if failure:
            self.stop(failure, {key: value for key, value in outputs.items() if not is_held(value)} or None)
        lines = [
            f"{key}: {'not known in a dry run' if is_held(value) else text(value)}" for key, value in outputs.items()
        ]
        said = f"The workflow {name} was carried out: {', '.join(self.carried_out) or 'no step'}."
        sys.stdout.write("\n".join(lines or [said]) + "\n")

    def run(self, name: str, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Run a workflow after those that it depends on; return its outputs, and why it failed if it did."""
        if self.depth >= MOST_NESTED:
            return {}, f"The workflow {name} starts too many workflows inside one another."
        workflow = self.workflows[name]
        self.depth += 1
        try:
            for other in workflow.get("after", ()):
                if other not in results and (failure := self.run(other, inputs)[1]):
                    return {}, failure
            at = At(inputs)
            if handed_over := self.walk(name, workflow["steps"], at):
                return self.run(*handed_over)
            outputs = workflow["outputs"](at) if "outputs" in workflow else {}
            results[name] = {"inputs": inputs, "outputs": outputs}
            return outputs, at.failure
        finally:
            self.depth -= 1

    def walk(self, name: str, steps: Mapping[str, Mapping[str, Any]], at: At) -> tuple[str, dict[str, Any]] | None:
        """Carry out the steps; return the workflow that takes over and its inputs, if one does."""
        order = list(steps)
        tries: dict[tuple[str, str], int] = {}
        done: set[str] = set()
        current = order[0]
        while True:
            step = steps[current]
            self.steps += 1
            missing = [other for other in step.get("needs", ()) if other not in done]
            if missing:
                at.failure = f"The step {current} of {name} needs the step {missing[0]}, which is not done."
                return None
            if self.steps > MOST_STEPS:
                at.failure = f"The workflow {name} was stopped after {MOST_STEPS} steps, at {current}."
                return None
            at.failure = failure = self.carry_out(name, current, step, at)
            action = chosen(current, step.get("on_failure" if failure else "on_success", ()), at, tries)
            if not failure:
                done.add(current)
                tries = {key: count for key, count in tries.items() if key[0] != current}
            kind = action.get("type")
            if kind == "retry":
                if "workflow" in action:
                    self.run(action["workflow"], action["inputs"](at))
                elif "step" in action:
                    self.carry_out(name, action["step"], steps[action["step"]], at)
            elif kind == "goto" and "workflow" in action:
                return action["workflow"], action["inputs"](at)
            elif kind == "goto":
                current = action["step"]
            elif kind == "end" or failure or current == order[-1]:
                return None
            else:
                current = order[order.index(current) + 1]

    def carry_out(self, name: str, step_id: str, step: Mapping[str, Any], at: At) -> str:
        """Make the call of a step and keep its outputs; return why it failed. A change that is held back succeeds."""
        at.outputs, failure, criteria = {}, "", step.get("success", ())
        if "workflow" in step:
            at.outputs, failure = self.run(step["workflow"], step["inputs"](at))
        elif self.is_held_back(step, at):
            criteria = ()
        elif not criteria and not 200 <= answer["status"] < 400:
            failure = f"The step {step_id} of {name} failed: {answered()}"
        wrong = next((condition for condition, holds in criteria if not holds(at)), None)
        if wrong is None:
            failure = "" if criteria else failure
        else:
            failure = failure or f"The step {step_id} of {name} failed: {wrong} is not so; {answered()}"
        at.steps[step_id] = {**at.steps.get(step_id, {}), **(step["outputs"](at) if "outputs" in step else {})}
        self.carried_out.append(step_id)
        return failure

    def is_held_back(self, step: Mapping[str, Any], at: At) -> bool:
        """Make a call and keep its answer; return whether a dry run held it back, so that nothing of it is known."""
        try:
            body = step["call"](at)
        except ApiError as error:
            answer.update(status=error.status, headers=self.headers(), body=error.body)
            return False
        is_known = not is_held(body)
        # A change that is held back has no status: whatever asks for its answer ends the run.
        answer.update(status=self.status() if is_known else body, headers=self.headers() if is_known else {}, body=body)
        return not is_known


def answered() -> str:
    """Return the sentence about the last answer."""
    return f"the answer was HTTP {answer['status']}." if answer["status"] else "no answer came."


def chosen(
    step_id: str, actions: Sequence[Mapping[str, Any]], at: At, tries: dict[tuple[str, str], int]
) -> Mapping[str, Any]:
    """Return the first action whose criteria hold; a retry only as long as its limit allows one."""
    for action in actions:
        if "when" in action and not action["when"](at):
            continue
        key = (step_id, action["name"])
        if action["type"] != "retry":
            return action
        if tries.get(key, 0) < action.get("limit", 1):
            tries[key] = tries.get(key, 0) + 1
            return action
    return {}

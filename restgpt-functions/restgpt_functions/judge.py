"""The judge of a proposed answer: it sorts out calls that fit, missing values, and faults that the model can repair."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from restgpt.specs.reading.tree import parse_pointer
from restgpt.tools.request.arguments import follow
from restgpt_functions.calls.call import Call
from restgpt_functions.calls.parsing import bind_call, find_function
from restgpt_functions.calls.validation import REQUIRED, check_call, settle_call
from restgpt_functions.context import MissingValue
from restgpt_functions.docs.function import Function

MOST_NESTED = 8
"""How deep placeholders are written within placeholders; a documentation may require an object within itself."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The answer that the model proposes: calls, a question for a missing value, or a refusal."""

    calls: tuple[Call, ...] = ()
    question: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """Calls in the documented types, without the values that nobody gave; those are `missing`."""

    calls: tuple[Call, ...]
    missing: tuple[MissingValue, ...]
    question: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges proposals against the documentation; `placeholders` fills in missing values as the original models do."""

    functions: Sequence[Function]
    placeholders: bool = False

    def judge(self, proposal: CallAnswer) -> Judged:
        """The judged proposal; raises `ValueError` with every fault that the model can repair."""
        if not proposal.calls and not proposal.question and not proposal.refusal:
            raise ValueError("There is neither a call nor a question nor a refusal.")
        faults: list[str] = []
        calls: list[Call] = []
        missing: list[MissingValue] = []
        for number, proposed in enumerate(proposal.calls):
            call, absent, wrong = self._judge_call(number, proposed)
            calls.append(call)
            missing += absent
            faults += [f"Call {number + 1} ({call.name}): {fault}." for fault in wrong]
        if faults:
            raise ValueError(" ".join(faults))
        if calls:
            return Judged(tuple(calls), tuple(missing), "" if self.placeholders else proposal.question)
        if self.placeholders:
            # Nobody is asked, so what the model says is why there is no call.
            return Judged((), (), refusal=proposal.refusal or proposal.question)
        return Judged((), (), proposal.question, proposal.refusal)

    def _judge_call(self, number: int, proposed: Call) -> tuple[Call, list[MissingValue], list[str]]:
        call = bind_call(proposed, self.functions)
        function = find_function(call.name, self.functions, call.arguments)
        if function is None:
            return call, [], [str(problem) for problem in check_call(call, self.functions)]
        call = settle_call(call, function)
        problems = check_call(call, self.functions)
        pointers = [problem.pointer for problem in problems if problem.message == REQUIRED]
        wrong = [str(problem) for problem in problems if problem.message != REQUIRED]
        if self.placeholders:
            return self._filled(call, function, pointers), [], wrong
        return call, [missing_value(number, function, pointer) for pointer in pointers], wrong

    def _filled(self, call: Call, function: Function, missing: Sequence[str]) -> Call:
        """The call with placeholders for its missing values, also for those within a placeholder that is an object."""
        for _ in range(MOST_NESTED):
            if not missing:
                break
            for pointer in missing:
                call = with_value(call, pointer, placeholder(function, pointer))
            missing = [problem.pointer for problem in check_call(call, self.functions) if problem.message == REQUIRED]
        return call


def missing_value(number: int, function: Function, pointer: str) -> MissingValue:
    """The record of a missing value, with its documentation."""
    schema = schema_at(function, pointer)
    described = str(schema.get("description", "")) if isinstance(schema, Mapping) else ""
    name = parse_pointer(pointer)[-1] if pointer else function.name
    return {"call": number, "function": function.name, "pointer": pointer, "name": name, "description": described}


def schema_at(function: Function, pointer: str) -> Mapping[str, Any]:
    """The schema of the value that a pointer into the arguments leads to; empty if nothing documents it."""
    root = function.json_schema()
    schema: Any = root
    for part in parse_pointer(pointer):
        inner = schema if isinstance(schema, Mapping) else {}
        is_item = part.isdecimal() and "items" in inner
        schema = follow(inner["items"] if is_item else inner.get("properties", {}).get(part, {}), root)
    return schema if isinstance(schema, Mapping) else {}


def placeholder(function: Function, pointer: str) -> Any:
    """A placeholder for a missing value: the default, the first allowed value, or any value of the right type."""
    schema = schema_at(function, pointer)
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    blanks: dict[str, Any] = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
    kind = schema.get("type")
    return blanks.get(kind if isinstance(kind, str) else "", f"<{parse_pointer(pointer)[-1]}>")


def with_value(call: Call, pointer: str, value: Any) -> Call:
    """The call with a value at a pointer; objects on the way are made, and lists keep their other items."""
    return replace(call, arguments=_set(dict(call.arguments), parse_pointer(pointer), value))


def _set(node: Any, parts: Sequence[str], value: Any) -> Any:
    if not parts:
        return value
    name, *rest = parts
    if isinstance(node, list | tuple) and name.isdecimal() and int(name) < len(node):
        return [_set(item, rest, value) if index == int(name) else item for index, item in enumerate(node)]
    known = node if isinstance(node, Mapping) else {}
    return {**known, name: _set(known.get(name), rest, value)}


def ask_for(missing: Iterable[MissingValue]) -> str:
    """A question that names every missing value."""
    listed = list(missing)
    parts = [_named(one) for one in listed]
    names = dict.fromkeys(one["function"] for one in listed)
    wanted = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"To call {' and '.join(names)}, I need to know: {wanted}. What should I use?"


def _named(one: MissingValue) -> str:
    return f"{one['name']} ({one['description'].rstrip('.')})" if one["description"] else one["name"]


def keep_known(partial: Sequence[Call], completed: Sequence[Call], said: str) -> tuple[Call, ...]:
    """The completed calls with the values that were known before, unless the person's last words changed them."""
    left = list(partial)
    kept = []
    for call in completed:
        before = next((one for one in left if one.name == call.name), None)
        if before is None:
            kept.append(call)
            continue
        left.remove(before)
        arguments = dict(call.arguments)
        for name, value in before.arguments.items():
            if arguments.get(name) != value and not _is_said(arguments.get(name), said):
                arguments[name] = _merged(value, arguments.get(name))
        kept.append(replace(call, arguments=arguments))
    return tuple(kept)


def _merged(before: Any, now: Any) -> Any:
    """Places of a request keep their known values and take the new ones."""
    return {**now, **before} if isinstance(before, Mapping) and isinstance(now, Mapping) else before


def _is_said(value: Any, text: str) -> bool:
    return value is not None and not isinstance(value, Mapping) and str(value).lower() in text.lower()

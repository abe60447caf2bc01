"""The judge of a proposed answer: it sorts out calls that fit, missing values, and faults that the model can repair."""

from collections.abc import Mapping, Sequence
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

BLANKS: dict[Any, Any] = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
"""The placeholders of the types that are no text."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: calls, a question for missing values, or a refusal; the judge lists the values that are missing."""

    calls: tuple[Call, ...] = ()
    question: str = ""
    refusal: str = ""
    missing: tuple[MissingValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges answers by the documentation; `placeholders` fills in missing values as the original models do."""

    functions: Sequence[Function]
    placeholders: bool = False

    def judge(self, answer: Answer) -> Answer:
        """The judged answer; raises `ValueError` with every fault that the model can repair."""
        if not answer.calls and not answer.question and not answer.refusal:
            raise ValueError("There is neither a call nor a question nor a refusal.")
        faults: list[str] = []
        calls: list[Call] = []
        missing: list[MissingValue] = []
        for number, proposed in enumerate(answer.calls):
            call = bind_call(proposed, self.functions)
            function = find_function(call.name, self.functions, call.arguments)
            call = call if function is None else settle_call(call, function)
            for problem in check_call(call, self.functions):
                if problem.message == REQUIRED and function is not None:
                    missing.append(missing_value(number, function, problem.pointer))
                else:
                    faults.append(f"Call {number + 1} ({call.name}): {problem}.")
            calls.append(self._filled(call, function) if self.placeholders and function is not None else call)
        if faults:
            raise ValueError(" ".join(faults))
        if self.placeholders:
            # Nobody is asked, so what the model asks is why there is no call.
            return Answer(tuple(calls), refusal="" if calls else answer.refusal or answer.question)
        return Answer(tuple(calls), answer.question, "" if calls else answer.refusal, tuple(missing))

    def _filled(self, call: Call, function: Function) -> Call:
        """The call with placeholders for its missing values, also for those within a placeholder that is an object."""
        for _ in range(MOST_NESTED):
            for problem in check_call(call, self.functions):
                if problem.message == REQUIRED:
                    call = with_value(call, problem.pointer, placeholder(function, problem.pointer))
        return call


def missing_value(number: int, function: Function, pointer: str) -> MissingValue:
    """The record of a missing value, with its documentation."""
    name = parse_pointer(pointer)[-1] if pointer else function.name
    described = str(schema_at(function, pointer).get("description", ""))
    return {"call": number, "function": function.name, "pointer": pointer, "name": name, "description": described}


def schema_at(function: Function, pointer: str) -> Mapping[str, Any]:
    """The schema of the value that a pointer into the arguments leads to; empty if nothing documents it."""
    root = function.json_schema()
    schema: Any = root
    for part in parse_pointer(pointer):
        is_item = part.isdecimal() and "items" in schema
        found = follow(schema["items"] if is_item else schema.get("properties", {}).get(part, {}), root)
        schema = found if isinstance(found, Mapping) else {}
    return dict(schema)


def placeholder(function: Function, pointer: str) -> Any:
    """A placeholder for a missing value: the default, the first allowed value, or any value of the right type."""
    schema = schema_at(function, pointer)
    kind = schema.get("type")
    blank = BLANKS.get(kind if isinstance(kind, str) else "", f"<{parse_pointer(pointer)[-1]}>")
    return schema.get("default", (schema.get("enum") or [blank])[0])


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


def ask_for(missing: Sequence[MissingValue]) -> str:
    """A question that names every missing value; empty without any."""
    described = [f" ({one['description'].rstrip('.')})" if one["description"] else "" for one in missing]
    *first, last = [f"{one['name']}{about}" for one, about in zip(missing, described, strict=True)] or [""]
    wanted = f"{', '.join(first)} and {last}" if first else last
    names = " and ".join(dict.fromkeys(one["function"] for one in missing))
    return f"To call {names}, I need to know: {wanted}. What should I use?" if missing else ""


def keep_known(partial: Sequence[Call], completed: Sequence[Call], said: str) -> tuple[Call, ...]:
    """The completed calls with the values that were known before, unless the person's last words changed them."""
    left, kept = list(partial), []
    for call in completed:
        before = next((one for one in left if one.name == call.name), None)
        if before is not None:
            left.remove(before)
            call = replace(call, arguments=_merged(before.arguments, call.arguments, said.lower()))
        kept.append(call)
    return tuple(kept)


def _merged(before: Mapping[str, Any], now: Mapping[str, Any], said: str) -> dict[str, Any]:
    merged = dict(now)
    for name, value in before.items():
        new = now.get(name)
        if isinstance(value, Mapping) and isinstance(new, Mapping):
            merged[name] = _merged(value, new, said)
        elif new is None or str(new).lower() not in said:
            merged[name] = value
    return merged

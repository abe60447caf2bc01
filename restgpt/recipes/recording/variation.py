"""Find out what a program does with its answers: run it over recorded answers in which the values are others."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from restgpt.calling.origin.evidence import text_of
from restgpt.recipes.guards.pattern import pointer_of, scalars
from restgpt.recipes.recipe import Source
from restgpt.recipes.recording.finished import FinishedRun
from restgpt.specs import Operation
from restgpt.specs.docs.words.keyword import PAGES, arguments_of
from restgpt.specs.reading.pointer import parse_pointer
from restgpt.tools.sandbox.program import Entry, ProgramRun, WantedCall, run_program
from restgpt.tools.text.storable import storable_value

MOST_RUNS = 40
"""The maximum number of runs of a program over other answers; one that needs more counts as depending on them."""

MOST_CALLS = 1000
"""The maximum number of calls that the program may wait for at once."""

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_DIGIT = re.compile(r"[0-9]")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def is_constant(run: FinishedRun, report: str) -> bool:
    """Return whether the program prints the same report over other answers: other values, more items, no items.

    A run over other answers that fails or stops tells nothing; if all do, the report counts as depending on them.
    """
    if not run.calls:
        return True
    # Mirrored numbers and other names change a report that compares two answers, or tells whether one has a name.
    changes = (_other_values(run.code), _other_truths, _twice, _no_items, _mirrored(run.code), _other_texts)
    reports = set()
    for change in changes:
        found = _played(run, change)
        if found is None:
            return False
        if found.kind == "finished":
            reports.add(found.result.output)
        if reports - {report}:
            return False
    return bool(reports)


@dataclass(frozen=True, slots=True)
class _Play:
    """A run over changed answers: how it ended, and the arguments of its calls by their positions."""

    end: ProgramRun
    arguments: Mapping[str, Mapping[str, Any]]


def follows(run: FinishedRun, sources: Sequence[Mapping[str, Source]]) -> bool:
    """Return whether the program takes values of answers by their place: from other items if lists are turned round."""
    play = _play(run, _turned)
    if play is None or play.end.kind != "finished":
        return False
    bodies = [_turned(call.sent.body) for call in run.calls]
    for call, found in zip(run.calls, sources, strict=True):
        given = {pointer_of(path): value for path, value in scalars(play.arguments.get(call.sent.position, {}))}
        for pointer, source in found.items():
            if source.call and text_of(given.get(pointer)) != text_of(_value(bodies[source.call - 1], source.at)):
                return False
    return True


def _value(body: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer; None if there is none."""
    try:
        for token in parse_pointer(pointer):
            body = body[int(token)] if isinstance(body, list) else body[token]
    except (LookupError, TypeError, ValueError):
        return None
    return body


def _turned(answer: Any) -> Any:
    """Return the answer with all lists in the opposite order."""
    if isinstance(answer, Mapping):
        return {name: _turned(value) for name, value in answer.items()}
    return [_turned(value) for value in reversed(answer)] if isinstance(answer, list) else answer


def _played(run: FinishedRun, change: Callable[[Any], Any]) -> ProgramRun | None:
    play = _play(run, change)
    return None if play is None else play.end


def _play(run: FinishedRun, change: Callable[[Any], Any]) -> _Play | None:
    """Run the program over changed answers, whatever arguments its calls have; None if it makes other calls."""
    recorded = {call.sent.position: call for call in run.calls}
    functions = list(dict.fromkeys(call.sent.function for call in run.calls))
    entries: dict[str, Entry] = {}
    arguments: dict[str, Mapping[str, Any]] = {}
    for _ in range(MOST_RUNS):
        found = run_program(
            run.code,
            functions=functions,
            entries=list(entries.values()),
            clock=run.clock,
            seed=run.seed,
            most=MOST_CALLS,
        )
        if found.kind != "calls":
            return _Play(found, arguments)
        for wanted in found.calls:
            call = recorded.get(wanted.position)
            if call is None or call.sent.function != wanted.function:
                return None
            arguments[wanted.position] = given_by(call.operation, wanted)
            entries[wanted.position] = _changed(call.entry, wanted.digest, change)
    return None


def given_by(operation: Operation, wanted: WantedCall) -> Mapping[str, Any]:
    """Return the arguments of a call that a program waits for; none if they do not fit the operation."""
    keywords = {name: value for name, value in wanted.keywords.items() if name != PAGES}
    try:
        given: Mapping[str, Any] = storable_value(arguments_of(operation, keywords, wanted.positional))
    except ValueError:
        return {}
    return given


def _changed(entry: Entry, digest: str, change: Callable[[Any], Any]) -> Entry:
    """Return the answer to a call with changed values."""
    if entry.media == "json":
        try:
            value = change(json.loads(entry.body))
        except ValueError:
            return replace(entry, digest=digest)
        return replace(entry, digest=digest, body=json.dumps(value).encode())
    if entry.media == "text":
        text = change(entry.body.decode("utf-8", "replace"))
        return replace(entry, digest=digest, body=text.encode())
    return replace(entry, digest=digest)


def _other_values(code: str) -> Callable[[Any], Any]:
    """Return the change of texts and numbers; those that the code contains stay, because it may look for them."""
    folded = code.casefold()

    def change(value: Any) -> Any:
        if isinstance(value, str):
            return value if value and value.casefold() in folded else _other_text(value)
        return value + 1

    return _of_values(code, change)


def _of_values(code: str, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the change of the texts and numbers in an answer, without numbers that the code contains."""
    sought = frozenset(_NUMBER.findall(code))

    def changed(value: Any) -> Any:
        if isinstance(value, bool) or value is None or (not isinstance(value, str) and str(value) in sought):
            return value
        return change(value)

    return lambda answer: _mapped(answer, changed)


def _other_text(text: str) -> str:
    """Return another text of the same form, so that dates, numbers and addresses in it stay readable."""
    if _DATE.match(text):
        return f"{int(text[:4]) % 9998 + 1:04}{text[4:]}"
    other = _DIGIT.sub(lambda digit: str((int(digit[0]) + 1) % 10), text)
    return f"{other}x" if other == text else other


def _mirrored(code: str) -> Callable[[Any], Any]:
    """Return the change that turns the order of numbers and dates round."""

    def change(value: Any) -> Any:
        if isinstance(value, str):
            return f"{9999 - int(value[:4]):04}{value[4:]}" if _DATE.match(value) else value
        return 1_000_000 - value

    return _of_values(code, change)


def _other_texts(answer: Any) -> Any:
    """Return the answer with other texts, those too for which the code may look."""
    return _mapped(answer, lambda value: _other_text(value) if isinstance(value, str) and value else value)


def _other_truths(answer: Any) -> Any:
    return _mapped(answer, lambda value: not value if isinstance(value, bool) else value)


def _twice(answer: Any) -> Any:
    """Return the answer with the items of each list twice."""
    if isinstance(answer, Mapping):
        return {name: _twice(value) for name, value in answer.items()}
    return answer * 2 if isinstance(answer, list) else answer


def _no_items(answer: Any) -> Any:
    """Return the answer with all lists empty."""
    if isinstance(answer, Mapping):
        return {name: _no_items(value) for name, value in answer.items()}
    return [] if isinstance(answer, list) else answer


def _mapped(answer: Any, change: Callable[[Any], Any]) -> Any:
    """Return the answer with each scalar changed."""
    if isinstance(answer, Mapping):
        return {name: _mapped(value, change) for name, value in answer.items()}
    if isinstance(answer, list):
        return [_mapped(value, change) for value in answer]
    return change(answer)

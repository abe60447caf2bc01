"""Writes a program without loops for calls that no single program made; it passes values of answers on to later calls.

The data flow has to be plain: each value has a place in an answer that a rule can find without a model. The answer that
a model worded becomes a template.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from restgpt.calling.origin.grounding import ids_in
from restgpt.recipes.guards.pattern import pattern_of, scalars, value_at
from restgpt.recipes.recording.finished import FinishedCall, FinishedRun, NotSavableError
from restgpt.recipes.recording.inputs import SMALL, Argument, arguments_in, is_entity
from restgpt.recipes.recording.sources import Answers, Found
from restgpt.specs.docs.words.keyword import BODY, PAGES, keywords
from restgpt.specs.reading.pointer import format_pointer
from restgpt.tools.evidence import Evidence, text_of
from restgpt.tools.quotation import named as shown
from restgpt.tools.sandbox.guest.digest import call_text, digest_of

SHORTEST = 2
"""How many characters a text of an answer has at least to be looked for in the answer of a model."""

MOST_SHOWN = 5
"""How many words without a source a message names."""

_WORD = re.compile(r"[^\W_](?:[\w'’.,:/@-]*[^\W_])?")
_START = re.compile(r"(?:^|[.!?:]\s+|\n\s*(?:[-*]\s+)?|[\"“(]\s*)$")


@dataclass
class _Program:
    """The program as it is written: the lines so far, and the values that have a variable."""

    calls: Sequence[FinishedCall]
    said: str
    lines: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.evidence = Evidence(self.said)
        self.answers = Answers([call.sent for call in self.calls])

    def value(self, expression: str) -> str:
        """Return the variable of an expression; it gets one at its first use."""
        if expression not in self.variables:
            self.variables[expression] = f"value{len(self.variables) + 1}"
            self.lines.append(f"{self.variables[expression]} = {expression}")
        return self.variables[expression]


def straight(run: FinishedRun) -> FinishedRun:
    """Return the run with a straight program that makes its calls and prints its report.

    `run` has the calls in the order in which they were made. Raises NotSavableError with the value whose origin is not
    plain.
    """
    program = _Program(run.calls, run.said)
    _check_repeated(program)
    made = [_called(program, number, call) for number, call in enumerate(run.calls, 1)]
    report = _reported(program, run.report)
    code = "\n".join([*program.lines, f"print({report})", ""])
    return replace(run, code=code, calls=tuple(made), seen=())


def _check_repeated(program: _Program) -> None:
    """Raise NotSavableError if calls go through the items of a list: how many there are depends on the answer."""
    taken: dict[tuple[str, str, int, str], set[str]] = {}
    for number, call in enumerate(program.calls, 1):
        for argument in arguments_in(call.operation, call.given):
            place = _origin(program, argument, argument.value, number)
            if place is not None:
                key = (call.sent.function, argument.pointer, place.number, pattern_of(place.path))
                taken.setdefault(key, set()).add(place.pointer)
    for (function, pointer, number, _), pointers in taken.items():
        if len(pointers) > 1:
            raise NotSavableError(
                f"The run calls {function} for {len(pointers)} items of the answer of call {number} ({pointer}). With "
                "other inputs there are more or fewer of them. Ask again with programs (execution: program), and save "
                "that run."
            )


def _origin(program: _Program, argument: Argument, value: Any, number: int) -> Found | None:
    """Return the place in an earlier answer that a value came from; None if the user or the document gave it."""
    if isinstance(value, list | bool) or argument.is_fixed or program.evidence.says(value):
        return None
    return program.answers.best(value, argument.keyword, before=number)


def _called(program: _Program, number: int, call: FinishedCall) -> FinishedCall:
    """Write the line of a call, and return the call at its place in the new program."""
    arguments = {argument.pointer: argument for argument in arguments_in(call.operation, call.given)}

    def leaf(pointer: str, value: Any) -> str:
        argument = arguments.get(pointer)
        if argument is None:
            return repr(value)
        if isinstance(value, list):
            return f"[{', '.join(_given(program, number, call, argument, item) for item in value)}]"
        return _given(program, number, call, argument, value)

    given, expressions = dict(_keywords(call)), []
    pointers = {item.name: f"/{item.location}/{item.field}" for item in keywords(call.operation)}
    for name, value in given.items():
        written = repr(value) if name == PAGES else _written(value, pointers.get(name, f"/{BODY}"), leaf)
        expressions.append(f"{name}={written}")
    program.lines.append(f"answer{number} = {call.sent.function}({', '.join(expressions)})")
    position, digest = str(number - 1), digest_of(call_text(call.sent.function, [], given))
    return replace(
        call,
        sent=replace(call.sent, position=position, line=len(program.lines)),
        entry=replace(call.entry, position=position, digest=digest),
    )


def _given(program: _Program, number: int, call: FinishedCall, argument: Argument, value: Any) -> str:
    """Return the expression of an argument or an item of one. Raises NotSavableError for an id of unknown origin."""
    what = f"the {argument.keyword} of {call.sent.function}"
    place = _origin(program, argument, value, number)
    if place is not None:
        return _expression(program, place, what)
    is_id = any(text_of(value) == text_of(found) for _, _, found in ids_in(call.given))
    if is_id and not argument.is_fixed and not program.evidence.has_id(value):
        raise NotSavableError(
            f"The run calls {call.sent.function} with the {argument.keyword} {shown(text_of(value))}, which stands "
            "neither in the instruction nor in an answer. Name it in the instruction, and save that run."
        )
    return repr(value)


def _keywords(call: FinishedCall) -> Iterator[tuple[str, Any]]:
    """Yield the keyword arguments of a call of the operation's function."""
    names = {(item.location, item.field): item.name for item in keywords(call.operation)}
    for place, group in call.given.items():
        if place == BODY:
            yield BODY, group
        else:
            for name, value in group.items():
                yield names[place, name], value
    if call.pages > 1:
        yield PAGES, call.pages


def _written(value: Any, pointer: str, leaf: Any) -> str:
    """Return the expression of an argument: literals, with the expressions of its leaves."""
    if isinstance(value, Mapping):
        parts = [
            f"{name!r}: {_written(inner, pointer + format_pointer([name]), leaf)}" for name, inner in value.items()
        ]
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list) and not all(isinstance(item, str | int | float) for item in value):
        items = [_written(inner, f"{pointer}/{index}", leaf) for index, inner in enumerate(value)]
        return f"[{', '.join(items)}]"
    return str(leaf(pointer, value))


def _expression(program: _Program, place: Found, what: str) -> str:
    """Return the expression of a value in an answer. Raises NotSavableError if a model chose the item."""
    body = program.calls[place.number - 1].sent.body
    text = f"answer{place.number}"
    for depth, part in enumerate(place.path):
        node = value_at(body, place.path[:depth])
        text = _item(program, text, node, part, what) if isinstance(part, int) else f"{text}[{part!r}]"
    return text


def _item(program: _Program, text: str, items: list[Any], index: int, what: str) -> str:
    """Return the expression of an item: the one that the user named, the first or the last."""
    found = _named(program, items, index)
    if found is not None:
        name, value = found
        return f"one({text}, {name}={value!r})" if name.isidentifier() else f"one({text}, **{{{name!r}: {value!r}}})"
    if index == 0:
        return f"{text}[0]"
    if index == len(items) - 1:
        return f"{text}[-1]"
    raise NotSavableError(
        f"{what[:1].upper()}{what[1:]} comes from item {index + 1} of a list of {len(items)}, and a model chose it for "
        "a reason that is not recorded. Ask again with programs (execution: program), and save that run."
    )


def _named(program: _Program, items: list[Any], index: int) -> tuple[str, str] | None:
    """Return the field and the text by which the user named an item, if no other item has it too."""
    item = items[index]
    if len(items) < 2 or not isinstance(item, Mapping):
        return None
    for name, value in item.items():
        if not isinstance(value, str) or not is_entity(value, program.said) or not program.evidence.says(value):
            continue
        alike = [other for other in items if isinstance(other, Mapping) and _folded(other.get(name)) == _folded(value)]
        if len(alike) == 1:
            return str(name), value
    return None


def _folded(value: Any) -> str:
    return " ".join(str(value).split()).casefold()


def _reported(program: _Program, report: str) -> str:
    """Return the expression of the report: an f-string with the values of answers. Raises NotSavableError."""
    parts: list[str] = []
    end, rest = 0, []
    for start, stop, expression in _spans(program, report):
        rest.append((end, start))
        parts += [_escaped(report[end:start]), "{" + program.value(expression) + "}" if expression else ""]
        if not expression:
            parts[-1] = _escaped(report[start:stop])
        end = stop
    rest.append((end, len(report)))
    parts.append(_escaped(report[end:]))
    _check_words(report, rest)
    text = json.dumps("".join(parts), ensure_ascii=False)
    return f"f{text}" if program.variables else json.dumps(report, ensure_ascii=False)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _spans(program: _Program, report: str) -> list[tuple[int, int, str]]:
    """Return the places of values in the report, in order: with an expression, or without one if the user said it."""
    said = {
        text_of(value) for call in program.calls for _, value in scalars(call.given) if program.evidence.says(value)
    }
    found: list[tuple[int, int, str]] = []
    free = [True] * len(report)
    texts = sorted({*said, *_texts_in(program, report)}, key=lambda text: (-len(text), text))
    for text in texts:
        expression = None if text in said else _plain(program, text)
        if expression is None and text not in said:
            continue
        for match in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", report):
            start, stop = match.span()
            if all(free[start:stop]) and not _is_inside_number(report, start, stop):
                free[start:stop] = [False] * (stop - start)
                found.append((start, stop, expression or ""))
    return sorted(found)


def _is_inside_number(text: str, start: int, stop: int) -> bool:
    """Return whether a number in a text goes on beyond this place, as 5 does in 5.2."""
    before = re.search(r"[0-9][.,]$", text[:start]) is not None and text[start].isdigit()
    return before or (re.match(r"[.,][0-9]", text[stop:]) is not None and text[stop - 1].isdigit())


def _texts_in(program: _Program, report: str) -> Iterator[str]:
    """Yield the texts of values in answers that the report contains and that are worth looking for."""
    for call in program.calls:
        for _, value in scalars(call.sent.body):
            if isinstance(value, bool):
                continue
            text = text_of(value)
            is_worth = is_entity(text, program.said) and len(text) >= SHORTEST if isinstance(value, str) else True
            if is_worth and text in report:
                yield text


def _plain(program: _Program, text: str) -> str | None:
    """Return the expression of a value in the report, if it is plain where it came from."""
    expressions: list[str] = []
    for place in program.answers.places(text):
        try:
            expressions.append(_expression(program, place, ""))
        except NotSavableError:
            continue
    is_number = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text) is not None
    is_small = is_number and abs(float(text)) < SMALL and "." not in text
    if not expressions or (is_small and len(program.answers.places(text)) > 1):
        return None
    return min(expressions, key=lambda item: (item.count("["), len(item)))


def _check_words(report: str, rest: Iterable[tuple[int, int]]) -> None:
    """Raise NotSavableError for numbers and names in the report that stand in no answer at a plain place."""
    unknown = []
    for start, stop in rest:
        for match in _WORD.finditer(report, start, stop):
            word = match[0]
            has_digit = any(char.isdigit() for char in word)
            is_name = any(char.isupper() for char in word[1:]) or (
                word[0].isupper() and not _is_sentence_start(report, match)
            )
            if has_digit or is_name:
                unknown.append(word)
    if unknown:
        listed = ", ".join(map(shown, list(dict.fromkeys(unknown))[:MOST_SHOWN]))
        raise NotSavableError(
            f"A model worded the answer of this run, and it is not plain where these words came from: {listed}. Ask "
            "again with programs (execution: program), so that a program prints the answer, and save that run."
        )


def _is_sentence_start(report: str, match: re.Match[str]) -> bool:
    """Return whether a word with a capital may be an ordinary one: it begins a sentence and a small word follows."""
    after = re.match(r"\s+(\S)", report[match.end() :])
    follows_small = after is None or not after[1].isupper()
    return follows_small and (match[0] == "I" or _START.search(report[: match.start()]) is not None)

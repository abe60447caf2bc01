"""Save a finished run of a program as a recipe, by rule: its inputs, what it used of each operation, and its links.

Nothing is sent. The program runs again over the recorded answers: as it is, for the fields that it reads, and with its
inputs, to show that it makes the same calls and prints the same report.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from restgpt.calling.origin.evidence import Evidence, text_of
from restgpt.calling.origin.grounding import ids_in
from restgpt.calling.origin.provenance import is_literal, literals
from restgpt.recipes.guards.closure import used_operation
from restgpt.recipes.guards.links import links_of
from restgpt.recipes.guards.pattern import scalars
from restgpt.recipes.recipe import MOST_PROGRAM, Recipe, RecipeApi, Saved, SavedCall, Source
from restgpt.recipes.recording.finished import FinishedCall, FinishedRun, NotSavableError
from restgpt.recipes.recording.inputs import Argument, Input, arguments_in, inputs_of, is_entity, named, noun_of
from restgpt.recipes.recording.sources import Answers
from restgpt.recipes.recording.variation import MOST_CALLS, follows, given_by, is_constant
from restgpt.tools.sandbox.parametrize import Parametrized, Replacement, parametrized
from restgpt.tools.sandbox.program import ProgramRun, run_program
from restgpt.tools.text.quotation import named as shown
from restgpt.tools.text.redaction import Redactor, is_secret_name

SHORTEST_COPY = 3
"""How many characters a text has at least to be taken for a copy of a value in an earlier answer."""

SECRET = (
    "The program, one of its inputs, or what it relies on contains a known secret, and secrets never reach a recipe. "
    "Give the secret as a credential of the API, and save a run without it."
)
"""Why a run with a secret is not saved."""

MARK = " Xq"
"""What is appended to a value to see what depends on it."""


@dataclass(frozen=True, slots=True)
class _Made:
    """The program with its inputs."""

    code: str
    inputs: tuple[Input, ...]
    parametrized: Parametrized

    @property
    def values(self) -> dict[str, Any]:
        return {item.name: item.example for item in self.inputs}


def saved(
    run: FinishedRun,
    *,
    name: str,
    at: str,
    by: str = "",
    description: str = "",
    redactor: Redactor | None = None,
) -> Recipe:
    """Return a finished run as a recipe; raises NotSavableError with the reason."""
    _check_edited(run)
    _check_copies(run)
    before = _replayed(run)
    run = _with_reads(run, before)
    report = before.result.output
    if not any(call.sent.is_change for call in run.calls) and is_constant(run, report):
        raise NotSavableError(
            "The report of this run depends on no answer: a model wrote its text, so other inputs could not change it. "
            "Run the instruction again so that the program prints what the API answered, and save that run."
        )
    made = _parametrized(run, report)
    _check_secrets(made, redactor)
    sent = [call.sent for call in run.calls]
    sources = _sources(run, made)
    written = [source.value for found in sources for source in found.values() if source.value is not None]
    links = links_of(sent, made.values, literals=written)
    operations = _operations(run)
    redactor = (redactor or Redactor()).extended(_hidden(made))
    instruction = redactor.text(run.instruction)
    recipe = Recipe(
        name=name,
        description=redactor.text(description) or described(instruction, made.inputs),
        saved=Saved(at=at, by=by, instruction=instruction),
        apis=_apis(run),
        writes=run.writes if run.writes != "dry-run" else "ask",
        inputs=_schema(made.inputs),
        program=made.code,
        operations=operations,
        links=tuple(links),
        constants=tuple(_constants(run, made)),
        calls=tuple(
            SavedCall(function=call.function, arguments=found) for call, found in zip(sent, sources, strict=True)
        ),
        is_linear=_is_linear(run, made, sources, [link.choice for link in links]),
    )
    if redactor.json(document := recipe.to_json()) != document:
        raise NotSavableError(SECRET)
    return recipe


def described(instruction: str, inputs: Sequence[Input]) -> str:
    """Return the instruction with the saved values replaced by the names of their inputs in braces."""
    text = " ".join(instruction.split())
    single = [(str(value), item.name) for item in inputs for value in _values(item)]
    for value, name in sorted(single, key=lambda pair: -len(pair[0])):
        text = re.sub(rf"(?<![\w{{]){re.escape(value)}(?![\w}}])", f"{{{name}}}", text, flags=re.IGNORECASE)
    return re.sub(r"(\{\w+\})(?:(?:,| and|, and) \1)+", r"\1", text)


def _values(item: Input) -> tuple[Any, ...]:
    return item.value if isinstance(item.value, tuple) else (item.value,)


def _functions(run: FinishedRun) -> list[str]:
    return list(dict.fromkeys(call.sent.function for call in run.calls))


def _replayed(run: FinishedRun) -> ProgramRun:
    """Run the program over the recorded answers; raises NotSavableError if it does not end with a report."""
    found = _run(run, run.code, None)
    if found.kind == "finished":
        return found
    raise NotSavableError(f"The program does not end as it did, if it runs again over the same answers: {_end(found)}")


def _run(run: FinishedRun, code: str, inputs: Mapping[str, Any] | None) -> ProgramRun:
    return run_program(
        code,
        functions=_functions(run),
        entries=[call.entry for call in run.calls],
        clock=run.clock,
        seed=run.seed,
        most=MOST_CALLS,
        inputs=inputs,
        traced=True,
    )


def _end(found: ProgramRun) -> str:
    if found.kind == "calls":
        return f"it asks for {found.calls[0].function} on line {found.calls[0].line}, which was not called there."
    return found.problem or found.text or f"it ended as {found.kind}."


def _with_reads(run: FinishedRun, found: ProgramRun) -> FinishedRun:
    """Return the run with the fields that its program reads in each answer; raises NotSavableError if they are many."""
    if found.is_cut:
        raise NotSavableError(
            "The program reads so many different fields of the answers that a recipe could not compare them later. "
            "Ask for fewer fields, and save that run."
        )
    calls = [
        replace(call, sent=replace(call.sent, reads=found.reads.get(call.sent.position, {}))) for call in run.calls
    ]
    return replace(run, calls=tuple(calls))


def _check_edited(run: FinishedRun) -> None:
    """Raise NotSavableError for a change that was sent with other arguments than those of the program."""
    entries = [call.entry for call in run.calls if not call.sent.is_change]
    changes = {call.sent.position: call for call in run.calls if call.sent.is_change}
    for _ in range(MOST_CALLS):
        if not changes:
            return
        found = run_program(
            run.code, functions=_functions(run), entries=entries, clock=run.clock, seed=run.seed, most=MOST_CALLS
        )
        asked = [call for call in found.calls if call.position in changes]
        if not asked:
            return
        for wanted in asked:
            call = changes.pop(wanted.position)
            if given_by(call.operation, wanted) != call.given:
                raise NotSavableError(
                    f"A person edited the arguments of {wanted.function} at the approval, so the program does not "
                    "contain what was sent. Ask again with the edited values in the instruction, and save that run."
                )
            entries.append(call.entry)


def _check_copies(run: FinishedRun) -> None:
    """Raise NotSavableError for a value that a model copied into the code, and for an id of unknown origin."""
    code, said = literals(run.code), Evidence(run.said, run.notes)
    seen = {text_of(value) for body in run.seen for _, value in scalars(body)}
    for call in run.calls:
        ids = {text_of(value) for _, _, value in ids_in(call.given)}
        for argument in arguments_in(call.operation, call.given):
            values = argument.value if isinstance(argument.value, list) else [argument.value]
            for value in values:
                if argument.is_fixed or said.says(value) or not is_literal(value, code):
                    continue
                is_copy = text_of(value) in seen and _is_telling(value, run.said)
                if is_copy or (text_of(value) in ids and text_of(value) in seen):
                    raise CopiedValueError(value, f"the argument {argument.keyword} of {call.sent.function}")
                if text_of(value) in ids and not said.has_id(value):
                    raise NotSavableError(
                        f"The program calls {call.sent.function} with the {argument.keyword} {shown(text_of(value))}, "
                        "which stands neither in the instruction nor in an answer. Name it in the instruction, and "
                        "save that run."
                    )


class CopiedValueError(NotSavableError):
    """A literal of the program is a value of an earlier answer, which the model copied."""

    def __init__(self, value: Any, where: str) -> None:
        super().__init__(
            f"The program has {shown(text_of(value))} for {where}, which a model copied from an earlier answer: with "
            "other inputs it would be another value. Ask again for everything in one instruction, and save that run."
        )


def _is_telling(value: Any, said: str) -> bool:
    """Return whether a value is so peculiar that it is not in an answer by chance."""
    text = text_of(value)
    if not isinstance(value, str):
        return len(text) >= SHORTEST_COPY
    return len(text) >= SHORTEST_COPY and is_entity(text, said)


def _parametrized(run: FinishedRun, report: str) -> _Made:
    """Return the program with inputs; literals whose replacement changes a call or the report stay as they are."""
    functions = _functions(run)
    with_lists = inputs_of(run.calls, run.said)
    lists = [item for item in with_lists if isinstance(item.value, tuple)]
    used = _replaced(run.code, lists, functions)
    kept = [item for item in lists if _name_of(item, lists) in used.used]
    values = {value for item in kept for value in _values(item)}
    single = [item for item in inputs_of(run.calls, run.said, lists=False) if item.value not in values]
    chosen = [*kept, *(item for item in single if item not in kept)]
    chosen += _of_texts(run, _replaced(run.code, chosen, functions), chosen)
    made = _made(run, chosen, functions)
    safe = [item for item in chosen if _is_chosen(item, made)]
    made = _made(run, safe, functions)
    if not _is_same(run, made, report):
        safe = []
        for item in made.inputs:
            if _is_same(run, _made(run, [*safe, item], functions), report):
                safe.append(item)
        made = _made(run, safe, functions)
    return _without_labels(run, made, report, functions)


def _replaced(code: str, inputs: Sequence[Input], functions: Sequence[str]) -> Parametrized:
    replacements = [replacement for item in named(inputs) for replacement in _replacements(item)]
    found = parametrized(code, replacements, functions=functions)
    if found.problem:
        raise NotSavableError(f"The program cannot be read: {found.problem}")
    return found


def _replacements(item: Input) -> Iterator[Replacement]:
    """Yield the replacements of an input: its value, and the text of a number in sentences."""
    yield Replacement(item.name, item.value, item.keyword)
    if isinstance(item.value, int | float):
        yield Replacement(item.name, str(item.value))


def _name_of(item: Input, inputs: Sequence[Input]) -> str:
    """Return the distinct name of one of several inputs."""
    return named(inputs)[list(inputs).index(item)].name


def _is_chosen(item: Input, made: _Made) -> bool:
    return any((item.value, item.keyword) == (other.value, other.keyword) for other in made.inputs)


def _made(run: FinishedRun, inputs: Sequence[Input], functions: Sequence[str]) -> _Made:
    """Return the program with those of the inputs that it has a literal for."""
    found = _replaced(run.code, inputs, functions)
    distinct = tuple(item for item in named(inputs) if item.name in found.used)
    if len(found.code) > MOST_PROGRAM:
        raise NotSavableError(f"The program has {len(found.code)} characters; a recipe has at most {MOST_PROGRAM}.")
    return _Made(found.code, distinct, found)


def _is_same(run: FinishedRun, made: _Made, report: str) -> bool:
    """Return whether the program with its inputs makes the same calls and prints the same report."""
    found = _run(run, made.code, made.values)
    return found.kind == "finished" and found.result.output == report


def _of_texts(run: FinishedRun, found: Parametrized, chosen: Sequence[Input]) -> list[Input]:
    """Return inputs for literals that are no arguments but names that the user said, such as of an item to choose."""
    said = Evidence(run.said)
    known = {value for item in chosen for value in _values(item)}
    names = {text_of(value).casefold(): (place.name, call) for place, value, call in _fields(run)}
    more = []
    for text in dict.fromkeys(found.literals):
        if text in known or not (is_entity(text, run.said) and said.says(text)):
            continue
        field, call = names.get(text.casefold(), ("", None))
        noun = noun_of(call.operation) if call is not None else ""
        name = "_".join(filter(None, (noun, field or "name")))
        more.append(Input(name, text, {"type": "string"}))
    return more


def _fields(run: FinishedRun) -> Iterator[tuple[Any, Any, FinishedCall]]:
    answers = Answers([call.sent for call in run.calls])
    for call in run.calls:
        for _, value in scalars(call.sent.body):
            if isinstance(value, str):
                for place in answers.places(value)[:1]:
                    yield place, value, call


def _without_labels(run: FinishedRun, made: _Made, report: str, functions: Sequence[str]) -> _Made:
    """Drop inputs that only the text of the report contains, and numbers that are also in texts which stay as they are.

    Another value would change nothing else, or the report would still have the saved one.
    """
    arguments = {text_of(value) for call in run.calls for _, value in scalars(call.given)}
    kept = []
    for item in made.inputs:
        values = [text_of(value) for value in _values(item)]
        is_argument = any(value in argument for value in values for argument in arguments)
        is_left = isinstance(item.value, int | float) and any(
            Evidence(text).has_word(str(item.value)) for text in made.parametrized.literals
        )
        if not is_left and (is_argument or _is_relevant(run, made, item, report)):
            kept.append(item)
    return made if len(kept) == len(made.inputs) else _made(run, kept, functions)


def _is_relevant(run: FinishedRun, made: _Made, item: Input, report: str) -> bool:
    """Return whether another text for an input changes more than this text in the report."""
    if not isinstance(item.value, str):
        return True
    other = item.value + MARK
    found = _run(run, made.code, {**made.values, item.name: other})
    return found.kind != "finished" or found.result.output != report.replace(item.value, other)


def _check_secrets(made: _Made, redactor: Redactor | None) -> None:
    if redactor and (redactor.text(made.code) != made.code or redactor.json(made.values) != made.values):
        raise NotSavableError(SECRET)


def _schema(inputs: Sequence[Input]) -> dict[str, Any]:
    required = [item.name for item in inputs if item.is_required or is_secret_name(item.name)]
    listed = {"required": required} if required else {}
    return {"type": "object", "properties": {item.name: _property(item) for item in inputs}, **listed}


def _property(item: Input) -> dict[str, Any]:
    """Return the schema of an input; one with the name of a secret keeps no value."""
    hidden = ("examples", "default") if is_secret_name(item.name) else ()
    return {key: value for key, value in item.property().items() if key not in hidden}


def _hidden(made: _Made) -> list[str]:
    """Return the values of inputs with the names of secrets, which other places of the file may not show either."""
    return [text_of(value) for item in made.inputs if is_secret_name(item.name) for value in _values(item)]


def _operations(run: FinishedRun) -> tuple[Any, ...]:
    found = []
    for function in _functions(run):
        calls = [call for call in run.calls if call.sent.function == function]
        operation = calls[0].operation
        found.append(used_operation(function, operation, [call.sent for call in calls], api=operation.api.name))
    # A branch that this run did not take calls them.
    found += [used_operation(name, operation, [], api=operation.api.name) for name, operation in run.others.items()]
    return tuple(found)


def _apis(run: FinishedRun) -> tuple[RecipeApi, ...]:
    operations = [*(call.operation for call in run.calls), *run.others.values()]
    apis = {operation.api.name: operation.api for operation in operations}
    return tuple(RecipeApi(name=name, title=api.title, version=api.version) for name, api in apis.items())


def _sources(run: FinishedRun, made: _Made) -> list[dict[str, Source]]:
    """Return the sources of the scalar arguments of each call; a list that is one input has one source."""
    origins = _Origins(made, Answers([call.sent for call in run.calls]), literals(run.code))
    found = []
    for number, call in enumerate(run.calls, 1):
        sources: dict[str, Source] = {}
        for argument in arguments_in(call.operation, call.sent.arguments):
            value, pointer = argument.value, argument.pointer
            if not isinstance(value, list):
                sources[pointer] = origins.of(value, argument, number)
            elif (whole := origins.input(value, argument.keyword)) is not None:
                sources[pointer] = whole
            else:
                items = enumerate(value)
                sources |= {f"{pointer}/{index}": origins.of(item, argument, number) for index, item in items}
        found.append(sources)
    return found


@dataclass(frozen=True, slots=True)
class _Origins:
    """Finds the sources of the values of arguments."""

    made: _Made
    answers: Answers
    code: Evidence

    def input(self, value: Any, keyword: str) -> Source | None:
        """Return the input that is this value; None if there is none."""
        for item in self.made.inputs:
            if text_of(item.example) == text_of(value) and item.keyword in ("", keyword):
                return Source(input=item.name)
        return None

    def of(self, value: Any, argument: Argument, number: int) -> Source:
        """Return the source of a scalar; an empty source if the program computed it."""
        if (given := self.input(value, argument.keyword)) is not None:
            return given
        if any(isinstance(item.value, tuple) and value in item.value for item in self.made.inputs):
            return Source()
        is_written = is_literal(value, self.code) or isinstance(value, bool) or argument.is_fixed
        if not is_written and (place := self.answers.best(value, argument.keyword, before=number)) is not None:
            return Source(call=place.number, at=place.pointer)
        if isinstance(value, str) and (text := _template(value, self.made.inputs)):
            return Source(text=text)
        return Source(value=value) if is_written else Source()


def _template(text: str, inputs: Sequence[Input]) -> str:
    """Return a text with the values of inputs as names in braces; empty if it contains none."""
    if "{" in text or "}" in text:
        return ""
    found = text
    for item in sorted(inputs, key=lambda item: -len(text_of(item.example))):
        if isinstance(item.value, str) and not item.keyword:
            found = re.sub(rf"(?<![\w{{]){re.escape(item.value)}(?![\w}}])", f"{{{item.name}}}", found)
    return found if found != text else ""


def _is_linear(run: FinishedRun, made: _Made, sources: Sequence[Mapping[str, Source]], choices: Sequence[str]) -> bool:
    """Return whether the program makes exactly these calls, each once, with arguments that are not computed."""
    sites = made.parametrized.sites
    if len(sites) != len(run.calls) or any(site.is_repeated for site in sites):
        return False
    known = all(source != Source() for found in sources for source in found.values())
    return known and all(choice in ("only", "first", "last") for choice in choices) and follows(run, sources)


def _constants(run: FinishedRun, made: _Made) -> list[Any]:
    """Return the literal arguments that the user had said and that are no inputs."""
    said, code = Evidence(run.said), literals(run.code)
    known = {text_of(value) for item in made.inputs for value in _values(item)}
    found: dict[str, Any] = {}
    for call in run.calls:
        for argument in arguments_in(call.operation, call.given):
            for value in argument.value if isinstance(argument.value, list) else [argument.value]:
                text = text_of(value)
                if text not in known and said.says(value) and is_literal(value, code):
                    found.setdefault(text, value)
    return list(found.values())

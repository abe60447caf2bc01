"""Save a finished run of a program as a recipe, by rule: its program with inputs, and a key of each operation.

Nothing is sent. The program runs again over the recorded answers: as it is, and with its inputs, to show that it makes
the same calls and prints the same report.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from restgpt.calling.origin.evidence import Evidence, text_of
from restgpt.calling.origin.provenance import is_literal, literals
from restgpt.recipes.recipe import MOST_PROGRAM, Recipe, RecipeApi, Saved, UsedOperation
from restgpt.recipes.recording.finished import FinishedRun, NotSavableError
from restgpt.recipes.recording.inputs import Input, arguments_in, inputs_of, is_entity
from restgpt.specs import Operation
from restgpt.specs.reading.tree import places_in
from restgpt.tools.sandbox.literals import Parametrized, Replacement, parametrized
from restgpt.tools.sandbox.program import run_program
from restgpt.tools.text.quotation import named as shown
from restgpt.tools.text.redaction import Redactor, is_secret_name

MOST_CALLS = 1000
"""The maximum number of calls that the program may wait for at once."""

SHORTEST_COPY = 3
"""How many characters a text has at least to be taken for a copy of a value in an earlier answer."""

SECRET = (
    "The program, one of its inputs, or what it relies on contains a known secret, and secrets never reach a recipe. "
    "Give the secret as a credential of the API, and save a run without it."
)
"""Why a run with a secret is not saved."""

_ID_NAME = re.compile(r"(^|[_\-.])(id|ids|uuid|guid|uri|uris|sha)$|[a-z](Id|Ids|ID|IDs|Uri|Uris|Uuid)$")


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
    _check_copies(run)
    listed = _parametrized(run, ())
    if listed.is_constant and not any(call.is_change for call in run.calls):
        raise NotSavableError(
            "The report of this run depends on no answer: a model wrote its text, so other inputs could not change it. "
            "Run the instruction again so that the program prints what the API answered, and save that run."
        )
    made, inputs = _with_inputs(run, listed)
    redactor = redactor or Redactor()
    values = {item.name: item.example for item in inputs}
    if redactor.text(made.code) != made.code or redactor.json(values) != values:
        raise NotSavableError(SECRET)
    # Other places of the file may not show the values of inputs with the names of secrets either.
    hidden = [text_of(value) for item in inputs if is_secret_name(item.name) for value in item.values]
    redactor = redactor.extended(hidden)
    instruction = redactor.text(run.instruction)
    recipe = Recipe(
        name=name,
        description=redactor.text(description) or described(instruction, inputs),
        saved=Saved(at=at, by=by, instruction=instruction),
        apis=_apis(run),
        writes=run.writes if run.writes != "dry-run" else "ask",
        inputs=_schema(inputs),
        program=made.code,
        operations=_operations(run),
        constants=tuple(_constants(run, inputs)),
    )
    if redactor.json(document := recipe.to_json()) != document:
        raise NotSavableError(SECRET)
    return recipe


def described(instruction: str, inputs: Sequence[Input]) -> str:
    """Return the instruction with the saved values replaced by the names of their inputs in braces."""
    text = " ".join(instruction.split())
    single = [(str(value), item.name) for item in inputs for value in item.values]
    for value, name in sorted(single, key=lambda pair: -len(pair[0])):
        text = re.sub(rf"(?<![\w{{]){re.escape(value)}(?![\w}}])", f"{{{name}}}", text, flags=re.IGNORECASE)
    return re.sub(r"(\{\w+\})(?:(?:,| and|, and) \1)+", r"\1", text)


def _functions(run: FinishedRun) -> list[str]:
    return list(dict.fromkeys(call.function for call in run.calls))


def _report(run: FinishedRun, code: str, inputs: Sequence[Input] | None) -> tuple[str | None, str]:
    """Return what a program prints over the recorded answers, or None and why it does not come to its end."""
    found = run_program(
        code,
        functions=_functions(run),
        entries=[call.entry for call in run.calls],
        clock=run.clock,
        seed=run.seed,
        most=MOST_CALLS,
        inputs=None if inputs is None else {item.name: item.example for item in inputs},
    )
    if found.kind == "finished":
        return found.result.output, ""
    if found.kind == "calls":
        return None, f"it asks for {found.calls[0].function} on line {found.calls[0].line}, which was not called there."
    return None, found.problem or found.text or f"it ended as {found.kind}."


def _parametrized(run: FinishedRun, inputs: Sequence[Input]) -> Parametrized:
    replacements = [Replacement(item.name, item.value, item.keyword) for item in inputs]
    found = parametrized(run.code, replacements)
    if found.problem:
        raise NotSavableError(f"The program cannot be read: {found.problem}")
    if len(found.code) > MOST_PROGRAM:
        raise NotSavableError(f"The program has {len(found.code)} characters; a recipe has at most {MOST_PROGRAM}.")
    return found


def _with_inputs(run: FinishedRun, listed: Parametrized) -> tuple[Parametrized, list[Input]]:
    """Return the program with inputs; literals whose replacement changes a call or the report stay as they are."""
    report, why = _report(run, run.code, None)
    if report is None:
        raise NotSavableError(f"The program does not end as it did, if it runs again over the same answers: {why}")
    arguments = [item for call in run.calls for item in arguments_in(call.operation, call.arguments)]
    fixed = {text_of(value) for item in arguments if item.is_fixed for value in item.values}

    def is_same(inputs: Sequence[Input]) -> bool:
        return _report(run, _parametrized(run, inputs).code, inputs)[0] == report

    chosen = inputs_of(listed.literals, run.said, fixed)
    if not is_same(chosen):
        safe: list[Input] = []
        for item in chosen:
            safe = [*safe, item] if is_same([*safe, item]) else safe
        chosen = safe
    made = _parametrized(run, chosen)
    return made, [item for item in chosen if item.name in made.used]


def _check_copies(run: FinishedRun) -> None:
    """Raise NotSavableError for a value that a model copied into the code, and for an id of unknown origin."""
    code, said = literals(run.code), Evidence(run.said, run.notes)
    seen = {text_of(value) for body in run.seen for _, value in places_in(body) if isinstance(value, str | int | float)}
    for call in run.calls:
        ids = {text_of(value) for value in _ids_in(call.arguments)}
        for argument in arguments_in(call.operation, call.arguments):
            for value in argument.values:
                if argument.is_fixed or said.says(value) or not is_literal(value, code):
                    continue
                text, where = text_of(value), f"the argument {argument.keyword} of {call.function}"
                if text in seen and (text in ids or _is_telling(value, run.said)):
                    raise NotSavableError(
                        f"The program has {shown(text)} for {where}, which a model copied from an earlier answer: with "
                        "other inputs it would be another value. Ask again for everything in one instruction, and save "
                        "that run."
                    )
                if text in ids and not said.has_id(value):
                    raise NotSavableError(
                        f"The program has {shown(text)} for {where}, which stands neither in the instruction nor in an "
                        "answer. Name it in the instruction, and save that run."
                    )


def _is_telling(value: Any, said: str) -> bool:
    """Return whether a value is so peculiar that it is not in an answer by chance."""
    is_peculiar = not isinstance(value, str) or is_entity(value, said)
    return len(text_of(value)) >= SHORTEST_COPY and is_peculiar


def _schema(inputs: Sequence[Input]) -> dict[str, Any]:
    required = [item.name for item in inputs if item.is_required or is_secret_name(item.name)]
    listed = {"required": required} if required else {}
    return {"type": "object", "properties": {item.name: _property(item) for item in inputs}, **listed}


def _property(item: Input) -> dict[str, Any]:
    """Return the schema of an input; one with the name of a secret keeps no value."""
    hidden = ("examples", "default") if is_secret_name(item.name) else ()
    return {key: value for key, value in item.property().items() if key not in hidden}


def _operations(run: FinishedRun) -> tuple[UsedOperation, ...]:
    """Return the operations that the run called, and those of branches that it did not take."""
    called = {call.function: call.operation for call in run.calls}
    return tuple(_used(function, operation) for function, operation in {**called, **run.others}.items())


def _used(function: str, operation: Operation) -> UsedOperation:
    return UsedOperation(
        function=function,
        api=operation.api.name,
        method=operation.method,
        path=operation.path,
        key=operation.digest,
    )


def _apis(run: FinishedRun) -> tuple[RecipeApi, ...]:
    operations = [*(call.operation for call in run.calls), *run.others.values()]
    apis = {operation.api.name: operation.api for operation in operations}
    return tuple(RecipeApi(name=name, title=api.title, version=api.version) for name, api in apis.items())


def _constants(run: FinishedRun, inputs: Sequence[Input]) -> list[Any]:
    """Return the literal arguments that the user had said and that are no inputs."""
    said, code = Evidence(run.said), literals(run.code)
    known = {text_of(value) for item in inputs for value in item.values}
    found: dict[str, Any] = {}
    for call in run.calls:
        for argument in arguments_in(call.operation, call.arguments):
            for value in argument.values:
                text = text_of(value)
                if text not in known and said.says(value) and is_literal(value, code):
                    found.setdefault(text, value)
    return list(found.values())


def _ids_in(value: Any, name: str = "") -> Iterator[Any]:
    """Every scalar argument with a name of an id, at any depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _ids_in(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _ids_in(inner, name)
    elif isinstance(value, str | int) and not isinstance(value, bool) and _ID_NAME.search(name):
        yield value

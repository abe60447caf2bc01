"""Save the finished run of a thread as a recipe, by rule and without a model: its program with inputs.

Nothing is sent. The program runs again over the kept answers: as it is, and with its inputs, to show that it makes
the same calls and prints the same report.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, cast

from langgraph.store.base import BaseStore

from restgpt.calling.decision import EDITED, Writes
from restgpt.calling.origin.evidence import Evidence, text_of
from restgpt.calling.origin.provenance import is_literal, literals
from restgpt.calling.record import CallSite, Request, seems_to_read, succeeded
from restgpt.nodes.dialogue.conversation import said
from restgpt.nodes.programs.calls import entry_of, waits_of
from restgpt.nodes.run.run import kept_answers
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.recipe_run import current, is_of_recipe, kept_by
from restgpt.nodes.state.records import Step
from restgpt.recipes.recipe import MOST_PROGRAM, Recipe, RecipeApi, Saved, UsedOperation
from restgpt.specs import Catalogue, Operation
from restgpt.specs.effort import within
from restgpt.specs.operation import identifier
from restgpt.specs.reading.tree import places_in
from restgpt.specs.schemas.shape import Shape
from restgpt.tools.errors import StoppingError
from restgpt.tools.response.store import ResponseStore, UnknownHandleError
from restgpt.tools.sandbox.literals import Parametrized, Replacement, parametrized
from restgpt.tools.sandbox.result import Entry
from restgpt.tools.sandbox.runner import run_program
from restgpt.tools.text.quotation import named as shown
from restgpt.tools.text.redaction import Redactor, is_secret_name

MOST_CALLS = 1000
"""The maximum number of calls that the program may wait for at once."""

MOST_STEPS = 200_000
"""How many steps the schemas of one call may take."""

MOST_TOKENS = 200
"""How many words of a longer text are compared with the user's words."""

SHORTEST_COPY = 3
"""How many characters a text has at least to be taken for a copy of a value in an earlier answer."""

SECRET = (
    "The program or one of its inputs contains a known secret, and secrets never reach a recipe. Give the secret as a "
    "credential of the API, and save a run without it."
)
"""Why a run with a secret is not saved."""

STOPPED = {
    "stopped": "its program stopped with a sentence instead of a report",
    "unknown": "it is a dry run that ended where it needed a response that nobody has",
    "rejected": "its program ended at a change that was rejected",
    "failed": "its program failed",
    "budget": "the time or the requests of the instruction were used up",
}
"""Why the run of a program has no report, by how it ended."""

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TOKEN = re.compile(r"""[^\s:;,=|/()\[\]{}<>"“”„«»`+&]+""")
_LABEL = re.compile(r"([A-Za-z_][\w.\-]*)\s*[:=]\s*[\"'“„(]*$")
_DATE = re.compile(r"([0-9]{4})-[0-9]{2}(?:-[0-9]{2})?")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ID_NAME = re.compile(r"(^|[_\-.])(id|ids|uuid|guid|uri|uris|sha)$|[a-z](Id|Ids|ID|IDs|Uri|Uris|Uuid)$")
_TYPES = {str: "string", int: "integer", float: "number"}

Scalar = str | int | float


class NotSavableError(StoppingError):
    """A run cannot become a recipe; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A call of a finished run, with its arguments as the program gave them; `entry` is what the program got."""

    function: str
    arguments: Mapping[str, Any]
    is_change: bool
    operation: Operation
    entry: Entry


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run of one program, with its calls in their order.

    `said` are the words of the user, `instruction` is the last of them. `seen` are the answers that the writer of the
    program had seen, `notes` the user's notes on the APIs. `others` are the operations of the functions that the
    program names and did not call, such as those that it calls after an error.
    """

    code: str
    clock: float
    seed: str
    calls: tuple[FinishedCall, ...]
    said: str
    instruction: str
    seen: tuple[Any, ...] = ()
    notes: str = ""
    writes: Writes = "ask"
    others: Mapping[str, Operation] = field(default_factory=dict)
    waits: tuple[Entry, ...] = ()

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations by their functions: those that were called first."""
        return {**{call.function: call.operation for call in self.calls}, **self.others}

    def arguments(self) -> "Iterator[tuple[FinishedCall, Argument]]":
        """Yield the scalar arguments of all calls, and each list of scalars as one argument."""
        yield from ((call, item) for call in self.calls for item in _arguments(call.operation, call.arguments))


@dataclass(frozen=True, slots=True)
class Argument:
    """A scalar argument, or a list of scalars: its name, its values, and whether the document fixes them."""

    keyword: str
    values: Sequence[Any]
    is_fixed: bool


@dataclass(frozen=True, slots=True)
class Input:
    """A value of the program that becomes an input.

    `value` is a tuple for a list. `keyword` limits the replacement to the literals at places of this name. An input
    that is not required has its value as its default.
    """

    name: str
    value: Scalar | tuple[Scalar, ...]
    keyword: str = ""
    is_required: bool = True

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The items of a list, or the one value."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def example(self) -> Any:
        """The saved value as JSON."""
        return list(self.value) if isinstance(self.value, tuple) else self.value

    def property(self) -> dict[str, Any]:
        """Return the JSON Schema of the input; unless it has the name of a secret, its value is the example."""
        plain = {"type": _TYPES[type(self.values[0])]}
        schema = {"type": "array", "items": plain} if isinstance(self.value, tuple) else plain
        if is_secret_name(self.name):
            return schema
        return {**schema, **({} if self.is_required else {"default": self.example}), "examples": [self.example]}


def save_run(
    values: Mapping[str, Any],
    services: Services,
    *,
    name: str,
    store: BaseStore,
    thread: str,
    description: str = "",
) -> Recipe:
    """Return the newest turn of a thread as a recipe; `values` is the state of its checkpoint.

    Raises NotSavableError with the reason why it cannot be saved.
    """
    steps = [step for step in values.get("steps") or () if step["turn"] == int(values.get("turn") or 0)]
    _check_over(values, steps, thread)
    catalogue = services.catalogue(services.defaults.apis)
    responses = ResponseStore(store, cache=services.bodies)
    at = datetime.fromtimestamp(services.now(), UTC).isoformat(timespec="seconds")
    run = _finished(values, steps, catalogue, responses, services.defaults.writes)
    return saved(run, name=name, at=at, description=description, redactor=services.http.redactor(*catalogue.apis))


def _check_over(values: Mapping[str, Any], steps: Sequence[Step], thread: str) -> None:
    """Raise NotSavableError for a turn that is not over, that failed, or that called nothing."""
    where = f"The newest run of the thread {shown(thread)}"
    decision = values.get("decision") or {}
    statuses = {request["status"] for request in values.get("requests") or ()}
    if "asked" in statuses:
        raise NotSavableError(
            f"{where} is paused: a request waits for a decision. Finish it with: restgpt resume {thread}"
        )
    if decision.get("kind") != "end" or "approved" in statuses:
        raise NotSavableError(f"{where} is not finished. Finish it with: restgpt resume {thread}")
    ends = [end for step in steps if (made := step.get("program")) and (end := made.get("end"))]
    is_fulfilled = decision.get("fulfilled", True)
    if ends and ends[-1] in STOPPED and (ends[-1] == "unknown" or not is_fulfilled):
        raise NotSavableError(f"{where} cannot be saved: {STOPPED[ends[-1]]}.")
    if not is_fulfilled:
        raise NotSavableError(f"{where} cannot be saved: it did not fulfil the instruction.")
    if steps and is_of_recipe(steps[-1]):
        raise NotSavableError(f"{where} was made by a recipe, which exists already.")
    if not any(step["requests"] for step in steps):
        raise NotSavableError(f"{where} cannot be saved: it called no operation of an API.")


def _check_outcome(request: Request) -> None:
    """Raise NotSavableError for a call without a usable outcome."""
    name = shown(request["operation"])
    if request["status"] == "rejected":
        raise NotSavableError(f"The run cannot be saved: {name} was rejected. {request['note']}".strip())
    if request["note"] == EDITED:
        raise NotSavableError(
            f"A person edited the arguments of {name} at the approval, so the program does not contain what was sent. "
            "Ask again with the edited values in the instruction, and save that run."
        )
    if request["status"] == "held" or seems_to_read(request) or succeeded(request):
        return
    if not request["response"]:
        raise NotSavableError(
            f"The run cannot be saved: nobody knows whether the change {name} was made. {request['note']}".strip()
        )
    status = request["response"].get("status")
    raise NotSavableError(f"The run cannot be saved: the change {name} failed with status {status}.")


def _finished(
    values: Mapping[str, Any],
    steps: Sequence[Step],
    catalogue: Catalogue,
    responses: ResponseStore,
    writes: Writes,
) -> FinishedRun:
    """Return the run of the one program that carried out the instruction; raises NotSavableError without one."""
    last = steps[-1]
    program, requests = last.get("program"), [request for step in steps for request in step["requests"]]
    tasks = {step["task"] for step in steps if step["requests"]}
    if program is None or program.get("end") != "report" or len(tasks) > 1 or not _is_answer(values, last):
        for request in requests:
            _check_outcome(request)
        raise NotSavableError(
            "The run cannot be saved: no single program made its calls and printed its answer. Ask again with programs "
            "(road: program), for everything in one instruction, and save that run."
        )
    own = {
        request["id"]: place["position"]
        for request in last["requests"]
        if (place := request.get("place")) and place["program"] == program["number"]
    }
    positions = {**{key: position for position, key in program["taken"].items()}, **own}
    _check_complete(requests, positions)
    made = sorted(
        (request for request in requests if request["id"] in positions), key=lambda item: int(positions[item["id"]])
    )
    calls = tuple(_call(item, positions[item["id"]], catalogue, responses) for item in made)
    earlier = [item for step in values["steps"] for item in step["requests"] if item["id"] not in own]
    called, functions = {call.function for call in calls}, catalogue.functions
    named = dict.fromkeys(_WORD.findall(program["code"]))
    return FinishedRun(
        code=program["code"],
        clock=program["clock"],
        seed=program["seed"],
        calls=calls,
        # A healed run may have values of its recipe, which a user had said when that was saved.
        said="\n".join([said(cast(Any, values)), *kept_by(current(values))]),
        instruction=str(values["instruction"]),
        seen=tuple(value for _, value in kept_answers(responses, earlier, most=len(earlier))),
        notes="\n".join(api.notes for api in catalogue.apis if api.notes),
        writes=writes,
        others={name: functions[name] for name in named if name in functions and name not in called},
        waits=tuple(waits_of(program)),
    )


def _is_answer(values: Mapping[str, Any], step: Step) -> bool:
    """Return whether the report of a program is the answer, and not what a model made of it."""
    first = step["result"].partition("\n")[0]
    is_first = bool(first) and str(values.get("answer") or "").startswith(first)
    return is_first or any(item["status"] == "held" for item in step["requests"])


def _check_complete(requests: Iterable[Request], positions: Mapping[str, str]) -> None:
    """Raise NotSavableError if an earlier program made a change that the last one does not contain."""
    for request in requests:
        if request["id"] not in positions and not seems_to_read(request):
            _check_outcome(request)
            raise NotSavableError(
                f"The run cannot be saved: an earlier program made the change {shown(request['operation'])}, which the "
                "last program does not make. Run the instruction again, and save that run."
            )


def _call(request: Request, position: str, catalogue: Catalogue, responses: ResponseStore) -> FinishedCall:
    """Return a call at a position of the program; raises NotSavableError if its answer cannot be used."""
    _check_outcome(request)
    operation = catalogue.lookup(request["operation"])
    if operation is None:
        raise NotSavableError(
            f"The run called {shown(request['operation'])}, which is no operation of the configured APIs now."
        )
    function = catalogue.function_name(operation)
    try:
        if handle := request["response"].get("handle"):
            responses.open(handle)
    except UnknownHandleError:
        raise NotSavableError(
            f"The response to {function} is not kept any more, so the program cannot run over it again. Run the "
            "instruction once more, and save that run."
        ) from None
    place = request.get("place") or cast(CallSite, {"digest": ""})
    entry = entry_of(responses, request, place, position)
    return FinishedCall(function, request["arguments"], not seems_to_read(request), operation, entry)


def saved(run: FinishedRun, *, name: str, at: str, description: str = "", redactor: Redactor | None = None) -> Recipe:
    """Return a finished run as a recipe; raises NotSavableError with the reason."""
    _check_copies(run)
    listed = _parametrized(run, ())
    if listed.is_constant and not any(call.is_change for call in run.calls):
        raise NotSavableError(
            "The report of this run depends on no response: a model wrote its text, so other inputs could not change "
            "it. Run the instruction again so that the program prints what the API answered, and save that run."
        )
    made, inputs = _with_inputs(run, listed)
    redactor = redactor or Redactor()
    values = {item.name: item.example for item in inputs}
    if redactor.text(made.code) != made.code or redactor.json(values) != values:
        raise NotSavableError(SECRET)
    # Other places of the file may not show the values of inputs with the names of secrets either.
    redactor = redactor.extended([text_of(one) for item in inputs if is_secret_name(item.name) for one in item.values])
    instruction = redactor.text(run.instruction)
    required = [item.name for item in inputs if item.is_required or is_secret_name(item.name)]
    properties = {item.name: item.property() for item in inputs}
    apis = {operation.api.name: operation.api for operation in run.operations.values()}
    recipe = Recipe(
        name=name,
        description=redactor.text(description) or _described(instruction, inputs),
        saved=Saved(at=at, by=f"restgpt {version('restgpt')}", instruction=instruction),
        apis=tuple(RecipeApi(name=key, title=api.title, version=api.version) for key, api in apis.items()),
        writes=run.writes if run.writes != "dry-run" else "ask",
        inputs={"type": "object", "properties": properties, **({"required": required} if required else {})},
        program=made.code,
        operations=tuple(_used(function, operation) for function, operation in run.operations.items()),
        constants=tuple(_constants(run, listed, inputs)),
    )
    if redactor.json(document := recipe.to_json()) != document:
        raise NotSavableError(SECRET)
    return recipe


def _used(function: str, operation: Operation) -> UsedOperation:
    place = {"method": operation.method, "path": operation.path}
    return UsedOperation(function=function, api=operation.api.name, key=operation.digest, **place)


def _described(instruction: str, inputs: Sequence[Input]) -> str:
    """Return the instruction with the saved values replaced by the names of their inputs in braces."""
    text = " ".join(instruction.split())
    single = [(str(value), item.name) for item in inputs for value in item.values]
    for value, name in sorted(single, key=lambda pair: -len(pair[0])):
        text = re.sub(rf"(?<![\w{{]){re.escape(value)}(?![\w}}])", f"{{{name}}}", text, flags=re.IGNORECASE)
    return re.sub(r"(\{\w+\})(?:(?:,| and|, and) \1)+", r"\1", text)


def _report(run: FinishedRun, code: str, inputs: Sequence[Input] | None) -> tuple[str | None, str]:
    """Return what a program prints over the kept answers, or None and why it does not come to its end."""
    found = run_program(
        code,
        functions=list(dict.fromkeys(call.function for call in run.calls)),
        entries=[*(call.entry for call in run.calls), *run.waits],
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
    found = parametrized(run.code, [Replacement(item.name, item.value, item.keyword) for item in inputs])
    if found.problem:
        raise NotSavableError(f"The program cannot be read: {found.problem}")
    if len(found.code) > MOST_PROGRAM:
        raise NotSavableError(f"The program has {len(found.code)} characters; a recipe has at most {MOST_PROGRAM}.")
    return found


def _with_inputs(run: FinishedRun, listed: Parametrized) -> tuple[Parametrized, list[Input]]:
    """Return the program with inputs; literals whose replacement changes a call or the report stay as they are."""
    report, why = _report(run, run.code, None)
    if report is None:
        raise NotSavableError(f"The program does not end as it did, if it runs again over the same responses: {why}")
    fixed = {text_of(value) for _, item in run.arguments() if item.is_fixed for value in item.values}

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
    code, evidence = literals(run.code), Evidence(run.said, run.notes)
    seen = {text_of(item) for body in run.seen for _, item in places_in(body) if isinstance(item, str | int | float)}
    for call, argument in run.arguments():
        for value in argument.values:
            if argument.is_fixed or evidence.says(value) or not is_literal(value, code):
                continue
            text, is_id = text_of(value), _ID_NAME.search(argument.keyword) is not None
            told = f"The program has {shown(text)} for the argument {argument.keyword} of {call.function}"
            is_peculiar = len(text) >= SHORTEST_COPY and (not isinstance(value, str) or is_entity(value, run.said))
            if text in seen and (is_id or is_peculiar):
                raise NotSavableError(
                    f"{told}, which a model copied from an earlier response: with other inputs it would be another "
                    "value. Ask again for everything in one instruction, and save that run."
                )
            if is_id and not evidence.has_id(value):
                raise NotSavableError(
                    f"{told}, which stands neither in the instruction nor in a response. Name it in the instruction, "
                    "and save that run."
                )


def _constants(run: FinishedRun, listed: Parametrized, inputs: Sequence[Input]) -> list[Any]:
    """Return the arguments that the user had said, that are literals of the program, and that are no inputs."""
    evidence = Evidence(run.said)
    known = {text_of(value) for item in inputs for value in item.values}
    held = {text_of(one) for _, value in listed.literals for one in (value if isinstance(value, list) else [value])}
    values = {text_of(value): value for _, item in run.arguments() for value in item.values}
    return [item for text, item in values.items() if text in held - known and evidence.says(item)]


def _arguments(operation: Operation, arguments: Mapping[str, Any]) -> Iterator[Argument]:
    known = {(item.location, item.field): item for item in operation.keywords}
    with within(MOST_STEPS, operation.document.allowance):
        for place, group in arguments.items():
            if place == "body":
                yield from _leaves("body", group, operation.sent)
                continue
            for name, value in group.items() if isinstance(group, Mapping) else ():
                item = known.get((place, name))
                yield from _leaves(item.name if item else name, value, item.shape if item else None)


def _leaves(keyword: str, value: Any, shape: Shape | None) -> Iterator[Argument]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(str(name), inner, shape and (shape.fields.get(name) or shape.mapped))
    elif isinstance(value, list) and not (value and all(isinstance(item, Scalar) for item in value)):
        for inner in value:
            yield from _leaves(keyword, inner, shape and shape.items)
    elif isinstance(value, Scalar | list):
        values, fixed = value if isinstance(value, list) else [value], _fixed(shape)
        yield Argument(keyword, values, all(isinstance(item, bool) or item in fixed for item in values))


def _fixed(shape: Shape | None) -> list[Any]:
    """Return the values that a document names for a place: those of an enumeration, a constant, a default."""
    if shape is None:
        return []
    parts = [shape, *shape.branches, *([shape.items] if shape.items else [])]
    defaults = [part.flat.get("default") for part in parts]
    named = [value for default in defaults for value in (default if isinstance(default, list) else [default])]
    return [*named, *(value for part in parts for value in part.values)]


def inputs_of(literals: Iterable[tuple[str, Any]], said: str, fixed: Collection[str]) -> list[Input]:
    """Return the inputs among the literals of a program, by the names of their places: the values that the user said.

    `fixed` are the texts of values that the documents fix. A list is an input if the user said all of its items.
    """
    evidence = Evidence(said)
    found: dict[tuple[str, str], Input] = {}
    inside: set[str] = set()
    for place, value in literals:
        if not place or json.dumps(value) in inside or text_of(value) in fixed:
            continue
        for item in _of_literal(_name(place), place, value, evidence, said):
            inside |= {json.dumps(inner) for inner in item.value} if isinstance(item.value, tuple) else set()
            found.setdefault((json.dumps(item.value), item.keyword), item)
    distinct: dict[str, Input] = {}
    for item in found.values():
        name, number = item.name, 2
        while name in distinct:
            name, number = f"{item.name}{number}", number + 1
        distinct[name] = replace(item, name=name)
    return list(distinct.values())


def _of_literal(name: str, place: str, value: Any, evidence: Evidence, said: str) -> Iterator[Input]:
    """Yield the inputs that a literal suggests: its value, or runs of the user's words in its text."""
    if isinstance(value, list):
        if all(evidence.says(item) for item in value):
            yield Input(name, tuple(value))
    elif not isinstance(value, str):
        if evidence.says(value):
            yield Input(name, value, place)
    elif evidence.says(value):
        is_common = not is_entity(value, said) and len(value.split()) == 1
        yield Input(name, value, place if is_common else "", is_required=not is_common)
    else:
        yield from _runs(value, name, evidence, said)


def is_entity(text: str, said: str) -> bool:
    """Return whether a text looks like a name: a capital, a digit, an @, a letter beyond ASCII, or in quotes."""
    if any(char.isupper() or char.isdigit() or char == "@" or (char.isalpha() and not char.isascii()) for char in text):
        return True
    return re.search(rf"[\"'“”„«»‘’‚`]{re.escape(text)}[\"'“”«»‘’`]", said, re.IGNORECASE) is not None


def _runs(text: str, name: str, evidence: Evidence, said: str) -> Iterator[Input]:
    """Yield the longest runs of words in a text that the user said and that look like names."""
    if (date := _DATE.fullmatch(text)) is not None:
        if evidence.says(date[1]):
            yield Input("year", date[1])
        return
    tokens = list(_TOKEN.finditer(text))[:MOST_TOKENS]
    at = 0
    while at < len(tokens):
        end = _end_of_run(text, tokens, at, evidence)
        if end > at:
            start = tokens[at].start()
            run = text[start : tokens[end - 1].end()]
            if is_entity(run, said) and not _is_part_of_a_name(text, tokens, at, end):
                label = _LABEL.search(text[:start])
                yield Input(_name(label[1]) if label else name, run)
        at = max(end, at + 1)


def _is_part_of_a_name(text: str, tokens: Sequence[re.Match[str]], at: int, end: int) -> bool:
    """Return whether a word with a capital stands beside a run: the user said `Ada`, the text has `Ada Lovelace`."""
    after = tokens[end : end + 1] if text[tokens[end - 1].end() :].startswith(" ") else []
    # The first word of a text has a capital anyway.
    before = tokens[at - 1 : at] if at > 1 and text[: tokens[at].start()].endswith(" ") else []
    return any(token[0][:1].isupper() for token in (*before, *after))


def _end_of_run(text: str, tokens: Sequence[re.Match[str]], at: int, evidence: Evidence) -> int:
    """Return the end of the longest run of words from a place on that the user said; the place itself if none."""
    end = at
    for last in range(at, len(tokens)):
        if last > at and text[tokens[last - 1].end() : tokens[last].start()] != " ":
            break
        if evidence.says(text[tokens[at].start() : tokens[last].end()]):
            end = last + 1
    return end


def _name(text: str) -> str:
    """Return a name of the API as a name of an input: words in lower case with underscores."""
    return re.sub(r"_+", "_", identifier(_CAMEL.sub("_", text))).strip("_").lower() or "value"

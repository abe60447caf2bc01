"""The program of a workflow: its steps as data, with its calls and values in Python over the functions of `flow.py`.

All text of the document stands in the program as a literal; names of functions and arguments come from the OpenAPI
documents and are made identifiers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from restgpt.recipes.arazzo import flow
from restgpt.recipes.arazzo.code import Block, Code, laid_out, listed, members
from restgpt.recipes.arazzo.document import Action, Arazzo, Criterion, Parameter, Step, Workflow
from restgpt.recipes.arazzo.fault import Fault, unsupported
from restgpt.recipes.arazzo.inputs import InputsError, inputs_of
from restgpt.recipes.arazzo.payload import Payload, payload_of
from restgpt.recipes.arazzo.sources import Sources
from restgpt.recipes.arazzo.values import Values
from restgpt.recipes.sent import Sent
from restgpt.specs import Operation
from restgpt.specs.docs.words.keyword import Keyword, identifier, keywords
from restgpt.specs.parameter import IGNORED_HEADERS, RESERVED_HEADERS
from restgpt.specs.reading.unique_names import UniqueNames

# Names that mean something else in a program.
TAKEN = frozenset(
    {
        *vars(flow),
        *("at", "here", "root", "inputs", "workflows", "gather", "stop", "headers", "status", "ApiError", "Rejected"),
        *("bool", "len", "slice"),
    }
)

_REFERENCE = re.compile(r"\$components\.([A-Za-z]+)\.([a-zA-Z0-9._-]+)")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORKFLOW = re.compile(r"\$sourceDescriptions\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")


@dataclass
class Compiled:
    """A program with the operations of its functions, notes and faults.

    `sent` are the calls of the steps, with the templates of their arguments as values, `constants` the scalars among
    these. `inputs` are the schemas of the inputs: of the workflow itself, then of those that it depends on.
    """

    code: str = ""
    operations: dict[str, Operation] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def compiled(document: Arazzo, name: str, sources: Sources) -> Compiled:
    """Return the program of a workflow, with the workflows that it uses; with `faults` it has no code."""
    return _Compiler(sources).compile(document, name)


@dataclass(frozen=True)
class _Book:
    """A document with its sources and the prefix of its workflows' names, empty for the one that is imported."""

    document: Arazzo
    sources: Sources
    prefix: str = ""


class _Compiler:
    """Writes the workflows that a program needs, each once."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._made = Compiled()
        self._names = UniqueNames(TAKEN)
        self._functions: dict[tuple[int, str], str] = {}
        self._books: dict[str, _Book] = {}
        self._written: dict[str, Code] = {}
        self._edges: dict[str, list[str]] = {}
        self._after: dict[str, list[str]] = {}

    def compile(self, document: Arazzo, name: str) -> Compiled:
        book = _Book(document, self._sources)
        waiting = [(book, name)]
        while waiting:
            current, workflow = waiting.pop(0)
            key = current.prefix + workflow
            if key not in self._written:
                waiting.extend(self._workflow(current, workflow, key))
        try:
            TopologicalSorter(self._edges).prepare()
        except CycleError as error:
            circle = " → ".join(reversed(error.args[1]))
            text = f"the workflows {circle} wait for one another: remove one of these steps or dependsOn"
            self._made.faults.append(Fault("/workflows", text))
        self._made.inputs = {key: self._made.inputs[key] for key in self._first(name) if key in self._made.inputs}
        lines = ["workflows = {}", ""]
        for key, written in self._written.items():
            lines += [*laid_out(written, f"workflows[{key!r}] = "), ""]
        code = "\n".join([*lines, f"Flow(workflows, status, headers, stop).report({name!r}, inputs)"])
        words = set(_WORD.findall(code))
        used = [("", word) for word in vars(flow) if word in words]
        self._made.code = "\n".join([*laid_out(Block(f"from {flow.__name__} import (", used, ")")), "", code])
        return self._made

    def _first(self, start: str) -> list[str]:
        """Return a workflow and those that have to be carried out before it, which get the same inputs."""
        found = [start]
        for key in found:
            found += [other for other in self._after.get(key, ()) if other not in found]
        return found

    def _workflow(self, book: _Book, name: str, key: str) -> list[tuple[_Book, str]]:
        """Write one workflow, and return those that it uses."""
        found = book.document.workflow(name)
        self._written[key] = "{}"
        if found is None:
            return []
        number, workflow = found
        inputs: Mapping[str, Any] = {"properties": {}}
        try:
            inputs = inputs_of(book.document, workflow)
        except InputsError as error:
            self._made.faults.append(Fault(f"/workflows/{number}/inputs", str(error)))
        self._made.inputs[key] = inputs
        writer = _WorkflowWriter(self, book, workflow, inputs, f"/workflows/{number}")
        self._written[key] = writer.code()
        self._edges[key], self._after[key] = writer.waits_for, writer.after
        prefix = f"in {book.prefix.rstrip('.')}: " if book.prefix else ""
        self._made.faults += [Fault(fault.place, prefix + fault.text) for fault in writer.values.faults]
        return writer.uses

    def other(self, book: _Book, text: str, place: str, values: Values) -> tuple[_Book, str] | None:
        """Return the document and the name of a workflow that a document refers to; a fault if there is none."""
        match = _WORKFLOW.fullmatch(text)
        target, name = book, text
        if match is not None:
            source, name = match.groups()
            kinds = {item.name: item.type for item in book.document.sources}
            if kinds.get(source) != "arazzo":
                values.fault(place, f"there is no source {source!r} of the type arazzo")
                return None
            if source not in self._sources.documents:
                values.fault(place, f"the Arazzo document of {source!r} is not given: pass it in `documents`")
                return None
            target = self._book(source)
        if target.document.workflow(name) is None:
            names = ", ".join(item.workflow_id for item in target.document.workflows)
            values.fault(place, f"there is no workflow {name[:80]!r}; there are {names}")
            return None
        return target, name

    def _book(self, source: str) -> _Book:
        if source not in self._books:
            document = self._sources.documents[source]
            inner = self._sources.within(document)
            self._made.faults += [Fault(fault.place, f"in {source}: {fault.text}") for fault in inner.faults]
            self._books[source] = _Book(document, inner, f"{source}.")
        return self._books[source]

    def function(self, operation: Operation, arguments: Mapping[str, Any]) -> str:
        """Return the name of an operation's function in the program, and keep the arguments of the call."""
        key = (id(operation.api), operation.name)
        if key not in self._functions:
            name = self._names.claim(identifier(operation.name, taken=TAKEN, fallback="call"))
            self._functions[key] = name
            self._made.operations[name] = operation
        self._made.sent.append(Sent(self._functions[key], arguments))
        return self._functions[key]

    @property
    def constants(self) -> list[Any]:
        """The scalars of the templates."""
        return self._made.constants

    def note(self, text: str) -> None:
        """Keep a sentence about what the import leaves out."""
        if text not in self._made.notes:
            self._made.notes.append(text)


class _WorkflowWriter:
    """Writes one workflow."""

    def __init__(
        self, compiler: _Compiler, book: _Book, workflow: Workflow, inputs: Mapping[str, Any], place: str
    ) -> None:
        self._compiler, self._book, self._flow, self._at = compiler, book, workflow, place
        self.values = Values(workflow, inputs["properties"], compiler.constants)
        self.uses: list[tuple[_Book, str]] = []
        self.waits_for: list[str] = []
        self.after: list[str] = []

    def code(self) -> Code:
        """Return the workflow."""
        found: dict[str, Code] = {}
        for number, name in enumerate(self._flow.depends_on):
            if key := self._use(name, f"{self._at}/dependsOn/{number}", waits=True):
                self.after.append(key)
        if self.after:
            found["after"] = repr(self.after)
        ids = {step.step_id: number for number, step in enumerate(self._flow.steps)}
        steps = self._ordered(ids)
        found["steps"] = members(
            {step.step_id: members(self._step(step, f"{self._at}/steps/{ids[step.step_id]}")) for step in steps}
        )
        if self._flow.outputs:
            found["outputs"] = self.values.outputs(self._flow.outputs, f"{self._at}/outputs")
        return members(found)

    def _use(self, text: str, place: str, *, waits: bool = False) -> str:
        """Return the key of another workflow, which the program gets too; empty if there is none."""
        other = self._compiler.other(self._book, text, place, self.values)
        if other is None:
            return ""
        self.uses.append(other)
        key = other[0].prefix + other[1]
        if waits:
            self.waits_for.append(key)
        return key

    def _ordered(self, ids: Mapping[str, int]) -> Sequence[Step]:
        """Return the steps in their order, each after those that its `dependsOn` names."""
        needs: dict[str, list[str]] = {}
        for step in self._flow.steps:
            place = f"{self._at}/steps/{ids[step.step_id]}/dependsOn"
            for number, other in enumerate(step.depends_on):
                if other.startswith("$"):
                    text = unsupported("a dependency on a step of another workflow", "Use dependsOn of the workflow")
                    self.values.fault(f"{place}/{number}", text)
                elif other not in ids:
                    self.values.fault(f"{place}/{number}", f"there is no step {other[:80]!r} in this workflow")
                else:
                    needs.setdefault(step.step_id, []).append(other)
        sorter = TopologicalSorter({name: needs.get(name, ()) for name in ids})
        try:
            sorter.prepare()
        except CycleError as error:
            names = ", ".join(dict.fromkeys(reversed(error.args[1])))
            self.values.fault(f"{self._at}/steps", f"the steps {names} wait for one another: change their dependsOn")
            return self._flow.steps
        ready: list[int] = []
        found: list[Step] = []
        while sorter.is_active():
            for name in sorter.get_ready():
                heappush(ready, ids[name])
            found.append(self._flow.steps[heappop(ready)])
            sorter.done(found[-1].step_id)
        return found

    def _step(self, step: Step, place: str) -> dict[str, Code]:
        found: dict[str, Code] = {}
        if step.depends_on:
            found["needs"] = repr(list(step.depends_on))
        if step.workflow_id:
            found["workflow"] = repr(self._use(step.workflow_id, f"{place}/workflowId", waits=True))
            found["inputs"] = self._inputs([*self._flow.parameters, *step.parameters], f"{place}/parameters")
            if step.body is not None:
                self.values.fault(f"{place}/requestBody", "a step with a workflowId has no body: use parameters")
        else:
            found["call"] = self._call(step, place)
        if step.timeout is not None:
            self._compiler.note("The timeouts of steps are not kept: the limits of the run hold.")
        if step.success:
            criteria = zip(step.success, self._criteria(step.success, f"{place}/successCriteria"), strict=True)
            found["success"] = listed(
                [Block("(", [("", repr(item.condition)), ("lambda at: ", code)], ")") for item, code in criteria]
            )
        for key, name, own, shared, kind in (
            ("on_success", "onSuccess", step.on_success, self._flow.success_actions, "successActions"),
            ("on_failure", "onFailure", step.on_failure, self._flow.failure_actions, "failureActions"),
        ):
            actions = dict(self._actions(own, f"{place}/{name}", kind))
            for action_name, action in self._actions(shared, f"{self._at}/{kind}", kind):
                actions.setdefault(action_name, action)
            if actions:
                found[key] = listed([members(action) for action in actions.values()])
        if step.outputs:
            found["outputs"] = self.values.outputs(step.outputs, f"{place}/outputs")
        return found

    def _call(self, step: Step, place: str) -> Code:
        operation = self._book.sources.operation(step)
        if isinstance(operation, Fault):
            return self.values.fault(place + operation.place, operation.text)
        places: dict[str, Any] = {}
        arguments = list(self._arguments(step, operation, place, places))
        if step.body is not None:
            payload = payload_of(step.body, operation)
            if isinstance(payload, Fault):
                self.values.fault(f"{place}/requestBody{payload.place}", payload.text)
            else:
                arguments.append(("body=", self._body(payload, f"{place}/requestBody", step)))
                places["body"] = payload.template
        return Block(f"lambda at: {self._compiler.function(operation, places)}(", arguments, ")")

    def _arguments(
        self, step: Step, operation: Operation, place: str, places: dict[str, Any]
    ) -> Iterator[tuple[str, Code]]:
        """Yield the arguments of a call, and put their templates into `places`."""
        listed = [(self._at, number, item) for number, item in enumerate(self._flow.parameters)]
        listed += [(place, number, item) for number, item in enumerate(step.parameters)]
        given: dict[tuple[str, str], tuple[str, Parameter]] = {}
        for owner, number, item in listed:
            where = f"{owner}/parameters/{number}"
            parameter = self._parameter(item, where)
            if parameter is not None and not parameter.place:
                self.values.fault(
                    where, f"the parameter {parameter.name!r} has no `in`: write path, query, header or cookie"
                )
            elif parameter is not None:
                given[(parameter.name, parameter.place)] = (where, parameter)
        known = keywords(operation)
        for where, parameter in given.values():
            keyword = _keyword(parameter, known)
            if keyword is not None:
                places.setdefault(keyword.location, {})[keyword.field] = parameter.value
                yield f"{keyword.name}=", self.values.argument(parameter.value, f"{where}/value", step)
            elif parameter.place == "header" and parameter.name.lower() in RESERVED_HEADERS | IGNORED_HEADERS:
                self._compiler.note(
                    f"The header {parameter.name} of {step.step_id} is not sent: RestGPT sets it, from the credentials "
                    f"of the API where it has any."
                )
            else:
                names = ", ".join(f"{item.field} ({item.parameter.location})" for item in known) or "none"
                text = f"the operation has no parameter {parameter.name!r} in {parameter.place}; it has {names}"
                self.values.fault(where, text)

    def _parameter(self, item: Parameter, place: str) -> Parameter | None:
        """Return a parameter, or the one that a reference names with its own value."""
        if not item.reference:
            return item
        components = self._book.document.components.parameters
        found: Parameter | None = self._component(item.reference, "parameters", components, place)
        if found is None or "value" not in item.model_fields_set:
            return found
        return found.model_copy(update={"value": item.value})

    def _component(self, reference: str, kind: str, listed: Mapping[str, Any], place: str) -> Any:
        match = _REFERENCE.fullmatch(reference)
        found = listed.get(match[2]) if match is not None and match[1] == kind else None
        if found is None or found.reference:
            self.values.fault(f"{place}/reference", f"{reference[:80]!r} names nothing under /components/{kind}")
            return None
        return found

    def _inputs(self, parameters: Sequence[Parameter], place: str) -> Code:
        """Return the function that finds the inputs that a step or an action gives to a workflow."""
        given: dict[str, Code] = {}
        for number, item in enumerate(parameters):
            parameter = self._parameter(item, f"{place}/{number}")
            if parameter is not None:
                given[parameter.name] = self.values.template(parameter.value, f"{place}/{number}/value")
        return members(given, "lambda at: kept({", "})")

    def _body(self, payload: Payload, place: str, step: Step) -> Code:
        """Return the argument `body`."""
        body = self.values.argument(payload.template, f"{place}/payload", step, whole=True)
        changes: list[tuple[str, Code]] = []
        for number, (target, kind, value) in enumerate(payload.replacements):
            where = f"{place}/replacements/{number}"
            parts = [self.values.target(target, kind, where, step), self.values.argument(value, f"{where}/value", step)]
            changes.append(("", Block("(", [("", part) for part in parts], ")")))
        return Block("replaced(", [("", body), *changes], ")") if changes else body

    def _criteria(self, criteria: Sequence[Criterion], place: str) -> list[str]:
        return [self.values.criterion(item, f"{place}/{number}") for number, item in enumerate(criteria)]

    def _actions(self, actions: Sequence[Action], place: str, kind: str) -> Iterator[tuple[str, dict[str, Code]]]:
        components = self._book.document.components
        shared = components.success_actions if kind == "successActions" else components.failure_actions
        for number, item in enumerate(actions):
            where = f"{place}/{number}"
            action = self._component(item.reference, kind, shared, where) if item.reference else item
            if action is not None:
                yield action.name, self._action(action, where, kind)

    def _action(self, action: Action, place: str, kind: str) -> dict[str, Code]:
        written: dict[str, Code] = {"name": repr(action.name), "type": repr(action.type)}
        if action.type == "retry" and kind == "successActions":
            self.values.fault(f"{place}/type", "a success action ends or goes to a step: only failures are retried")
        if action.retry_limit is not None:
            written["limit"] = repr(action.retry_limit)
        if action.retry_after:
            self._compiler.note(
                "The waiting times of retries (retryAfter) are not kept: a program cannot wait, so a retry follows at "
                "once. Where an API answers with Retry-After, RestGPT waits before it repeats a read."
            )
        if action.step_id:
            if all(step.step_id != action.step_id for step in self._flow.steps):
                self.values.fault(f"{place}/stepId", f"there is no step {action.step_id[:80]!r} in this workflow")
            written["step"] = repr(action.step_id)
        if action.workflow_id:
            written["workflow"] = repr(
                self._use(action.workflow_id, f"{place}/workflowId", waits=action.type == "retry")
            )
            written["inputs"] = self._inputs(action.parameters, f"{place}/parameters")
        if action.criteria:
            written["when"] = f"lambda at: {' and '.join(self._criteria(action.criteria, f'{place}/criteria'))}"
        return written


def _keyword(parameter: Parameter, known: Sequence[Keyword]) -> Keyword | None:
    """Return the argument that takes a parameter; names of headers are the same in any case."""
    for item in known:
        is_there = item.parameter.location == parameter.place
        is_header = parameter.place == "header" and item.field.lower() == parameter.name.lower()
        if is_there and (item.field == parameter.name or is_header):
            return item
    return None

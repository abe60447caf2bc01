"""Runs imported workflows in the sandbox, with the toy world as the server of their calls."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from programrun import CLOCK, PATIENT

from restgpt.recipes.arazzo.importing import from_arazzo
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api, Operation
from restgpt.specs.docs.words.keyword import arguments_of
from restgpt.tools.sandbox.program import Entry, ProgramRun, WantedCall, run_program
from restgpt_bench.worlds import World, open_world
from restgpt_bench.worlds.exchange import Reply

Json = dict[str, Any]


def document(*steps: Json, others: Sequence[Json] = (), **workflow: Any) -> Json:
    """An Arazzo document over the toy API with one workflow of these steps, and others beside it."""
    return {
        "arazzo": "1.1.0",
        "info": {"title": "Board", "version": "1.0.0"},
        "sourceDescriptions": [{"name": "toy", "url": "toy.yaml", "type": "openapi"}],
        "workflows": [{"workflowId": "main", "steps": list(steps), **workflow}, *others],
    }


def inputs(*names: str, **types: str) -> Json:
    """The schema of some inputs, texts if no type is given."""
    return {"type": "object", "properties": {name: {"type": types.get(name, "string")} for name in (*names, *types)}}


@dataclass
class Outcome:
    """How a program ended, and the requests that the world got: method, path, body, status."""

    run: ProgramRun
    world: World[Any]
    runs: int
    held: list[WantedCall] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.run.result.output.strip() if self.run.kind == "finished" else self.run.text or self.run.problem

    @property
    def requests(self) -> list[str]:
        return [f"{entry.method} {entry.path} {entry.status}" for entry in self.world.log]


def imported(data: Json, api: Api | None = None, **options: Any) -> Recipe:
    """The workflow `main`, or the one that is named, as a recipe over the toy API."""
    return from_arazzo(data, workflow=options.pop("workflow", "main"), apis=[api or open_world("toy").api], **options)


def carried_out(
    recipe: Recipe,
    given: Mapping[str, Any] | None = None,
    *,
    world: World[Any] | None = None,
    dry: bool = False,
    seconds: float = PATIENT.cpu,
) -> Outcome:
    """Run a recipe's program to its end."""
    world = world or open_world("toy")
    operations = {used.function: world.api.operation(f"{used.method} {used.path}") for used in recipe.operations}
    entries: list[Entry] = []
    outcome = Outcome(None, world, 0)  # type: ignore[arg-type]
    while True:
        outcome.runs += 1
        outcome.run = run_program(
            recipe.program,
            functions=list(operations),
            entries=entries,
            clock=CLOCK,
            seed="a seed",
            most=50,
            inputs=dict(given or {}),
            traced=True,
            limits=replace(PATIENT, cpu=seconds),
        )
        if outcome.run.kind != "calls":
            return outcome
        for call in outcome.run.calls:
            operation = operations[call.function]
            if dry and not operation.is_safe:
                outcome.held.append(call)
                entries.append(Entry(call.position, call.position, call.digest, "held"))
            else:
                entries.append(_answer(call, operation, world))


def _answer(call: WantedCall, operation: Operation, world: World[Any]) -> Entry:
    arguments = arguments_of(operation, dict(call.keywords), call.positional)
    reply: Reply = world.call(f"{operation.method} {operation.path}", **arguments)
    body = b"" if reply.body is None else json.dumps(reply.body).encode()
    media = "json" if body else "empty"
    kind = "answer" if reply.ok else "error"
    return Entry(
        call.position, call.position, call.digest, kind, reply.status, {"x-number": call.position}, media, body
    )

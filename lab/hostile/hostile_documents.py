"""Loads every hostile document in a process of its own and does with it what a run does, within time and memory.

Each has to be read, cut with a problem that names the place, or refused with a SpecError, all within the limits.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lab.hostile.attacks import HARMLESS, Attack, attacks
from lab.kit.memory import peak_mb
from lab.kit.tally import say
from restgpt.calling.shapes import differs
from restgpt.calling.target import reader_of
from restgpt.calling.undo import outlook
from restgpt.nodes.programs.calls import stub
from restgpt.specs import Catalogue, SpecError, UnknownPartError, load_api
from restgpt.specs.docs.documentation import described_status, documentation, response_documentation
from restgpt.specs.docs.example import example_problems, minimal_arguments
from restgpt.specs.docs.function_arguments import SignatureError, arguments_of
from restgpt.specs.docs.interface import interface
from restgpt.specs.docs.map import areas
from restgpt.specs.docs.sections import Sections, Subject
from restgpt.specs.effect import effect_of
from restgpt.tools.auth.credentials import Credentials
from restgpt.tools.errors import ArgumentError, MissingCredentialError
from restgpt.tools.http.addresses import address_policy_of
from restgpt.tools.http.pagination import next_request
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.response.content import Body, Reply, has_conditions
from restgpt.tools.response.store import response_warnings
from restgpt.tools.settings import Settings

CPU_SECONDS = 10
MEMORY_MB = 500
# The address space that a child may take: more than its memory, because libraries reserve some that they never use.
ADDRESSES = 4 << 30
INSTRUCTION = "Find the thing called Jane's 'red box', and set its name; then delete all things of her group."
OPERATIONS_MOST = 3
"""How many operations at the start and at the end of the catalogue are used, besides the best for an instruction."""

Stage = tuple[str, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one child: what it `told`, and in `fault` what went wrong."""

    name: str
    size: int
    told: dict[str, Any]
    fault: str = ""

    def __str__(self) -> str:
        told = {"seconds": 0.0, "peak_mb": 0, "operations": 0, "problems": 0, "slowest": "", **self.told}
        end = told.get("refusal") or f"{told['operations']:,} operations, {told['problems']:,} problems"
        if told.get("cut"):
            end = f"{end}, the first: {told['cut']}"
        cost = f"{told['seconds']:7.2f} s {told['peak_mb']:5} MB  {told['slowest']}"
        return f"{self.name:40} {self.size:>11,} {cost}  {(self.fault or end)[:200]}"


def stages(source: Path, values: Sequence[Any], told: dict[str, Any]) -> Iterator[Stage]:
    """Yield what a run does with a document, from its reading to the answer; `told` gets what was found."""
    api = load_api(source, base_url="https://api.example.com")
    told["operations"] = len(api.operations)
    yield "servers", lambda: api.servers

    def problems() -> None:
        found = api.problems
        told["problems"], told["cut"] = len(found), str(found[0])[:200] if found else ""

    yield "problems", problems
    catalogue = Catalogue([api])
    yield "list", lambda: [catalogue.line(item) for item in catalogue]
    yield "offer", lambda: catalogue.offer(INSTRUCTION, 6000)
    yield "search", lambda: [catalogue.search(text, 100) for text in (INSTRUCTION, "search", "list things of a group")]
    yield "best", lambda: [catalogue.producers(item) for item in catalogue.best(INSTRUCTION, 6000)]
    yield "map", lambda: _map(catalogue)
    yield "functions", lambda: catalogue.functions
    yield "look up", lambda: [catalogue.lookup(f"GET {item.path}") for item in catalogue]
    yield "effects", lambda: [effect_of(item) for item in catalogue]
    yield "description", lambda: _description(api)
    found = catalogue.search(INSTRUCTION, OPERATIONS_MOST)
    chosen = [*api.operations[:OPERATIONS_MOST], *api.operations[-OPERATIONS_MOST:], *found]
    used = list({item.name: item for item in chosen}.values())
    yield "documentation", lambda: _documentation(catalogue, used)
    yield "signatures", lambda: _signatures(catalogue, used)
    for operation in used:
        yield from _calls(operation, values)


@contextmanager
def _refusing(*errors: type[Exception]) -> Iterator[None]:
    """Let what the block does be refused, with a message."""
    try:
        yield
    except errors as error:
        str(error)


def _map(catalogue: Any) -> None:
    whole = catalogue.map.open()
    whole.text(6000)
    for part in islice(whole.parts, 3):
        part.text(1000)
    with _refusing(UnknownPartError):
        catalogue.map.open("/nothing/of/the/kind")


def _description(api: Any) -> None:
    areas(api.operations, most=300)
    sections = Sections(api.description, api.tag_descriptions, api.path_descriptions)
    for is_ruled in (False, True):
        sections.lines(sections.chosen(Subject(INSTRUCTION), 400, rules_only=is_ruled))


def _documentation(catalogue: Any, used: Iterable[Any]) -> None:
    for operation in used:
        catalogue.line(operation)
        for focus in ("", INSTRUCTION):
            documentation(operation, budget=1800, focus=focus)
            response_documentation(operation, 200, budget=1000, focus=focus, received={"name": "a"})
        described_status(operation, 404)


def _signatures(catalogue: Any, used: Sequence[Any]) -> None:
    interface(used, catalogue.function_name, budget=3500, focus=INSTRUCTION)
    interface(used, catalogue.function_name, budget=1800)
    for operation in used:
        stub(operation, catalogue.function_name(operation))


def _calls(operation: Any, values: Sequence[Any]) -> Iterator[Stage]:
    place = f"{operation.method} {operation.path[:30]}"
    arguments: dict[str, Any] = {}
    yield f"problems of {place}", lambda: (operation.problems, operation.digest)
    yield f"example of {place}", lambda: arguments.update(minimal_arguments(operation))
    yield f"problems of the example of {place}", lambda: example_problems(operation, arguments)
    given = [arguments, *({**arguments, "query": {"filter": value}, "body": value} for value in values)]

    def requests() -> None:
        for item in given:
            with _refusing(ArgumentError, SpecError):
                _ = build_request(operation, item).fingerprint

    def answers() -> None:
        for value in (arguments.get("body"), *values):
            data = json.dumps(value).encode()
            response_warnings(operation, 200, Body(data, "application/json", "json"))
            reply = Reply(200, "OK", {"content-type": "application/json"}, "application/json", data)
            if operation.is_safe:
                next_request(operation, {}, reply)

    yield f"requests of {place}", requests
    yield f"answers of {place}", answers

    def call() -> None:
        for wrong in ({}, {"nmae": 1, "body": {"a": 1}}):
            with _refusing(SignatureError):
                arguments_of(operation, wrong)

    yield f"call of {place}", call
    yield f"outlook of {place}", lambda: outlook(operation, arguments, {"known": "present", "value": {"name": "a"}})
    yield f"target of {place}", lambda: (reader_of(operation), has_conditions(operation))
    shape = {"fields": {"name": "text", "other": {"fields": {"a": "text"}}}}
    yield f"shape of {place}", lambda: differs(operation, shape)

    def credentials() -> None:
        with _refusing(MissingCredentialError):
            Credentials(Settings()).check(operation)
        address_policy_of(operation)

    yield f"credentials of {place}", credentials


def work(source: Path, values: Sequence[Any], limit: int) -> dict[str, Any]:
    """Do the work in this process, which must be fresh, and print the seconds before each stage."""
    # First with a harmless document: what it takes to load modules is not what a document causes.
    harmless = source.with_name("harmless")
    harmless.write_bytes(HARMLESS)
    for _, stage in stages(harmless, (), {}):
        stage()
    told: dict[str, Any] = {}
    used = last = time.process_time()
    soft = int(used) + limit + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + 1))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    slowest = (0.0, "load")
    try:
        for name, stage in stages(source, values, told):
            last = time.process_time()
            say(json.dumps({"stage": name, "seconds": last - used, "peak_mb": peak_mb()}))
            stage()
            slowest = max(slowest, (time.process_time() - last, name))
    except SpecError as error:
        told["refusal"] = str(error)[:300]
    told["slowest"] = f"{slowest[1]} {slowest[0]:.2f} s"
    return {**told, "seconds": time.process_time() - used, "peak_mb": peak_mb()}


def attempt(attack: Attack, size: int, *, seconds: int = CPU_SECONDS) -> Outcome:
    """Let a child work on a hostile document, and judge its end; `seconds` is the CPU time that it may take."""
    with tempfile.TemporaryDirectory(prefix="restgpt-hostile-") as folder:
        source = Path(folder) / "openapi"
        source.write_bytes(attack.build(size))
        command = [sys.executable, "-m", "lab.hostile.hostile_documents"]
        command += ["--child", str(source), "--only", attack.name, "--seconds", str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    told = {"seconds": 0.0, "peak_mb": 0, **json.loads(([*done.stdout.splitlines()] or ["{}"])[-1])}
    fault = ""
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1][:200]
        fault = f"ended with {done.returncode} in {told.get('stage', 'load')}: {last}"
    elif told["seconds"] > seconds:
        fault = f"took {told['seconds']:.1f} s"
    elif told["peak_mb"] > MEMORY_MB:
        fault = f"took {told['peak_mb']} MB"
    return Outcome(attack.name, size, told, fault)


def main() -> int:
    """Run all attacks, one at a time, because several slow each other down; 1 if a document took too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", default="", help="only attacks whose name contains this")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=CPU_SECONDS, help="CPU time of one document")
    given = parser.parse_args()
    if given.child is not None:
        values = next(attack.values for attack in attacks() if attack.name == given.only)
        say(json.dumps(work(given.child, values, given.seconds)))
        return 0
    outcomes = []
    for attack in [attack for attack in attacks() if given.only in attack.name]:
        outcomes.append(attempt(attack, attack.quick if given.quick else attack.full, seconds=given.seconds))
        say(f"{'FAULT' if outcomes[-1].fault else 'ok':6}{outcomes[-1]}")
    beyond = sum(1 for outcome in outcomes if outcome.fault)
    say(f"{len(outcomes)} documents, {beyond} beyond {given.seconds} s or {MEMORY_MB} MB")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())

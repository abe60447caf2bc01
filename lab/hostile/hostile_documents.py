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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lab.hostile.attacks import HARMLESS, Attack, attacks
from lab.kit.memory import peak_mb

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
    """The end of one child: the message of a refusal, or the number of problems; `fault` says what went wrong."""

    name: str
    size: int
    seconds: float = 0.0
    peak_mb: int = 0
    refusal: str = ""
    operations: int = 0
    problems: int = 0
    cut: str = ""
    slowest: str = ""
    fault: str = ""

    def __str__(self) -> str:
        end = self.refusal or f"{self.operations:,} operations, {self.problems:,} problems"
        if self.cut:
            end = f"{end}, the first: {self.cut}"
        text = self.fault or end
        return (
            f"{self.name:40} {self.size:>11,} {self.seconds:7.2f} s {self.peak_mb:5} MB  {self.slowest}  {text[:200]}"
        )


def stages(source: Path, values: Sequence[Any], told: dict[str, Any]) -> Iterator[Stage]:
    """Yield what a run does with a document, from its reading to the answer; `told` gets what was found."""
    from restgpt.specs import Catalogue, load_api
    from restgpt.specs.effect import effect_of

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


def _map(catalogue: Any) -> None:
    from restgpt.specs import UnknownPartError

    whole = catalogue.map.open()
    whole.text(6000)
    for part in islice(whole.parts, 3):
        part.text(1000)
    try:
        catalogue.map.open("/nothing/of/the/kind")
    except UnknownPartError as error:
        str(error)


def _description(api: Any) -> None:
    from restgpt.specs.docs.map import areas
    from restgpt.specs.docs.sections import Sections, Subject

    areas(api.operations, most=300)
    sections = Sections(api.description, api.tag_descriptions, api.path_descriptions)
    for is_ruled in (False, True):
        sections.lines(sections.chosen(Subject(INSTRUCTION), 400, rules_only=is_ruled))


def _documentation(catalogue: Any, used: Iterable[Any]) -> None:
    from restgpt.specs.docs.documentation import described_status, documentation, response_documentation

    for operation in used:
        catalogue.line(operation)
        for focus in ("", INSTRUCTION):
            documentation(operation, budget=1800, focus=focus)
            response_documentation(operation, 200, budget=1000, focus=focus, received={"name": "a"})
        described_status(operation, 404)


def _signatures(catalogue: Any, used: Sequence[Any]) -> None:
    from restgpt.nodes.programs.calls import stub
    from restgpt.specs.docs.interface import interface

    interface(used, catalogue.function_name, budget=3500, focus=INSTRUCTION)
    interface(used, catalogue.function_name, budget=1800)
    for operation in used:
        stub(operation, catalogue.function_name(operation))


def _calls(operation: Any, values: Sequence[Any]) -> Iterator[Stage]:
    from restgpt.calling.shapes import differs
    from restgpt.calling.target import reader_of
    from restgpt.calling.undo import outlook
    from restgpt.specs.docs.example import example_problems, minimal_arguments
    from restgpt.specs.docs.function_arguments import SignatureError, arguments_of
    from restgpt.tools.response.content import has_conditions

    place = f"{operation.method} {operation.path[:30]}"
    arguments: dict[str, Any] = {}
    yield f"problems of {place}", lambda: (operation.problems, operation.digest)
    yield f"example of {place}", lambda: arguments.update(minimal_arguments(operation))
    yield f"problems of the example of {place}", lambda: example_problems(operation, arguments)
    given = [arguments, *({**arguments, "query": {"filter": value}, "body": value} for value in values)]

    def requests() -> None:
        for item in given:
            _request(operation, item)

    def answers() -> None:
        for value in (arguments.get("body"), *values):
            _answer(operation, value)

    yield f"requests of {place}", requests
    yield f"answers of {place}", answers

    def call() -> None:
        for wrong in ({}, {"nmae": 1, "body": {"a": 1}}):
            try:
                arguments_of(operation, wrong)
            except SignatureError as error:
                str(error)

    yield f"call of {place}", call
    yield f"outlook of {place}", lambda: outlook(operation, arguments, {"known": "present", "value": {"name": "a"}})
    yield f"target of {place}", lambda: (reader_of(operation), has_conditions(operation))
    yield (
        f"shape of {place}",
        lambda: differs(operation, {"fields": {"name": "text", "other": {"fields": {"a": "text"}}}}),
    )
    yield f"credentials of {place}", lambda: _credentials(operation)


def _request(operation: Any, arguments: dict[str, Any]) -> None:
    from restgpt.specs import SpecError
    from restgpt.tools.errors import ArgumentError
    from restgpt.tools.request.prepared_request import build_request

    try:
        _ = build_request(operation, arguments).fingerprint
    except (ArgumentError, SpecError) as error:
        str(error)


def _answer(operation: Any, value: Any) -> None:
    from restgpt.tools.http.pagination import next_request
    from restgpt.tools.response.content import Body, Reply
    from restgpt.tools.response.store import response_warnings

    data = json.dumps(value).encode()
    response_warnings(operation, 200, Body(data, "application/json", "json"))
    reply = Reply(200, "OK", {"content-type": "application/json"}, "application/json", data)
    if operation.is_safe:
        next_request(operation, {}, reply)


def _credentials(operation: Any) -> None:
    from restgpt.tools.auth.credentials import Credentials
    from restgpt.tools.errors import MissingCredentialError
    from restgpt.tools.http.addresses import address_policy_of
    from restgpt.tools.settings import Settings

    try:
        Credentials(Settings()).check(operation)
    except MissingCredentialError as error:
        str(error)
    address_policy_of(operation)


def work(source: Path, values: Sequence[Any], limit: int) -> dict[str, Any]:
    """Do the work in this process, which must be fresh, and print the seconds after each stage."""
    from restgpt.specs import SpecError

    _load_modules(source.parent)
    told: dict[str, Any] = {}
    used = time.process_time()
    soft = int(used) + limit + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + 1))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    spent: list[tuple[float, str]] = []
    last = used
    try:
        for name, stage in stages(source, values, told):
            print(json.dumps({"stage": name, "seconds": time.process_time() - used, "peak_mb": peak_mb()}), flush=True)
            last = time.process_time()
            stage()
            spent.append((time.process_time() - last, name))
    except SpecError as error:
        told["refusal"] = str(error)[:300]
    slowest = max(spent, default=(0.0, "load"))
    told["slowest"] = f"{slowest[1]} {slowest[0]:.2f} s"
    return {**told, "seconds": time.process_time() - used, "peak_mb": peak_mb()}


def _load_modules(folder: Path) -> None:
    """Do the work once with a harmless document: what it takes to load modules is not what a document causes."""
    harmless = folder / "harmless"
    harmless.write_bytes(HARMLESS)
    for _, stage in stages(harmless, (), {}):
        stage()


def attempt(attack: Attack, size: int, *, seconds: int = CPU_SECONDS) -> Outcome:
    """Let a child work on a hostile document, and judge its end; `seconds` is the CPU time that it may take."""
    with tempfile.TemporaryDirectory(prefix="restgpt-hostile-") as folder:
        source = Path(folder) / "openapi"
        source.write_bytes(attack.build(size))
        command = [sys.executable, "-m", "lab.hostile.hostile_documents"]
        command += ["--child", str(source), "--attack", attack.name, "--seconds", str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = lines[-1] if lines else {}
    stage = found.pop("stage", "")
    outcome = Outcome(attack.name, size, **found)
    fault = ""
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1][:200]
        fault = f"ended with {done.returncode} in {stage or 'load'}: {last}"
    elif outcome.seconds > seconds:
        fault = f"took {outcome.seconds:.1f} s"
    elif outcome.peak_mb > MEMORY_MB:
        fault = f"took {outcome.peak_mb} MB"
    return Outcome(**{**{name: getattr(outcome, name) for name in Outcome.__slots__}, "fault": fault})


def _attempted(attack: Attack, given: argparse.Namespace) -> Outcome:
    return attempt(attack, attack.quick if given.quick else attack.full, seconds=given.seconds)


def main() -> int:
    """Run all attacks; 1 if a document took too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", default="", help="only attacks whose name contains this")
    parser.add_argument("--jobs", type=int, default=1, help="documents at a time; several slow each other down")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--attack", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=CPU_SECONDS, help="CPU time of one document")
    given = parser.parse_args()
    if given.child is not None:
        values = next(attack.values for attack in attacks() if attack.name == given.attack)
        print(json.dumps(work(given.child, values, given.seconds)), flush=True)
        return 0
    chosen = [attack for attack in attacks() if given.only in attack.name]
    with ThreadPoolExecutor(given.jobs) as pool:
        outcomes = []
        for outcome in pool.map(lambda attack: _attempted(attack, given), chosen):
            print(f"{'FAULT' if outcome.fault else 'ok':6}{outcome}", flush=True)
            outcomes.append(outcome)
    beyond = sum(1 for outcome in outcomes if outcome.fault)
    print(f"{len(outcomes)} documents, {beyond} beyond {given.seconds} s or {MEMORY_MB} MB")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())

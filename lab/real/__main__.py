"""`python -m lab.real`: tasks on real servers on loopback, with recorded model replies or a chat model."""

import argparse
import json
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from langchain_core.language_models import BaseChatModel

from lab.kit.process import MissingServerError, ServerError
from lab.real.check import check_task
from lab.real.kinto.server import Kinto
from lab.real.langgraph.server import LangGraph
from lab.real.powerdns.server import PowerDns
from lab.real.prompts import PromptWatch
from lab.real.run import REPLY_S, Outcome, run_task
from lab.real.server import Running, Server
from lab.real.task import Task
from restgpt.specs.docs.documentation import TOKEN
from restgpt.tools.model.model_errors import ModelError
from restgpt.tools.model.provider import resolve_model
from restgpt.tools.model.scripted import Recorder

RECORDED = Path(__file__).with_name("recorded.jsonl")

SERVERS: dict[str, Server] = {server.name: server for server in (LangGraph(), Kinto(), PowerDns())}

PHRASES = (
    "Successful Response",
    "first page only",
    "its first page",
    "does not document",
    "does not mention",
)
"""Phrases that are useless to a model, or wrong about real servers."""


@dataclass(slots=True)
class Report:
    """The results of all servers: versions, reasons for skipping, outcomes, and the faults of judges."""

    versions: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether every task was fulfilled and no judge has a fault."""
        return not self.broken and all(outcome.ok for outcome in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        outcomes = [outcome.to_json() for outcome in self.outcomes]
        return {"versions": self.versions, "skipped": self.skipped, "tasks": outcomes, "broken_judges": self.broken}


def main(arguments: Sequence[str] | None = None, *, servers: Mapping[str, Server] = SERVERS) -> int:
    """Run the tasks; returns 0 if all are fulfilled, 1 if one is not, 2 if they cannot be run."""
    options = _parser(servers).parse_args(arguments)
    watch = PromptWatch(PHRASES if options.phrases == [] else options.phrases or ())
    try:
        model = None if options.check else _model(options)
        report = _run(options, servers, model, watch)
    except (ServerError, ModelError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        phrases = {} if options.phrases is None else {"prompts": watch.prompts, "phrases": watch.counts}
        print(json.dumps({**report.to_json(), **phrases}, ensure_ascii=False, indent=1))
    else:
        print("\n".join(_closing(report, options, watch)))
    lacking = [name for name in options.require if name in report.skipped]
    return 2 if lacking or not report.versions else 0 if report.is_good else 1


def _stopped(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _parser(servers: Mapping[str, Server]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.real", description=__doc__)
    parser.add_argument("--server", action="append", choices=servers, help="only this server; can be repeated")
    parser.add_argument("--task", action="append", metavar="NAME", help="only tasks of this name; can be repeated")
    parser.add_argument("--require", action="append", choices=servers, default=[], help="fail if it is not installed")
    parser.add_argument("--check", action="store_true", help="test the judges of the tasks, without a model")
    parser.add_argument(
        "--model",
        default=f"recorded:{RECORDED}",
        metavar="PROVIDER:NAME",
        help="call this chat model; recorded:FILE replays a recording (default: the one beside this program)",
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="append the prompts and replies to this file")
    parser.add_argument(
        "--phrases", nargs="*", metavar="PHRASE", help="count the prompts that hold phrases (default: empty ones)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout and nothing else")
    return parser


def _model(options: argparse.Namespace) -> BaseChatModel:
    model = resolve_model(options.model, timeout=REPLY_S)
    if options.record is not None:
        model.callbacks = [Recorder(options.record)]
    return model


def _run(
    options: argparse.Namespace, servers: Mapping[str, Server], model: BaseChatModel | None, watch: PromptWatch
) -> Report:
    report = Report()
    for name in options.server or servers:
        server = servers[name]
        tasks = [task for task in server.tasks if not options.task or task.name in options.task]
        if not tasks:
            continue
        try:
            with server.serve() as running:
                report.versions[name] = running.version
                _say(options, f"{running.version}, {len(running.api(name).operations)} operations")
                for line in _results(server, running, tasks, model, watch, report):
                    _say(options, line)
        except MissingServerError as error:
            report.skipped[name] = str(error)
            _say(options, f"{name}: skipped. {error}")
    return report


def _results(
    server: Server,
    running: Running,
    tasks: Sequence[Task],
    model: BaseChatModel | None,
    watch: PromptWatch,
    report: Report,
) -> Iterator[str]:
    """Run or check the tasks, and add to the report; yields a line for each task."""
    for task in tasks:
        if model is None:
            found = check_task(server, running, task)
            report.broken += [f"{server.name}: {line}" for line in found]
            yield f"  {'wrong' if found else 'right'}  {task.name}" + "".join(f"\n         {line}" for line in found)
        else:
            outcome = run_task(server, running, task, model, watch=watch)
            report.outcomes.append(outcome)
            yield _line(outcome)


def _line(outcome: Outcome) -> str:
    counts = (
        f"{outcome.calls} calls, {outcome.input_tokens:,} tokens in, {outcome.requests} requests, "
        f"{outcome.approved} approved, {outcome.rejected} rejected, {outcome.reads} reads asked about"
    )
    faults = "".join(f"\n         {fault}" for fault in outcome.faults)
    return f"  {'ok  ' if outcome.ok else 'FAIL'}  {outcome.task:<12} {counts}{faults}" + (
        f"\n         answer: {outcome.answer}" if outcome.faults else ""
    )


def _closing(report: Report, options: argparse.Namespace, watch: PromptWatch) -> Iterator[str]:
    if options.check:
        judged = "all judges are right" if not report.broken else f"{len(report.broken)} findings about judges"
        yield f"{', '.join(report.versions.values())}: {judged}"
        return
    done, count = sum(outcome.ok for outcome in report.outcomes), len(report.outcomes)
    yield f"{done} of {count} tasks fulfilled on {', '.join(report.versions.values()) or 'no server'}"
    if count:
        calls = sum(outcome.calls for outcome in report.outcomes) / count
        tokens = sum(outcome.input_tokens for outcome in report.outcomes) / count
        yield f"{calls:.2f} model calls and {tokens:,.0f} input tokens a task"
        yield f"the {watch.prompts} prompts of this run have some {watch.characters // TOKEN:,} tokens"
    if options.phrases is not None:
        yield f"{watch.prompts} prompts; of them hold:"
        yield from (f"  {found:>4}  {phrase}" for phrase, found in watch.counts.items())


def _say(options: argparse.Namespace, line: str) -> None:
    if not options.json:
        print(line, flush=True)


if __name__ == "__main__":
    # Without this, SIGTERM would end the process at once and leave the servers running.
    signal.signal(signal.SIGTERM, _stopped)
    sys.exit(main())

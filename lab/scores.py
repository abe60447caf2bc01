"""Cost beside accuracy: RestGPT and LangChain's `create_agent` on the same tasks, for docs/scores.md.

Without `--model` the reader is a script that makes no mistake, and on real servers a recording.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any

from langchain_core.language_models import BaseChatModel

from lab.injection.bed import SUITES, Bed, reads
from lab.injection.run import run
from lab.kit.drive import spent
from lab.kit.process import MissingServerError
from lab.kit.table import markdown
from lab.real.__main__ import RECORDED, SERVERS
from lab.real.run import run_task
from restgpt.tools.model.provider import resolve_model
from restgpt_bench.methods.plain_loop import looped
from restgpt_bench.restbench.perfect import Script, ScriptedPlayer, scripted
from restgpt_bench.restbench.record import RunSettings
from restgpt_bench.restbench.run import Runner
from restgpt_bench.restbench.suite import open_suite
from restgpt_bench.worlds import CREDENTIAL, TODAY, open_world, served_api
from restgpt_bench.worlds.server import serve

PAGE = Path(__file__).parents[1] / "docs" / "scores.md"
RESTBENCH = ("dev-toy", "dev-tmdb", "dev-spotify")
OURS, LOOP = "RestGPT", "`create_agent`"
COSTS = {"calls": 2, "input_tokens": 0, "output_tokens": 0, "requests": 2, "seconds": 2}
"""The columns of costs, with their decimal places."""

LOOPED = {"today": TODAY.isoformat(), "credential": CREDENTIAL}

Score = tuple[str, str, bool, Mapping[str, Any]]
"""One task: the suite, by whom, whether it is done, and what it cost."""


def restbench(name: str, model: BaseChatModel | None) -> Iterator[Score]:
    """Yield the scores of both on a suite of RestBench."""
    suite, settings = open_suite(name), RunSettings(name, "restgpt", "scripted:perfect")
    runner = Runner.over(settings, suite, lambda item, world: model or scripted(settings.model, item, world))
    for item in suite.items:
        record = runner.run_task(item)
        yield name, OURS, record.success, {**spent(record.usage), "seconds": record.wall_s}
        world = open_world(suite.world)
        world.reset(item.task.fixture)
        reader = model or scripted(settings.model, item, world)
        with serve(world) as server:
            cost = looped(reader, served_api(suite.world, server.url), item.instruction, **LOOPED)
            yield name, LOOP, item.task.check(world, world.log, cost["answer"]).ok, cost


def agentdojo(name: str, model: BaseChatModel | None) -> Iterator[Score]:
    """Yield the scores of both on a suite of AgentDojo, without an attack."""
    bed, told = Bed(name), f"AgentDojo, {name}"
    with bed.served():
        for task in bed.suite.user_tasks.values():
            began, found = time.monotonic(), run(bed, "allow", task, model=model)
            yield told, OURS, found.is_done, {**spent(found.usage), "seconds": time.monotonic() - began}
            bed.open(task, {})
            calls = [(call.function, call.args) for call in task.ground_truth(bed.before)]
            groups = groupby(enumerate(calls), lambda one: -1 if reads(one[1][0]) else one[0])
            rounds = [[call for _, call in some] for _, some in groups]
            script = Script(task.PROMPT, (), task.GROUND_TRUTH_OUTPUT or "Done.", rounds=rounds)
            cost = looped(model or ScriptedPlayer.over(script), bed.api, task.PROMPT, **LOOPED)
            yield told, LOOP, bed.judged(task, cost["answer"]), cost


def real(model: BaseChatModel | None) -> Iterator[Score]:
    """Yield the scores of RestGPT on the real servers that are installed."""
    reader = model or resolve_model(f"recorded:{RECORDED}")
    for server in SERVERS.values():
        try:
            with server.serve() as running:
                for task in server.tasks:
                    began, found = time.monotonic(), run_task(server, running, task, reader)
                    yield running.version, OURS, found.ok, {**found.cost, "seconds": time.monotonic() - began}
        except MissingServerError as error:
            print(error, file=sys.stderr)


def table(scores: Sequence[Score]) -> Iterator[str]:
    """Yield the lines of the table, a row for each suite and road."""
    rows = []
    for (suite, by), group in groupby(scores, lambda one: one[:2]):
        found = list(group)
        means = (f"{sum(one[3][name] for one in found) / len(found):,.{places}f}" for name, places in COSTS.items())
        rows.append([suite, by, f"{sum(one[2] for one in found)} of {len(found)}", *means])
    names = (name.replace("calls", "model calls").replace("_", " ") for name in COSTS)
    return markdown(("tasks", "by", "done", *names), rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all tasks and write the page."""
    parser = argparse.ArgumentParser(prog="python -m lab.scores", description=__doc__)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="the reader of all tasks")
    name = parser.parse_args(arguments).model
    model, trials = (resolve_model(name), 3) if name else (None, 1)
    scores: list[Score] = []
    try:
        for _ in range(trials):
            scores += [score for suite in RESTBENCH for score in restbench(suite, model)]
            scores += [score for suite in SUITES for score in agentdojo(suite, model)]
            scores += real(model)
    except MissingServerError as error:
        sys.exit(str(error))
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
    reader = f"`{name}`, {trials} times each task" if name else "a script that makes no mistake, once each task"
    lines = "\n".join(table(sorted(scores, key=lambda one: one[:2])))
    page = Template(Path(__file__).with_suffix(".md").read_text(encoding="utf-8"))
    PAGE.write_text(page.substitute(commit=commit.stdout.strip(), reader=reader, table=lines), encoding="utf-8")


if __name__ == "__main__":
    main()

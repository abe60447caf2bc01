"""`python -m lab.readers`: run ten tasks with a model behind an OpenAI-compatible address, or check the tasks."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from lab.kit.table import markdown
from lab.local_model.run import Exchanges
from lab.readers.run import UnknownTaskError, replay, rows, run_task, tasks
from lab.readers.task import MissingDocumentError, Suite, Task

COLUMNS = ("task", "right", "model calls", "input tokens", "requests", "why not")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run or check tasks; returns 1 if a check fails, and 2 for a task or a document that there is not."""
    parser = argparse.ArgumentParser(prog="python -m lab.readers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run tasks with a model, append a line for each to a file, and print a table")
    run.add_argument("--base-url", required=True, metavar="URL", help="an endpoint with OpenAI's chat completions")
    run.add_argument("--model", default="reader", help="the model's name there (reader)")
    run.add_argument("--out", type=Path, metavar="FILE", help="the file of results; prompts go to a folder beside it")
    check = commands.add_parser("check", help="make the right calls of each task, and none at all, and judge both")
    for command in (run, check):
        command.add_argument(
            "--task", action="append", default=[], metavar="API/KEY", help="one; may be repeated (ten)"
        )
    given = parser.parse_args(arguments)
    try:
        chosen = tasks(given.task)
        return _check(chosen) if given.command == "check" else _run(chosen, given)
    except (UnknownTaskError, MissingDocumentError) as error:
        print(error, file=sys.stderr)
        return 2


def _check(chosen: Sequence[tuple[Suite, Task]]) -> int:
    failed = False
    for suite, task in chosen:
        faults, idle = replay(suite, task), replay(suite, task, lambda url: "")
        failed |= bool(faults) or not idle
        verdict = "; ".join(faults) or ("passes" if idle else "passes with nothing done")
        print(f"{suite.name}/{task.key}: {verdict}")
    return int(failed)


def _run(chosen: Sequence[tuple[Suite, Task]], given: argparse.Namespace) -> int:
    for suite, _ in chosen:
        suite.document()
    outcomes = []
    for suite, task in chosen:
        model = _model(given.model, given.base_url, given.out, f"{suite.name}-{task.key}")
        outcome = run_task(suite, task, model)
        outcomes.append(outcome)
        if given.out:
            with given.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcome, ensure_ascii=False) + "\n")
        print(f"{outcome['task']}: {'right' if outcome['right'] else 'wrong'}", file=sys.stderr)
    print("\n".join(markdown(COLUMNS, rows(outcomes))))
    print(f"{sum(one['right'] for one in outcomes)} of {len(outcomes)} right.")
    return 0


def _model(name: str, url: str, out: Path | None, task: str) -> ChatOpenAI:
    given: Any = {"model": name, "base_url": url, "api_key": SecretStr("unused")}
    if out:
        folder = out.with_name(f"{out.stem}-prompts")
        folder.mkdir(parents=True, exist_ok=True)
        given["callbacks"] = [Exchanges(folder / f"{task}.jsonl")]
    return ChatOpenAI(**given, temperature=0, timeout=3600, max_retries=0)


if __name__ == "__main__":
    sys.exit(main())

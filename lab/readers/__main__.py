"""`python -m lab.readers`: run thirty tasks with a model behind an OpenAI-compatible address, or check the tasks.

It measures the search on twenty sentences, too.
"""

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
from lab.readers import sentences
from lab.readers.run import UnknownTaskError, replay, rows, run_task, tasks, with_document
from lab.readers.task import MissingDocumentError, Suite, Task
from restgpt_bench.retrieval.measure import compare

SEARCHED = ("document", "operations", "sentences", "all@5", "all@10", "all@20", "BM25 all@5", "all@10", "all@20")
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
    commands.add_parser("search", help="measure how many of the operations for twenty sentences the search finds")
    for command in (run, check):
        command.add_argument(
            "--task", action="append", default=[], metavar="API/KEY", help="one, or API for all on it; repeatable (all)"
        )
    given = parser.parse_args(arguments)
    try:
        if given.command == "search":
            return _search()
        chosen = tasks(given.task)
        if given.command == "check":
            return _check(chosen)
        present, left_out = with_document(chosen)
        if left_out:
            print("\n".join(left_out), file=sys.stderr)
        return _run(present, given) if present else 2
    except (UnknownTaskError, MissingDocumentError) as error:
        print(error, file=sys.stderr)
        return 2


def _search() -> int:
    table: list[list[object]] = []
    for suite in sentences.suites():
        try:
            row = compare(sentences.part(suite))
        except MissingDocumentError as error:
            print(f"The sentences over {suite.name} are left out: {error}.", file=sys.stderr)
            continue
        shares = [f"{share:.2f}" for one in (row.ours, row.plain) for share in one.whole.values()]
        table.append([row.name, row.operations, row.ours.tasks, *shares])
    print("\n".join(markdown(SEARCHED, table)))
    return 0 if table else 2


def _check(chosen: Sequence[tuple[Suite, Task]]) -> int:
    failed = False
    for suite, task in chosen:
        faults, idle = replay(suite, task), replay(suite, task, lambda url: "")
        failed |= bool(faults) or not idle
        verdict = "; ".join(faults) or ("passes" if idle else "passes with nothing done")
        print(f"{suite.name}/{task.key}: {verdict}")
    return int(failed)


def _run(chosen: Sequence[tuple[Suite, Task]], given: argparse.Namespace) -> int:
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

"""Runs the function-calling suites through the graph `openfunctions`, scores them, and writes the leaderboard's files.

Results are appended task by task, so an interrupted run goes on where it stopped.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from restgpt.tools.model.model_errors import ModelReplyError, ModelUnavailableError
from restgpt_bench.functions.grading import Grade, Mode, Outcome, Said, Score, grade, report, score
from restgpt_bench.functions.matcher import MatchRules
from restgpt_bench.functions.tasks import (
    LIVE,
    OPENFUNCTIONS,
    FunctionTask,
    SuiteError,
    load_tasks,
    reading,
    shown_functions,
)
from restgpt_functions.calls.call import Call, to_plain
from restgpt_functions.context import FunctionContext
from restgpt_functions.docs.writers import to_canonical
from restgpt_functions.graph import build_functions_graph

UNAVAILABLE = "unavailable"
"""The outcome of a task for which the model could not be reached, and the kind of its fault."""


@dataclass(frozen=True, slots=True)
class FunctionRun:
    """A finished run: the grades by task in suite order, the score, and the tokens spent."""

    suite: str
    grades: tuple[Grade, ...]
    score: Score
    usage: Mapping[str, int]

    def report(self) -> str:
        """The table to print, with n."""
        spent = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in self.usage.items())
        return f"{report(self.suite, self.score)}\n\n{spent}"


def run_suite(
    suite: str,
    model: str | BaseChatModel,
    *,
    data: Path | None,
    out: Path | None = None,
    context: Mapping[str, Any] | None = None,
    mode: Mode = "strict",
    rules: MatchRules | None = None,
    only: Sequence[int] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> FunctionRun:
    """Run a suite with a model and score it; `only` picks tasks by position.

    With `out`, results are kept there in the leaderboard's layout and reused; a task for which the model could not be
    reached has no result, so that the next run tries it again. Raises `SuiteError` when the published data is missing,
    when a position is not in the suite, or when `out` holds results of other settings, and `ModelError` when the model
    cannot be used at all.
    """
    tasks = load_tasks(suite, data)
    if only is not None:
        tasks = _picked(suite, tasks, only)
    settings = FunctionContext(**{**_defaults(suite), **(context or {})})
    path = result_path(out, suite, model) if out is not None else None
    _claim(path, settings)
    known = _read_results(path)
    records = []
    for done, task in enumerate(tasks, start=1):
        record = known.get(task.id)
        if record is None:
            record = _run_task(task, model, settings)
            if record["outcome"] != UNAVAILABLE:
                _append(path, record)
        records.append(record)
        progress(done, len(tasks))
    grades = tuple(_grade(task, record, mode=mode, rules=rules) for task, record in zip(tasks, records, strict=True))
    run = FunctionRun(suite, grades, score(grades), _usage(records))
    if path is not None:
        _write_score(path, run)
    return run


def _picked(suite: str, tasks: list[FunctionTask], only: Sequence[int]) -> list[FunctionTask]:
    if unknown := [number for number in only if not 0 <= number < len(tasks)]:
        raise SuiteError(f"{suite} has no task {unknown[0]}; its {len(tasks)} tasks are counted from 0")
    return [tasks[number] for number in dict.fromkeys(only)]


def _grade(task: FunctionTask, record: Mapping[str, Any], *, mode: Mode, rules: MatchRules | None) -> Grade:
    if record.get("outcome") == UNAVAILABLE:
        return Grade(task.id, Outcome.FAILURE, False, UNAVAILABLE, record["result"])
    return grade(task, said_in(record), mode=mode, rules=rules)


def _defaults(suite: str) -> dict[str, Any]:
    """The settings of a suite: nobody is there to answer a question."""
    return {"on_missing": "return", **({"today": reading()["today"]} if suite == OPENFUNCTIONS else {})}


def _run_task(task: FunctionTask, model: str | BaseChatModel, settings: FunctionContext) -> dict[str, Any]:
    """One task as a record in the leaderboard's layout, with the outcome beside it."""
    functions = [to_canonical(function) for function in shown_functions(task)]
    graph = build_functions_graph(model=model, context=settings)
    started = time.perf_counter()
    given: Any = {"messages": list(task.messages), "functions": functions}
    try:
        state = graph.invoke(given)
    except (ModelReplyError, ModelUnavailableError) as error:
        outcome = "failed" if isinstance(error, ModelReplyError) else UNAVAILABLE
        state = {"outcome": outcome, "calls": [], "question": "", "answer": str(error), "usage": {}}
    usage = state.get("usage") or {}
    calls = [{call["name"]: json.dumps(call["arguments"], ensure_ascii=False)} for call in state["calls"]]
    return {
        "id": task.id,
        "result": calls if state["outcome"] == "call" else state["answer"],
        "latency": round(time.perf_counter() - started, 3),
        "input_token_count": usage.get("input_tokens", 0),
        "output_token_count": usage.get("output_tokens", 0),
        "model_calls": usage.get("calls", 0),
        "outcome": state["outcome"],
    }


def said_in(record: Mapping[str, Any]) -> Said:
    """The answer in a result record: calls, a question, or text without either."""
    result = record["result"]
    if isinstance(result, str):
        asked = record.get("outcome") == "ask" or ("outcome" not in record and "?" in result)
        broken = result if record.get("outcome") == "failed" else ""
        return Said(question=result if asked else "", broken=broken, text=result)
    calls = [(name, json.loads(text)) for entry in result for name, text in entry.items()]
    return Said(tuple(Call(name, to_plain(arguments)) for name, arguments in calls))


def result_path(out: Path, suite: str, model: str | BaseChatModel) -> Path:
    """The leaderboard's path for the results of a suite: `result/MODEL/GROUP/BFCL_v4_CATEGORY_result.json`."""
    name = model if isinstance(model, str) else type(model).__name__
    folder = out / "result" / name.replace("/", "_").replace(":", "_")
    if suite == OPENFUNCTIONS:
        return folder / OPENFUNCTIONS / "openfunctions_v1_result.json"
    category = suite.partition(":")[2]
    return folder / ("live" if category in LIVE else "non_live") / f"BFCL_v4_{category}_result.json"


def _claim(path: Path | None, settings: FunctionContext) -> None:
    """Keep the settings beside the results; raises `SuiteError` if the results there were made with others."""
    if path is None:
        return
    place = path.with_name(path.name.replace("_result.json", "_settings.json"))
    now = json.dumps(settings.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
    if place.is_file() and place.read_text(encoding="utf-8") != now:
        raise SuiteError(f"{path} holds results of other settings; give the same settings, or another --out")
    path.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(now, encoding="utf-8")


def _read_results(path: Path | None) -> dict[str, dict[str, Any]]:
    """The records that an earlier run left; a line that was cut off is taken out, so that the file can go on."""
    if path is None or not path.is_file():
        return {}
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[record["id"]] = record
    partial = path.with_name(f".{path.name}.partial")
    lines = [f"{json.dumps(record, ensure_ascii=False)}\n" for record in found.values()]
    partial.write_text("".join(lines), encoding="utf-8")
    partial.replace(path)
    return found


def _append(path: Path | None, record: Mapping[str, Any]) -> None:
    if path is None:
        return
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _write_score(path: Path, run: FunctionRun) -> None:
    summary = {
        "suite": run.suite,
        **asdict(run.score),
        "accuracy": run.score.accuracy,
        "usage": dict(run.usage),
        "faults": [asdict(one) for one in run.grades if not one.right],
    }
    text = json.dumps(summary, ensure_ascii=False, indent=2)
    path.with_name(path.name.replace("_result.json", "_score.json")).write_text(f"{text}\n", encoding="utf-8")


def _usage(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    keys = {"model_calls": "model_calls", "input_tokens": "input_token_count", "output_tokens": "output_token_count"}
    return {name: sum(int(record.get(key, 0)) for record in records) for name, key in keys.items()}

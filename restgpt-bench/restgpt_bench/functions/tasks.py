"""The tasks of the function-calling suites: the published OpenFunctions test file, and the leaderboard's files.

Nothing is copied: both are read from the folder that `RESTGPT_DATA` names.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from restgpt_bench.functions.matcher import OMITTED, Answer, Language
from restgpt_functions.calls.call import to_plain
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.docs.dialects import read_function
from restgpt_functions.docs.function import Function, FunctionParameter

Expected = Literal["call", "ask", "abstain", "any call"]

OPENFUNCTIONS = "openfunctions-v1"
LEADERBOARD_PREFIX = "bfcl:"
NON_LIVE = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"),
    "irrelevance",
)
LIVE = (
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple", "live_irrelevance", "live_relevance"),
)
FOLDERS = ("bfcl", "bfcl_eval/data", "bfcl/data")


class SuiteError(ValueError):
    """A suite cannot be read; the message names the missing file or value."""


@dataclass(frozen=True, slots=True)
class FunctionTask:
    """One prompt with its documentation and the right answer: calls, a question, or neither.

    `unsaid` are the required values that the prompt does not give; with `may_ask` a question is right as well.
    """

    id: str
    messages: tuple[tuple[str, str], ...]
    functions: tuple[Function, ...]
    answers: tuple[Answer, ...] = ()
    expected: Expected = "call"
    language: Language = "python"
    unsaid: frozenset[str] = frozenset()
    may_ask: bool = False

    @property
    def prompt(self) -> str:
        """The last words of the person."""
        return self.messages[-1][1]


def load_tasks(suite: str, data: Path | None) -> list[FunctionTask]:
    """The tasks of `openfunctions-v1` or `bfcl:CATEGORY`; raises `SuiteError` naming the file that is missing."""
    if data is None:
        raise SuiteError("RESTGPT_DATA names no folder with the published data (see docs/restbench.md)")
    if suite == OPENFUNCTIONS:
        return list(_openfunctions(data))
    if suite.startswith(LEADERBOARD_PREFIX):
        return list(_leaderboard(suite.removeprefix(LEADERBOARD_PREFIX), data))
    raise SuiteError(f"there is no suite {suite!r}; there are {OPENFUNCTIONS} and {LEADERBOARD_PREFIX}CATEGORY")


@cache
def reading() -> dict[str, Any]:
    """A reader's judgement of the published prompts: unsaid values, prompts that need context, further right values."""
    text = files("restgpt_bench.functions").joinpath("openfunctions_v1.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _openfunctions(data: Path) -> Iterator[FunctionTask]:
    path = data / "openfunctions" / "gorilla_openfunctions_v1_test.json"
    if not path.is_file():
        raise SuiteError(f"there is no {path.relative_to(data)} in the folder of RESTGPT_DATA")
    for number, entry in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        function = read_function(entry["function"])
        (call,) = parse_calls(entry["model_answer"], [function])
        right = {name: [value] for name, value in to_plain(dict(call.arguments)).items()}
        for name, further in reading()["alternatives"].get(str(number), {}).items():
            right.setdefault(name, []).extend(further)
        for name in (one.name for one in function.parameters if not one.required):
            right.setdefault(name, [OMITTED])
        unsaid = frozenset(reading()["missing"].get(str(number), ()))
        yield FunctionTask(
            id=f"openfunctions_v1_{number}",
            messages=(("user", entry["question"].strip()),),
            functions=(function,),
            answers=({function.name: right},),
            expected="ask" if unsaid else "call",
            unsaid=unsaid,
            may_ask=number in reading()["context"],
        )


def _leaderboard(category: str, data: Path) -> Iterator[FunctionTask]:
    if category not in (*NON_LIVE, *LIVE):
        raise SuiteError(f"there is no category {category!r}; there are {', '.join((*NON_LIVE, *LIVE))}")
    questions = _find(data, f"BFCL_v4_{category}.json")
    keys = {} if _has_no_key(category) else _answers(_find(data, f"possible_answer/BFCL_v4_{category}.json"))
    for entry in _lines(questions):
        yield _task(category, entry, keys.get(entry["id"], []))


def _has_no_key(category: str) -> bool:
    return category.endswith("relevance")


def _find(data: Path, name: str) -> Path:
    for folder in FOLDERS:
        if (data / folder / name).is_file():
            return data / folder / name
    raise SuiteError(f"there is no {FOLDERS[0]}/{name} in the folder of RESTGPT_DATA")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def _answers(path: Path) -> dict[str, list[Answer]]:
    return {entry["id"]: entry["ground_truth"] for entry in _lines(path)}


def _task(category: str, entry: Mapping[str, Any], answers: list[Answer]) -> FunctionTask:
    turns = entry["question"]
    messages = turns[0] if turns and isinstance(turns[0], list) else turns
    expected: Expected = "call"
    if category.endswith("irrelevance"):
        expected = "abstain"
    elif category.endswith("relevance"):
        expected = "any call"
    language: Language = "java" if "java" in category and "script" not in category else "python"
    return FunctionTask(
        id=entry["id"],
        messages=_merged(messages),
        functions=tuple(read_function(raw, pointer=f"/{entry['id']}") for raw in entry["function"]),
        answers=tuple(answers),
        expected=expected,
        language="javascript" if "javascript" in category else language,
    )


def _merged(messages: list[Mapping[str, str]]) -> tuple[tuple[str, str], ...]:
    """The conversation with instructions put before the words that they precede: few models take a second system."""
    merged: list[tuple[str, str]] = []
    pending = ""
    for message in messages:
        if message["role"] == "system":
            pending = f"{pending}{message['content']}\n\n"
            continue
        merged.append((message["role"], f"{pending}{message['content']}"))
        pending = ""
    return tuple(merged)


def shown_functions(task: FunctionTask) -> list[Function]:
    """The documentation as the model reads it: values of Java and JavaScript are asked for as source text."""
    if task.language == "python":
        return list(task.functions)
    name = {"java": "Java", "javascript": "JavaScript"}[task.language]
    return [
        replace(function, parameters=tuple(_as_text(one, name) for one in function.parameters), closed=True)
        for function in task.functions
    ]


def _as_text(parameter: FunctionParameter, language: str) -> FunctionParameter:
    note = f"The {language} source of a {parameter.type_word} value, as text."
    return replace(parameter, schema={"type": "string", "description": f"{parameter.description} {note}".strip()})

"""Training data by self-instruct: instructions and calls for documented functions, filtered, augmented, exported.

Three examples per function, as the original recipe has it, from Python packages, REST documents and command lines.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from restgpt.functions.calls.rendering import render_calls, to_tool_calls
from restgpt.functions.docs.writers import to_canonical, to_gorilla, to_openai
from restgpt.prompts import fingerprints, render
from restgpt.tools.model.errors import ModelReplyError
from restgpt.tools.model.provider import resolve_model
from restgpt.tools.model.structured import ask
from restgpt.tools.model.usage import ModelUsage
from restgpt_bench.functions.augment import Pair, augment
from restgpt_bench.functions.filters import Rejected, accept
from restgpt_bench.functions.sources import SourcedFunction, read_sources

PER_FUNCTION = 3

EXAMPLES = (
    (
        "Order five burgers and six chicken wings from McDonald's.",
        'uber.eat.order(restaurant="McDonald\'s", items=["burgers", "chicken wings"], quantities=[5, 6])',
    ),
    ("What is the mean of 2, 4 and 9?", "statistics.mean(numbers=[2, 4, 9])"),
    (
        "Show me the second page of films with at least a rating of seven and a half.",
        'searchFilms(query={"page": 2, "min_rating": 7.5})',
    ),
)
"""The hand-written examples that every prompt shows."""


class GeneratedPair(BaseModel):
    """One instruction with its call."""

    instruction: str = Field(description="What a person says.")
    call: str = Field(description="The call that fulfils it, as one line of Python.")


class GeneratedPairs(BaseModel):
    """The examples for one function."""

    pairs: list[GeneratedPair]


@dataclass(frozen=True, slots=True)
class Dropped:
    """An example that was not kept, with the filter that dropped it."""

    function: str
    instruction: str
    call: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """The kept and augmented examples, those dropped, and how they came about."""

    pairs: tuple[Pair, ...]
    dropped: tuple[Dropped, ...]
    manifest: Mapping[str, Any]


def generate(
    sources: Sequence[str] | Sequence[SourcedFunction],
    model: str | BaseChatModel,
    *,
    per_function: int = PER_FUNCTION,
    seed: int = 0,
    augmented: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Dataset:
    """Make examples for the functions of `sources`, which are names as `read_sources` reads them, or functions.

    The same sources, seed and replies give the same data. Raises `FunctionError` and `ModelError`.
    """
    names = [one for one in sources if isinstance(one, str)]
    functions = read_sources(names) + [one for one in sources if isinstance(one, SourcedFunction)]
    resolved = resolve_model(model)
    random = Random(seed)
    kept: list[Pair] = []
    dropped: list[Dropped] = []
    used = ModelUsage()
    for done, sourced in enumerate(functions, start=1):
        used += _generate_one(resolved, sourced, per_function, kept, dropped)
        progress(done, len(functions))
    pairs = [*kept, *(augment(kept, random) if augmented else ())]
    manifest = {
        "model": model if isinstance(model, str) else type(model).__name__,
        "seed": seed,
        "per_function": per_function,
        "functions": dict(Counter(one.kind for one in functions)),
        "sources": sorted({one.source for one in functions}),
        "kinds": dict(Counter(pair.kind for pair in pairs)),
        "dropped": dict(Counter(one.reason for one in dropped)),
        "prompts": {name: mark for name, mark in fingerprints().items() if name.startswith("functions_generate")},
        "usage": {"calls": used.calls, "input_tokens": used.input_tokens, "output_tokens": used.output_tokens},
    }
    return Dataset(tuple(pairs), tuple(dropped), manifest)


def _generate_one(
    model: BaseChatModel, sourced: SourcedFunction, count: int, kept: list[Pair], dropped: list[Dropped]
) -> ModelUsage:
    """Ask for the examples of one function and file each among the kept or the dropped."""
    function = sourced.function
    # Two kept examples beside the hand-written ones keep the style of a run together.
    shown = [*EXAMPLES, *((pair.instruction, render_calls(pair.calls)) for pair in kept[-2:])]
    examples = "\n".join(f"- {instruction}\n  {call}" for instruction, call in shown)
    system = render("functions_generate", count=str(count), examples=examples)
    task = render("functions_generate_task", count=str(count), function=json.dumps(to_canonical(function)))
    try:
        asked = ask(model, [SystemMessage(system), HumanMessage(task)], GeneratedPairs)
    except ModelReplyError as error:
        dropped.append(Dropped(function.name, "", "", "no reply", str(error)))
        return error.usage
    for pair in asked.value.pairs[: 2 * count]:
        try:
            call = accept(pair.instruction, pair.call, function, [one.instruction for one in kept])
        except Rejected as rejected:
            dropped.append(Dropped(function.name, pair.instruction, pair.call, rejected.reason, str(rejected)))
            continue
        kept.append(Pair(pair.instruction.strip(), (function,), (call,), source=sourced.kind))
    return asked.usage


def export(dataset: Dataset, out: Path) -> dict[str, Path]:
    """Write the data in the original's format and as chats with tools, the dropped examples, and the manifest."""
    out.mkdir(parents=True, exist_ok=True)
    files = {
        "openfunctions": out / "openfunctions.jsonl",
        "chat": out / "chat.jsonl",
        "dropped": out / "dropped.jsonl",
        "manifest": out / "manifest.json",
    }
    _write_lines(files["openfunctions"], [original_row(pair) for pair in dataset.pairs])
    _write_lines(files["chat"], [chat_row(pair) for pair in dataset.pairs])
    _write_lines(files["dropped"], [asdict(one) for one in dataset.dropped])
    digests = {name: sha256(path.read_bytes()).hexdigest() for name, path in files.items() if name != "manifest"}
    manifest = {**dataset.manifest, "rows": len(dataset.pairs), "sha256": digests}
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    files["manifest"].write_text(f"{text}\n", encoding="utf-8")
    return files


def _write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def original_row(pair: Pair) -> dict[str, Any]:
    """A row as in the published training file: functions and calls as lists of texts."""
    functions = [json.dumps(to_gorilla(function, "v1"), ensure_ascii=False) for function in pair.functions]
    output = [render_calls([call]) for call in pair.calls] or [pair.answer]
    return {"Instruction": pair.instruction, "Functions": functions, "Output": output, "Kind": pair.kind}


def chat_row(pair: Pair) -> dict[str, Any]:
    """A row as a chat with tools, in the form of the OpenAI API."""
    tools, _ = to_openai(pair.functions)
    answer: dict[str, Any] = {"role": "assistant", "content": pair.answer}
    if pair.calls:
        answer |= {"content": "", "tool_calls": to_tool_calls(pair.calls, pair.functions)}
    return {"messages": [{"role": "user", "content": pair.instruction}, answer], "tools": tools, "kind": pair.kind}

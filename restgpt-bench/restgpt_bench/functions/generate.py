"""Pairs of an instruction and a call by self-instruct: three for each function of a document, filtered and exported."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from restgpt.tools.model.model_errors import ModelReplyError
from restgpt.tools.model.provider import resolve_model
from restgpt.tools.model.structured import ask
from restgpt_bench.functions.filters import Rejected, accept
from restgpt_functions.calls.call import Call
from restgpt_functions.calls.rendering import render_calls
from restgpt_functions.docs.function import Function
from restgpt_functions.docs.writers import to_canonical, to_gorilla
from restgpt_functions.prompts import render

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
class Pair:
    """One example: an instruction, the documented function, and the right call."""

    instruction: str
    function: Function
    call: Call

    def row(self) -> dict[str, Any]:
        """The pair as in the published training file: functions and calls as lists of texts."""
        functions = [json.dumps(to_gorilla(self.function, "v1"), ensure_ascii=False)]
        return {"Instruction": self.instruction, "Functions": functions, "Output": [render_calls([self.call])]}


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
    """The kept examples, and those dropped."""

    pairs: Sequence[Pair]
    dropped: Sequence[Dropped]

    def report(self) -> str:
        """The number of pairs, and of the dropped examples by reason, as text."""
        reasons = Counter(one.reason for one in self.dropped).most_common()
        return "\n".join([f"n={len(self.pairs)} pairs", *(f"  dropped: {reason:<20}{n:>6}" for reason, n in reasons)])


def generate(
    functions: Sequence[Function],
    model: str | BaseChatModel,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Dataset:
    """Make examples for documented functions; raises `ModelError`."""
    resolved = resolve_model(model)
    data = Dataset([], [])
    for done, function in enumerate(functions, start=1):
        data = _with_examples(data, resolved, function)
        progress(done, len(functions))
    return data


def _with_examples(data: Dataset, model: BaseChatModel, function: Function) -> Dataset:
    """Ask for the examples of one function and file each among the kept or the dropped."""
    kept, dropped = [*data.pairs], [*data.dropped]
    # Two kept examples beside the hand-written ones keep the style of a run together.
    listed = [*EXAMPLES, *((pair.instruction, render_calls([pair.call])) for pair in kept[-2:])]
    examples = "\n".join(f"- {instruction}\n  {call}" for instruction, call in listed)
    system = render("functions_generate", count=str(PER_FUNCTION), examples=examples)
    document = json.dumps(to_canonical(function))
    task = render("functions_generate_task", count=str(PER_FUNCTION), function=document)
    try:
        generated, _ = ask(model, [SystemMessage(system), HumanMessage(task)], GeneratedPairs)
    except ModelReplyError as error:
        return Dataset(kept, [*dropped, Dropped(function.name, "", "", "no reply", str(error))])
    for pair in generated.pairs[: 2 * PER_FUNCTION]:
        try:
            call = accept(pair.instruction, pair.call, function, [one.instruction for one in kept])
        except Rejected as rejected:
            dropped.append(Dropped(function.name, pair.instruction, pair.call, rejected.reason, str(rejected)))
            continue
        kept.append(Pair(pair.instruction.strip(), function, call))
    return Dataset(kept, dropped)


def export(data: Dataset, out: Path) -> dict[str, Path]:
    """Write the pairs in the form of the published training file, and the dropped examples beside them."""
    out.mkdir(parents=True, exist_ok=True)
    files = {"pairs": out / "openfunctions.jsonl", "dropped": out / "dropped.jsonl"}
    _write_lines(files["pairs"], [pair.row() for pair in data.pairs])
    _write_lines(files["dropped"], [asdict(one) for one in data.dropped])
    return files


def _write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")

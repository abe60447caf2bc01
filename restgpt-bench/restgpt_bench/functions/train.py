"""Fine-tuning on generated data with TRL and PEFT, loss on the answer only; both are optional and imported late.

`dry_run` reads the export and shows what would be learned without any of them.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from restgpt.functions.calls.parsing import parse_calls
from restgpt.functions.docs.loading import load_functions
from restgpt.functions.prompting import layout

Layout = Literal["v1", "v2"]


class TrainError(RuntimeError):
    """Training cannot start; the message names the file or the package that is missing."""


@dataclass(frozen=True, slots=True)
class TrainRow:
    """One example as text: the prompt, which has no loss, and the completion, which is learned."""

    prompt: str
    completion: str
    kind: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """The contents of an export: rows by kind, the longest row, and the share of characters that is learned."""

    rows: int
    kinds: Mapping[str, int]
    longest: int
    learned: float

    def report(self) -> str:
        """The numbers as text, with n."""
        kinds = "\n".join(f"  {kind:<20}{count:>6}" for kind, count in self.kinds.items())
        return (
            f"n={self.rows} rows, the longest of {self.longest} characters; "
            f"{100 * self.learned:.1f} % of the text is learned\n{kinds}"
        )


def read_rows(path: Path, version: Layout = "v1") -> list[TrainRow]:
    """Read an export in the original's format into prompts and completions.

    Raises `TrainError` naming the line that cannot be read or whose calls do not parse.
    """
    if not path.is_file():
        raise TrainError(f"{path} is not there; make it with `restgpt bench generate`")
    return list(_rows(path, version))


def _rows(path: Path, version: Layout) -> Iterator[TrainRow]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            functions = load_functions({"Functions": row["Functions"]})
            output, kind = row["Output"], row.get("Kind", "single")
            if kind not in ("irrelevant", "missing"):
                found = [call for text in output for call in parse_calls(text, functions)]
                if len(found) != len(output):
                    raise ValueError("an output is not one call")
            prompt = layout(row["Instruction"], functions, version)
        except (ValueError, KeyError, TypeError) as error:
            raise TrainError(f"{path.name}, line {number}: {error}") from None
        joined = "".join(f"<<function>>{text}" for text in output) if version == "v2" else ", ".join(output)
        yield TrainRow(prompt, joined, kind)


def dry_run(path: Path, version: Layout = "v1") -> DryRun:
    """Read and check every row of an export without training; raises `TrainError`."""
    rows = read_rows(path, version)
    prompts, completions = sum(len(row.prompt) for row in rows), sum(len(row.completion) for row in rows)
    return DryRun(
        rows=len(rows),
        kinds=dict(Counter(row.kind for row in rows).most_common()),
        longest=max((len(row.prompt) + len(row.completion) for row in rows), default=0),
        learned=completions / (prompts + completions) if rows else 0.0,
    )


def make_trainer(
    path: Path,
    base_model: Any,
    out: Path,
    *,
    tokenizer: Any = None,
    version: Layout = "v1",
    steps: int = -1,
    epochs: float = 2.0,
    batch: int = 4,
    learning_rate: float = 2e-4,
    rank: int = 16,
    max_length: int = 2048,
    seed: int = 0,
) -> Any:
    """A TRL `SFTTrainer` with a LoRA adapter on `base_model` (a name, a folder, or a loaded model).

    Loss is on the completion only. Raises `TrainError` where TRL, PEFT or datasets are not installed.
    """
    rows = read_rows(path, version)
    try:
        datasets, peft, trl = (import_module(name) for name in ("datasets", "peft", "trl"))
        has_gpu = bool(import_module("torch").cuda.is_available())
    except ImportError as error:
        raise TrainError(f"training needs the extra restgpt[train]: {error}") from None
    settings = trl.SFTConfig(
        output_dir=str(out),
        completion_only_loss=True,
        max_steps=steps,
        num_train_epochs=epochs,
        per_device_train_batch_size=batch,
        learning_rate=learning_rate,
        max_length=max_length,
        seed=seed,
        bf16=has_gpu,
        use_cpu=not has_gpu,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
    )
    return trl.SFTTrainer(
        model=base_model,
        args=settings,
        train_dataset=datasets.Dataset.from_list(
            [{"prompt": row.prompt, "completion": row.completion} for row in rows]
        ),
        processing_class=tokenizer,
        peft_config=peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"),
    )


def train(path: Path, base_model: Any, out: Path, **options: Any) -> float:
    """Train and save the adapter in `out`; the mean training loss. Raises `TrainError`."""
    trainer = make_trainer(path, base_model, out, **options)
    result = trainer.train()
    trainer.save_model(str(out))
    return float(result.training_loss)

"""Guards the training data: pairs are made, planted bad ones dropped, data augmented, exported, and read to train."""

import argparse
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from scripted import Reply, ScriptedModel

from restgpt.functions.calls.call import Call
from restgpt.functions.calls.grounding import ungrounded_values
from restgpt.functions.calls.parsing import parse_calls
from restgpt.functions.calls.validation import check_call
from restgpt.functions.docs.dialects import read_function
from restgpt.functions.docs.function import Function, FunctionError
from restgpt.functions.docs.loading import load_functions
from restgpt.functions.docs.sources import from_parser
from restgpt_bench.functions.augment import Pair, augment
from restgpt_bench.functions.filters import Rejected, accept, leaked_name, likeness
from restgpt_bench.functions.generate import Dataset, chat_row, export, generate, original_row
from restgpt_bench.functions.sources import SourcedFunction, functions_of, read_sources
from restgpt_bench.functions.train import TrainError, dry_run, make_trainer, read_rows, train

DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.example.com"}],
    "paths": {
        "/orders/{id}": {
            "get": {
                "operationId": "showOrder",
                "summary": "Show one order with its parcels.",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "responses": {"200": {"description": "ok"}},
            }
        },
        "/wishes": {
            "post": {
                "operationId": "addWish",
                "summary": "Put an article on a wish list.",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["article"],
                                "properties": {"article": {"type": "string"}},
                            }
                        }
                    },
                },
                "responses": {"201": {"description": "made"}},
            }
        },
    },
}


def parser() -> argparse.ArgumentParser:
    """A command line for the tests."""
    made = argparse.ArgumentParser(prog="cloud", description="Copy files to a bucket of the cloud.")
    made.add_argument("bucket", help="The bucket.")
    made.add_argument("--retries", type=int, help="How often to try again.")
    return made


def sources() -> list[SourcedFunction]:
    """Five documentations of three kinds."""
    python = [one for one in functions_of(json) if one.name == "json.dumps"]
    statistics = [
        one.function for one in read_sources(["python:statistics"]) if one.function.name.endswith("quantiles")
    ]
    rest = load_functions(DOCUMENT)
    return [
        SourcedFunction(python[0], "python", "python:json"),
        SourcedFunction(statistics[0], "python", "python:statistics"),
        SourcedFunction(rest[0], "rest", "shop.json"),
        SourcedFunction(rest[1], "rest", "shop.json"),
        SourcedFunction(from_parser(parser())[0], "command line", "cloud"),
    ]


GOOD: dict[str, list[tuple[str, str]]] = {
    "json.dumps": [
        ("Turn the list of 1 and 2 into text with an indent of four.", "json.dumps(obj=[1, 2], indent=4)"),
        ("I need the word moss written out for a data file.", 'json.dumps(obj="moss")'),
        ("Please serialise 42 and sort whatever there is to sort.", "json.dumps(obj=42, sort_keys=True)"),
    ],
    "statistics.quantiles": [
        ("Cut the numbers 3, 5, 8 and 13 into ten equal parts.", "statistics.quantiles(data=[3, 5, 8, 13], n=10)"),
        ("Where are the quartiles of 1, 2 and 7?", "statistics.quantiles(data=[1, 2, 7])"),
    ],
    "showOrder": [
        ("What is the state of order 4711?", 'showOrder(path={"id": 4711})'),
        ("Open number 99 of my orders, would you?", 'showOrder(path={"id": 99})'),
    ],
    "addWish": [("Put a red kite on my wish list.", 'addWish(body={"article": "red kite"})')],
    "cloud": [
        ("Upload everything to the bucket photos and try three times.", 'cloud(bucket="photos", retries=3)'),
        ("Send my files to the bucket letters.", 'cloud(bucket="letters")'),
    ],
}
PLANTED: dict[str, list[tuple[str, str, str]]] = {
    "json.dumps": [
        ("Write the number seven down.", "json.dumps(obj=7", "does not parse"),
        ("Write it with a wide indent.", "json.dumps(indent=4)", "does not validate"),
        ("Use json.dumps on the number 8.", "json.dumps(obj=8)", "leaks a name"),
        (
            "Turn the list of 1 and 2 into text with indent of four.",
            "json.dumps(obj=[1, 2], indent=4)",
            "near duplicate",
        ),
    ],
    "showOrder": [
        ("Where is my parcel now?", 'showOrder(path={"id": 5})', "not grounded"),
        ("Order 12 please, all of it.", 'showOrder(path={"id": "twelve"})', "does not validate"),
        ("Two things, order 1 and 2.", 'showOrder(path={"id": 1}), showOrder(path={"id": 2})', "does not parse"),
    ],
    "cloud": [("Bucket!", 'cloud(bucket="Bucket!")', "length")],
}


def scripted() -> ScriptedModel:
    def reply(messages: list[BaseMessage]) -> Reply:
        task = str(messages[-1].text)
        name = next(name for name in GOOD if f'"name": "{name}"' in task or f'"api_call": "{name}"' in task)
        listed = [*GOOD[name], *((said, call) for said, call, _ in PLANTED.get(name, []))]
        return {"pairs": [{"instruction": said, "call": call} for said, call in listed]}

    return ScriptedModel(reply)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return generate(sources(), scripted(), per_function=4, seed=7)


def test_good_pairs_are_kept_and_planted_ones_dropped_by_the_right_filter(dataset: Dataset) -> None:
    kept = [pair for pair in dataset.pairs if pair.kind == "single"]
    assert {pair.instruction for pair in kept} == {said for pairs in GOOD.values() for said, _ in pairs}
    assert {(one.instruction, one.reason) for one in dataset.dropped} == {
        (said, reason) for planted in PLANTED.values() for said, _, reason in planted
    }
    assert {pair.source for pair in kept} == {"python", "rest", "command line"}


def test_every_kind_of_augmentation_is_there_and_sound(dataset: Dataset) -> None:
    kinds = {pair.kind for pair in dataset.pairs}
    assert kinds == {"single", "renamed", "multiple", "parallel", "parallel multiple", "irrelevant", "missing"}
    for pair in dataset.pairs:
        names = [function.name for function in pair.functions]
        assert len(set(names)) == len(names)
        for call in pair.calls:
            assert check_call(call, pair.functions) == []
            function = next(one for one in pair.functions if one.name == call.name)
            assert ungrounded_values(call, function, [pair.instruction]) == []
        assert bool(pair.calls) != bool(pair.answer)


def test_renamed_functions_are_called_by_their_new_name(dataset: Dataset) -> None:
    renamed = [pair for pair in dataset.pairs if pair.kind == "renamed"]
    assert renamed
    assert all(pair.calls[0].name == pair.functions[0].name not in GOOD for pair in renamed)


def test_missing_values_are_asked_for_by_name(dataset: Dataset) -> None:
    for pair in (pair for pair in dataset.pairs if pair.kind == "missing"):
        assert any(name in pair.answer for name in pair.functions[0].required)


def test_parallel_pairs_hold_both_calls(dataset: Dataset) -> None:
    for pair in (pair for pair in dataset.pairs if pair.kind.startswith("parallel")):
        assert len(pair.calls) == 2
        assert len(pair.functions) == (2 if pair.kind == "parallel multiple" else 1)


def test_the_same_seed_gives_the_same_data(dataset: Dataset) -> None:
    again = generate(sources(), scripted(), per_function=4, seed=7)
    assert [original_row(pair) for pair in again.pairs] == [original_row(pair) for pair in dataset.pairs]
    other = generate(sources(), scripted(), per_function=4, seed=8)
    assert [original_row(pair) for pair in other.pairs] != [original_row(pair) for pair in dataset.pairs]


def test_the_manifest_says_how_the_data_came_about(dataset: Dataset, tmp_path: Path) -> None:
    files = export(dataset, tmp_path)
    manifest = json.loads(files["manifest"].read_text(encoding="utf-8"))
    assert manifest["functions"] == {"python": 2, "rest": 2, "command line": 1}
    assert manifest["rows"] == len(dataset.pairs)
    assert manifest["dropped"]["near duplicate"] == 1
    assert set(manifest["prompts"]) == {"functions_generate", "functions_generate_task"}
    assert set(manifest["sha256"]) == {"openfunctions", "chat", "dropped"}
    assert manifest["usage"]["calls"] == 5


def test_the_export_has_the_originals_form_and_that_of_chats(dataset: Dataset, tmp_path: Path) -> None:
    files = export(dataset, tmp_path)
    rows = [json.loads(line) for line in files["openfunctions"].read_text(encoding="utf-8").splitlines()]
    for row, pair in zip(rows, dataset.pairs, strict=True):
        functions = load_functions({"Functions": row["Functions"]})
        assert [function.name for function in functions] == [function.name for function in pair.functions]
        if pair.calls:
            calls = [call for text in row["Output"] for call in parse_calls(text, functions)]
            assert [call.arguments for call in calls] == [call.arguments for call in pair.calls]
    chats = [json.loads(line) for line in files["chat"].read_text(encoding="utf-8").splitlines()]
    for chat in chats:
        offered = {tool["function"]["name"] for tool in chat["tools"]}
        called = {call["function"]["name"] for call in chat["messages"][-1].get("tool_calls", [])}
        assert called <= offered


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_export_is_read_by_the_trainers_dry_run(dataset: Dataset, tmp_path: Path, version: Any) -> None:
    found = dry_run(export(dataset, tmp_path)["openfunctions"], version)
    assert found.rows == len(dataset.pairs)
    assert found.kinds["single"] == 10
    assert 0 < found.learned < 0.5
    assert f"n={found.rows}" in found.report()


def test_rows_begin_and_end_as_the_models_saw_them(dataset: Dataset, tmp_path: Path) -> None:
    path = export(dataset, tmp_path)["openfunctions"]
    first, second = read_rows(path, "v1")[0], read_rows(path, "v2")[0]
    assert first.prompt.startswith("USER: <<question>> Turn the list")
    assert first.prompt.endswith("\nASSISTANT: ")
    assert first.completion == "json.dumps(obj=[1, 2], indent=4)"
    assert second.prompt.endswith("\n### Response: ")
    assert second.completion == "<<function>>json.dumps(obj=[1, 2], indent=4)"


@pytest.mark.parametrize(
    "line", ["{broken", "{}", '{"Instruction": "x", "Functions": ["{\\"name\\": \\"f\\"}"], "Output": ["f(a="]}']
)
def test_a_broken_row_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(TrainError, match=r"rows\.jsonl, line 1"):
        dry_run(path)
    with pytest.raises(TrainError, match="bench generate"):
        dry_run(tmp_path / "nowhere.jsonl")


WEATHER = read_function(
    {
        "name": "weather.get_now",
        "description": "Get the weather.",
        "parameters": {"type": "dict", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
)


def test_a_name_is_leaked_only_if_no_person_would_say_it() -> None:
    assert leaked_name("Use get_now for Oslo", WEATHER) == "get_now"
    assert leaked_name("What is the weather in the city of Oslo?", WEATHER) == ""
    with pytest.raises(Rejected, match="leaks a name"):
        accept("Call weather.get_now for Oslo", 'weather.get_now(city="Oslo")', WEATHER, [])


def test_likeness_is_one_for_the_same_and_zero_for_nothing_in_common() -> None:
    assert likeness("a b c", "A b, c!") == 1.0
    assert likeness("a b", "c d") == 0.0
    assert likeness("", "a") == 0.0
    assert round(likeness("a b c d", "a b c x"), 2) == 0.75


def test_a_related_function_is_no_distractor() -> None:
    related = Function("weather.fetch", "Get the weather.")
    pairs = [
        Pair("Weather in Oslo please", (WEATHER,), (Call("weather.get_now", {"city": "Oslo"}),)),
        Pair("Weather there", (related,), (Call("weather.fetch"),)),
    ]
    assert {pair.kind for pair in augment(pairs, Random(0))} & {"multiple", "irrelevant"} == set()


def test_sources_that_cannot_be_read_are_named() -> None:
    assert {one.kind for one in read_sources(["python:textwrap"])} == {"python"}
    with pytest.raises(FunctionError, match="nowhere_at_all"):
        read_sources(["python:nowhere_at_all"])
    with pytest.raises(FunctionError, match="no ArgumentParser"):
        read_sources(["argparse:json:dumps_"])
    with pytest.raises(FunctionError, match=r"nothing\.json"):
        read_sources(["nothing.json"])


def test_a_chat_row_asks_or_declines_in_words() -> None:
    row = chat_row(
        Pair("Book a flight", (WEATHER,), answer="None of the given functions can do that.", kind="irrelevant")
    )
    assert row["messages"][-1] == {"role": "assistant", "content": "None of the given functions can do that."}


def test_training_without_the_extra_says_what_to_install(dataset: Dataset, tmp_path: Path) -> None:
    try:
        import trl  # noqa: F401
    except ImportError:
        path = export(dataset, tmp_path)["openfunctions"]
        with pytest.raises(TrainError, match=r"restgpt\[train\]"):
            make_trainer(path, "nothing", tmp_path)


def tiny_model(texts: list[str]) -> tuple[Any, Any]:
    """A random model of a few thousand weights and a tokenizer made from the rows themselves."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    built = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    built.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=500, special_tokens=["<unk>", "<s>", "</s>", "<pad>"])
    built.train_from_iterator(texts, trainer)
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=built, **names)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        **sizes,
        num_key_value_heads=2,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return transformers.LlamaForCausalLM(config), tokenizer


def test_a_tiny_model_trains_for_a_few_steps_with_loss_on_the_answer_only(dataset: Dataset, tmp_path: Path) -> None:
    for package in ("torch", "trl", "peft", "datasets"):
        pytest.importorskip(package)
    path = export(dataset, tmp_path)["openfunctions"]
    rows = read_rows(path)
    model, tokenizer = tiny_model([row.prompt + row.completion for row in rows])
    options: dict[str, Any] = {"tokenizer": tokenizer, "steps": 2, "batch": 2, "rank": 2}
    trainer = make_trainer(path, model, tmp_path / "out", **options)
    batch = next(iter(trainer.get_train_dataloader()))
    completions = {row.completion for row in rows}
    for labels in batch["labels"]:
        learned = tokenizer.decode([int(token) for token in labels if token != -100], skip_special_tokens=True)
        assert learned.strip() in completions
    loss = train(path, tiny_model([row.prompt + row.completion for row in rows])[0], tmp_path / "out", **options)
    assert 0 < loss < 20
    assert (tmp_path / "out" / "adapter_config.json").is_file()

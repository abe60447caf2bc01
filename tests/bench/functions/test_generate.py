"""Guards pairs of instruction and call: good ones are made, planted bad ones dropped, and the rest exported."""

import json
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage
from scripted import Reply, ScriptedModel

from restgpt_bench.functions.filters import Rejected, accept, leaked_name, likeness
from restgpt_bench.functions.generate import Dataset, export, generate
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.docs.dialects import read_function
from restgpt_functions.docs.loading import load_functions

DOCUMENT = """
openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example.com"}]
paths:
  /orders/{id}:
    get:
      operationId: showOrder
      summary: Show one order with its parcels.
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {200: {description: ok}}
  /wishes:
    post:
      operationId: addWish
      summary: Put an article on a wish list.
      requestBody:
        required: true
        content:
          application/json: {schema: {type: object, required: [article], properties: {article: {type: string}}}}
      responses: {201: {description: made}}
"""


FIELDS = {"obj": {"type": "any"}, "indent": {"type": "integer"}, "sort_keys": {"type": "boolean"}}
WRITE = {
    "name": "json.write",
    "description": "Write an object as JSON.",
    "parameters": {"type": "dict", "properties": FIELDS, "required": ["obj"]},
}


GOOD: dict[str, list[tuple[str, str]]] = {
    "json.write": [
        ("Turn the list of 1 and 2 into text with an indent of four.", "json.write(obj=[1, 2], indent=4)"),
        ("I need the word moss written out for a data file.", 'json.write(obj="moss")'),
    ],
    "showOrder": [
        ("What is the state of order 4711?", 'showOrder(path={"id": 4711})'),
        ("Open number 99 of my orders, would you?", 'showOrder(path={"id": 99})'),
    ],
    "addWish": [("Put a red kite on my wish list.", 'addWish(body={"article": "red kite"})')],
}
PLANTED: dict[str, list[tuple[str, str, str]]] = {
    "json.write": [
        ("Write the number seven down.", "json.write(obj=7", "does not parse"),
        ("Write it with a wide indent.", "json.write(indent=4)", "does not validate"),
        ("Use json.write on the number 8.", "json.write(obj=8)", "leaks a name"),
        (
            "Turn the list of 1 and 2 into text with indent of four.",
            "json.write(obj=[1, 2], indent=4)",
            "near duplicate",
        ),
    ],
    "showOrder": [
        ("Order 12 please, all of it.", 'showOrder(path={"id": "twelve"})', "does not validate"),
        ("Order 7", 'showOrder(path={"id": 7})', "length"),
        ("Two things, order 1 and 2.", 'showOrder(path={"id": 1}), showOrder(path={"id": 2})', "does not parse"),
    ],
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
    return generate([read_function(WRITE), *load_functions(DOCUMENT)], scripted())


def test_good_pairs_are_kept_and_planted_ones_dropped_by_the_right_filter(dataset: Dataset) -> None:
    assert [pair.instruction for pair in dataset.pairs] == [said for pairs in GOOD.values() for said, _ in pairs]
    assert {(one.instruction, one.reason) for one in dataset.dropped} == {
        (said, reason) for planted in PLANTED.values() for said, _, reason in planted
    }
    assert f"n={len(dataset.pairs)} pairs" in dataset.report()


def test_an_exported_pair_is_read_as_the_function_and_the_call_that_it_was_made_of(
    dataset: Dataset, tmp_path: Path
) -> None:
    files = export(dataset, tmp_path)
    rows = [json.loads(line) for line in files["pairs"].read_text(encoding="utf-8").splitlines()]
    for row, pair in zip(rows, dataset.pairs, strict=True):
        functions = load_functions({"Functions": row["Functions"]})
        assert [function.name for function in functions] == [pair.function.name]
        assert [call.arguments for call in parse_calls(row["Output"][0], functions)] == [pair.call.arguments]
    dropped = files["dropped"].read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["reason"] for line in dropped] == [one.reason for one in dataset.dropped]


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

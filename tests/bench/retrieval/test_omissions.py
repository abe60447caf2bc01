"""Guards the measure of what prompts hide: each thing that a function lacks is found, and nothing else."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from restgpt.nodes.dialogue.functions import MOST
from restgpt.nodes.run.services import Context
from restgpt.specs import load_api
from restgpt.specs.docs.interface import interface
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.retrieval.function_text import read_function
from restgpt_bench.retrieval.omissions import BUNDLED, DECISION, PROMPT, Fact, documents, facts, measure, share, table

ORDERS = """
openapi: 3.0.0
info: {title: Orders, version: "1"}
paths:
  /orders/{id}:
    post:
      operationId: pay
      summary: Pay an order
      description: Only one open charge is allowed.
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: limit, in: query, schema: {type: integer, default: 20, maximum: 100}}
      requestBody: {required: true, content: {application/json: {schema: {
        type: object, required: [amount], properties: {
        amount: {type: object, required: [value], properties: {
          value: {type: integer, description: The amount in minor units.}}},
        mode: {type: string, enum: [soft, "hard, or not"], default: soft},
        due: {type: string, format: date-time},
        code: {type: string, pattern: "^[A-Z]{2,3}$"},
        parts: {type: array, items: {$ref: "#/components/schemas/Part"}}}}}}}
      responses: {"200": {description: OK, content: {application/json: {schema: {type: object, properties: {
        paid: {type: string, nullable: true, description: It is null while the payment waits.}}}}}}}
components: {schemas: {Part: {type: object, required: [size], properties: {
  size: {type: integer, maximum: 5000, description: In bytes.},
  parts: {type: array, items: {$ref: "#/components/schemas/Part"}}}}}}
"""
COMPLETE = """\
other(code: str) -> None
pay(id*: str, limit=20 ≤100, body*: {amount*: {value*: int}, mode: 'soft'|'hard, or not' = 'soft', due: datetime, \
code: str /^[A-Z]{2,3}$/, parts: [Part]}) -> {paid?}
  Pay an order. Only one open charge is allowed. amount.value, …: In minor units. limit: Rows of a page.
  ->paid: It is null while the payment waits.
Part = {size*: int ≤5000, parts: [Part]}
  size: In bytes.
"""


def document() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(ORDERS)
    return found


def compared(text: str) -> list[Fact]:
    function = read_function(text, "pay")
    assert function is not None
    return list(facts(load_api(document()).operation("pay"), function))


KINDS = ("required", "names", "values", "formats", "patterns", "bounds", "defaults", "units", "null", "rules", "fields")


def test_a_complete_function_hides_nothing() -> None:
    found = compared(COMPLETE)
    assert [fact for fact in found if not fact.is_shown] == []
    assert {fact.kind for fact in found} == {*KINDS}


@pytest.mark.parametrize(
    ("fragment", "without", "expected"),
    [
        ("value*: int", "value: int", "body required amount.value"),
        ("{value*: int}", "{…}", "body required amount.value"),
        ("amount.value, …: In minor units.", "", "body units amount.value"),
        ("amount.value, …: In minor units.", "mode: In minor units.", "body units amount.value"),
        ("'soft'|'hard, or not'", "str", "body values mode"),
        (" = 'soft'", "", "body defaults mode"),
        ("datetime", "str", "body formats due"),
        (" /^[A-Z]{2,3}$/", "", "body patterns code"),
        ("≤5000", "≤50", "body bounds parts.size"),
        ("  size: In bytes.\n", "", "body units parts.size"),
        ("limit=20", "limit: int", "parameter defaults limit"),
        ("≤100,", ",", "parameter bounds limit"),
        ("id*: str", "id: str", "parameter required id"),
        ("Only one open charge is allowed.", "", "operation rules "),
        ("  ->paid: It is null while the payment waits.\n", "", "answer null paid"),
        ("{paid?}", "{paid?, … 2 more: …}", ""),
        ("{paid?}", "any", "answer fields , answer names paid"),
    ],
)
def test_what_a_function_lacks_is_found(fragment: str, without: str, expected: str) -> None:
    hidden = [fact for fact in compared(COMPLETE.replace(fragment, without)) if not fact.is_shown]
    assert ", ".join(" ".join(fact[:3]) for fact in hidden) == expected


def test_prompts_show_the_units_of_what_is_sent() -> None:
    whole = document()
    del whole["paths"]["/orders/{id}"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"][
        "parts"
    ]
    found = list(measure("orders", load_api(whole), 0))
    assert {item.view for item in found} == {PROMPT, DECISION}
    assert share(found, PROMPT) == share(found, DECISION) == 0, [item.fact for item in found if not item.fact.is_shown]


def test_a_function_that_is_a_line_is_counted_and_one_asked_for_by_name_is_compared() -> None:
    """A hundred operations do not fit the first prompt with their signatures."""
    whole = document()
    post = whole["paths"].pop("/orders/{id}")["post"]
    whole["paths"] = {f"/orders{n}/{{id}}": {"post": {**post, "operationId": f"pay{n}"}} for n in range(100)}
    found = list(measure("orders", load_api(whole), 20))
    stands = Counter((item.view, item.fact.said) for item in found if item.fact.kind == "signature")
    assert 0 < stands[PROMPT, "whole"] < 20
    assert (
        stands[DECISION, "whole"] == stands[PROMPT, "whole"] + stands[PROMPT, "line"] + stands[PROMPT, "absent"] == 20
    )
    hidden = stands[PROMPT, "line"] + stands[PROMPT, "absent"]
    assert any(line.split()[1:6] == ["operation", "signature", str(hidden), "of", "20"] for line in table(found))


@pytest.mark.parametrize("name", BUNDLED)
def test_no_operation_of_a_bundled_document_loses_a_rule(name: str) -> None:
    operations = load_api(Path(str(bundled_document(name)))).operations
    text = interface(operations, lambda operation: operation.name, budget=Context().functions_budget, most=MOST)
    functions = [read_function(text, operation.name) for operation in operations]
    assert all(functions)
    pairs = zip(operations, functions, strict=True)
    found = [fact for operation, function in pairs if function for fact in facts(operation, function)]
    assert [fact for fact in found if fact.place == "operation" and not fact.is_shown] == []


def test_documents_are_known_whether_they_are_there_or_not(tmp_path: Path) -> None:
    names = [path.name for path in documents("", tmp_path)]
    assert {"tmdb.yaml", "$RESTGPT_DATA", "api.github.com.json", "stripe.com.json"} <= set(names)

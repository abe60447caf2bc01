"""Guards idempotency keys, one per change and never a model's, and what makes two calls the same."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import operation_of

from restgpt.calling.call import Call, draft, edited
from restgpt.calling.idempotency import identity_of, key_header, with_key
from restgpt.specs import Operation
from restgpt.tools.request.prepared_request import build_request

X = "https://x.example"


def operation(method: str = "post", name: str = "Idempotency-Key", **schema: Any) -> Operation:
    described = schema or {"type": "string", "format": "uuid"}
    parameter = {"name": name, "in": "header", "required": not schema, "schema": described}
    return operation_of({"parameters": [parameter]}, method, base_url=X)


def test_a_documented_key_is_filled_in_from_the_request_id() -> None:
    found = with_key(operation(), {}, "r1.0")
    assert build_request(operation(), found).headers["Idempotency-Key"] == found["header"]["Idempotency-Key"]
    assert found == with_key(operation(), {}, "r1.0")
    assert found != with_key(operation(), {}, "r1.1")
    replaced = with_key(operation(), {"header": {"idempotency-key": "1", "X-Other": "2"}}, "r1.0")
    assert replaced["header"] == {**found["header"], "X-Other": "2"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 32},
        {"type": "string", "maxLength": 16},
        {"type": "integer"},
        {"type": "object"},
        {"type": "string", "pattern": "^[0-9A-Z]{26}$"},
        {"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"},
        {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"},
        {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"},
        {"enum": ["a", "b"]},
    ],
)
def test_a_key_that_is_made_has_the_form_of_the_document_or_is_left_out(schema: dict[str, Any]) -> None:
    found = operation(**schema)
    sent = build_request(found, with_key(found, {}, "r1.0")).headers
    assert ("Idempotency-Key" in sent) == (schema.get("type") in ("string", "integer"))
    other = build_request(found, with_key(found, {}, "r1.1")).headers
    assert ("Idempotency-Key" not in sent) or sent != other


def test_a_key_that_a_person_gave_or_said_stays() -> None:
    found, given = operation(), {"header": {"idempotency-key": "order-2026-17"}}
    assert with_key(found, given, "r1.0", said=None) == given
    assert with_key(found, given, "r1.0", said="Pay it, with the key order-2026-17.") == given
    assert with_key(found, given, "r1.0", said="Pay it.") != given
    short: dict[str, Any] = {"header": {"Idempotency-Key": "1"}}
    assert with_key(found, short, "r1.0", said="Pay 1 order.") != short


def test_an_edit_gets_a_key_of_its_own_unless_the_person_typed_one() -> None:
    found = operation()
    first = draft(found, {}, id="r1.0", said="")
    assert isinstance(first, Call)
    seen = {first.request.headers["Idempotency-Key"]}
    again = first
    for _ in range(2):
        made = edited(again, {**again.arguments, "query": {}})
        assert isinstance(made, Call)
        seen.add(made.request.headers["Idempotency-Key"])
        again = made
    assert len(seen) == 2
    typed = edited(again, {"header": {"Idempotency-Key": "order-17"}})
    assert isinstance(typed, Call)
    assert typed.request.headers["Idempotency-Key"] == "order-17"


@pytest.mark.parametrize("found", [operation("get"), operation(name="X-Trace")])
def test_without_a_place_for_one_nothing_is_added(found: Operation) -> None:
    assert key_header(found) is None
    assert with_key(found, {"query": {}}, "r1.0") == {"query": {}}


@pytest.mark.parametrize("given", ["x", ["Idempotency-Key"], 7])
def test_headers_that_are_no_object_are_left_to_the_building_of_the_request(given: object) -> None:
    assert with_key(operation(), {"header": given}, "r1.0") == {"header": given}


TEXT_TYPE = {"type": "string"}
PARAMETERS = [
    {"name": "shop", "in": "path", "required": True, "schema": {"type": "integer"}},
    {"name": "notify", "in": "query", "schema": {"type": "boolean", "default": False}},
    {"name": "tags", "in": "query", "schema": {"type": "array", "items": TEXT_TYPE}},
    {"name": "rate", "in": "query", "schema": {"type": "number"}},
    {"name": "Idempotency-Key", "in": "header", "required": True, "schema": TEXT_TYPE},
]
SIZED = {"properties": {"count": {"type": "number"}, "size": {**TEXT_TYPE, "default": "M"}}}
SHOP = {"parameters": PARAMETERS, "requestBody": {"content": {"application/json": {"schema": SIZED}}}}
ORDER = operation_of(SHOP, "post", "/shops/{shop}/orders", base_url=X)
TEXT = st.text("ab1&=~", max_size=3)
WHOLE = st.integers(-99, 99)
ARGUMENTS = st.fixed_dictionaries(
    {
        "path": st.fixed_dictionaries({"shop": WHOLE}),
        "query": st.fixed_dictionaries(
            {}, optional={"notify": st.booleans(), "tags": st.lists(TEXT, min_size=1, max_size=3), "rate": WHOLE}
        ),
        "body": st.fixed_dictionaries(
            {"count": WHOLE}, optional={"size": st.sampled_from("SML"), "lines": st.lists(st.lists(WHOLE), max_size=2)}
        ),
    }
)


def respelled(value: Any, draw: Any) -> Any:
    """The same value with its names in another order, and whole numbers as fractions."""
    if isinstance(value, Mapping):
        return {name: respelled(value[name], draw) for name in draw(st.permutations(sorted(value)))}
    if isinstance(value, list):
        return [respelled(item, draw) for item in value]
    return float(value) if type(value) is int and draw(st.booleans()) else value


@given(ARGUMENTS, st.data())
def test_one_call_has_one_identity_however_it_is_spelled(arguments: dict[str, Any], data: st.DataObject) -> None:
    spelled = respelled(arguments, data.draw)
    spelled["query"].setdefault("notify", False)
    spelled["body"].setdefault("size", "M")
    for group in data.draw(st.sets(st.sampled_from(["header", "cookie"]))):
        spelled[group] = {}
    if not arguments["query"] and data.draw(st.booleans()):
        del arguments["query"]
    assert identity_of(ORDER, spelled) == identity_of(ORDER, arguments)


@given(ARGUMENTS, ARGUMENTS)
def test_calls_that_send_something_else_have_other_identities(one: dict[str, Any], other: dict[str, Any]) -> None:
    def meant(arguments: dict[str, Any]) -> dict[str, Any]:
        body = {"size": "M", **arguments["body"]}
        return {**arguments, "query": {"notify": False, **arguments["query"]}, "body": body}

    assert (identity_of(ORDER, one) == identity_of(ORDER, other)) == (meant(one) == meant(other))


def test_a_file_counts_by_its_name_and_refused_arguments_have_an_identity_too() -> None:
    files = [{"path": {"shop": 1}, "body": {"@file": name}} for name in ("a.json", "a.json", "b.json")]
    assert [identity_of(ORDER, item) == identity_of(ORDER, files[0]) for item in files] == [True, True, False]
    assert identity_of(ORDER, {"path": {"shop": "x"}}) != identity_of(ORDER, {"path": {"shop": "y"}})

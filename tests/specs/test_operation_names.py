"""Guards the names of operations whose operationIds repeat path and method, as FastAPI makes them."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from paths import api_of

from restgpt.calling.idempotency import identity_of
from restgpt.host.operations import direct_definitions
from restgpt.specs import Api, Catalogue, UnknownOperationError
from restgpt.specs.reading.index import short_name
from restgpt.tools.settings.entry import PolicyRule
from restgpt_functions.calls.call import Call
from restgpt_functions.calls.parsing import bind_call
from restgpt_functions.docs.operations import from_operations

LONG = "exchange_delivered_order_items_tools_exchange_delivered_order_items_post"
TRADE = ("exchange_delivered_order_items", "post", "/tools/exchange_delivered_order_items")


def fastapi_id(function: str, method: str, path: str) -> str:
    return re.sub(r"\W", "_", f"{function}{path}") + f"_{method}"


def shop(*operations: tuple[str, str, str], title: str = "Shop", **more: tuple[str, str]) -> Api:
    """An API with the operations of FastAPI functions, and others by operationId."""
    paths: dict[str, dict[str, Any]] = {}
    for function, method, path in operations:
        paths.setdefault(path, {})[method] = {"operationId": fastapi_id(function, method, path), "responses": {}}
    for identifier, (method, path) in more.items():
        paths.setdefault(path, {})[method] = {"operationId": identifier, "responses": {}}
    return api_of(paths, title=title, base_url="https://shop.example")


def names(api: Api) -> list[str]:
    return [operation.name for operation in api.operations]


@pytest.mark.parametrize(
    ("identifier", "place", "name"),
    [
        ("get_product_products__product_id__get", "GET /products/{product_id}", "get_product"),
        (LONG, "POST /tools/exchange_delivered_order_items", "exchange_delivered_order_items"),
        ("list_items_items__get", "GET /items/", "list_items"),
        ("root__get", "GET /", "root"),
        # The path does not end the operationId, or nothing is before it.
        ("root_get", "GET /", ""),
        ("get_product_products_get", "POST /products", ""),
        ("_products_get", "GET /products", ""),
        ("listProducts", "GET /products", ""),
    ],
)
def test_the_path_and_the_method_at_the_end_are_taken_off(identifier: str, place: str, name: str) -> None:
    assert short_name(identifier, *place.split(" ")) == name


def test_operations_that_would_share_a_name_keep_theirs() -> None:
    api = shop(("read", "get", "/a"), ("read", "get", "/b"), ("write", "post", "/a"), ("stop", "put", "/a"))
    assert names(api) == ["read_a_get", "write", "stop", "read_b_get"]
    taken = shop(("write", "post", "/a"), ("erase", "delete", "/a"), write=("get", "/c"))
    assert names(taken) == ["write_a_post", "erase", "write"]


def test_a_name_does_not_depend_on_the_order_of_the_document() -> None:
    operations = [("read", "get", "/a"), ("read", "get", "/b"), ("write", "post", "/a")]
    assert sorted(names(shop(*operations))) == sorted(names(shop(*reversed(operations))))


def test_every_name_of_the_past_finds_the_operation() -> None:
    api = shop(TRADE, ("get_product", "get", "/products/{id}"))
    catalogue = Catalogue([api])
    trade, get = api.operations
    cut = trade.long_name
    assert len(cut) <= 64 < len(LONG)
    for operation, keys in ((trade, (trade.name, cut, LONG)), (get, (get.name, "get_product_products__id__get"))):
        for key in keys:
            assert catalogue.operation(key) is api.operation(key) is operation
            assert catalogue.knows(key)
            assert PolicyRule("deny", ids=(key,)).applies_to(operation)
    assert list(catalogue.functions) == [trade.name, "get_product"]
    assert list(catalogue.long_functions) == [cut, "get_product_products__id__get"]


def test_a_name_of_the_past_is_not_taken_for_a_short_name_of_another_api() -> None:
    one, two = shop(("write", "post", "/a"), title="One"), shop(title="Two", write=("post", "/b"))
    catalogue = Catalogue([one, two])
    assert list(map(catalogue.name_of, catalogue)) == ["one.write", "two.write"]
    assert catalogue.operation("one.write").api is catalogue.operation("write_a_post").api is one
    assert catalogue.operation("write").api is two


def test_the_identity_of_a_call_does_not_depend_on_the_short_name() -> None:
    alone, beside = shop(("write", "post", "/a")), shop(("write", "post", "/a"), ("write", "post", "/b"))
    assert names(alone) != names(beside)[:1]
    assert identity_of(alone.operations[0], {}) == identity_of(beside.operations[0], {})


def test_a_call_that_a_model_writes_by_the_operation_id_is_one_of_the_function() -> None:
    functions = from_operations(shop(("get_product", "get", "/products/{id}")).operations)
    for name in ("get_product", "get_product_products__id__get"):
        assert bind_call(Call(name, {"path": {"id": 1}}), functions).name == "get_product"


def test_a_direct_tool_has_a_short_name_that_is_cut_after_a_word() -> None:
    long = {f"list_{kind}_of_the_authenticated_user_in_every_region": ("get", f"/{kind}") for kind in "ab"}
    more = {"listAllRepositoriesOfTheOrganizationAndItsTeams": ("get", "/c"), "x" * 50: ("get", "/d")}
    api = shop(TRADE, **long, **more)

    def tools(*wanted: str) -> Mapping[str, str]:
        chosen = [item for item in api.operations if not wanted or item.name in wanted]
        made = direct_definitions(Catalogue([api]), chosen)
        return {item.name: definition.name for item, definition in zip(chosen, made, strict=False)}

    first, *found = tools().values()
    assert first == "exchange_delivered_order_items"
    words = [re.sub(r"_[0-9a-f]{6}$", "", name) for name in found]
    assert words[:2] == ["list_a_of_the_authenticated_user", "list_b_of_the_authenticated_user"]
    assert words[2:] == ["listAllRepositoriesOfThe", "x" * 33]
    # The name is the same whatever other operations have tools.
    for name, tool in tools().items():
        assert tools(name) == {name: tool}


def test_a_name_that_two_apis_have_is_refused_with_the_names_that_tell_them_apart() -> None:
    catalogue = Catalogue([shop(("write", "post", "/a"), title=title) for title in ("One", "Two")])
    with pytest.raises(UnknownOperationError, match=r"several APIs have write: say one\.write or two\.write"):
        catalogue.operation("write")

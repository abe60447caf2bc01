"""Guards the map: every operation can be reached from its root, within the budget, whatever the paths look like."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from restgpt.specs import Api, Catalogue, UnknownOperationError, UnknownPartError, load_api
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.map import LEGEND, MORE, Part, pieces

SHOP = {
    "/v1/orders": "get post",
    "/v1/orders/{order}": "get delete",
    "/v1/orders/{order}/cancel": "post",
    "/v1/orders/{order}/ship": "post",
    "/v1/people/{id}": "get",
}


def api(paths: Mapping[str, str], title: str = "Shop", **operation: Any) -> Api:
    """An API of paths with methods; the other keys of each operation are given."""
    items = {
        path: {method: {"summary": f"{method} it", "responses": {}, **operation} for method in methods.split()}
        for path, methods in paths.items()
    }
    return load_api({"openapi": "3.1.0", "info": {"title": title, "version": "1"}, "paths": items})


def catalogue(*apis: Api) -> Catalogue:
    return Catalogue(apis)


def wide(*letters: str) -> dict[str, str]:
    """Paths with every combination of letters as their only name."""
    return {f"/{''.join(name)}": "get" for name in product(*letters)}


def reached(part: Part, budget: int, depth: int = 0) -> set[str]:
    """Open all parts that a map names, and theirs, and collect the operations that are listed by name."""
    assert depth < 60
    lines = part.text(budget).splitlines()
    found = {name for line in lines for name in re.findall(r"^- (\S+):", line)}
    if lines[0] != LEGEND:
        return found
    whole = Catalogue([next(part.everything()).api]).map
    return found.union(*(reached(whole.open(below.path), budget, depth + 1) for below in part.parts))


def test_a_small_part_lists_its_operations_with_names_and_summaries() -> None:
    text = catalogue(api(SHOP)).map.open("/v1/orders/{order}").text(1000)
    assert text.splitlines() == [
        "- get_v1_orders_by_order: GET /v1/orders/{order}  get it",
        "- delete_v1_orders_by_order: DELETE /v1/orders/{order}  delete it",
        "- post_v1_orders_by_order_cancel: POST /v1/orders/{order}/cancel  post it",
        "- post_v1_orders_by_order_ship: POST /v1/orders/{order}/ship  post it",
    ]


def test_a_large_part_lists_the_paths_below_it_and_counts_what_is_further_below() -> None:
    shop = catalogue(api(SHOP)).map
    assert shop.open().text(60).splitlines() == [LEGEND, "/v1 +7"]
    assert shop.open("/v1").text(60).splitlines() == [LEGEND, "/v1", "/v1/orders GET POST +4", "/v1/people/{id} GET"]


def test_an_opened_part_names_its_own_operations_above_the_tree() -> None:
    paths = {"/users/{id}": "get patch", **{f"/users/{{id}}/{name}/{{x}}": "get" for name in wide("abcdefgh", "xyz")}}
    lines = catalogue(api(paths)).map.open("/users/{id}").text(150).splitlines()
    assert lines[:3] == [LEGEND, "/users/{id}", "- get_users_by_id: GET /users/{id}  get it"]
    assert "- patch_users_by_id: PATCH /users/{id}  patch it" in lines


@pytest.mark.parametrize("budget", [50, 100, 400, 2000])
@pytest.mark.parametrize(
    "paths",
    [
        SHOP,
        {f"/a/{x}/{{id}}/{y}": "get post" for x, y in product("abcdefgh", repeat=2)},
        {"/a" * depth: "get" for depth in range(1, 60)},
        {"/": "get post put patch delete head options trace"},
    ],
)
def test_every_operation_is_listed_by_name_on_some_level_within_the_budget(paths: dict[str, str], budget: int) -> None:
    shop = api(paths)
    root = Catalogue([shop]).map.open()
    if budget >= 400:
        assert reached(root, budget) == {operation.name for operation in shop.operations}
    parts = [root]
    while parts:
        part = parts.pop()
        assert len(part.text(budget)) <= budget * TOKEN + 200
        parts += part.parts


def test_siblings_that_do_not_fit_are_counted_and_opened_by_their_letters() -> None:
    letters = catalogue(api(wide("abcdefghij", "klmnop", "qrstu", "vwxyz"))).map
    *shown, last = letters.open().text(120).splitlines()[1:]
    assert last == MORE.format(10 * 6 * 5 * 5 - len(shown))
    inner = letters.open("/a*")
    assert (len(inner), inner.path) == (150, "/a*")
    assert letters.open("/akq*").text(120).splitlines()[0] == "- get_akqv: GET /akqv  get it"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/{b}:cancel", ["/a", "/{b}", ":cancel"]),
        ("/#Target=Db.Get", ["/", "#Target=Db.Get"]),
        ("/x/by(id='{id}')/ns.delta()", ["/x", "/by(id='{id}')", "/ns.delta()"]),
        ("/{name:.*}/x", ["/{name:.*}", "/x"]),
        ("/:id/x", ["/:id", "/x"]),
        ("/a{b:c", ["/a{b", ":c"]),
        ("/a/", ["/a", "/"]),
        ("no/slash", ["no", "/slash"]),
        ("", []),
    ],
)
def test_a_path_is_split_where_paths_branch(path: str, expected: list[str]) -> None:
    assert pieces(path) == expected


@pytest.mark.parametrize("path", ["/a" * 500, "/a:" * 500, ":" * 999, "#" * 999, "/" * 999, "/" + "{" * 999])
def test_the_pieces_of_a_hostile_path_are_few_and_give_the_path_again(path: str) -> None:
    assert "".join(pieces(path)) == path
    assert len(pieces(path)) < 110


def test_odd_paths_are_on_the_map_and_can_be_opened() -> None:
    paths = ["/docs/{id}:cancel", "/docs/#Target=Db.Get", "/docs/by(id='{id}')/ns.delta()", "/docs/", "/docs/x y"]
    odd = catalogue(api(dict.fromkeys(paths, "post"))).map
    for path in paths:
        assert [operation.path for operation in odd.open(path).operations] == [path]
        assert odd.operation(f"POST {path}") is not None


@pytest.mark.parametrize(
    "part",
    ["/v1/orders/{order}", "v1/orders/{id}/", "GET /v1/orders/{order}", "/V1/Orders/{order}", " `/v1/orders/{order}` "],
)
def test_a_part_is_found_in_any_usual_form(part: str) -> None:
    assert catalogue(api(SHOP)).map.open(part).path == "/v1/orders/{order}"


@pytest.mark.parametrize(
    ("part", "near"),
    [
        ("/v1/order", "/v1/orders"),
        ("/orders", "/v1/orders"),
        ("/v1/orders/{order}/shipp", "/v1/orders/{order}/ship"),
        ("/v1/nothing", "/v1"),
    ],
)
def test_a_part_that_does_not_exist_is_refused_with_the_nearest_ones(part: str, near: str) -> None:
    with pytest.raises(UnknownPartError, match=re.escape(near)) as caught:
        catalogue(api(SHOP)).map.open(part)
    assert near in caught.value.near


@pytest.mark.parametrize("part", ["/**", "\n", "GET", "{", "/x" * 300, "*x*", "/v1/orders/zz*"])
def test_an_odd_part_is_refused_or_opened_but_never_a_crash(part: str) -> None:
    shop = catalogue(api(SHOP)).map
    if (found := shop.find(part)) is not None:
        assert found.text(500)
        return
    with pytest.raises(UnknownPartError, match="the whole map is /"):
        shop.open(part)


def test_several_apis_share_a_map_by_their_labels() -> None:
    both = catalogue(api(SHOP), api({"/v1/orders": "get", "/stock": "get"}, title="Store"))
    lines = both.map.open().text(70).splitlines()
    assert lines[1:] == ["/shop/v1 +7", "/store +2"]
    assert both.map.open("/stock").path == "/store/stock"
    assert both.operation("GET /store/v1/orders").api.name == "store"
    assert both.lookup("store.get_stock") is not None
    assert both.lookup("shop.get_stock") is None
    with pytest.raises(UnknownPartError, match=r"/shop/v1/orders, /store/v1/orders"):
        both.map.open("/v1/orders")
    with pytest.raises(UnknownOperationError):
        both.operation("PUT /store/v1/orders")


def test_the_map_decodes_no_operation_and_may_have_one_or_none() -> None:
    broken = api({"/v1/orders": "get post", "/v1/people/{id}": "get"}, parameters=[{"$ref": "#/nowhere"}])
    assert "/v1 +3" in catalogue(broken).map.open().text(30)
    assert "get_v1_orders" in catalogue(broken).map.open().text(1000)
    assert all("parameters" not in vars(operation) for operation in broken.operations)
    assert catalogue(api({"/only": "get"})).map.open().text(50) == "- get_only: GET /only  get it"
    assert catalogue(api({})).map.open().text(50) == ""

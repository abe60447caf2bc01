"""Guards pages and previews of bodies: every part can be read, each is bounded and says what it leaves out."""

import base64
import json
import random
import re
from typing import Any

import pytest
from bodies import body

from restgpt.tools.response.content import Body
from restgpt.tools.response.page import ITEMS, MOST_ITEMS, NoSuchPartError, Page, preview_body, preview_text, read_page

ITEM = {"id": 7, "name": "Ada", "text": "long " * 400, "tags": ["a", "b"]}


def pages(given: Body, pointer: str = "", **options: Any) -> list[Page]:
    found = [read_page(given, pointer, 1, **options)]
    while (number := found[-1].next) is not None:
        found.append(read_page(given, pointer, number, **options))
    return found


@pytest.mark.parametrize("count", [0, 1, ITEMS, ITEMS + 1, 5_000])
def test_the_pages_of_a_list_hold_each_item_once(count: int) -> None:
    found = pages(body({"items": list(range(count))}), "/items")
    assert [item for page in found for item in json.loads(page.content)] == list(range(count))
    assert found[0].previous is None
    assert found[0].total == count


def test_the_pages_of_a_text_of_an_object_and_of_binary_data_join_to_the_whole() -> None:
    value = {f"name {number}": number for number in range(50)}
    found = pages(body(value))
    assert {name: item for page in found for name, item in json.loads(page.content).items()} == value
    assert len(found) == 3
    text = "Grüße an 😀 Ada " * 5_000
    found = pages(body({"a": [{"b": text}]}), "/a/0/b")
    assert "".join(page.content for page in found) == text
    assert all(len(page.content) <= 8_000 for page in found)
    text = "a line\n" * 9_000
    assert "".join(page.content for page in pages(body(text.encode(), "text/plain"))) == text
    data = bytes(range(256)) * 100
    found = pages(body(data, "application/octet-stream"), room=1_000)
    assert b"".join(base64.b64decode(page.content) for page in found) == data
    assert read_page(body(b"")).kind == "empty"


def test_an_item_that_does_not_fit_is_marked_and_its_pointer_gives_it_whole() -> None:
    given = body([ITEM] * 40)
    page = read_page(given, "", 2)
    assert page.is_cut
    assert not page.is_json
    assert len(page.content) <= 8_000
    assert page.content.startswith('20: {"id": 7, "name": "Ada", "text": "long ')
    assert "more characters" in page.content
    assert json.loads(read_page(given, "/39").content) == ITEM
    assert read_page(given, "/39/text").content == ITEM["text"]


@pytest.mark.parametrize("pointer", ["/a~1b/c~0d/1", "a~1b/c~0d/1"])
def test_a_pointer_is_unescaped_as_rfc_6901_says(pointer: str) -> None:
    assert read_page(body({"a/b": {"c~d": [1, 2]}}), pointer).content == "2"


def test_json_lines_are_read_as_a_list() -> None:
    lines = b"\n".join(json.dumps({"id": number}).encode() for number in range(30))
    given = body(lines, "application/x-ndjson")
    assert json.loads(read_page(given, "/29").content) == {"id": 29}
    assert read_page(given).total == 30


@pytest.mark.parametrize(
    ("pointer", "page", "told"),
    [
        ("/items/4", 1, "/items is a list of 4 items, counted from 0: no '4'"),
        ("/items/-1", 1, "no '-1'"),
        ("/items/²", 1, "no '²'"),
        ("/items/99999999999999999999", 1, "counted from 0"),
        ("/nope", 1, 'the body has no field \'nope\'. It has "items", "n".'),
        ("/n/0", 1, "/n is no object and no list"),
        ("/items", 2, "/items has 1 page, no page 2"),
        ("/items", 0, "no page 0"),
        ("", -3, "no page -3"),
    ],
)
def test_a_wrong_place_is_an_error_that_says_what_is_there(pointer: str, page: int, told: str) -> None:
    with pytest.raises(NoSuchPartError, match=re.escape(told)):
        read_page(body({"items": [1, 2, 3, 4], "n": 5}), pointer, page)


def test_the_error_about_a_field_is_bounded_whatever_the_names_are() -> None:
    with pytest.raises(NoSuchPartError) as caught:
        read_page(body({f"{'n' * 5_000}{number}": 1 for number in range(100)}), "/" + "x" * 10_000)
    assert len(str(caught.value)) < 1_000
    with pytest.raises(NoSuchPartError, match="read it without a pointer"):
        read_page(body(b"plain", "text/plain"), "/a")


@pytest.mark.parametrize("size", [-5, 0, 1, 3, 10**9])
def test_a_page_has_at_most_the_size_and_never_more_than_its_room(size: int) -> None:
    page = read_page(body(list(range(100_000))), size=size)
    assert 1 <= page.stop - page.start <= MOST_ITEMS
    assert len(page.content) <= 8_000
    assert len(read_page(body(b"x" * 50_000, "text/plain"), size=size).content) <= 8_000


@pytest.mark.parametrize("value", [[["x" * 300] * 30] * 30, [{f"{'k' * 400}{n}": n for n in range(99)}] * 50])
@pytest.mark.parametrize("room", [200, 1_000, 8_000])
def test_no_page_is_longer_than_its_room(value: Any, room: int) -> None:
    assert all(len(page.content) <= room for page in pages(body(value), room=room))


def item(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"name {number}", "tags": ["a"], "text": "lorem ipsum " * 15}


def test_a_body_that_fits_is_its_own_preview() -> None:
    value = {"items": [1, 2, 3], "name": "Grüße"}
    preview = preview_body(body(value))
    assert (json.loads(preview.text), preview.is_whole, preview.left_out) == (value, True, "")


def test_a_preview_has_the_shape_the_counts_and_the_first_items_whole() -> None:
    value = {"page": 1, "next": "/x?cursor=abc", "data": {"rows": [item(number) for number in range(300)]}}
    preview = preview_body(body(value))
    shape, first, *_ = preview.text.split("\n")
    assert shape.startswith('Shape: {page: int = 1, next: str = "/x?cursor=abc", data: {rows: [300 × {id: int')
    place, _, text = first.partition(": ")
    assert (place, json.loads(text)) == ("/data/rows/0", item(0))
    shown = sum(line.startswith("/data/rows/") for line in preview.text.split("\n"))
    assert preview.left_out == f"{300 - shown} of 300 items of the list"


def test_reading_goes_on_at_the_first_item_that_is_not_shown() -> None:
    given = body([item(number) for number in range(300)])
    preview = preview_body(given, budget=2_000)
    shown = sum(line.startswith("/") for line in preview.text.split("\n"))
    assert shown > 20
    page = read_page(given, preview.pointer, preview.page)
    assert page.start <= shown < page.stop


def test_a_first_item_that_does_not_fit_is_cut_and_many_names_are_a_list_of_entries() -> None:
    preview = preview_body(body([{"id": 1, "text": "x" * 100_000}, {"id": 2}]))
    assert "more characters}" in preview.text
    assert preview.left_out.startswith("2 of 2 items of the list, and the parts marked")
    preview = preview_body(body({f"key {number}": item(number) for number in range(500)}))
    assert "500 names such as" in preview.text
    assert '/key 0: {"id": 0' in preview.text


def test_a_table_a_text_and_binary_data_say_how_much_is_left() -> None:
    table = preview_body(body(b"id,name\n" + b"1,Ada\n" * 5_000, "text/csv"), budget=100)
    assert table.text.startswith("table, 5,001 lines:\nid,name\n1,Ada")
    assert table.left_out == f"{30_008 - (400 - len('table, 5,001 lines:') - 1):,} of 30,008 characters"
    assert preview_body(body(b"\x89PNG\0\0" * 999, "image/png")).left_out == "all 5,994 bytes"
    assert preview_body(body(b"")).text == "no body"
    report = preview_text("report " * 1_000, budget=100)
    assert (len(report.text), report.left_out) == (400, "6,600 of 7,000 characters")


def _hostile(random_: random.Random, depth: int = 0) -> Any:
    kind = random_.choice(["sinNo", "a"] + ["list", "object", "text"] * (depth < 4))
    many = random_.choice((0, 1, 3, 12))
    if kind == "list":
        return [_hostile(random_, depth + 1) for _ in range(many)]
    if kind == "object":
        return {
            random_.choice("abc/~é\u202e\n…") * random_.choice((1, 9, 900)): _hostile(random_, depth + 1)
            for _ in range(many)
        }
    if kind == "text":
        return random_.choice('x"\\\0😀\u2028') * random_.choice((0, 1, 300, 30_000))
    return random_.choice((None, True, 10**300, -1.5e-300, 0))


@pytest.mark.parametrize("budget", [1, 10, 100, 1_000])
def test_no_preview_is_longer_than_its_budget(budget: int) -> None:
    random_ = random.Random(7)
    for _ in range(60):
        preview = preview_body(body(_hostile(random_)), budget=budget)
        assert len(preview.text) <= budget * 4
        assert preview.is_whole or preview.left_out

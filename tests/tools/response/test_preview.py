"""Guards previews of bodies: bounded whatever the body is, counted, honest about what they leave out."""

import json
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from bodies import body

from restgpt.tools.response.page import read_page
from restgpt.tools.response.preview import preview_body, preview_text
from restgpt.tools.response.store import Body


def item(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"name {number}", "tags": ["a"], "text": "lorem ipsum " * 15}


def test_a_body_that_fits_is_its_own_preview() -> None:
    value = {"items": [1, 2, 3], "name": "Grüße"}
    preview = preview_body(body(value))
    assert json.loads(preview.text) == value
    assert preview.is_whole
    assert preview.left_out == ""


def test_a_preview_has_the_shape_the_counts_and_the_first_items_whole() -> None:
    value = {"page": 1, "next": "/x?cursor=abc", "data": {"rows": [item(number) for number in range(300)]}}
    preview = preview_body(body(value))
    shape, beside, first, *_ = preview.text.split("\n")
    assert "rows: [300 × {id: int" in shape
    assert beside == 'Besides the list: {"page": 1, "next": "/x?cursor=abc"}'
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


def test_a_first_item_that_does_not_fit_is_cut_with_the_lengths() -> None:
    preview = preview_body(body([{"id": 1, "text": "x" * 100_000}, {"id": 2}]))
    assert "more characters}" in preview.text
    assert preview.left_out.startswith("2 of 2 items of the list, and the parts marked")


def test_an_object_with_many_names_is_a_list_of_its_entries() -> None:
    preview = preview_body(body({f"key {number}": item(number) for number in range(500)}))
    assert "500 names such as" in preview.text
    assert '/key 0: {"id": 0' in preview.text


def test_a_table_a_text_and_binary_data_say_how_much_is_left() -> None:
    table = preview_body(body(b"id,name\n" + b"1,Ada\n" * 5_000, "text/csv"), budget=100)
    assert table.text.startswith("table of 5,001 lines\nid,name\n1,Ada")
    assert table.left_out == f"{30_008 - (400 - len('table of 5,001 lines') - 1):,} of 30,008 characters"
    assert preview_body(body(b"\x89PNG\0\0" * 999, "image/png")).left_out == "all 5,994 bytes"
    assert preview_body(body(b"")).text == "no body"
    report = preview_text("report " * 1_000, budget=100)
    assert (len(report.text), report.left_out) == (400, "6,600 of 7,000 characters")


def test_json_that_is_not_taken_apart_says_so() -> None:
    dense = Body(b"[" + b"1," * 5_000_001 + b"1]", "application/json", "text")
    preview = preview_body(dense, budget=100)
    assert preview.text.startswith("JSON with too many parts to count, read as text:\n[1,1,1")
    assert preview.left_out.endswith("of 10,000,005 characters")


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


def _rows(count: int) -> bytes:
    return b'{"items": [' + b",".join(json.dumps(item(number)).encode() for number in range(count)) + b"]}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        lambda: _rows(215_000),
        lambda: b'{"a": "' + b"x" * 50_000_000 + b'"}',
        lambda: b"[" + b"12345," * 9_000_000 + b"1]",
        lambda: b"[" * 25_000_000 + b"]" * 25_000_000,
        lambda: b'{"a": ' + b'{"b": ' * 800 + _rows(200_000) + b"}" * 801,
    ],
    ids=["rows", "string", "numbers", "brackets", "nested"],
)
def test_fifty_megabytes_take_little_memory_and_give_a_bounded_preview(made: Callable[[], bytes]) -> None:
    data = made()
    given = Body(data, "application/json", "text")
    tracemalloc.start()
    try:
        preview = preview_body(given)
        read_page(given, preview.pointer, preview.page)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(preview.text) <= 4_000
    assert peak < 5 * len(data)

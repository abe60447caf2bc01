"""Guards `storable_value`: no response and no argument can make a checkpoint fail; and that items are read whole."""

import json
import math

import pytest
from langgraph.store.memory import InMemoryStore

from restgpt.specs.reading.json_text import MAX_DEPTH
from restgpt.tools.text.storable import LONGEST_DECIMAL_BITS, PAGE, storable_text, storable_value, stored_items

HUGE = 1 << LONGEST_DECIMAL_BITS


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"wei": [10**21, 5, True]}, {"wei": [str(10**21), 5, True]}),
        ("\ud83d!", "\ufffd!"),
        *(({"n": value}, {"n": str(value)}) for value in (math.inf, -math.inf, math.nan)),
        (HUGE, hex(HUGE)),
        *((value, value) for value in (None, True, 0, -(2**63), 2**63 - 1, 1.5, "", [], {})),
    ],
    ids=range(15),
)
def test_arguments_are_kept_as_every_checkpointer_can(value: object, kept: object) -> None:
    found = storable_value(value)
    assert json.dumps(found, ensure_ascii=False).encode()
    assert found == kept


@pytest.mark.parametrize(
    ("text", "kept"), [("a\x00b", "a\ufffdb"), ("\x1b[31m", "\ufffd[31m"), ("tab\tand\nline\r", "tab\tand\nline\r")]
)
def test_control_characters_are_replaced_and_white_space_stays(text: str, kept: str) -> None:
    assert storable_text(text) == kept
    assert storable_value({text: [text]}) == {kept: [kept]}


def test_depth_is_bounded() -> None:
    value: object = "leaf"
    for _ in range(3 * MAX_DEPTH):
        value = [value]
    text = json.dumps(storable_value(value))
    assert text == "[" * MAX_DEPTH + '"\\u2026"' + "]" * MAX_DEPTH


@pytest.mark.parametrize("count", [0, 1, PAGE, PAGE + 1])
def test_all_items_of_a_store_are_read_however_many_pages_they_take(count: int) -> None:
    store = InMemoryStore()
    for number in range(count):
        store.put(("kept",), str(number), {"is_even": number % 2 == 0})
    assert {item.key for item in stored_items(store, ("kept",))} == set(map(str, range(count)))
    assert len(stored_items(store, ("kept",), filter={"is_even": True})) == (count + 1) // 2

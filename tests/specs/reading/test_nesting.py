"""Guards the limit on nesting: what is too deep is found without recursion, whatever stands in its texts."""

import json

import pytest

from restgpt.specs.reading.json_text import MAX_DEPTH, is_too_deep


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[", "]"), ('{"a":', "}"), ('[1,"]]}}",', "]"), ('{"[[\\"[":', "}"), ('["\\\\",', "]"), ('[{}, "{", [], ', "]")],
)
def test_only_what_nests_deeper_than_the_limit_is_too_deep(opening: str, closing: str) -> None:
    for depth, expected in ((MAX_DEPTH - 1, False), (MAX_DEPTH, True), (MAX_DEPTH * 50, True)):
        text = f"{opening * depth}[]{closing * depth}"
        assert is_too_deep(text.encode()) is expected, depth
        assert depth > MAX_DEPTH or json.loads(text)


@pytest.mark.parametrize("text", ["[" * 1_000_000, '{"a":' * 20_000 + "1" + "}" * 20_000, "[[" * 500 + '"' + "]" * 5])
def test_hostile_nesting_is_found_without_recursion(text: str) -> None:
    assert is_too_deep(text.encode())


def test_many_shallow_values_are_not_too_deep() -> None:
    assert not is_too_deep(json.dumps([{"name": "[[[{", "tags": [["\\", '"']]}] * 1000).encode())

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

"""Guards the walks over the schemas of arguments: none fetches a remote schema, and none takes a way twice."""

from collections.abc import Iterator

import pytest
from loopback import Handler, served

from restgpt.tools.request.arguments import coerce, is_open, properties_of, types_of, validate


class Schemas(Handler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.answer(b"", 404)


@pytest.fixture
def address() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    with served(type("Asked", (Schemas,), {"asked": asked})) as url:
        yield f"{url}/schema.json", asked


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_that_leaves_the_schema_is_not_fetched(address: tuple[str, list[str]], keyword: str) -> None:
    url, asked = address
    assert validate({"name": 3}, {"properties": {"name": {keyword: url}}}, "") == []
    assert asked == []


@pytest.mark.parametrize("kind", ["allOf", "anyOf", "oneOf"])
def test_chained_references_are_followed_once_each(kind: str) -> None:
    chain = {f"S{n}": {kind: [{"$ref": f"#/$defs/S{n + 1}"}] * 50} for n in range(30)}
    root = {"$defs": {**chain, "S30": {"type": "string"}, "S4": {**chain["S4"], "properties": {"x": {}}}}}
    start = {"$ref": "#/$defs/S0"}
    # Each of them, taken 50 times at each of 8 levels, would take years.
    assert types_of(start, root) in (None, {"object"})
    assert properties_of(start, root) == {"x": {}}
    assert is_open(start, root) is False
    assert coerce({"y": "1"}, start, root) == {"y": "1"}


def test_a_schema_that_holds_itself_allows_what_it_says() -> None:
    root = {"$defs": {"T": {"anyOf": [{"$ref": "#/$defs/T"}, {"type": "string"}]}}}
    assert types_of({"$ref": "#/$defs/T"}, root) is None

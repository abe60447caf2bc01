"""Guards that the validation of arguments never fetches a remote schema."""

from collections.abc import Iterator

import pytest
from loopback import Handler, served

from restgpt.tools.request.arguments import validate


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

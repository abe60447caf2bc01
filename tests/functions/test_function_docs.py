"""Guards docs/functions.md: every example runs and prints what the page shows."""

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatRequest, ChatServer

PAGE = (Path(__file__).parents[2] / "docs" / "functions.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


REPLIES: dict[str, list[dict[str, Any]]] = {
    "in Oslo be for two days": [call("weather.get", city="Oslo", days=2)],
    "in Oslo and in Rome": [call("weather.get", city="Oslo", days=3), call("weather.get", city="Rome", days=3)],
    "chicken wings": [
        call("uber.eat.order", restaurants="McDonald", items=["burgers", "chicken wings"], quantities=[5, 6])
    ],
    "user 7": [call("getUser", path={"id": 7}, query={"fields": ["name", "mail"]})],
    "the weather be for two days": [call("weather.get", days=2)],
}


def reply(request: ChatRequest) -> dict[str, Any]:
    calls = next((found for text, found in REPLIES.items() if text in request.texts[-1]), [])
    refusal = "" if calls else "The weather function does not book flights."
    return {"thought": "", "calls": calls, "question": "", "refusal": refusal}


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ChatServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("RESTGPT_MODEL", "openai:scripted")
        yield


def test_every_example_prints_what_the_page_shows() -> None:
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == PAGE.count("\n```python\n") == 8
    names: dict[str, Any] = {}
    for program, shown in examples:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(program, "docs/functions.md", "exec"), names)
        assert printed.getvalue() == shown


@pytest.mark.parametrize("heading", ["Single", "Parallel", "Multiple", "REST", "A missing value", "Irrelevance"])
def test_there_is_a_worked_example_of_each(heading: str) -> None:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert EXAMPLE.search(section)

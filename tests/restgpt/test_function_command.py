"""Guards `restgpt function`: its output on stdout and stderr, and its exit codes."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import typer
from chatserver import ChatServer
from typer.testing import CliRunner

from restgpt_functions.command import function

WEATHER = {
    "name": "weather.get",
    "description": "Get the weather.",
    "parameters": {
        "type": "dict",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
    },
}
DOCUMENT = """
openapi: 3.0.3
info: {title: Users, version: "1"}
paths:
  /users/{id}:
    get:
      operationId: getUser
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: ok}}
"""


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(function)
    return app


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ChatServer]]:
    with ExitStack() as stack:

        def start(*replies: Any) -> ChatServer:
            server = stack.enter_context(ChatServer(replies))
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("RESTGPT_MODEL", "openai:scripted")
            return server

        yield start


@pytest.fixture
def docs(tmp_path: Path) -> str:
    path = tmp_path / "functions.json"
    path.write_text(json.dumps([WEATHER]), encoding="utf-8")
    return str(path)


def reply(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"thought": "", "calls": [{"name": name, "arguments": arguments}], "question": "", "refusal": ""}


def test_the_call_is_on_stdout_and_nothing_else(app: typer.Typer, model: Any, docs: str) -> None:
    model(reply("weather.get", {"city": "Oslo", "days": 2}))
    ran = CliRunner().invoke(app, ["Weather in Oslo for 2 days", "--functions", docs])
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, 'weather.get(city="Oslo", days=2)\n', "")


def test_json_prints_one_document_with_everything(app: typer.Typer, model: Any, docs: str) -> None:
    model(reply("weather.get", {"city": "Oslo", "days": 2}))
    ran = CliRunner().invoke(app, ["Weather in Oslo for 2 days", "--functions", docs, "--json"])
    document = json.loads(ran.stdout)
    assert document["calls"] == [{"name": "weather.get", "arguments": {"city": "Oslo", "days": 2}}]
    assert document["tool_calls"][0]["function"]["name"] == "weather_get"
    assert "messages" not in document


def test_a_missing_value_is_a_question_and_exit_code_3(app: typer.Typer, model: Any, docs: str) -> None:
    model(reply("weather.get", {"city": "Oslo"}))
    ran = CliRunner().invoke(app, ["Weather in Oslo", "--functions", docs])
    assert (ran.exit_code, ran.stdout) == (3, "")
    assert "days" in ran.stderr


def test_a_placeholder_takes_the_place_of_a_question(app: typer.Typer, model: Any, docs: str) -> None:
    model(reply("weather.get", {"city": "Oslo"}))
    ran = CliRunner().invoke(app, ["Weather in Oslo", "--functions", docs, "--on-missing", "placeholder"])
    assert (ran.exit_code, ran.stdout) == (0, 'weather.get(city="Oslo", days=1)\n')


def test_a_refusal_is_exit_code_1(app: typer.Typer, model: Any, docs: str) -> None:
    model({"thought": "", "calls": [], "question": "", "refusal": "None books flights."})
    ran = CliRunner().invoke(app, ["Book a flight", "--functions", docs])
    assert (ran.exit_code, ran.stderr) == (1, "None books flights.\n")


def test_an_openapi_document_gives_requests(app: typer.Typer, model: Any, tmp_path: Path) -> None:
    path = tmp_path / "users.yaml"
    path.write_text(DOCUMENT, encoding="utf-8")
    model(reply("getUser", {"path": {"id": 7}}))
    options = ["--base-url", "https://api.example.com", "--call-style", "requests"]
    ran = CliRunner().invoke(app, ["Get user 7", "--functions", str(path), *options])
    assert (ran.exit_code, ran.stdout) == (0, 'requests.get(url="https://api.example.com/users/7")\n')


def test_usage_errors_are_exit_code_2(app: typer.Typer, docs: str, tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["x", "--functions", "nowhere.json"]).exit_code == 2
    broken = tmp_path / "broken.json"
    broken.write_text('[{"name": "f", "parameters": 3}]', encoding="utf-8")
    ran = CliRunner().invoke(app, ["x", "--functions", str(broken)])
    assert ran.exit_code == 2
    assert f"{broken}: /0/parameters" in ran.stderr
    ran = CliRunner().invoke(app, ["x", "--functions", docs])
    assert ran.exit_code == 2
    assert "No model is configured" in ran.stderr


def test_a_file_that_holds_no_functions_is_named_with_what_to_give(app: typer.Typer, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>Functions</title>", encoding="utf-8")
    ran = CliRunner().invoke(app, ["x", "--functions", str(page)])
    assert ran.exit_code == 2
    assert ran.stderr.startswith(f"--functions {page}: no function documentation")
    assert ran.stderr.endswith("Give a file of function documentation or an OpenAPI document.\n")

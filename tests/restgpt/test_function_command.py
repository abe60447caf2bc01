"""Guards `restgpt function`: its output on stdout and stderr, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from restgpt_functions.command import function

PARAMETERS = {"city": {"type": "string"}, "days": {"type": "integer"}}
WEATHER = {
    "name": "weather.get",
    "description": "Get the weather.",
    "parameters": {"type": "dict", "properties": PARAMETERS, "required": ["city", "days"]},
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
def run(tmp_path: Path) -> Callable[..., Any]:
    """Run the command, with the functions of a file unless other ones are given."""
    app = typer.Typer()
    app.command()(function)
    docs = tmp_path / "functions.json"
    docs.write_text(json.dumps([WEATHER]), encoding="utf-8")

    def start(prompt: str, *options: str, functions: Path = docs) -> Any:
        return CliRunner().invoke(app, [prompt, "--functions", str(functions), *options])

    return start


def reply(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"thought": "", "calls": [{"name": name, "arguments": arguments}], "question": "", "refusal": ""}


def test_the_call_alone_is_on_stdout_or_one_document_with_everything(run: Any, write: Any) -> None:
    write(*[reply("weather.get", {"city": "Oslo", "days": 2})] * 2)
    ran = run("Weather in Oslo for 2 days")
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, 'weather.get(city="Oslo", days=2)\n', "")
    document = json.loads(run("Weather in Oslo for 2 days", "--json").stdout)
    assert document["calls"] == [{"name": "weather.get", "arguments": {"city": "Oslo", "days": 2}}]
    assert document["tool_calls"][0]["function"]["name"] == "weather_get"
    assert "messages" not in document


def test_a_missing_value_is_a_question_and_exit_code_3(run: Any, write: Any) -> None:
    write(reply("weather.get", {"city": "Oslo"}))
    ran = run("Weather in Oslo")
    assert (ran.exit_code, ran.stdout) == (3, "")
    assert "days" in ran.stderr


def test_a_placeholder_takes_the_place_of_a_question(run: Any, write: Any) -> None:
    write(reply("weather.get", {"city": "Oslo"}))
    ran = run("Weather in Oslo", "--on-missing", "placeholder")
    assert (ran.exit_code, ran.stdout) == (0, 'weather.get(city="Oslo", days=1)\n')


def test_a_refusal_is_exit_code_1(run: Any, write: Any) -> None:
    write({"thought": "", "calls": [], "question": "", "refusal": "None books flights."})
    ran = run("Book a flight")
    assert (ran.exit_code, ran.stderr) == (1, "None books flights.\n")


def test_an_openapi_document_gives_requests(run: Any, write: Any, tmp_path: Path) -> None:
    path = tmp_path / "users.yaml"
    path.write_text(DOCUMENT, encoding="utf-8")
    write(reply("getUser", {"path": {"id": 7}}))
    options = ["--base-url", "https://api.example.com", "--call-style", "requests"]
    ran = run("Get user 7", *options, functions=path)
    assert (ran.exit_code, ran.stdout) == (0, 'requests.get(url="https://api.example.com/users/7")\n')


def test_usage_errors_are_exit_code_2(run: Any, tmp_path: Path) -> None:
    assert run("x", functions=Path("nowhere.json")).exit_code == 2
    broken = tmp_path / "broken.json"
    broken.write_text('[{"name": "f", "parameters": 3}]', encoding="utf-8")
    ran = run("x", functions=broken)
    assert ran.exit_code == 2
    assert f"{broken}: /0/parameters" in ran.stderr
    ran = run("x")
    assert ran.exit_code == 2
    assert "No model is configured" in ran.stderr


def test_a_file_that_holds_no_functions_is_named_with_what_to_give(run: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>Functions</title>", encoding="utf-8")
    ran = run("x", functions=page)
    assert ran.exit_code == 2
    assert ran.stderr.startswith(f"--functions {page}: no function documentation")
    assert ran.stderr.endswith("Give a file of function documentation or an OpenAPI document.\n")

"""Guards the function-calling commands of `restgpt bench`: they run and score suites, and make pairs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from chatserver import ChatRequest, ChatServer
from typer.testing import CliRunner

from restgpt_bench.commands.function_bench import functions, generate


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(functions)
    app.command()(generate)
    return app


def reply(request: ChatRequest) -> dict[str, Any]:
    """Return calls for a prompt of the suite, and examples for a prompt of the generator."""
    if request.schema == "GeneratedPairs":
        return {"pairs": [{"instruction": "Weather in Oslo, please.", "call": 'weather.get(city="Oslo")'}]}
    calls = [{"name": "weather.get", "arguments": {"city": "Oslo"}}]
    return {"thought": "", "calls": calls, "question": "", "refusal": ""}


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ChatServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("RESTGPT_MODEL", "openai:scripted")
        yield


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    parameters = {"type": "dict", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    weather = {"name": "weather.get", "description": "Get the weather.", "parameters": parameters}
    question = {"id": "simple_python_0", "question": [[{"role": "user", "content": "Oslo?"}]], "function": [weather]}
    answer = {"id": "simple_python_0", "ground_truth": [{"weather.get": {"city": ["Oslo"]}}]}
    for name, line in (
        ("BFCL_v4_simple_python.json", question),
        ("possible_answer/BFCL_v4_simple_python.json", answer),
    ):
        path = tmp_path / "data" / "bfcl" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(line), encoding="utf-8")
    (tmp_path / "docs.json").write_text(json.dumps([weather]), encoding="utf-8")
    monkeypatch.setenv("RESTGPT_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_suite_is_run_and_its_score_printed_with_n(app: typer.Typer, data: Path) -> None:
    ran = CliRunner().invoke(app, ["functions", "--suite", "bfcl:simple_python", "--quiet"])
    assert ran.exit_code == 0, ran.stderr
    assert "bfcl:simple_python  n=1" in ran.stdout
    assert (data / "runs" / "result" / "openai_scripted" / "non_live" / "BFCL_v4_simple_python_score.json").is_file()
    again = CliRunner().invoke(app, ["functions", "--suite", "bfcl:simple_python", "--json", "--quiet"])
    assert json.loads(again.stdout)["outcomes"] == {"success": 1, "incomplete": 0, "failure": 0}


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("options", [["--suite", "bfcl:nothing"], ["--suite", "openfunctions-v1"], ["--only", "x"]])
def test_missing_suites_and_wrong_positions_are_usage_errors(app: typer.Typer, options: list[str]) -> None:
    assert CliRunner().invoke(app, ["functions", *options]).exit_code == 2


def test_pairs_are_made_for_a_document(app: typer.Typer, data: Path) -> None:
    made = CliRunner().invoke(app, ["generate", "--docs", "docs.json", "--out", "pairs", "--quiet"])
    assert made.exit_code == 0, made.stderr
    assert "n=1 pairs" in made.stdout
    rows = (data / "pairs" / "openfunctions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["Output"] for row in rows] == [['weather.get(city="Oslo")']]

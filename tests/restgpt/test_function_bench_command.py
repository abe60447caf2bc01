"""Guards the function-calling commands of `restgpt bench`: they run and score suites, generate and check data."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from chatserver import ChatRequest, ChatServer
from typer.testing import CliRunner

from restgpt_bench.commands.function_bench import functions, generate, train


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(functions)
    app.command()(generate)
    app.command()(train)
    return app


def reply(request: ChatRequest) -> dict[str, Any]:
    """Return calls for a prompt of the suite, and examples for a prompt of the generator."""
    if request.schema == "GeneratedPairs":
        return {"pairs": [{"instruction": "Weather in Oslo, please.", "call": 'weather.get(city="Oslo")'}]}
    return {
        "thought": "",
        "calls": [{"name": "weather.get", "arguments": {"city": "Oslo"}}],
        "question": "",
        "refusal": "",
    }


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


def test_data_is_made_and_checked(app: typer.Typer, data: Path) -> None:
    made = CliRunner().invoke(app, ["generate", "--docs", "docs.json", "--out", "training", "--quiet"])
    assert made.exit_code == 0, made.stderr
    assert "single" in made.stdout
    rows = str(data / "training" / "openfunctions.jsonl")
    checked = CliRunner().invoke(app, ["train", "--data", rows, "--layout", "v2"])
    assert (checked.exit_code, "rows" in checked.stdout) == (0, True)
    assert CliRunner().invoke(app, ["train", "--data", "nowhere.jsonl"]).exit_code == 2

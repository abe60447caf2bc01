"""Guards the runner: scripted models score what they must by every method, and runs survive failures and kills."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchrecords import settings
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from scripted import ScriptedModel

from restgpt.specs import Catalogue
from restgpt.tools.model import ROLES
from restgpt.tools.model.model_errors import ModelUnavailableError, NoModelError
from restgpt_bench.methods.build import METHODS
from restgpt_bench.restbench.attribution import attribute
from restgpt_bench.restbench.documents import ELSEWHERE
from restgpt_bench.restbench.metrics import score
from restgpt_bench.restbench.perfect import TOOLS, scripted
from restgpt_bench.restbench.record import Record, RunFolder, RunSettings
from restgpt_bench.restbench.run import ABLATIONS, ModelFor, Runner, check_settings, model_for
from restgpt_bench.restbench.suite import SuiteError, open_suite
from restgpt_bench.restbench.unclosed import UnclosedCatalogue
from restgpt_bench.worlds import CREDENTIAL, open_world

TMDB = ["homepage"]
SPOTIFY = ["herons"]
KILLED = ["email", "volume", "queue-top", "follow-kitchen", "similar", "herons"]


def run(
    folder: Path,
    chosen: RunSettings,
    only: list[str] | None = None,
    *,
    model: ModelFor | None = None,
    data: Path | None = None,
    **options: Any,
) -> list[Record]:
    suite = open_suite(chosen.suite, data=data)
    runner = Runner.over(chosen, suite.only(only) if only else suite, model or model_for(chosen.model))
    return runner.run(RunFolder.open(folder, chosen), **options)


def successes(records: list[Record]) -> dict[str, bool]:
    return {record.key: record.success for record in records}


@pytest.mark.slow
def test_doing_all_right_scores_all_and_always_erring_nothing(tmp_path: Path) -> None:
    right = run(tmp_path / "right", settings(), concurrency=2)
    wrong = run(tmp_path / "wrong", settings(method="calls", model="scripted:erring"), concurrency=2)
    assert score(right).success.hits == score(right).correct_path.hits == len(right) == 5
    assert score(right).delta == 0
    assert (score(wrong).success.hits, len(wrong)) == (0, 5)
    assert {attribute(record).module for record in wrong} == {"selector"}


@pytest.mark.parametrize(
    ("suite", "only"), [("dev-tmdb", TMDB), pytest.param("dev-spotify", SPOTIFY, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_done_right(suite: str, only: list[str], method: str, tmp_path: Path) -> None:
    records = run(tmp_path / "run", settings(suite=suite, method=method), only)
    assert successes(records) == dict.fromkeys(only, True)
    assert all(record.subtasks for record in records) == (method == "calls")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_err(method: str, tmp_path: Path) -> None:
    records = run(tmp_path / "run", settings(method=method, model="scripted:erring"), ["owner", "add"])
    assert not any(record.success for record in records)


@pytest.mark.slow
@pytest.mark.parametrize("ablation", ABLATIONS)
def test_every_ablation_can_be_done_right(ablation: str, tmp_path: Path) -> None:
    chosen = settings(suite="dev-spotify", method="calls", ablations=(ablation,), context={"result_budget": 200_000})
    records = run(tmp_path / "run", chosen, SPOTIFY)
    assert successes(records) == dict.fromkeys(SPOTIFY, True)


def test_ablations_change_what_they_say(tmp_path: Path) -> None:
    whole, unparsed, unplanned = (
        run(tmp_path / name, settings(suite="dev-tmdb", method="calls", ablations=ablations), ["birthday"])[0]
        for name, ablations in (("whole", ()), ("parser", ("parser",)), ("planner", ("planner",)))
    )
    codes = [[request["code"] for step in record.steps for request in step["requests"]] for record in (whole, unparsed)]
    assert any(codes[0])
    assert not any(codes[1])
    assert "selector" in whole.usage["roles"]
    assert "selector" not in unplanned.usage["roles"]


def test_without_closure_search_goes_by_words_alone() -> None:
    closed = Catalogue([open_world("tmdb").api])
    unclosed = UnclosedCatalogue(closed)
    asked = "guest stars of the fourth episode of the second season of Fleabag"
    assert "search_tv" in [operation.name for operation in closed.search(asked, 5)]
    assert "search_tv" not in [operation.name for operation in unclosed.search(asked, 5)]
    details = closed.operation("tv_details")
    assert closed.producers(details)
    assert unclosed.producers(details) == {}


@pytest.mark.parametrize("fault", ROLES)
def test_a_role_that_errs_is_found_out(fault: str, tmp_path: Path) -> None:
    chosen = settings(suite="dev-tmdb", method="calls", model=f"scripted:erring-{fault}")
    record = run(tmp_path / "run", chosen, ["count"])[0]
    assert not record.success
    assert attribute(record).module == fault


def test_the_record_holds_what_scoring_needs(tmp_path: Path) -> None:
    record = run(tmp_path / "run", settings(suite="dev-spotify", method="calls"), ["queue-top"])[0]
    read = RunFolder.read(tmp_path / "run").records()[0]
    assert read.to_json() == Record.from_json(record.to_json()).to_json()
    assert [entry["covers"] for entry in record.log] == [[step] for step in record.gold]
    assert [call.operation for call in record.calls] == list(record.gold)
    assert len(record.calls[1].flows) == 1
    assert record.answer
    assert record.offered == 40
    assert set(record.operations.values()) == set(record.gold)
    assert record.usage["roles"]["planner"]["calls"] == 4
    assert all(value >= 0 for value in (record.wall_s, record.cpu_s))


def test_finished_tasks_are_not_run_again_and_no_credential_is_in_a_record(tmp_path: Path) -> None:
    run(tmp_path / "run", settings(), ["owner", "add"])
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "tasks").iterdir()}
    finished: list[str] = []
    records = run(tmp_path / "run", settings(), finished=lambda record: finished.append(record.key))
    assert [record.key for record in records] == ["owner", "hours", "open", "add", "delete"]
    assert sorted(finished) == ["delete", "hours", "open"]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    texts = [path.read_text() for path in (tmp_path / "run").rglob("*.json")]
    assert len(texts) == 6
    assert not any(CREDENTIAL in text for text in texts)


def failing(error: BaseException) -> ModelFor:
    return lambda item, world: ScriptedModel(lambda prompt: error)


def test_a_run_that_breaks_off_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    perfect = model_for("scripted:perfect")
    broken = failing(RuntimeError("the key sk-secret is wrong"))
    mixed: ModelFor = lambda item, world: (broken if item.key == "hours" else perfect)(item, world)  # noqa: E731
    records = run(tmp_path / "run", settings(), model=mixed)
    assert successes(records) == {"owner": True, "hours": False, "open": True, "add": True, "delete": True}
    failure = records[1].failure
    assert failure is not None
    assert failure.type == "RuntimeError"
    assert "sk-secret" not in failure.message
    assert attribute(records[1]).module == "run"


def test_the_reason_of_a_foreseen_error_is_kept_and_the_task_can_be_repeated(tmp_path: Path) -> None:
    down = failing(ModelUnavailableError("The model's server answered 503."))
    first = run(tmp_path / "run", settings(), ["owner"], model=down)[0]
    assert first.failure is not None
    assert "503" in first.failure.message
    assert not run(tmp_path / "run", settings(), ["owner"])[0].success
    assert run(tmp_path / "run", settings(), ["owner"], retry=True)[0].success


def test_a_broken_judge_is_told_when_the_others_are_done(tmp_path: Path) -> None:
    def broken(*_: object) -> None:
        raise KeyError("no such person")

    suite = open_suite("dev-toy")
    first = suite.items[0]
    items = (replace(first, task=replace(first.task, check=broken)), *suite.items[1:])  # type: ignore[arg-type]
    runner = Runner.over(settings(), replace(suite, items=items), model_for("scripted:perfect"))
    folder = RunFolder.open(tmp_path / "run", settings())
    with pytest.raises(KeyError, match="no such person"):
        runner.run(folder)
    assert folder.keys() == {item.key for item in suite.items[1:]}


def test_noise_stands_in_the_prompt_and_answers_nothing(tmp_path: Path) -> None:
    chosen = settings(suite="dev-tmdb", noise=60)
    records = run(tmp_path / "few", replace(chosen, noise=0), TMDB)
    assert {record.offered for record in records} == {3}
    more = run(tmp_path / "many", chosen, TMDB)
    assert {record.offered for record in more} == {63}
    assert successes(records) == successes(more) == dict.fromkeys(TMDB, True)
    assert not any(ELSEWHERE in entry["path"] for record in more for entry in record.log)


def test_more_noise_than_there_is_is_refused() -> None:
    with pytest.raises(SuiteError, match="documents hold"):
        Runner.over(settings(noise=5000), open_suite("dev-toy"), model_for("scripted:perfect"))


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "only"), [("dev-tmdb", TMDB), ("dev-spotify", SPOTIFY)])
def test_the_published_documents_can_replace_ours(
    suite: str, only: list[str], tmp_path: Path, data_folder: Path
) -> None:
    document = data_folder / "restbench" / f"{suite.removeprefix('dev-')}_oas.json"
    for kind, expected in (("perfect", True), ("erring", False)):
        chosen = settings(suite=suite, spec=str(document), model=f"scripted:{kind}")
        assert successes(run(tmp_path / kind, chosen, only)) == dict.fromkeys(only, expected)


def test_published_instructions_run_as_well(tmp_path: Path, data_folder: Path) -> None:
    only = ["39"]
    chosen = settings(suite="restbench-spotify")
    assert successes(run(tmp_path / "run", chosen, only, data=data_folder)) == dict.fromkeys(only, True)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"method": "magic"}, "deps"),
        ({"ablations": ("brain",)}, "closure"),
        ({"context": {"max_stepz": 3}}, "max_stepz"),
        ({"method": "react", "ablations": ("planner",)}, "no planner|Only restgpt"),
        ({"ablations": ("parser",)}, "Use the method calls"),
    ],
)
def test_settings_that_do_not_exist_are_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(SuiteError, match=named):
        check_settings(settings(**wrong))


def test_models_that_do_not_exist_are_named_and_others_waited_for_as_said(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = open_suite("dev-toy")
    with pytest.raises(NoModelError):
        model_for("")
    runner = Runner.over(settings(), suite, model_for("scripted:genius"))
    with pytest.raises(SuiteError, match="perfect"):
        runner.run_task(suite.items[0])
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = model_for("openai:some", patience=7)(suite.items[0], open_world("toy"))
    assert getattr(model, "request_timeout", None) == 7


# Says when a task is recorded, and waits after the second to be killed while the third is under way.
RUNNING = """
import signal, sys
from pathlib import Path
from restgpt_bench.restbench.record import RunFolder
from restgpt_bench.restbench.run import Runner, model_for
from restgpt_bench.restbench.suite import open_suite

def finished(record):
    print("finished", flush=True)
    said.append(record)
    if len(said) == 2:
        signal.pause()

said = []
folder = RunFolder.read(Path(sys.argv[1]))
suite = open_suite(folder.settings().suite).only(sys.argv[2:])
Runner.over(folder.settings(), suite, model_for(folder.settings().model)).run(folder, finished=finished)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_without_repeating_or_losing_a_record(tmp_path: Path) -> None:
    folder, tasks = tmp_path / "run", tmp_path / "run" / "tasks"
    RunFolder.open(folder, settings(suite="dev-spotify"))
    command = [sys.executable, "-c", RUNNING, str(folder), *KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert [child.stdout.readline() for _ in range(2)] == [b"finished\n"] * 2
        child.send_signal(signal.SIGKILL)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tasks.glob("*.json")}
    assert len(before) == len(RunFolder.read(folder).keys()) == 2
    finished: list[str] = []
    chosen = RunFolder.read(folder).settings()
    records = run(folder, chosen, KILLED, finished=lambda record: finished.append(record.key))
    assert successes(records) == dict.fromkeys(KILLED, True)
    assert len(finished) == len(KILLED) - len(before)
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before} == before


def test_tool_definitions_and_tool_calls_cost_tokens_but_the_schema_of_structured_output_does_not() -> None:
    item = open_suite("dev-toy").only(["owner"]).items[0]
    player = scripted("scripted:perfect", item, open_world("toy"))
    tool = {"type": "function", "function": {"name": "x" * 400, "description": "", "parameters": {}}}
    asked = [SystemMessage(TOOLS), HumanMessage(item.instruction)]
    called = AIMessage("", tool_calls=[{"name": "x", "args": {"value": "y" * 400}, "id": "1", "type": "tool_call"}])
    plain, offered = (tokens_in(model.invoke(asked)) for model in (player, player.bind_tools([tool])))
    assert offered - plain >= 100
    assert tokens_in(player.bind_tools([tool]).invoke([*asked, called])) - offered >= 100
    planning = [SystemMessage("You are the planner"), HumanMessage(item.instruction)]
    assert tokens_in(player.invoke(planning)) == tokens_in(
        player.bind_tools([tool], tool_choice="any").invoke(planning)
    )


def tokens_in(message: AIMessage) -> int:
    assert message.usage_metadata is not None
    return message.usage_metadata["input_tokens"]


@pytest.mark.parametrize("fault", ROLES)
def test_native_tool_calling_can_err_in_every_role(fault: str, tmp_path: Path) -> None:
    chosen = settings(suite="dev-tmdb", method="tools", model=f"scripted:erring-{fault}")
    assert not run(tmp_path / "run", chosen, ["count"])[0].success

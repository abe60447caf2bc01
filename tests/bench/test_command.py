"""Guards `restgpt bench` as it is typed: what is printed where, and the exit codes."""

import json
from pathlib import Path

import pytest
from cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "home")


def test_check_prints_a_row_for_each_attempt_with_n(cli: Cli) -> None:
    ran = cli("bench", "check", "--suite", "dev-toy", "--seed", "3")
    assert ran.code == 0
    assert [line.split()[-3] for line in ran.out.splitlines() if "gold replay" in line] == ["5/5"]
    assert [line.split()[-3] for line in ran.out.splitlines() if "do nothing" in line] == ["0/5"]


@pytest.mark.slow
def test_check_leaves_out_what_is_not_there_and_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RESTGPT_DATA", raising=False)
    ran = cli("bench", "check", "--seed", "0", "--json")
    assert ran.code == 0
    assert [found["suite"] for found in ran.document["checks"]] == ["dev-tmdb", "dev-spotify", "dev-toy"]
    assert "restbench-tmdb" in ran.err
    missing = cli("bench", "check", "--suite", "restbench-tmdb")
    assert missing.code == 2
    assert "RESTGPT_DATA" in missing.err


def test_a_run_is_reported_and_goes_on(cli: Cli, tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    common = ("bench", "run", "--suite", "dev-toy", "--model", "scripted:perfect", "--out", folder)
    first = cli(*common, "--only", "owner,add", "--json")
    assert first.code == 0
    interval = pytest.approx([0.342, 1], abs=1e-3)
    assert first.document["score"]["success"] == {"hits": 2, "n": 2, "rate": 1.0, "interval": interval}
    second = cli(*common, "--expect", "100")
    assert second.code == 0
    assert "2 of 5 tasks are finished" in second.err
    assert "100.0 [57, 100]" in second.out
    reported = cli("bench", "report", folder)
    assert reported.code == 0
    assert "paper, text-davinci-003" in reported.out
    assert "ours, scripted:perfect, dev-toy, seed 0, n = 5" in reported.out
    assert [cli("bench", command, str(tmp_path)).code for command in ("report", "plot")] == [2, 2]


def test_an_unexpected_score_is_exit_code_1(cli: Cli, tmp_path: Path) -> None:
    common = ("bench", "run", "--suite", "dev-toy", "--only", "hours", "--out", str(tmp_path / "run"), "--expect")
    assert cli(*common, "100", "--model", "scripted:erring").code == 1


def test_a_run_with_other_settings_is_not_mixed_in(cli: Cli, tmp_path: Path) -> None:
    common = ("bench", "run", "--suite", "dev-toy", "--only", "hours", "--model", "scripted:perfect")
    assert cli(*common, "--out", str(tmp_path / "run")).code == 0
    other = cli(*common, "--out", str(tmp_path / "run"), "--seed", "1", "--set", "max_steps=9")
    assert other.code == 2
    assert "seed, context" in other.err


def test_the_models_replies_can_be_kept_and_replayed(cli: Cli, tmp_path: Path) -> None:
    recording = tmp_path / "replies.jsonl"
    common = ("bench", "run", "--suite", "dev-toy", "--only", "delete", "--method", "calls")
    made = cli(*common, "--model", "scripted:perfect", "--record", str(recording), "--out", str(tmp_path / "made"))
    assert made.code == 0
    assert len([json.loads(line) for line in recording.read_text().splitlines()]) == 4
    replayed = cli(*common, "--model", f"recorded:{recording}", "--out", str(tmp_path / "replayed"), "--expect", "100")
    assert replayed.code == 0


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (("--suite", "imagenet", "--model", "scripted:perfect"), "dev-tmdb"),
        (("--suite", "dev-toy", "--model", "scripted:perfect", "--method", "magic"), "reflexion"),
        (("--suite", "dev-toy", "--model", "scripted:perfect", "--set", "speed"), "NAME=VALUE"),
        (("--suite", "dev-toy", "--model", "scripted:perfect", "--only", "nothing"), "owner"),
        (("--suite", "dev-toy"), "No model is configured"),
        (("--suite", "openfunctions-v1", "--model", "scripted:perfect"), "RESTGPT_DATA"),
    ],
)
def test_what_cannot_be_meant_is_named(
    cli: Cli, wrong: tuple[str, ...], named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RESTGPT_DATA", raising=False)
    ran = cli("bench", "run", *wrong, "--out", str(tmp_path / "run"))
    assert ran.code == 2
    assert named in ran.err


def test_retrieval_says_what_it_needs_and_which_parts_there_are(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RESTGPT_DATA", raising=False)
    for part, told in (("restbench", "RESTGPT_DATA"), ("everything", "restbench, tuning, measured")):
        ran = cli("bench", "retrieval", "--part", part)
        assert (ran.code, told in ran.err) == (2, True)


def test_retrieval_prints_our_search_beside_plain_bm25(
    cli: Cli, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESTGPT_DATA", str(data_folder))
    found = cli("bench", "retrieval", "--part", "restbench", "--json").document["restbench"]
    assert set(found["documents"]) == {"tmdb", "spotify"}
    assert found["all"]["ours"]["tasks"] == 157
    assert found["all"]["ours"]["all@10"] > 1.5 * found["all"]["bm25"]["all@10"]

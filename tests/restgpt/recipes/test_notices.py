"""Guards notices of runs that nobody watches: what they hold, who gets them, and when there is none."""

import hashlib
import hmac
import json
import shlex
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cli import Cli, at, changes
from loopback import Handler, served
from plantrecipe import beds, plant_recipe, word_recipe

from restgpt.recipes.book import RecipeBook
from restgpt.server.page_routes import findable
from restgpt.tools.settings import Settings
from restgpt_bench.worlds.server import WorldServer

GIVEN = ("--input", "name=Moss", "--input", "titles=Dig", "--input", "titles=Rake")
Notices = list[tuple[dict[str, Any], dict[str, str]]]


@pytest.fixture
def notices() -> Notices:
    return []


@pytest.fixture
def url(notices: Notices) -> Iterator[str]:
    class Hook(Handler):
        def do_POST(self) -> None:
            data = self.body()
            signed = f"sha256={hmac.new(b'a key', data, hashlib.sha256).hexdigest()}"
            notices.append((json.loads(data), {"is": self.headers.get("X-RestGPT-Signature", ""), "right": signed}))
            self.answer({}, 500 if self.path == "/broken" else 200)

    with served(Hook) as address:
        yield address


@pytest.fixture
def book(cli: Cli, tmp_path: Path) -> RecipeBook:
    book = RecipeBook(tmp_path / "recipes")
    book.save(beds())
    book.save(word_recipe(name="count-projects"))
    return book


def test_a_pause_is_told_with_its_question_and_the_command_that_answers_it(
    cli: Cli, toy: WorldServer, book: RecipeBook, url: str, notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESTGPT_NOTIFY_KEY", "a key")
    ran = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "t", "--notify", url)
    assert ran.code == 3
    [(notice, signature)] = notices
    assert (notice["event"], notice["thread"], notice["recipe"]) == ("paused", "t", "plant-beds")
    assert "POST " in notice["questions"][0]
    assert "Moss" in notice["questions"][0]
    assert (notice["command"], notice["page"]) == ("restgpt resume t", "")
    assert signature["is"] == signature["right"]


def test_a_failure_and_another_answer_are_told_and_the_same_answer_is_not(
    cli: Cli, toy: WorldServer, book: RecipeBook, url: str, notices: Notices
) -> None:
    run = ("recipe", "run", "count-projects", "--input", "word=e", *at(toy), "--notify", url)
    assert cli(*run).code == 0
    assert notices == []
    for _ in range(2):
        assert cli(*run, "--if-changed").code == 0
    assert [notice["event"] for notice, _ in notices] == ["changed"]
    assert "projects have e" in notices[0][0]["answer"]
    assert notices[0][1]["is"] == ""
    book.save(word_recipe(name="stops", program='stop("There is no plant.")'))
    assert cli("recipe", "run", "stops", "--input", "word=e", *at(toy), "--notify", url).code == 1
    assert notices[1][0]["event"] == "failed"


def test_a_command_gets_the_notice_on_its_stdin(cli: Cli, toy: WorldServer, book: RecipeBook, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    code = f"import pathlib, sys; pathlib.Path({str(told)!r}).write_text(sys.stdin.read())"
    command = shlex.join([sys.executable, "-c", code])
    assert cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--notify", command).code == 3
    assert json.loads(told.read_text())["event"] == "paused"


@pytest.mark.parametrize("target", ["{url}/broken", "false", "no-such-command-anywhere", "'"])
def test_a_notice_that_cannot_be_sent_changes_nothing_else(
    cli: Cli, toy: WorldServer, book: RecipeBook, url: str, target: str
) -> None:
    ran = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--notify", target.format(url=url))
    assert ran.code == 3
    assert "The notice could not be sent: " in ran.err


def test_a_change_that_is_described_otherwise_is_told_once_and_not_sent(
    cli: Cli, toy: WorldServer, book: RecipeBook, url: str, notices: Notices
) -> None:
    other = [item.model_copy(update={"key": "another"}) for item in plant_recipe().operations]
    book.save(beds(name="other", operations=other))
    run = ("recipe", "run", "other", *GIVEN, *at(toy), "--writes", "allow", "--notify", url, "--if-changed")
    assert cli(*run).code == 3
    assert [notice["event"] for notice, _ in notices] == ["paused"]
    assert changes(toy.world) == []


def test_a_notice_has_the_address_of_the_thread_on_a_page_that_runs(
    cli: Cli, toy: WorldServer, book: RecipeBook, url: str, notices: Notices
) -> None:
    with findable(Settings.from_env().home, 8799):
        assert cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "t", "--notify", url).code == 3
    assert notices[0][0]["page"] == "http://127.0.0.1:8799/debug#/thread/t"


LATE = ("--set", "approval_hours=0.0001")


def test_a_question_tells_when_it_expires_and_is_rejected_then(
    cli: Cli, toy: WorldServer, book: RecipeBook, url: str, notices: Notices
) -> None:
    given = ("recipe", "run", "plant-beds", *GIVEN, *at(toy))
    assert cli(*given, "--thread", "open", "--set", "approval_hours=1", "--notify", url).code == 3
    assert cli(*given, "--thread", "late", *LATE, "--notify", url).code == 3
    expires = [datetime.fromisoformat(notice["expires"]) for notice, _ in notices]
    assert timedelta(minutes=50) < expires[0] - expires[1] < timedelta(hours=2)
    assert f"An answer after {notices[0][0]['expires']} counts as a rejection." in notices[0][0]["questions"][0]
    time.sleep(max(0.0, expires[1].timestamp() - time.time()))
    assert "1 thread was due" in cli("resume", "--due").err
    assert (changes(toy.world), cli("threads", "open").code) == ([], 0)
    assert "Nobody answered in time" in cli("threads", "late").out
    assert cli("resume", "open", "--approve").code == 3
    assert len(changes(toy.world)) == 1


def test_a_late_approval_sends_nothing(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    assert cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "late", *LATE).code == 3
    time.sleep(0.5)
    assert cli("resume", "late", "--approve").code == 1
    assert changes(toy.world) == []


def test_each_run_is_a_line_of_a_log(cli: Cli, toy: WorldServer, book: RecipeBook, tmp_path: Path) -> None:
    log = tmp_path / "runs.log"
    count = ("recipe", "run", "count-projects", "--input", "word=e", *at(toy), "--if-changed", "--log", str(log))
    for _ in range(2):
        assert cli(*count, "--thread", "t").code == 0
    assert cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--log", str(log)).code == 3
    lines = [line.partition(" ")[2].rpartition(" ")[0] for line in log.read_text().splitlines()]
    about = "recipe=count-projects thread=t status=done"
    assert lines[:2] == [f"{about} answer=changed requests=1", f"{about} answer=same requests=1"]
    assert " status=paused requests=" in lines[2]
    ran = cli(*count[:-1], str(tmp_path / "missing" / "runs.log"), "--thread", "t")
    assert (ran.code, "could not be written: No such file or directory." in ran.err) == (0, True)

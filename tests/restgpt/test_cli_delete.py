"""Guards `threads --delete`: which threads it deletes, its question, and that the file gets smaller."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli import Cli, by_calls
from roles import one_task

from restgpt.calling.journal import Journal
from restgpt.graph.persistence import open_persistence
from restgpt.sources import Sources
from restgpt.threads import ThreadRecord, Threads, is_older
from restgpt.tools.response.store import ResponseStore
from restgpt.tools.settings import Settings
from restgpt_bench.worlds.server import WorldServer

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def keep(cli: Cli, *names: str) -> None:
    """Save records of threads without checkpoints."""
    with open_persistence(Settings(home=cli.home)) as persistence:
        for name in names:
            Threads(persistence.store).keep(ThreadRecord(name, f"Do {name}", Sources(specs=("x.yaml",)), status="done"))


def listed(cli: Cli) -> set[str]:
    return {item["thread"] for item in cli("threads", "--json").document["threads"]}


def test_a_deleted_thread_is_gone_and_the_file_smaller(cli: Cli, toy: WorldServer, model) -> None:
    model(one_task("list_projects", parser=["print(len(data['items']))"]))
    cli("ask", "How many?", *by_calls(toy), "--thread", "mine")
    keep(cli, "other")
    file = Path(cli.home / "restgpt.db")
    before = file.stat().st_size
    ran = cli("threads", "--delete", "mine", "--yes")
    assert (ran.code, ran.out) == (0, "Deleted 1 thread.\n")
    assert listed(cli) == {"other"}
    assert file.stat().st_size < before
    assert b"How many?" not in file.read_bytes()
    assert cli("resume", "mine").code == 2


def test_without_a_terminal_it_has_to_be_said_twice(cli: Cli) -> None:
    keep(cli, "one", "two")
    for flags in ([], ["--json"]):
        ran = cli("threads", "--delete", "one", "two", *flags)
        assert ran.code == 2
        assert "This would delete 2 threads." in ran.err
        assert "--yes" in ran.err
    assert listed(cli) == {"one", "two"}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "left"), [("y", set()), ("", {"one"})])
def test_on_a_terminal_it_is_asked(cli: Cli, answer: str, left: set[str]) -> None:
    keep(cli, "one")
    code, said = cli.on_a_terminal("threads", "--delete", "one", prompt="[y/N]", answer=answer)
    assert code == 0
    assert "Do one" in said
    assert listed(cli) == left


def test_a_change_of_unknown_outcome_keeps_its_thread_unless_forced(cli: Cli) -> None:
    keep(cli, "one", "sure")
    with open_persistence(Settings(home=cli.home)) as persistence:
        Journal(persistence.store, "one").intend("r.0", "abc", {})
    ran = cli("threads", "--delete", "sure", "one", "--yes")
    assert ran.code == 2
    assert "restgpt resume one" in ran.err
    assert listed(cli) == {"one", "sure"}
    ran = cli("threads", "--delete", "--older-than", "0", "--yes", "--json")
    assert ran.document["deleted"] == ["sure"]
    assert [item["thread"] for item in ran.document["left"]] == ["one"]
    assert cli("threads", "--delete", "one", "--yes", "--force").code == 0
    assert listed(cli) == set()


def test_a_thread_in_use_is_never_deleted(cli: Cli) -> None:
    keep(cli, "one", "free")
    with open_persistence(Settings(home=cli.home)) as persistence, persistence.lock("one"):
        ran = cli("threads", "--delete", "one", "--yes", "--force")
        assert ran.code == 2
        assert "in use by another process" in ran.err
        ran = cli("threads", "--delete", "--older-than", "0", "--yes", "--force")
        assert ran.code == 0
    assert listed(cli) == {"one"}


def test_age_counts_from_the_last_use_in_utc_where_no_zone_is_named() -> None:
    def record(updated: datetime) -> ThreadRecord:
        return ThreadRecord("one", "", Sources(), updated=updated.isoformat(timespec="seconds"))

    old, new = NOW - timedelta(days=8), NOW - timedelta(days=6)
    assert [is_older(record(used), 7, now=NOW) for used in (old, new)] == [True, False]
    assert [is_older(record(used.replace(tzinfo=None)), 7, now=NOW) for used in (old, new)] == [True, False]


def test_only_the_older_threads_are_listed_and_deleted(cli: Cli) -> None:
    keep(cli, "one")
    for days in ("1", "1e300"):
        assert cli("threads", "--older-than", days).out == "There are no threads.\n"
    assert cli("threads", "--delete", "--older-than", "1", "--yes").out == "Deleted 0 threads.\n"
    assert listed(cli) == {"one"}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--delete"], "Give the threads to delete"),
        (["--delete", "one", "--older-than", "1"], "not both"),
        (["one", "two"], "Only one thread"),
        (["one", "--yes"], "Add --delete"),
        (["--delete", "none", "--yes"], "There is no thread none"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(cli: Cli, flags: list[str], said: str) -> None:
    keep(cli, "one", "two")
    ran = cli("threads", *flags)
    assert ran.code == 2
    assert said in ran.err
    assert listed(cli) == {"one", "two"}


def test_the_room_of_a_large_body_is_given_back(cli: Cli) -> None:
    with open_persistence(Settings(home=cli.home)) as persistence:
        handle = ResponseStore(persistence.store).put_value("x" * 2_000_000).handle
        Journal(persistence.store, "one").conclude("r.0", "abc", {"status": "sent", "response": {"handle": handle}})
    keep(cli, "one")
    file = cli.home / "restgpt.db"
    assert file.stat().st_size > 2_000_000
    assert cli("threads", "--delete", "one", "--yes").code == 0
    assert file.stat().st_size < 1_000_000

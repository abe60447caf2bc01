"""Guards threads that another version saved: each way to them says so, and nothing of them is changed or sent."""

from collections.abc import Callable
from typing import Any

import pytest
from chatserver import ChatServer
from cli import TOY, Cli, at
from roles import end, program

from restgpt.calling.journal import Journal
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import open_persistence
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.records import FORMAT
from restgpt.specs import load_api
from restgpt.threads import NAMESPACE
from restgpt.tools.settings import Settings
from restgpt_bench.worlds.server import WorldServer

Model = Callable[[dict[str, Any]], ChatServer]
WAYS = [["resume", "old"], ["ask", "And again", "--thread", "old"], ["threads", "old"]]
UNDO = ["undo", "old", "--approve"]


@pytest.fixture
def kept(cli: Cli, toy: WorldServer, model: Model) -> Cli:
    """A home folder with the thread `old`."""
    model({"express": [end("There are projects.")]})
    assert cli("ask", "Are there projects?", *at(toy), "--thread", "old").code == 1
    return cli


@pytest.mark.parametrize("found", [FORMAT - 1, FORMAT + 1])
def test_checkpoints_of_another_format_are_refused_with_both_numbers(kept: Cli, found: int) -> None:
    settings = Settings(home=kept.home)
    with open_persistence(settings) as persistence:
        services = Services([load_api(TOY)], settings=settings, store=persistence.store)
        graph = build_graph(services=services, **persistence.saved)
        graph.update_state({"configurable": {"thread_id": "old"}}, {"format": found})
    assert "old" in kept("threads").out
    for way in WAYS:
        ran = kept(*way)
        told = " ".join(ran.err.split())
        assert ran.code == 2, way
        assert f"its checkpoints have format {found}, and this version reads format {FORMAT} only" in told, way


@pytest.mark.parametrize("missing", ["written", "sources"])
def test_a_record_of_another_version_is_refused_by_its_name(kept: Cli, missing: str) -> None:
    with open_persistence(Settings(home=kept.home)) as persistence:
        item = persistence.store.get(NAMESPACE, "old")
        assert item is not None
        del item.value[missing]
        persistence.store.put(NAMESPACE, "old", item.value, index=False)
    for way in [["threads"], UNDO, *WAYS]:
        ran = kept(*way)
        assert (ran.code, "The record of thread old was written by another version" in ran.err) == (2, True), way


def test_a_journal_of_another_version_is_refused(kept: Cli) -> None:
    with open_persistence(Settings(home=kept.home)) as persistence:
        persistence.store.put(Journal(persistence.store, "old").namespace, "r.0-abc", {"outcome": None}, index=False)
    ran = kept(*UNDO)
    assert (ran.code, "The journal of thread old was written by another version" in ran.err) == (2, True)


def test_the_changes_of_a_thread_of_another_format_are_listed_by_undo(cli: Cli, toy: WorldServer, model: Model) -> None:
    model({"express": [program('print(create_task(project_id=1, body={"title": "Moss"})["title"])')]})
    assert cli("ask", "Add Moss to project 1", *at(toy), "--thread", "old", "--writes", "allow").code == 0
    settings = Settings(home=cli.home)
    with open_persistence(settings) as persistence:
        services = Services([load_api(TOY)], settings=settings, store=persistence.store)
        graph = build_graph(services=services, **persistence.saved)
        graph.update_state({"configurable": {"thread_id": "old"}}, {"format": FORMAT - 1})
        intent = {"method": "POST", "url": "http://board.example/projects"}
        Journal(persistence.store, "old").intend("r-2.0", "f" * 64, intent)
    refused = " ".join(cli("resume", "old").err.split())
    assert "What waited in it was not sent. `restgpt undo` with its id lists from the journal" in refused
    ran = cli("undo", "old")
    listed = " ".join((ran.out + ran.err).split())
    assert "/projects/1/tasks" in listed
    assert "http://board.example/projects" in listed

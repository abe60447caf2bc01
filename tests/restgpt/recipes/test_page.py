"""Guards docs/recipes.md: its tour works as shown."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chatserver import ChatServer
from cli import Cli, Ran

from restgpt.tools.settings.environment import AllowedFolders
from restgpt_bench.worlds import open_world
from restgpt_bench.worlds.server import WorldServer, serve

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
TOUR = PAGE.partition("## Five minutes")[2].partition("\n## ")[0]

# The program that the tour's model writes.
CODE = """project = one(rows(list_projects()), name="Seed library")
task = create_task(project_id=project["id"], body={"title": "Check the links", "assignee": "Ada"})
print(f"Added {task['title']} for {task['assignee']} to {project['name']}.")"""
CODES = {"--thread second": 3, "Tree house": 1}


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorldServer]:
    """Serve the board of the tour in a folder with its document."""
    (tmp_path / "specs" / "openapi").mkdir(parents=True)
    shutil.copy(ROOT / "specs" / "openapi" / "toy.yaml", tmp_path / "specs" / "openapi")
    monkeypatch.chdir(tmp_path)
    AllowedFolders(tmp_path / "home").allow(tmp_path)
    with serve(open_world("toy")) as world:
        yield world


@pytest.mark.slow
def test_the_tour_works_as_shown_and_calls_a_model_once(
    board: WorldServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli, said = Cli(home=tmp_path / "home"), ""
    with ChatServer([{"thought": "", "decision": "program", "text": CODE}]) as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        monkeypatch.setenv("RESTGPT_MODEL", "openai:gpt-5-mini")
        for language, block in re.findall(r"^```(bash|yaml|text)\n(.*?)^```", TOUR, flags=re.DOTALL | re.MULTILINE):
            if language == "yaml":
                Path("apis.yaml").write_text(block.replace("8101", str(urlsplit(board.url).port)), encoding="utf-8")
            elif language == "bash":
                said = "".join(told(cli, line, monkeypatch) for line in block.splitlines())
            else:
                shown = block.replace("8101", str(urlsplit(board.url).port))
                assert [line for line in shown.splitlines() if line not in said] == []
        assert len(chat.requests) == 1
    titles = [item["title"] for item in board.world.call("GET /tasks").body["items"]]
    assert "Paint the rail" not in titles


def told(cli: Cli, line: str, environment: pytest.MonkeyPatch) -> str:
    """Execute a line of the tour, and return what it printed on stdout."""
    words = shlex.split(line)
    if words[0] == "export":
        name, _, value = words[1].partition("=")
        environment.setenv(name, value)
        return ""
    if words[:3] == ["restgpt", "world", "serve"]:
        return ""
    assert words[0] == "restgpt", line
    ran: Ran = cli(*words[1:])
    # Without a terminal the command cannot ask about a change, so the thread stays paused.
    expected = next((code for part, code in CODES.items() if part in line), 0)
    assert ran.code == expected, f"{line}\n{ran}"
    return ran.out


def test_the_keys_of_the_page_are_those_of_the_form() -> None:
    from restgpt.recipes.recipe import Recipe

    table: Any = re.search(r"^## What is in the file\n\n(.*?)\n\n", PAGE, flags=re.DOTALL | re.MULTILINE)
    listed = {key for row in table[1].splitlines()[2:] for key in re.findall(r"`([a-z_]+)`", row.split("|")[1])}
    assert listed == {item.alias or name for name, item in Recipe.model_fields.items()}

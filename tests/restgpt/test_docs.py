"""Guards README.md and docs/: generated parts are up to date, links have targets, commands work as shown."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
import typer
import yaml
from boardscript import board_script
from chatserver import ChatServer
from cli import Cli, Ran, command_tree

from lab.kit.port import held_port
from restgpt_bench.worlds import open_world
from restgpt_bench.worlds.server import serve

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for room in ("docs", "lab") for path in (ROOT / room).rglob("*.md")),
        ROOT / "tests/promises.md",
    ]
)
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAUSED = 3


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[str]:
    return [line for block in blocks(page, "bash") for line in block.splitlines() if line and not line.startswith("#")]


def test_generated_parts_are_up_to_date() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    stale = [path.name for path, text in written.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run `make docs`"


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_make_target_and_command_of_a_page_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = []
    for link, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?", text):
        target = page.parent / link if link else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(f"{link}#{anchor}")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    wrong += {f"make {name}" for name in re.findall(r"`make ([a-z-]+)", text) if name not in targets}
    wrong += [line for line in commands(text) if line.startswith("restgpt ") and unknown_part(line)]
    assert wrong == []


def test_every_target_of_the_makefile_is_described_and_phony() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    # A variable of one target is no description of it.
    targets = re.findall(r"^([a-z-]+):(?! [A-Z]+ :=)(.*)$", makefile, flags=re.MULTILINE)
    assert [name for name, rest in targets if "## " not in rest] == []
    assert {name for name, _ in targets} == set(re.findall(r"^\.PHONY: ([a-z-]+)$", makefile, flags=re.MULTILINE))


def unknown_part(line: str) -> str:
    """Return the first unknown word of a command line; empty if all words are known."""
    command = command_tree()
    words = re.sub(r"'[^']*'|\"[^\"]*\"", "VALUE", line.partition(" #")[0]).split()[1:]
    while words and hasattr(command, "get_command"):
        found = command.get_command(typer.Context(command), words[0])
        if found is None:
            return words[0]
        command, words = found, words[1:]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    # Options after a lone -- are those of another program.
    own = takewhile(lambda word: word != "--", words)
    return next((word for word in own if word.startswith("-") and word.split("=")[0] not in known), "")


def test_the_two_commands_of_the_readme_are_what_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    targets = [line for line in commands(README) if line.startswith("make ")]
    assert targets == ["make demo", "make test"]
    assert "make demo" in script
    assert script[-1] == "make test-all"
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["two-commands"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == targets


def test_all_but_the_slow_tests_are_what_make_test_runs_and_nothing_else_is_left_out() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipes = dict(re.findall(r"^([a-z-]+): .*\n\t(.*)$", makefile, flags=re.MULTILINE))
    assert recipes["test"] == '$(PYTEST) --dist worksteal $(or $(TESTS),-m "not slow")'
    assert recipes["test-all"] == "$(PYTEST) --dist loadfile $(TESTS)"
    assert re.findall(r"^check: (.*) ##", makefile, flags=re.MULTILINE) == ["lint test-all"]
    assert "\nPYTEST := $(BIN)/python -m pytest -q -n $(WORKERS)\n" in makefile


def test_studio_is_started_as_the_server_test_starts_it() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\t$(BIN)/restgpt studio $(if $(BASELINES),--baselines)\n" in makefile
    assert '"restgpt", "studio", *options' in (ROOT / "tests/support/langgraphserver.py").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Tour:
    """A reader's folder while following the README, and the port used instead of 8101."""

    cli: Cli
    port: str
    environment: pytest.MonkeyPatch

    def take(self, line: str) -> Ran | None:
        """Execute a shell line: set a variable, or run a command."""
        words = shlex.split(line.replace("8101", self.port))
        if words[0] != "export":
            assert words[0] == "restgpt", line
            return self.cli(*words[1:])
        name, _, value = words[1].partition("=")
        self.environment.setenv(name, value)
        return None


@pytest.fixture
def tour(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Tour]:
    (tmp_path / "specs" / "openapi").mkdir(parents=True)
    shutil.copy(ROOT / "specs" / "openapi" / "toy.yaml", tmp_path / "specs" / "openapi")
    monkeypatch.chdir(tmp_path)
    with serve(open_world("toy")) as world, ChatServer(board_script) as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        monkeypatch.setenv("RESTGPT_MODEL", "openai:gpt-5-mini")
        yield Tour(Cli(home=tmp_path / "home"), str(urlsplit(world.url).port), monkeypatch)


def test_the_tour_of_the_readme_works_as_shown(tour: Tour) -> None:
    said = ""
    for language, block in re.findall(r"^```(bash|yaml)\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE):
        if language == "yaml":
            Path("apis.yaml").write_text(block.replace("8101", tour.port), encoding="utf-8")
            continue
        for line in block.splitlines():
            if line.startswith(("make ", "restgpt world serve ")):
                continue
            ran = tour.take(line)
            # Without a terminal the command cannot ask about a change, so the thread stays paused.
            paused = line.startswith("restgpt ask") and "--thread" in line
            assert ran is None or ran.code == (PAUSED if paused else 0), f"{line}\n{ran}"
            said += ran.out if ran is not None else ""
    assert "There are 24 tasks." in said
    assert "Dry run: nothing was changed." in said
    assert "It is created." in said


def test_the_api_of_the_tour_is_served_as_shown() -> None:
    [line] = [line for line in commands(README) if line.startswith("restgpt world serve ")]
    with held_port() as port:
        command = [sys.executable, "-m", *line.replace("8101", str(port)).split()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as world:
            try:
                assert world.stdout is not None
                assert f"http://127.0.0.1:{port}/v1" in world.stdout.readline()
                assert requests.get(f"http://127.0.0.1:{port}/v1/projects", timeout=60).status_code == 401
            finally:
                world.terminate()


def test_the_python_of_the_readme_works_as_shown(tour: Tour, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = blocks(README, "python")
    exec(compile(program.replace("8101", tour.port), "README.md", "exec"), {})
    assert capsys.readouterr().out == "There are 24 tasks.\n"


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_each_path_that_a_page_names_exists(page: str) -> None:
    named = re.findall(r"`((?:[\w.-]+/)*[\w.-]+(?:/|\.py))`", (ROOT / page).read_text(encoding="utf-8"))
    told = [name for name in named if not name.startswith((".", "runs/")) and name not in ELSEWHERE]
    assert [name for name in told if not (ROOT / name).exists()] == []
    assert len(told) > 10


ELSEWHERE = ("build/", "chatserver.py", "utils.py")
"""What is there only while it is built, stands beside the path of its folder, or is what no module is called."""


def test_the_figures_of_the_first_screen_are_those_of_the_scores() -> None:
    [line] = [line for line in README.partition("\n## ")[0].splitlines() if "(docs/scores.md)" in line]
    figures = re.findall(r"\d[\d,]+", line)
    scores = (ROOT / "docs" / "scores.md").read_text(encoding="utf-8")
    assert len(figures) == 2
    assert [figure for figure in figures if f"| {figure} |" not in scores] == []


@pytest.mark.skipif(sys.platform == "win32", reason="the fake interpreter is a shell script")
@pytest.mark.parametrize("fails", [False, True])
def test_the_set_up_prints_a_line_for_each_step_and_its_logs_end_if_one_fails(tmp_path: Path, fails: bool) -> None:
    for name in ("Makefile", "setup.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("restgpt-bench", "restgpt-functions"):
        (tmp_path / name).mkdir()
        shutil.copy(ROOT / name / "pyproject.toml", tmp_path / name)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("fake", ".venv/bin/python"):
        script = f'[ "$2" = pip ] || exit 0\nfor n in $(seq 700); do echo "line $n of pip"; done\nexit {int(fails)}\n'
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    command = ["make", "setup", f"PYTHON={tmp_path / 'fake'}", "VENV=.venv"]
    # Not as a part of the make that runs the tests, which would tell its folders.
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert [line for line in lines if " of 3: " in line] == lines[: 2 if fails else 3]
    assert (done.returncode != 0, "line 700 of pip" in lines) == (fails, fails)
    assert len(lines) < (40 if fails else 5)
    assert "line 1 of pip" in (tmp_path / ".venv" / "setup.log").read_text(encoding="utf-8").splitlines()

"""Guards the examples of the page on unattended runs: each is run, or checked by the program that would read it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli import TOY, Cli
from loopback import Handler, served
from plantrecipe import word_recipe

from restgpt.recipes.book import RecipeBook
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

PAGE = (Path(__file__).parents[2] / "docs" / "unattended.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the blocks of a language on the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def shell(cli: Cli, toy: WorldServer, tmp_path: Path) -> dict[str, str]:
    """The environment of a shell with `restgpt`, in whose home the folder `board` has the API and the recipe."""
    board = tmp_path / "board"
    board.mkdir()
    entry = {"spec": TOY, "base_url": toy.url, "auth": {"key": CREDENTIAL}}
    (board / "apis.yaml").write_text(yaml.safe_dump({"team-board": entry}))
    recipe = word_recipe(name="overdue", inputs={"type": "object"}, program="print(len(rows(list_projects())))")
    RecipeBook(board / "recipes").save(recipe)
    assert cli("allow", str(board)).code == 0
    program = tmp_path / "bin" / "restgpt"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m restgpt "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "HOME": str(tmp_path), "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}


def ran(command: str, shell: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["sh", "-c", command], env=shell, capture_output=True, text=True, check=False)


def test_the_lines_for_cron_run_in_a_shell(shell: dict[str, str], toy: WorldServer) -> None:
    told: list[Any] = []

    class Hook(Handler):
        def do_POST(self) -> None:
            told.append(json.loads(self.body()))
            self.answer({})

    morning, each_minute = [block.split("  ", 1)[1].strip() for block in blocks("cron")]
    with served(Hook) as url:
        morning = morning.replace("https://hooks.example.com", url)
        first, again = ran(morning, shell), ran(morning, shell)
    assert (first.returncode, first.stdout, first.stderr) == (0, "4\n", "")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert [notice["event"] for notice in told] == ["changed"]
    assert (ran(each_minute, shell).returncode, len(toy.world.log)) == (0, 2)


def test_the_units_are_those_of_systemd_and_their_command_runs(shell: dict[str, str], tmp_path: Path) -> None:
    service, timer = blocks("ini")
    [command] = re.findall("ExecStart=(.*)", service)
    assert ran(f"cd ~/board && {command}", shell).stdout == "4\n"
    if verify := shutil.which("systemd-analyze"):
        files = [tmp_path / "overdue.service", tmp_path / "overdue.timer"]
        for file, text in zip(files, (service, timer), strict=True):
            file.write_text(text)
        checked = subprocess.run([verify, "--user", "verify", *files], capture_output=True, text=True, check=False)
        assert "overdue" not in checked.stderr


def test_the_job_of_kubernetes_runs_the_command_once_at_a_time(shell: dict[str, str]) -> None:
    [job] = map(yaml.safe_load, blocks("yaml"))
    assert (job["kind"], job["spec"]["concurrencyPolicy"]) == ("CronJob", "Forbid")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["volumeMounts"][0]["name"] == pod["volumes"][0]["name"]
    assert ran(f"cd ~/board && {' '.join(container['command'])}", shell).stdout == "4\n"


def test_the_cron_of_a_server_is_what_its_client_sends() -> None:
    made: list[tuple[str, Any]] = []

    class Crons(Handler):
        def do_POST(self) -> None:
            made.append((self.path, json.loads(self.body())))
            self.answer({"cron_id": "1"})

    [code] = blocks("python")
    with served(Crons) as url:
        exec(code.replace("http://127.0.0.1:2024", url), {})
    [(path, body)] = made
    assert (path, body["schedule"], body["context"]) == ("/runs/crons", "0 7 * * *", {"writes": "deny"})

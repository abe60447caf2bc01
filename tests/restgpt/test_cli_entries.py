"""Guards `restgpt api add`, `list` and `remove`, and what a shell completes."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cli import TOY, Cli
from paths import openapi

from restgpt.tools.settings.environment import AllowedFolders

FILE = """\
# Ours.
trains: trains.yaml  # by rail

# By sea,
# and slow.
ferries:
  spec: ferries.yaml
  # No one reads this.
  notes: Slow.

# By air.
planes: {spec: planes.yaml}
"""


def entries() -> dict[str, object]:
    return dict(yaml.safe_load(Path("apis.yaml").read_text()))


@pytest.fixture
def completed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """What a shell offers for the last of some words."""

    def complete(typed: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", f"restgpt {typed}")
        monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
        monkeypatch.setenv("_RESTGPT_COMPLETE", "complete_bash")
        return cli().out.split()

    return complete


def test_an_added_api_with_a_base_url_counts_at_once(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("board.yaml").write_text(Path(TOY).read_text())
    added = cli("api", "add", "board", "board.yaml", "--base-url", "http://board.test/v1")
    assert (added.code, added.out.splitlines()[0]) == (0, "apis.yaml has the API board with 11 operations.")
    assert "Set RESTGPT_AUTH_BOARD_KEY to the credential of key." in added.out
    assert entries() == {"board": {"spec": "board.yaml", "base_url": "http://board.test/v1"}}
    monkeypatch.setenv("RESTGPT_AUTH_BOARD_KEY", "k")
    sent = cli("call", "list_projects", "--api", "board", "--dry-run").out
    assert sent.startswith("GET http://board.test/v1/projects")
    assert cli("api", "list").out == "board  http://board.test/v1\n"
    assert folder in AllowedFolders(cli.home).listed()


def test_an_api_is_added_with_the_operations_that_may_be_used_and_the_others_are_counted(cli: Cli) -> None:
    added = cli("api", "add", "board", TOY, "--include", "method=GET", "--exclude", "path=/tasks/**", "--external")
    assert (added.code, "the API board with 4 operations." in added.out) == (0, True)
    kept = {"include": ["method=GET"], "exclude": ["path=/tasks/**"], "allow_external": True}
    assert entries() == {"board": {"spec": TOY, **kept}}
    told = "(4 operations, 7 more are barred by include: method=GET; exclude: path=/tasks/**)"
    assert told in cli("api", "show", "board").out
    assert cli("api", "list").out == f"board  {TOY}  include: method=GET  exclude: path=/tasks/**\n"


def test_recipes_are_not_allowed_with_a_new_file(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "strange"
    (folder / "recipes").mkdir(parents=True)
    (folder / "recipes" / "theirs.yaml").write_text("recipe: x")
    monkeypatch.chdir(folder)
    ran = cli("api", "add", "board", TOY)
    assert (ran.code, f"{folder} has recipes" in ran.err, Path("apis.yaml").exists()) == (2, True, False)


def test_the_rest_of_the_file_stays_as_it_is(cli: Cli) -> None:
    Path("apis.yaml").write_text(FILE)
    assert cli("api", "add", "board", TOY, "--auth", "key=BOARD_KEY").code == 0
    text = Path("apis.yaml").read_text()
    assert text.startswith(FILE)
    assert text.removeprefix(FILE) == f"\nboard:\n  spec: {TOY}\n  auth:\n    key: ${{BOARD_KEY}}\n"
    assert cli("api", "remove", "ferries").code == 0
    gone = "ferries:\n  spec: ferries.yaml\n  # No one reads this.\n  notes: Slow.\n"
    assert Path("apis.yaml").read_text() == text.replace(gone, "")
    assert cli("api", "remove", "trains").code == 0
    assert cli("api", "remove", "planes", "--json").document["name"] == "planes"
    assert [*entries()] == ["board"]
    listed = cli("api", "list", "--json").document["apis"]
    assert listed == {"board": TOY}
    assert cli("api", "remove", "board").code == 0
    assert "has no entries" in cli("api", "list").out


@pytest.mark.parametrize("text", ['{"a": "a.yaml", "b": "b.yaml"}', "{a: a.yaml,\n b: b.yaml}\n"])
def test_a_file_in_another_form_is_left_alone(cli: Cli, text: str) -> None:
    Path("apis.yaml").write_text(text)
    for words in (["add", "board", TOY], ["remove", "a"]):
        ran = cli("api", *words)
        assert (ran.code, "has its entries in another form" in ran.err) == (2, True)
        assert Path("apis.yaml").read_text() == text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["add", "Trains", TOY], "apis.yaml has an entry Trains. Remove it first"),
        (["add", "board", "none.yaml"], "none.yaml"),
        (["add", "board", TOY, "--auth", "token=X"], "--auth names token, but the schemes are: key, bearer."),
        (["add", "board", TOY, "--auth", "key=s3cr-et"], "What is given for key is no name of a variable"),
        (["remove", "boats"], "apis.yaml has no entry boats. Its entries are: trains, ferries, planes."),
    ],
)
def test_what_cannot_be_done_changes_nothing(cli: Cli, words: list[str], told: str) -> None:
    Path("apis.yaml").write_text(FILE)
    ran = cli("api", *words)
    assert (ran.code, told in ran.err, Path("apis.yaml").read_text()) == (2, True, FILE)


def test_a_person_is_asked_for_the_name_of_each_variable(cli: Cli) -> None:
    code, screen = cli.on_a_terminal("api", "add", "board", TOY, prompt="]: ", answer=["MY_KEY", ""])
    assert code == 0, screen
    assert "The variable with the credential of key [RESTGPT_AUTH_BOARD_KEY]: " in screen
    assert entries() == {"board": {"spec": TOY, "auth": {"key": "${MY_KEY}"}}}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("re", ["resume", "recipe"]),
        ("api re", ["remove"]),
        ("call --api b", ["board"]),
        ("call --spec TOY delete_", ["delete_project", "delete_task"]),
        ("call delete_p", ["delete_project"]),
        ("call --exclude method=DELETE --spec TOY create_task ti", ["title="]),
        ("call create_task project_id=1 n", ["notes="]),
        ("call --spec none.yaml x", []),
        ("call --api none x", []),
        ("call none x", []),
    ],
)
def test_a_shell_completes_commands_apis_operations_and_arguments(
    completed: Callable[[str], list[str]], words: str, found: list[str]
) -> None:
    Path("apis.yaml").write_text(f"board: {TOY}\n")
    assert completed(words.replace("TOY", TOY)) == found


def test_completion_fetches_no_document(completed: Callable[[str], list[str]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        Path("apis.yaml").write_text(f"far: http://127.0.0.1:{server.getsockname()[1]}/x.json\n")
        assert completed("call --api far x") == []
        with pytest.raises(BlockingIOError):
            server.accept()


def test_no_file_of_a_folder_that_nobody_allowed_is_completed(
    completed: Callable[[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path.parent / f"{tmp_path.name}-strange"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("doc.json").write_text(json.dumps(openapi({})))
    Path("apis.yaml").write_text("theirs: doc.json\n")
    assert completed("call --api th") == []


def test_of_two_entries_for_one_document_none_is_chosen_in_silence(cli: Cli) -> None:
    for name in ("board", "other"):
        assert cli("api", "add", name, TOY, "--base-url", f"http://{name}.test").code == 0
    ran = cli("call", "list_projects", "--dry-run")
    assert (ran.code, "Several APIs have list_projects: say board.list_projects or other." in ran.err) == (2, True)
    named = cli("call", "other.list_projects", "--dry-run")
    assert named.out.startswith("GET http://other.test/v1/projects")


@pytest.mark.parametrize("server", ["http://127.0.0.1:8801/v1", "http://10.0.0.7", "http://intranet"])
def test_a_document_alone_names_no_server_of_a_private_network(cli: Cli, server: str) -> None:
    Path("near.yaml").write_text(json.dumps(openapi({"/x": {"get": {}}}, servers=[{"url": server}])))
    refused = cli("api", "add", "near", "near.yaml")
    assert (refused.code, f"add --base-url {server}" in " ".join(refused.err.split())) == (2, True)
    assert cli("api", "add", "near", "near.yaml", "--base-url", server).code == 0


def test_only_what_is_not_set_is_to_be_set(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOARD_KEY", "k")
    added = cli("api", "add", "board", TOY, "--auth", "key=BOARD_KEY")
    assert (added.code, "Set " in added.out) == (0, False)

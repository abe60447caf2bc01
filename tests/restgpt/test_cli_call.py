"""Guards changes by `restgpt call`: they are journalled, asked about after an interruption, and can be undone."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cli import TOY, Cli, at, by_calls
from loopback import Handler, served
from paths import openapi
from wire.case import Canned
from wire.echo import EchoServer

from lab.kit.port import held_port
from restgpt.client import Client
from restgpt.outcome import Called
from restgpt.specs import load_api
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.server import WorldServer

ARGUMENTS = ["--args", '{"path": {"project_id": 1}, "body": {"title": "Moss"}}']
RENAME = ["update_project", "project_id=2", "owner=Noor"]
MADE = "POST /projects/{project_id}/tasks 201"


def change(toy: WorldServer, *more: str) -> list[str]:
    return ["call", "create_task", *at(toy), *ARGUMENTS, *more]


def changes(toy: WorldServer) -> list[str]:
    return [f"{entry.method} {entry.template} {entry.status}" for entry in toy.world.log if entry.method != "GET"]


@pytest.fixture
def cut_off(cli: Cli, toy: WorldServer) -> WorldServer:
    """A world with a change by a command that was killed before it got the response."""
    toy.world.faults.replace([Fault(kind=FaultKind.SLOW, seconds=60.0)])
    started = cli.start(*change(toy, "--approve"))
    while not changes(toy):
        assert started.poll() is None
        time.sleep(0.01)
    started.kill()
    started.wait()
    return toy


def test_a_change_is_journalled_and_undone(cli: Cli, toy: WorldServer) -> None:
    made = cli(*change(toy, "--approve", "--json")).document
    assert (made["status"], made["response"]["body"]["title"]) == ("done", "Moss")
    thread = made["thread"]
    assert 'call create_task /v1/projects/1/tasks {"' in cli("threads").out
    undone = cli("undo", thread, "--approve")
    assert undone.code == 0, undone.err
    assert re.search(r"^undo +DELETE \S+ → 204", cli("threads", thread).out, re.MULTILINE)
    assert changes(toy) == [MADE, "DELETE /tasks/{task_id} 204"]


def test_the_same_change_can_be_made_again_and_undone_again(cli: Cli, toy: WorldServer) -> None:
    first = cli(*change(toy, "--approve", "--json")).document
    second = cli(*change(toy, "--approve", "--json")).document
    assert second["thread"] == f"{first['thread']}-2"
    assert changes(toy) == [MADE, MADE]
    assert cli("undo", first["thread"], "--approve").code == 0
    kept = [task["title"] for task in toy.world.dump()["tasks"].values()]
    assert kept.count("Moss") == 1


@pytest.mark.slow
def test_a_change_that_was_cut_off_is_asked_about_and_shows_in_undo(cli: Cli, cut_off: WorldServer) -> None:
    again = cli(*change(cut_off, "--approve"))
    assert again.code == 3
    assert "It may or may not have been carried out." in again.err
    # It is the same however it is spelled.
    whole = '{"query": {}, "body": {"title": "Moss"}, "header": {}, "path": {"project_id": 1.0}}'
    for spelled in ('{"project_id": 1, "title": "Moss"}', whole):
        assert cli("call", "create_task", *at(cut_off), "--args", spelled, "--approve").code == 3
    assert changes(cut_off) == [MADE]
    thread = cli("threads", "--json").document["threads"][0]
    assert thread["status"] == "paused"
    undo = cli("undo", thread["thread"], "--json")
    assert (undo.code, undo.document["left"][0]["reason"]) == (1, "whether it was carried out is not known")


@pytest.mark.slow
def test_a_change_that_was_cut_off_is_sent_again_if_the_user_says_so(cli: Cli, cut_off: WorldServer) -> None:
    waiting = cli(*change(cut_off, "--approve", "--json")).document
    assert waiting["outcome_unknown"]
    assert cli("resume", waiting["thread"], "--approve").code == 0
    assert changes(cut_off) == [MADE, MADE]
    assert cli(*change(cut_off, "--approve")).code == 0


@pytest.mark.slow
def test_a_change_that_was_cut_off_can_be_left_at_that(cli: Cli, cut_off: WorldServer) -> None:
    left = cli("resume", cli(*change(cut_off, "--json")).document["thread"], "--reject", "", "--json")
    assert (left.code, left.document["status"]) == (1, "failed")
    assert changes(cut_off) == [MADE]
    assert cli(*change(cut_off)).code == 3
    assert cli(*change(cut_off, "--approve")).code == 0
    assert changes(cut_off) == [MADE, MADE]


def test_a_change_that_may_have_been_made_says_so_and_undo_knows_it(cli: Cli, toy: WorldServer) -> None:
    toy.world.faults.replace([Fault(status=502, retry_after=0, operation="DELETE /tasks/{task_id}")])
    missing = ["call", "delete_task", *at(toy), "--args", '{"path": {"task_id": 999}}', "--approve", "--json"]
    ran = cli(*missing)
    assert ran.code == 1
    assert "Tried 2 times: 502, then 404. Whether the API carried it out is not known" in ran.err
    assert ran.document["response"]["outcome_unknown"] is True
    [left] = cli("undo", ran.document["thread"], "--json").document["left"]
    assert left["reason"].startswith("whether it was carried out is not known, and ")


def test_a_dry_run_and_a_denied_change_leave_no_thread(cli: Cli, toy: WorldServer) -> None:
    assert cli(*change(toy, "--dry-run")).code == 0
    assert cli(*change(toy, "--writes", "deny")).code == 1
    assert cli("call", "list_projects", *at(toy)).code == 0
    assert cli("threads", "--json").document == {"threads": []}


def test_a_call_and_its_undo_take_the_settings_of_a_run(cli: Cli, toy: WorldServer) -> None:
    assert cli(*change(toy, "--approve", "--set", "writes=deny")).code == 1
    made = cli(*change(toy, "--set", "writes=allow", "--json")).document["thread"]
    assert "--approve" in cli("undo", made, "--set", "writes=allow").err
    assert changes(toy) == [MADE]
    assert cli("undo", made, "--approve", "--set", "max_seconds=60").code == 0
    options = ["--json", "--writes", "allow", "--set", "undo=false"]
    unread = cli("call", *at(toy), *RENAME, *options).document["thread"]
    assert "Cannot be undone" in cli("undo", unread, "--approve").out


def test_a_single_call_that_waits_is_decided_by_resume(cli: Cli, toy: WorldServer) -> None:
    waiting = cli(*change(toy, "--json"))
    assert (waiting.code, waiting.document["status"]) == (3, "paused")
    thread = waiting.document["thread"]
    rejected = cli("resume", thread, "--reject", "not now")
    assert (rejected.code, "Rejected. Nothing was sent. not now" in rejected.err) == (4, True)
    first, again = cli(*change(toy)), cli(*change(toy))
    assert (first.code, again.code) == (3, 3)
    told = f"The same call waits in thread {thread} already. It is asked about once, not made twice."
    assert (told in first.err, told in again.err) == (False, True)
    approved = cli("resume", thread, "--approve")
    assert (approved.code, json.loads(approved.out)["title"]) == (0, "Moss")
    assert changes(toy) == [MADE]


def test_files_beside_a_document_are_read_with_external_also_when_the_call_is_decided(cli: Cli, tmp_path: Path) -> None:
    main = {"openapi": "3.0.0", "paths": {"/notes": {"post": {"$ref": "parts/add.json"}}}}
    body = {"content": {"application/json": {"schema": {"$ref": "note.json"}}}}
    part = {"operationId": "add_note", "requestBody": body, "responses": {"200": {"description": "ok"}}}
    note = {"type": "object", "properties": {"text": {"type": "string"}}}
    (tmp_path / "parts").mkdir()
    for name, content in {"main.json": main, "parts/add.json": part, "parts/note.json": note}.items():
        (tmp_path / name).write_text(json.dumps(content))
    with EchoServer() as echo:
        spec = ["--spec", str(tmp_path / "main.json"), "--base-url", echo.url]
        call = ["call", "add_note", *spec, "--args", '{"body": {"text": "Moss"}}', "--json"]
        assert "No operation is called 'add_note'" in cli(*call).document["error"]
        waiting = cli(*call, "--external")
        assert waiting.document["status"] == "paused", waiting.err
        assert cli("resume", waiting.document["thread"], "--approve").code == 0
        assert [(seen.method, seen.body) for seen in echo.arrived] == [("POST", b'{"text":"Moss"}')]


def test_a_single_call_is_no_beginning_of_a_conversation(cli: Cli, toy: WorldServer) -> None:
    thread = cli(*change(toy, "--approve", "--json")).document["thread"]
    asked = cli("ask", "How many tasks are there?", "--thread", thread, *by_calls(toy))
    assert (asked.code, "is a single call" in asked.err) == (2, True)
    assert cli("threads", "--json").document["threads"][0]["turn"] == 0


def test_a_change_that_did_not_reach_its_api_failed_and_may_be_made_later(cli: Cli, toy: WorldServer) -> None:
    with held_port() as port:
        closed = ["call", "create_task", "--spec", TOY, "--base-url", f"http://127.0.0.1:{port}", *ARGUMENTS]
        assert cli(*closed, "--approve").code == 1
    thread = cli("threads", "--json").document["threads"][0]
    assert thread["status"] == "failed"
    assert not cli(*closed, "--json").document["outcome_unknown"]


def test_a_documented_idempotency_key_is_sent_and_another_one_the_next_time(
    cli: Cli, toy: WorldServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = yaml.safe_load(bundled_document("toy").read_bytes())
    header = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    document["paths"]["/projects/{project_id}/tasks"]["post"].setdefault("parameters", []).append(header)
    (tmp_path / "keyed.json").write_text(json.dumps(document))
    keyed = ["call", "create_task", "--spec", "keyed.json", "--base-url", toy.url, *ARGUMENTS, "--approve", "--json"]
    first, second = (cli(*keyed).document["request"]["headers"]["Idempotency-Key"] for _ in range(2))
    monkeypatch.setenv("RESTGPT_HOME", str(tmp_path / "another"))
    third = cli(*keyed).document["request"]["headers"]["Idempotency-Key"]
    assert len({first, second, third}) == 3


def test_a_person_sees_the_target_and_what_changed_in_it(cli: Cli, toy: WorldServer) -> None:
    code, screen = cli.on_a_terminal("call", *at(toy), *RENAME, prompt="[l]ater?", answer="a")
    assert code == 0
    assert "Changes, by a response of team-board:" in screen
    assert [entry.method for entry in toy.world.log] == ["GET", "GET", "PATCH"]
    [spec] = cli("threads", "--json").document["threads"][0]["sources"]["specs"]
    assert spec == Path(TOY).resolve().as_uri()


def test_a_target_that_changes_while_a_person_reads_is_asked_about_again(cli: Cli, toy: WorldServer) -> None:
    def answers() -> Iterator[str]:
        for reader, typed in enumerate("al", 1):
            body = {"owner": f"Reader {reader}"}
            toy.world.call("PATCH /projects/{project_id}", path={"project_id": 2}, body=body)
            yield typed

    code, screen = cli.on_a_terminal("call", *at(toy), *RENAME, prompt="[l]ater?", answer=answers())
    assert (code, screen.count("[l]ater?")) == (3, 2)
    assert "The target has changed since this request was approved" in screen
    assert toy.world.dump()["projects"]["2"]["owner"] == "Reader 2"


@pytest.mark.parametrize("levels", [61, 400, 100_000])
def test_deeply_nested_arguments_are_refused_in_json(levels: int, cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    text = f'{{"path": {{"project_id": 1}}, "body": {{"title": {"[" * levels}1{"]" * levels}}}}}'
    (tmp_path / "deep.json").write_text(text)
    ran = cli("call", "create_task", *at(toy), "--args", "@deep.json", "--approve", "--json")
    assert (ran.code, ran.document["status"]) == (2, "failed")
    assert "nested" in ran.document["error"]
    assert changes(toy) == []
    assert cli("threads", "--json").document == {"threads": []}


@pytest.mark.parametrize("json_option", [["--json"], []])
def test_a_body_cannot_reorder_or_hide_the_output_for_machines(json_option: list[str], cli: Cli) -> None:
    value = {"title": "a\u202egpj.exe", "\u2066": "\x9b31m \U000e0041 \ud800", "name": "größe"}
    with EchoServer() as echo:
        echo.script([Canned(json.dumps(value).encode())])
        ran = cli("call", "list_projects", "--spec", TOY, "--base-url", echo.url, *json_option)
    assert ran.code == 0
    assert (ran.document["response"]["body"] if json_option else ran.document) == value
    assert not set("\u202e\u2066\x9b\U000e0041\ud800") & set(ran.out)
    assert "größe" in ran.out


@pytest.mark.parametrize("json_option", [["--json"], []])
def test_a_large_body_is_printed_as_it_is_written_and_what_is_no_json_as_text(json_option: list[str], cli: Cli) -> None:
    body = b'{"a": 1.10,\r\n "b": "gr\xc3\xb6\xe2\x80\xaee", "c": [' + b'{"d": "x"}, ' * 100_000 + b"0]}"
    with EchoServer() as echo:
        echo.script([Canned(body), Canned(body[:-1])])
        read = ["call", "list_projects", "--spec", TOY, "--base-url", echo.url, *json_option]
        whole, half = cli(*read), cli(*read)
    assert (whole.document["response"]["body"] if json_option else whole.document) == json.loads(body)
    assert ('"a": 1.10' in whole.out, "\u202e" in whole.out) == (True, False)
    shown = half.document["response"]["body"] if json_option else half.out
    assert shown.startswith('{"a": 1.10')


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_change_that_is_redirected_is_not_done_for_any_door(cli: Cli, tmp_path: Path, status: int) -> None:
    paths = {"/items": {"post": {"operationId": "add", "responses": {"201": {"description": "made"}}}}}
    document = openapi(paths)
    (tmp_path / "items.json").write_text(json.dumps(document))
    with EchoServer() as echo:
        echo.script([Canned(status=status, headers={"Location": "/items/"})])
        items = ["--spec", str(tmp_path / "items.json"), "--base-url", echo.url]
        ran = cli("call", "add", *items, "--approve", "--json")
        client = Client([load_api(document, base_url=echo.url)], context={"writes": "allow"})
        called = client.call("add")
        assert isinstance(called, Called)
    assert (ran.code, ran.document["status"], "which is not followed" in ran.err) == (1, "failed", True)
    [thread] = cli("threads", "--json").document["threads"]
    assert thread["status"] == "failed"
    assert "There is nothing to undo." in cli("undo", thread["thread"]).out
    assert (called.ok, called.status_code, client.reversals(called.thread)) == (False, status, [])


def test_an_undo_of_what_is_gone_says_so(cli: Cli, toy: WorldServer) -> None:
    made = cli("call", "create_project", *at(toy), "name=Moss", "--approve", "--json").document
    toy.world.call("DELETE /projects/{project_id}", path={"project_id": made["response"]["body"]["id"]})
    ran = cli("undo", made["thread"], "--approve")
    assert (ran.code, "Not done: what it reverses is gone: the API answered with status 404" in ran.out) == (1, True)


def test_a_call_that_begins_a_job_waits_for_its_end_if_asked_to(cli: Cli, tmp_path: Path) -> None:
    polls: list[str] = []

    class Printer(Handler):
        def do_POST(self) -> None:
            self.answer({}, 202, Location="/jobs/7")

        def do_GET(self) -> None:
            polls.append(self.path)
            self.answer({"state": "running" if len(polls) < 3 else "done"}, Retry_After="0.01")

    variable = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    paths = {
        "/jobs": {"post": {"operationId": "start_job", "responses": {"202": {"description": "later"}}}},
        "/jobs/{id}": {"get": {"operationId": "get_job", "parameters": [variable], "responses": {}}},
    }
    spec = tmp_path / "printer.json"
    spec.write_text(json.dumps(openapi(paths)))
    with served(Printer) as url:
        where = ("--spec", str(spec), "--base-url", url, "--approve")
        plain = cli("call", "start_job", *where)
        assert (plain.code, polls) == (0, [])
        assert 'It is not done yet: get_job with {"path": {"id": "7"}} tells its state.' in plain.err
        waited = cli("call", "start_job", "--wait", *where)
        assert json.loads(waited.out) == {"state": "done"}
        assert waited.err.count("get_job answered 200; get_job in 0.01 s") == 2
    assert polls == ["/jobs/7"] * 3

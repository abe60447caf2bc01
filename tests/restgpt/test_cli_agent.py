"""Guards `ask`, `resume` and `threads`: runs that answer, pause, fail, are killed, and are resumed."""

import json
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from chatserver import ChatServer, Refusal
from cli import TOY, Cli, at, by_calls, names
from roles import call, end, one_task, plan, program

from lab.kit.port import held_port
from restgpt.graph.persistence import open_persistence
from restgpt.sources import Sources
from restgpt.threads import ThreadRecord, Threads
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import CREDENTIAL, World
from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.server import WorldServer

Model = Callable[[dict[str, Any]], ChatServer]
PATIENCE_S = 120

READS: dict[str, Any] = one_task(
    "list_projects",
    planner=[plan("List the projects."), end("There are projects.")],
    parser=["print(len(data['items']))"] * 2,
)
CALLS = ["--set", "road=roles"]
WRITES: dict[str, Any] = one_task(
    "create_project",
    planner=[plan("Create the project Moss."), end("The project Moss is there.")],
    caller=[call({"body": {"name": "Moss"}})],
)


def sent(world: World[Any]) -> list[str]:
    return [f"{entry.method} {entry.template}" for entry in world.log]


@pytest.fixture
def moss(cli: Cli, toy: WorldServer, model: Model) -> ChatServer:
    """The model of the thread moss, in which a change waits for approval."""
    server = model(WRITES)
    assert cli("ask", "Create the project Moss", *by_calls(toy), "--thread", "moss").code == 3
    return server


def test_the_answer_is_on_stdout_and_the_trace_on_stderr(cli: Cli, toy: WorldServer, model: Model) -> None:
    model(READS)
    ran = cli("ask", "How many projects are there?", *by_calls(toy))
    assert ran.code == 0, ran.err
    assert ran.out == "There are projects.\n"
    assert "List the projects." in ran.err
    assert f"GET {toy.url}/projects → 200" in ran.err
    assert " model calls · " in ran.err


def test_json_is_one_document_with_steps_and_usage(cli: Cli, toy: WorldServer, model: Model) -> None:
    model(READS)
    ran = cli("ask", "How many?", *by_calls(toy), "--json", "--thread", "mine")
    document = ran.document
    assert (document["thread"], document["status"], document["answer"]) == ("mine", "done", "There are projects.")
    assert document["steps"][0]["requests"][0]["response"]["status"] == 200
    assert document["usage"]["roles"]["planner"]["calls"] == 2
    assert document["pending"] == []
    assert CREDENTIAL not in ran.out + ran.err


def test_a_paused_thread_is_shown_with_what_waits(cli: Cli, toy: WorldServer, moss: ChatServer) -> None:
    waits = cli("resume", "moss").err.partition("Paused for approval:")[2]
    shown = cli("threads", "moss")
    assert shown.out.startswith("thread       moss (waiting)")
    assert f"POST {toy.url}/projects" in shown.err
    assert shown.err.partition("Paused for approval:")[2] == waits


def test_a_waiting_request_is_printed_whole_by_its_number(cli: Cli, toy: WorldServer, model: Model) -> None:
    name = "M" * 30_000 + "oss"
    model({**WRITES, "caller": [call({"body": {"name": name, "owner": f"key {CREDENTIAL}"}})]})
    paused = cli("ask", f"Create the project {name}", *by_calls(toy), "--thread", "one")
    assert paused.code == 3, paused.err
    assert "bytes are left out here" in paused.err
    shown = cli("threads", "one", "--request", "1")
    assert shown.code == 0, shown.err
    assert name in shown.out.replace("\n    ┆ ", "")
    assert f"│ POST {toy.url}/projects" in shown.out
    document = cli("threads", "one", "--request", "1", "--json").document
    assert (document["thread"], document["number"], document["method"]) == ("one", 1, "POST")
    assert json.loads(document["body"])["name"] == name
    assert CREDENTIAL not in shown.out + document["body"]


def test_no_request_is_printed_where_none_waits(cli: Cli, toy: WorldServer, model: Model) -> None:
    model(WRITES)
    assert cli("ask", "Create the project Moss", *by_calls(toy), "--thread", "one").code == 3
    assert "has 1 waiting" in cli("threads", "one", "--request", "2").err
    assert cli("threads", "--request", "1").code == 2
    assert cli("resume", "one", "--reject", "no").code == 1
    over = cli("threads", "one", "--request", "1")
    assert (over.code, over.out) == (2, "")
    assert "No request waits for approval in thread one." in over.err


def test_a_rejected_write_is_never_sent(cli: Cli, toy: WorldServer, moss: ChatServer) -> None:
    resumed = cli("resume", "moss", "--reject", "the name is wrong")
    assert resumed.code == 1
    assert sent(toy.world) == []
    assert "the name is wrong" in moss.requests[-1].text


def test_an_edited_write_is_sent_as_edited(cli: Cli, toy: WorldServer, moss: ChatServer) -> None:
    resumed = cli("resume", "moss", "--edit", '{"body": {"name": "Fern"}}', "--json")
    assert resumed.document["status"] == "done"
    assert "Fern" in names(toy.world)
    assert "Moss" not in names(toy.world)


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        ([], 3, "restgpt resume moss --approve"),
        (["--approve", "--reject", "no"], 2, "exclude each other"),
        (["--edit", "{"], 2, "not JSON"),
        (["--edit", "[1]"], 2, "one object"),
    ],
)
def test_without_a_decision_that_makes_sense_nothing_is_sent(
    cli: Cli, toy: WorldServer, moss: ChatServer, flags: list[str], code: int, said: str
) -> None:
    resumed = cli("resume", "moss", *flags)
    assert (resumed.code, said in resumed.err, sent(toy.world)) == (code, True, [])


def test_writes_allow_sends_at_once_and_deny_never(cli: Cli, toy: WorldServer, model: Model) -> None:
    model(WRITES)
    assert cli("ask", "Create the project Moss", *by_calls(toy), "--writes", "deny").code == 1
    assert sent(toy.world) == []
    model(WRITES)
    assert cli("ask", "Create the project Moss", *by_calls(toy), "--writes", "allow").code == 0
    assert sent(toy.world) == ["POST /projects"]


def test_a_finished_thread_repeats_its_answer_and_goes_on_as_before(cli: Cli, toy: WorldServer, model: Model) -> None:
    model(READS)
    cli("ask", "How many?", *by_calls(toy), "--thread", "mine", "--set", "max_steps=5")
    resumed = cli("resume", "mine", "--quiet")
    assert (resumed.code, resumed.out) == (0, "There are projects.\n")
    refused = cli("resume", "mine", "--approve")
    assert (refused.code, "No request waits" in refused.err) == (2, True)
    server = model({"planner": [end("As I said.")]})
    ran = cli("ask", "Are you sure?", "--thread", "mine")
    assert (ran.code, ran.out) == (0, "As I said.\n")
    assert "How many?" in server.requests[0].text
    shown = cli("threads", "mine", "--json").document
    assert (shown["instruction"], shown["context"]) == ("Are you sure?", {"road": "roles", "max_steps": "5"})


def test_a_new_instruction_does_not_drop_one_that_waits(cli: Cli, moss: ChatServer) -> None:
    ran = cli("ask", "Something else", "--thread", "moss")
    assert ran.code == 2
    assert "restgpt resume moss" in ran.err
    assert cli("resume", "moss", "--approve").code == 0


def test_a_failed_thread_goes_on_with_other_settings_and_keeps_them(cli: Cli, toy: WorldServer, model: Model) -> None:
    model({**READS, "selector": [Refusal(401), *READS["selector"]]})
    ran = cli("ask", "How many?", *by_calls(toy), "--thread", "mine")
    assert ran.code == 1
    assert "Check the API key" in ran.err
    assert "restgpt resume mine" in ran.err
    assert cli("threads").out.split()[:2] == ["mine", "failed"]
    assert "failed       The model's server answered 401. Check the API key.\n" in cli("threads", "mine").out
    refused = cli("resume", "mine", "--set", "max_steps=none")
    assert (refused.code, "max_steps" in refused.err) == (2, True)
    resumed = cli("resume", "mine", "--set", "max_steps=1")
    assert (resumed.code, resumed.out.startswith("There are projects.")) == (0, True)
    assert cli("threads", "mine", "--json").document["context"] == {"road": "roles", "max_steps": "1"}


def test_failure_in_json_says_what_was_done_and_what_went_wrong(cli: Cli, toy: WorldServer, model: Model) -> None:
    model({**READS, "planner": [READS["planner"][0], Refusal(401)]})
    ran = cli("ask", "How many?", *by_calls(toy), "--json")
    assert ran.code == 1
    assert ran.document["status"] == "failed"
    assert "401" in ran.document["error"]
    assert ran.document["steps"][0]["requests"][0]["response"]["status"] == 200


@pytest.mark.slow
def test_a_change_of_unknown_outcome_is_asked_about_and_not_resent(cli: Cli, toy: WorldServer, model: Model) -> None:
    server = model({**WRITES, "planner": [WRITES["planner"][0], end("It may be there.")]})
    toy.world.faults.replace([Fault(FaultKind.SLOW, operation="POST /projects", seconds=PATIENCE_S)])
    started = cli.start("ask", "Create Moss", *by_calls(toy), "--writes", "allow", "--thread", "moss")
    wait_for(lambda: sent(toy.world) == ["POST /projects"])
    started.kill()
    started.communicate()
    assert cli("threads").out.split()[:2] == ["moss", "stopped"]
    resumed = cli("resume", "moss")
    assert resumed.code == 3
    assert "may or may not" in " ".join(resumed.err.split())
    assert cli("resume", "moss", "--edit", "{}").code == 2
    rejected = cli("resume", "moss", "--reject", "do not")
    assert (rejected.code, rejected.out) == (1, "It may be there.\n")
    assert "not known" in server.requests[-1].text
    assert sent(toy.world) == ["POST /projects"]


def test_a_run_that_was_killed_before_a_first_checkpoint_begins_anew(cli: Cli, toy: WorldServer, model: Model) -> None:
    with open_persistence(Settings(home=cli.home)) as persistence:
        record = ThreadRecord("mine", "How many?", Sources(specs=(TOY,), base_url=toy.url), {"road": "roles"})
        Threads(persistence.store).keep(record)
    server = model(READS)
    resumed = cli("resume", "mine")
    assert (resumed.code, resumed.out) == (0, "There are projects.\n")
    assert "How many?" in server.requests[0].text


@pytest.mark.slow
def test_ctrl_c_leaves_a_thread_that_goes_on(cli: Cli, toy: WorldServer, model: Model) -> None:
    server = model({})
    asked, noticed = Event(), Event()

    def slow(request: Any) -> Any:
        if request.role == "selector":
            asked.set()
            noticed.wait(PATIENCE_S)
        return READS[request.role][-1] if request.role != "planner" else next(planner)

    planner = iter([*READS["planner"]])
    server.use(slow)
    started = cli.start("ask", "How many?", *by_calls(toy), "--thread", "mine")
    assert asked.wait(PATIENCE_S)
    started.send_signal(signal.SIGINT)
    assert started.stdout is not None
    assert started.stderr is not None
    err = "".join(lines_until("Stopping after", started.stderr))
    noticed.set()
    out, err = started.stdout.read(), err + started.stderr.read()
    assert (started.wait(), out) == (130, ""), err
    assert "Stopping after" in err
    assert "restgpt resume mine" in err
    assert "Traceback" not in err
    assert cli("threads").out.split()[:2] == ["mine", "stopped"]
    resumed = cli("resume", "mine")
    assert (resumed.code, resumed.out) == (0, "There are projects.\n")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_after_its_request_and_what_was_sent_is_kept(
    cli: Cli, toy: WorldServer, write: Callable[..., ChatServer], number: signal.Signals
) -> None:
    write(program("for name in ('Moss', 'Fern'):\n    print(create_project(body={'name': name})['name'])"))
    toy.world.faults.replace([Fault(kind=FaultKind.SLOW, seconds=2)])
    started = cli.start("ask", "Add Moss and Fern", *at(toy), "--thread", "mine", "--writes", "allow")
    while not sent(toy.world):
        assert started.poll() is None
        time.sleep(0.02)
    started.send_signal(number)
    out, err = started.communicate()
    assert (started.wait(), out) == (130, ""), err
    assert "Stopped. Resume with: restgpt resume mine" in err
    assert "Traceback" not in err
    assert sent(toy.world) == ["POST /projects"]
    assert cli("threads").out.split()[:2] == ["mine", "stopped"]
    assert cli("resume", "mine").out == "Moss\nFern\n"
    assert sent(toy.world) == ["POST /projects"] * 2


def test_a_thread_in_use_is_refused(cli: Cli, toy: WorldServer, model: Model) -> None:
    model(READS)
    with open_persistence(Settings(home=cli.home)) as persistence, persistence.lock("mine"):
        ran = cli("ask", "How many?", *by_calls(toy), "--thread", "mine")
    assert ran.code == 2
    assert "in use by another process" in ran.err


def test_a_terminal_says_at_once_what_is_read_and_takes_it_back(cli: Cli, toy: WorldServer, model: Model) -> None:
    _, said = cli.on_a_terminal("ask", "Create Moss", *at(toy), "--model", "nobody:x", prompt="[y/N]", answer="")
    assert said.index("reading the document of ") < said.rindex("\x1b[2K") < said.index("nobody")
    assert said.index("\x1b[?25l") < said.index("\x1b[?25h"), "the cursor is shown again"
    assert "reading" not in cli("ask", "Create Moss", *at(toy), "--model", "nobody:x").err


def test_threads_lists_and_shows(cli: Cli, toy: WorldServer, model: Model) -> None:
    assert cli("threads").out == "There are no threads.\n"
    model(READS)
    cli("ask", "How many projects\nare there?", *by_calls(toy), "--thread", "first")
    listed = cli("threads", "--json").document["threads"]
    assert [(item["thread"], item["status"]) for item in listed] == [("first", "done")]
    assert "How many projects are there?" in cli("threads").out
    shown = cli("threads", "first").out
    assert "list_projects" in shown
    assert "There are projects." in shown
    assert cli("threads", "second").code == 2


def test_nothing_secret_is_kept(cli: Cli, moss: ChatServer) -> None:
    cli("resume", "moss", "--approve")
    kept = b"".join(path.read_bytes() for path in cli.home.rglob("*") if path.is_file())
    assert b"Moss" in kept
    assert CREDENTIAL.encode() not in kept


def test_without_a_model_the_three_ways_to_get_one_are_told(cli: Cli, toy: WorldServer) -> None:
    ran = cli("ask", "How many?", *by_calls(toy))
    assert ran.code == 2
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RESTGPT_MODEL"):
        assert variable in ran.err
    assert ran.out == ""
    assert cli("threads").out == "There are no threads.\n"


def test_an_unreachable_api_ends_the_run_with_the_thread_kept(cli: Cli, model: Model) -> None:
    model(READS)
    with held_port() as port:
        options = ["--base-url", f"http://127.0.0.1:{port}", "--thread", "mine", *CALLS]
        ran = cli("ask", "How many?", "--spec", TOY, *options)
    assert ran.code == 1
    assert f"127.0.0.1:{port}" in ran.err
    assert "restgpt resume mine" in ran.err


def test_apis_yaml_names_an_api(cli: Cli, toy: WorldServer, model: Model, tmp_path: Path) -> None:
    entry = {"board": {"spec": TOY, "base_url": toy.url}}
    (tmp_path / "apis.yaml").write_text(json.dumps(entry))
    model(READS)
    assert cli("ask", "How many?", "--api", "board", *CALLS).code == 0
    model(READS)
    assert cli("ask", "How many?", *CALLS).code == 0
    assert sent(toy.world) == ["GET /projects"] * 2


def lines_until(words: str, lines: Iterable[str]) -> Iterator[str]:
    """Read lines up to the first that contains the words."""
    for line in lines:
        yield line
        if words in line:
            return


def wait_for(condition: Callable[[], bool]) -> None:
    end_of_patience = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_of_patience, "it never came"
        time.sleep(0.02)

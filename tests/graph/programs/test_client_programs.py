"""Guards programs of clients: they run without a model, and their calls pass approval, journal and budget."""

import re
from typing import Any

import pytest
import yaml
from board import TOY, Board
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pair import Pair
from paths import api_of

from restgpt.calling.origin.flow import api_record
from restgpt.graph.single import build_program
from restgpt.nodes.dialogue.conversation import TOLD_APIS
from restgpt.nodes.run.services import Services
from restgpt.outcome import Ran
from restgpt.specs import load_api
from restgpt.specs.problem import UnknownOperationError
from restgpt.tools.errors import UnfinishedProgramError
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.settings import ApiEntry, PolicyRule, Settings

CONFIG: Any = {"configurable": {"thread_id": "thread"}}
ADD = "made = create_task(project_id=1, body={'title': 'Buy soil'})\n"


class Runner:
    """Runs programs in one thread."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.graph = build_program(*args, checkpointer=InMemorySaver(), store=InMemoryStore(), **options)
        self.pauses: list[dict[str, Any]] = []

    def run(self, code: str, **given: Any) -> Ran | None:
        return self._after(self.graph.invoke({"code": code, **given}, CONFIG))

    def decide(self, *kinds: str) -> Ran | None:
        return self._after(self.graph.invoke(Command(resume={"decisions": [{"type": kind} for kind in kinds]}), CONFIG))

    def _after(self, result: Any) -> Ran | None:
        self.pauses = [action for pause in result.get("__interrupt__", ()) for action in pause.value["action_requests"]]
        return Ran.of(self.graph.get_state(CONFIG).values)


def told(end: Ran | None) -> Ran:
    assert end is not None
    return end


def test_a_program_of_reads_gives_its_report_and_the_calls_that_it_made(board: Board) -> None:
    end = told(Runner([board.api]).run("print(sorted(p['name'] for p in rows(list_projects()))[0])"))
    assert (end.end, end.text) == ("report", "Bridge survey")
    assert [call.operation for call in end.calls] == ["list_projects"]
    assert board.calls() == ["GET /projects 200"]


def test_an_unknown_function_is_an_error_with_the_nearest_names_and_nothing_is_sent(board: Board) -> None:
    end = told(Runner([board.api]).run(f"{ADD}print(list_project())"))
    assert end.end == "failed"
    assert "Line 2: there is no function list_project; nearest: 'list_projects'" in end.text
    assert board.calls() == []


@pytest.mark.slow
def test_the_nearest_name_is_found_in_an_api_with_thousands_of_operations() -> None:
    paths = {f"/things{number}": {"get": {"operationId": f"get_thing_{number}"}} for number in range(3000)}
    api = api_of({**paths, "/zebras": {"get": {"operationId": "list_zebras"}}}, base_url="http://[::1]")
    assert "nearest: 'list_zebras'" in told(Runner([api]).run("print(list_all_zebras())")).text


def test_a_wrong_field_and_a_wrong_argument_are_found_before_the_first_request(board: Board) -> None:
    end = told(Runner([board.api]).run(f"{ADD}print(made['titel'])\nget_task(task=1)"))
    assert "Line 2: create_task(...) has no field 'titel'; nearest: 'title'" in end.text
    assert "Line 3: get_task() has no argument 'task'; nearest: 'task_id'" in end.text
    assert board.calls() == []


def test_a_change_waits_for_a_person_and_the_program_goes_on_with_its_answer(board: Board) -> None:
    runner = Runner([board.api])
    assert runner.run(f"{ADD}print(made['title'])") is None
    assert "POST" in runner.pauses[0]["description"]
    assert board.calls() == []
    assert told(runner.decide("approve")).text == "Buy soil"
    assert board.calls() == ["POST /projects/{project_id}/tasks 201"]


def test_a_refused_change_ends_the_program_with_the_line(board: Board) -> None:
    runner = Runner([board.api])
    runner.run(f"{ADD}print(made['title'])")
    end = told(runner.decide("reject"))
    assert end.end == "rejected"
    assert "line 1" in end.text
    assert board.calls() == []


def test_a_failed_program_tells_the_line_the_output_and_the_shapes(board: Board) -> None:
    end = told(Runner([board.api]).run("found = rows(list_projects())\nprint(len(found))\nprint(found[9])"))
    assert end.end == "failed"
    for part in ("line 3", "IndexError", "Output before that:\n4", "list_projects (status 200): {items: [4 ×"):
        assert part in end.text


def test_a_long_output_does_not_cut_off_the_shapes(board: Board) -> None:
    end = told(Runner([board.api]).run("found = list_projects()\nprint('x' * 50_000)\nprint(found['items'][9])"))
    assert "line 3" in end.text
    assert "list_projects (status 200): {items: [4 ×" in end.text


def test_a_corrected_program_does_not_repeat_the_changes_that_succeeded(board: Board) -> None:
    runner = Runner([board.api], context={"writes": "allow"})
    assert told(runner.run(f"{ADD}raise ValueError('too early')")).end == "failed"
    assert told(runner.run(f"{ADD}print(made['title'])")).text == "Buy soil"
    assert board.calls() == ["POST /projects/{project_id}/tasks 201"]


def test_a_program_after_a_report_makes_its_changes_anew(board: Board) -> None:
    runner = Runner([board.api], context={"writes": "allow"})
    assert told(runner.run(f"{ADD}print(1)")).ok
    assert told(runner.run(f"{ADD}print(2)")).ok
    assert len(board.calls()) == 2


def test_no_other_program_runs_while_one_waits_for_a_person(board: Board) -> None:
    runner = Runner([board.api])
    runner.run(ADD)
    with pytest.raises(UnfinishedProgramError, match="has not ended"):
        runner.run("print(1)")
    assert board.calls() == []


def test_a_program_may_be_limited_to_some_operations(board: Board) -> None:
    runner = Runner([board.api])
    code = "print(len(rows(list_projects())))"
    assert "there is no function list_projects" in told(runner.run(code, operations=["get_task"])).text
    assert told(runner.run(code, operations=["GET /projects"])).text == "4"
    with pytest.raises(UnknownOperationError, match="list_projects"):
        runner.run(code, operations=["list_project"])


def test_an_id_of_the_code_is_sent_but_is_not_the_users_word(board: Board) -> None:
    runner = Runner([board.api])
    runner.run("delete_task(task_id=101)")
    assert [item["origin"] for item in runner.pauses[0]["provenance"]] == ["model"]
    rule = PolicyRule(None, methods=("DELETE",), from_user=("path.*",))
    settings = Settings(apis={board.api.name: ApiEntry(name=board.api.name, spec="board.yaml", policy=(rule,))})
    made = Services([board.entry()], settings=settings, http=HttpClient(settings=settings))
    runner = Runner(services=made.with_defaults(writes="allow"))
    assert told(runner.run("delete_task(task_id=101)\nprint('Deleted.')")).end == "rejected"
    assert not any(call.startswith("DELETE") for call in board.calls())


def test_a_value_that_one_api_answered_goes_to_another_only_after_a_question(pair: Pair) -> None:
    made = Services([pair.crm, pair.collector], settings=pair.settings())
    runner = Runner(services=made)
    assert runner.run("find_items(q=get_customer(customer=7)['account'])") is None
    assert runner.pauses
    assert pair.log == []


def test_a_literal_may_hold_what_the_writer_had_seen_of_another_api(pair: Pair) -> None:
    made = Services([pair.crm, pair.collector], settings=pair.settings())
    crm = api_record(pair.crm)
    seen = AIMessage("", response_metadata={TOLD_APIS: {crm["id"]: crm["name"]}})
    assert Runner(services=made).run("find_items(q='thing')") is not None
    runner = Runner(services=made)
    assert runner.run("find_items(q='thing')", messages=[seen]) is None
    assert runner.pauses


def test_a_dry_run_reports_what_it_would_send(board: Board) -> None:
    end = told(Runner([board.api], context={"writes": "dry-run"}).run(f"{ADD}print(made['title'])"))
    assert "nothing was changed" in end.text
    assert board.calls() == []


def test_each_program_has_the_whole_budget_of_requests(board: Board) -> None:
    runner = Runner([board.api], context={"max_requests": 2})
    loop = "for number in (1, 2, 3):\n    get_project(project_id=number)\nprint('all')"
    assert told(runner.run(loop)).end == "budget"
    assert told(runner.run(loop.replace("1, 2, 3", "1, 2"))).text == "all"


def test_a_program_may_call_functions_by_their_operation_ids(board: Board) -> None:
    document = yaml.safe_load(TOY.read_bytes())
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if isinstance(operation, dict) and "operationId" in operation:
                operation["operationId"] += re.sub(r"\W", "_", path) + f"_{method}"
    api = load_api(document, base_url=board.server.url, auth=board.api.auth)
    runner = Runner([api])
    for name in ("list_projects", "list_projects_projects_get"):
        code = f"print(len(rows({name}())))"
        for limit in (None, ["list_projects"], ["list_projects_projects_get"]):
            assert told(runner.run(code, operations=limit)).text == "4"
        assert f"there is no function {name}" in told(runner.run(code, operations=["get_task"])).text

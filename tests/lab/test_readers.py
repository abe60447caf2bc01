"""Guards the ten tasks on Box and Harbor: their worlds, and what counts as done."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
from oddserver import odd_server, refusal

from lab.readers import box, harbor
from lab.readers.__main__ import main
from lab.readers.run import replay, tasks
from lab.readers.server import served
from lab.readers.task import MissingDocumentError, Suite, Task
from restgpt import load_api

OURS = tasks(("box", "harbor"))
NAMED = pytest.mark.parametrize(("suite", "task"), [pytest.param(*one, id=one[1].key) for one in OURS])


def send(method: str, address: str, **given: Any) -> requests.Response:
    return requests.request(method, address, timeout=30, **given)


get = partial(send, "GET")


@NAMED
def test_the_right_calls_of_a_task_pass_and_doing_nothing_fails(suite: Suite, task: Task, data_folder: Path) -> None:
    load_api(suite.document(), base_url="http://127.0.0.1:1", name=suite.name)
    assert replay(suite, task) == []
    assert replay(suite, task, lambda url: "") != []


@NAMED
def test_the_right_changes_with_one_more_fail(suite: Suite, task: Task) -> None:
    path, body = ("/folders/3005", {"name": "X"}) if suite.name == "box" else ("/labels/60", {"name": "x"})

    def act(url: str) -> str:
        send("PUT", url + path, json=body).raise_for_status()
        return task.gold(url)

    (fault,) = replay(suite, task, act)
    assert fault.startswith("beyond the task")


def test_there_are_two_reads_and_three_changes_for_each_api_and_three_surprises() -> None:
    for name in ("box", "harbor"):
        assert [task.changes for suite, task in OURS if suite.name == name].count(True) == 3
    assert [task.key for _, task in OURS if task.surprise] == ["due", "review", "robot"]


def test_a_world_logs_what_it_was_asked_and_is_reset() -> None:
    world = box.world()
    with served(world) as url:
        made = send("POST", f"{url}/folders?fields=id", json={"name": "New", "parent": {"id": "0"}})
        assert (made.status_code, made.json()["id"]) == (201, str(box.NEW))
        assert send("POST", f"{url}/folders", json={"name": "new", "parent": {"id": "0"}}).status_code == 409
        assert send("DELETE", f"{url}/folders/{box.NEW}").status_code == 204
        assert world.changes() == []
        assert send("DELETE", f"{url}/folders/3001").status_code == 204
    assert [change.key for change in world.changes()] == ["3001"]
    first = {"method": "POST", "path": "/2.0/folders", "query": {"fields": "id"}, "status": 201}
    assert world.log[0] == first | {"body": {"name": "New", "parent": {"id": "0"}}}
    assert [entry["status"] for entry in world.log] == [201, 409, 204, 204]
    world.reset()
    assert (world.changes(), world.log, world.next_id) == ([], [], box.NEW)


@pytest.mark.parametrize(
    ("world", "path", "status", "message"),
    [
        (box.world(), "/files/1", 404, "file 1 not found"),
        (box.world(), "/nowhere", 404, "/2.0/nowhere not found"),
        (box.world(), "/task_assignments", 405, "method not allowed"),
        (harbor.world(), "/projects/none", 404, "project none not found"),
        (harbor.world(), "/robots?q=Level=project", 400, "must with project ID when to query project robots"),
        (harbor.world(), "/labels", 400, "invalid scope: "),
        (harbor.world(), "/projects?page_size=101", 422, "page_size in query should be less than or equal to 100"),
    ],
)
def test_what_is_refused_has_the_error_form_of_the_api(world: Any, path: str, status: int, message: str) -> None:
    with served(world) as url:
        answer = get(url + path)
    told = answer.json()
    fault = (told["context_info"]["errors"] if "type" in told else told["errors"])[0]
    assert (answer.status_code, fault["message"]) == (status, message)


def test_box_shows_short_forms_pages_and_dates_as_numbers() -> None:
    with served(box.world()) as url:
        page = get(f"{url}/folders/3101/items", params={"offset": 100}).json()
        assert (page["total_count"], len(page["entries"]), "size" in page["entries"][0]) == (134, 34, False)
        sized = get(f"{url}/folders/3101/items", params={"fields": "size", "limit": 5}).json()
        assert [sorted(one) for one in sized["entries"][3:]] == [
            ["etag", "id", "name", "sequence_id", "size", "type"]
        ] * 2
        marked = get(f"{url}/folders/3101/items?usemarker=true&marker=100").json()
        assert (len(marked["entries"]), marked["next_marker"]) == (34, None)
        largest = get(f"{url}/folders/3101/items?sort=size&direction=DESC&limit=5").json()["entries"]
        assert [one["type"] for one in largest] == ["folder"] * 3 + ["file"] * 2
        assert [one["id"] for one in (largest[0], *largest[3:])] == ["3111", "6121", "6118"]
        task = get(f"{url}/tasks/7001").json()
        assert task["due_at"] == 1_775_833_200_000
        found = get(f"{url}/search", params={"query": '"lease draft v3"'}).json()
        assert [one["id"] for one in found["entries"]] == ["5002"]
        refused = send("POST", f"{url}/tasks", json={"item": {"type": "file", "id": "5001"}})
        assert (refused.status_code, "'completion_rule' is required" in refused.text) == (400, True)


def test_harbor_pages_filters_and_encodes_as_documented() -> None:
    with served(harbor.world()) as url:
        page = get(f"{url}/projects/mirror/repositories?page=2&q=name=~alpine")
        assert (len(page.json()), page.headers["X-Total-Count"]) == (3, "13")
        assert page.headers["Link"].endswith('?page=1&page_size=10>; rel="prev"')
        most = get(f"{url}/projects/2/repositories?sort=-pull_count&page_size=1").json()
        assert most[0]["pull_count"] > 5000
        below = f"{url}/projects/atlas/repositories/payments"
        assert get(f"{below}%2Fgateway").status_code == 404
        assert get(f"{below}%252Fgateway").json()["name"] == "atlas/payments/gateway"
        (*_, bare) = get(f"{below}%252Fgateway/artifacts").json()
        assert (bare["tags"], bare["labels"]) == (None, None)
        made = send("POST", f"{url}/projects", json={"project_name": "new"})
        assert (made.status_code, made.text, made.headers["Location"]) == (201, "", "/api/v2.0/projects/9001")
        robots = [one["name"] for one in get(f"{url}/robots").json()]
        assert robots == ["robot$deployer", "robot$backup"]


def test_a_robot_is_updated_as_a_whole_and_by_its_own_name() -> None:
    with served(harbor.world()) as url:
        robot = get(f"{url}/robots/83").json()
        for wrong in ({"disable": True}, robot | {"name": "deployer"}, robot | {"permissions": []}):
            assert send("PUT", f"{url}/robots/83", json=wrong).status_code == 400
        assert send("PUT", f"{url}/robots/83", json=robot).status_code == 200


def test_numbers_in_the_answer_may_have_separators_but_are_whole() -> None:
    ((suite, task),) = tasks(["harbor/pulls"])
    name, total = task.says
    world = suite.world()
    assert task.faults(world, f"{name}, {int(total):,} pulls") == []
    assert task.faults(world, f"{name}, 1{total} pulls") == [f"the answer lacks {total!r}"]


def test_the_command_checks_tasks_and_names_what_there_is_not(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--task", "box/audit"]) == 0
    assert capsys.readouterr().out == "box/audit: passes\n"
    assert main(["check", "--task", "box/none"]) == 2
    assert "There is no task box/none" in capsys.readouterr().err
    monkeypatch.delenv("RESTGPT_DATA")
    with pytest.raises(MissingDocumentError, match=r"openapi/box_openapi\.json"):
        box.BOX.document()


def test_a_run_writes_a_line_for_a_task_though_the_model_fails(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results.jsonl"
    with odd_server(lambda body: refusal(400, "no model")) as (url, bodies):
        assert main(["run", "--base-url", url, "--task", "harbor/robot", "--out", str(out)]) == 0
    (found,) = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert (found["task"], found["right"], found["log"]) == ("harbor/robot", False, [])
    assert "no model" in found["error"] + found["answer"]
    assert len(bodies) >= 1
    assert "0 of 1 right." in capsys.readouterr().out

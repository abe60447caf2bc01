"""Guards changes across several servers on one database, and the rig that measures them."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from chatserver import ChatServer
from pagescript import CREATE, PageScript

from lab.kills.instances import PACKAGES, Instance
from lab.kills.lots import CHANGES, lot, lot_of_change, lot_of_prompt
from lab.kills.postgres import NoPostgresError, postgres_server
from lab.kills.scale import Change, Plan, arrivals, judge, scale
from lab.kit.port import held_port
from lab.kit.process import MissingServerError
from lab.kit.tally import Tally
from restgpt.server.app import STUDIO
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import CREDENTIAL, World, open_world
from restgpt_bench.worlds.server import serve

ROOT = Path(__file__).parents[3]
COMPOSE = ROOT / "docs" / "examples" / "scale" / "compose.yaml"


@pytest.mark.slow
def test_runs_on_two_servers_of_which_one_is_killed_and_one_stopped_lose_and_double_no_change() -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL's packages are not installed")
    try:
        tally = scale(Plan(runs=30, instances=2, clients=4, stop_for=5.0, patience=10.0))
    except (NoPostgresError, MissingServerError) as error:
        pytest.skip(str(error))
    assert tally.wrong == []
    assert tally["doubled after a question"] == 0
    assert tally["kills"] >= 1
    assert tally["stops"] >= 1


@pytest.fixture(scope="module")
def aegra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, World[Any]]]:
    """A running aegra with the configuration of the repository: its address, and the world of its API."""
    pytest.importorskip("psycopg", reason="PostgreSQL's packages are not installed")
    if not (PACKAGES / "aegra_api").exists():
        pytest.skip("Aegra is not installed. Install it with: make aegra")
    folder = tmp_path_factory.mktemp("aegra")
    script = PageScript()
    script.gate.set()
    with ExitStack() as stack:
        try:
            database = stack.enter_context(postgres_server())
        except NoPostgresError as error:
            pytest.skip(str(error))
        world = stack.enter_context(serve(open_world("toy")))
        chat = stack.enter_context(ChatServer(script))
        entry = {"spec": str(bundled_document("toy")), "base_url": world.url, "auth": {"key": CREDENTIAL}}
        (folder / "apis.yaml").write_text(json.dumps({"board": entry}), encoding="utf-8")
        given = {"DATABASE_URL": database, "PYTHONPATH": str(PACKAGES), "AEGRA_CONFIG": str(ROOT / "aegra.json")}
        used = {"OPENAI_BASE_URL": chat.url, "RESTGPT_MODEL": "openai:scripted"}
        kept = {"RESTGPT_APIS": str(folder / "apis.yaml"), "RESTGPT_HOME": str(folder / "home")}
        environment = {**os.environ, **given, **used, **kept, "ENV_MODE": "PRODUCTION"}
        instance = Instance(ROOT, stack.enter_context(held_port()), environment)
        instance.log = folder / "aegra.log"
        stack.callback(instance.end)
        instance.start()
        instance.wait()
        yield instance.url, world.world


@pytest.mark.slow
def test_aegra_refuses_foreign_pages_and_serves_studio_and_programs(aegra: tuple[str, World[Any]]) -> None:
    url, _ = aegra

    def search(headers: dict[str, str]) -> requests.Response:
        return requests.post(f"{url}/assistants/search", data="{}", headers=headers, timeout=60)

    text, evil = {"Content-Type": "text/plain"}, {"Origin": "http://evil.example"}
    for headers in (evil, evil | text, text, {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        refused = search(headers)
        assert (headers, refused.status_code, list(refused.json())) == (headers, 403, ["detail"])
        assert "Access-Control-Allow-Origin" not in refused.headers
    assert search({"Content-Type": "application/json"}).status_code == 200
    studio = search(text | {"Origin": STUDIO, "Sec-Fetch-Site": "cross-site"})
    assert (studio.status_code, studio.headers["Access-Control-Allow-Origin"]) == (200, STUDIO)


@pytest.mark.slow
def test_aegra_streams_and_resumes_as_the_page_does_and_lacks_what_its_docs_name(
    aegra: tuple[str, World[Any]],
) -> None:
    url, world = aegra

    def send(method: str, path: str, body: Any = None) -> requests.Response:
        return requests.request(method, url + path, json=body, timeout=60)

    def followed(path: str) -> set[str]:
        lines = requests.get(f"{url}{path}/stream", headers={"Last-Event-ID": "-1"}, timeout=60).text.splitlines()
        return {line.removeprefix("event: ") for line in lines if line.startswith("event: ")}

    asked = {"messages": [{"type": "human", "content": CREATE}]}
    run = {"assistant_id": "restgpt", "stream_mode": ["custom", "messages-tuple", "values"]}
    thread = send("POST", "/threads", {"metadata": {"graph_id": "restgpt"}}).json()["thread_id"]
    begun = send("POST", f"/threads/{thread}/runs", {**run, "input": asked}).json()["run_id"]
    assert {"custom", "values"} <= followed(f"/threads/{thread}/runs/{begun}")
    state = send("GET", f"/threads/{thread}/state").json()
    [question] = state["tasks"][0]["interrupts"]
    answers = {"resume": {question["id"]: {"decisions": [{"type": "approve"}]}}}
    resumed = send("POST", f"/threads/{thread}/runs", {**run, "command": answers}).json()["run_id"]
    assert send("GET", f"/threads/{thread}/runs/{resumed}/join").json()["answer"] == "It is created."
    assert [entry.method for entry in world.log if entry.method != "GET"] == ["POST"]

    # What docs/servers.md says that the page would need, so that it is not served there.
    assert send("GET", "/debug").status_code == 404
    [listed] = send("POST", "/threads/search", {"select": ["interrupts"], "metadata": {"graph_id": "restgpt"}}).json()
    assert "interrupts" not in listed
    checkpoint = {"configurable": {"checkpoint_id": state["checkpoint"]["checkpoint_id"]}}
    assert send("POST", f"/threads/{thread}/history", {"before": checkpoint}).status_code == 422
    assert send("POST", f"/threads/{thread}/runs", {**run, "input": None}).status_code == 422
    assert send("GET", "/assistants/restgpt/graph").status_code == 404


def test_the_judge_tells_lost_changes_from_doubled_ones_and_from_those_a_person_repeated() -> None:
    made = Counter({Change(0, "POST"): 1, Change(0, "PATCH"): 2, Change(1, "POST"): 2})
    judge(2, made, Counter({Change(1, "POST"): 1}), tally := Tally())
    assert tally.wrong == ["lost: PATCH of lot 1", "doubled: PATCH of lot 0"]
    assert tally["doubled after a question"] == 1


def test_a_change_that_arrives_twice_is_counted_twice() -> None:
    world = open_world("toy")
    for _ in range(2):
        world.call("POST /projects/{project_id}/tasks", path={"project_id": 1}, body={"title": "Task of lot 7"})
    world.call("POST /projects/{project_id}/tasks", path={"project_id": 1}, body={"title": "Buy soil"})
    assert arrivals(world) == Counter({Change(7, "POST"): 2})


def test_a_lot_is_found_by_the_prompt_and_by_its_changes() -> None:
    assert lot_of_prompt(f"A rule. {lot(3).instruction}\n{lot(12).instruction}") == lot(12)
    assert lot_of_change({"notes": "Note of lot 12"}) == 12
    assert lot_of_change({"notes": "Note of the lot"}) is None
    assert lot(12).changes == CHANGES
    with pytest.raises(LookupError):
        lot_of_prompt("Set up something.")


def test_aegra_serves_every_graph_of_the_langgraph_server() -> None:
    graphs = {
        name: json.loads((ROOT / name).read_text(encoding="utf-8"))["graphs"]
        for name in ("aegra.json", "langgraph.json")
    }
    assert graphs["aegra.json"].keys() == graphs["langgraph.json"].keys()


@pytest.mark.parametrize("path", sorted(set(json.loads((ROOT / "aegra.json").read_text())["graphs"].values())))
def test_aegra_can_load_each_graph_from_its_file(path: str) -> None:
    # Aegra runs the file by itself, and calls what is callable as a factory without arguments.
    file, _, name = path.partition(":")
    module = _loaded(ROOT / file)
    graph = getattr(module, name)
    assert not callable(graph)
    assert graph.copy(update={"checkpointer": None, "store": None}).nodes.keys() == graph.nodes.keys()


def _loaded(file: Path) -> object:
    import importlib.util

    spec = importlib.util.spec_from_file_location(f"graphs.{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_compose_file_starts_a_database_several_servers_and_a_balancer() -> None:
    compose = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    services = compose["services"]
    assert services.keys() == {"database", "migration", "server", "balancer"}
    assert services["server"]["deploy"]["replicas"] == 3
    assert services["server"]["depends_on"]["migration"]["condition"] == "service_completed_successfully"
    assert services["server"]["environment"]["DATABASE_URL"].startswith("postgresql://")
    assert services["balancer"]["ports"] == ["127.0.0.1:8000:8000"]
    used = {config["source"] for config in services["balancer"]["configs"]}
    assert used <= compose["configs"].keys()
    assert f"server {'server'}:8000;" in compose["configs"]["balancer"]["content"]
    build = services["server"]["build"]
    context = (COMPOSE.parent / build["context"]).resolve()
    assert context == ROOT
    for name in ("constraints.txt", "lab/kills/aegra.txt", "aegra.json"):
        assert (context / name).exists()

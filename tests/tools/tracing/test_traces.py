"""Guards traces: each run is one tree of spans, described by the conventions, and no span holds a secret or content."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from plantrecipe import plant_recipe

from restgpt.graph.build import build_graph
from restgpt.graph.recipe_graph import build_recipe
from restgpt.tools.graphs import ServedGraph
from restgpt.tools.settings.environment import CAPTURE, captures_content
from restgpt.tools.text.redaction import Redactor
from restgpt.tools.tracing.span import NO_SPAN, span
from restgpt.tools.tracing.telemetry import observed, set_content
from restgpt_bench.worlds import CREDENTIAL

ROOT = Path(__file__).parents[3]
WORD = "Chestnut"
ONE_TRACE = (
    *("invoke", "ainvoke", "program", "failing_program", "recipe_run", "undo", "given_program", "functions"),
    *("failing_model", "failing_node", "unreachable_api", "missing_object", "stopped_stream", "cancelled_run"),
    *("nested", "openai"),
)
Spans = list[dict[str, Any]]


def traced(*scenarios: str, **environment: str) -> dict[str, Spans]:
    """Return the exported spans by scenario; fails if OpenTelemetry reported anything."""
    script = str(ROOT / "tests" / "support" / "traced.py")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    environment = {**kept, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, script, *scenarios]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "detach" not in done.stderr
    found: dict[str, Spans] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def spans() -> dict[str, Spans]:
    return traced()


def traces(spans: Spans) -> set[str]:
    return {one["trace"] for one in spans}


def root(spans: Spans) -> dict[str, Any]:
    [found] = [one for one in spans if not one["parent"]]
    return found


def parent(spans: Spans, child: dict[str, Any]) -> dict[str, Any]:
    [found] = [one for one in spans if one["id"] == child["parent"]]
    return found


def named(spans: Spans, start: str) -> Spans:
    return [one for one in spans if one["name"].startswith(start)]


def names(spans: Spans, ignored: Sequence[str] = ()) -> list[str]:
    return sorted(one["name"] for one in spans if one["name"] not in ignored)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ONE_TRACE)
def test_each_run_is_one_tree(spans: dict[str, Spans], scenario: str) -> None:
    found = spans[scenario]
    assert len(traces(found)) == 1
    ids = {one["id"] for one in found}
    assert [one["name"] for one in found if one["parent"] and one["parent"] not in ids] == []
    assert root(found)["name"].startswith("host" if scenario == "nested" else "invoke_")


@pytest.mark.slow
def test_every_way_to_run_a_graph_gives_the_same_spans(spans: dict[str, Spans]) -> None:
    wanted = names(spans["invoke"])
    assert wanted.count("chat") == 4
    for way in ("ainvoke", "stream", "astream", "astream_events", "nested"):
        assert names(spans[way], ignored=("consumer", "host")) == wanted, way


@pytest.mark.slow
@pytest.mark.parametrize("way", ["stream", "astream"])
def test_the_code_of_a_consumer_between_two_parts_is_not_within_the_run(spans: dict[str, Spans], way: str) -> None:
    consumers = named(spans[way], "consumer")
    run = [one for one in spans[way] if one not in consumers]
    assert len(consumers) >= 1
    assert not traces(consumers) & traces(run)
    assert len(traces(run)) == 1


@pytest.mark.slow
def test_runs_in_a_batch_are_a_trace_each(spans: dict[str, Spans]) -> None:
    for trace in traces(spans["batch"]):
        own = [one for one in spans["batch"] if one["trace"] == trace]
        conversations = {one["attributes"].get("gen_ai.conversation.id") for one in own} - {None}
        assert len(conversations) == 1
        assert names(own) == names(spans["program"])
    assert len(traces(spans["batch"])) == 2


@pytest.mark.slow
def test_a_model_call_has_the_attributes_of_the_conventions(spans: dict[str, Spans]) -> None:
    [call] = named(spans["openai"], "chat")
    assert (call["name"], call["kind"]) == ("chat gpt-4.1-mini", "CLIENT")
    assert parent(spans["openai"], call)["name"] == "restgpt.planner"
    assert call["attributes"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4.1-mini",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 8192,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.id": "chatcmpl-scripted",
        "gen_ai.response.model": "gpt-4.1-mini",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
    }


@pytest.mark.slow
def test_a_run_a_node_a_call_and_a_request_have_the_attributes_of_the_conventions(spans: dict[str, Spans]) -> None:
    found = spans["invoke"]
    [request] = named(found, "POST ")
    call = parent(found, request)
    node = parent(found, call)
    run = parent(found, node)
    assert [one["kind"] for one in (request, call, node, run)] == ["CLIENT", *["INTERNAL"] * 3]
    assert request["attributes"].pop("server.port") > 0
    answered = {"http.request.method": "POST", "http.response.status_code": 201, "server.address": "127.0.0.1"}
    assert request["attributes"] == {**answered, "url.template": "/projects/{project_id}/tasks"}
    assert call["name"] == "execute_tool create_task"
    assert call["attributes"].pop("gen_ai.tool.call.id")
    tool = {"gen_ai.tool.name": "create_task", "gen_ai.tool.type": "extension"}
    assert call["attributes"] == {**tool, "gen_ai.operation.name": "execute_tool", "restgpt.outcome": "sent"}
    thread = {"gen_ai.conversation.id": "thread", "restgpt.status": "done"}
    assert node["name"] == "restgpt.parser"
    assert node["attributes"] == {**thread, "restgpt.node": "parser", "restgpt.step": 6}
    assert run["name"] == "invoke_agent RestGPT"
    agent = {"gen_ai.agent.name": "RestGPT", "gen_ai.operation.name": "invoke_agent"}
    assert run["attributes"] == {**thread, **agent, "gen_ai.provider.name": "scriptedmodel"}


@pytest.mark.slow
def test_parallel_reads_and_runs_of_a_program_are_in_the_tree(spans: dict[str, Spans]) -> None:
    found = spans["program"]
    reads = named(found, "GET /projects/{project_id}")
    assert len(reads) == 2
    assert len({parent(found, parent(found, read))["id"] for read in reads}) == 1
    runs = named(found, "execute_tool python")
    assert [one["attributes"]["restgpt.sandbox.status"] for one in runs] == ["paused", "ok"]
    assert {parent(found, one)["name"] for one in runs} == {"restgpt.parser"}
    [failed] = named(spans["failing_program"], "execute_tool python")
    assert (failed["status"], failed["attributes"]["error.type"]) == ("ERROR", "runtime_error")


@pytest.mark.slow
def test_a_run_that_is_resumed_is_another_trace_of_the_same_conversation(spans: dict[str, Spans]) -> None:
    runs = named(spans["pause"], "invoke_agent")
    assert len(traces(spans["pause"])) == 2
    assert [one["attributes"]["restgpt.status"] for one in runs] == ["paused", "done"]
    assert {one["attributes"]["gen_ai.conversation.id"] for one in runs} == {"thread"}
    assert {one["status"] for one in spans["pause"]} == {"UNSET"}


@pytest.mark.slow
def test_a_recipe_and_an_undo_are_workflows_without_model_calls(spans: dict[str, Spans]) -> None:
    run = root(spans["recipe_run"])
    assert (run["name"], run["attributes"]["gen_ai.workflow.name"]) == ("invoke_workflow add-task", "add-task")
    assert run["attributes"]["gen_ai.operation.name"] == "invoke_workflow"
    assert named(spans["recipe_run"], "chat") == []
    parsers = named(spans["recipe_run"], "restgpt.parser")
    facts = [[one["attributes"][f"restgpt.program{fact}"] for fact in ("", "_calls", "_end")] for one in parsers]
    assert facts == [[1, 1, "calls"], [1, 0, "finished"]]
    assert root(spans["undo"])["name"] == "invoke_workflow Calls"
    assert root(spans["given_program"])["name"] == "invoke_workflow Program"


@pytest.mark.slow
def test_a_call_of_a_client_is_a_trace_although_no_graph_runs(spans: dict[str, Spans]) -> None:
    assert names(spans["client"]) == ["GET /projects", "execute_tool list_projects"]
    assert root(spans["client"])["name"] == "execute_tool list_projects"


@pytest.mark.slow
def test_an_error_has_a_type_and_no_text(spans: dict[str, Spans]) -> None:
    [refused] = named(spans["failing_model"], "chat")
    assert (refused["status"], refused["attributes"]["error.type"]) == ("ERROR", "429")
    unreachable = named(spans["unreachable_api"], "POST")
    assert {one["attributes"]["error.type"] for one in unreachable} == {"restgpt.tools.errors.ConnectFault"}
    assert [one["attributes"].get("http.request.resend_count") for one in unreachable] == [None, 1]
    [missing] = named(spans["missing_object"], "GET")
    assert (missing["attributes"]["http.response.status_code"], missing["attributes"]["error.type"]) == (404, "404")
    assert parent(spans["missing_object"], missing)["attributes"]["error.type"] == "404"
    for scenario in ("failing_model", "failing_node", "unreachable_api"):
        run = root(spans[scenario])
        assert (run["status"], run["attributes"]["restgpt.status"]) == ("ERROR", "failed")
    assert {one["description"] for found in spans.values() for one in found} == {None}
    assert [one["events"] for found in spans.values() for one in found if one["events"]] == []


@pytest.mark.slow
def test_other_instrumentations_of_http_are_off_during_a_request(spans: dict[str, Spans]) -> None:
    found = spans["instrumented"]
    assert [one["name"] for one in found] == ["on", "off", "GET /projects", "on"]
    assert parent(found, found[1])["name"] == "GET /projects"


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["stopped_stream", "cancelled_run"])
def test_a_run_that_its_consumer_stops_is_no_error(spans: dict[str, Spans], scenario: str) -> None:
    run = root(spans[scenario])
    assert (run["status"], run["attributes"]["restgpt.status"]) == ("UNSET", "stopped")


@pytest.mark.slow
def test_a_stream_that_its_consumer_forgets_has_a_root_too(spans: dict[str, Spans]) -> None:
    runs = named(spans["abandoned_streams"], "invoke_agent")
    assert [run["attributes"]["restgpt.status"] for run in runs] == ["stopped", "stopped"]
    assert len(traces(spans["abandoned_streams"])) == 2


@pytest.mark.slow
def test_spans_hold_no_content_unless_it_is_asked_for(spans: dict[str, Spans]) -> None:
    assert [word for word in (WORD, CREDENTIAL, "model-key", "api_key") if word in json.dumps(spans)] == []


@pytest.mark.slow
def test_captured_content_has_the_form_of_the_conventions_and_no_secret() -> None:
    found = traced("secrets", "openai", "missing_object", **{CAPTURE: "SPAN_ONLY"})
    text = json.dumps(found)
    for secret in (CREDENTIAL, "user:pass", "another-key-5678", "model-key-1234"):
        assert secret not in text
    spans = found["secrets"]
    first = named(spans, "chat")[0]["attributes"]
    asked = json.loads(first["gen_ai.input.messages"])
    assert [message["role"] for message in asked][:1] == ["system"]
    assert WORD in asked[-1]["parts"][0]["content"]
    [said] = json.loads(first["gen_ai.output.messages"])
    assert (said["role"], said["parts"][0]["type"], said["finish_reason"]) == ("assistant", "tool_call", "tool_call")
    [call] = named(spans, "execute_tool")
    title = f"{WORD} [redacted]"
    sent = json.loads(call["attributes"]["gen_ai.tool.call.arguments"])
    assert sent == {"path": {"project_id": 1}, "body": {"title": title}}
    assert json.loads(call["attributes"]["gen_ai.tool.call.result"])["title"] == title
    assert "Nothing to do." in text


@pytest.mark.parametrize(
    ("value", "captured"),
    [
        *[("", False), ("NO_CONTENT", False), ("EVENT_ONLY", False), ("true", False)],
        *[("span_only", True), ("SPAN_ONLY", True), ("SPAN_AND_EVENT", True)],
    ],
)
def test_content_is_captured_for_the_values_that_name_spans(value: str, captured: bool) -> None:
    assert captures_content({CAPTURE: value}) is captured
    assert not captures_content({})


def test_a_graph_stays_a_workflow_when_a_server_loads_and_copies_it() -> None:
    served = ServedGraph.of(build_recipe(plant_recipe(), []))
    assert served.copy(update={"name": "copied"}).traced_as == "workflow"
    assert ServedGraph.of(build_graph([])).traced_as == "agent"


def test_without_a_provider_there_is_no_span() -> None:
    with span("name", {"a": 1}) as current:
        assert current is NO_SPAN
        current.set({"b": 2})
        current.fail("type")
        set_content(current, "c", lambda: pytest.fail("content was computed"), Redactor)
    assert not current.is_recording
    assert observed("node", lambda: 1)() == 1


def test_no_module_imports_opentelemetry_but_the_one_that_exports() -> None:
    folders = ("graph", "nodes", "restgpt", "specs", "tools")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if ".venv" not in path.parts]
    importing = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if re.search(r"^\s*(from|import) opentelemetry", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {path.removeprefix("restgpt/") for path in importing} <= {"tools/tracing/telemetry.py"}


@pytest.mark.slow
def test_the_page_lists_every_attribute_that_a_span_has(spans: dict[str, Spans]) -> None:
    page = (ROOT / "docs" / "streaming.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([a-z_.]+)`", page[page.index("| attribute |") : page.index("## Content")]))
    short = {name for name in listed if name.startswith(".")}
    found = {name for group in spans.values() for one in group for name in one["attributes"]}
    assert {name for name in found if name not in listed and not any(name.endswith(end) for end in short)} == set()

"""Guards `langgraph dev`: the real server in a child process, the toy API and a scripted model on loopback."""

import json
import runpy
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import requests
from boardscript import ABLE, FIND_PERSON, READ, TALK, WRITE, board_script
from chatserver import ChatServer
from javascriptrun import PACKAGES, install, run_javascript
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk.errors import BadRequestError, PermissionDeniedError
from langgraphserver import APPROVE, PATIENCE_S, ROOT, Platform, running_server

from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve

pytestmark = pytest.mark.slow


def test_studio_finds_the_assistant_with_its_schemas_and_described_settings(platform: Platform) -> None:
    assert "REST APIs" in platform.served()["restgpt"]
    schemas = platform.schemas()
    assert set(schemas["input_schema"]["properties"]) == {"messages", "instruction", "recipe"}
    assert set(schemas["output_schema"]["properties"]) == {"messages", "answer", "usage"}
    settings = schemas["context_schema"]["properties"]
    assert settings["writes"]["enum"] == ["ask", "allow", "deny", "dry-run"]
    assert settings["model"]["langgraph_nodes"] == ["planner", "selector", "caller", "parser"]
    assert [name for name, setting in settings.items() if not setting.get("description")] == []


def test_every_graph_of_langgraph_json_is_served_with_its_description(platform: Platform) -> None:
    graphs = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
    assert platform.served() == {name: graph["description"] for name, graph in graphs.items()}
    assert graphs.keys() == {"restgpt", "openfunctions", "undo"}


def test_the_schema_offers_the_apis_that_are_configured_at_that_time(platform: Platform) -> None:
    def offered() -> Any:
        return platform.schemas()["context_schema"]["properties"]["apis"]

    assert offered()["items"]["enum"] == ["board"]
    assert offered()["description"].endswith("The configured APIs are: board.")
    file = platform.log.parent / "apis.yaml"
    before = file.read_text()
    try:
        file.write_text(before + "garden: {spec: garden.yaml}\n")
        assert offered()["items"]["enum"] == ["board", "garden"]
        file.write_text("board: [")
        assert offered()["items"] == {"type": "string"}
    finally:
        file.write_text(before)
    context = platform.schemas("openfunctions")["context_schema"]
    assert "apis" not in context["properties"]


def test_function_calls_are_written_and_not_executed(platform: Platform) -> None:
    given = {"prompt": "Find Ada", "functions": [FIND_PERSON]}
    done = platform.run(platform.new_thread(), graph="openfunctions", input=given)
    assert (done["outcome"], done["text"]) == ("call", 'find_person(name="Ada")')
    assert len(platform.world.log) == 0


def test_studio_draws_the_roles_and_the_labelled_edges(platform: Platform) -> None:
    drawing = platform.client.assistants.get_graph("restgpt")
    nodes = {node["id"]: node for node in drawing["nodes"]}
    assert {"planner", "selector", "caller", "parser"} <= nodes.keys()
    assert nodes["planner"]["metadata"]["description"]
    labels = {edge["target"]: edge.get("data") for edge in drawing["edges"] if edge["source"] == "planner"}
    assert labels["__end__"] == "end"
    assert labels["selector"] == "plan / continue"


def test_a_thread_streams_pauses_before_a_write_and_changes_the_world_exactly_once(platform: Platform) -> None:
    thread = platform.new_thread()
    modes: list[Any] = ["updates", "values"]
    parts = list(platform.client.runs.stream(thread, "restgpt", input={"instruction": WRITE}, stream_mode=modes))
    seen = [name for part in parts if part.event == "updates" for name in part.data]
    assert seen == ["intake", "planner", "selector", "caller", "parser", "__interrupt__"]
    assert platform.changes() == []

    [task] = [task for task in platform.client.threads.get_state(thread)["tasks"] if task["interrupts"]]
    pause = task["interrupts"][0]["value"]
    [action] = pause["action_requests"]
    assert (action["name"], action["args"]) == ("create_project", {"body": {"name": "Roof garden"}})
    assert "POST http://127.0.0.1" in action["description"]
    assert pause["review_configs"][0]["allowed_decisions"] == ["approve", "edit", "reject", "respond"]
    assert CREDENTIAL not in str(parts)
    assert CREDENTIAL not in str(pause)

    done = platform.run(thread, command=APPROVE)
    assert done["answer"] == "It is created."
    assert platform.changes() == ["POST 201"]
    assert "Roof garden" in platform.projects()
    assert CREDENTIAL not in str(platform.client.threads.get_history(thread, limit=50))


def test_a_rejected_write_never_reaches_the_api(platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": WRITE})
    decisions = [{"type": "reject", "message": "Not today."}]
    done = platform.run(thread, command={"resume": {"decisions": decisions}})
    assert done["answer"] == "Left alone."
    assert platform.changes() == []


def test_a_fork_from_before_a_write_does_not_repeat_it_unasked_and_may_be_decided_otherwise(platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": WRITE})
    platform.run(thread, command=APPROVE)
    history = platform.client.threads.get_history(thread, limit=50)
    *_, planned = (state for state in history if state["next"] == ["parser"])
    before = planned["checkpoint"]["checkpoint_id"]
    assert "__interrupt__" in platform.run(thread, checkpoint_id=before)
    changed = {"decision": {"kind": "end", "text": "Enough."}, "answer": "Enough."}
    fork = platform.client.threads.update_state(thread, changed, checkpoint_id=before, as_node="planner")
    assert platform.run(thread, checkpoint=fork["checkpoint"])["answer"] == "Enough."
    assert platform.changes() == ["POST 201"]


def test_chat_mode_answers_message_after_message(platform: Platform) -> None:
    thread = platform.new_thread()
    first = platform.run(thread, input={"messages": [{"role": "user", "content": READ}]})
    second = platform.run(thread, input={"messages": [{"role": "user", "content": READ}]})
    assert [message["type"] for message in second["messages"]] == ["human", "ai", "human", "ai"]
    assert first["answer"] == second["answer"] == second["messages"][-1]["content"] == "There are 24 tasks."


def test_settings_come_with_the_run_and_a_wrong_one_is_explained(platform: Platform) -> None:
    thread = platform.new_thread()
    held = platform.run(thread, input={"instruction": WRITE}, context={"writes": "deny"})
    assert held["answer"] == "Not allowed."
    assert platform.changes() == []
    with pytest.raises(Exception, match="'ask', 'allow', 'deny' or 'dry-run'"):
        platform.run(platform.new_thread(), input={"instruction": READ}, context={"writes": "sometimes"})
    with pytest.raises(Exception, match=r"wrietes: Extra inputs are not permitted.*settings of a run are: model, "):
        platform.run(platform.new_thread(), input={"instruction": READ}, context={"wrietes": "deny"})
    given = {"prompt": READ, "functions": []}
    with pytest.raises(Exception, match="prompt_ing: Extra inputs are not permitted"):
        platform.run(platform.new_thread(), graph="openfunctions", input=given, context={"prompt_ing": "v1"})


def test_a_client_cannot_go_beyond_what_the_owner_of_the_server_set(platform: Platform) -> None:
    allow: Any = {"writes": "allow"}
    made = platform.client.assistants.create("restgpt", context=allow)
    for assistant, given in (("restgpt", {"context": allow}), (made["assistant_id"], {})):
        with pytest.raises(Exception, match=r"writes: ask` at most.*RESTGPT_SERVER_WRITES"):
            platform.run(platform.new_thread(), graph=assistant, input={"instruction": WRITE}, **given)
    platform.client.assistants.delete(made["assistant_id"])
    assert platform.changes() == []


def test_a_rejection_takes_back_an_approval_that_the_api_was_down_for(tmp_path: Path) -> None:
    with serve(open_world("toy")) as world, ChatServer(board_script) as chat:
        entry = f"spec: {bundled_document('toy')}, base_url: {world.url}, auth: {{key: {CREDENTIAL}}}"
        (tmp_path / "apis.yaml").write_text(f"board: {{{entry}}}\n")
        with running_server(tmp_path, chat.url) as platform:
            thread = platform.new_thread()
            assert "__interrupt__" in platform.run(thread, input={"instruction": WRITE})
            world.close()
            with pytest.raises(Exception, match="cannot be reached"):
                platform.run(thread, command=APPROVE)
            reject = {"resume": {"decisions": [{"type": "reject", "message": "not now"}]}}
            assert platform.run(thread, command=reject)["answer"] == "Left alone."
        assert [entry for entry in world.world.log if entry.method != "GET"] == []


def test_no_client_changes_an_assistant_that_the_server_made(platform: Platform) -> None:
    [system] = platform.client.assistants.search(graph_id="restgpt")
    for name in ("restgpt", system["assistant_id"], system["assistant_id"].upper()):
        for change in (
            lambda: platform.client.assistants.update(name, context={"writes": "allow", "model": "openai:other"}),  # noqa: B023
            lambda: platform.client.assistants.set_latest(name, 1),  # noqa: B023
            lambda: platform.client.assistants.delete(name),  # noqa: B023
        ):
            with pytest.raises(PermissionDeniedError, match="the same for all clients"):
                change()
    assert platform.client.assistants.search(graph_id="restgpt") == [system]
    assert "__interrupt__" in platform.run(platform.new_thread(), input={"instruction": WRITE})


def test_garbage_in_the_state_is_refused_with_its_place_and_nothing_is_lost(platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": READ})
    before = platform.client.threads.get_state(thread)
    with pytest.raises(BadRequestError, match="The state key 'steps' was not changed"):
        platform.client.threads.update_state(thread, {"steps": "garbage"})
    assert platform.client.threads.get_state(thread)["values"] == before["values"]


def test_the_mcp_endpoint_that_cannot_answer_a_pause_is_off(platform: Platform) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"Accept": "application/json, text/event-stream"}
    assert requests.post(f"{platform.url}/mcp", json=asked, headers=accept, timeout=PATIENCE_S).status_code == 404


def test_the_remote_graph_example_works_on_the_server(platform: Platform) -> None:
    example = runpy.run_path(str(ROOT / "docs" / "examples" / "remote_graph.py"))
    shown, answer = example["main"](platform.url, WRITE)
    assert "\n    │ POST http://127.0.0.1" in shown
    assert answer == "It is created."
    assert platform.changes() == ["POST 201"]


def test_the_node_of_a_remote_graph_pauses_its_host_and_resumes_with_it(platform: Platform) -> None:
    example = runpy.run_path(str(ROOT / "docs" / "examples" / "remote_node.py"))
    before = len(platform.changes())
    shown, answer = example["main"](platform.url, WRITE)
    assert "\n    │ POST http://127.0.0.1" in shown
    assert answer == "It is created."
    assert platform.changes()[before:] == ["POST 201"]


def test_an_answer_that_names_no_pause_does_not_reach_a_remote_node_which_asks_again(platform: Platform) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("restgpt", RemoteGraph("restgpt", url=platform.url))
    builder.add_edge(START, "restgpt")
    host, before = builder.compile(checkpointer=InMemorySaver()), platform.changes()
    thread: RunnableConfig = {"configurable": {"thread_id": str(uuid4())}}
    given: Any = {"messages": [("user", WRITE)]}
    asked = host.invoke(given, thread)["__interrupt__"]
    again = host.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)["__interrupt__"]
    assert (again, platform.changes()) == (asked, before)
    [pause] = again
    given = Command(resume={pause.id: {"decisions": [{"type": "approve"}]}})
    assert host.invoke(given, thread)["messages"][-1].content == "It is created."
    given = {"messages": [("user", READ)]}
    assert "__interrupt__" not in host.invoke(given, thread)


def test_what_stops_a_run_is_told_to_the_client(platform: Platform) -> None:
    with pytest.raises(Exception, match=r"no API 'nowhere'. The configured APIs are: board\."):
        platform.run(platform.new_thread(), input={"instruction": READ}, context={"apis": ["nowhere"]})
    with pytest.raises(Exception, match="The input has no instruction"):
        platform.run(platform.new_thread(), input={"instruction": ""})


def test_the_answer_is_streamed_as_one_message_and_an_unusable_one_is_withdrawn(platform: Platform) -> None:
    thread = platform.new_thread()
    modes: list[Any] = ["messages-tuple"]
    parts = platform.client.runs.stream(thread, "restgpt", input={"instruction": TALK}, stream_mode=modes)
    chunks = [part.data[0] for part in parts if part.event == "messages"]
    # The one that cannot be used, and the first end of a thread without calls, about which the model is asked once.
    gone = [chunk["id"] for chunk in chunks if chunk["type"] == "remove"]
    assert len(gone) == 2
    kept = [chunk for chunk in chunks if chunk["id"] not in gone]
    assert len(kept) > 3
    assert "".join(chunk["content"] for chunk in kept) == ABLE
    [_, answer] = platform.client.threads.get_state(thread)["values"]["messages"]
    assert {chunk["id"] for chunk in kept} == {answer["id"]}


def test_the_older_stream_of_messages_survives_a_withdrawn_message(platform: Platform) -> None:
    modes: list[Any] = ["messages"]
    given: Any = {"instruction": TALK}
    parts = list(platform.client.runs.stream(platform.new_thread(), "restgpt", input=given, stream_mode=modes))
    assert not [part for part in parts if part.event == "error"]
    assert parts[-1].data[0]["content"] == ABLE


def test_the_server_streams_progress_and_the_plan_with_its_steps(platform: Platform) -> None:
    modes: list[Any] = ["custom", "values"]
    given: Any = {"instruction": READ}
    context = {"road": "roles"}
    thread = platform.new_thread()
    parts = list(platform.client.runs.stream(thread, "restgpt", input=given, context=context, stream_mode=modes))
    types = [part.data["type"] for part in parts if part.event == "custom" and part.data["type"] != "usage"]
    sent = ["request_started", "request_finished", "call_finished", "response_read"]
    assert types == ["task_started", "operations_chosen", *sent, "step_finished", "turn_finished"]
    values = [part.data for part in parts if part.event == "values"]
    planned = next(number for number, value in enumerate(values) if value.get("plan"))
    chosen = next(number for number, value in enumerate(values) if value.get("api_plan", {}).get("calls"))
    finished = next(number for number, value in enumerate(values) if value.get("steps"))
    assert planned < chosen < finished
    assert "requests" not in values[-1]
    assert CREDENTIAL not in str(parts)


def test_the_javascript_example_shows_a_run(platform: Platform, tmp_path: Path) -> None:
    install()
    example = ROOT / "docs" / "examples" / "streaming.mjs"
    shown = run_javascript(example, platform.url, WRITE, folder=tmp_path)
    told = ["create_project?", "POST create_project …", "POST create_project: 201", '["It is created."]']
    assert shown[0] == f"Task: {WRITE}"
    assert [line for line in shown if line in told] == told
    assert platform.changes() == ["POST 201"]


def test_a_chat_page_shows_each_turn_with_one_answer(platform: Platform, tmp_path: Path) -> None:
    install()
    turns = [TALK, WRITE, READ]
    lines = run_javascript(PACKAGES / "chat.mjs", platform.url, *turns, folder=tmp_path)
    screens = [json.loads(line) for line in lines]
    texts = [[message["content"] for message in screen["messages"]] for screen in screens]
    assert texts[-1] == [TALK, ABLE, WRITE, "It is created.", READ, "There are 24 tasks."]
    assert not [screen for screen in screens if screen["error"]]
    ids = [[message["id"] for message in screen["messages"]] for screen in screens]
    assert all(len(set(shown)) == len(shown) for shown in ids)

    # The first reply is no JSON: what was shown of it is withdrawn, and never stands beside or after the answer.
    growing = [text[1] for text in texts if len(text) == 2 and len(text[1]) > len("I ca")]
    withdrawn = [text for text in growing if not ABLE.startswith(text)]
    assert growing[: len(withdrawn)] == withdrawn
    assert all("I can do many things.".startswith(text) for text in withdrawn)
    assert len(growing) > len(withdrawn)

    asked = next(screen for screen in screens if screen["question"])
    assert asked["question"]["action_requests"][0]["name"] == "create_project"
    assert "approval_requested" in asked["events"]
    assert "request_started" not in asked["events"]
    assert {"task_started", "program_written", "request_finished", "step_finished"} <= set(screens[-1]["events"])
    assert any(screen["plan"] == READ and screen["steps"] == 1 for screen in screens)
    assert platform.changes() == ["POST 201"]

"""Guards the A2A endpoint of the LangGraph server: how another agent asks, is asked, and answers."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import requests
from boardscript import FIND_PERSON, READ, WRITE
from langgraphserver import PATIENCE_S, Platform

from restgpt_bench.worlds import CREDENTIAL

pytestmark = pytest.mark.slow

RESTGPT = "b6354249-0b06-5b85-80ea-c7ab8c0c69ef"
"""The id that a LangGraph server derives from the graph's name; docs/studio.md names it."""
UNSUPPORTED = -32004
INVALID_PARAMS = -32602


@dataclass(frozen=True)
class Agent:
    """Another agent, which speaks A2A with one assistant of the server."""

    platform: Platform
    assistant: str = RESTGPT

    def post(self, method: str, params: dict[str, Any], accept: str = "application/json") -> requests.Response:
        """Send one request of the protocol."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        url = f"{self.platform.url}/a2a/{self.assistant}"
        return requests.post(url, json=body, headers={"Accept": accept}, timeout=PATIENCE_S)

    def send(self, part: str | dict[str, Any], *, about: dict[str, Any] | None = None, **further: Any) -> Any:
        """Send a message of one part, about a task if one is given; return the task as it is then."""
        reply = self.post("message/send", {"message": message(part, about), **further}).json()
        assert "error" not in reply, reply
        return reply["result"]

    def refused(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request that the server refuses; return its error."""
        return self.post(method, params).json()["error"]

    def stream(self, part: str) -> list[Any]:
        """Send a message and return all events of its stream."""
        reply = self.post("message/stream", {"message": message(part, None)}, "text/event-stream")
        return [json.loads(line[5:])["result"] for line in reply.text.splitlines() if line.startswith("data:")]


def message(part: str | dict[str, Any], about: dict[str, Any] | None) -> dict[str, Any]:
    """Write a message; `about` is the task that it belongs to, or its context alone."""
    said = {"kind": "text", "text": part} if isinstance(part, str) else {"kind": "data", "data": part}
    place = {"contextId": about["contextId"]} if about else {}
    if about and "id" in about:
        place["taskId"] = about["id"]
    return {"role": "user", "messageId": str(uuid4()), "parts": [said], **place}


def state(task: dict[str, Any]) -> str:
    return str(task["status"]["state"])


def answer(task: dict[str, Any]) -> str:
    [artifact] = task["artifacts"]
    return "".join(part["text"] for part in artifact["parts"])


def question(task: dict[str, Any]) -> Any:
    [artifact] = task["artifacts"]
    [part] = artifact["parts"]
    return part["data"]["value"]


@pytest.fixture
def agent(platform: Platform) -> Agent:
    return Agent(platform)


def test_the_agent_card_describes_the_graph_and_its_address(platform: Platform) -> None:
    page = f"{platform.url}/.well-known/agent-card.json"
    card = requests.get(page, params={"assistant_id": RESTGPT}, timeout=PATIENCE_S).json()
    assert (card["name"], card["url"]) == ("RestGPT", f"{platform.url}/a2a/{RESTGPT}")
    assert "REST APIs" in card["description"]
    assert (card["capabilities"]["streaming"], card["capabilities"]["pushNotifications"]) == (True, False)
    assert requests.get(page, timeout=PATIENCE_S).status_code == 400
    assert requests.get(page, params={"assistant_id": "restgpt"}, timeout=PATIENCE_S).status_code == 400
    [assistant] = platform.client.assistants.search(graph_id="restgpt")
    assert assistant["assistant_id"] == RESTGPT


def test_a_message_is_an_instruction_and_its_context_a_conversation(agent: Agent) -> None:
    first = agent.send(READ)
    assert (state(first), answer(first)) == ("completed", "There are 24 tasks.")
    second = agent.send(READ, about={"contextId": first["contextId"]})
    assert second["contextId"] == first["contextId"]
    assert second["id"] != first["id"]
    assert [said["role"] for said in second["history"]] == ["user", "agent", "user", "agent"]
    thread = agent.platform.client.threads.get_state(first["contextId"])
    assert len(thread["values"]["messages"]) == 4
    # A data part holds any input of the graph.
    assert answer(agent.send({"instruction": READ})) == "There are 24 tasks."


def test_a_change_asks_for_input_without_its_question_in_a_fetched_task_and_a_data_part_decides(agent: Agent) -> None:
    asked = agent.send(WRITE)
    assert state(asked) == "input-required"
    [action] = question(asked)["action_requests"]
    assert action["name"] == "create_project"
    assert "POST http://127.0.0.1" in action["description"]
    assert CREDENTIAL not in json.dumps(asked)
    assert agent.platform.changes() == []
    fetched = agent.post("tasks/get", {"id": asked["id"], "contextId": asked["contextId"]}).json()["result"]
    assert (state(fetched), "artifacts" in fetched) == ("input-required", False)
    done = agent.send({"resume": {"decisions": [{"type": "approve"}]}}, about=asked)
    assert (state(done), answer(done)) == ("completed", "It is created.")
    assert done["id"] == asked["id"]
    assert agent.platform.changes() == ["POST 201"]


@pytest.mark.parametrize(("word", "said", "changes"), [("approve", "created", ["POST 201"]), ("reject", "alone", [])])
def test_the_bare_words_approve_and_reject_decide_too(agent: Agent, word: str, said: str, changes: list[str]) -> None:
    done = agent.send(word, about=agent.send(WRITE))
    assert state(done) == "completed"
    assert said in answer(done)
    assert agent.platform.changes() == changes


def test_any_other_words_are_no_approval_and_the_question_comes_back(agent: Agent) -> None:
    asked = agent.send("Yes, please go on.", about=agent.send(WRITE))
    assert state(asked) == "input-required"
    assert "That decision cannot be used" in question(asked)["action_requests"][0]["description"]
    assert agent.platform.changes() == []


def test_words_without_the_task_are_the_next_instruction_and_drop_the_question(agent: Agent) -> None:
    asked = agent.send(WRITE)
    done = agent.send("approve", about={"contextId": asked["contextId"]})
    assert done["id"] != asked["id"]
    assert state(done) == "completed"
    assert agent.platform.changes() == []


def test_a_canceled_task_and_a_finished_one_take_no_answer(agent: Agent) -> None:
    asked = agent.send(WRITE)
    canceled = agent.post("tasks/cancel", {"id": asked["id"], "contextId": asked["contextId"]}).json()["result"]
    assert state(canceled) == "canceled"
    for task in (asked, agent.send(READ)):
        error = agent.refused("message/send", {"message": message("approve", task)})
        assert error["code"] == UNSUPPORTED
    assert agent.platform.changes() == []


def test_a_stream_tells_progress_and_ends_with_the_answer(agent: Agent) -> None:
    events = agent.stream(READ)
    assert (events[0]["kind"], state(events[0])) == ("task", "submitted")
    assert {state(event) for event in events[1:-2]} == {"working"}
    [said] = events[-2]["artifact"]["parts"]
    assert said["text"] == "There are 24 tasks."
    assert (state(events[-1]), events[-1]["final"]) == ("completed", True)


def test_a_stream_that_pauses_ends_and_its_artifact_is_the_question(agent: Agent) -> None:
    events = agent.stream(WRITE)
    [last] = [event for event in events if event.get("final")]
    assert state(last) == "input-required"
    [artifact] = [event["artifact"] for event in events if event["kind"] == "artifact-update"]
    assert question({"artifacts": [artifact]})["action_requests"][0]["name"] == "create_project"
    assert agent.platform.changes() == []


def test_the_client_chooses_the_settings_and_an_error_has_only_its_name(agent: Agent) -> None:
    held = agent.send(WRITE, context={"writes": "deny"})
    assert answer(held) == "Not allowed."
    for context in ({"writes": "allow"}, {"wrietes": "deny"}):
        failed = agent.send(WRITE, context=context)
        assert state(failed) == "failed"
        assert failed["status"]["message"]["parts"][0]["text"] == "Error executing assistant: SettingsError"
    assert agent.platform.changes() == []


def test_an_assistant_is_addressed_by_its_id_only(platform: Platform) -> None:
    error = Agent(platform, "restgpt").refused("message/send", {"message": message(READ, None)})
    assert error["code"] == INVALID_PARAMS


def test_functions_come_as_a_data_part(platform: Platform) -> None:
    [assistant] = platform.client.assistants.search(graph_id="openfunctions")
    agent = Agent(platform, assistant["assistant_id"])
    assert answer(agent.send({"prompt": "Find Ada", "functions": [FIND_PERSON]})) == 'find_person(name="Ada")'
    assert state(agent.send("Find Ada")) == "failed"

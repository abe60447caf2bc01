"""Guards insisting: a document that is wrong about its server refuses a value once, and a model may give it again."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from board import CALLS, Agent, agent_of
from langgraph.store.memory import InMemoryStore
from loopback import Handler, served
from paths import api_of
from programs import actions, decide
from roles import by_role, call, end, one_task, program, prompts_of

from restgpt import Client, as_tools
from restgpt.calling.notes import Notes
from restgpt.graph.build import build_graph
from restgpt.outcome import Called, Pending
from restgpt.specs import Api
from restgpt.tools.errors import ArgumentError

PATHS = """
/found:
  get:
    operationId: find_parts
    parameters:
    - {name: shelf, in: query, required: true, schema: {type: string}}
    - {name: size, in: query, schema: {type: string, enum: [small, large]}}
    - {name: row, in: query, schema: {type: integer, maximum: 9}}
    - {name: X-Count, in: header, schema: {type: integer}}
    responses: {"200": {description: ok, content: {application/json: {schema: {type: object}}}}}
/parts/{kind}:
  post:
    operationId: add_part
    parameters: [{name: kind, in: path, required: true, schema: {type: string, enum: [bolt, nut]}}]
    requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Part"}}}}
    responses: {"201": {description: ok, content: {application/json: {schema: {type: object}}}}}
"""
PART = """
type: object
required: [serial]
additionalProperties: false
properties: {serial: {type: string}, name: {type: string, maxLength: 8}, tags: {type: array, items: {type: string}}}
"""
TAGS = {"name": "Bolt", "tags": [{"id": 4}], "serial": "s"}
ADD = 'print(add_part(kind="bolt", body={"name": "Bolt", "tags": [{"id": 4}], "serial": "s"})["id"])'
FIND = 'print(find_parts(shelf="a", size="tiny")["count"])'
AGAINST = "Against the document, after it was refused by it once: /body/tags/0: must be string, not object."


class Depot:
    """A server that takes everything, and what it was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, Any]] = []
        depot = self

        class Answers(Handler):
            def do_GET(self) -> None:
                depot.sent.append(("GET", self.path, None))
                self.answer({"count": 3})

            def do_POST(self) -> None:
                depot.sent.append(("POST", self.path, json.loads(self.body())))
                self.answer({"id": 7}, 201)

        self.handler = Answers


@pytest.fixture
def depot() -> Depot:
    return Depot()


@pytest.fixture
def api(depot: Depot) -> Iterator[Api]:
    with served(depot.handler) as url:
        yield api_of(yaml.safe_load(PATHS), schemas={"Part": yaml.safe_load(PART)}, base_url=url)


def agent(api: Api, script: Any, store: InMemoryStore | None = None, **context: Any) -> Agent:
    return agent_of([api], by_role(script), store=store or InMemoryStore(), context=context)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(FIND, id="a value that is not listed"),
        pytest.param('print(find_parts()["count"])', id="a required argument that is left out"),
        pytest.param('print(find_parts(shelf=["a"], row={"at": 4})["count"])', id="another type"),
    ],
)
def test_a_read_that_the_document_refuses_is_sent_when_a_new_program_makes_it_again(
    api: Api, depot: Depot, code: str
) -> None:
    made = agent(api, {"express": [program(code), program(code)]})
    assert made.ask("Find the parts")["answer"] == "3"
    assert len(depot.sent) == 1
    assert "make the same call again" in str(made.model.prompts[1][-1].text)


def test_a_change_against_the_document_is_asked_about_under_every_rule(api: Api, depot: Depot) -> None:
    made = agent(api, {"express": [program(ADD), program(ADD)]}, writes="allow")
    [action] = actions(made.ask("Add the part Bolt with the tag 4"))
    assert AGAINST in action["description"]
    assert depot.sent == []
    assert decide(made, "approve")["answer"] == "7"
    assert depot.sent == [("POST", "/parts/bolt", TAGS)]


def test_within_one_program_the_refusal_holds(api: Api, depot: Depot) -> None:
    code = f"for _ in range(3):\n    try:\n        {FIND}\n    except Exception as error:\n        print(error)"
    made = agent(api, {"express": [program(code), end("No.", fulfilled=False)]})
    assert made.ask("Find the parts")["answer"] == "No."
    assert depot.sent == []


def test_another_value_another_place_and_another_operation_are_refused_anew(api: Api, depot: Depot) -> None:
    for other in (FIND.replace("tiny", "huge"), FIND.replace("size", "row"), ADD):
        made = agent(api, {"express": [program(FIND), program(other), end("No.", fulfilled=False)]})
        assert made.ask("Find the parts")["answer"] == "No."
    assert depot.sent == []


@pytest.mark.parametrize(
    "code",
    [
        pytest.param('print(add_part(kind="screw", body={"serial": "s"}))', id="a path"),
        pytest.param('print(find_parts(shelf="a", X_Count="many"))', id="a header"),
        pytest.param('print(find_parts(shelf="a", row=12))', id="a limit"),
        pytest.param('print(add_part(kind="nut", body={"serial": "s", "name": "far too long"}))', id="a length"),
        pytest.param('print(add_part(kind="nut"))', id="no body"),
        pytest.param('print(add_part(kind="nut", body={"serial": "s", "_method": "DELETE"}))', id="another method"),
    ],
)
def test_what_is_no_type_value_or_name_of_the_query_or_the_body_is_never_sent(
    api: Api, depot: Depot, code: str
) -> None:
    again = code.replace("print", "print ")
    made = agent(api, {"express": [program(code), program(again), end("No.", fulfilled=False)]})
    assert made.ask("Add the part Bolt")["answer"] == "No."
    assert depot.sent == []


def test_call_by_call_a_second_reply_insists(api: Api, depot: Depot) -> None:
    script = one_task("find_parts", caller=[call({"query": {"shelf": "a", "size": "tiny"}})] * 2)
    assert agent(api, script, **CALLS).ask("Find the parts")["answer"] == "Done."
    assert [path for _, path, _ in depot.sent] == ["/found?shelf=a&size=tiny"]


def test_a_model_behind_a_host_insists_by_a_second_call_and_a_programmer_does_not(api: Api, depot: Depot) -> None:
    client = Client(api, context={"writes": "allow"})
    given = {"path": {"kind": "bolt"}, "body": TAGS}
    for conversation in (None, None, "one", "other"):
        with pytest.raises(ArgumentError, match="/body/tags/0"):
            client.call("add_part", given, conversation=conversation)
    pending = client.call("add_part", given, conversation="one")
    assert isinstance(pending, Pending)
    assert depot.sent == []
    client.decide(pending, {"type": "approve"})
    assert [body for _, _, body in depot.sent] == [TAGS]
    for _ in range(2):
        client.earlier.refused("one")
    found = {"query": {"shelf": "a", "size": "tiny"}}
    with pytest.raises(ArgumentError):
        client.call("find_parts", found, conversation="one")
    assert isinstance(client.call("find_parts", found, conversation="one"), Called)


def test_the_tools_of_a_host_say_how_to_insist(api: Api, depot: Depot) -> None:
    tool = {item.name: item for item in as_tools([api])}["read_operation"]
    given = {"operation": "find_parts", "arguments": {"query": {"shelf": "a", "size": "tiny"}}}
    config: Any = {"configurable": {"thread_id": "one"}}
    assert "make the same call again" in tool.invoke(given, config)
    assert depot.sent == []
    assert "count" in tool.invoke(given, config)
    assert [path for _, path, _ in depot.sent] == ["/found?shelf=a&size=tiny"]


def test_where_nobody_can_answer_a_change_against_the_document_is_not_sent(api: Api, depot: Depot) -> None:
    made = build_graph([api], model=by_role({"express": [program(ADD)] * 2}), context={"writes": "allow"})
    with pytest.raises(Exception, match="checkpointer"):
        made.invoke({"instruction": "Add the part Bolt with the tag 4"})
    assert depot.sent == []


def test_what_the_server_took_is_noted_with_the_names_of_the_document(api: Api, depot: Depot) -> None:
    store = InMemoryStore()
    agent(api, {"express": [program(FIND), program(FIND)]}, store).ask("Find the parts")
    [note] = Notes(store).of(api.operation("find_parts"))
    assert note.text == "the server accepted a call that is against the document in size (query) (status 200)"
    later = agent(api, {"express": [program(FIND), program(FIND)]}, store)
    later.ask("Find the parts")
    assert note.text in str(prompts_of(later.model, "express")[0][0].text)

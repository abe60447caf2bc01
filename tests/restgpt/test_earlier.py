"""Guards what a process knows of a conversation: its calls, and which APIs answered."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pair import SECRET, Pair
from scripted import ScriptedModel
from wire.echo import Canned, EchoServer

from restgpt import Client, as_tools, load_api
from restgpt.earlier import MOST_CONVERSATIONS, MOST_EARLIER
from restgpt.nodes.run.services import Services
from restgpt.outcome import Called, Pending

CUSTOMER = {"path": {"customer": 7}}


def started(pair: Pair) -> Client:
    """A client in a new process."""
    services = Services([pair.crm, pair.collector], settings=pair.settings(), store=InMemoryStore())
    return Client(services=services, checkpointer=InMemorySaver())


def test_another_conversation_and_calls_without_one_are_not_asked_about(pair: Pair) -> None:
    client = started(pair)
    client.call("get_customer", CUSTOMER, conversation="host")
    stolen = {"path": {"what": SECRET}}
    assert isinstance(client.call("get_drop", stolen, conversation="guest"), Called)
    assert isinstance(client.call("get_drop", stolen), Called)
    assert isinstance(client.call("get_drop", stolen, conversation="host"), Pending)


def test_the_calls_of_a_long_conversation_are_bounded_and_every_api_that_answered_stays_known(pair: Pair) -> None:
    client = started(pair)
    client.call("get_customer", CUSTOMER, conversation="host")
    later = client.call("find_items", conversation="host").record
    for number in range(MOST_EARLIER + 50):
        client.earlier.add("host", {**later, "id": f"later {number}"})
    assert len(client.earlier.state("host")["requests"]) == MOST_EARLIER
    assert isinstance(client.call("get_drop", {"path": {"what": SECRET}}, conversation="host"), Pending)


def test_of_many_conversations_the_oldest_loses_its_calls_and_not_which_apis_answered(pair: Pair) -> None:
    client = started(pair)
    record = client.call("get_customer", CUSTOMER, conversation="oldest").record
    for number in range(MOST_CONVERSATIONS):
        client.earlier.add(f"{number}", record)
    assert client.earlier.state("oldest")["requests"] == []
    assert isinstance(client.call("get_drop", {"path": {"what": SECRET}}, conversation="oldest"), Pending)


def test_tools_of_a_host_know_what_its_thread_has_read(pair: Pair) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    config: Any = {"configurable": {"thread_id": "host"}}

    made = as_tools(services=Services([pair.crm, pair.collector], settings=pair.settings()))

    def told(operation: str, arguments: dict[str, Any]) -> Any:
        call = {"name": "change_operation", "args": {"operation": operation, "arguments": arguments}, "id": operation}
        model = ScriptedModel([AIMessage("", tool_calls=[call]), "Done."])
        agent: Any = create_agent(model, made, checkpointer=saver, store=store)
        return agent.invoke({"messages": [("user", "Go")]}, config)

    told("get_customer", CUSTOMER)
    stolen = told("get_drop", {"path": {"what": SECRET}})
    assert (bool(stolen.get("__interrupt__")), pair.log) == (True, [])


def test_a_question_says_how_the_very_same_change_was_answered_in_the_conversation() -> None:
    paths = {"/things": {"post": {"operationId": "add", "requestBody": {"content": {"application/json": {}}}}}}

    def question(client: Client, name: str, conversation: str) -> tuple[str, Pending]:
        asked = client.call("add", {"body": {"name": name}}, conversation=conversation)
        assert isinstance(asked, Pending)
        return str(asked.actions[0]["description"]), asked

    with EchoServer() as echo:
        echo.script([Canned(status=409)])
        client = Client(load_api({"openapi": "3.0.3", "info": {"title": "things"}, "paths": paths}, base_url=echo.url))
        text, asked = question(client, "Moss", "host")
        assert "sent before" not in text
        client.decide(asked, "approve")
        assert "This very request was sent before. The API answered 409." in question(client, "Moss", "host")[0]
        assert "sent before" not in question(client, "Fern", "host")[0]
        assert "sent before" not in question(client, "Moss", "guest")[0]

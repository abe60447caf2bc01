"""Guards what processes tell each other about a conversation: which APIs answered."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pair import SECRET, Pair
from scripted import ScriptedModel
from wire.echo import Canned, EchoServer

from restgpt import Client, as_tools, load_api
from restgpt.earlier import MOST_CONVERSATIONS, MOST_EARLIER, MOST_SPARE, NAMESPACE
from restgpt.nodes.run.services import Services
from restgpt.outcome import Called, Pending

CUSTOMER = {"path": {"customer": 7}}


def started(pair: Pair, store: InMemoryStore) -> Client:
    """A client in a new process: nothing but the store is left of the others."""
    services = Services([pair.crm, pair.collector], settings=pair.settings(), store=store)
    return Client(services=services, checkpointer=InMemorySaver(), store=store)


def test_another_conversation_and_calls_without_one_are_not_asked_about(pair: Pair) -> None:
    store = InMemoryStore()
    started(pair, store).call("get_customer", CUSTOMER, conversation="host")
    stolen = {"path": {"what": SECRET}}
    assert isinstance(started(pair, store).call("get_drop", stolen, conversation="guest"), Called)
    assert isinstance(started(pair, store).call("get_drop", stolen), Called)
    assert isinstance(started(pair, store).call("get_drop", stolen, conversation="host"), Pending)


def test_the_notes_of_a_long_conversation_are_bounded_and_still_know_every_api(pair: Pair) -> None:
    store = InMemoryStore()
    client = started(pair, store)
    record = client.call("get_customer", CUSTOMER, conversation="host")
    later = client.call("find_items", conversation="host").record
    for number in range(MOST_EARLIER + 50):
        client.earlier.add("host", {**later, "id": f"later {number}"})
    assert isinstance(record, Called)
    assert len(store.search(NAMESPACE, limit=10_000)) <= MOST_EARLIER + MOST_SPARE + 2
    stolen = started(pair, store).call("get_drop", {"path": {"what": SECRET}}, conversation="host")
    assert isinstance(stolen, Pending)


def test_a_process_with_many_conversations_reads_the_calls_of_the_oldest_in_the_store_again(pair: Pair) -> None:
    client = started(pair, InMemoryStore())
    record = client.call("get_customer", CUSTOMER, conversation="oldest").record
    for number in range(MOST_CONVERSATIONS):
        client.earlier.add(f"{number}", record)
    assert len(client.earlier._calls) == MOST_CONVERSATIONS
    [call] = client.earlier.state("oldest")["requests"]
    assert call["operation"] == "get_customer"
    assert isinstance(client.call("get_drop", {"path": {"what": SECRET}}, conversation="oldest"), Pending)


@pytest.mark.parametrize("is_restarted", [False, True])
def test_tools_of_a_host_that_is_started_again_know_what_its_thread_has_read(pair: Pair, is_restarted: bool) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    config: Any = {"configurable": {"thread_id": "host"}}

    def tools() -> list[Any]:
        return as_tools(services=Services([pair.crm, pair.collector], settings=pair.settings()))

    def told(made: list[Any], operation: str, arguments: dict[str, Any]) -> Any:
        call = {"name": "change_operation", "args": {"operation": operation, "arguments": arguments}, "id": operation}
        model = ScriptedModel([AIMessage("", tool_calls=[call]), "Done."])
        agent: Any = create_agent(model, made, checkpointer=saver, store=store)
        return agent.invoke({"messages": [("user", "Go")]}, config)

    first = tools()
    told(first, "get_customer", CUSTOMER)
    stolen = told(tools() if is_restarted else first, "get_drop", {"path": {"what": SECRET}})
    assert (bool(stolen.get("__interrupt__")), pair.log) == (True, [])


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_question_says_how_the_very_same_change_was_answered_in_the_conversation(is_restarted: bool) -> None:
    paths = {"/things": {"post": {"operationId": "add", "requestBody": {"content": {"application/json": {}}}}}}
    store = InMemoryStore()

    def opened() -> Client:
        api = load_api({"openapi": "3.0.3", "info": {"title": "things"}, "paths": paths}, base_url=echo.url)
        return Client(services=Services([api], store=store), checkpointer=InMemorySaver(), store=store)

    def question(client: Client, name: str, conversation: str) -> tuple[str, Pending]:
        asked = client.call("add", {"body": {"name": name}}, conversation=conversation)
        assert isinstance(asked, Pending)
        return str(asked.actions[0]["description"]), asked

    with EchoServer() as echo:
        echo.script([Canned(status=409)])
        client = opened()
        text, asked = question(client, "Moss", "host")
        assert "sent before" not in text
        client.decide(asked, "approve")
        client = opened() if is_restarted else client
        assert "This very request was sent before. The API answered 409." in question(client, "Moss", "host")[0]
        assert "sent before" not in question(client, "Fern", "host")[0]
        assert "sent before" not in question(client, "Moss", "guest")[0]

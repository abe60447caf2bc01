"""Guards `as_tools`: operations as tools of any agent of LangChain, whose approvals pause the agent's graph."""

import asyncio
import gc
import weakref
from typing import Any

import pytest
from board import Board
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pair import SECRET, Pair
from scripted import ScriptedModel

from restgpt import Client, as_tools, load_api
from restgpt.api_tools import MOST_CLIENTS
from restgpt.host.definitions import BUDGET
from restgpt.nodes.approval import UnapprovedCallError
from restgpt.nodes.run.services import Services
from restgpt.outcome import Pending
from restgpt.specs.reading.download import bundled_document
from restgpt.tools.errors import SettingsError

CONFIG: Any = {"configurable": {"thread_id": "host"}}
DELETE = {"operation": "delete_task", "arguments": {"path": {"task_id": 102}}}
NAMES = ["find_operations", "describe_operation", "read_operation", "change_operation", "read_result", "run_program"]


def tool(board: Board, name: str, **options: Any) -> Any:
    return {item.name: item for item in as_tools([board.api], **options)}[name]


def calls(*wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    made = [{"name": name, "args": args, "id": f"call-{number}"} for number, (name, args) in enumerate(wanted)]
    return AIMessage("", tool_calls=made)


def host(board: Board, *replies: Any, store: InMemoryStore | None = None, **options: Any) -> Any:
    model = ScriptedModel([*replies, "Done."])
    return create_agent(model, as_tools([board.api]), checkpointer=InMemorySaver(), store=store, **options)


def results(state: dict[str, Any]) -> list[str]:
    return [str(message.text) for message in state["messages"] if message.type == "tool"]


def approve(kind: str = "approve", message: str = "") -> Any:
    return Command(resume={"decisions": [{"type": kind, "message": message}]})


def asked(board: Board, *wanted: tuple[str, dict[str, Any]], **options: Any) -> tuple[Any, list[Any]]:
    """An agent whose model makes these calls, and the pauses for them."""
    agent = host(board, calls(*wanted), **options)
    return agent, agent.invoke({"messages": [("user", "Delete task 102")]}, CONFIG)["__interrupt__"]


def tool_node(board: Board, saver: InMemorySaver) -> Any:
    """A graph of the tools alone."""
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode(as_tools([board.api])))
    builder.add_edge(START, "tools")
    return builder.compile(checkpointer=saver)


def test_there_are_few_tools_within_the_budget(board: Board) -> None:
    tools = as_tools([board.api])
    assert [item.name for item in tools] == NAMES
    assert sum(len(item.description) + len(str(item.args_schema)) for item in tools) / 4 < BUDGET
    assert "thread" not in tool(board, "run_program").args


def test_operations_are_found_described_and_read(board: Board) -> None:
    assert "delete_task" in tool(board, "find_operations").invoke({"query": "remove a task"})
    assert "task_id" in tool(board, "describe_operation").invoke({"operations": ["delete_task"]})
    text = tool(board, "change_operation").invoke({"operation": "get_task", "arguments": {"path": {"task_id": 103}}})
    assert "HTTP 200" in text
    assert "Paint the maps" in text


def test_a_long_result_is_read_on_by_its_handle(board: Board) -> None:
    tools = {item.name: item for item in as_tools([board.api])}
    board.world.call("PATCH /tasks/{task_id}", path={"task_id": 103}, body={"notes": "x" * 20_000})
    given = {"operation": "get_task", "arguments": {"path": {"task_id": 103}}}
    shown = tools["change_operation"].invoke(given)
    handle = shown.partition("handle=")[2].partition(",")[0]
    assert len(shown) < 5000
    assert "xxx" in tools["read_result"].invoke({"handle": handle, "pointer": "/notes"})


def test_a_mistake_of_the_model_is_the_result_of_the_tool(board: Board) -> None:
    call = tool(board, "change_operation")
    assert "delete_task" in call.invoke({"operation": "delete_tusk"})
    assert "task_id" in call.invoke({"operation": "delete_task", "arguments": {"path": {"task_id": "none"}}})
    assert "operation is missing" in call.invoke({"operations": "delete_task"})
    assert "pages must be a whole number" in call.invoke({"operation": 7, "pages": "many"})
    assert "Call it with `change_operation`" in tool(board, "read_operation").invoke(DELETE)
    assert "pages must be at most 20" in call.invoke({"operation": "list_tags", "pages": 300})
    assert "no response is kept" in tool(board, "read_result").invoke({"handle": "body-0"})
    assert board.calls() == []


@pytest.mark.parametrize("is_async", [False, True])
def test_a_change_pauses_the_agent_and_is_sent_once(board: Board, is_async: bool) -> None:
    agent = host(board, calls(("change_operation", DELETE)))

    def run(given: Any) -> Any:
        return asyncio.run(agent.ainvoke(given, CONFIG)) if is_async else agent.invoke(given, CONFIG)

    [pause] = run({"messages": [("user", "Delete task 102")]})["__interrupt__"]
    assert "DELETE" in pause.value["action_requests"][0]["description"]
    assert "102" in board.tasks()
    assert "HTTP 204" in results(run(approve()))[0]
    assert board.changes() == ["DELETE /tasks/{task_id} 204"]


def test_a_rejected_change_is_told_to_the_model(board: Board) -> None:
    agent, _ = asked(board, ("change_operation", DELETE))
    told = results(agent.invoke(approve("reject", "Keep it."), CONFIG))
    assert "not sent" in told[0]
    assert "Keep it." in told[0]
    assert "102" in board.tasks()


def test_changes_of_one_reply_are_asked_about_each_for_itself(board: Board) -> None:
    other = {"operation": "delete_task", "arguments": {"path": {"task_id": 103}}}
    agent, pauses = asked(board, ("change_operation", DELETE), ("change_operation", other))
    assert len(pauses) == 2
    kinds = {pause.id: "approve" if "/tasks/102" in str(pause.value) else "reject" for pause in pauses}
    agent.invoke(Command(resume={key: {"decisions": [{"type": kind}]} for key, kind in kinds.items()}), CONFIG)
    assert ("102" in board.tasks(), "103" in board.tasks()) == (False, True)


def test_an_approval_counts_for_the_question_that_was_shown_in_whatever_order_a_node_calls(board: Board) -> None:
    """`ToolNode` calls all tools of a reply in threads of one node, which start in another order when it resumes."""
    call, order = tool(board, "change_operation"), [102, 103]

    def node(state: dict[str, Any]) -> dict[str, Any]:
        told, pauses = {}, []
        for number in order:
            try:
                told[number] = call.invoke({**DELETE, "arguments": {"path": {"task_id": number}}})
            except GraphInterrupt as pause:
                pauses.append((number, pause))
        if pauses:
            raise min(pauses, key=lambda item: item[0])[1]
        return {"told": told}

    builder = StateGraph(dict)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    [first] = graph.invoke({"told": {}}, CONFIG)["__interrupt__"]
    assert "/tasks/102" in str(first.value)
    order.reverse()
    [second] = graph.invoke(approve("reject"), CONFIG)["__interrupt__"]
    assert "/tasks/103" in str(second.value)
    told = graph.invoke(approve(), CONFIG)["told"]
    assert "not sent" in told[102]
    assert "HTTP 204" in told[103]
    assert ("102" in board.tasks(), "103" in board.tasks()) == (True, False)
    assert len(board.changes()) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_changes_of_one_tool_node_are_asked_about_one_after_the_other(board: Board, is_async: bool) -> None:
    changes = [{**DELETE, "arguments": {"path": {"task_id": number}}} for number in (102, 103, 104)]
    wanted = [("change_operation", change) for change in changes]
    program = ("run_program", {"code": "delete_task(task_id=105)\nprint('ok')"})
    graph = tool_node(board, InMemorySaver())

    def run(given: Any) -> Any:
        return asyncio.run(graph.ainvoke(given, CONFIG)) if is_async else graph.invoke(given, CONFIG)

    state = run({"messages": [calls(*wanted, program)]})
    asked = []
    while pauses := state.get("__interrupt__"):
        [pause] = pauses
        asked.append(str(pause.value["action_requests"][0]["args"]))
        is_wanted = "/tasks/103" in str(pause.value) or "/tasks/105" in str(pause.value)
        state = run(approve("approve" if is_wanted else "reject"))
    assert len(set(asked)) == len(asked) == 4
    assert ["not sent" in text for text in results(state)] == [True, False, True, False]
    assert {"102", "104"} <= board.tasks().keys()
    assert not {"103", "105"} & board.tasks().keys()


class LateSaver(InMemorySaver):
    """Returns the checkpoint of the answered call only after another call of the node has asked its question again."""

    answered = ""
    is_asked_again = False

    async def aget_tuple(self, config: Any) -> Any:
        found = await super().aget_tuple(config)
        writes = (found.pending_writes or ()) if found else ()
        is_own = "|" in config["configurable"].get("checkpoint_ns", "")
        if is_own and any(getattr(item, "id", "") == self.answered for _, _, asked in writes for item in listed(asked)):
            while not self.is_asked_again:
                await asyncio.sleep(0)
            # Time for the other pause to end the node, if it does not wait for this call.
            await asyncio.sleep(0.3)
        return found

    async def aput_writes(self, config: Any, writes: Any, *more: Any) -> None:
        await super().aput_writes(config, writes, *more)
        asked = [item.id for channel, given in writes if channel == "__interrupt__" for item in given]
        self.is_asked_again |= bool(self.answered) and bool(asked) and self.answered not in asked


def listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else ()


def test_an_answered_change_is_not_cut_off_by_the_question_of_another_call(board: Board) -> None:
    """`ToolNode` ends at the first pause of its tools, and the calls that are still under way are cancelled then."""
    wanted = [("change_operation", {**DELETE, "arguments": {"path": {"task_id": number}}}) for number in (102, 103)]
    saver = LateSaver()
    graph = tool_node(board, saver)
    [first] = asyncio.run(graph.ainvoke({"messages": [calls(*wanted)]}, CONFIG))["__interrupt__"]
    saver.answered = first.id
    [second] = asyncio.run(graph.ainvoke(approve(), CONFIG))["__interrupt__"]
    assert second.id != first.id
    assert board.changes() == ["DELETE /tasks/{task_id} 204"]
    saver.answered = ""
    told = results(asyncio.run(graph.ainvoke(approve(), CONFIG)))
    assert ["HTTP 204" in text for text in told] == [True, True]
    assert not {"102", "103"} & board.tasks().keys()


def test_equal_calls_of_one_node_are_each_sent(board: Board) -> None:
    again = ("change_operation", {"operation": "create_project", "arguments": {"body": {"name": "Roof"}}})
    agent, pauses = asked(board, again, again)
    agent.invoke(Command(resume={pause.id: {"decisions": [{"type": "approve"}]} for pause in pauses}), CONFIG)
    assert len(board.changes()) == 2


def test_the_middleware_of_the_host_and_the_tools_ask_in_one_form(board: Board) -> None:
    """A host that already shows the questions of the middleware shows these too."""
    middleware = HumanInTheLoopMiddleware(interrupt_on={"change_operation": True})
    agent, [of_host] = asked(board, ("change_operation", DELETE), middleware=[middleware])
    [of_tool] = agent.invoke(approve(), CONFIG)["__interrupt__"]
    assert of_host.value.keys() <= of_tool.value.keys()
    assert of_host.value["action_requests"][0].keys() <= of_tool.value["action_requests"][0].keys()
    assert "HTTP 204" in results(agent.invoke(approve(), CONFIG))[0]


def test_a_program_pauses_the_agent_and_goes_on(board: Board) -> None:
    code = "for number in (102, 103):\n    delete_task(task_id=number)\nprint(len(rows(find_tasks(pages=9))))"
    agent = host(board, calls(("run_program", {"code": code})))
    left = len(board.tasks()) - 2
    state = agent.invoke({"messages": [("user", "Delete 102 and 103")]}, CONFIG)
    while state.get("__interrupt__"):
        state = agent.invoke(approve(), CONFIG)
    assert f"{left}" in results(state)[0]
    assert not {"102", "103"} & board.tasks().keys()


def test_a_program_with_an_error_is_told_to_the_model(board: Board) -> None:
    text = tool(board, "run_program").invoke({"code": "print(len(rows(list_projects())))\n1 / 0"})
    assert "ZeroDivisionError" in text
    assert "thread=" not in text


def test_a_change_is_not_sent_where_nobody_can_be_asked(board: Board) -> None:
    with pytest.raises(UnapprovedCallError, match="create_agent"):
        tool(board, "change_operation").invoke(DELETE)
    with pytest.raises(UnapprovedCallError):
        asyncio.run(tool(board, "run_program").ainvoke({"code": "delete_task(task_id=102)"}))
    assert "102" in board.tasks()


def test_a_change_of_an_agent_is_undone_by_a_client(board: Board) -> None:
    store = InMemoryStore()
    agent, _ = asked(board, ("change_operation", DELETE), store=store)
    agent.invoke(approve(), CONFIG)
    client = Client([board.api], store=store)
    waiting = client.undo("host")
    assert isinstance(waiting, Pending)
    assert client.decide(waiting, "approve").ok


def test_operations_are_direct_tools_on_request(board: Board) -> None:
    tools = as_tools([board.api], direct=["get_task", "delete_task"])
    assert [item.name for item in tools] == ["get_task", "delete_task", "describe_operation", "read_result"]
    assert "Paint the maps" in tools[0].invoke({"path": {"task_id": 103}})
    with pytest.raises(UnapprovedCallError):
        tools[1].invoke({"path": {"task_id": 103}})
    assert "tsk_id" in tools[0].invoke({"path": {"task_id": 103}, "tsk_id": 1})
    assert len(as_tools([board.api], direct=True)) == len(board.api.operations) + 2


def test_an_argument_is_placed_or_refused_and_never_left_out(board: Board) -> None:
    call = tool(board, "change_operation", context={"writes": "allow"})
    assert "Paint the maps" in call.invoke({"operation": "get_task", "task_id": 103})
    assert "given twice" in call.invoke({"operation": "get_task", "arguments": {"task_id": 103}, "task_id": 102})
    assert "'tsk'" in call.invoke({"operation": "get_task", "arguments": {"task_id": 103}, "tsk": 1})
    direct = as_tools([board.api], direct=["create_task"], context={"writes": "allow"})[0]
    assert "Moss" in direct.invoke({"path": {"project_id": 1}, "body": {"title": "Moss"}})


def test_too_many_direct_tools_are_refused() -> None:
    with pytest.raises(SettingsError, match="at most 40"):
        as_tools([load_api(bundled_document("tmdb").read_bytes())], direct=True)


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_read_with_a_value_of_another_api_waits_for_the_answer_over_a_restart(pair: Pair, decision: str) -> None:
    saver, store = InMemorySaver(), InMemoryStore()

    def started(*replies: Any) -> Any:
        services = Services([pair.crm, pair.collector], settings=pair.settings())
        model = ScriptedModel([*replies, "Done."])
        return create_agent(model, as_tools(services=services), checkpointer=saver, store=store)

    read = ("read_operation", {"operation": "get_customer", "arguments": {"path": {"customer": 7}}})
    drop = ("read_operation", {"operation": "get_drop", "arguments": {"path": {"what": SECRET}}})
    assert started(calls(read), calls(drop)).invoke({"messages": [("user", "Go")]}, CONFIG)["__interrupt__"]
    assert pair.paths == []
    told = results(started().invoke(approve(decision), CONFIG))[-1]
    assert pair.paths == ([f"GET /drop/{SECRET}"] if decision == "approve" else [])
    assert ("not sent" in told) == (decision == "reject")


@pytest.mark.slow
def test_a_host_with_a_new_store_for_each_run_makes_the_tools_keep_few_clients(board: Board) -> None:
    tools = as_tools([board.api])
    opened = []
    for _ in range(MOST_CLIENTS + 4):
        store = InMemoryStore()
        opened.append(weakref.ref(store))
        read = calls(("read_operation", {"operation": "get_task", "arguments": {"task_id": 103}}))
        agent: Any = create_agent(ScriptedModel([read, "Done."]), tools, checkpointer=InMemorySaver(), store=store)
        assert "HTTP 200" in results(agent.invoke({"messages": [("user", "Read it")]}, CONFIG))[0]
        del store, agent
    gc.collect()
    assert sum(store() is not None for store in opened) <= MOST_CLIENTS


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("in_async", [False, True])
@pytest.mark.parametrize(("number", "status"), [(102, "success"), (999, "error")])
def test_an_http_error_is_one_of_its_tool(board: Board, direct: bool, in_async: bool, number: int, status: str) -> None:
    one = {"operation": "delete_task", "arguments": {"path": {"task_id": number}}}
    name, args = ("delete_task", {"task_id": number}) if direct else ("change_operation", one)
    found = {item.name: item for item in as_tools([board.api], direct=direct, context={"writes": "allow"})}[name]
    made: Any = {"name": name, "args": args, "id": "1", "type": "tool_call"}
    message = asyncio.run(found.ainvoke(made)) if in_async else found.invoke(made)
    assert message.status == status
    assert f"HTTP {404 if status == 'error' else 204}" in message.content

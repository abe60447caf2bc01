"""Guards the heir of langchain-community's OpenAPI agent: it takes the old objects and keeps what they promise."""

import asyncio
import inspect
import logging
from typing import Any

import pytest
import yaml
from board import Board
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.language_models import FakeListLLM
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from requests import Request
from requests.auth import HTTPBasicAuth
from roles import by_role, end, program
from scripted import ScriptedModel

from restgpt.community import create_openapi_agent
from restgpt.community.agent import MOST_WAITING
from restgpt.specs.bundled import bundled_document
from restgpt_bench.worlds import CREDENTIAL

pytest.importorskip("langchain_community", reason="langchain-community, of the extra `community`, is not installed")

from restgpt.community import RequestsWrapper, reduce_openapi_spec

READ = """
found = get_projects_by_project_id(project_id=1)
print(f"Project 1 is {found['name']}.")
"""
MAKE = """
made = post_projects(body={"name": "Roof garden"})
print(f"{made['name']} is made.")
"""
TOY = yaml.safe_load(bundled_document("toy").read_text(encoding="utf-8"))


def reduced() -> Any:
    return reduce_openapi_spec(TOY)


def wrapper(**given: Any) -> Any:
    return RequestsWrapper(**{"headers": {"Authorization": f"Bearer {CREDENTIAL}"}, **given})


def agent(board: Board, code: str, *replies: Any, spec: Any = None, wrapped: Any = None, **given: Any) -> Any:
    """An agent whose model writes this program and then gives these replies, or writes it three times."""
    model = by_role({"express": [program(code), *(replies or [program(code)] * 2)]})
    given = {"base_url": board.server.url, "allow_dangerous_requests": True, **given}
    return create_openapi_agent(spec or reduced(), wrapped or wrapper(), model, **given)


def test_the_parameters_of_the_old_function_come_first_with_their_names_order_and_defaults() -> None:
    from langchain_community.agent_toolkits.openapi.planner import create_openapi_agent as old

    theirs = list(inspect.signature(old).parameters.values())
    ours = list(inspect.signature(create_openapi_agent).parameters.values())
    names = [(item.name, item.kind, item.default) for item in theirs if item.kind is not item.VAR_KEYWORD]
    assert [(item.name, item.kind, item.default) for item in ours][: len(names)] == names
    assert [item.kind for item in ours[len(names) : -1]] == [inspect.Parameter.KEYWORD_ONLY] * 3
    assert ours[-1].kind is inspect.Parameter.VAR_KEYWORD


@pytest.mark.parametrize("given", [{"input": "Which is project 1?"}, "Which is project 1?"])
def test_the_old_objects_give_an_agent_with_the_old_result(board: Board, given: Any) -> None:
    found = agent(board, READ).invoke(given)
    assert found == {"input": "Which is project 1?", "output": "Project 1 is Winter timetable."}
    assert board.calls() == ["GET /projects/{project_id} 200"]


def test_the_other_ways_to_run_the_old_agent_give_the_same(board: Board) -> None:
    found = agent(board, READ)
    text = "Which is project 1?"
    answer = "Project 1 is Winter timetable."
    assert found.run(text) == answer
    assert found({"input": text})["output"] == answer
    assert asyncio.run(found.arun(text)) == answer


def test_an_asynchronous_call_and_a_batch_give_results_too(board: Board) -> None:
    found = agent(board, READ)
    assert asyncio.run(found.ainvoke({"input": "Which is project 1?"}))["output"] == "Project 1 is Winter timetable."
    assert [one["output"] for one in found.batch([{"input": "Which is project 1?"}] * 2)] == [
        "Project 1 is Winter timetable."
    ] * 2


def test_the_document_itself_is_taken_too_and_keeps_its_names(board: Board) -> None:
    found = agent(board, 'print(len(rows(list_projects())), "projects")', spec=TOY)
    assert found.run("How many projects?") == "4 projects"


def test_a_change_waits_and_is_sent_only_after_it_was_approved(board: Board) -> None:
    found = agent(board, MAKE)
    paused = found.invoke({"input": "Make the project Roof garden"})
    assert board.calls() == []
    assert '{"name":"Roof garden"}' in paused["output"]
    assert "agent.resume(result, approve=True)" in paused["output"]
    assert [action["name"] for action in paused["actions"]] == ["post_projects"]
    done = found.resume(paused, approve=True)
    assert done == {"input": "Make the project Roof garden", "output": "Roof garden is made."}
    assert board.calls() == ["POST /projects 201"]


def test_a_waiting_state_its_question_and_the_log_have_no_secret(board: Board, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    found = agent(board, MAKE, wrapped=wrapper(auth=("me", "hush-hush-hush")))
    paused = found.invoke("Make the project Roof garden")
    state = found.graph.get_state({"configurable": {"thread_id": paused["thread_id"]}})
    saved = list(found._saver.list(None))
    assert len(saved) > 1
    encoded = HTTPBasicAuth("me", "hush-hush-hush")(Request("GET", board.server.url).prepare()).headers["Authorization"]
    for shown in (str(paused), str(state), str(saved), str(found._saver.storage), caplog.text, repr(found)):
        assert "hush" not in shown
        assert encoded.partition(" ")[2] not in shown


def test_a_refused_change_is_not_sent(board: Board) -> None:
    found = agent(board, MAKE, end("It was not made.", fulfilled=False))
    paused = asyncio.run(found.ainvoke("Make the project Roof garden"))
    done = asyncio.run(found.aresume(paused, approve=False))
    assert board.calls() == []
    assert "actions" not in done
    for over in (done, paused):
        with pytest.raises(ValueError, match="no actions"):
            found.resume(over, approve=True)
    assert board.calls() == []


@pytest.mark.parametrize("is_approved", [True, False])
def test_a_function_may_approve(board: Board, is_approved: bool) -> None:
    asked: list[Any] = []

    def approve(action: Any) -> bool:
        asked.append(action["name"])
        return is_approved

    found = agent(board, MAKE, *[end("No.", fulfilled=False)] * (not is_approved), approve=approve)
    assert "actions" not in found.invoke("Make the project Roof garden")
    assert asked == ["post_projects"]
    assert board.calls() == ["POST /projects 201"] * is_approved


def test_without_the_flag_the_error_is_the_old_one() -> None:
    from langchain_community.tools.requests.tool import RequestsGetTool

    with pytest.raises(ValueError, match="You must set allow_dangerous_requests to True"):
        RequestsGetTool(requests_wrapper=wrapper())
    with pytest.raises(ValueError, match="You must set allow_dangerous_requests to True"):
        create_openapi_agent(reduced(), wrapper(), ScriptedModel([]))


@pytest.mark.parametrize(
    ("allowed", "code"),
    [
        (("GET",), MAKE),
        (("POST",), READ),
        (("GET", "POST"), 'patch_projects_by_project_id(project_id=1, body={"archived": True})'),
        (("GET", "POST"), "delete_projects_by_project_id(project_id=1)"),
    ],
)
def test_a_request_of_another_method_is_never_sent(board: Board, allowed: Any, code: str) -> None:
    model = by_role({"express": [program(code), end("It is not allowed.", fulfilled=False)]})
    options = {"base_url": board.server.url, "allow_dangerous_requests": True, "writes": "allow"}
    found = create_openapi_agent(reduced(), wrapper(), model, allowed_operations=allowed, **options)
    found.invoke("Do it with project 1 or Roof garden")
    assert board.calls() == []
    assert "does not allow this request: `allowed_operations` of create_openapi_agent has only" in model.texts[-1]


def test_a_change_does_not_look_at_its_target_if_reads_are_not_allowed(board: Board) -> None:
    code = 'patch_projects_by_project_id(project_id=1, body={"archived": True})\nprint("Done.")'
    assert agent(board, code, allowed_operations=["PATCH"], writes="allow").run("Archive project 1") == "Done."
    assert board.calls() == ["PATCH /projects/{project_id} 200"]


@pytest.mark.parametrize("allowed", [(), ("GET", "HEAD")])
def test_methods_that_the_old_agent_did_not_know_are_refused(allowed: Any) -> None:
    with pytest.raises(ValueError, match="Name one or more of DELETE, GET"):
        create_openapi_agent(
            reduced(), wrapper(), ScriptedModel([]), allow_dangerous_requests=True, allowed_operations=allowed
        )


def test_a_model_that_takes_no_messages_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a chat model"):
        create_openapi_agent(
            reduced(),
            wrapper(),
            FakeListLLM(responses=[]),
            allow_dangerous_requests=True,  # type: ignore[arg-type]
        )


def test_the_limits_callbacks_and_memories_of_the_old_executor_count(board: Board) -> None:
    from langchain_classic.memory import ConversationBufferMemory, ReadOnlySharedMemory

    memory = ConversationBufferMemory()
    memory.chat_memory.add_user_message("I like gardens.")
    starts = Starts()
    model = by_role({"express": [program(READ)]})
    kwargs = {"max_iterations": 7, "max_execution_time": 33, "return_intermediate_steps": True, "memory": memory}
    found = create_openapi_agent(
        reduced(),
        wrapper(),
        model,
        ReadOnlySharedMemory(memory=ConversationBufferMemory()),
        CallbackManager([starts], inheritable_handlers=[starts]),
        agent_executor_kwargs={**kwargs, "handle_parsing_errors": True},
        allow_dangerous_requests=True,
        base_url=board.server.url,
    )
    result = found.invoke({"input": "Which is project 1?"})
    assert "I like gardens." in model.texts[0]
    assert starts.count == 1
    [(action, observation)] = result["intermediate_steps"]
    assert action.tool == "api_controller"
    assert observation.startswith("Project 1 is Winter timetable.")
    assert [message.text for message in memory.chat_memory.messages][1:] == [
        "Which is project 1?",
        "Project 1 is Winter timetable.",
    ]


def test_an_argument_of_no_use_causes_a_warning(board: Board) -> None:
    with pytest.warns(UserWarning, match="no use for output_parser, trick of create_openapi_agent"):
        agent(board, READ, output_parser=None, agent_executor_kwargs={"trick": 1})


def threads(found: Any) -> int:
    return len({saved.config["configurable"]["thread_id"] for saved in found._saver.list(None)})


def test_only_instructions_that_wait_leave_checkpoints(board: Board) -> None:
    found = agent(board, READ)
    found.invoke("Which is project 1?")
    assert threads(found) == 0
    waiting = agent(board, MAKE)
    paused = waiting.invoke("Make the project Roof garden")
    assert threads(waiting) == 1
    waiting.resume(paused, approve=True)
    assert threads(waiting) == 0


def test_a_failed_instruction_leaves_no_checkpoint(board: Board) -> None:
    found = agent(board, "print(1 / 0)", program("print(2 / 0)"))
    with pytest.raises(AssertionError, match="nothing scripted"):
        found.invoke("Fail")
    assert threads(found) == 0


@pytest.mark.slow
def test_of_many_instructions_that_wait_the_newest_are_kept(board: Board) -> None:
    found = agent(board, MAKE, *[program(MAKE)] * (MOST_WAITING + 1))
    first, *_, last = [found.invoke("Make the project Roof garden") for _ in range(MOST_WAITING + 2)]
    assert threads(found) == MOST_WAITING
    with pytest.raises(ValueError, match="no actions"):
        found.resume(first, approve=True)
    assert found.resume(last, approve=True)["output"] == "Roof garden is made."


class Starts(BaseCallbackHandler):
    """Counts the calls of a chat model."""

    count = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.count += 1


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_tool", [False, True])
def test_in_a_graph_of_the_host_a_change_waits_as_elsewhere(board: Board, is_tool: bool, is_async: bool) -> None:
    """A pause of the host would run its node again, and the approval would be for what a model wrote the first time."""
    found = agent(board, MAKE)
    results: list[dict[str, Any]] = []

    @tool
    def team(text: str) -> None:
        """Ask the board."""
        results.append(found.invoke(text))

    @tool
    async def ateam(text: str) -> None:
        """Ask the board."""
        results.append(await found.ainvoke(text))

    def node(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        if is_tool:
            team.invoke({"text": "Make it"})
        else:
            results.append(found.invoke("Make it", config))
        return {}

    async def anode(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        if is_tool:
            await ateam.ainvoke({"text": "Make it"})
        else:
            results.append(await found.ainvoke("Make it", config))
        return {}

    builder = StateGraph(dict)
    builder.add_node("node", anode if is_async else node)
    builder.add_edge(START, "node")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "host"}}
    state = asyncio.run(graph.ainvoke({}, config)) if is_async else graph.invoke({}, config)
    assert "__interrupt__" not in (state or {})
    assert "Roof garden" in results[0]["output"]
    assert board.calls() == []
    assert found.resume(results[0], approve=True)["output"] == "Roof garden is made."


def test_a_function_that_approves_may_be_called_and_ask_in_a_graph_of_the_host(board: Board) -> None:
    found = agent(board, MAKE, approve=lambda action: bool(interrupt(action["args"])))

    def node(state: dict[str, Any]) -> dict[str, Any]:
        return {"answer": found.run("Make it")}

    builder = StateGraph(dict)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    [pause] = graph.invoke({}, {"configurable": {"thread_id": "host"}})["__interrupt__"]
    assert pause.value == {"body": {"name": "Roof garden"}}
    assert board.calls() == []

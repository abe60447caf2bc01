"""Guards what a prompt shows of functions that do not all fit, and the second look for those that it does not show."""

from typing import Any

import pytest
import yaml
from board import CALLS, TOY, Agent, Board, agent_of
from roles import by_role, call, end, functions, no_call, plan, program, prompts_of, select
from scripted import Reply

from restgpt.nodes.dialogue.knowledge import MAX_LOOKS
from restgpt.specs import Api, load_api
from restgpt_bench.worlds import CREDENTIAL

GERMAN = "Wieviele Aufgaben gibt es?"


def look(words: str) -> Reply:
    return {"thought": "", "calls": [], "answer": "", "look": words}


def wide(board: Board, count: int = 150) -> Api:
    """The API of the board, among many other operations that have nothing to do with it."""
    document = yaml.safe_load(TOY.read_bytes())
    for number in range(count):
        operation = {"summary": f"Rotate engine {number}", "responses": {"200": {"description": "."}}}
        document["paths"][f"/engines/e{number}/rotation"] = {"get": operation}
    return load_api(document, base_url=board.server.url, auth={"key": CREDENTIAL})


def agent(board: Board, script: dict[str, Any], **context: Any) -> Agent:
    given = {"operations_budget": 400, "functions_budget": 400, **context}
    return agent_of([wide(board)], by_role(script), context=given)


def selecting(board: Board, *replies: Reply, sub_task: str = "Rotate an engine", **more: Any) -> Agent:
    script = {"planner": [plan(sub_task), end("Done.")], "selector": list(replies), **more}
    return agent(board, script, **CALLS)


def said(agent: Agent, role: str, number: int) -> str:
    """The newest message of a role's prompt."""
    return str(prompts_of(agent.model, role)[number][-1].text)


def rules(agent: Agent, role: str) -> str:
    """The first message of a role's first prompt."""
    return str(prompts_of(agent.model, role)[0][0].text)


def test_a_selector_that_sees_all_operations_is_not_told_of_looks(board: Board) -> None:
    asked = board.one_task(selector=[no_call("No operation flies.")])
    asked.ask("Fly to the moon")
    assert len(prompts_of(asked.model, "selector")) == 1
    assert "`look`" not in rules(asked, "selector")
    assert asked.state["steps"][0]["result"] == "No operation flies."


def test_a_selector_that_finds_what_it_needs_is_asked_once(board: Board) -> None:
    asked = selecting(board, select("find_tasks"), sub_task="Find tasks", caller=[call({})], parser=["print(1)"])
    asked.ask("Find tasks")
    assert len(prompts_of(asked.model, "selector")) == 1
    assert "`look`" in rules(asked, "selector")


def test_the_selector_looks_with_its_own_words(board: Board) -> None:
    asked = selecting(
        board, look("find tasks of a person"), select("find_tasks"), caller=[call({})], parser=["print('24')"]
    )
    asked.ask("Turn the motor")
    assert "find_tasks:" not in rules(asked, "selector")
    assert "- find_tasks: GET /tasks" in said(asked, "selector", 1)
    assert board.calls() == ["GET /tasks 200"]


def test_the_selector_opens_the_map_and_chooses_by_method_and_path(board: Board) -> None:
    asked = selecting(
        board, look("/"), look("/projects"), select("GET /projects"), caller=[call({})], parser=["print('ok')"]
    )
    asked.ask("Turn the motor")
    assert "/engines +150" in said(asked, "selector", 1)
    assert "- list_projects: GET /projects" in said(asked, "selector", 2)
    assert asked.state["steps"][0]["api_plan"]["calls"][0]["operation"] == "list_projects"
    assert board.calls() == ["GET /projects 200"]


@pytest.mark.parametrize(
    "replies",
    [
        [no_call("No operation flies."), no_call("No operation flies, indeed.")],
        [{**no_call("It is 7."), "known": True}],  # type: ignore[dict-item]
    ],
    ids=["not known", "known from the background"],
)
def test_no_operation_is_accepted_after_a_look_or_if_the_background_says_it(board: Board, replies: list[Any]) -> None:
    asked = selecting(board, *replies)
    asked.ask("Turn the motor")
    assert ["/projects" in str(prompt[-1].text) for prompt in prompts_of(asked.model, "selector")[1:]] == [True] * (
        len(replies) - 1
    )
    assert asked.state["steps"][0]["result"] == replies[-1]["answer"]


def test_the_selector_must_decide_after_its_looks(board: Board) -> None:
    asked = selecting(board, *[look("a flying carpet")] * (MAX_LOOKS + 1), no_call("No operation flies."))
    asked.ask("Turn the motor")
    assert "You may look 0 more times." in said(asked, "selector", MAX_LOOKS)
    assert "nothing more can be shown" in said(asked, "selector", MAX_LOOKS + 1)
    assert asked.state["steps"][0]["result"] == "No operation flies."


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("überfällig verspätet", ["/engines +150"]),
        ("/project and /tasks", ["the map has no part '/project'; near: /projects", "- find_tasks: GET /tasks"]),
    ],
)
def test_unfit_words_open_the_map_and_a_wrong_part_names_the_nearest(board: Board, words: str, told: list[str]) -> None:
    asked = selecting(board, look(words), no_call("No operation."))
    asked.ask("Turn the motor")
    shown = said(asked, "selector", 1)
    assert [text in shown for text in told] == [True] * len(told)
    assert shown.startswith("<document-")


def test_a_sub_task_without_a_known_word_gets_the_map_in_the_place_of_the_list(board: Board) -> None:
    asked = selecting(board, no_call("No operation."), sub_task="Zähle überfällige Aufgaben")
    asked.ask(GERMAN)
    assert "/engines +150" in rules(asked, "selector")
    assert len(prompts_of(asked.model, "selector")) == 1


def test_the_planner_finds_functions_on_the_map(board: Board) -> None:
    replies = [functions("/"), functions("what is at /projects"), functions("`GET /tasks`")]
    asked = agent(board, {"express": [*replies, program("print(find_tasks()['total'])")]})
    assert asked.ask("Turn the motor")["answer"] == "24"
    assert "/engines +150" in said(asked, "express", 1)
    assert "list_projects(" in said(asked, "express", 2)
    assert "find_tasks(" in said(asked, "express", 3)
    assert said(asked, "express", 3).count("find_tasks") == 1


def test_the_planner_is_told_of_the_map_only_if_functions_are_hidden(board: Board) -> None:
    hidden = agent(board, {"express": [end("Fine.", fulfilled=False)]})
    hidden.ask("Rotate engine 7")
    assert "more functions; ask for them with `functions`" in rules(hidden, "express")
    assert "map of their paths" in rules(hidden, "express")
    whole = board.agent(by_role({"express": [end("Fine.", fulfilled=False)]}), context={})
    whole.ask("Rotate engine 7")
    assert "map of their paths" not in rules(whole, "express")


@pytest.mark.parametrize("instruction", [GERMAN, "タスクはいくつありますか", "Сколько задач?"])
def test_an_instruction_without_a_known_word_shows_the_planner_the_map(board: Board, instruction: str) -> None:
    asked = agent(board, {"express": [functions("Aufgaben zählen"), end("Fine.", fulfilled=False)]})
    asked.ask(instruction)
    assert "/engines +150" in rules(asked, "express").partition("# The functions")[2]
    assert "/engines +150" in said(asked, "express", 1)


MANY = "\n/engines\n/engines/e0/rotation GET\n/engines/e1/rotation GET\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "get_task and /engines/e7, /tasks and /engines",
            ["get_task(", "find_tasks(", "get_engines_e7_rotation(", MANY],
        ),
        ("get_task, GET /project", ["get_task(", "the map has no part '/project'; near: /projects"]),
    ],
)
def test_one_look_of_the_planner_may_name_functions_and_parts(board: Board, words: str, told: list[str]) -> None:
    asked = agent(board, {"express": [functions(words), end("Fine.", fulfilled=False)]})
    asked.ask("Turn the motor")
    shown = said(asked, "express", 1)
    assert [text in shown for text in told] == [True] * len(told)


def test_no_look_shows_functions_that_an_earlier_one_has_shown(board: Board) -> None:
    replies = [functions("get_task"), functions("get a task, find tasks"), functions("tasks to find or get")]
    asked = agent(board, {"express": [*replies, end("Fine.", fulfilled=False)]})
    asked.ask("Turn the motor")
    shown = [said(asked, "express", number) for number in (1, 2, 3)]
    assert [text.count("\nget_task(") + text.count("\nfind_tasks(") for text in shown] == [1, 1, 0]
    assert shown[0].count("\nget_task(") == 1


def test_a_function_is_shown_once_more_where_its_documentation_says_more(board: Board) -> None:
    document = yaml.safe_load(TOY.read_bytes())
    for wood in ("alder", "birch", "cedar", "ebony", "juniper", "maple", "pine", "rowan", "spruce", "teak", "yew"):
        drawer = {"name": f"{wood[:2]}_drawer", "in": "query", "schema": {"type": "string"}}
        drawer["description"] = f"Takes a note about the things that are kept in the drawer which is made of {wood}."
        document["paths"]["/tasks"]["get"]["parameters"].append(drawer)
    model = by_role({"express": [functions("find_tasks"), functions("find_tasks now"), end("No.", fulfilled=False)]})
    asked = agent_of([load_api(document, base_url=board.server.url)], model)
    asked.ask("Turn the motor")
    assert "made of yew" not in rules(asked, "express")
    assert "made of yew" in said(asked, "express", 1)
    assert "All functions that fit are shown above." in said(asked, "express", 2)


def _operation(name: str, summary: str, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "summary": summary, "responses": {"200": {"description": "ok"}}, **more}


def _parameter(name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}


def orchard() -> Api:
    """An API about trees, pickers and baskets among many bolts."""
    graft = {"type": "object", "required": ["pickerId"], "properties": {"note": {}, "pickerId": {"type": "string"}}}
    body = {"required": True, "content": {"application/json": {"schema": graft}}}
    tree = [_parameter("season", "query"), _parameter("treeId", "path")]
    paths: dict[str, Any] = {
        "/trees/{treeId}/grafts": {"post": _operation("graft", "Graft a tree", parameters=tree, requestBody=body)},
        "/trees": {"get": _operation("all_trees", "List trees")},
        "/pickers": {"get": _operation("all_pickers", "List the people who pick")},
        "/baskets": {"get": _operation("all_baskets", "List baskets of the harvest")},
    }
    for number in range(60):
        paths[f"/bolts/b{number}"] = {"get": _operation(f"bolt_{number}", f"Show the tree bolt {number}")}
    document = {"openapi": "3.1.0", "info": {"title": "Orchard", "version": "1"}, "paths": paths}
    return load_api(document, base_url="http://127.0.0.1:9")


def shown(*wishes: str, instruction: str = "Graft the tree Bramley", budget: int = 800) -> list[str]:
    """The functions of the first prompt, and the answer to each wish."""
    model = by_role({"express": [*map(functions, wishes), end("No.", fulfilled=False)]})
    context = {"functions_budget": budget, "operations_budget": 400}
    agent_of([orchard()], model, context=context).ask(instruction)
    first, *later = prompts_of(model, "express")
    return [str(first[0].text).partition("# The functions")[2], *(str(prompt[-1].text) for prompt in later)]


def test_what_the_instruction_names_is_shown_in_full_with_what_gives_its_ids() -> None:
    full, _, names = shown()[0].partition("With the names of their arguments only")
    for name in ("graft(treeId*: str, season: str, body*: {pickerId*: str, note: any})", "all_trees(", "all_pickers("):
        assert name in full
        assert name.partition("(")[0] not in names


def test_other_functions_are_shown_with_the_names_of_their_arguments() -> None:
    full, _, names = shown(instruction="Which bolt of a tree is loose?")[0].partition("With the names of")
    assert "graft(" not in full
    assert "\n- graft(treeId*, season, body* {pickerId*, note})" in names


def test_each_wish_for_functions_is_answered() -> None:
    answer = shown("list baskets; list hubs and list the trees")[1]
    assert "\nall_baskets(" in answer
    assert "Nothing fits `list hubs`." in answer
    assert "`list the trees`: all_trees is shown above." in answer


def test_a_wish_that_nothing_fits_names_the_nearest_functions() -> None:
    assert "Nothing fits `list the weather of the picker`" not in shown("list the weather of the picker")[1]
    assert "Nothing fits `create a hub`; nearest: all_pickers." in shown("create a hub")[1]
    assert "Nothing fits `all hubs`; nearest: all_baskets." in shown("all hubs")[1]


def test_the_same_wish_again_shows_further_functions_until_there_are_none() -> None:
    first, second = shown("show the bolt", "Show  the bolt")[1:]
    assert "\nbolt_" in first
    assert "\nbolt_" in second
    assert not {line for line in first.split("\n") if line.startswith("bolt_")} & set(second.split("\n"))
    assert "All functions that fit are shown above." in shown("list baskets", "list baskets")[2]


def test_what_stands_in_brackets_is_no_wish_of_its_own() -> None:
    [_, text] = shown("list the trees (with Date, Size), list baskets")
    assert "Date" not in text.partition("Nothing fits")[2]
    assert "Nothing fits" not in text

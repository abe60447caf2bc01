"""Guards runs of recipes: no model, the same requests on the same road, and a stop where the API has changed."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from board import TOY, Agent, Board, agent_of
from kitchen import Kitchen
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pair import Pair
from programs import FailingClient
from roles import by_role, end, program, prompts_of
from scripted import ScriptedModel

from recipes import ADD, CREATED, INPUTS, LISTED, operation_of, recipe
from restgpt.calling.journal import Journal
from restgpt.calling.undo import reversals
from restgpt.graph.recipe_graph import build_recipe
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.recipe_run import recipe_record
from restgpt.recipes.book import RecipeBook
from restgpt.recipes.recipe import Recipe, RecipeInputError
from restgpt.specs import Catalogue, load_api
from restgpt.tools.errors import ConnectFault
from restgpt.tools.http.http_client import HttpClient

GIVEN = {"project": "Winter timetable", "title": "Buy soil"}
DONE = "Added Buy soil to Winter timetable."
ADDED = ["GET /projects 200", "POST /projects/{project_id}/tasks 201"]
APPROVE: Any = Command(resume={"decisions": [{"type": "approve"}]})


def requests_of(board: Board) -> list[Any]:
    return [(entry.method, entry.path, entry.query, json.dumps(entry.body)) for entry in board.world.log]


def test_a_recipe_runs_without_any_model(board: Board) -> None:
    kitchen = Kitchen(recipe(board.api), board)
    done = kitchen.run(GIVEN, writes="allow")
    assert done["answer"] == DONE
    assert done["usage"]["roles"] == {}
    assert board.calls() == ADDED


def test_a_recipe_sends_the_requests_of_the_program_that_it_was_saved_from(board: Board) -> None:
    literal = ADD.replace("inputs['project']", "'Winter timetable'").replace('inputs["project"]', '"Winter timetable"')
    literal = literal.replace('inputs["title"]', '"Buy soil"')
    agent = board.agent(ScriptedModel([program(literal)]), context={"road": "program", "writes": "allow"})
    agent.ask("Add the task Buy soil to Winter timetable")
    first = requests_of(board)
    Kitchen(recipe(board.api), board).run(GIVEN, writes="allow")
    assert requests_of(board) == [*first, *first]


def test_a_run_waits_for_approval_and_is_resumed_in_another_graph_object(board: Board) -> None:
    kitchen = Kitchen(recipe(board.api), board)
    [pause] = kitchen.run(GIVEN)["__interrupt__"]
    assert pause.value["program"]["calls"][0]["line"] == 4
    assert "The model says" not in pause.value["action_requests"][0]["description"]
    assert board.calls() == ADDED[:1]
    assert kitchen.run(APPROVE)["answer"] == DONE
    assert board.calls() == ADDED


def test_a_run_goes_on_with_the_recipe_that_it_began_with(board: Board) -> None:
    kitchen = Kitchen(recipe(board.api), board)
    kitchen.run(GIVEN)
    edited = recipe(board.api, ADD.replace("Added", "Put"))
    assert kitchen.run(APPROVE, edited)["answer"] == DONE


def test_a_refused_change_ends_the_run_with_nothing_changed(board: Board) -> None:
    kitchen = Kitchen(recipe(board.api), board)
    kitchen.run(GIVEN)
    done = kitchen.run(Command(resume={"decisions": [{"type": "reject", "message": "Not now."}]}))
    assert "Not now." in done["answer"]
    assert "Nothing was changed." in done["answer"]
    assert kitchen.state["decision"]["fulfilled"] is False
    assert board.calls() == ADDED[:1]


@pytest.mark.parametrize("number", [1, 2])
def test_a_run_that_a_fault_stopped_in_the_sender_goes_on_where_it_was(board: Board, number: int) -> None:
    kitchen = Kitchen(recipe(board.api), board, services=Services([board.api], http=FailingClient(number)))
    with pytest.raises(ConnectFault):
        kitchen.run(GIVEN, writes="allow")
    assert kitchen.run(None, writes="allow")["answer"] == DONE
    assert board.calls() == ADDED


def test_the_changes_of_a_recipe_can_be_undone(board: Board) -> None:
    kitchen = Kitchen(recipe(board.api), board)
    kitchen.run(GIVEN, writes="allow")
    [found] = reversals(Journal(kitchen.store, "thread"), Catalogue([board.api]))
    assert found.draft is not None
    assert found.draft.name == "delete_task"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "The input project is missing"),
        ({"project": 4}, "The input project is wrong: 4 is not of type 'string'."),
        ({**GIVEN, "projekt": "x"}, "has no input"),
        ("Winter timetable", "must be an object"),
    ],
)
def test_wrong_inputs_stop_the_run_before_anything_is_sent(board: Board, given: Any, told: str) -> None:
    kitchen = Kitchen(recipe(board.api), board)
    with pytest.raises(RecipeInputError, match=told):
        kitchen.run(given, writes="allow")
    assert board.calls() == []
    assert kitchen.run(GIVEN, writes="allow")["answer"] == DONE


def test_an_input_that_is_not_given_has_its_default(board: Board) -> None:
    assert Kitchen(recipe(board.api), board).run({"project": "Winter timetable"}, writes="allow")["answer"] == DONE


def test_a_stop_of_the_program_says_that_nothing_was_changed_and_what_to_do(board: Board) -> None:
    kitchen = Kitchen(recipe(board.api), board)
    answer = kitchen.run({"project": "Moss"}, writes="allow")["answer"]
    for told in ("There is no project Moss.", "Nothing was changed.", "--heal"):
        assert told in answer
    assert kitchen.state["decision"]["fulfilled"] is False


def test_a_document_without_the_operation_stops_the_run_before_anything_is_sent(board: Board) -> None:
    moved = {**operation_of(board.api, CREATED), "path": "/boards/{board_id}/tasks"}
    made = recipe(board.api, operations=[operation_of(board.api, LISTED), moved])
    kitchen = Kitchen(made, board)
    answer = kitchen.run(GIVEN, writes="allow")["answer"]
    assert "there is no function create_task" in answer
    assert "Nothing was changed." in answer
    assert board.calls() == []


def test_a_function_that_has_another_name_today_is_found_by_its_method_and_path(board: Board) -> None:
    renamed = {**operation_of(board.api, CREATED), "function": "add_a_task"}
    code = ADD.replace("create_task", "add_a_task")
    made = recipe(board.api, code, operations=[operation_of(board.api, LISTED), renamed])
    kitchen = Kitchen(made, board)
    assert kitchen.run(GIVEN, writes="allow")["answer"] == DONE
    assert [item["place"]["function"] for item in kitchen.state["requests"]] == ["list_projects", "add_a_task"]


def test_an_argument_that_is_gone_stops_the_run_before_anything_is_sent(board: Board) -> None:
    code = ADD.replace("project_id=", "number=")
    answer = Kitchen(recipe(board.api, code), board).run(GIVEN, writes="allow")["answer"]
    assert "number" in answer
    assert board.calls() == []


def with_other_key(board: Board, function: str) -> Recipe:
    kept = {name: operation_of(board.api, name) for name in (LISTED, CREATED)}
    return recipe(board.api, operations=[*{**kept, function: {**kept[function], "key": "another"}}.values()])


def test_a_read_that_is_described_otherwise_goes_on_and_the_report_says_so(board: Board) -> None:
    answer = Kitchen(with_other_key(board, LISTED), board).run(GIVEN, writes="allow")["answer"]
    assert answer == f"{DONE}\n(The document describes list_projects otherwise than when the recipe was saved.)"
    assert board.calls() == ADDED


@pytest.mark.parametrize("writes", ["allow", "ask"])
def test_a_change_that_is_described_otherwise_is_asked_about_with_the_reason(board: Board, writes: str) -> None:
    kitchen = Kitchen(with_other_key(board, CREATED), board)
    [pause] = kitchen.run(GIVEN, writes=writes)["__interrupt__"]
    told = "The document describes this operation otherwise than when the recipe was saved."
    assert told in pause.value["action_requests"][0]["description"]
    assert board.calls() == ADDED[:1]
    assert kitchen.run(APPROVE, writes=writes)["answer"] == DONE
    assert board.calls() == ADDED


def test_no_change_that_is_described_otherwise_goes_past_a_ban(board: Board) -> None:
    kitchen = Kitchen(with_other_key(board, CREATED), board)
    kitchen.run(GIVEN, writes="deny")
    assert kitchen.state["requests"][-1]["status"] == "rejected"
    assert board.calls() == ADDED[:1]


def test_changes_that_were_all_refused_are_not_said_to_be_undone(board: Board) -> None:
    code = "list_projects()\ncreate_task(project_id=9999, body={'title': inputs['title']})"
    kitchen = Kitchen(recipe(board.api, code), board)
    kitchen.run(GIVEN)
    answer = kitchen.run(APPROVE)["answer"]
    assert "The API refused them." in answer
    assert "restgpt undo" not in answer


def test_an_error_of_the_program_after_a_change_names_the_change(board: Board) -> None:
    answer = Kitchen(recipe(board.api, f"{ADD}\nprint(1 / 0)"), board).run(GIVEN, writes="allow")["answer"]
    for told in ("stopped after it had sent changes", "division by zero", "create_task", "`restgpt undo thread`"):
        assert told in answer
    assert "--heal" not in answer


@pytest.mark.parametrize(
    ("own", "of_run", "status"),
    [("deny", "allow", "rejected"), ("dry-run", "allow", "held"), ("allow", "ask", "asked")],
)
def test_a_file_can_make_a_run_stricter_and_not_looser(board: Board, own: Any, of_run: Any, status: str) -> None:
    kitchen = Kitchen(recipe(board.api, writes=own), board)
    assert ("__interrupt__" in kitchen.run(GIVEN, writes=of_run)) == (of_run == "ask")
    assert kitchen.state["requests"][-1]["status"] == status
    assert board.calls() == ADDED[:1]


def test_two_runs_in_one_thread_have_their_own_inputs(board: Board) -> None:
    kitchen = Kitchen(recipe(board.api), board)
    kitchen.run(GIVEN, writes="allow")
    assert kitchen.run({**GIVEN, "title": "Dig"}, writes="allow")["answer"] == "Added Dig to Winter timetable."


def test_a_client_sees_the_inputs_of_a_recipe_in_the_schema_of_its_graph(board: Board) -> None:
    schema = build_recipe(recipe(board.api), [board.api]).get_input_jsonschema()
    assert schema["properties"]["inputs"]["properties"] == INPUTS["properties"]


def test_the_runs_of_a_recipe_are_kept_in_a_database(board: Board, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "runs.db", check_same_thread=False) as connection:
        saver, store = SqliteSaver(connection), InMemoryStore()
        config: Any = {"configurable": {"thread_id": "thread"}}
        first = build_recipe(recipe(board.api), [board.api], checkpointer=saver, store=store)
        first.invoke({"inputs": GIVEN}, config)
        second = build_recipe(recipe(board.api), [board.api], checkpointer=saver, store=store)
        assert second.invoke(APPROVE, config)["answer"] == DONE


def test_two_runs_of_a_recipe_at_once_do_not_disturb_each_other(board: Board) -> None:
    graph = build_recipe(recipe(board.api), [board.api], context={"writes": "allow"})
    outputs = asyncio.run(graph.abatch([{"inputs": {**GIVEN, "title": title}} for title in ("Dig", "Sow")]))
    assert [output["answer"] for output in outputs] == [DONE.replace("Buy soil", title) for title in ("Dig", "Sow")]


# The agent's graph.


def given(made: Recipe, *, heals: bool = False, **inputs: Any) -> dict[str, Any]:
    return {"recipe": recipe_record(made, {**GIVEN, **inputs}, heals=heals)}


def agent_of_board(board: Board, *replies: Any, **context: Any) -> Agent:
    return board.agent(by_role({"express": list(replies)}), context={"road": "program", **context})


def test_the_agent_runs_a_recipe_without_asking_its_model(board: Board) -> None:
    agent = agent_of_board(board, writes="allow")
    assert agent.ask(given(recipe(board.api)))["answer"] == DONE
    assert agent.model.prompts == []
    assert agent.state["instruction"].startswith("Run the recipe add-task with project = ")


def test_the_next_instruction_of_the_thread_is_not_the_recipe_again(board: Board) -> None:
    agent = agent_of_board(board, end("Hello."), writes="allow")
    agent.ask(given(recipe(board.api)))
    assert agent.ask("Say hello")["answer"] == "Hello."
    assert agent.state["recipe"] is None
    assert board.calls() == ADDED


def test_wrong_inputs_of_one_turn_do_not_stop_the_next(board: Board) -> None:
    agent = agent_of_board(board, end("Hello."))
    record = given(recipe(board.api))
    record["recipe"]["inputs"] = {"project": 4}
    with pytest.raises(RecipeInputError):
        agent.ask(record)
    assert agent.ask("Say hello")["answer"] == "Hello."
    assert board.calls() == []


def test_a_recipe_of_another_form_or_no_record_is_refused(board: Board) -> None:
    record = given(recipe(board.api))
    record["recipe"]["recipe"] = {**record["recipe"]["recipe"], "operations": [{"function": "x"}]}
    with pytest.raises(RuntimeError, match=r"operations\.0\.api"):
        agent_of_board(board).ask(record)
    with pytest.raises(ValueError, match="recipe"):
        agent_of_board(board).ask({"recipe": "add-task"})


def test_the_planner_goes_on_where_a_recipe_stops_before_its_change(board: Board) -> None:
    corrected = 'print(create_task(project_id=rows(list_projects())[0]["id"], body={"title": "Buy soil"})["title"])'
    agent = agent_of_board(board, program(corrected), writes="allow")
    made = recipe(board.api)
    assert agent.ask(given(made, heals=True, project="Winter time"))["answer"] == "Buy soil"
    [prompt] = prompts_of(agent.model, "express")
    shown = str(prompt[-1].text)
    assert "There is no project Winter time." in shown
    assert '"project": "Winter time"' in shown
    assert "Shapes of the responses, with values of their first items:" in shown
    assert json.loads(str(prompt[-2].text))["text"] == made.program.strip()
    assert "find_tasks(" in str(prompt[0].text)
    # The planner's program gets the answer that the recipe had read.
    assert board.calls() == ADDED


def test_only_a_run_that_a_model_can_heal_compares_answers_with_their_schemas(board: Board) -> None:
    stricter = TOY.read_text().replace("name: {type: string}", "name: {type: string, maxLength: 3}", 1)
    board.api = load_api(stricter.encode(), base_url=board.server.url, auth=board.api.auth, name=board.api.name)
    made = recipe(board.api, "print(len(rows(list_projects())))", (LISTED,))
    found = []
    for heals in (True, False):
        agent = agent_of_board(board)
        agent.ask(given(made, heals=heals))
        [step] = agent.graph.get_state(agent.config).values["steps"]
        found.append(step["requests"][0]["response"]["notices"])
    assert "the response differs from its documented schema at /items/0/name" in found[0][0]
    assert found[1] == []


def test_a_read_of_a_renamed_function_is_not_made_again(board: Board) -> None:
    renamed = {**operation_of(board.api, LISTED), "function": "all_projects"}
    code = ADD.replace("list_projects", "all_projects")
    made = recipe(board.api, code, operations=[renamed, operation_of(board.api, CREATED)])
    agent = agent_of_board(board, program("print(len(rows(list_projects())))"), writes="allow")
    assert agent.ask(given(made, heals=True, project="No such"))["answer"] == "4"
    assert board.calls() == ADDED[:1]


def test_a_document_without_the_operation_brings_in_the_planner(board: Board) -> None:
    moved = {**operation_of(board.api, CREATED), "path": "/boards/{board_id}/tasks"}
    made = recipe(board.api, operations=[operation_of(board.api, LISTED), moved])
    agent = agent_of_board(board, end("I cannot.", fulfilled=False))
    assert agent.ask(given(made, heals=True))["answer"] == "I cannot."
    assert "there is no function create_task" in str(prompts_of(agent.model, "express")[0][-1].text)


def test_the_planner_does_not_go_on_after_a_change(board: Board) -> None:
    agent = agent_of_board(board, writes="allow")
    answer = agent.ask(given(recipe(board.api, f"{ADD}\nprint(1 / 0)"), heals=True))["answer"]
    assert "stopped after it had sent changes" in answer
    assert agent.model.prompts == []


def test_the_planner_does_not_go_on_after_a_refusal(board: Board) -> None:
    agent = agent_of_board(board)
    agent.ask(given(recipe(board.api), heals=True))
    done = agent.ask(Command(resume={"decisions": [{"type": "reject", "message": "Not now."}]}))
    assert "Not now." in done["answer"]
    assert "Nothing was changed." in done["answer"]
    assert agent.model.prompts == []
    assert board.calls() == ADDED[:1]


def test_a_recipe_that_stops_without_healing_ends_the_turn_of_the_agent(board: Board) -> None:
    agent = agent_of_board(board)
    assert "Nothing was changed." in agent.ask(given(recipe(board.api), project="Moss"))["answer"]
    assert agent.model.prompts == []


# The planner's choice.


def choosing(board: Board, *replies: Any, recipes: Any = None, **context: Any) -> Agent:
    model = by_role({"express": list(replies)})
    services = Services([board.api], model=model, recipes=[recipe(board.api)] if recipes is None else recipes)
    return agent_of(None, model, services=services.with_defaults(writes="allow", **context))


def choice(name: str = "add-task", **inputs: Any) -> dict[str, str]:
    text = json.dumps({"recipe": name, "inputs": inputs or GIVEN})
    return {"thought": "", "decision": "recipe", "text": text}


ASKED = "Add the task Buy soil to the project Winter timetable"


def test_the_planner_can_choose_a_recipe_with_one_model_call(board: Board) -> None:
    agent = choosing(board, choice())
    assert agent.ask(ASKED)["answer"] == DONE
    [prompt] = agent.model.prompts
    assert "- add-task(project*: string, title: string): Adds a task to a project." in str(prompt[0].text)
    assert agent.state["program"]["writer"] == "recipe"


def test_without_recipes_the_prompt_is_as_it_was(board: Board) -> None:
    with_none, plain = choosing(board, end("Hello."), recipes=[]), agent_of_board(board, end("Hello."))
    with_none.ask("Say hello")
    plain.ask("Say hello")
    assert with_none.model.texts == plain.model.texts


def test_a_folder_of_recipes_that_cannot_be_read_stops_no_run(board: Board, tmp_path: Path) -> None:
    (tmp_path / "recipes").write_text("no folder", encoding="utf-8")
    agent = choosing(board, end("Hello."), recipes=RecipeBook(tmp_path / "recipes"))
    assert agent.ask("Say hello")["answer"] == "Hello."


def test_a_recipe_of_another_api_is_not_shown(board: Board) -> None:
    other = recipe(board.api, apis=[{"name": "elsewhere"}], operations=[])
    agent = choosing(board, end("Hello."), recipes=[other])
    agent.ask("Say hello")
    assert "Recipes" not in agent.model.texts[0]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (choice("add-tasks"), "there is no recipe 'add-tasks'. The recipes are: add-task."),
        (choice(title="Buy soil"), "The input project is missing"),
        ({"thought": "", "decision": "recipe", "text": "add-task"}, "it is a JSON object like"),
    ],
)
def test_a_wrong_choice_comes_back_to_the_model(board: Board, wrong: Any, told: str) -> None:
    agent = choosing(board, wrong, choice())
    assert agent.ask(ASKED)["answer"] == DONE
    assert told in str(agent.model.prompts[1][-1].text)


def test_inputs_that_the_planner_chose_are_not_the_users_words(board: Board) -> None:
    code = 'print(delete_task(task_id=inputs["task"]))'
    inputs = {"type": "object", "properties": {"task": {"type": "integer"}}, "required": ["task"]}
    made = recipe(board.api, code, ("delete_task",), inputs=inputs)
    chosen = choosing(board, choice(task=101), recipes=[made])
    [pause] = chosen.ask("Delete a task")["__interrupt__"]
    assert "In the path, task_id is in nothing" in pause.value["action_requests"][0]["description"]
    assert board.calls() == ["GET /tasks/{task_id} 200"]
    kitchen = Kitchen(made, board)
    kitchen.run({"task": 101}, writes="allow")
    assert board.calls()[-1] == "DELETE /tasks/{task_id} 204"
    assert kitchen.state["requests"][0]["provenance"][0]["origin"] == "user"


def test_a_chosen_recipe_that_stops_brings_the_planner_back(board: Board) -> None:
    agent = choosing(board, choice(project="Moss"), end("There is no Moss.", fulfilled=False))
    assert agent.ask("Add the task Buy soil to the project Moss")["answer"] == "There is no Moss."
    assert "# Recipes" not in agent.model.texts[1]


# Two APIs.


@pytest.mark.parametrize("sources", [(), ("crm",)])
def test_values_of_one_api_go_to_another_only_with_leave(pair: Pair, sources: tuple[str, ...]) -> None:
    operations = [operation_of(pair.crm, "get_customer"), operation_of(pair.collector, "find_items")]
    made = recipe(
        pair.crm,
        'find_items(q=get_customer(customer=inputs["customer"])["city"])\nprint("Found.")',
        apis=[{"name": "crm"}, {"name": "collector"}],
        inputs={"type": "object", "properties": {"customer": {"type": "integer"}}},
        operations=operations,
    )
    settings = pair.settings(sources)
    services = Services([pair.crm, pair.collector], settings=settings, http=HttpClient(settings=settings))
    graph = build_recipe(made, services=services, checkpointer=InMemorySaver(), store=InMemoryStore())
    config: Any = {"configurable": {"thread_id": "thread"}}
    done = graph.invoke({"inputs": {"customer": 7}}, config)
    assert ("__interrupt__" in done) is not bool(sources)
    if not sources:
        assert pair.paths == []
        done = graph.invoke(APPROVE, config)
    assert done["answer"] == "Found."
    assert pair.paths == ["GET /items?q=Turin"]

"""Guards the saving of runs: good programs become recipes that repeat them, and what cannot be saved says why."""

from collections.abc import Iterator
from typing import Any

import pytest
from board import Board, served_board
from goodprograms import COUNT, GARDEN, GOOD, RENAME, SAVE_ALBUM, Good
from goodrun import good_run, world_run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from programs import decide, programmer, worker
from roles import by_role, call, end, no_call, plan, select

from restgpt.graph.recipe_graph import build_recipe
from restgpt.nodes.run.services import Services
from restgpt.nodes.saved_run import NotSavableError, save_run
from restgpt.recipes.recipe import Recipe
from restgpt_bench.worlds import CREDENTIAL


@pytest.fixture
def board() -> Iterator[Board]:
    with served_board() as served:
        yield served


def saved(board: Board, agent: Any, **options: Any) -> Recipe:
    given = {"name": "saved", "store": agent.graph.store, "thread": "thread", **options}
    return save_run(agent.state, Services([board.api]), **given)


def refusal(board: Board, agent: Any, **options: Any) -> str:
    with pytest.raises(NotSavableError) as caught:
        saved(board, agent, **options)
    return str(caught.value)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("good", GOOD, ids=lambda good: good.instruction)
def test_a_good_program_becomes_a_recipe_with_the_values_of_the_user_as_its_inputs(good: Good) -> None:
    with good_run(good) as run:
        recipe = run.saved()
    assert recipe.examples == good.inputs
    called = {request["operation"] for step in run.state["steps"] for request in step["requests"]}
    assert {used.function for used in recipe.operations} == called
    assert not any(f'"{value}"' in recipe.program for value in good.inputs.values() if isinstance(value, str))


def test_the_recipe_names_its_operations_and_what_the_user_had_asked_for() -> None:
    with good_run(COUNT) as run:
        recipe = run.saved()
    assert [(used.function, used.method, used.path) for used in recipe.operations] == [
        ("search_person", "GET", "/search/person"),
        ("person_movie_credits", "GET", "/person/{person_id}/movie_credits"),
    ]
    assert recipe.saved.instruction == "How many movies did Satyajit Ray direct?"
    assert recipe.description == "How many movies did {query} direct?"


def test_a_recipe_can_be_written_and_read_again() -> None:
    with good_run(GARDEN) as run:
        recipe = run.saved(description="Make a project.")
    assert Recipe.model_validate(recipe.to_json()) == recipe
    assert recipe.description == "Make a project."


def test_a_report_that_depends_on_no_answer_is_not_saved() -> None:
    with world_run("tmdb") as run:
        run.ask(
            "How many movies did Satyajit Ray direct?",
            'person = search_person(query="Satyajit Ray")["results"][0]\n'
            'person_movie_credits(person_id=person["id"])\nprint("He directed 14 movies.")',
        )
        with pytest.raises(NotSavableError, match="depends on no response"):
            run.saved()


def test_a_report_of_a_change_may_be_constant(board: Board) -> None:
    agent = programmer(board, 'create_task(project_id=1, body={"title": "Chairs"})\nprint("Done.")', writes="allow")
    agent.ask("Add the task Chairs to project 1")
    assert saved(board, agent).examples == {"project_id": 1, "title": "Chairs"}


def test_a_paused_run_is_not_saved(board: Board) -> None:
    agent = programmer(board, 'create_task(project_id=1, body={"title": "Chairs"})\nprint("Done.")')
    agent.ask("Add the task Chairs to project 1")
    assert "paused: a request waits for a decision" in refusal(board, agent)


def test_a_run_that_failed_is_not_saved(board: Board) -> None:
    agent = programmer(board, 'stop("There is no such project.")', end("I could not.", fulfilled=False))
    agent.ask("Add the task Chairs to project 1")
    assert "its program stopped" in refusal(board, agent)


def test_a_run_whose_change_was_rejected_is_not_saved(board: Board) -> None:
    code = (
        'list_projects()\ntry:\n    create_task(project_id=1, body={"title": "Chairs"})\n'
        'except Rejected:\n    print("Not made.")'
    )
    agent = programmer(board, code, end("It was not made."))
    agent.ask("Add the task Chairs to project 1")
    decide(agent, {"type": "reject", "message": "not today"})
    assert "create_task was rejected. The user rejected it. not today" in refusal(board, agent)


def test_a_run_with_values_that_a_person_edited_is_not_saved(board: Board) -> None:
    agent = programmer(board, 'create_task(project_id=1, body={"title": "Chairs"})\nprint("Done.")')
    agent.ask("Add the task Chairs to project 1")
    other = {"name": "create_task", "args": {"path": {"project_id": 1}, "body": {"title": "Benches"}}}
    decide(agent, {"type": "edit", "edited_action": other})
    assert "A person edited the arguments of create_task" in refusal(board, agent)


def test_a_run_of_which_an_answer_is_not_kept_any_more_is_not_saved(board: Board) -> None:
    agent = programmer(board, 'print(get_project(project_id=1)["name"])')
    agent.ask("What is project 1 called?")
    for item in agent.graph.store.search(("restgpt", "bodies")):  # type: ignore[union-attr]
        agent.graph.store.delete(item.namespace, item.key)  # type: ignore[union-attr]
    assert "The response to get_project is not kept any more" in refusal(board, agent)


def test_the_newest_turn_is_saved(board: Board) -> None:
    agent = programmer(board, 'print(get_project(project_id=1)["name"])', 'print(get_project(project_id=2)["name"])')
    agent.ask("What is project 1 called?")
    agent.ask("What is project 2 called?")
    assert saved(board, agent).examples == {"project_id": 2}


def test_a_dry_run_that_ended_before_its_end_is_not_saved(board: Board) -> None:
    code = 'made = create_project(body={"name": "Garden"})\ncreate_task(project_id=made["id"], body={"title": "Soil"})'
    agent = programmer(board, code, writes="dry-run")
    agent.ask("Make the project Garden with the task Soil")
    assert "a dry run that ended where it needed a response" in refusal(board, agent)


def test_a_dry_run_that_came_to_its_end_is_saved_and_asks_when_it_runs(board: Board) -> None:
    code = 'create_task(project_id=1, body={"title": "Chairs"})\nprint("Made.")'
    agent = programmer(board, code, writes="dry-run")
    agent.ask("Add the task Chairs to project 1")
    recipe = saved(board, agent)
    assert recipe.examples == {"project_id": 1, "title": "Chairs"}
    assert recipe.writes == "ask"


def test_a_known_secret_never_reaches_a_recipe(board: Board) -> None:
    code = f'create_task(project_id=1, body={{"title": "{CREDENTIAL}"}})\nprint("Made.")'
    agent = programmer(board, code, writes="allow")
    agent.ask(f"Add the task {CREDENTIAL} to project 1")
    assert "secret" in refusal(board, agent)


def test_a_corrected_program_that_took_the_changes_of_the_first_is_saved(board: Board) -> None:
    first = 'made = create_task(project_id=1, body={"title": "Chairs"})\nprint(len(made["title"]) / 0)'
    second = 'made = create_task(project_id=1, body={"title": "Chairs"})\nprint("Made", made["title"])'
    agent = programmer(board, first, second, writes="allow")
    agent.ask("Add the task Chairs to project 1")
    recipe = saved(board, agent)
    assert recipe.examples == {"project_id": 1, "title": "Chairs"}
    assert [used.function for used in recipe.operations] == ["create_task"]


def test_the_functions_of_a_branch_that_the_run_did_not_take_are_operations_too(board: Board) -> None:
    code = """\
try:
    made = create_task(project_id=1, body={"title": "Chairs"})
except ApiError:
    made = one(list_project_tasks(project_id=1)["items"], title="Chairs")
print("Made", made["title"])"""
    agent = programmer(board, code, writes="allow")
    agent.ask("Add the task Chairs to project 1")
    recipe = saved(board, agent)
    assert [used.function for used in recipe.operations] == ["create_task", "list_project_tasks"]


def test_a_corrected_program_without_a_change_of_the_first_is_not_saved(board: Board) -> None:
    first = 'made = create_task(project_id=1, body={"title": "Chairs"})\nprint(len(made["title"]) / 0)'
    second = 'made = create_task(project_id=2, body={"title": "Chairs"})\nprint("Made", made["title"])'
    agent = programmer(board, first, second, writes="allow")
    agent.ask("Add the task Chairs to the projects 1 and 2")
    assert "an earlier program made the change create_task" in refusal(board, agent)


def test_the_program_of_a_sub_task_is_saved_where_its_report_is_the_answer(board: Board) -> None:
    last: Any = {**plan("Add the task"), "last": True}  # type: ignore[dict-item]
    agent = worker(
        board,
        'made = create_task(project_id=1, body={"title": "Chairs"})\nprint("Made", made["title"])',
        planner=[last],
        selector=[no_call("Nothing to look up."), select("create_task")],
    )
    agent.ask("Add the task Chairs to project 1", writes="allow")
    assert saved(board, agent).examples == {"project_id": 1, "title": "Chairs"}


def by_calls(board: Board, calls: list[tuple[str, dict[str, Any]]], answer: str) -> Any:
    """An agent that makes each call as a sub-task of its own, and words an answer."""
    script = {
        "planner": [*(plan(f"Call {name}") for name, _ in calls), end(answer)],
        "selector": [select(name) for name, _ in calls],
        "caller": [call(arguments) for _, arguments in calls],
        "parser": ["```python\nprint(data)\n```" for _ in calls],
        "direct": ["It is read." for _ in calls],
    }
    return board.agent(by_role(script), context={"road": "roles", "writes": "allow"})


def test_a_run_that_was_made_call_by_call_is_not_saved(board: Board) -> None:
    agent = by_calls(board, [("list_projects", {})], "There are some.")
    agent.ask("List the projects")
    assert "no single program made its calls" in refusal(board, agent)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("good", [SAVE_ALBUM, RENAME, GARDEN], ids=lambda good: good.instruction)
def test_a_saved_recipe_sends_the_same_requests_again_without_a_model(good: Good) -> None:
    with good_run(good) as run:
        recipe, world = run.saved(), run.server.world
        first = [(entry.operation, entry.query, entry.body) for entry in world.log]
        world.reset(fixture=good.fixture)
        kept: Any = {"checkpointer": InMemorySaver(), "store": InMemoryStore(), "context": {"writes": "allow"}}
        graph = build_recipe(recipe, [run.api], **kept)
        config: Any = {"configurable": {"thread_id": "again"}}
        answer = graph.invoke({"inputs": recipe.examples}, config)["answer"]  # type: ignore[arg-type]
        assert [(entry.operation, entry.query, entry.body) for entry in world.log] == first
        assert answer == run.state["answer"]
        run.state, run.store = graph.get_state(config).values, kept["store"]
        with pytest.raises(NotSavableError, match="was made by a recipe"):
            run.saved()

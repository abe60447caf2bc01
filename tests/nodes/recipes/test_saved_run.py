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
from roles import end, no_call, plan, select

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


CHAIRS = 'create_task(project_id=1, body={"title": "Chairs"})'
ASKED = "Add the task Chairs to project 1"
CORRECTED = f'made = {CHAIRS}\nprint("Made", made["title"])'
FAILED = f'made = {CHAIRS}\nprint(len(made["title"]) / 0)'
BRANCHED = f"""\
try:
    made = {CHAIRS}
except ApiError:
    made = one(list_project_tasks(project_id=1)["items"], title="Chairs")
print("Made", made["title"])"""


@pytest.mark.parametrize(
    ("codes", "writes", "operations"),
    [
        ([f'{CHAIRS}\nprint("Done.")'], "allow", ["create_task"]),
        ([f'{CHAIRS}\nprint("Done.")'], "dry-run", ["create_task"]),
        ([FAILED, CORRECTED], "allow", ["create_task"]),
        ([BRANCHED], "allow", ["create_task", "list_project_tasks"]),
    ],
    ids=["a constant report", "a dry run to its end", "a corrected program", "a branch that was not taken"],
)
def test_a_run_with_changes_is_saved_with_the_values_of_the_user_and_asks_when_it_runs(
    board: Board, codes: list[str], writes: str, operations: list[str]
) -> None:
    agent = programmer(board, *codes, writes=writes)
    agent.ask(ASKED)
    recipe = saved(board, agent)
    assert (recipe.examples, recipe.writes) == ({"project_id": 1, "title": "Chairs"}, "ask")
    assert [used.function for used in recipe.operations] == operations


GARDEN_RUN = (
    'made = create_project(body={"name": "Garden"})\ncreate_task(project_id=made["id"], body={"title": "Soil"})'
)
CAUGHT = f'list_projects()\ntry:\n    {CHAIRS}\nexcept Rejected:\n    print("Not made.")'
REJECT = {"type": "reject", "message": "not today"}
BENCHES = {"name": "create_task", "args": {"path": {"project_id": 1}, "body": {"title": "Benches"}}}
EDIT = {"type": "edit", "edited_action": BENCHES}
UNSAVED: dict[str, tuple[list[Any], str, Any, str]] = {
    "a pause": ([f'{CHAIRS}\nprint("Done.")'], "ask", None, "paused: a request waits for a decision"),
    "a failure": (['stop("No such project.")', end("No.", fulfilled=False)], "ask", None, "its program stopped"),
    "a rejection": ([CAUGHT, end("No.")], "ask", REJECT, "create_task was rejected. The user rejected it. not today"),
    "an edit": ([f'{CHAIRS}\nprint("Done.")'], "ask", EDIT, "A person edited the arguments of create_task"),
    "a dry run that ended early": ([GARDEN_RUN], "dry-run", None, "a dry run that ended where it needed a response"),
    "a change of a corrected program": (
        [FAILED.replace("=1", "=2"), CORRECTED],
        "allow",
        None,
        "an earlier program made the change create_task",
    ),
}


@pytest.mark.parametrize(("replies", "writes", "decision", "why"), UNSAVED.values(), ids=UNSAVED)
def test_a_run_that_cannot_be_repeated_is_not_saved(
    board: Board, replies: list[Any], writes: str, decision: Any, why: str
) -> None:
    agent = programmer(board, *replies, writes=writes)
    agent.ask(f"{ASKED}, also to project 2, and Soil to the project Garden")
    if decision is not None:
        decide(agent, decision)
    assert why in refusal(board, agent)


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


def test_a_known_secret_never_reaches_a_recipe(board: Board) -> None:
    agent = programmer(board, f'{CHAIRS.replace("Chairs", CREDENTIAL)}\nprint("Made.")', writes="allow")
    agent.ask(f"Add the task {CREDENTIAL} to project 1")
    assert "secret" in refusal(board, agent)


def test_the_program_of_a_sub_task_is_saved_where_its_report_is_the_answer(board: Board) -> None:
    last: Any = {**plan("Add the task"), "last": True}  # type: ignore[dict-item]
    selector = [no_call("Nothing to look up."), select("create_task")]
    agent = worker(board, CORRECTED, planner=[last], selector=selector)
    agent.ask(ASKED, writes="allow")
    assert saved(board, agent).examples == {"project_id": 1, "title": "Chairs"}


def test_a_run_that_was_made_call_by_call_is_not_saved(board: Board) -> None:
    agent = board.one_task("list_projects")
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

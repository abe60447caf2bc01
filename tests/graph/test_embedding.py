"""Guards the examples of the pages on embedding, recipes and the client: each runs unchanged, on the toy API."""

import runpy
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def result_of(example: str) -> Any:
    return runpy.run_path(str(EXAMPLES / example))["main"]()


def test_a_pause_in_a_subgraph_reaches_the_host_and_its_answer_comes_back() -> None:
    shown, *conversation = result_of("subgraph.py")
    assert "\n    │ POST http://127.0.0.1" in shown
    assert '{"name":"Roof garden"}' in shown
    asked, greeting, answer = conversation
    assert (asked, greeting) == ("Create a project named Roof garden", "Good morning. I pass this on.")
    assert answer == "The project Roof garden is created."


def test_a_pause_in_a_tool_reaches_the_agent_that_called_it() -> None:
    shown, *said = result_of("tool_in_agent.py")
    assert "\n    │ DELETE http://127.0.0.1" in shown
    assert "/tasks/110" in shown
    assert said == ["The task 110 is deleted.", "Done: task 110 is gone."]


def test_a_recipe_is_a_graph_and_a_tool() -> None:
    shown, answer, name, said = result_of("recipe.py")
    assert '{"name":"Roof garden"}' in shown
    assert (answer, said) == ("The project Roof garden is created.", "The project Tool shed is created.")
    assert name == "add_project"


def test_a_client_calls_and_undoes_what_a_person_approved() -> None:
    found, title, shown, deleted, undone = result_of("client.py")
    assert (found, title, deleted, undone) == ("delete_task", "Paint the maps", "delete_task: 204", "create_task")
    assert "/tasks/103" in shown


def test_operations_are_tools_whose_pause_is_that_of_the_agent() -> None:
    shown, *_, sent, answer = result_of("api_tools.py")
    assert "/tasks/110" in shown
    assert "HTTP 204" in sent
    assert answer == "Done: task 110 is gone."


def test_a_run_is_shown_line_by_line_with_its_question_and_one_answer() -> None:
    shown = result_of("streaming.py")
    assert shown == [
        "Task: Create a project named Roof garden",
        "A program of 3 lines",
        "create_project?",
        "POST create_project …",
        "POST create_project: 201",
        "The project Roof garden is on the board now.",
    ]


def test_every_example_is_run_by_a_test() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in tests] == []

"""Guards lists and descriptions of operations for a host's model: bounded, ranked, enough for a call or a program."""

import re

import pytest
from paths import api_of

from restgpt.client import Client
from restgpt.host.operations import (
    DESCRIBED_BUDGET,
    FOUND_BUDGET,
    MOST_DESCRIBED,
    described_text,
    direct_definitions,
    found_text,
)
from restgpt.specs import Api, Catalogue, Operation, load_api
from restgpt.specs.docs.interface import Learned
from restgpt.specs.effect import Effect
from restgpt.specs.problem import UnknownOperationError
from restgpt.specs.reading.download import bundled_document


def bundled(name: str = "toy") -> Api:
    return load_api(bundled_document(name).read_bytes())


def lines(text: str) -> list[str]:
    return re.findall(r"^(?:\[.*\] )?\w+: [A-Z]+ /.*$", text, re.MULTILINE)


def test_a_list_is_ranked_and_says_how_many_there_are_and_how_to_narrow() -> None:
    text = found_text(Catalogue([bundled()]), "delete the task of Ana", 8)
    assert text.startswith("There are 11 operations. These fit best:\n<document-")
    assert text.splitlines()[2] == "delete_task(task_id*: int) -> None"
    assert lines(text)[-1] == "get_project: GET /projects/{project_id}  Get one project"
    assert text.endswith("give a part of a path, such as /users.")


def test_operations_of_several_apis_are_shown_with_their_api() -> None:
    text = found_text(Catalogue([bundled(), bundled("tmdb")]), "search for films")
    functions = text.partition("[the-film-and-television-database]\n")[2]
    assert "\nsearch_movie(query*: str" in f"\n{functions}"
    assert any(line.startswith("[the-film-and-television-database] ") for line in lines(text))


def test_an_operation_is_found_by_the_name_of_its_function() -> None:
    api = api_of({"/x": {"get": {"operationId": "get-the.x", "summary": "Find x"}}})
    assert "\nget_the_x() ->" in found_text(Catalogue([api]), "find x")
    assert "# get-the_x " in described_text(Catalogue([api]), ["get_the_x"])


def test_what_earlier_calls_taught_is_shown() -> None:
    api = api_of({"/x": {"get": {"operationId": "find_x", "responses": {"200": {"description": "ok"}}}}})
    learned = Learned(lambda operation: "{items: [{id: int, colour}]}", lambda operation: "the server refused blue")
    assert "colour" in found_text(Catalogue([api]), "find x", learned=learned)
    assert "Note: the server refused blue." in described_text(Catalogue([api]), ["find_x"], learned=learned)
    assert "colour" not in found_text(Catalogue([api]), "find x")


def test_a_path_gives_that_part_of_the_map_and_without_a_match_the_paths_are_shown() -> None:
    text = found_text(Catalogue([bundled()]), "/projects/{project_id}")
    assert "below this path" in text
    assert "/projects/{project_id}/tasks" in text
    assert "/projects" in found_text(Catalogue([bundled()]), "qqqq zzzz")


@pytest.mark.parametrize("limit", [-1, 0, 1, 50, 10**6])
def test_no_list_is_longer_than_its_budget(limit: int) -> None:
    api = api_of(
        {
            f"/{'segment' * 60}/{number}": {
                "get": {"operationId": f"get_{'name' * 90}_{number}", "summary": "find " * 90}
            }
            for number in range(200)
        }
    )
    for query in ("find", "/", "nothing fits"):
        text = found_text(Catalogue([api]), query, limit)
        assert len(text) <= FOUND_BUDGET * 4


def test_a_description_has_the_function_the_places_and_an_example() -> None:
    text = described_text(Catalogue([bundled()]), ["create_task"])
    assert "# create_task  (changes something; a person is asked first)" in text
    assert "In a program: create_task(project_id*: int, body*: {title*: str" in text
    assert 'Smallest arguments: {"path": {"project_id": 1}, "body": {"title": ' in text
    assert "path  project_id*: int" in text
    assert text.startswith("<document-")


def test_the_users_rules_decide_what_changes_something() -> None:
    catalogue = Catalogue([bundled()])

    def rules(operation: Operation) -> Effect:
        return Effect("change", "settings", "apis.yaml says so")

    assert "# list_projects  (changes something" in described_text(catalogue, ["list_projects"], effects=rules)
    [tool, *_] = direct_definitions(catalogue, [catalogue.operation("list_projects")], effects=rules)
    assert tool.annotations["readOnlyHint"] is False


def test_several_operations_share_the_budget_and_only_so_many_are_shown() -> None:
    catalogue = Catalogue([bundled("spotify")])
    names = [catalogue.name_of(operation) for operation in catalogue][:20]
    text = described_text(catalogue, names)
    assert len(text) <= (DESCRIBED_BUDGET + 40) * 4
    assert text.count("\n# ") == MOST_DESCRIBED
    assert text.endswith("12 more were asked for; ask for at most 8 at once.")


def test_an_unknown_operation_is_an_error_with_near_names() -> None:
    with pytest.raises(UnknownOperationError, match="create_project"):
        described_text(Catalogue([bundled()]), ["create_tsk"])


def test_what_the_client_describes_is_enough_for_a_program() -> None:
    assert "In a program: delete_task(task_id*: int)" in Client([bundled()]).describe("DELETE /tasks/{task_id}")

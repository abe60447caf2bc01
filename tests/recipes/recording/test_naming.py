"""Guards other names for the inputs of a recipe: they change everywhere, and nothing else does."""

import pytest
from plantrecipe import plant_recipe

from restgpt.recipes.recipe import Echo, Link, Recipe, SavedCall, Source
from restgpt.recipes.recording.naming import name_problem, renamed

DESCRIPTION = "Create the project {project} with the tasks {titles}."


def recipe() -> Recipe:
    echo = Echo(field="/name", input="name", relation="equal")
    link = Link(answer_of="create_project", take="/id", call="create_task", argument="/path/project_id", echo=echo)
    text = Source(text="{name}: {titles}")
    calls = (SavedCall(function="create_task", arguments={"/body/title": text, "/body/x": Source(input="name")}),)
    return plant_recipe(links=(link,), calls=calls)


def test_a_name_changes_in_the_program_the_schema_the_links_and_the_calls() -> None:
    new = renamed(recipe(), {"name": "project"}, DESCRIPTION)
    assert list(new.inputs["properties"]) == ["project", "titles"]
    assert new.inputs["required"] == ["project", "titles"]
    assert 'body={"name": inputs["project"]}' in new.program
    assert "len(inputs['titles'])" in new.program
    assert new.links[0].echo == Echo(field="/name", input="project", relation="equal")
    assert new.calls[0].arguments == {
        "/body/title": Source(text="{project}: {titles}"),
        "/body/x": Source(input="project"),
    }
    assert new.description == DESCRIPTION
    back = renamed(new, {"project": "name"}, "x").model_copy(update={"description": recipe().description})
    assert back == recipe()


def test_two_names_can_be_exchanged() -> None:
    new = renamed(recipe(), {"name": "titles", "titles": "name"}, "x")
    assert 'for title in inputs["name"]:' in new.program
    assert 'body={"name": inputs["titles"]}' in new.program


@pytest.mark.parametrize(
    ("names", "description", "told"),
    [
        ({"owner": "a"}, "x", "'owner' is no input; the inputs are name, titles"),
        ({"name": "Project Name"}, "x", "'Project Name' is no name of an input"),
        ({"name": "class"}, "x", "'class' is no name of an input"),
        ({"name": 'a"] or evil["'}, "x", "is no name of an input"),
        ({"name": "titles"}, "x", "two inputs would be called 'titles'"),
        ({}, "", "the description has to be one line"),
        ({}, "a\nb", "the description has to be one line"),
        ({}, "x" * 301, "the description has to be one line of at most 300 characters"),
        ({"name": "project"}, "Create {name}.", "the description has {name}, which is no input"),
    ],
)
def test_a_proposal_that_does_not_fit_is_refused_with_the_reason(
    names: dict[str, str], description: str, told: str
) -> None:
    assert told in name_problem(recipe(), names, description)
    with pytest.raises(ValueError, match=r".+"):
        renamed(recipe(), names, description)

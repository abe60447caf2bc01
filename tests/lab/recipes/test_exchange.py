"""Guards exchanged inputs: others of the same kind, drawn by the seed, with the truth of the task's own judge."""

from typing import Any

import pytest

from lab.recipes.exchange import OtherInputs, asked_for, exchanged
from restgpt_bench.restbench.judges.task import PlannedCall, Step, Task, perform
from restgpt_bench.restbench.judges.tasks import open_tasks
from restgpt_bench.worlds import open_world


def task_of(world: str, key: str, *, own: bool = True) -> Task:
    return next(task for task in open_tasks(world, own=own) if task.key == key)


def verdict(task: Task, world_name: str, other: OtherInputs, *calls: PlannedCall, answer: str = "") -> bool:
    world = open_world(world_name, seed=other.seed)
    world.reset(task.fixture)
    for call in calls:
        assert perform(world, call).ok
    world.exchanged = other.exchanged
    return task.check(world, world.log, answer).ok


def test_a_judge_tells_the_names_and_numbers_that_it_asks_for() -> None:
    asked = asked_for(task_of("tmdb", "guest"), open_world("tmdb"))
    assert set(asked) == {("show", "Fleabag"), ("season_number", 2), ("episode_number", 4)}


def test_inputs_are_exchanged_for_others_of_their_kind_with_the_truth_about_them() -> None:
    task = task_of("toy", "hours")
    board = open_world("toy").state
    others = exchanged(task, "toy", {"task_id": 117})
    assert len({other.inputs["task_id"] for other in others} - {117}) == 2
    for other in others:
        number = other.inputs["task_id"]
        call = Step("GET /tasks/{task_id}", {"task_id": number}).planned(())
        assert verdict(task, "toy", other, call, answer=str(board.tasks[number]["hours"]))
        assert not verdict(task, "toy", other, call, answer=str(board.tasks[117]["hours"]))


def test_the_wanted_end_state_of_a_change_is_exchanged_too() -> None:
    task = task_of("toy", "add")
    other = exchanged(task, "toy", {"name": "Harbour lights", "title": "Buy bulbs"})[0]
    numbers = {project["name"]: number for number, project in open_world("toy").state.projects.items()}

    def added(project: str, title: str) -> PlannedCall:
        step = Step("POST /projects/{project_id}/tasks", {"project_id": numbers[project]}, body={"title": title})
        return step.planned(())

    assert verdict(task, "toy", other, added(other.inputs["name"], other.inputs["title"]))
    assert not verdict(task, "toy", other, added("Harbour lights", "Buy bulbs"))


def test_the_same_seed_draws_the_same_inputs() -> None:
    task = task_of("spotify", "queue-top")
    first, second = (exchanged(task, "spotify", {"q": "Mirabel Anand"}) for _ in range(2))
    assert first == second
    assert first != exchanged(task, "spotify", {"q": "Mirabel Anand"}, seed=3)


def test_an_album_brings_its_artist_along() -> None:
    task = task_of("spotify", "save-album")
    music = open_world("spotify").state.catalogue
    for other in exchanged(task, "spotify", {"album": "Copper Weather", "artist": "Kestrel Avenue"}):
        assert music.album(other.inputs["album"], other.inputs["artist"])


def test_a_name_is_written_as_the_saved_one_is() -> None:
    task = task_of("tmdb", "last-part")
    others = exchanged(task, "tmdb", {"query": "Indiana Jones"})
    assert not [other for other in others if other.inputs["query"].endswith(" Collection")]


def test_each_value_of_a_list_is_exchanged() -> None:
    task = task_of("tmdb", "higher")
    for other in exchanged(task, "tmdb", {"queries": ["Parasite", "Paddington"]}):
        assert len(set(other.inputs["queries"]) | {"Parasite", "Paddington"}) == 4


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("world", "key", "inputs"),
    [("toy", "open", {}), ("spotify", "last-song", {"limit": 1}), ("tmdb", "twenty-fifth", {"page": 2})],
)
def test_what_no_judge_asks_for_is_asked_again_over_other_data(world: str, key: str, inputs: dict[str, Any]) -> None:
    others = exchanged(task_of(world, key), world, inputs)
    assert [(other.way, other.inputs, other.seed, other.kept) for other in others] == [
        ("data", inputs, seed, tuple(inputs)) for seed in (1, 2)
    ]


def test_where_no_other_thing_gives_the_judge_something_to_do_the_data_are_others() -> None:
    # The artists of the only other playlist are followed already.
    task = task_of("spotify", "36", own=False)
    assert {other.way for other in exchanged(task, "spotify", {"name": "My R&B"})} == {"data"}


def test_who_does_nothing_never_passes_for_exchanged_inputs() -> None:
    for key, inputs in (("queue-top", {"q": "Mirabel Anand"}), ("volume", {"volume_percent": 35})):
        task = task_of("spotify", key)
        assert not any(verdict(task, "spotify", other) for other in exchanged(task, "spotify", inputs))

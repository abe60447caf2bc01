"""Guards the learning of search weights: learned weights are never worse, and a late last operation counts less."""

from lab.weights import Sample, learn, nearness
from restgpt.specs import load_api
from restgpt.specs.search.ranking import WEIGHTS
from restgpt_bench.retrieval.instructions import Part, Task

SUMMARIES = {"/films": "Find films", "/films/{film_id}/reviews": "Reviews of a film", "/towns": "List towns"}


def test_learning_never_ends_with_a_lower_objective() -> None:
    paths = {path: {"get": {"summary": text, "responses": {}}} for path, text in SUMMARIES.items()}
    films = load_api({"openapi": "3.1.0", "info": {"title": "Films", "version": "1"}, "paths": paths})
    needs = (frozenset(["GET /films"]), frozenset(["GET /films/{film_id}/reviews"]))
    sample = Sample.of(Part("films", films, (Task("reviews of the film", needs),)))
    assert sample.objective(learn([sample], rounds=1)) >= sample.objective(WEIGHTS)


def test_the_objective_falls_with_the_rank_of_the_last_needed_operation() -> None:
    task = Task("x", (frozenset(["a"]), frozenset(["b", "c"])))
    ranked = [*"a123456789", "b", "c"]
    assert nearness(task, ["a", "c"]) > 0.9 > nearness(task, ranked) > nearness(task, ["a"])

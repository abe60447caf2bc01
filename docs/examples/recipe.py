"""A recipe as a graph and as a tool of LangChain, without a model; the recipe is written by hand here."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from restgpt import build_recipe, load_api, load_recipes
from restgpt.recipes.recipe import Recipe
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve

# Your program reads files instead: load_recipes() for all recipes of the folder, load_recipes(["add-project"]) for one.
PROGRAM = """
made = create_project(body={"name": inputs["name"]})
print(f"The project {made['name']} is created.")
"""
RECIPE = {
    "recipe": "restgpt/recipe/2",
    "name": "add-project",
    "description": "Create a project.",
    "saved": {"at": "2024-05-01T00:00:00+00:00"},
    "apis": [{"name": "board"}],
    "inputs": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "program": PROGRAM,
}
OPERATION = {"function": "create_project", "api": "board", "method": "POST", "path": "/projects"}


def main() -> list[str]:
    """Run a recipe as a graph, approve what it shows, and run it as a tool."""
    with serve(open_world("toy")) as server:
        document = bundled_document("toy").read_bytes()
        api = load_api(document, base_url=server.url, auth={"key": CREDENTIAL}, name="board")
        used = {**OPERATION, "key": api.operation("create_project").digest}
        recipe = Recipe.model_validate({**RECIPE, "operations": [used]})
        graph = build_recipe(recipe, [api], checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}

        paused = graph.invoke({"inputs": {"name": "Roof garden"}}, thread)
        [pause] = paused["__interrupt__"]
        shown = pause.value["action_requests"][0]["description"]
        done = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)

        [tool] = load_recipes([recipe], apis=[api], context={"writes": "allow"})
        return [shown, done["answer"], tool.name, tool.invoke({"name": "Tool shed"})]


if __name__ == "__main__":
    print("\n---\n".join(main()))

"""A recipe as a graph of a LangGraph server, and the text of the Python file that holds it."""

from restgpt.graph.recipes.build import build_recipe
from restgpt.graph.state import SHOWN
from restgpt.recipes.book import RecipeBook
from restgpt.tools.served_graph import ServedGraph
from restgpt.tools.settings import Settings


def recipe_graph(name: str) -> ServedGraph:
    """Return the graph of the newest version of a recipe, without a checkpointer, because a server adds its own.

    Raises `RecipeFileError` if the folder of the settings has no such recipe.
    """
    return ServedGraph.of(build_recipe(RecipeBook(Settings.from_env().recipes).load(name)), shown=SHOWN)


def graph_file_text(name: str) -> str:
    """Return the text of a Python file with the graph of a recipe, for an entry `FILE:graph` of `langgraph.json`."""
    return (
        f'"""The recipe {name} as a graph of a LangGraph server."""\n\n'
        f"from restgpt.graph.recipes.server import recipe_graph\n\ngraph = recipe_graph({name!r})\n"
    )

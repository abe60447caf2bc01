"""A recipe's graph with a thread of its own."""

from typing import Any

from board import Board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from restgpt.graph.recipe_graph import RecipeGraph, build_recipe
from restgpt.recipes.recipe import Recipe


class Kitchen:
    """A recipe's graph with a thread of its own."""

    def __init__(self, made: Recipe, board: Board, **options: Any) -> None:
        self.saver, self.store = InMemorySaver(), InMemoryStore()
        self.recipe, self.board, self.options = made, board, options
        self.config: Any = {"configurable": {"thread_id": "thread"}}

    def open(self, recipe: Recipe | None = None) -> RecipeGraph:
        """Build a new graph object over the same thread."""
        apis = None if "services" in self.options else [self.board.api]
        given: Any = {"checkpointer": self.saver, "store": self.store, **self.options}
        self.graph = build_recipe(recipe or self.recipe, apis, **given)
        return self.graph

    def run(self, given: Any, recipe: Recipe | None = None, **context: Any) -> dict[str, Any]:
        """Run the recipe, or resume its run, in a new graph object."""
        value = given if isinstance(given, Command) or given is None else {"inputs": given}
        return self.open(recipe).invoke(value, self.config, context=context or None)  # type: ignore[return-value,arg-type]

    @property
    def state(self) -> dict[str, Any]:
        return self.graph.get_state(self.config).values

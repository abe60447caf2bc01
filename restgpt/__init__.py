"""An agent for any REST API that has an OpenAPI document."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from restgpt.api_tools import as_tools
    from restgpt.client import Client
    from restgpt.graph.build import build_graph
    from restgpt.graph.recipe_graph import build_recipe, load_recipes
    from restgpt.nodes.run.services import Context
    from restgpt.outcome import Called, Pending, Ran, Undone
    from restgpt.specs.api import Api, load_api

    __version__: str

__all__ = [
    "Api",
    "Called",
    "Client",
    "Context",
    "Pending",
    "Ran",
    "Undone",
    "__version__",
    "as_tools",
    "build_graph",
    "build_recipe",
    "load_api",
    "load_recipes",
]

MODULES = {
    "Api": "specs.api",
    "load_api": "specs.api",
    "Called": "outcome",
    "Client": "client",
    "Context": "nodes.run.services",
    "Pending": "outcome",
    "Ran": "outcome",
    "Undone": "outcome",
    "as_tools": "api_tools",
    "build_graph": "graph.build",
    "build_recipe": "graph.recipe_graph",
    "load_recipes": "graph.recipe_graph",
}


def __getattr__(name: str) -> Any:
    """Import the module of a public name on its first use; `import restgpt` loads no other module (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version

        return version("restgpt")
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"restgpt.{MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, for tab completion."""
    return sorted(__all__)

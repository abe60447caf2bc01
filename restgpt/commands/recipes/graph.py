"""`restgpt recipe graph`: a recipe as a graph of its own in langgraph.json."""

import json
import os
from pathlib import Path
from typing import Any

from restgpt.commands.failure import UsageError
from restgpt.commands.screen.terminal import Terminal
from restgpt.recipes.book import RecipeBook
from restgpt.recipes.recipe_file import write_file

CONFIG = Path("langgraph.json")
STUDIO = "https://smith.langchain.com"
HTTP = {
    "app": "restgpt.server.app:app",
    "cors": {
        "allow_origins": [STUDIO],
        "allow_methods": ["*"],
        "allow_headers": ["*"],
        "expose_headers": ["content-location", "location", "x-pagination-total", "x-pagination-next"],
    },
    "disable_mcp": True,
}
"""What keeps foreign web pages out; see `restgpt.server.access`."""
NEW = {"$schema": "https://langgra.ph/schema.json", "dependencies": ["."], "graphs": {}, "http": HTTP, "env": ".env"}


def add_graph(terminal: Terminal, book: RecipeBook, name: str) -> None:
    """Write the Python file of a recipe's graph beside the recipe, and its entry into langgraph.json."""
    from restgpt.graph.recipes.server import graph_file_text

    recipe = book.load(name)
    file = book.folder / f"{name.replace('-', '_')}_graph.py"
    text = graph_file_text(name)
    config = _config()
    path = f"./{Path(os.path.relpath(file)).as_posix()}:graph"
    entry = {"path": path, "description": recipe.description or f"Runs the recipe {name}."}
    taken = config["graphs"].get(name)
    if taken is not None and _path_of(taken) != path:
        raise UsageError(f"{CONFIG} has another graph {name}, {_path_of(taken)}. Rename the recipe or that graph.")
    if file.exists() and file.read_text(encoding="utf-8") != text:
        raise UsageError(f"{file} exists with another content, and is kept. Move it, and run the command again.")
    config["graphs"][name] = entry
    write_file(file, text)
    write_file(CONFIG, json.dumps(config, ensure_ascii=False, indent=2) + "\n")
    terminal.document({"graph": name, "file": str(file), "config": str(CONFIG), "entry": entry})
    terminal.answer(f"Wrote {file}, and the graph {name} into {CONFIG}. Serve it with: langgraph dev")


def _config() -> dict[str, Any]:
    """Return the content of langgraph.json, or of a new one; raises `UsageError` if it cannot be read."""
    try:
        config = json.loads(CONFIG.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {**NEW, "graphs": {}}
    except ValueError as error:
        raise UsageError(f"{CONFIG} is not JSON: {error}. Correct it; nothing was written.") from None
    if not isinstance(config, dict) or not isinstance(config.setdefault("graphs", {}), dict):
        raise UsageError(f"{CONFIG} has no mapping of graphs. Correct it; nothing was written.")
    return config


def _path_of(entry: Any) -> str:
    return str(entry.get("path")) if isinstance(entry, dict) else str(entry)

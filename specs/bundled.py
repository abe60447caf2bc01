"""The OpenAPI documents that are installed with the package: toy, tmdb and spotify."""

from importlib.resources import files
from importlib.resources.abc import Traversable


def bundled_document(name: str) -> Traversable:
    """The file of the document `name`."""
    return files("restgpt.specs").joinpath("openapi", f"{name}.yaml")

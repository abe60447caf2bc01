"""Arazzo documents on the command line: a workflow of a file as a recipe, and a recipe as a file."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from restgpt.commands.failure import UsageError
from restgpt.commands.screen.terminal import Terminal
from restgpt.commands.sources import Sources
from restgpt.recipes.recipe import Recipe

if TYPE_CHECKING:
    from restgpt.recipes.arazzo.document import Arazzo, SourceDescription
    from restgpt.specs import Api
    from restgpt.tools.settings import Settings

MOST_BYTES = 10_000_000
"""The maximum size of an Arazzo document."""

ENDINGS = (".arazzo.yaml", ".arazzo.yml", ".arazzo.json")


def is_arazzo(path: Path) -> bool:
    """Return whether the name of a file is that of an Arazzo document."""
    return path.name.lower().endswith(ENDINGS)


def recipe_of_file(
    path: Path, workflow: str, given: Sources, settings: "Settings"
) -> "tuple[Recipe, Sources, Sequence[Api]]":
    """Return a workflow of a file as a recipe, with its APIs; raises `ArazzoError`, `UsageError` and `SpecError`."""
    from restgpt.recipes.arazzo.document import read_document
    from restgpt.recipes.arazzo.importing import from_arazzo

    data = decoded(path)
    document = read_document(data)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    others = _others(path, document)
    if not given.is_empty:
        apis = given.load(settings)
        return from_arazzo(data, workflow=workflow, apis=apis, documents=others, at=at), given, apis
    wanted = [source for item in (document, *map(read_document, others.values())) for source in _openapi(item)]
    found = {source.name: _source(source, path.parent, settings) for source in wanted}
    loaded = {name: source.load(settings)[0] for name, source in found.items()}
    sources = Sources(
        tuple(name for source in found.values() for name in source.names),
        tuple(spec for source in found.values() for spec in source.specs),
    )
    recipe = from_arazzo(data, workflow=workflow, apis=loaded, documents=others, at=at)
    return recipe, sources, list(loaded.values())


def decoded(path: Path) -> Any:
    """Return the content of a JSON or YAML file; raises `UsageError` with the reason if it cannot be read."""
    import json

    from restgpt.specs import SpecError
    from restgpt.specs.reading.text.json_text import json_bytes

    if not path.is_file():
        raise UsageError(f"There is no file {path}. Give the path of an Arazzo document.")
    with path.open("rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageError(f"{path} has more than {MOST_BYTES:,} bytes, so it is no Arazzo document. Give another file.")
    try:
        return json.loads(json_bytes(data))
    except (SpecError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}. Correct the file.") from None


def _openapi(document: "Arazzo") -> "list[SourceDescription]":
    return [source for source in document.sources if source.type == "openapi"]


def _others(path: Path, document: "Arazzo") -> dict[str, Any]:
    """Return the Arazzo documents that a document refers to, which have to be files near it."""
    found: dict[str, Any] = {}
    for source in document.sources:
        if source.type == "arazzo":
            if urlsplit(source.url).scheme not in ("", "file"):
                raise UsageError(
                    f"{path}: the source {source.name} is the Arazzo document {source.url}, which is not downloaded. "
                    "Save it as a file, and write its path there."
                )
            found[source.name] = decoded(_local(source.url, path.parent))
    return found


def _local(url: str, folder: Path) -> Path:
    from urllib.parse import unquote

    return folder / unquote(urlsplit(url).path)


def _source(source: "SourceDescription", folder: Path, settings: "Settings") -> Sources:
    """Return where an OpenAPI source is: the entry of apis.yaml with its name, else its address in the document."""
    from restgpt.specs.api import slug

    for name in settings.apis:
        if slug(name) == slug(source.name):
            return Sources((name,))
    is_url = urlsplit(source.url).scheme in ("http", "https")
    return Sources.given(None, [source.url if is_url else str(_local(source.url, folder))], None)


def export_arazzo(
    terminal: Terminal,
    recipe: Recipe,
    sources: Sources,
    settings: "Settings",
    *,
    output: Path | None,
    version: Literal["1.0.1", "1.1.0"],
) -> None:
    """Print a recipe as an Arazzo document, or write it into a file; notices go to stderr."""
    import yaml

    from restgpt.recipes.arazzo.exporting import to_arazzo
    from restgpt.recipes.recipe_file import write_file

    apis = sources.load(settings)
    operations = [operation for api in apis for operation in api.operations]
    export = to_arazzo(recipe, _addresses(recipe, apis, output), operations, version=version)
    text = yaml.safe_dump(export.document, sort_keys=False, allow_unicode=True, width=120)
    for notice in export.notices:
        terminal.say(notice)
    terminal.document(
        {"file": str(output) if output else "", "document": export.document, "notices": list(export.notices)}
    )
    if output is None:
        terminal.answer(text.rstrip("\n"))
    else:
        write_file(output, text)
        terminal.answer(f"Wrote {output}.")


def _addresses(recipe: Recipe, apis: "Sequence[Api]", output: Path | None) -> Mapping[str, str]:
    """Return the address of each API's document: its URL, or its path seen from the folder of the output."""
    from restgpt.specs.api import slug

    folder = (output.parent if output else Path()).absolute()
    known = {slug(api.name): api for api in apis}
    found = {item.name: known.get(slug(item.name)) for item in recipe.apis}
    return {name: _address(api, folder) for name, api in found.items() if api is not None}


def _address(api: "Api", folder: Path) -> str:
    from urllib.request import url2pathname

    place = urlsplit(api.source)
    return os.path.relpath(url2pathname(place.path), folder) if place.scheme == "file" else api.source

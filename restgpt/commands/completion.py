"""What a shell completes: the names of APIs, operations and arguments, from files of this machine only."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from restgpt.sources import Sources

if TYPE_CHECKING:
    from restgpt.specs import Catalogue
    from restgpt.tools.settings import Settings


def api_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete an entry of apis.yaml."""
    return _completed(ctx, incomplete, lambda settings: settings.apis)


def operation_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete an operation of the APIs that the options name."""

    def names(settings: "Settings") -> Iterable[str]:
        catalogue = _catalogue(ctx, settings)
        return map(catalogue.name_of, catalogue)

    return _completed(ctx, incomplete, names)


def argument_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of an argument of the operation."""
    from restgpt.specs.docs.function_arguments import body_fields

    def names(settings: "Settings") -> Iterable[str]:
        operation = _catalogue(ctx, settings).operation(ctx.params["operation"])
        return (f"{name}=" for name in (*(item.name for item in operation.keywords), *body_fields(operation.sent)))

    return _completed(ctx, incomplete, names)


def _completed(ctx: typer.Context, incomplete: str, names: Callable[["Settings"], Iterable[str]]) -> list[str]:
    """Return the names that begin with what was typed; none if the files that they come from do not count."""
    from restgpt.specs import SpecError
    from restgpt.tools.errors import RestgptError
    from restgpt.tools.settings import Settings

    try:
        settings = Settings.from_env(apis=ctx.find_root().params.get("apis"))
        return [name for name in names(settings) if name.startswith(incomplete)]
    except (RestgptError, SpecError, LookupError, OSError):
        return []


def _catalogue(ctx: typer.Context, settings: "Settings") -> "Catalogue":
    from restgpt.specs import Catalogue

    sources = Sources.given(ctx.params.get("names"), ctx.params.get("specs")).or_all(settings)
    places = [*sources.specs, *(settings.apis[name].spec for name in sources.names)]
    # Completion fetches nothing.
    return Catalogue([] if any(place.startswith("http") for place in places) else sources.load(settings))

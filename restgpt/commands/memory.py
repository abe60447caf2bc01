"""`restgpt memory`: list what RestGPT keeps beyond one thread, learned or permitted by you, or forget it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from restgpt.commands.terminal import AsJson, Terminal, UsageError, reported

if TYPE_CHECKING:
    from restgpt.calling.notes import Noted
    from restgpt.calling.permissions import Permission

Kept = TypeVar("Kept", "Permission", "Noted")

OperationFilter = Annotated[
    str | None,
    typer.Argument(help="Name or `METHOD /path` of the operation; all operations without it.", metavar="OPERATION"),
]
ApiFilter = Annotated[
    str | None, typer.Option("--api", help="Only what is about this API, by its name.", metavar="NAME")
]

memory = typer.Typer(name="memory", help="List what was learned and what you permitted, or forget it.")


@memory.command(name="list")
def show(operation: OperationFilter = None, name: ApiFilter = None, as_json: AsJson = False) -> None:
    """List what you permitted beyond one request, and what servers demanded beyond their documents."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.calling.notes import Notes
        from restgpt.calling.permissions import Permissions
        from restgpt.graph.persistence import open_persistence
        from restgpt.tools.settings import Settings

        with open_persistence(Settings.from_env()) as persistence:
            permitted = _about(Permissions(persistence.store).listed(), operation, name)
            noted = _about(Notes(persistence.store).listed(), operation, name)
        kept: dict[str, list[Any]] = {"permissions": permitted, "notes": noted}
        terminal.document({kind: [item.to_json() for item in items] for kind, items in kept.items()})
        lines = [f"permission  {item}" for item in permitted]
        lines += [
            f"note  {item.api} ({item.base_url}): {item.name}, {item.operation}: {note.text}"
            for item in noted
            for note in item.notes
        ]
        terminal.answer("\n".join(lines) or "Nothing is kept.")


@memory.command()
def forget(
    kind: Annotated[
        Literal["permissions", "notes", "shapes"],
        typer.Argument(help="What you permitted, what servers demanded, or the shapes of the answers of all APIs."),
    ],
    operation: OperationFilter = None,
    name: ApiFilter = None,
    as_json: AsJson = False,
) -> None:
    """Take permissions back, or delete notes or shapes."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.calling.notes import Notes
        from restgpt.calling.permissions import Permissions
        from restgpt.calling.shapes import Shapes
        from restgpt.graph.persistence import open_persistence
        from restgpt.tools.settings import Settings

        if kind == "shapes" and (operation or name):
            raise UsageError("Shapes are forgotten all at once. Leave OPERATION and --api out.")
        with open_persistence(Settings.from_env()) as persistence:
            if kind == "shapes":
                count = Shapes(persistence.store).clear()
            else:
                kept: Any = Permissions(persistence.store) if kind == "permissions" else Notes(persistence.store)
                chosen = _about(kept.listed(), operation, name)
                for item in chosen:
                    (kept.revoke if kind == "permissions" else kept.forget)(item)
                count = len(chosen)
        if operation is not None and not count:
            raise UsageError(f"There are no {kind} of {operation!r}. `restgpt memory list` lists what there is.")
        terminal.document({"forgotten": count})
        terminal.answer(f"Forgotten: {count} {kind if count != 1 else kind.removesuffix('s')}.")


def _about(items: Iterable[Kept], operation: str | None, api: str | None) -> list[Kept]:
    """Return what is kept about an operation, by its name or `METHOD /path`, and an API; without them, everything."""
    from restgpt.specs.api import slug

    def is_about(shown: dict[str, Any]) -> bool:
        is_of_api = api is None or slug(api) == slug(shown.get("api", ""))
        return is_of_api and operation in (None, shown.get("name"), shown.get("operation"))

    return [item for item in items if is_about(item.to_json())]

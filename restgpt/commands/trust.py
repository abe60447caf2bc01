"""`restgpt allow`: let the files of a folder count that change what RestGPT does, and the question about it.

`restgpt login`: get an OAuth2 token for an API through a browser.

`restgpt memory`: list what RestGPT keeps beyond one thread, learned or permitted by you, or forget it.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from restgpt.commands.terminal import Terminal, UsageError, command, reported

if TYPE_CHECKING:
    from restgpt.calling.notes import Noted
    from restgpt.calling.permissions import Permission
    from restgpt.tools.errors import FolderError


@command
def allow(
    terminal: Terminal,
    folder: Annotated[
        Path | None, typer.Argument(help="The folder; without it, the working directory.", metavar="FOLDER")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the allowed folders instead.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take the allowance of the folder back instead.")] = False,
) -> None:
    """Let .env, apis.yaml and recipes of a folder count, and those below it if it is the root of a Git repository."""
    from restgpt.tools.settings.environment import AllowedFolders, home_of, read_dotenv

    kept, chosen = AllowedFolders(home_of()), (folder or Path()).expanduser().resolve()
    if revoke:
        if not kept.revoke(chosen):
            raise UsageError(f"{chosen} was not allowed. `restgpt allow --list` lists the folders that are.")
    elif not listed:
        if not chosen.is_dir():
            raise UsageError(f"{chosen} is not a folder.")
        kept.allow(chosen)
    folders = [str(item) for item in kept.listed()]
    terminal.document({"folders": folders})
    if listed:
        # The working directory may be allowed by the root of its repository only.
        places = dict.fromkeys([*folders, *([str(Path.cwd())] if kept.includes(Path.cwd()) else [])])
        set_here = {place: ", ".join(read_dotenv(Path(place, ".env"))) for place in places}
        lines = [f"{place}{f': .env sets {names}' if names else ''}" for place, names in set_here.items()]
        terminal.answer("\n".join(lines) or "No folder is allowed.")
    else:
        does = "do not count any more" if revoke else "count from now on"
        terminal.answer(f"{chosen}: its .env, its apis.yaml and its recipes, as far as there are any, {does}.")


def read_folder(env_file: Path | None, apis: Path | None, *more: Path, as_json: bool) -> None:
    """Set the variables of `.env` that the environment does not set, and name the file of the APIs.

    Asks a person on a terminal about a folder that nobody allowed. `env_file` and `apis` replace the files of the
    folder, so that it need not be allowed. `more` are further files that count for the command.
    """
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        if apis is not None:
            os.environ["RESTGPT_APIS"] = str(apis)
        files = [Path(".env")] if env_file is None else []
        files += [*([] if os.environ.get("RESTGPT_APIS") else [Path("apis.yaml")]), *more]
        if env_file is None and not any(file.exists() for file in files):
            return
        # Late, because most commands find none of the files and the imports take long.
        from restgpt.tools.errors import FolderError
        from restgpt.tools.settings.environment import AllowedFolders, check_folder, home_of, load_dotenv

        try:
            check_folder(*files)
        except FolderError as error:
            if not terminal.is_interactive or not _is_trusted(terminal, error):
                raise
            AllowedFolders(home_of()).allow(error.folder)
        if env_file is not None and not env_file.exists():
            raise UsageError(f"{env_file} is not a file. Give --env-file the path of a file such as .env.example.")
        load_dotenv(env_file or Path(".env"))


def _is_trusted(terminal: Terminal, error: "FolderError") -> bool:
    question = (
        f"{error.folder} has {error.files}, which can send requests, prompts and credentials elsewhere. Do you trust "
        "this folder? Its files then count from now on. [y/N] "
    )
    return terminal.ask(question).lower() in ("y", "yes")


@command
def login(
    terminal: Terminal,
    name: Annotated[
        str, typer.Argument(help="A name in apis.yaml, or the path or URL of an OpenAPI document.", metavar="NAME")
    ],
    scheme: Annotated[
        str | None, typer.Option(help="The security scheme to use, if the document has several.", metavar="SCHEME")
    ] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="A scope to ask for. May be repeated.", metavar="SCOPE")
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            help="The port of the redirect URI, if the server requires one; 0: any free port.",
            min=0,
            max=65535,
            metavar="PORT",
        ),
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the login URL instead of opening a browser.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Log in at the server that the document names, without asking about it.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="Seconds to wait for the login.", min=1, metavar="SECONDS")] = 300.0,
) -> None:
    """Log in to an API with OAuth2 (authorization code with PKCE), and save the token in a file of mode 600."""
    from restgpt.sources import load_source
    from restgpt.tools.auth.login import log_in, login_scheme
    from restgpt.tools.auth.oauth import OAuthTokens
    from restgpt.tools.settings import Settings

    settings = Settings.from_env()
    api = load_source(name, settings)
    chosen = login_scheme(api, scheme)

    def open_browser(url: str) -> None:
        terminal.say(f"Log in here:\n  {url}")
        if not no_browser:
            import webbrowser

            webbrowser.open(url)

    def confirm(question: str) -> bool:
        if yes or not terminal.is_interactive:
            terminal.say(question)
            return yes
        return terminal.ask(f"{question} [y/N] ").lower() in ("y", "yes")

    log_in(
        OAuthTokens(settings),
        api,
        chosen,
        open_browser=open_browser,
        port=port,
        scopes=scope or (),
        seconds=seconds,
        confirm=confirm,
    )
    terminal.document({"api": api.name, "scheme": chosen.key})
    terminal.answer(f"Logged in to {api.name}.")


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
@command
def show(terminal: Terminal, operation: OperationFilter = None, name: ApiFilter = None) -> None:
    """List what you permitted beyond one request, and what servers demanded beyond their documents."""
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
@command
def forget(
    terminal: Terminal,
    kind: Annotated[
        Literal["permissions", "notes", "shapes"],
        typer.Argument(help="What you permitted, what servers demanded, or the shapes of the responses of all APIs."),
    ],
    operation: OperationFilter = None,
    name: ApiFilter = None,
) -> None:
    """Take permissions back, or delete notes or shapes."""
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

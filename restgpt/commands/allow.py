"""`restgpt allow`: let the files of a folder count that change what RestGPT does, and the question about it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from restgpt.commands.failure import UsageError, reported
from restgpt.commands.options import AsJson
from restgpt.commands.screen.terminal import Terminal

if TYPE_CHECKING:
    from restgpt.tools.errors import FolderError


def allow(
    folder: Annotated[
        Path | None, typer.Argument(help="The folder; without it, the working directory.", metavar="FOLDER")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the allowed folders instead.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take the allowance of the folder back instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let .env, apis.yaml and recipes of a folder count, and those below it if it is the root of a Git repository."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.tools.settings.folder import AllowedFolders, home_of

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
            terminal.answer("\n".join(folders) or "No folder is allowed.")
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
        from restgpt.tools.settings.environment import load_dotenv
        from restgpt.tools.settings.folder import AllowedFolders, check_folder, home_of

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

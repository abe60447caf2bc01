"""`restgpt allow`: let the files of a folder count that change what RestGPT does, and the question about it.

`restgpt login`: get an OAuth2 token for an API through a browser.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from restgpt.commands.terminal import AsJson, Terminal, UsageError, reported

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
        from restgpt.tools.settings.environment import AllowedFolders, home_of

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


def login(
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
    as_json: AsJson = False,
) -> None:
    """Log in to an API with OAuth2 (authorization code with PKCE), and save the token in a file of mode 600."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
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

"""`restgpt login`: get an OAuth2 token for an API through a browser."""

from typing import Annotated

import typer

from restgpt.commands.failure import reported
from restgpt.commands.options import AsJson
from restgpt.commands.screen.terminal import Terminal


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

"""`restgpt login`: an OAuth2 token for an API of apis.yaml, by a browser."""

from typing import Annotated

import typer

from restgpt.commands.failure import reported
from restgpt.commands.options import AsJson
from restgpt.commands.terminal import Terminal


def login(
    name: Annotated[str, typer.Argument(help="A name in apis.yaml, or a path or URL of a document.", metavar="NAME")],
    scheme: Annotated[
        str | None, typer.Option(help="The security scheme, where the document has several.", metavar="SCHEME")
    ] = None,
    scope: Annotated[list[str] | None, typer.Option(help="A scope to ask for; repeatable.", metavar="SCOPE")] = None,
    port: Annotated[
        int, typer.Option(help="The port of the redirect, where the server insists on one.", min=0, max=65535)
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address to open.")] = False,
    seconds: Annotated[float, typer.Option(help="How long to wait for the login.", min=1)] = 300.0,
    as_json: AsJson = False,
) -> None:
    """Log in to an API with OAuth2 (authorization code with PKCE); the token is kept in a file of mode 600."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.commands.sources import load_source
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

        log_in(
            OAuthTokens(settings),
            api,
            chosen,
            open_browser=open_browser,
            port=port,
            scopes=scope or (),
            seconds=seconds,
        )
        terminal.document({"api": api.name, "scheme": chosen.key})
        terminal.answer(f"Logged in to {api.name}.")

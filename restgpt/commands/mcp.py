"""`restgpt mcp`: serve the APIs to a client of the Model Context Protocol, over stdio or HTTP."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.terminal import (
    ApiNames,
    BaseUrl,
    Exit,
    Models,
    MoreSettings,
    Specs,
    Terminal,
    UsageError,
    Writes,
    reported,
    settings_of,
)
from restgpt.tools.errors import extra_command

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from restgpt.nodes.run.context import Context
    from restgpt.nodes.run.services import Services
    from restgpt.sources import Sources
    from restgpt.tools.settings import Settings

LEAST_LIFETIME_S = 60.0
"""The shortest lifetime of handles that the option takes, in seconds."""

DAY_S = 24 * 60 * 60.0

GRACE_S = 5
"""How long a stopping server waits for its connections, in seconds."""


def mcp(
    names: ApiNames = None,
    specs: Specs = None,
    base_url: BaseUrl = None,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of stdio.")] = False,
    host: Annotated[
        str,
        typer.Option(help="The address for --http. Another one than loopback needs RESTGPT_MCP_TOKEN.", metavar="HOST"),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port for --http; 0 takes a free one.", min=0, max=65535, metavar="PORT")
    ] = 8765,
    direct: Annotated[
        bool, typer.Option("--direct", help="Make each operation a tool of its own, at most 40 of them.")
    ] = False,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", help="With --direct: only the operations with this tag. May be repeated.", metavar="TAG"),
    ] = None,
    writes: Writes = None,
    models: Models = None,
    more: MoreSettings = None,
    lifetime: Annotated[
        float,
        typer.Option(help="How long handles are valid, in seconds.", min=LEAST_LIFETIME_S, metavar="SECONDS"),
    ] = DAY_S,
) -> None:
    """Serve the APIs as MCP tools. Each change is put to a person: by the client, or with `restgpt resume`."""
    terminal = Terminal()
    with reported(terminal):
        if find_spec("mcp") is None:
            raise UsageError(f"The packages for MCP are not installed. Install them with: {extra_command('mcp')}")
        if tags and not direct:
            raise UsageError("--tag chooses the operations that --direct makes tools. Give --direct --tag TAG.")
        from restgpt.sources import Sources
        from restgpt.tools.settings import Settings

        settings = Settings.from_env()
        sources = Sources.given(names, specs, base_url).or_all(settings)
        options = settings_of(more, models=models, writes=writes)
        chosen: Any = {"is_http": http, "is_direct": direct, "tags": tags or (), "lifetime": lifetime}
        with open_server(settings, sources, options, **chosen) as opened:
            _serve(opened, terminal, settings, http=http, host=host, port=port)


@contextmanager
def open_server(
    settings: "Settings",
    sources: "Sources",
    options: Mapping[str, Any],
    *,
    is_http: bool = False,
    is_direct: bool = False,
    tags: Sequence[str] = (),
    lifetime: float = DAY_S,
    clock: Callable[[], float] = time.time,
) -> "Iterator[Server[Any]]":
    """Open the database of the threads, and make a server of the APIs over it.

    `options` are settings of its calls and runs. Raises `UsageError`, `SettingsError`, `SpecError`, `PersistenceError`,
    and `ModelError` if the options name a model that cannot be used.
    """
    from restgpt.client import Client
    from restgpt.graph.persistence import open_persistence
    from restgpt.mcp.http import fixed, principal_of, process_owner
    from restgpt.mcp.runs import Shell, agent_runs, recipe_runs
    from restgpt.mcp.seal import Seals, key_of_text
    from restgpt.mcp.server import Works, make_server
    from restgpt.mcp.service import Offer, Service
    from restgpt.mcp.threads import ServedThreads
    from restgpt.nodes.run.context import Context
    from restgpt.nodes.run.services import Services
    from restgpt.tools.settings.settings import checked_settings

    context, apis = checked_settings(Context, options), sources.load(settings)
    with open_persistence(settings) as kept:
        services = Services(apis, defaults=context, settings=settings, store=kept.store)
        client = Client(services=services, **kept.saved)
        key = None if settings.mcp_key is None else key_of_text(settings.mcp_key.reveal())
        seals = Seals(kept.store, key=key, lifetime=lifetime, clock=clock)
        seals.forget_expired()
        runs = {"recipe": recipe_runs(services, kept)}
        if has_model := _has_model(services, context, is_named="model" in options):
            runs["agent"] = agent_runs(services, kept)
        about: Any = {"sources": sources, "context": options, "lifetime": lifetime, "clock": clock}
        threads = ServedThreads(client, kept, runs=runs, **about)
        offer = Offer(Shell.of(settings), settings.home, services.recipes(), has_model, is_direct, tuple(tags))
        service = Service(client, threads, seals, offer, apis=apis)
        # Over HTTP each client may choose its own tags, so a list that is too long is an error of its request.
        if not is_http:
            service.tools()
        principal = principal_of if is_http else fixed(process_owner(settings.home))
        with closing(Works()) as works:
            yield make_server(service, seals, principal, works)
        # Not after an error: then nobody knows whether the last results arrived.
        threads.close()


def _has_model(services: "Services", context: "Context", *, is_named: bool) -> bool:
    """Return whether all roles have a model; raises `ModelError` if the command line names one that cannot be used."""
    from restgpt.tools.model import ROLES
    from restgpt.tools.model.errors import ModelError

    try:
        for role in ROLES:
            services.model(role, context)
    except ModelError:
        if is_named:
            raise
        return False
    return True


def _serve(
    server: "Server[Any]", terminal: Terminal, settings: "Settings", *, http: bool, host: str, port: int
) -> None:
    """Serve until the client closes stdin, or Ctrl-C."""
    import anyio

    if http:
        _serve_http(server, terminal, settings, host, port)
        return
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    is_gone = False
    try:
        anyio.run(serve)
    except* (BrokenPipeError, anyio.BrokenResourceError):
        is_gone = True
    if is_gone:
        # The client closed the pipe before it had read everything; what it did not read is found again by `pending`.
        raise typer.Exit(Exit.DONE)


def _serve_http(server: "Server[Any]", terminal: Terminal, settings: "Settings", host: str, port: int) -> None:
    import uvicorn

    from restgpt.commands.studio import listen
    from restgpt.mcp.http import PATH, Tokens, make_app

    app = make_app(server, host, Tokens(settings.mcp_tokens), settings.server)
    with listen(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        terminal.say(f"MCP server at http://{shown}:{listening.getsockname()[1]}{PATH}")
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_S, server_header=False
        )
        uvicorn.Server(config).run(sockets=[listening])

"""`restgpt mcp`: serve the APIs to a client of the Model Context Protocol, over stdio or HTTP.

The socket on which a command serves HTTP.

`restgpt studio`: serve the graphs for LangGraph Studio, on a simulated API if the user has configured none.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.terminal import (
    Apis,
    Exit,
    Models,
    MoreSettings,
    Silent,
    Terminal,
    UsageError,
    Writes,
    command,
    say_address_of_dotenv,
    settings_of,
)
from restgpt.tools.errors import extra_command

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from restgpt.nodes.run.services import Context, Services
    from restgpt.sources import Sources
    from restgpt.tools.settings import Settings

LEAST_LIFETIME_S = 60.0
"""The shortest lifetime of handles that the option takes, in seconds."""

DAY_S = 24 * 60 * 60.0

GRACE_S = 5
"""How long a stopping server waits for its connections, in seconds."""


@command
def mcp(
    terminal: Silent,
    ctx: typer.Context,
    apis: Apis,
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
    config: Annotated[
        bool, typer.Option("--config", help="Print the entry for the file of a client, with absolute paths, instead.")
    ] = False,
    lifetime: Annotated[
        float,
        typer.Option(help="How long a client may name a change or response.", min=LEAST_LIFETIME_S, metavar="SECONDS"),
    ] = DAY_S,
) -> None:
    """Serve the APIs as MCP tools. Each change is put to a person: by the client, or with `restgpt resume`."""
    if find_spec("mcp") is None:
        raise UsageError(f"The packages for MCP are not installed. Install them with: {extra_command('mcp')}")
    if tags and not direct:
        raise UsageError("--tag chooses the operations that --direct makes tools. Give --direct --tag TAG.")
    from restgpt.tools.settings import Settings

    settings = Settings.from_env()
    sources = apis().or_all(settings)
    if config:
        terminal.answer(_configured(settings, "-".join(sources.names) or "restgpt", ctx.find_root().obj))
        if settings.variables:
            terminal.say(f"Give the client these variables too: {', '.join(settings.variables)}.")
        return
    options = settings_of(more, models=models, writes=writes)
    chosen: Any = {"is_http": http, "is_direct": direct, "tags": tags or (), "lifetime": lifetime}
    with open_server(settings, sources, options, **chosen) as opened:
        _serve(opened, terminal, settings, http=http, host=host, port=port)


def _configured(settings: "Settings", name: str, typed: Sequence[str]) -> str:
    """Return the entry of a client's file that runs the command as it was typed, from any folder."""
    from restgpt.mcp.tool_runs import Shell

    words = [str(Path(word).absolute()) if Path(word).is_file() else word for word in typed if word != "--config"]
    program = Shell.of(settings).words[1:]
    named = dict(word.split("=", 1) for word in program if word.startswith("RESTGPT_"))
    command, *more = program[len(named) :]
    entry = {"command": command, "args": [*more, "mcp", *words], "env": named}
    return json.dumps({"mcpServers": {name: entry}}, indent=2)


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
    from restgpt.mcp.protocol import Works, make_server
    from restgpt.mcp.seal import Seals, key_of_text
    from restgpt.mcp.service import Offer, Service
    from restgpt.mcp.tool_runs import Shell, agent_runs, recipe_runs
    from restgpt.mcp.tool_threads import ServedThreads
    from restgpt.nodes.run.services import Context, Services
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
    from restgpt.tools.model.model_errors import ModelError

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

    from restgpt.mcp.http import PATH, Tokens, make_app

    app = make_app(server, host, Tokens(settings.mcp_tokens), settings.server)
    with listen(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        terminal.say(f"MCP server at http://{shown}:{listening.getsockname()[1]}{PATH}")
        if len(settings.mcp_tokens) > 1:
            terminal.say("Its clients are told apart, but the APIs get this server's own credentials from all of them.")
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_S, server_header=False
        )
        uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raises `UsageError` for an address that cannot be used.

    It names its protocol: asyncio sets TCP_NODELAY only on a socket that does, and without that a client that delays
    its acknowledgements waits some 40 ms for each answer.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform != "win32":  # there another process could take the port with it, and no closed connection holds one
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise UsageError(f"The address {host}:{port} cannot be used: {error.strerror}. Give another --port.") from None
    return listening


GRAPHS = {
    "restgpt": (
        "restgpt.graph.server:restgpt",
        "Fulfils an instruction in plain language by planning and calling operations of REST APIs that have an OpenAPI "
        "document.",
    ),
    "openfunctions": (
        "restgpt_functions.graph:served",
        "Writes function calls for a prompt from function documentation or an OpenAPI document, asks for missing "
        "values, and executes nothing.",
    ),
    "undo": (
        "restgpt.graph.single:undo",
        "Undoes the changes of a thread, newest first, and asks a person about each request.",
    ),
}
"""The path and the description of each graph."""
BASELINES = {
    "react": "The ReAct baseline: names one call at a time, without planner and selector.",
    "offline": "The offline baseline: plans all calls in advance.",
    "deps": "The DEPS baseline: describes, explains and plans the rest anew after each failure.",
    "reflexion": "The Reflexion baseline: tries, judges, reflects, and tries again.",
}
"""The baselines of the paper, each with its description."""
STATE = Path(".langgraph_api")
"""The folder in which `langgraph dev` keeps its threads; it loads objects from there."""
ENTRY_POINTS = "restgpt.apis"
"""The group of the entry points of simulated APIs: each a context manager that yields an entry of apis.yaml."""
API = "board"
"""The name of the simulated API, in that group and in the server."""
MODEL = "openai:gpt-5-mini"
"""The model for a user who has only set an OpenAI key."""
# No module of the working directory takes the place of an installed one.
VARIABLES = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "1", "PYTHONSAFEPATH": "1"}
OPTIONS = ("--n-jobs-per-worker", "4")
HOST, PORT = "127.0.0.1", 2024
"""The address of `langgraph dev`."""
PAUSE_S = 0.2
"""The time between two looks at the signals and the server, in seconds."""


@command
def studio(
    terminal: Silent,
    further: Annotated[
        list[str] | None,
        typer.Argument(help="Options of `langgraph dev`, after --, such as -- --port 3000.", metavar="-- OPTION"),
    ] = None,
    baselines: Annotated[bool, typer.Option("--baselines", help="Serve the baselines of the paper too.")] = False,
) -> None:
    """Serve the graphs for LangGraph Studio and the SDK, until Ctrl-C.

    Without an API in apis.yaml, they work on a simulated team board, which forgets its changes at the end.
    """
    with ExitStack() as stack:
        if find_spec("langgraph_api") is None:
            raise UsageError(
                "The development server of LangGraph is not installed. Install it: pip install 'langgraph-cli[inmem]'."
            )
        from restgpt.tools.settings import Settings

        settings = Settings.from_env()
        say_address_of_dotenv(terminal)
        environment = VARIABLES | model_variables(settings, terminal)
        if not settings.apis:
            environment |= stack.enter_context(_simulated_board(settings, terminal))
        config = Path(stack.enter_context(TemporaryDirectory(prefix="restgpt-studio-")), "langgraph.json")
        config.write_text(json.dumps(configuration(baselines=baselines)), encoding="utf-8")
        options = with_port(further or ())
        command = [sys.executable, "-m", "langgraph_cli", "dev", "--config", str(config), *OPTIONS, *options]
        raise typer.Exit(_run(command, os.environ | environment))


def configuration(*, baselines: bool) -> dict[str, object]:
    """Return the configuration of LangGraph's server for the graphs of the installed distributions.

    Raises `UsageError` if the baselines are wanted and not installed.
    """
    from restgpt.server.app import EXPOSED, STUDIO
    from restgpt.tools.errors import BENCH, extra_command

    if baselines and find_spec("restgpt_bench") is None:
        raise UsageError(f"The baselines are not installed. Install them: {extra_command('', BENCH)}")
    listed = {name: graph for name, graph in GRAPHS.items() if find_spec(graph[0].partition(".")[0])}
    if baselines:
        listed |= {name: (f"restgpt_bench.methods.server:{name}", about) for name, about in BASELINES.items()}
    origins: dict[str, object] = {"allow_origins": [STUDIO], "allow_methods": ["*"], "allow_headers": ["*"]}
    cors = {**origins, "expose_headers": [name.lower() for name in EXPOSED]}
    return {
        "dependencies": ["."],
        "graphs": {name: {"path": path, "description": about} for name, (path, about) in listed.items()},
        "http": {"app": "restgpt.server.app:app", "cors": cors, "disable_mcp": True},
    }


def with_port(further: Sequence[str], port: int = PORT) -> list[str]:
    """Return the options of `langgraph dev` with a port: without one `port`, or a free one if that is taken."""
    if any(option.partition("=")[0] == "--port" for option in further):
        return list(further)
    with socket.socket() as probe:
        is_taken = probe.connect_ex((HOST, port)) == 0
    if not is_taken:
        return [*further, "--port", str(port)]
    with socket.create_server((HOST, 0)) as free:
        return [*further, "--port", str(free.getsockname()[1])]


def model_variables(settings: "Settings", terminal: Terminal) -> dict[str, str]:
    """Return the variable of the model that a user with an OpenAI key gets; say what is missing to one without."""
    from restgpt.tools.model import ROLES

    if all(settings.model_for(role) for role in ROLES):
        return {}
    if settings.has_openai_api_key and not settings.openai_base_url:
        terminal.say(f"RESTGPT_MODEL is not set, so the server uses {MODEL} with your OPENAI_API_KEY.")
        return {"RESTGPT_MODEL": MODEL}
    terminal.say(
        f"No model is configured. Set OPENAI_API_KEY, or RESTGPT_MODEL (such as {MODEL}) and the key of its provider, "
        "in the environment or in .env, and start again. In Studio, a run can name a model in its setting `model`."
    )
    return {}


@contextmanager
def _simulated_board(settings: "Settings", terminal: Terminal) -> Iterator[Mapping[str, str]]:
    """Serve the simulated team board and describe it in a file of its own; give the variables that name the file."""
    from importlib.metadata import entry_points

    from restgpt.tools.errors import BENCH, extra_command

    installed = entry_points(group=ENTRY_POINTS, name=API)
    if not installed:
        raise UsageError(
            "No API is configured, and the simulated task board is not installed. Describe your APIs in apis.yaml in "
            f"this folder, or install the board: {extra_command('', BENCH)}"
        )
    with installed[API].load()() as entry, TemporaryDirectory(prefix="restgpt-studio-") as folder:
        described = Path(folder) / "apis.yaml"
        described.write_text(json.dumps({API: entry}), encoding="utf-8")
        terminal.say(
            f"No API is configured, so the server works on the API {API}, a simulated task board, which forgets all "
            "changes at the end. To use APIs of your own, describe them in apis.yaml in this folder, and start again."
        )
        yield {"RESTGPT_APIS": str(described), "RESTGPT_RECIPES": str(settings.recipes.absolute())}


def _run(command: list[str], environment: Mapping[str, str]) -> int:
    """Run the server until it ends, and return its exit code; SIGINT and SIGTERM end the server, not this command."""
    signals: list[int] = []
    # From before the start, so that no server survives its command.
    before = {
        number: signal.signal(number, lambda received, _: signals.append(received))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    passed_on = 0
    try:
        with subprocess.Popen(command, env=dict(environment)) as server:
            while server.poll() is None:
                if len(signals) > passed_on:
                    passed_on = len(signals)
                    server.terminate()
                with suppress(subprocess.TimeoutExpired):
                    server.wait(PAUSE_S)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0 if signals else server.returncode

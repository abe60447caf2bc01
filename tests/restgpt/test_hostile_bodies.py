"""Guards every surface against hostile bodies: no crash, no repeated change, no secret, and a word about what is."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from board import agent_of
from cli import Cli
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from mcpserver import connected
from paths import openapi
from roles import by_role, end, program
from wire.case import Canned
from wire.echo import EchoServer

from recipes import recipe
from restgpt import Client, load_api
from restgpt.commands.serving import open_server
from restgpt.graph.recipe_graph import build_recipe
from restgpt.sources import Sources
from restgpt.specs import Api
from restgpt.tools.errors import RestgptError
from restgpt.tools.settings import Settings

KEY = "key-that-nobody-may-see"
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
DOCUMENT = openapi(
    {
        "/things": {"get": {"operationId": "list_things"}, "post": {"operationId": "add_thing", "requestBody": BODY}},
        "/things/{id}": {"delete": {"operationId": "delete_thing", "parameters": [ID]}},
    },
    security=[{"key": []}],
    schemes={"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
)
LOOKALIKE = f"http://{KEY}\u2100.example/".encode().decode("latin-1")
"""A Location whose host is refused by Python with a message that quotes it."""
CODE = "made = add_thing(body={'name': 'x'})\nprint(made, list_things())"
ADDED = {"body": {"name": "x"}}

DEEP = {
    "open lists": b"[" * 1_000_000,
    "open objects": b'{"a":' * 20_000,
    "objects": b'{"a":' * 400 + b"1" + b"}" * 400,
    "lists": b"[" * 200 + b"]" * 200,
    "digits": b"1" * 10_000,
    "an id of digits": b'{"id": ' + b"9" * 10_000 + b"}",
}
"""Long bodies by name, so that a failure of the test shows the name."""
ODD = [
    b"[1e999, -1e999]",
    b'{"id": NaN}',
    b'{"id": "\\ud800"}',
    b'"\\udfff\\ud800"',
    b'{"id": 1, "id": 2}',
    b"\xff\xfe[\x00]\x00",
    b"\xef\xbb\xbf{}",
    b"{}{}",
    f'{{"echo": "{KEY}"}}'.encode(),
    b'{"id": "\\u202e\\u0000"}',
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
PARTS = [b"[", b"]", b"{", b"}", b'"a"', b":", b",", b"1", b"\\", b"NaN"]
BODIES = (
    st.sampled_from([*DEEP, *ODD])
    | VALUES.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=200)
    | st.lists(st.sampled_from(PARTS), max_size=60).map(b"".join)
)
TYPES = st.sampled_from(["application/json", "application/problem+json", "text/plain", "application/xml", ""])
LOCATIONS = st.sampled_from(["", "http://[bad/", "http://[::1\\0", LOOKALIKE, "/things/1", "//", "a b"])

Surface = Callable[[Api, Path], str]


def as_agent(api: Api, home: Path) -> str:
    replies: list[Any] = [program(CODE), *[end("I cannot tell.", fulfilled=False)] * 3]
    agent = agent_of([api], by_role({"express": replies}), context={"writes": "allow"})
    agent.ask("Add a thing")
    found = agent.graph.get_state(agent.config)
    return json.dumps([found.values, found.tasks], default=str)


def as_program(api: Api, home: Path) -> str:
    client = Client([api], context={"writes": "allow"})
    return repr(client.run(CODE))


def as_call(api: Api, home: Path) -> str:
    (home / "spec.json").write_text(json.dumps(DOCUMENT))
    place = ("--spec", str(home / "spec.json"), "--base-url", api.base_url)
    made = Cli(home)("call", "add_thing", *place, "--args", json.dumps(ADDED), "--approve", "--json")
    assert isinstance(made.document, dict), made.err
    assert made.document.get("thread") or made.document.get("error")
    assert "bug" not in made.err
    return made.out + made.err


def as_mcp(api: Api, home: Path) -> str:
    (home / "spec.json").write_text(json.dumps(DOCUMENT))

    async def run(server: Any) -> str:
        async with connected(server, "2026-07-28") as client:
            call = {"operation": "add_thing", "arguments": ADDED}
            made = await client.call_tool("change_operation", call)
            told = repr(made) + repr(await client.call_tool("run_program", {"code": "print(list_things())"}))
            assert "a bug in restgpt" not in told
            return told

    sources = Sources((), (str(home / "spec.json"),), api.base_url)
    with open_server(Settings.from_env(), sources, {"writes": "allow"}) as server:
        return asyncio.run(run(server))


def as_recipe(api: Api, home: Path) -> str:
    made = recipe(api, CODE, ("list_things", "add_thing"), inputs={"type": "object"})
    graph = build_recipe(made, [api], checkpointer=InMemorySaver(), store=InMemoryStore())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"inputs": {}}, config, context={"writes": "allow"})  # type: ignore[arg-type]
    return json.dumps(graph.get_state(config).values, default=str)


SURFACES: dict[str, Surface] = {"agent": as_agent, "program": as_program, "call": as_call, "mcp": as_mcp}
SURFACES["recipe"] = as_recipe


@pytest.mark.parametrize("examples", [2, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("surface", SURFACES)
def test_no_body_breaks_a_surface_repeats_a_change_or_shows_the_key(
    surface: str,
    examples: int,
    echo: EchoServer,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RESTGPT_AUTH_KEY", KEY)
    monkeypatch.delenv("RESTGPT_MODEL", raising=False)

    @given(body=BODIES, kind=TYPES, status=st.sampled_from([200, 201, 400]), location=LOCATIONS)
    @example(body="open lists", kind="application/json", status=201, location="")
    @example(body="open objects", kind="application/json", status=201, location="")
    @example(body="an id of digits", kind="application/json", status=201, location="http://[bad/")
    @example(body=ODD[2], kind="application/json", status=200, location=LOOKALIKE)
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    def holds(body: bytes | str, kind: str, status: int, location: str) -> None:
        home = tmp_path_factory.mktemp("home")
        monkeypatch.setenv("RESTGPT_HOME", str(home))
        headers = {**({"Content-Type": kind} if kind else {}), **({"Location": location} if location else {})}
        echo.script([Canned(status=status, headers=headers, body=DEEP[body] if isinstance(body, str) else body)])
        api = load_api(DOCUMENT, base_url=echo.url, auth={"key": KEY})
        try:
            told = SURFACES[surface](api, home)
        except RestgptError as error:
            told = f"{error!r} {error.__cause__!r} {error.__context__!r}"
        assert KEY not in told
        kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
        assert KEY.encode() not in kept
        sent = [seen.method for seen in echo.arrived]
        assert sent.count("POST") == 1, sent

    holds()

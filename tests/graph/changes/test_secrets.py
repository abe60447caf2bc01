"""Guards secrets: with an API that echoes them and fails in many ways, no file, log or message contains one."""

import base64
import io
import json
import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
from board import CALLS
from cli import Cli
from langchain_core.outputs import ChatResult
from langgraph.store.base import Op, PutOp, Result
from langgraph.store.memory import InMemoryStore
from loopback import Handler, served
from paths import openapi
from requests.adapters import BaseAdapter

from lab.kit.errand import Errand, ErrandModel, Step
from restgpt.graph.build import Graph, build_graph
from restgpt.graph.persistence import Persistence, open_persistence
from restgpt.nodes.run.services import Context, Services
from restgpt.sources import Sources
from restgpt.specs import load_api
from restgpt.threads import ThreadRecord, Threads
from restgpt.tools.errors import LoginError, RestgptError, UnforeseenError
from restgpt.tools.http.http_client import HttpClient, HttpLimits
from restgpt.tools.settings import ApiEntry, Secret, Settings
from restgpt.tools.text.redaction import MARK, RedactingFormatter, Redactor, without_secrets

BEARER = "planted/bearer+secret=01"
KEY = "planted key&secret?02"
EXTRA = "planted-extra-secret-03"
SECRETS = (BEARER, KEY, EXTRA)
FORMS = [
    form
    for secret in SECRETS
    for form in (secret, quote(secret), quote(secret, safe=""), base64.b64encode(secret.encode()).decode().rstrip("="))
]

BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
DOCUMENT = openapi(
    {
        "/things": {"post": {"operationId": "make", "requestBody": BODY}},
        "/things/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {"operationId": "read"},
            "put": {"operationId": "change", "requestBody": BODY},
            "delete": {"operationId": "remove"},
        },
    },
    title="Echo",
    security=[{"token": [], "key": []}],
    schemes={"token": {"type": "http", "scheme": "bearer"}, "key": {"type": "apiKey", "in": "query", "name": "key"}},
)
ERRAND = Errand(
    "echo",
    "Read thing 5, make one called Fern, and change thing 6.",
    (
        Step("read", {"path": {"id": 5}}, stage=1),
        Step("make", {"body": {"name": "Fern"}}, stage=2),
        Step("change", {"path": {"id": 6}, "body": {"name": "Moss"}}, stage=3),
    ),
)
WAYS = ("plain", "error", "refused", "busy", "malformed", "truncated", "reset", "redirect", "html", "latin", "headers")


@contextmanager
def echo_server(way: str, at: int) -> Iterator[str]:
    """A server that echoes each request, and from its nth request on does so with a fault."""
    count = [0]

    class Echo(Handler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            self.body()
            count[0] += 1
            echoed = {"id": 1, "url": self.path, "headers": dict(self.headers), "secrets": SECRETS, "name": "Ivy"}
            body = json.dumps({**echoed, "basic": base64.b64encode(f"x:{BEARER}".encode()).decode()}).encode()
            ill = way if count[0] >= at else "plain"
            status = {"error": 500, "refused": 401, "busy": 429, "redirect": 302}.get(ill, 200)
            if ill == "reset":
                self.connection.close()
                return
            if ill == "malformed":
                body = b"{[" + body
            self.send_response(status, f"Reason {EXTRA}" if ill == "headers" else None)
            self.send_header("Content-Type", "text/html" if ill == "html" else "application/json")
            self.send_header("X-Echo", f"{BEARER} {quote(KEY)}")
            self.send_header("Location", f"http://elsewhere.invalid/?key={quote(KEY)}&t={quote(BEARER)}")
            self.send_header("Content-Length", str(len(body) + (50 if ill == "truncated" else 0)))
            self.end_headers()
            self.wfile.write(body.decode().encode("utf-16") if ill == "latin" else body)

        do_POST = do_PUT = do_DELETE = do_GET

    with served(Echo) as url:
        yield url


def settings(home: Path) -> Settings:
    entry = ApiEntry(
        name="echo",
        spec="echo.json",
        auth={"token": Secret(BEARER), "key": Secret(KEY)},
        headers={"X-Extra": Secret(EXTRA)},
    )
    return Settings(home=home, apis={"echo": entry})


def found_in(text: str) -> list[str]:
    return [form for form in FORMS if form in text]


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Capture the log records of all loggers, at the lowest level, with tracebacks and structured events."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(event)s", defaults={"event": ""}))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    logging.getLogger("restgpt").setLevel(logging.DEBUG)
    yield written
    root.removeHandler(handler)
    root.setLevel(level)
    logging.getLogger("restgpt").setLevel(logging.NOTSET)


LIMITS = HttpLimits(read_seconds=1.0, total_seconds=2.0, backoff_seconds=0.01, attempts=2, longest_wait=0.1)


CONFIG: Any = {"configurable": {"thread_id": "t"}}
ASKED: Any = {"instruction": ERRAND.instruction}


def graph_of(home: Path, kept: Persistence, url: str, *, adapter: Any = None, store: Any = None, **given: Any) -> Graph:
    """The agent that carries out the errand, with parts that a test brings."""
    api = load_api(DOCUMENT, base_url=url, name="echo", entry="echo")
    http = HttpClient(settings=settings(home), limits=LIMITS, adapter=adapter)
    defaults = Context(**CALLS, writes="allow", code=False)
    given = {"model": ErrandModel.over(ERRAND), **given}
    services = Services([api], settings=settings(home), http=http, defaults=defaults, **given)
    return build_graph(services=services, checkpointer=kept.checkpointer, store=store or kept.store)


def files_of(home: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("way", [WAYS[0], *(pytest.param(way, marks=pytest.mark.slow) for way in WAYS[1:])])
def test_no_secret_is_left_anywhere(way: str, tmp_path: Path, log: io.StringIO) -> None:
    model = ErrandModel.over(ERRAND, keep=True)
    said = ""
    for at in (1, 2, 3):
        with echo_server(way, at) as url, open_persistence(settings(tmp_path)) as kept:
            graph = graph_of(tmp_path, kept, url, model=model)
            config: Any = {"configurable": {"thread_id": f"t{at}"}}
            try:
                said += str(graph.invoke(ASKED, config))
            except RestgptError:
                said += traceback.format_exc()
            said += str(graph.get_state(config)) + str(list(graph.get_state_history(config)))
            assert found_in(files_of(tmp_path)) == [], "in a file"
    assert len(model.prompts) > 3
    assert found_in("\n".join(model.prompts)) == [], "in a prompt"
    assert found_in(said) == [], "in a state, result or exception"
    assert "restgpt" in log.getvalue()
    assert found_in(log.getvalue()) == [], "in the log"


def test_the_search_would_find_a_secret() -> None:
    assert found_in(f"x{quote(KEY)}y")
    assert found_in(str({"t": base64.b64encode(BEARER.encode()).decode()}))


def test_no_secret_is_in_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTGPT_HOME", str(tmp_path))
    monkeypatch.setenv("RESTGPT_AUTH_TOKEN", BEARER)
    monkeypatch.setenv("RESTGPT_AUTH_KEY", KEY)
    document = tmp_path / "echo.json"
    document.write_text(json.dumps(DOCUMENT))
    cli = Cli(tmp_path)
    with echo_server("plain", 9) as url:
        at = ["--spec", str(document), "--base-url", url]
        with open_persistence(Settings.from_env()) as kept:
            defaults = Context(**CALLS, writes="allow", code=False)
            api = load_api(DOCUMENT, base_url=url)
            services = Services([api], model=ErrandModel.over(ERRAND), defaults=defaults)
            build_graph(services=services, checkpointer=kept.checkpointer, store=kept.store).invoke(ASKED, CONFIG)
            sources = Sources(specs=(str(document),), base_url=url)
            Threads(kept.store).keep(ThreadRecord("t", "x", sources, status="done"))
        calls = [
            cli("call", "read", *at, "--args", '{"path": {"id": 5}}', "--json"),
            cli("--debug", "call", "change", *at, "--args", '{"path": {"id": 5}, "body": {"k": 1}}', "--approve"),
        ]
        calls += [cli("threads", "t", "--json"), cli("undo", "t", "--json"), cli("undo", "t", "--approve")]
    printed = "".join(ran.out + ran.err for ran in calls)
    assert [form for form in found_in(printed) if form != EXTRA] == []
    assert "redacted" in calls[0].out


class Leaking(Exception):
    """An error of a library that quotes a secret, as it is and in a cause."""

    def __init__(self) -> None:
        super().__init__(f"cannot use {BEARER} at http://x/?key={quote(KEY)}")
        self.__cause__ = ValueError(EXTRA)


class LeakingAdapter(BaseAdapter):
    """A transport that fails before an answer, or while its body is read."""

    def __init__(self, *, in_body: bool) -> None:
        super().__init__()
        self._in_body = in_body

    def send(self, request: requests.PreparedRequest, *args: object, **kwargs: object) -> requests.Response:
        if not self._in_body:
            raise Leaking
        answer = requests.Response()
        answer.status_code = 200
        answer.raw = self
        return answer

    def read(self, *args: object, **kwargs: object) -> bytes:
        raise Leaking

    def close(self) -> None:
        """Nothing is open."""


class LeakingModel(ErrandModel):
    def _generate(self, *args: object, **kwargs: object) -> ChatResult:
        raise Leaking


class LeakingStore(InMemoryStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        listed = list(ops)
        if any(isinstance(op, PutOp) for op in listed):
            raise Leaking
        return super().batch(listed)


def leaking_clock() -> float:
    raise Leaking


SEAMS: dict[str, Callable[[], dict[str, Any]]] = {
    "transport": lambda: {"adapter": LeakingAdapter(in_body=False)},
    "body": lambda: {"adapter": LeakingAdapter(in_body=True)},
    "store": lambda: {"store": LeakingStore()},
    "model": lambda: {"model": LeakingModel.over(ERRAND)},
    "clock": lambda: {"clock": leaking_clock},
}


@pytest.mark.parametrize("seam", SEAMS)
def test_an_unforeseen_error_of_a_seam_leaves_no_node_with_secrets(seam: str, tmp_path: Path, log: io.StringIO) -> None:
    with open_persistence(settings(tmp_path)) as kept:
        graph = graph_of(tmp_path, kept, "http://127.0.0.1:1", **SEAMS[seam]())
        with pytest.raises(UnforeseenError, match=r"Leaking at test_secrets\.py") as caught:
            graph.invoke(ASKED, CONFIG)
        said = "".join(traceback.format_exception(caught.value))
        state = graph.get_state(CONFIG)
        assert state.tasks[0].error is not None
        said += repr(state) + repr(list(graph.get_state_history(CONFIG)))
    assert "Leaking at" in files_of(tmp_path)
    assert found_in(files_of(tmp_path)) == [], "in a file"
    assert found_in(said) == [], "in a state or an exception"
    assert found_in(log.getvalue()) == [], "in the log"


def test_an_error_of_ours_keeps_its_type_and_loses_secrets_and_causes() -> None:
    harmless, error = KeyError("name"), LoginError(f"refused {BEARER}")
    assert without_secrets(harmless, Redactor(SECRETS)) is harmless
    error.__cause__ = ValueError(EXTRA)
    shown = without_secrets(error, Redactor(SECRETS))
    assert isinstance(shown, LoginError)
    assert found_in("".join(traceback.format_exception(shown))) == []
    assert str(shown) == f"refused {MARK}"


def test_the_log_of_the_command_line_hides_secrets_in_tracebacks() -> None:
    Redactor(SECRETS)
    try:
        raise Leaking
    except Leaking:
        record = logging.LogRecord("restgpt", logging.ERROR, "x.py", 1, "it failed %s", (BEARER,), sys.exc_info())
    shown = RedactingFormatter("%(message)s").format(record)
    assert "Traceback" in shown
    assert found_in(shown) == []

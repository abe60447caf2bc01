"""Guards what belongs to the server: its assistants, by whatever spelling of an id, and its store."""

import json
from uuid import uuid4, uuid5

import pytest
from asgi import requested
from httpx2 import Response
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from restgpt.server.access import IN_PROCESS
from restgpt.server.app import NAMESPACE, OwnCheck

OWN = uuid5(NAMESPACE, "restgpt")


def asked(method: str, path: str, root: str = "") -> Response:
    """Send a request to an app that answers any path."""

    async def answer(request: Request) -> PlainTextResponse:
        return PlainTextResponse("passed")

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return requested(
        OwnCheck(Starlette(routes=[Route("/{rest:path}", answer, methods=methods)])), method, path, root=root
    )


@pytest.fixture(autouse=True)
def graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSERVE_GRAPHS", json.dumps({"restgpt": "x:y", "undo": "x:z"}))


SPELLED = [str(OWN), str(OWN).upper(), OWN.hex, f"{{{OWN}}}", f"%7B{OWN}%7D", f"urn:uuid:{OWN}"]
SPELLED += [str(OWN).replace("-", "", 1), "restgpt", "RESTGPT", "undo"]


@pytest.mark.parametrize("name", SPELLED)
@pytest.mark.parametrize(("method", "end"), [("PATCH", ""), ("DELETE", ""), ("POST", "/latest")])
def test_no_spelling_of_an_id_changes_an_assistant_of_the_server(name: str, method: str, end: str) -> None:
    told = asked(method, f"/assistants/{name}{end}")
    assert (told.status_code, "no client changes" in told.text) == (403, True)


def test_assistants_of_clients_are_theirs_and_all_can_be_read() -> None:
    for method, path in (("PATCH", f"/assistants/{uuid4()}"), ("GET", f"/assistants/{OWN}"), ("POST", "/assistants")):
        assert asked(method, path).text == "passed"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/store/items"),
        ("DELETE", "/store/items"),
        ("GET", "/store/items?namespace=restgpt.permissions&key=x"),
        ("POST", "/store/items/search"),
        ("POST", "/store/namespaces"),
        ("POST", "/%73tore/items/search"),
    ],
)
def test_no_client_reads_or_writes_the_store(method: str, path: str) -> None:
    assert asked(method, path).status_code == 403


def test_the_server_itself_may_do_both() -> None:
    assert asked("PUT", "/store/items", root=IN_PROCESS).text == "passed"

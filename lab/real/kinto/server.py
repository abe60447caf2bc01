"""Seeds Kinto; a resource is a bucket, a collection, a group or a record, by its path."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lab.real.http import Call, Http
from lab.real.server import Server
from lab.real.state import NEW, Effect, Sent, State

PROGRAMS = Path(__file__).resolve().parents[3] / ".kinto" / "bin"
"""The environment that `make real` gives Kinto: its framework needs older packages than the project does."""

LOGIN = "librarian:secret"
VERSION = 1767225600000
"""The version of the first resource of the seed, in milliseconds since 1970; each of the others has one more."""


class Kinto(Server):
    """Kinto, with the catalogue of a library."""

    name, product, base = "kinto", "Kinto", "/v1"
    about, document = ("/", "project_version"), "/v1/__api__"
    missing = "Kinto is not installed. Install it with: make kinto"
    auth: ClassVar[Mapping[str, str]] = {"basicauth": LOGIN}

    def program(self) -> str | None:
        """Return the program."""
        return shutil.which("kinto", path=str(PROGRAMS)) or shutil.which("kinto")

    def options(self, folder: Path, port: int) -> Sequence[str]:
        """Return the options for a server with its storage in memory."""
        return ["start", "--ini", str(Path(__file__).with_name("kinto.ini")), "--port", str(port)]

    def client(self, url: str) -> Http:
        """Return the client of a librarian."""
        return Http(url, login=LOGIN)

    def reset(self, http: Http) -> None:
        """Delete all buckets, and create those of the seed in one batch."""
        http.send(Call("DELETE", "/buckets"))
        requests = [
            {"method": "PUT", "path": path, "body": {"data": {**data, "last_modified": VERSION + number}}}
            for number, (path, data) in enumerate(self.seed.items())
        ]
        http.send(Call("POST", "/batch", {"requests": requests}))

    def state(self, http: Http) -> State:
        """Return the data of all resources, without their versions."""
        return dict(_resources(http, "/buckets"))

    def effects(self, sent: Sent, http: Http) -> Sequence[Effect]:
        """Return the effects of a request, or of all requests of a batch."""
        if sent.path != "/batch":
            return list(_effects(sent, http))
        return [effect for part in _parts(sent.body) for effect in _effects(part, http)]


CHILDREN = {2: ("collections", "groups"), 4: ("records",)}
"""The lists inside a resource, by the number of names in its path."""


def _resources(http: Http, path: str) -> Iterator[tuple[str, Any]]:
    for item in listed(http, path):
        key = f"{path}/{item['id']}"
        yield key, {name: value for name, value in item.items() if name not in ("id", "last_modified")}
        for child in CHILDREN.get(key.count("/"), ()) if "/groups/" not in key else ():
            yield from _resources(http, f"{key}/{child}")


def listed(http: Http, path: str) -> Iterator[Any]:
    """Yield the items of a list, from all of its pages."""
    while path:
        answer = http.send(Call("GET", path))
        yield from answer.json()["data"]
        path = answer.headers.get("Next-Page", "")


def _parts(body: Any) -> Iterator[Sent]:
    """Yield the requests of a batch."""
    defaults = body.get("defaults") or {}
    for part in body.get("requests", ()):
        given = {**defaults, **part}
        path = str(given["path"]).removeprefix("/v1")
        yield Sent(str(given.get("method", "GET")).upper(), path.partition("?")[0], path, given.get("body"))


def _effects(sent: Sent, http: Http) -> Iterable[Effect]:
    is_list = sent.path.count("/") % 2 == 1
    match sent.method:
        case "GET" | "HEAD":
            return []
        case "PUT" | "PATCH" if not is_list:
            return [Effect(sent.path, _data(sent.body))]
        case "POST" if is_list:
            data = dict(_data(sent.body))
            return [Effect(f"{sent.path}/{data.pop('id', NEW)}", data)]
        case "DELETE" if not is_list:
            return [Effect(sent.path, None)]
        case "DELETE":
            # Such a request deletes exactly what a GET with the same query lists.
            return [Effect(f"{sent.path}/{item['id']}", None) for item in listed(http, sent.url)]
    return [Effect(sent.path, {})]


def _data(body: Any) -> Mapping[str, Any]:
    data = body.get("data") if isinstance(body, Mapping) else None
    return {name: value for name, value in (data or {}).items() if name != "last_modified"}

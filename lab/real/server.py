"""A real server: how the rig starts it, seeds it, reads its state, and reads requests to it."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import yaml

from lab.kit.port import held_port
from lab.kit.process import MissingServerError, running
from lab.real.http import Call, Http
from lab.real.state import Effect, Sent, State
from lab.real.task import Task
from restgpt.specs import Api, load_api
from restgpt.tools.settings import EffectRule

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Running:
    """A running server: its version, its OpenAPI document, the credentials for the agent, and the rig's client.

    The client's base URL is the one of the API.
    """

    version: str
    document: dict[str, Any]
    auth: Mapping[str, str]
    http: Http

    def api(self, name: str) -> Api:
        """Return the API as the agent gets it, by an entry; its name is not the title in the document."""
        return load_api(self.document, base_url=self.http.url, auth=self.auth, name=name, entry=name)


class Server(ABC):
    """A kind of server; its seed, the tasks on it, and a change that no task wants are in `tasks.yaml` of its folder.

    `product` is the name before its version, which `about` has in a field; `document` and `base` are paths below the
    root; `auth` are the agent's credentials.
    """

    name: ClassVar[str]
    product: ClassVar[str]
    base: ClassVar[str] = ""
    about: ClassVar[tuple[str, str]]
    document: ClassVar[str]
    missing: ClassVar[str]
    auth: ClassVar[Mapping[str, str]] = {}
    environment: ClassVar[Mapping[str, str]] = {}
    reads: ClassVar[tuple[EffectRule, ...]] = ()
    """The user's rules in `apis.yaml` about requests that only read."""

    def __init__(self) -> None:
        given = yaml.safe_load((HERE / self.name / "tasks.yaml").read_text(encoding="utf-8"))
        self.seed: State = given["seed"]
        self.tasks = [Task.of(name, task) for name, task in given["tasks"].items()]
        self.mischief = Call(**given["mischief"])

    @contextmanager
    def serve(self) -> Iterator[Running]:
        """Start the server in a temporary folder on a free port; raises `MissingServerError` or `ServerError`."""
        program = self.program()
        if program is None:
            raise MissingServerError(self.missing)
        with tempfile.TemporaryDirectory(prefix=f"restgpt-{self.name}-") as name, held_port() as port:
            folder, root = Path(name), f"http://127.0.0.1:{port}"
            http, (about, field) = self.client(f"{root}{self.base}"), self.about
            command = [program, *self.options(folder, port)]
            with running(command, folder=folder, is_up=lambda: http.is_up(about), environment=self.environment):
                version = f"{self.product} {http.get(about)[field]}"
                yield Running(version, http.get(f"{root}{self.document}"), self.auth, http)

    @abstractmethod
    def program(self) -> Path | str | None:
        """Return the program of the server, or None if it is not installed."""

    @abstractmethod
    def options(self, folder: Path, port: int) -> Sequence[str]:
        """Write what the server needs into its folder, and return the options of its program."""

    def client(self, url: str) -> Http:
        """Return the rig's client."""
        return Http(url)

    @abstractmethod
    def reset(self, http: Http) -> None:
        """Remove everything from the server, and seed it."""

    @abstractmethod
    def state(self, http: Http) -> State:
        """Return the state of the server, without times and versions."""

    @abstractmethod
    def effects(self, sent: Sent, http: Http) -> Sequence[Effect]:
        """Return the effects that a request would have; an effect on a key of no resource if they are not known."""

    def only_reads(self, sent: Sent) -> bool:
        """Return whether a request changes nothing."""
        return sent.method in ("GET", "HEAD")


def sent_of(shown: dict[str, Any], http: Http) -> Sent:
    """Return the request that a question shows."""
    url = str(shown["url"])
    base = urlsplit(http.url).path
    path = unquote(urlsplit(url).path).removeprefix(base)
    return Sent(str(shown["method"]), path, url, shown.get("body"))

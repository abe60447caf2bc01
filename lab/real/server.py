"""The interface of a real server: how the rig starts it, seeds it, reads its state, and reads requests to it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from lab.real.http import Call, Http
from lab.real.state import Effect, Sent, State
from lab.real.task import Task
from restgpt.specs import Api, load_api
from restgpt.tools.settings import EffectRule


@dataclass(frozen=True, slots=True)
class Running:
    """A running server: its version, its OpenAPI document, the credentials for the agent, and the rig's client.

    The client's base URL is the one of the API.
    """

    version: str
    document: dict[str, Any]
    auth: dict[str, str]
    http: Http

    def api(self, name: str) -> Api:
        """Return the API as the agent gets it, by an entry; its name is not the title in the document."""
        return load_api(self.document, base_url=self.http.url, auth=self.auth, name=name, entry=name)


class Server(ABC):
    """A kind of server, and the tasks on it."""

    name: ClassVar[str]
    tasks: ClassVar[tuple[Task, ...]]
    mischief: ClassVar[Call]
    """A change that no task wants."""

    reads: ClassVar[tuple[EffectRule, ...]] = ()
    """The user's rules in `apis.yaml` about requests that only read."""

    @abstractmethod
    def serve(self) -> AbstractContextManager[Running]:
        """Start the server in a temporary folder on a free port; raises `MissingServerError` or `ServerError`."""

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

"""The rig's own HTTP client: seeds servers, reads their state, and makes the gold calls of tasks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import requests

from lab.kit.process import ServerError, answers

TIMEOUT_S = 60.0
SHOWN = 500


@dataclass(frozen=True, slots=True)
class Call:
    """A request that the rig makes; `refused` is the status with which the server must refuse it, or 0."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    refused: int = 0


class Http:
    """Sends JSON to one server, with its credentials."""

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, login: str = "") -> None:
        self.url = url
        self._session = requests.Session()
        # No proxy and no .netrc: the server is on loopback.
        self._session.trust_env = False
        self._session.headers.update(headers or {})
        if login:
            name, _, password = login.partition(":")
            self._session.auth = (name, password)

    def send(self, call: Call) -> requests.Response:
        """Send a request; raises `ServerError` for any status but a success, or but the refusal that is expected."""
        url = call.path if call.path.startswith("http://") else self.url + call.path
        response = self._session.request(
            call.method, url, json=call.body, headers=dict(call.headers), timeout=TIMEOUT_S
        )
        if response.status_code != call.refused and (call.refused or not response.ok):
            text = response.text[:SHOWN]
            raise ServerError(f"{call.method} {call.path} was answered with status {response.status_code}: {text}")
        return response

    def get(self, path: str) -> Any:
        """Return the body of a GET request; raises `ServerError`."""
        return self.send(Call("GET", path)).json()

    def is_up(self, path: str) -> bool:
        """Return whether the server answers a GET request with a success."""
        return answers(self.url + path, self._session)

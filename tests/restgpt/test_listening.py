"""Guards the sockets of the commands that serve HTTP."""

import socket

import pytest

from restgpt.commands.serving import listen
from restgpt.commands.terminal import UsageError


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_listening_socket_names_tcp_so_that_answers_are_not_delayed(host: str) -> None:
    with listen(host, 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        port = listening.getsockname()[1]
        with pytest.raises(UsageError, match=rf"{host}:{port} cannot be used: .+ Give another --port\."):
            listen(host, port)

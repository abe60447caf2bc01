"""The socket on which a command serves HTTP."""

import socket
import sys

from restgpt.commands.failure import UsageError


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

"""Runs a command of RestGPT as on another system: `python othersystem.py SYSTEM COMMAND…`, in a process of its own.

`windows` has no module and no function that only Unix has, a console of code page 1252 and lines that end with CRLF;
`darwin` has them, and is no Linux. The standard library is imported before, because it asks for the system too.
"""

import asyncio  # noqa: F401
import builtins
import fcntl
import io
import multiprocessing.connection  # noqa: F401
import os
import signal
import socket
import socketserver  # noqa: F401
import sqlite3  # noqa: F401
import ssl
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
from concurrent import futures  # noqa: F401
from types import ModuleType
from typing import Any


class Msvcrt(ModuleType):
    """What Windows has in the place of `fcntl.flock`."""

    LK_NBLCK, LK_UNLCK = 2, 0

    @staticmethod
    def locking(file: int, mode: int, count: int) -> None:
        """Lock or unlock a file."""
        try:
            fcntl.flock(file, fcntl.LOCK_UN if mode == Msvcrt.LK_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    @staticmethod
    def get_osfhandle(file: int) -> int:
        """Return the handle of a file."""
        return file


class Pywin32(ModuleType):
    """One of the modules with which the SDK of MCP hands a standard stream of Windows to the processes it starts."""

    STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE = -10, -11, -12
    error = OSError
    SetStdHandle = staticmethod(lambda slot, handle: None)


UNIX_MODULES = frozenset({"fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "syslog"})
UNIX_FUNCTIONS = (
    *("fork", "register_at_fork", "getuid", "geteuid", "getgid", "setsid", "killpg", "fchmod", "memfd_create"),
)
UNIX_SIGNALS = ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM")


def become(system: str) -> None:
    """Take away what the system has not."""
    if system == "darwin":
        sys.platform = "darwin"
        return
    imported = builtins.__import__

    def on_windows(name: str, *arguments: Any, **options: Any) -> Any:
        if name in UNIX_MODULES and (frame := sys._getframe(1)).f_globals.get("__name__", "").startswith("restgpt"):
            raise ModuleNotFoundError(f"No module named {name!r} ({frame.f_code.co_filename})", name=name)
        return imported(name, *arguments, **options)

    builtins.__import__ = on_windows
    sys.modules["msvcrt"] = Msvcrt("msvcrt")
    for name in ("pywintypes", "win32api", "win32con", "win32job"):
        sys.modules[name] = Pywin32(name)
    # There it would share a port with any other process.
    del socket.SO_REUSEADDR
    # The store of certificates, which only Windows has.
    ssl.enum_certificates = lambda store: ()  # type: ignore[attr-defined]
    for name in UNIX_FUNCTIONS:
        if hasattr(os, name):
            delattr(os, name)
    for name in UNIX_SIGNALS:
        delattr(signal, name)
    signal.SIGBREAK = signal.SIGINT  # type: ignore[attr-defined]
    sys.platform = "win32"
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        setattr(
            sys, name, io.TextIOWrapper(stream.buffer, "cp1252", errors="strict", newline="\r\n", write_through=True)
        )


def main() -> None:
    """Become the system, and run the command."""
    system, *command = sys.argv[1:]
    # What packages of others ask for at their import is not looked at here.
    import langgraph.pregel  # noqa: F401
    import rich.console  # noqa: F401
    import typer.main  # noqa: F401

    become(system)
    from restgpt.cli import main as run

    sys.argv = ["restgpt", *command]
    run()


if __name__ == "__main__":
    main()

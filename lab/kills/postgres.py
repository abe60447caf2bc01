"""Starts a PostgreSQL server for one test: from the system's package, on a free port, removed afterwards."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.kit.port import held_port
from lab.kit.process import PATIENCE_S, ServerError, started, wait

ACCOUNTS = ("postgres", "nobody")


class NoPostgresError(Exception):
    """PostgreSQL cannot be started here; the message says what is missing."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server with an empty database; gives its URL. Raises `NoPostgresError`.

    A server refuses to run as root, so root starts it as an unprivileged account.
    """
    programs, account = _programs(), _account()
    with tempfile.TemporaryDirectory(prefix="restgpt-postgres-") as name, held_port() as port:
        folder = Path(name)
        _hand_over(folder, account)
        data = folder / "data"
        _run([programs / "initdb", "-D", data, "-U", "restgpt", "-A", "trust", "-E", "UTF8", "--no-sync"], account)
        # -F: the server itself is never killed, so nothing has to reach the disk.
        options: list[str | Path] = ["-D", data, "-p", str(port), "-k", folder, "-h", "127.0.0.1", "-F"]
        server = started([programs / "postgres", *options], folder=folder, log=folder / "log", user=account)
        url = f"postgresql://restgpt@127.0.0.1:{port}/postgres"
        try:
            try:
                wait(server, lambda: _connects(url), folder / "log")
            except ServerError as error:
                raise NoPostgresError(str(error)) from None
            yield url
        finally:
            # A fast shutdown, which waits for no client.
            server.send_signal(signal.SIGINT)
            server.wait(PATIENCE_S)


def _programs() -> Path:
    """The folder of the server's programs, which many systems do not put on the path."""
    folders = [Path(found).parent for found in [shutil.which("initdb")] if found]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise NoPostgresError("there is no PostgreSQL server on this machine (no initdb)")


def _account() -> str | None:
    if os.geteuid() != 0:
        return None
    for name in ACCOUNTS:
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise NoPostgresError("root needs an unprivileged account to start PostgreSQL as, and there is none")


def _hand_over(folder: Path, account: str | None) -> None:
    folder.chmod(0o711)
    if account is not None:
        shutil.chown(folder, account)


def _run(command: list[str | Path], account: str | None) -> None:
    done = subprocess.run(command, user=account, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode != 0:
        raise NoPostgresError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}")


def _connects(url: str) -> bool:
    import psycopg

    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True

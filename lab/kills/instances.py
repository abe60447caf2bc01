"""Starts several instances of a LangGraph server (aegra) on one PostgreSQL database, kills, stops and restarts them."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import URLError

from lab.kills.lots import API_URL
from lab.kit.port import held_port
from lab.kit.process import signal_group, started, wait

PACKAGES = Path(__file__).resolve().parents[2] / ".aegra"
"""The folder of `make aegra`: the packages that aegra needs beside those of the project's environment."""

PATIENCE_S = 180.0
"""How long an instance may take to start, in seconds."""

SERVED = '''"""The graph that the instances serve."""

from lab.kills.lots import serve_lots

graph = serve_lots()
'''


RUN = """
import sys
from lab.kills.machine import set_clock
set_clock(float(sys.argv[1]))
import uvicorn
uvicorn.run("aegra_api.main:app", host="127.0.0.1", port=int(sys.argv[2]))
"""
"""The program of an instance; its clock is set before anything else is imported."""


class NoAegraError(Exception):
    """Aegra is not installed; the message says how to install it."""


class Instance:
    """One process of the server, with its sandbox workers in a process group of its own.

    Its clock is `ahead` by some seconds. `starts`, `kills` and `stops` count the signals. All methods may be called
    from several threads.
    """

    def __init__(self, folder: Path, port: int, environment: dict[str, str], *, ahead: float = 0.0) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / f"instance-{port}.log"
        self.starts = self.kills = self.stops = 0
        self._folder = folder
        self._port = port
        self._ahead = ahead
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the process; it takes requests some seconds later."""
        command = [sys.executable, "-c", RUN, str(self._ahead), str(self._port)]
        with self._lock:
            self.starts += 1
            self._process = started(command, folder=self._folder, log=self.log, environment=self._environment)

    def is_up(self) -> bool:
        """Return whether the instance takes requests."""
        try:
            with urllib.request.urlopen(f"{self.url}/live", timeout=2) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False

    def wait(self) -> None:
        """Wait until the instance, which has been started, takes requests; raises `ServerError`."""
        assert self._process is not None
        wait(self._process, self.is_up, self.log, seconds=PATIENCE_S)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.kills += 1
        self.end()

    def stop(self) -> None:
        """Stop the process with SIGSTOP: its connections stay open, and nothing is answered."""
        self.stops += 1
        self._signal(signal.SIGSTOP)

    def proceed(self) -> None:
        """Continue a stopped process with SIGCONT."""
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """End the process for good."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                signal_group(self._process, number)


@contextmanager
def instances(
    count: int, *, database: str, api_url: str, folder: Path, behind: float = 0.0
) -> Iterator[list[Instance]]:
    """Start instances that share a database and serve lots; the clock of the last one is `behind` by some seconds.

    Raises `NoAegraError` and `ServerError`.
    """
    if not (PACKAGES / "aegra_api").exists():
        raise NoAegraError("Aegra is not installed. Install it with: make aegra")
    (folder / "served.py").write_text(SERVED, encoding="utf-8")
    (folder / "aegra.json").write_text(json.dumps({"graphs": {"restgpt": "./served.py:graph"}}), encoding="utf-8")
    environment = {
        API_URL: api_url,
        "AEGRA_CONFIG": "aegra.json",
        "DATABASE_URL": database,
        "ENV_MODE": "PRODUCTION",
        "LANGSMITH_TRACING": "false",
        "LOG_LEVEL": "WARNING",
        "PYTHONPATH": os.pathsep.join([str(PACKAGES), str(PACKAGES.parent)]),
        "RESTGPT_HOME": str(folder / "home"),
        "SQLALCHEMY_POOL_SIZE": "20",
    }
    with ExitStack() as stack:
        started: list[Instance] = []
        for number in range(count):
            ahead = -behind if number == count - 1 else 0.0
            instance = Instance(folder, stack.enter_context(held_port()), environment, ahead=ahead)
            stack.callback(instance.end)
            instance.start()
            if not started:
                # The first one creates the tables; two at once would create them twice.
                instance.wait()
            started.append(instance)
        for instance in started:
            instance.wait()
        yield started

"""Starts several instances of a LangGraph server (aegra) on one PostgreSQL database, kills, stops and restarts them."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lab.kills.lots import API_URL
from lab.kit.port import held_port
from lab.kit.process import MissingServerError, answers, signal_group, started, wait

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


class Instance:
    """One process of the server, with its sandbox workers in a process group of its own.

    Its clock is `ahead` by some seconds. All methods may be called from several threads.
    """

    def __init__(self, folder: Path, port: int, environment: dict[str, str], *, ahead: float = 0.0) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / f"instance-{port}.log"
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
            self._process = started(command, folder=self._folder, log=self.log, environment=self._environment)

    def is_up(self) -> bool:
        """Return whether the instance takes requests."""
        return answers(f"{self.url}/live")

    def wait(self) -> None:
        """Wait until the instance, which has been started, takes requests; raises `ServerError`."""
        assert self._process is not None
        wait(self._process, self.is_up, self.log, seconds=PATIENCE_S)

    def end(self) -> None:
        """Kill the process and its workers."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and its workers; of a stopped one the connections stay open."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                signal_group(self._process, number)


@contextmanager
def instances(
    count: int, *, database: str, api_url: str, folder: Path, behind: float = 0.0
) -> Iterator[list[Instance]]:
    """Start instances that share a database and serve lots; the clock of the last one is `behind` by some seconds.

    Raises `MissingServerError` and `ServerError`.
    """
    if not (PACKAGES / "aegra_api").exists():
        raise MissingServerError("Aegra is not installed. Install it with: make aegra")
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

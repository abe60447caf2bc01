"""Guards the sandbox by a corpus: benign snippets run as in plain Python, hostile snippets reach nothing.

A corpus file holds snippets. `#: title | fixture` starts a benign one, with its output after `#>`; `#: title | kind`
starts a hostile one. The kind is "leak" (the snippet breaches plain CPython, which a positive control checks), "closed"
(the breach needs privileges or kernel features, so it has no control), "contained", or how it may end in CPython.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import pytest

from restgpt.tools.sandbox.code import WAIT
from restgpt.tools.sandbox.result import Limits, SandboxResult, Status
from restgpt.tools.sandbox.runner import run_program, run_python

pytestmark = pytest.mark.slow

CORPUS = Path(__file__).with_name("corpus")
BENIGN = sorted(path.stem for path in (CORPUS / "benign").glob("*.py"))
HOSTILE = sorted(path.stem for path in (CORPUS / "hostile").glob("*.py"))
RUNNING = 104
VARIABLE = "SANDBOX_CANARY"
PATIENT = Limits(wall=30.0)
SHORT = Limits(wall=0.4, memory=256 << 20)
NARROW = Limits(wall=10.0, memory=256 << 20)

VICTIM = """
import ctypes, sys
secret = ctypes.create_string_buffer(sys.argv[1].encode())
print(ctypes.addressof(secret), flush=True)
sys.stdin.read()
"""

# Runs a snippet in plain CPython with `data` and with its lines in tracebacks, as in the sandbox.
PLAIN = "import json, sys\ndata = json.loads(sys.argv[1])\nexec(compile(sys.argv[2], '<code>', 'exec'), globals())"


@dataclass(frozen=True)
class Snippet:
    title: str
    label: str
    code: str
    prints: str


def snippets(path: Path) -> list[Snippet]:
    found = []
    for part in path.read_text(encoding="utf-8").split("\n#: "):
        heading, _, body = part.removeprefix("#: ").partition("\n")
        title, _, label = heading.rpartition(" | ")
        lines = body.split("\n")
        code = "\n".join(line for line in lines if not line.startswith("#>"))
        prints = "\n".join(line[2:].removeprefix(" ") for line in lines if line.startswith("#>"))
        found.append(Snippet(title, label, code, prints))
    return found


class Canaries:
    """Files, sockets and a process that sandboxed code must not reach, each with a check for a breach."""

    def __init__(self, folder: Path, token: str, *, with_victim: bool) -> None:
        self.folder, self.token = folder, token
        self.secret = folder / "secret.txt"
        self.secret.write_text(f"file-{token}\n")
        self.secret.chmod(0o600)
        (folder / "planted.py").write_text(f"print('planted-{token}')\n")
        hidden = folder.with_name(f"{folder.name}.hidden")
        hidden.write_text(f"descriptor-{token}\n")
        self.descriptor = os.open(hidden, os.O_RDONLY)
        os.set_inheritable(self.descriptor, True)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(folder.with_name(f"{folder.name}.sock")))
        self.unix.listen()
        for listener in (self.tcp, self.udp, self.unix):
            listener.setblocking(False)
        command = [sys.executable, "-I", "-S", "-c", VICTIM, f"memory-{token}"]
        self.victim = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) if with_victim else None
        self.address = int(self.victim.stdout.readline()) if self.victim and self.victim.stdout else 0
        self.before = self.files()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.victim:
            self.victim.kill()
            self.victim.communicate()
        os.close(self.descriptor)
        for listener in (self.tcp, self.udp, self.unix):
            listener.close()

    @property
    def data(self) -> dict[str, object]:
        return {
            "file": str(self.secret),
            "folder": str(self.folder),
            "name": VARIABLE,
            "fd": self.descriptor,
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "unix": self.unix.getsockname(),
            "pid": self.victim.pid if self.victim else 0,
            "address": self.address,
        }

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() if path.suffix == ".txt" else "" for path in self.folder.iterdir()}

    def breaches(self, written: str) -> list[str]:
        """The breaches, found in the output of the code and in the canaries."""
        found = ["told"] if self.token in written or "BREACH" in written else []
        found += [f"reached the {name} listener" for name, met in self._contacts() if met]
        if self.victim and self.victim.poll() is not None:
            found.append("ended another process")
        if self.files() != self.before:
            found.append("changed files")
        return found

    def _contacts(self) -> Iterator[tuple[str, bool]]:
        attempts: dict[str, Callable[[], object]] = {
            "TCP": self.tcp.accept,
            "UDP": lambda: self.udp.recv(100),
            "unix": self.unix.accept,
        }
        for name, attempt in attempts.items():
            try:
                met = attempt()
            except BlockingIOError:
                yield name, False
            else:
                if isinstance(met, tuple):
                    met[0].close()
                yield name, True


@pytest.fixture
def canaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Canaries]:
    token = secrets.token_hex(16)
    monkeypatch.setenv(VARIABLE, f"environment-{token}")
    folder = tmp_path / "canaries"
    folder.mkdir()
    with Canaries(folder, token, with_victim=True) as present:
        yield present


def check(function: Callable[[Snippet], str], chosen: list[Snippet], *, threads: int) -> None:
    """Call the function for every snippet and fail with all its complaints, or if there are no snippets."""
    with ThreadPoolExecutor(threads) as pool:
        complaints = [complaint for complaint in pool.map(function, chosen) if complaint]
    assert chosen
    assert not complaints, "\n".join(complaints)


def benign_complaint(snippet: Snippet) -> str:
    """The difference of a benign snippet's outcome from plain Python; "" if there is none."""
    path = CORPUS / "fixtures" / (snippet.label if "." in snippet.label else f"{snippet.label}.json")
    media: Literal["json", "text"] = "json" if path.suffix == ".json" else "text"
    result = run_python(snippet.code, path.read_bytes(), media=media, limits=PATIENT)
    printed = "\n".join(line.rstrip() for line in result.output.rstrip("\n").split("\n"))
    return "" if result.ok and printed == snippet.prints else f"{snippet.title}: {result}"


def test_snippets_as_models_write_them_run_as_in_plain_python_or_say_what_there_is_not() -> None:
    chosen = [snippet for name in BENIGN for snippet in snippets(CORPUS / "benign" / f"{name}.py")]
    with ThreadPoolExecutor(3) as pool:
        wrong = [told for told in pool.map(benign_complaint, chosen) if told]
    assert not [told for told in wrong if "error=None" in told]
    assert len(chosen) - len(wrong) >= RUNNING, "\n".join(wrong)


def test_the_corpora_are_as_large_as_the_documentation_says() -> None:
    assert sum(len(snippets(CORPUS / "benign" / f"{name}.py")) for name in BENIGN) >= 140
    assert sum(len(snippets(CORPUS / "hostile" / f"{name}.py")) for name in HOSTILE) >= 210


def problem(snippet: Snippet, result: SandboxResult, canaries: Canaries) -> str:
    """The faults in the outcome of a hostile snippet; "" if there are none."""
    message = result.error.message if result.error else ""
    written = f"{result.output}\n{message}\n{result.shape}"
    found = canaries.breaches(written)
    if result.status in (Status.SANDBOX_UNAVAILABLE, Status.INTERNAL_ERROR) or "\x1b" in written:
        found.append("disturbed the host")
    if len(result.output) > SHORT.shown + 100 or len(message) > 2048:
        found.append("returned more than its share")
    return f"{snippet.title}: {found} {result.error}" if found else ""


def after(snippet: Snippet) -> str:
    """The result of the run after a snippet, if it is wrong, else ""."""
    later = run_python("import json\nprint(json.dumps(data['a'] + len([1, 2])))", b'{"a": 40}', limits=PATIENT)
    return "" if (later.status, later.output) == (Status.OK, "42\n") else f"after {snippet.title}: {later}"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_snippets_reach_nothing_and_harm_no_later_run(name: str, canaries: Canaries) -> None:
    def complaint(snippet: Snippet) -> str:
        bounds = SHORT if "timeout" in snippet.label else NARROW
        result = run_python(snippet.code, canaries.data, limits=bounds)
        return problem(snippet, result, canaries) or (after(snippet) if name in ("escapes", "forgeries") else "")

    chosen = snippets(CORPUS / "hostile" / f"{name}.py")
    check(complaint, chosen, threads=8)
    assert not after(chosen[-1])


# The data of a snippet, and the functions of a program beside it.
AS_PROGRAM = "import json; data = json.loads({data!r}); call, others = get, gather; "


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_snippets_reach_nothing_as_programs(name: str, canaries: Canaries) -> None:
    given = AS_PROGRAM.format(data=json.dumps(canaries.data))

    def complaint(snippet: Snippet) -> str:
        bounds = SHORT if "timeout" in snippet.label else NARROW
        # A statement of the future has to come first.
        first, _, rest = snippet.code.partition("\n")
        is_first = first.startswith("from __future__")
        code = f"{first}\n{given}\n{rest}" if is_first else f"{given}\n{snippet.code}"
        run = run_program(code, functions=["get"], entries=(), clock=1.7e9, seed="", most=10, limits=bounds)
        found = "asked for calls" if any(call.function != WAIT for call in run.calls) else ""
        return problem(snippet, run.result, canaries) or found

    chosen = snippets(CORPUS / "hostile" / f"{name}.py")
    check(complaint, chosen, threads=8)
    assert not after(chosen[-1])


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in ("exhaustion", "forgeries")])
def test_the_same_leaks_breach_plain_python(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = secrets.token_hex(16)
    monkeypatch.setenv(VARIABLE, f"environment-{token}")

    def complaint(snippet: Snippet) -> str:
        folder = tmp_path / secrets.token_hex(4)
        folder.mkdir()
        with Canaries(folder, token, with_victim="pid" in snippet.code) as present:
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-c", PLAIN, json.dumps(present.data), snippet.code],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                close_fds=False,
                cwd=folder,
                check=False,
            )
            if present.victim and "kill" in snippet.title:
                # The killed process ends asynchronously.
                present.victim.wait(60)
            told = done.stdout.decode("utf-8", "replace")
            return "" if present.breaches(told) else f"{snippet.title}: {done.stderr!r}"

    leaks = [snippet for snippet in snippets(CORPUS / "hostile" / f"{name}.py") if snippet.label == "leak"]
    check(complaint, leaks, threads=3)

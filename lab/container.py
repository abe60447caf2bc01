"""Carries out the Dockerfile without Docker: its steps in a folder, then its server and the sandbox as another user.

The commands of the first stage install the wheel, from files that git tracks, into an environment that stands in for
the base image. The second stage's environment, command and health check then run with no privileges. Not covered: the
base image itself, the isolation of a container, and the profile that Docker puts around it. Needs a package index, and
root to become another user.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from lab.kit.port import held_port

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("/opt/restgpt", "/srv/restgpt", "/state", "/src", "/wheels")
"""The folders of the image that have a counterpart in the rig's folder."""

PORT = "8000"
"""The port that the server has in the image."""

PATIENCE_S = 300.0
"""How long the server may take to start, in seconds."""

STOP_S = 10.0
"""How long Docker waits between SIGTERM and SIGKILL, in seconds."""

CHECK_SANDBOX = "from restgpt.tools.sandbox.runner import open_backend; print(open_backend().name)"
"""The program that docs/servers.md gives to check the sandbox of a container."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a Dockerfile, on one line; `flags` are its options, such as `from` or `interval`."""

    word: str
    flags: Mapping[str, str]
    value: str

    def words(self) -> list[str]:
        """Return the value of an instruction in exec form; raises `ValueError` if it is in shell form."""
        found = json.loads(self.value)
        if not isinstance(found, list):
            raise ValueError(f"{self.word} is not in exec form: {self.value}")
        return [str(item) for item in found]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a Dockerfile: the image that it begins with, its name, its instructions."""

    image: str
    name: str
    instructions: Sequence[Instruction]

    def all(self, word: str) -> list[Instruction]:
        """Return the instructions with a word, in order."""
        return [one for one in self.instructions if one.word == word]

    def last(self, word: str) -> Instruction:
        """Return the last instruction with a word, which is the one that holds; raises `IndexError` without one."""
        return self.all(word)[-1]

    def environment(self) -> dict[str, str]:
        """Return the variables that the stage sets."""
        pairs = [pair.partition("=") for one in self.all("ENV") for pair in shlex.split(one.value)]
        return {name: value for name, _, value in pairs}


def stages(text: str) -> list[Stage]:
    """Read a Dockerfile as far as ours goes: no heredocs, no escape directive."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found: list[tuple[str, str, list[Instruction]]] = []
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        word, _, value = line.strip().partition(" ")
        flags: dict[str, str] = {}
        while match := re.match(r"--([a-z-]+)=(\S+)\s+", value):
            flags[match[1]], value = match[2], value[match.end() :]
        if word.upper() == "FROM":
            image, _, name = value.partition(" AS ")
            found.append((image, name, []))
        else:
            found[-1][2].append(Instruction(word.upper(), flags, value))
    return [Stage(*one) for one in found]


def dockerfile() -> tuple[Stage, Stage]:
    """Return the two stages of this project's Dockerfile."""
    build, final = stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    return build, final


def tracked(*sources: str) -> list[str]:
    """Return the files below some files and folders that git tracks; outside of a git checkout, all but caches."""
    done = subprocess.run(["git", "ls-files", "-z", "--", *sources], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return [name for name in done.stdout.split("\0") if name]
    places = [ROOT / source for source in sources]
    found = [path for place in places for path in ([place] if place.is_file() else place.rglob("*"))]
    files = [path.relative_to(ROOT) for path in found if path.is_file() or path.is_symlink()]
    return [path.as_posix() for path in files if "__pycache__" not in path.parts]


@dataclass(frozen=True, slots=True)
class Simulated:
    """The image as folders below `folder`, and the words that start a process as its user."""

    folder: Path
    user: Sequence[str] = ()

    def moved(self, text: str) -> str:
        """Return a text of the Dockerfile with the folders of the rig for those of the image."""
        for place in PLACES:
            text = text.replace(place, f"{self.folder}{place}")
        return text

    def build(self, python: str) -> None:
        """Carry out the first stage with this Python, and the copies of the second one."""
        build, final = dockerfile()
        base = self.folder / "base"
        subprocess.run([python, "-m", "venv", str(base)], check=True)
        self._copy(build, self.folder / "src")
        given = {name: self.moved(value) for name, value in build.environment().items()}
        environment = {"PATH": f"{base}/bin:/usr/bin:/bin", "HOME": str(self.folder), **given}
        for one in build.all("RUN"):
            subprocess.run(["sh", "-ec", self.moved(one.value)], cwd=self.folder / "src", env=environment, check=True)
        self._copy(final, self.folder)
        (self.folder / "state").mkdir(mode=0o700)

    def _copy(self, stage: Stage, folder: Path) -> None:
        for one in stage.all("COPY"):
            if "from" in one.flags:
                continue
            *sources, target = one.value.split()
            for name in tracked(*sources):
                place = folder / (target.lstrip("/") if len(sources) == 1 and name == sources[0] else name)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, place, follow_symlinks=False)

    def environment(self) -> dict[str, str]:
        """Return the environment of a process in the container."""
        found = {name: self.moved(value) for name, value in dockerfile()[1].environment().items()}
        return {**found, "PATH": found["PATH"].replace("$PATH", "/usr/bin:/bin")}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the container to its end."""
        return subprocess.run(
            [*self.user, *words],
            cwd=self.folder / "state",
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    @contextmanager
    def server(self, port: int) -> Iterator[subprocess.Popen[bytes]]:
        """Start the command of the image on another port; whatever is left of it ends with the block."""
        words = [self.moved(word).replace(PORT, str(port)) for word in dockerfile()[1].last("CMD").words()]
        with (self.folder / "server.log").open("wb") as log:
            process = subprocess.Popen(
                [*self.user, *words],
                cwd=self.folder / "state",
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                yield process
            finally:
                process.kill()
                process.wait()

    def is_healthy(self, port: int) -> bool:
        """Return what the health check of the image says."""
        command = dockerfile()[1].last("HEALTHCHECK").value.removeprefix("CMD ")
        words = [word.replace(PORT, str(port)) for word in Instruction("CMD", {}, command).words()]
        return self.run(*words).returncode == 0

    def serves_and_stops(self) -> str:
        """Start the server, wait for its health, end it as Docker does; return what went wrong, or an empty text."""
        with held_port() as port, self.server(port) as process:
            if self.is_healthy(port):
                return "the health check passes without a server"
            deadline = time.monotonic() + PATIENCE_S
            while not self.is_healthy(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    return (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")[-3000:]
                time.sleep(0.5)
            assistants = requests.post(f"http://127.0.0.1:{port}/assistants/search", json={}, timeout=PATIENCE_S).json()
            if "restgpt" not in {assistant["graph_id"] for assistant in assistants}:
                return "the server has no graph restgpt"
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                return f"the server did not end within {STOP_S:g} s of SIGTERM"
        return ""


def checks(image: Simulated) -> dict[str, Callable[[], str]]:
    """Return the checks by name; each gives what went wrong, or an empty text."""

    def command(*words: str, prints: str) -> Callable[[], str]:
        def check() -> str:
            done = image.run(*words)
            return "" if done.returncode == 0 and prints in done.stdout else done.stdout[-1000:] + done.stderr[-3000:]

        return check

    return {
        "the user is not root": command("id", "-u", prints="10001" if image.user else ""),
        "the sandbox is the locked interpreter": command("python", "-c", CHECK_SANDBOX, prints="cpython"),
        "the command line answers": command("restgpt", "--version", prints="restgpt "),
        "the demonstration runs": command("restgpt", "demo", prints="Mariah Carey"),
        "the server starts, is healthy and stops": image.serves_and_stops,
    }


def main() -> int:
    """Carry out the Dockerfile and all checks; the exit code is 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the Python that stands in for the base image's")
    chosen = parser.parse_args()
    user = final_user() if os.getuid() == 0 else []
    if subprocess.run([*user, "test", "-r", os.path.realpath(chosen.python)]).returncode:
        print(f"The user of the image cannot read {chosen.python}. Give --python of a Python that every user can read.")
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        image = Simulated(folder, user)
        image.build(chosen.python)
        if user:
            os.chown(folder / "state", 10001, 10001)
        failed = 0
        for label, check in checks(image).items():
            began = time.monotonic()
            problem = check()
            print(f"{'failed' if problem else 'ok':6} {label} ({time.monotonic() - began:.1f} s)\n{problem}".rstrip())
            failed += bool(problem)
    return 1 if failed else 0


def final_user() -> list[str]:
    """Return the words that start a process as the user of the image, without any privilege."""
    user, group = dockerfile()[1].last("USER").value.split(":")
    return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--bounding-set=-all", "--no-new-privs"]


if __name__ == "__main__":
    sys.exit(main())

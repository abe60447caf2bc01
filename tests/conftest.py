"""What every test gets: strict checkpoint serialisation, no environment of the developer, and no chance."""

import gc
import os
import signal
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Every server of the tests is on loopback, where no proxy leads; nothing is traced to an account of the developer's;
# texts are compared as they are without a terminal.
TERMINAL = {"COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "CLICOLOR_FORCE", "GITHUB_ACTIONS"}
MEMORY, NEEDED_BYTES = Path("/dev/shm"), 2_000_000_000
"""A folder in memory, and the room that it must have: far more than the files of the last runs, which pytest keeps."""
for name in list(os.environ):
    if name in TERMINAL or name.lower().endswith("_proxy") or name.startswith(("LANGSMITH_", "LANGCHAIN_")):
        del os.environ[name]
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"
# No test reaches a host whose certificate the system knows, and reading its hundred takes a client 40 ms.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
# SQLite waits for the disk at each commit: in memory, tests of commands take a fifth less time.
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
    system = os.statvfs(MEMORY)
    if system.f_bavail * system.f_frsize > NEEDED_BYTES and not system.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
# A shell starts what it puts into the background with Ctrl-C ignored, and every child would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Until all tests are collected, next to nothing becomes garbage.
gc.disable()

# The same examples in every run, and no clock: a busy machine is no reason to fail.
settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("suite"), max_examples=25)

PRIVATE = ("RESTGPT_", "OPENAI_")
KEPT = frozenset({"RESTGPT_DATA"})


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer generated examples where the slow tests are left out."""
    settings.load_profile("quick" if config.option.markexpr == "not slow" else "suite")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a test marked `sampled(n)` slow, but for the first and every n-th after it.

    With the name of an argument, its values are counted instead of the cases.
    """
    seen: dict[tuple[str, str], dict[int, int]] = {}
    for item in items:
        for mark in item.iter_markers("sampled"):
            every, argument = mark.args if len(mark.args) > 1 else (*mark.args, "")
            places = seen.setdefault((item.nodeid.partition("[")[0], argument), {})
            counted = item.callspec.params[argument] if argument else item  # type: ignore[attr-defined]
            if places.setdefault(id(counted), len(places)) % every:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Keep from the garbage collector what stays to the end, or each collection takes half a second."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count in each worker what a run leaves out; without workers pytest tells it by itself."""
    told = getattr(items[0].config, "workeroutput", None) if items else None
    if told is not None:
        told["deselected"] = told.get("deselected", 0) + len(items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Let the closing line say it: all workers left out the same tests."""
    deselected = getattr(node, "workeroutput", {}).get("deselected", 0)
    if deselected:
        node.config.pluginmanager.get_plugin("terminalreporter").stats["deselected"] = [SimpleNamespace()] * deselected


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Home directories, none of which is there yet; a folder for each of thousands of tests takes longer than most."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(scope="session", autouse=True)
def other_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run all tests in an empty folder: that of the developer may have an `apis.yaml` and a `.env`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        yield


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, homes: Iterator[Path]) -> None:
    """Remove the developer's own settings and point the home directory at a fresh folder, within `tmp_path` if used."""
    for name in list(os.environ):
        if name.startswith(PRIVATE) and name not in KEPT:
            monkeypatch.delenv(name)
    is_own = "tmp_path" in request.fixturenames
    monkeypatch.setenv("RESTGPT_HOME", str(request.getfixturevalue("tmp_path") / "home" if is_own else next(homes)))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the published benchmark data and sample documents, or a skip that says what is missing."""
    folder = os.environ.get("RESTGPT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("RESTGPT_DATA does not name a folder with the published data")
    return Path(folder)

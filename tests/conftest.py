"""What every test gets: strict checkpoint serialisation and no environment of the developer."""

import os
from pathlib import Path

import pytest

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"

PRIVATE = ("RESTGPT_", "OPENAI_")
KEPT = frozenset({"RESTGPT_DATA"})


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove the developer's own settings and point the home directory at a fresh folder."""
    for name in list(os.environ):
        if name.startswith(PRIVATE) and name not in KEPT:
            monkeypatch.delenv(name)
    monkeypatch.setenv("RESTGPT_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the published benchmark data and sample documents, or a skip that says what is missing."""
    folder = os.environ.get("RESTGPT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("RESTGPT_DATA does not name a folder with the published data")
    return Path(folder)

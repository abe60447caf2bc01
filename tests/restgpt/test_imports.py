"""Guards imports: no module outside `restgpt`, no connection, no written file, and few modules for the core."""

import ast
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
ROOMS = {"calling", "graph", "nodes", "prompts", "recipes", "specs", "tools"}
LATE = frozenset(
    {
        *("aiohttp", "authlib", "dotenv", "jsonschema", "langchain", "langchain_classic", "langchain_community"),
        *("langchain_openai", "numpy", "openai", "psycopg", "referencing", "ryaml", "tiktoken", "typer", "yaml"),
    }
)
"""Packages that are imported when they are first needed, so that `from restgpt import build_graph` stays light."""

WATCHED = """
import json, sys
seen = []
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.mkdir"):
        seen.append(f"{event} {args}")
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        seen.append(f"{event} {args[0]}")
sys.dont_write_bytecode = True
sys.addaudithook(watch)
"""


STAGES = {
    "the package": "import restgpt",
    "the documents": "import restgpt.specs",
    "build_graph": "from restgpt import build_graph; assert build_graph.__module__ == 'restgpt.graph.build'",
    "community": "from restgpt.community import services_of",
    "the agent": "import restgpt.graph.agent",
    "the server": "import restgpt.graph.server",
}
"""What one interpreter imports one after the other: what a stage must not load, no stage before it may load either."""


@dataclass(frozen=True)
class Loaded:
    """The modules that an interpreter has after an import, and the files, connections and processes it has opened."""

    modules: list[str]
    seen: list[str]

    @property
    def packages(self) -> set[str]:
        return {name.partition(".")[0] for name in self.modules}

    def below(self, *packages: str) -> list[str]:
        """The modules of these packages that are loaded."""
        return [name for name in self.modules if name.startswith(packages)]


def imported(folder: Path, *programs: str) -> list[Loaded]:
    """Run programs one after the other in a new interpreter, and return what is loaded after each."""
    lines = [line for program in programs for line in (program, "print(json.dumps([sorted(sys.modules), seen]))")]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANGSMITH_TRACING": "false"}
    command = [sys.executable, "-c", WATCHED + "\n".join(lines)]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=True)
    return [Loaded(*json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Loaded]:
    """What is loaded after each stage."""
    folder = tmp_path_factory.mktemp("imports")
    found = dict(zip(STAGES, imported(folder, *STAGES.values()), strict=True))
    assert list(folder.iterdir()) == []
    return found


def test_importing_the_agent_touches_nothing_and_loads_only_what_it_needs(loaded: dict[str, Loaded]) -> None:
    agent = loaded["the agent"]
    assert agent.packages & ROOMS == set()
    assert agent.below("restgpt_bench", "restgpt_functions", "lab.") == []
    assert agent.below("langchain_community", "langchain_classic") == []
    assert agent.seen == []


def test_the_default_server_loads_no_baseline_and_touches_nothing(loaded: dict[str, Loaded]) -> None:
    server = loaded["the server"]
    assert server.below("restgpt_bench.methods") == []
    assert server.seen == []


LIGHT = {
    "the package": {"langgraph", "langchain_core", "openai", "requests", "rich"},
    "the documents": {"msgspec", "ryaml", "yaml", "sqlite3"},
    "build_graph": LATE,
    "community": {"langchain_community", "aiohttp"},
}
"""The packages that a stage does not load."""


@pytest.mark.parametrize("stage", LIGHT)
def test_a_stage_loads_none_of_the_packages_that_it_does_not_need(loaded: dict[str, Loaded], stage: str) -> None:
    assert sorted(loaded[stage].packages & LIGHT[stage]) == []
    assert ("langgraph" in loaded[stage].packages) == (stage in ("build_graph", "community"))


def test_each_package_that_loads_late_is_installed_here() -> None:
    """Otherwise the test above could not fail for it."""
    assert sorted(name for name in LATE if find_spec(name) is None) == []


@pytest.mark.slow
def test_a_host_may_have_folders_named_like_our_rooms(tmp_path: Path) -> None:
    for room in sorted(ROOMS):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text(f"OWNER = 'host {room}'\n")
    program = f"""
import {", ".join(sorted(ROOMS))}
import restgpt.graph.build
assert graph.OWNER == "host graph" and tools.OWNER == "host tools"
assert restgpt.graph.build.build_graph.__module__ == "restgpt.graph.build"
"""
    [loaded] = imported(tmp_path, program)
    assert "restgpt.graph.build" in loaded.modules


@cache
def import_graph() -> grimp.ImportGraph:
    """Return all imports between our modules, with those in functions, without those for type checkers."""
    return grimp.build_graph(
        "restgpt", "restgpt_bench", "restgpt_functions", "lab", exclude_type_checking_imports=True, cache_dir=None
    )


def test_no_imports_run_in_a_circle() -> None:
    graph = import_graph()
    circles = {
        frozenset({module, *(graph.find_upstream_modules(module) & graph.find_downstream_modules(module))})
        for module in graph.modules
    }
    assert sorted(sorted(circle) for circle in circles if len(circle) > 1) == []


def test_imports_inside_functions_count_and_imports_for_types_do_not() -> None:
    graph = import_graph()
    late = {"importer": "restgpt.specs.reading.json_text", "imported": "restgpt.specs.reading.yaml_events"}
    typed = {"importer": "restgpt.specs.operation", "imported": "restgpt.specs.api"}
    assert graph.direct_import_exists(**late)
    assert not graph.direct_import_exists(**typed)


def test_every_room_stands_in_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    named = {name.strip().removeprefix("restgpt.") for layer in layers for name in layer.split(":")}
    assert named >= ROOMS | {"restgpt_bench", "restgpt_functions", "lab"}


def test_calling_knows_neither_the_graph_nor_models() -> None:
    """The road of a call stores through LangGraph's `BaseStore`, and uses nothing else of it."""
    allowed = {"langgraph.store.base"}
    found = {
        (path.name, module)
        for path in (ROOT / "restgpt" / "calling").rglob("*.py")
        for module in _imported(path)
        if module.partition(".")[0] in ("langgraph", "langchain", "langchain_core", "langchain_openai")
    }
    assert {module for _, module in found} == allowed


def _imported(path: Path) -> set[str]:
    """The modules that a file imports anywhere in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}

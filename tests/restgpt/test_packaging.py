"""Guards the installed package: all dependencies are declared, it installs only `restgpt`, its versions match."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from restgpt.server.page import MEDIA_TYPES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "page" / "dist"
ROOMS = ("bench", "graph", "nodes", "prompts", "specs", "tools", "worlds")
NOT_SHIPPED = ("lab",)
"""The rooms of a source checkout that are not in the wheel."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DATA = {".md", ".yaml", ".json", ".jsonl", ".typed"}

EXTRA_OF = {
    "restgpt/calling/journal/claim.py": "postgres",
    "graph/persistence.py": "postgres",
    "restgpt/commands/api.py": "lint",
    "restgpt/commands/serving/mcp.py": "mcp",
    "restgpt/mcp/": "mcp",
    "restgpt/commands/ui/": "ui",
    # LangGraph's server brings the package.
    "restgpt/server/": "ui",
    "specs/search/vectors.py": "embeddings",
    "tools/sandbox/monty.py": "sandbox-monty",
    "tools/tracing/export.py": "otel",
}
"""The extra that a module, or those of a folder, need; they say so without it."""

SHARED = {
    "fastmcp": "fastmcp",
    "langgraph": "langgraph",
    "langgraph.checkpoint": "langgraph-checkpoint",
    "langgraph.checkpoint.postgres": "langgraph-checkpoint-postgres",
    "langgraph.checkpoint.sqlite": "langgraph-checkpoint-sqlite",
    "langgraph.prebuilt": "langgraph-prebuilt",
    "langgraph.store": "langgraph-checkpoint",
    "langgraph.store.postgres": "langgraph-checkpoint-postgres",
    "langgraph.store.sqlite": "langgraph-checkpoint-sqlite",
    "opentelemetry": "opentelemetry-api",
    "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "pydantic_monty": "pydantic-monty",
}
"""The distributions of the modules of a package that several distributions share, by the longest name that fits."""

NEEDED = ("langgraph", "langchain-openai", "langchain-community", "requests", "pyyaml", "pytest")
"""What has to be there after `make setup`."""


def names_of(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


CORE = names_of(PROJECT["project"]["dependencies"])
EXTRAS = {name: names_of(listed) for name, listed in PROJECT["project"]["optional-dependencies"].items()}


def is_left_out(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in NOT_SHIPPED)


def test_the_build_looks_for_packages_in_every_room() -> None:
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    [listed] = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["ROOMS"]
    ]
    assert ast.literal_eval(listed) == ROOMS


def test_the_contract_about_the_lab_holds_for_all_that_is_shipped() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    forbidden = [f"restgpt.{room}" for room in NOT_SHIPPED]
    [contract] = [item for item in contracts if item.get("forbidden_modules") == forbidden]
    own = [f"restgpt.{path.stem}" for path in (ROOT / "restgpt").iterdir() if path.is_dir() or path.suffix == ".py"]
    shipped = {name for name in own if not name.endswith(("__pycache__", ".__init__"))} - {*forbidden}
    assert set(contract["source_modules"]) == shipped


def test_the_set_up_compiles_every_room() -> None:
    [listed] = re.findall(r"^ROOMS := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed.split()) == sorted([*ROOMS, *NOT_SHIPPED, "restgpt"])


def test_every_room_is_linked_into_the_package_by_a_relative_link() -> None:
    links = {path.name: os.readlink(path) for path in (ROOT / "restgpt").iterdir() if path.is_symlink()}
    assert links == {room: f"../{room}" for room in (*ROOMS, *NOT_SHIPPED)}


@pytest.mark.parametrize("name", ["constraints.txt", "lab/real/kinto/constraints.txt"])
def test_constraints_hold_names_and_versions_only(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins == sorted(pins)
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)] == []


def test_lower_bounds_admit_the_tested_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [Requirement(text) for text in [*PROJECT["project"]["dependencies"], *extras["dev"]]]
    names = {requirement.name.lower().replace("_", "-"): requirement for requirement in wanted}
    assert names.keys() - tested.keys() == set()
    assert [str(names[name]) for name in names if Version(tested[name]) not in names[name].specifier] == []


def shipped_modules() -> Iterator[Path]:
    """All modules of the wheel, by their path in the repository."""
    for room in (*ROOMS, "restgpt"):
        for path in (ROOT / room).rglob("*.py"):
            found = path.relative_to(ROOT)
            if not (room == "restgpt" and found.parts[1] in (*ROOMS, *NOT_SHIPPED)):
                yield found


def imported_modules(path: Path) -> Iterator[str]:
    """The modules of other distributions that a file imports anywhere in it."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        else:
            continue
        own = {*sys.stdlib_module_names, "restgpt"}
        yield from (name for name in names if name.partition(".")[0] not in own)


def distribution_of(module: str, installed: dict[str, list[str]]) -> str:
    parts = module.split(".")
    prefixes = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    shared = next((SHARED[prefix] for prefix in prefixes if prefix in SHARED), None)
    # A package of an extra that is not installed here has the name of its distribution.
    return shared or canonicalize_name(installed.get(parts[0], parts)[0])


@cache
def used_distributions() -> dict[str, set[str]]:
    """The distributions that the shipped modules import, with the modules that do."""
    installed = {name: list(found) for name, found in packages_distributions().items()}
    used: dict[str, set[str]] = {}
    for path in shipped_modules():
        for module in imported_modules(path):
            used.setdefault(distribution_of(module, installed), set()).add(path.as_posix())
    return used


def extra_packages(path: str) -> set[str]:
    return {name for part, extra in EXTRA_OF.items() if path.startswith(part) for name in EXTRAS[extra]}


@pytest.mark.slow
def test_every_imported_distribution_is_declared_in_the_core_or_in_the_extra_of_its_module() -> None:
    undeclared = {
        (name, path)
        for name, paths in used_distributions().items()
        for path in paths
        if name not in CORE | extra_packages(path)
    }
    assert undeclared == set()


@pytest.mark.slow
def test_every_dependency_of_the_core_is_imported_by_some_module() -> None:
    assert CORE - used_distributions().keys() == set()


@pytest.mark.slow
def test_every_extra_is_one_and_its_modules_need_it() -> None:
    used = used_distributions()
    idle = [
        part
        for part, extra in EXTRA_OF.items()
        if not any(path.startswith(part) for name in EXTRAS[extra] for path in used.get(name, ()))
    ]
    assert idle == []


def test_the_set_up_installs_what_the_project_needs() -> None:
    assert set(NEEDED) - CORE - EXTRAS["dev"] == set()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the working tree, built from a copy, so that the tree gets no build folder."""
    folder = tmp_path_factory.mktemp("wheel")
    ignore = shutil.ignore_patterns("__pycache__")
    for room in (*ROOMS, "restgpt"):
        shutil.copytree(ROOT / room, folder / "source" / room, symlinks=True, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source" / name)
    if PAGE.is_dir():
        shutil.copytree(PAGE, folder / "source" / "page" / "dist")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(folder / "source")]
    subprocess.run(command, check=True)
    return next(folder.glob("restgpt-*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_beside_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"restgpt"}
    assert [name for name in names if "/tests/" in name or name.endswith(".env")] == []
    assert [name for name in names if is_left_out(Path(name).relative_to(Path(name).parts[0]))] == []


@pytest.mark.slow
def test_the_wheel_lacks_no_module_and_no_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    rooms = [path for room in ROOMS for path in (ROOT / room).rglob("*")]
    linked = (*ROOMS, *NOT_SHIPPED)
    own = [path for path in (ROOT / "restgpt").rglob("*") if path.relative_to(ROOT / "restgpt").parts[0] not in linked]
    expected = {
        (Path() if path.is_relative_to(ROOT / "restgpt") else Path("restgpt"))
        .joinpath(path.relative_to(ROOT))
        .as_posix()
        for path in [*rooms, *own]
        if path.is_file() and "__pycache__" not in path.parts and path.suffix in {".py", *DATA}
    }
    assert expected - shipped == set()


def test_the_page_is_linked_to_where_it_is_built_and_the_packages_it_needs_have_no_addresses() -> None:
    assert os.readlink(ROOT / "restgpt" / "server" / "page") == "../../page/dist"
    lock = json.loads((ROOT / "page" / "package-lock.json").read_text(encoding="utf-8"))
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
    listed = json.loads((ROOT / "page" / "package.json").read_text(encoding="utf-8"))
    versions = [*listed["dependencies"].values(), *listed["devDependencies"].values()]
    assert [version for version in versions if not re.fullmatch(r"[0-9.]+", version)] == []


@pytest.mark.slow
def test_the_wheel_holds_the_page_if_it_is_built(wheel: Path) -> None:
    if not PAGE.is_dir():
        pytest.skip("the page is not built: make page")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("restgpt/server/page/")}
    assert held == {f"restgpt/server/page/{name}" for name in MEDIA_TYPES}


@pytest.mark.slow
def test_the_installed_wheel_works_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    installed = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    program = "\n".join(
        [
            f"import sys; sys.path[:0] = [{str(site)!r}]; sys.path += {installed!r}",
            "from restgpt import build_graph, load_api",
            "import restgpt",
            f"assert restgpt.__file__.startswith({str(site)!r}), restgpt.__file__",
            "from importlib.util import find_spec",
            f"leaked = [room for room in {(*ROOMS, *NOT_SHIPPED)!r} if find_spec(room)]",
            "assert not leaked, leaked",
            f"shipped = [room for room in {NOT_SHIPPED!r} if find_spec(f'restgpt.{{room}}')]",
            "assert not shipped, shipped",
            "print(build_graph.__module__, load_api.__module__)",
        ]
    )
    # Without -S, the import finder of the editable install would load the modules instead of the wheel's.
    command = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["restgpt.graph.build", "restgpt.specs.api"]

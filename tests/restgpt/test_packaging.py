"""Guards the three distributions: all dependencies are declared, each installs one package, their versions match."""

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
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from restgpt.server.page_routes import MEDIA_TYPES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "restgpt" / "server" / "page"
ROOMS = ("graph", "nodes", "prompts", "specs", "tools")
"""The rooms at the top, which are packages of `restgpt`."""

BESIDE = {"restgpt_bench": Path("restgpt-bench"), "restgpt_functions": Path("restgpt-functions")}
"""The folders of the distributions beside RestGPT, by their packages."""


def project(folder: Path) -> dict[str, Any]:
    """What pyproject.toml of a folder says of its distribution."""
    found: dict[str, Any] = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))
    return found


PROJECT = project(Path())
DATA = {".md", ".yaml", ".json", ".jsonl", ".typed", ".txt"}

EXTRA_OF = {
    "restgpt/calling/claim.py": "postgres",
    "graph/persistence.py": "postgres",
    "restgpt/commands/documents.py": "lint",
    "restgpt/commands/serving.py": "mcp",
    "restgpt/mcp/": "mcp",
    "restgpt/commands/ui/": "ui",
    # LangGraph's server brings the package.
    "restgpt/server/": "ui",
    "tools/tracing/telemetry.py": "otel",
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


def test_the_build_looks_for_packages_in_every_room() -> None:
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    [listed] = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["ROOMS"]
    ]
    assert ast.literal_eval(listed) == ROOMS


@pytest.mark.parametrize("folder", BESIDE.values(), ids=str)
def test_all_distributions_have_one_version_and_one_license(folder: Path) -> None:
    version = PROJECT["project"]["version"]
    assert project(folder)["project"]["version"] == version
    assert f"restgpt=={version}" in project(folder)["project"]["dependencies"]
    assert (ROOT / folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_set_up_compiles_every_room() -> None:
    [listed] = re.findall(r"^ROOMS := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed.split()) == sorted([*ROOMS, "lab", "restgpt", *map(str, BESIDE.values())])


def test_every_room_is_linked_into_the_package_by_a_relative_link() -> None:
    links = {path.name: os.readlink(path) for path in (ROOT / "restgpt").iterdir() if path.is_symlink()}
    assert links == {room: f"../{room}" for room in ROOMS}


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
    beside = [text for folder in BESIDE.values() for text in project(folder)["project"]["dependencies"]]
    listed = [*PROJECT["project"]["dependencies"], *extras["dev"], *beside]
    wanted = [(canonicalize_name(found.name), found) for found in map(Requirement, listed) if found.name != "restgpt"]
    assert {name for name, _ in wanted} - tested.keys() == set()
    assert [str(found) for name, found in wanted if Version(tested[name]) not in found.specifier] == []


def shipped_files(package: str) -> Iterator[Path]:
    """The modules and the data of a wheel, by their path in the repository, without the page."""
    for room in (*ROOMS, "restgpt") if package == "restgpt" else (BESIDE[package] / package,):
        # A link is not followed, and on no system shows a file twice.
        for path in (ROOT / room).rglob("*"):
            found = path.relative_to(ROOT)
            linked = found.parts[0] == "restgpt" and found.parts[1] in ROOMS
            if path.is_file() and path.suffix in {".py", *DATA} and "__pycache__" not in found.parts and not linked:
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
        own = {*sys.stdlib_module_names, "restgpt", *BESIDE}
        yield from (name for name in names if name.partition(".")[0] not in own)


def distribution_of(module: str, installed: dict[str, list[str]]) -> str:
    parts = module.split(".")
    prefixes = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    shared = next((SHARED[prefix] for prefix in prefixes if prefix in SHARED), None)
    # A package of an extra that is not installed here has the name of its distribution.
    return shared or canonicalize_name(installed.get(parts[0], parts)[0])


@cache
def used_distributions(package: str = "restgpt") -> dict[str, set[str]]:
    """The distributions that the modules of a wheel import, with the modules that do."""
    installed = {name: list(found) for name, found in packages_distributions().items()}
    used: dict[str, set[str]] = {}
    for path in (path for path in shipped_files(package) if path.suffix == ".py"):
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
@pytest.mark.parametrize("package", BESIDE)
def test_the_distributions_beside_restgpt_import_just_what_they_declare(package: str) -> None:
    declared = names_of(project(BESIDE[package])["project"]["dependencies"]) - {"restgpt"}
    assert declared == used_distributions(package).keys()


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


def built(folder: Path, *, links: bool = True) -> dict[str, Path]:
    """The wheels of the working tree by their package, built from a copy, so that the tree gets no build folder."""
    source = folder / "source"
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    for room in (*ROOMS, "restgpt", *BESIDE.values()):
        shutil.copytree(ROOT / room, source / room, symlinks=True, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    if not links:
        for link in [path for path in source.rglob("*") if path.is_symlink()]:
            target = os.readlink(link)
            link.unlink()
            link.write_text(target, encoding="utf-8")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(source)]
    subprocess.run([*command, *(str(source / folder) for folder in BESIDE.values())], check=True)
    return {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}


def held(wheel: Path) -> set[str]:
    """The files that a wheel installs, without those about itself."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return built(tmp_path_factory.mktemp("wheels"))


@pytest.mark.slow
@pytest.mark.parametrize("package", ["restgpt", *BESIDE])
def test_a_wheel_holds_all_modules_and_data_of_its_package_and_no_more(package: str, wheels: dict[str, Path]) -> None:
    assert held(wheels[package]) == installed_names(package)


def installed_names(package: str) -> set[str]:
    """The names in the wheel of what it has to hold."""
    files = shipped_files(package)
    if package in BESIDE:
        return {path.relative_to(BESIDE[package]).as_posix() for path in files}
    page = {f"restgpt/server/page/{name}" for name in MEDIA_TYPES}
    return page | {(path if path.parts[0] == package else package / path).as_posix() for path in files}


@pytest.mark.slow
def test_a_checkout_without_links_gives_the_same_wheel(tmp_path: Path) -> None:
    assert held(built(tmp_path, links=False)["restgpt"]) == installed_names("restgpt")


def test_the_packages_that_the_page_needs_have_no_addresses() -> None:
    lock = json.loads((ROOT / "page" / "package-lock.json").read_text(encoding="utf-8"))
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
    listed = json.loads((ROOT / "page" / "package.json").read_text(encoding="utf-8"))
    versions = [*listed["dependencies"].values(), *listed["devDependencies"].values()]
    assert [version for version in versions if not re.fullmatch(r"[0-9.]+", version)] == []


def test_the_page_comes_with_the_licences_of_the_packages_in_it() -> None:
    licences = (PAGE / "licenses.txt").read_text(encoding="utf-8")
    lock = json.loads((ROOT / "page" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name in json.loads((ROOT / "page" / "package.json").read_text(encoding="utf-8"))["dependencies"]:
        assert f"\n{name} {lock[f'node_modules/{name}']['version']}\n" in licences
    texts = re.split(r"\n[@a-z/-]+ [0-9.]+\n", licences)[1:]
    assert [text for text in texts if "Permission is hereby granted" not in text] == []


@pytest.mark.slow
def test_the_page_is_built_from_its_sources(tmp_path: Path) -> None:
    node = shutil.which("node", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if node is None or not (ROOT / "page" / "node_modules" / "esbuild").is_dir():
        pytest.skip("the packages of the page are not installed: make page")
    subprocess.run([node, "build.mjs", tmp_path], cwd=ROOT / "page", check=True, timeout=120)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in PAGE.iterdir()
    }


def ran(program: str, folder: Path, *wheels: Path) -> "subprocess.CompletedProcess[str]":
    """Run a program in another folder with these wheels installed, and with the other packages of this environment."""
    site = folder / "site"
    site.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "restgpt" not in path.name:
            (site / path.name).symlink_to(path)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    # Without -S, the import finder of the editable install would load the modules instead of the wheel's.
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{program}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_installed_wheel_works_from_another_folder(wheels: dict[str, Path], tmp_path: Path) -> None:
    program = f"""
from restgpt import build_graph, load_api
import restgpt
assert restgpt.__file__.startswith({str(tmp_path)!r}), restgpt.__file__
from importlib.util import find_spec
leaked = [name for name in {(*ROOMS, "lab", *BESIDE)!r} if find_spec(name)]
assert not leaked, leaked
print(build_graph.__module__, load_api.__module__)
"""
    done = ran(program, tmp_path, wheels["restgpt"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["restgpt.graph.build", "restgpt.specs.api"]


@pytest.mark.slow
@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("command", ["bench", "demo", "world", "function"])
def test_a_command_comes_with_its_distribution_and_without_it_says_what_to_install(
    command: str, is_there: bool, wheels: dict[str, Path], tmp_path: Path
) -> None:
    package = "restgpt_functions" if command == "function" else "restgpt_bench"
    program = f"import restgpt.cli; sys.argv = ['restgpt', {command!r}, '--help']; restgpt.cli.main()"
    done = ran(program, tmp_path, wheels["restgpt"], *([wheels[package]] if is_there else []))
    if is_there:
        assert (done.returncode, "Usage: restgpt" in done.stdout) == (0, True), done.stderr
    else:
        assert (done.returncode, f"pip install '{BESIDE[package]}'" in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["functions"], ["generate", "--docs", "functions.json"]])
def test_without_openfunctions_its_benchmarks_say_what_to_install(
    arguments: list[str], wheels: dict[str, Path], tmp_path: Path
) -> None:
    program = f"import restgpt.cli; sys.argv = ['restgpt', 'bench', *{arguments}]; restgpt.cli.main()"
    done = ran(program, tmp_path, wheels["restgpt"], wheels["restgpt_bench"])
    assert (done.returncode, "pip install 'restgpt-functions'" in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_without_the_benchmarks_and_an_api_studio_names_both_remedies(wheels: dict[str, Path], tmp_path: Path) -> None:
    program = "import restgpt.cli; sys.argv = ['restgpt', 'studio']; restgpt.cli.main()"
    done = ran(program, tmp_path, wheels["restgpt"])
    assert done.returncode == 2
    assert "apis.yaml" in done.stderr
    assert "pip install 'restgpt-bench'" in done.stderr


def installed_lines() -> list[str]:
    """The commands of README.md that install the project into another one, in order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^pip .*restgpt.*\[mcp\].*$", text, flags=re.MULTILINE)


def fresh_environment(folder: Path) -> Path:
    """Make an environment with the dependencies of this one, but without the project; returns its folder `bin`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    # The files of a folder that a .pth file adds are no .pth files, so an editable project is not found.
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the sources, with a commit."""
    folder = tmp_path_factory.mktemp("checkout") / "restgpt"
    root = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "docs", "lab", "page", "tests")
    below = shutil.ignore_patterns("__pycache__")

    def left_out(place: str, names: list[str]) -> set[str]:
        return (root if place == str(ROOT) else below)(place, names)

    shutil.copytree(ROOT, folder, symlinks=True, ignore=left_out)
    name = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["init", "--quiet"], ["add", "--all"], [*name, "commit", "--quiet", "--message", "All"]):
        subprocess.run(["git", *command], cwd=folder, check=True, timeout=60)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.parametrize("number", range(3))
def test_the_readmes_commands_install_it_elsewhere(number: int, installer: str, checkout: Path, tmp_path: Path) -> None:
    bins = fresh_environment(tmp_path / "env")
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if installer == "uv" and (uv is None or number == 2):
        pytest.skip("uv is not installed" if uv is None else "pip makes the wheel")
    line = installed_lines()[number]
    for shown, place in (
        ("/path/to/restgpt", str(checkout)),
        ("git+https://HOST/OWNER/restgpt", f"git+file://localhost{checkout}"),
        ("/ABSOLUTE", str(tmp_path)),
    ):
        line = line.replace(shown, place)
    # Without a package index: the dependencies are there, and so is what builds the project.
    offline = "--quiet --no-deps --no-build-isolation"
    env = {**os.environ, "PATH": f"{bins}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(tmp_path / "env")}
    pip = f"{bins}/python -m pip" if installer == "pip" else f"{uv} pip"
    line = line.replace("pip install", f"{pip} install {offline}").replace(
        "pip wheel", f"{pip} wheel --no-build-isolation"
    )
    subprocess.run(line, shell=True, cwd=tmp_path, env=env, check=True, timeout=300)
    code = "import restgpt, restgpt.mcp.protocol; print(restgpt.__file__)"
    found = subprocess.run([bins / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(tmp_path))
    said = subprocess.run([bins / "restgpt", "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout.startswith("restgpt ")

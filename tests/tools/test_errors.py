"""Guards the error tree: its drawing matches the classes, and every error belongs to one of the two families."""

import inspect
import json
import re
from typing import Any

import pytest

from restgpt.tools import errors
from restgpt.tools.errors import (
    BENCH,
    FUNCTIONS,
    ArgumentError,
    ArgumentProblem,
    HttpFault,
    RepairableError,
    RestgptError,
    StoppingError,
    command_of,
)


def classes() -> dict[str, type[BaseException]]:
    found = inspect.getmembers(errors, inspect.isclass)
    return {
        name: item for name, item in found if issubclass(item, BaseException) and item.__module__ == errors.__name__
    }


def test_the_tree_in_the_docstring_is_the_real_one() -> None:
    parents = {0: "RuntimeError"}
    drawn = {}
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^( {4}[ │├└─]*)([A-Z]\w+(?:Error|Fault))\b", line)
        if match:
            depth = len(match.group(1)) // 4
            drawn[match.group(2)] = parents[depth - 1]
            parents[depth] = match.group(2)
    assert drawn == {name: item.__mro__[1].__name__ for name, item in classes().items()}


def test_every_error_is_either_for_the_model_or_for_the_user() -> None:
    families = (RepairableError, StoppingError)
    for name, item in classes().items():
        if item not in (RestgptError, *families):
            assert sum(issubclass(item, family) for family in families) == 1, name


def test_an_argument_error_lists_its_problems_with_an_example() -> None:
    error = ArgumentError([ArgumentProblem("/query/n", "is required")], {"query": {"n": 1}}, operation="list")
    assert str(error) == "the arguments of list do not fit: /query/n: is required"
    assert error.example == {"query": {"n": 1}}


def test_faults_know_whether_trying_differently_may_help() -> None:
    stuck = {name for name, item in classes().items() if issubclass(item, HttpFault) and not item.repairable}
    assert stuck == {"AddressFault", "TlsFault", "RedirectFault", "BoundFault"}


FOLDER = {"url": "file:///my%20code/restgpt", "dir_info": {}}
EDITABLE = {"url": "file:///src/r", "dir_info": {"editable": True}}
GIT = {"url": "https://git.example/restgpt", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}
SOURCE = "git+https://git.example/restgpt@abc123"
FILE = "file:///home/me/restgpt-0.1.0-py3-none-any.whl"
WHEEL = {"url": FILE, "archive_info": {}}


@pytest.mark.parametrize(
    ("origin", "extra", "bench"),
    [
        (None, "'restgpt[mcp]'", "'restgpt-bench'"),
        (FOLDER, "'/my code/restgpt[mcp]'", "'/my code/restgpt/restgpt-bench'"),
        (EDITABLE, "--editable '/src/r[mcp]'", "--editable '/src/r/restgpt-bench'"),
        (GIT, f"'restgpt[mcp] @ {SOURCE}'", f"'restgpt-bench @ {SOURCE}#subdirectory=restgpt-bench'"),
        (WHEEL, f"'restgpt[mcp] @ {FILE}'", f"'restgpt-bench @ {FILE}'".replace("restgpt-0", "restgpt_bench-0")),
    ],
)
def test_an_extra_and_the_benchmarks_are_installed_from_where_the_package_came(
    origin: Any, extra: str, bench: str
) -> None:
    record = None if origin is None else json.dumps(origin)
    assert command_of(record, "mcp") == f"pip install {extra}"
    assert command_of(record, "", BENCH) == f"pip install {bench}"
    functions = bench.replace("-bench", "-functions").replace("_bench", "_functions")
    assert command_of(record, "", FUNCTIONS) == f"pip install {functions}"

"""Guards the command that installs an extra or the benchmarks: it names the place from which the package came."""

import json
from typing import Any

import pytest

from restgpt.tools.errors import BENCH, FUNCTIONS, command_of

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

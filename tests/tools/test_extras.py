"""Guards the command that installs an extra: it names the place from which the package came."""

import json
from typing import Any

import pytest

from restgpt.tools.extras import command_of

GIT = {"url": "https://git.example/restgpt", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}
WHEEL = {"url": "file:///home/me/restgpt-0.1.0-py3-none-any.whl", "archive_info": {}}


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'restgpt[mcp]'"),
        ({"url": "file:///home/my%20code/restgpt", "dir_info": {}}, "pip install '/home/my code/restgpt[mcp]'"),
        ({"url": "file:///src/r", "dir_info": {"editable": True}}, "pip install --editable '/src/r[mcp]'"),
        (GIT, "pip install 'restgpt[mcp] @ git+https://git.example/restgpt@abc123'"),
        (WHEEL, "pip install 'restgpt[mcp] @ file:///home/me/restgpt-0.1.0-py3-none-any.whl'"),
    ],
)
def test_an_extra_is_installed_from_where_the_package_came(origin: Any, command: str) -> None:
    assert command_of(None if origin is None else json.dumps(origin), "mcp") == command

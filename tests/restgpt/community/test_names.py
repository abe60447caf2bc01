"""Guards the names of `restgpt.community`: nothing of langchain-community is loaded unless it is asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

import restgpt.community
from restgpt.tools.errors import extra_command

ABSENT = "import sys; sys.modules['langchain_community'] = None\n"


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_services_need_no_langchain_community(tmp_path: Path) -> None:
    program = (
        f"{ABSENT}from types import SimpleNamespace\n"
        "from langchain_core.language_models import FakeListChatModel\n"
        "from restgpt.community import services_of\n"
        "wrapper = SimpleNamespace(headers={'A': 'b'}, auth=None, verify=True)\n"
        "document = {'openapi': '3.1.0', 'info': {'title': 'a', 'version': '1'}, 'paths': {'/a': {'get': {}}}}\n"
        "found = services_of(document, wrapper, model=FakeListChatModel(responses=[]), base_url='https://a.test')\n"
        "print(type(found).__name__)"
    )
    done = run(program, tmp_path)
    assert (done.returncode, done.stdout) == (0, "Services\n"), done.stderr


@pytest.mark.parametrize("name", restgpt.community.THEIRS)
def test_a_name_of_langchain_community_that_is_not_installed_names_the_extra(name: str, tmp_path: Path) -> None:
    done = run(f"{ABSENT}from restgpt.community import {name}", tmp_path)
    assert done.returncode == 1
    assert f"ImportError: {name} is a part of langchain-community" in done.stderr
    assert extra_command("community") in done.stderr


def test_the_names_of_langchain_community_are_its_own() -> None:
    theirs = pytest.importorskip(
        "langchain_community.utilities.requests", reason="langchain-community is not installed"
    )
    assert restgpt.community.RequestsWrapper is theirs.RequestsWrapper
    assert {"services_of", *restgpt.community.THEIRS} <= set(dir(restgpt.community))
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        _ = restgpt.community.unknown

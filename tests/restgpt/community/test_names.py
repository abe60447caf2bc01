"""Guards the names of `restgpt.community`: nothing of langchain-community is loaded unless it is asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

import restgpt.community
from restgpt.tools.extras import extra_command

ABSENT = "import sys; sys.modules['langchain_community'] = None\n"


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_agent_works_where_langchain_community_is_not_installed(tmp_path: Path) -> None:
    program = (
        f"{ABSENT}from types import SimpleNamespace\n"
        "from langchain_core.language_models import FakeListChatModel\n"
        "from restgpt.community import create_openapi_agent\n"
        "wrapper = SimpleNamespace(headers={'A': 'b'}, auth=None, verify=True)\n"
        "servers, endpoints = [{'url': 'https://a.test'}], [('GET /a', None, {})]\n"
        "spec = SimpleNamespace(servers=servers, description='', endpoints=endpoints)\n"
        "agent = create_openapi_agent(spec, wrapper, FakeListChatModel(responses=[]), allow_dangerous_requests=True)\n"
        "print(type(agent).__name__)"
    )
    done = run(program, tmp_path)
    assert (done.returncode, done.stdout) == (0, "OpenAPIAgent\n"), done.stderr


@pytest.mark.parametrize("name", restgpt.community.THEIRS)
def test_a_name_of_langchain_community_that_is_not_installed_names_the_extra(name: str, tmp_path: Path) -> None:
    done = run(f"{ABSENT}from restgpt.community import {name}", tmp_path)
    assert done.returncode == 1
    assert f"ImportError: {name} is a part of langchain-community" in done.stderr
    assert extra_command("community") in done.stderr


def test_the_names_of_langchain_community_are_its_own() -> None:
    spec = pytest.importorskip(
        "langchain_community.agent_toolkits.openapi.spec", reason="langchain-community is not installed"
    )
    assert restgpt.community.reduce_openapi_spec is spec.reduce_openapi_spec
    assert restgpt.community.ReducedOpenAPISpec is spec.ReducedOpenAPISpec
    assert {"create_openapi_agent", *restgpt.community.THEIRS} <= set(dir(restgpt.community))
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        _ = restgpt.community.unknown

"""Guards the commands of docs/mcp.md that install the server into an environment of its own, as they stand there."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli import TOY, Cli
from mcp.client.stdio import StdioServerParameters
from mcpserver import connected

from restgpt_bench.worlds import CREDENTIAL

ROOT = Path(__file__).parents[3]
NAMED = "'restgpt[mcp]'"
LINES = re.findall(rf"^(?:uv|pipx) .*{re.escape(NAMED)}.*$", (ROOT / "docs" / "mcp.md").read_text("utf-8"), re.M)

UNREACHED = re.compile(r"Failed to fetch|Could not find a version|ConnectionError|Max retries exceeded")
"""What the installers say where no package index can be reached."""


def test_the_page_has_a_command_for_uv_and_one_for_pipx() -> None:
    assert [line.split()[0] for line in LINES] == ["uv", "pipx"]


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_the_server_lives_in_an_environment_of_its_own(line: str, tmp_path: Path) -> None:
    if shutil.which(program := line.split()[0]) is None:
        pytest.skip(f"{program} is not installed")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, timeout=300)
    [wheel] = tmp_path.glob("restgpt-*.whl")
    bins = tmp_path / "bin"
    places = {"UV_TOOL_DIR": "uv", "PIPX_HOME": "pipx", "UV_TOOL_BIN_DIR": "bin", "PIPX_BIN_DIR": "bin"}
    env = {**os.environ, **{name: str(tmp_path / folder) for name, folder in places.items()}}
    # The suite hides the certificates of the machine, which the installers need.
    del env["SSL_CERT_DIR"]
    env["UV_SYSTEM_CERTS"] = env["UV_NATIVE_TLS"] = "1"
    env["PIP_CONSTRAINT"] = env["UV_CONSTRAINT"] = str(ROOT / "constraints.txt")
    command = line.replace(NAMED, f"'restgpt[mcp] @ {wheel.as_uri()}'")
    made = subprocess.run(command, shell=True, env=env, capture_output=True, text=True, timeout=500, check=False)
    if made.returncode and UNREACHED.search(made.stderr):
        pytest.skip(f"{program} reaches no package index: {made.stderr.strip()[-300:]}")
    assert made.returncode == 0, made.stderr

    async def tools() -> list[str]:
        server = StdioServerParameters(
            command=str(bins / "restgpt"),
            args=["mcp", "--spec", TOY],
            env={**env, "RESTGPT_HOME": str(tmp_path / "home")},
        )
        async with connected(server, "2026-07-28") as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "read_operation" in asyncio.run(tools())


def test_a_client_entry_has_full_paths_and_no_secret(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESTGPT_HOME", str(cli.home))
    (tmp_path / "board.yaml").write_text(Path(TOY).read_text())
    ran = cli("mcp", "--spec", "board.yaml", "--exclude", "method=DELETE", "--config")
    [[name, entry]] = json.loads(ran.out)["mcpServers"].items()
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-5:] == ["mcp", "--spec", str(tmp_path / "board.yaml"), "--exclude", "method=DELETE"]
    assert entry["env"] == {"RESTGPT_HOME": str(cli.home)}
    assert ("RESTGPT_AUTH_KEY" in ran.err, CREDENTIAL in ran.out + ran.err) == (True, False)
    assert (name, cli("api", "add", "board", "board.yaml").code) == ("restgpt", 0)
    assert list(json.loads(cli("mcp", "--api", "board", "--config").out)["mcpServers"]) == ["board"]

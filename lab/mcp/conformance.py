"""Runs the conformance suite of the Model Context Protocol against `restgpt mcp` and FastMCP's server, side by side.

    python -m lab.mcp.conformance [--server restgpt …] [--cache FOLDER]

The suite calls tools and resources by names of its own. The tools are operations of a document that have these names;
a small proxy renames what cannot have them, such as the handle of a result. The table has a row for each scenario:
pass, fail, or not offered, with the reason below. Ends with 1 if RestGPT fails a scenario, and with 2 if npm cannot
fetch the suite.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from lab.kit.table import markdown
from lab.mcp.suite_server import Api, aliases, answering, document, proxied, served
from restgpt_bench.packages import CACHE

RUNS = (("0.1.16", "2025-11-25"), ("0.2.0-alpha.12", "2025-11-25"), ("0.2.0-alpha.12", "2026-07-28"))
"""The version of the suite and that of the protocol, for each column."""

NODE = "node@22"
"""The suite needs a newer Node.js than many machines have, so it comes with the suite."""

SERVERS = ("restgpt", "fastmcp")
RENAMED = (
    "resources-read-text", "resources-read-binary", "resources-templates-read", "input-required-result-tampered-state",
)  # fmt: skip
"""The scenarios whose tools and resources RestGPT cannot name as the suite does."""


def _reasons() -> Iterator[dict[str, str]]:
    given = yaml.safe_load(Path(__file__).with_name("reasons.yaml").read_text(encoding="utf-8"))
    for server in SERVERS:
        yield {name: reason for reason, names in given[server].items() for name in names}


REASONS, OF_FASTMCP = _reasons()
"""Why a scenario is not offered, and why it is not by FastMCP's server."""


def suite(version: str, cache: Path) -> list[str]:
    """Return the command of a version of the suite, fetched once; raises CalledProcessError where npm cannot."""
    folder = cache / f"mcp-conformance-{version}"
    if not (folder / "node_modules").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        packages = [f"@modelcontextprotocol/conformance@{version}", NODE]
        subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), *packages], check=True)
    modules = folder / "node_modules"
    return [str(modules / ".bin" / "node"), str(modules / "@modelcontextprotocol/conformance/dist/index.js")]


def run(server: str, version: str, protocol: str, url: str, cache: Path, *chosen: str) -> dict[str, str]:
    """Run a version of the suite, or the scenario that is chosen; returns the verdict on each scenario."""
    with TemporaryDirectory() as folder:
        options = ["--spec-version", protocol, "--url", url, "-o", folder, *(chosen or ("--suite", "all"))]
        subprocess.run([*suite(version, cache), "server", *options], stdout=DEVNULL, stderr=DEVNULL, check=False)
        found = {}
        for path in sorted(Path(folder).glob("*/checks.json")):
            name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", path.parent.name)
            found[name] = verdict(name, server, json.loads(path.read_text(encoding="utf-8")))
        return found


def verdict(name: str, server: str, checks: Sequence[Mapping[str, Any]]) -> str:
    """Return pass, fail or not offered, by the checks of a scenario."""
    failed = [check for check in checks if check["status"] == "FAILURE"]
    # A server need not list the tools by which the suite tests further requirements.
    told = [check for check in failed if not str(check.get("errorMessage", "")).startswith("Not testable")]
    if (name in REASONS and failed) or (name in OF_FASTMCP and told and server == "fastmcp"):
        return "not offered"
    if told:
        return "fail"
    return "pass" if any(check["status"] == "SUCCESS" for check in checks) else "not offered"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 1 if RestGPT fails a scenario, or if none ran, and 2 without the suite."""
    parser = argparse.ArgumentParser(prog="python -m lab.mcp.conformance", description=__doc__)
    parser.add_argument("--server", action="append", choices=SERVERS, help="one server; may be repeated (both)")
    parser.add_argument("--cache", type=Path, default=CACHE)
    given = parser.parse_args(arguments)
    columns: dict[tuple[str, str, str], dict[str, str]] = {}
    try:
        for version, _ in RUNS:
            suite(version, given.cache)
    except (OSError, subprocess.CalledProcessError):
        print("npm cannot fetch the suite, so it was not run", file=sys.stderr)
        return 2
    with ExitStack() as stack:
        api = stack.enter_context(answering(Api))
        for server in given.server or SERVERS:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            described = folder / "api.json"
            described.write_text(json.dumps(document()), encoding="utf-8")
            url = stack.enter_context(served(server, described, api, folder, "--direct"))
            for version, protocol in RUNS:
                found = columns[server, version, protocol] = run(server, version, protocol, url, given.cache)
                if server == "restgpt":
                    with proxied(url, asyncio.run(aliases(url))) as through:
                        for name in filter(found.__contains__, RENAMED):
                            found |= run(server, version, protocol, through, given.cache, "--scenario", name)
    scenarios = list(dict.fromkeys(name for found in columns.values() for name in found))
    heads = [f"{server}, suite {version}, {protocol}" for server, version, protocol in columns]
    rows = [[name, *(found.get(name, "") for found in columns.values())] for name in scenarios]
    print("\n".join(markdown(["scenario", *heads], rows)))
    reasons = {name: REASONS[name] for name, *cells in rows if "not offered" in cells and name in REASONS}
    print("", *(f"- `{name}` is not offered: {reason}." for name, reason in reasons.items()), sep="\n")
    own = [verdict for (server, *_), found in columns.items() if server == "restgpt" for verdict in found.values()]
    return 1 if "fail" in own or not scenarios else 0


if __name__ == "__main__":
    sys.exit(main())

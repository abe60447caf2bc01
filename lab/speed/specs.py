"""Measures reading of documents: load, docs of one operation, search; cold and from the index on disk; beside peers.

Every figure is CPU time of a fresh process after its imports, with the peak memory of that process. The peers run in an
environment of their own, whose Python is given with `--peers`, under the same limits for all.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.kit.memory import peak_mb
from lab.kit.table import markdown
from restgpt_bench.packages import CACHE, named_document

DOCUMENTS = ("stripe", "github", "msgraph")
QUERIES = (
    "create a message",
    "list the repositories of a user",
    "delete an old invoice",
    "members of a team",
    "search",
)
CPU_SECONDS = 240
MEMORY = 8 << 30

# The Python of the peers runs this, without this project: the arguments are the peer's name and the document's path.
PEER_CODE = """
import json, sys, time
peer, path = sys.argv[1:]
document = None
if peer == "fastmcp":
    import asyncio, httpx
    from fastmcp import FastMCP
    def run(document):
        server = FastMCP.from_openapi(openapi_spec=document, client=httpx.AsyncClient(base_url="http://localhost"))
        return len(asyncio.run(server.list_tools()))
else:
    from langchain_community.agent_toolkits.openapi.spec import reduce_openapi_spec
    def run(document):
        return len(reduce_openapi_spec(document).endpoints)
start = time.process_time()
with open(path, "rb") as file:
    document = json.load(file)
count = run(document)
seconds = time.process_time() - start
peak = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) // 1024
print(json.dumps({"operations": count, "load": seconds, "peak_mb": peak}))
"""


def measure_here(path: Path, cache: Path | None) -> dict[str, float]:
    """Measure in this process, which must be fresh: seconds of CPU and megabytes."""
    from restgpt.specs import load_api
    from restgpt.specs.docs.documentation import documentation

    def lap(since: float) -> float:
        return round(time.process_time() - since, 5)

    start = time.process_time()
    api = load_api(path, cache=cache)
    figures: dict[str, float] = {"operations": len(api.operations), "load": lap(start), "peak_mb": peak_mb()}
    start = time.process_time()
    documentation(api.operations[len(api.operations) // 2])
    figures["docs"] = lap(start)
    start = time.process_time()
    _ = api.search_index
    figures["search index"] = lap(start)
    start = time.process_time()
    for query in QUERIES:
        api.search(query)
    figures["query"] = round(lap(start) / len(QUERIES), 5)
    return {**figures, "peak_mb_search": peak_mb()}


def measure(path: Path, cache: Path | None) -> dict[str, float]:
    """Measure in a fresh process."""
    command = [sys.executable, "-m", "lab.speed.specs", "--child", str(path)]
    command += ["--index", str(cache)] if cache is not None else []
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def measure_peer(python: Path, peer: str, path: Path) -> dict[str, Any]:
    """Measure a peer in its own environment; `failed` says how it failed within the limits."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(python), "-c", PEER_CODE, peer, str(path)], capture_output=True, text=True, preexec_fn=limit, check=False
    )
    if done.returncode == 0:
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)
    if done.returncode < 0:
        return {"failed": f"none after {spent} CPU s, stopped by signal {-done.returncode}"}
    last = (done.stderr.strip().splitlines() or [""])[-1][:120]
    return {"failed": f"none after {spent} CPU s: {last}"}


def as_yaml(path: Path, cache: Path) -> Path:
    """Return the document as YAML, written once beside the fetched packages."""
    import ryaml

    target = cache / f"{path.stem}.yaml"
    if not target.exists():
        target.write_text(ryaml.dumps(json.loads(path.read_bytes())))  # type: ignore[attr-defined]
    return target


def compare(cache: Path, peers: Path | None) -> dict[str, Any]:
    """Measure every document, cold, when its index is first written, and from the index on disk."""
    report: dict[str, Any] = {}
    index = cache / "index"
    paths = {name: named_document(name, cache) for name in DOCUMENTS}
    paths["github.yaml"] = as_yaml(paths["github"], cache)
    for name, path in paths.items():
        shutil.rmtree(index, ignore_errors=True)
        entry = report[name] = {
            "megabytes": round(path.stat().st_size / 1e6, 1),
            "cold": measure(path, None),
            "first": measure(path, index),
            "warm": measure(path, index),
        }
        for peer in ("fastmcp", "langchain") if peers is not None and path.suffix == ".json" else ():
            entry[peer] = measure_peer(peers, peer, path) if peers is not None else None
    return report


def table(report: Mapping[str, Any]) -> str:
    """Write the report as Markdown tables."""
    timed = ("load", "docs", "search index", "query")
    rows: list[Sequence[object]] = []
    for name, entry in report.items():
        for run in ("cold", "first", "warm"):
            found = entry[run]
            cells = [f"{found[key] * 1000:.1f}" for key in timed]
            document = f"{name} ({entry['megabytes']} MB)"
            rows.append([document, found["operations"], run, *cells, found["peak_mb"], found["peak_mb_search"]])
    columns = ("document", "operations", "run", *(f"{name} ms" for name in timed), "peak MB", "with search MB")
    lines = [*markdown(columns, rows)]
    if any("fastmcp" in entry for entry in report.values()):
        peers = [(name, peer) for name in report for peer in ("fastmcp", "langchain") if report[name].get(peer)]
        rows = [[name, peer, *_peer_cells(report[name], peer)] for name, peer in peers]
        lines += ["", *markdown(("document", "peer", "CPU s", "peak MB", "times our cold load"), rows)]
    return "\n".join(lines)


def _peer_cells(entry: Mapping[str, Any], peer: str) -> Sequence[object]:
    found = entry[peer]
    if "failed" in found:
        return [found["failed"], "", ""]
    ratio = found["load"] / max(entry["cold"]["load"], 1e-4)
    return [f"{found['load']:.2f}", found["peak_mb"], f"{ratio:.0f}"]


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for fetched packages and indexes")
    parser.add_argument("--peers", type=Path, help="Python of an environment with fastmcp and langchain-community")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        json.dump(measure_here(options.child, options.index), sys.stdout)
        return
    os.environ.setdefault("PYTHONHASHSEED", "0")
    report = compare(options.cache, options.peers)
    print(json.dumps(report, indent=1) if options.json else table(report))


if __name__ == "__main__":
    main()

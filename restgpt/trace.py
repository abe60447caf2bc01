"""The live trace of a run: prints each role's decision, each call and each result as a line on a terminal."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from textwrap import TextWrapper
from typing import TYPE_CHECKING

from restgpt.tools.text.quotation import visible

if TYPE_CHECKING:
    from rich.console import Console

    from restgpt.nodes.run.events import CallFinished, ProgressEvent, StepFinished
    from restgpt.nodes.state.records import Usage

SHOWN = 700
"""The number of characters of a text that one line shows."""

SHOWN_NAMES = 12
"""The number of functions that a line names."""

SHOWN_PROGRAM = 3000
"""The number of characters of a program that its lines show."""

STYLES = {
    "functions": "magenta",
    "api plan": "magenta",
    "request": "green",
    "not sent": "yellow",
    "failed": "red",
    "code": "dim",
    "result": "default",
    "report": "default",
    "missing": "yellow",
    "road": "yellow",
    "waits": "dim",
}
"""The styles of labels, but for what a role or a recipe begins."""
LABEL_WIDTH, LEAST_WIDTH = 9, 20
"""The columns of a label, and the least ones of a text."""

FAILED = frozenset({"failed", "budget"})
"""The ends of a program that are failures."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the trace: a label and its text."""

    label: str
    text: str


def lines_of(event: "ProgressEvent") -> Iterator[Line]:
    """Yield the trace lines of a progress event."""
    match event["type"]:
        case "task_started" if event["kind"] != "program":
            yield Line(event["kind"], event["text"])
        case "operations_chosen":
            yield from (Line("api plan", f"{call['operation']}: {call['purpose']}") for call in event["operations"])
        case "functions_selected":
            words = f"{event['words']}: " if event["words"] else ""
            names, more = event["operations"][:SHOWN_NAMES], len(event["operations"]) - SHOWN_NAMES
            told = ", ".join(names) + (f" and {more} more" if more > 0 else "")
            yield Line("functions", f"{words}{told or event['reason']}")
        case "program_written":
            yield Line("program" if event["number"] == 1 else f"program {event['number']}", event["code"])
        case "program_failed":
            yield Line("failed", event["problem"])
        case "program_waiting":
            yield Line("waits", f"until {datetime.fromtimestamp(event['until']).astimezone():%H:%M:%S %Z}")
        case "road_changed":
            yield Line("road", event["reason"])
        case "value_missing":
            yield Line("missing", event["text"])
        case "call_finished":
            yield _call(event)
        case "response_read":
            if event["code"]:
                yield Line("code", event["code"])
            yield Line("result", event["result"])
        case "step_finished":
            yield from _step(event)


def _call(event: "CallFinished") -> Line:
    line = f" (line {event['line']})" if event["line"] else ""
    call = f"{event['method']} {event['url']}{line}".lstrip()
    match event["outcome"]:
        case "held":
            return Line("not sent", f"{call} (dry run)")
        case "rejected":
            return Line("not sent", f"{call} ({event['note']})")
        case "failed":
            return Line("failed", f"{call} → {event['note']}")
    facts = [
        str(event["status"]),
        *([] if event["ms"] is None else [f"{event['ms']:.0f} ms"]),
        *([] if event["size"] is None else [size_text(event["size"])]),
        *([f"{event['pages']} pages"] if event["pages"] > 1 else []),
        *(["may have been carried out"] if event["outcome_unknown"] else []),
        *([event["note"]] if event["note"] else []),
    ]
    return Line("request", f"{call} → {', '.join(facts)}")


def _step(event: "StepFinished") -> Iterator[Line]:
    """Yield the line of a round's end: a program's report or what went wrong, or why nothing was called."""
    if event["end"]:
        yield Line("failed" if event["end"] in FAILED else "report", event["report"] or event["result"])
    elif not event["operations"]:
        yield Line("missing", event["result"])


def size_text(size: int) -> str:
    """Format a number of bytes in decimal units, such as `1.5 kB`."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def usage_text(usage: "Usage") -> str:
    """Format the usage of a run in one line: model calls, tokens, requests, seconds."""
    costs = usage["roles"].values()
    calls, read, written = (sum(cost[key] for cost in costs) for key in ("calls", "input_tokens", "output_tokens"))
    spent = [_count(calls, "model call"), f"{read:,} in + {written:,} out tokens"] if calls else []
    return " · ".join([*spent, _count(usage["requests"], "request"), f"{usage['seconds']:.1f} s"])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Trace:
    """Prints the lines of progress events on a console during a run."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._task = ""
        self._ends: list[Line] = []
        self.programs: set[str] = set()
        """The programs that it has printed whole."""

    def show(self, event: "ProgressEvent") -> None:
        """Print the lines of one event; a recipe's program comes after its instruction.

        The end of a program waits for what comes next: at the end of the run it may be the answer.
        """
        if event["type"] not in ("usage", "turn_finished"):
            self.end("")
        if event["type"] == "task_started":
            self._task = event["text"]
        elif event["type"] == "program_written" and event["writer"] == "recipe":
            self.print(Line("recipe", self._task))
        if event["type"] == "program_written" and len(event["code"]) <= SHOWN_PROGRAM and not self._console.quiet:
            self.programs.add(event["code"])
        for line in lines_of(event):
            (self._ends.append if event["type"] == "step_finished" else self.print)(line)

    def end(self, answer: str) -> None:
        """Print the end of a program, unless the answer, which the command prints, says the same."""
        ends, self._ends = self._ends, []
        for line in ends:
            if line.text not in answer:
                self.print(line)

    def print(self, line: Line) -> None:
        """Print one line: the label, then the text, indented and cut to `SHOWN` or `SHOWN_PROGRAM` characters.

        A word that is longer than a line, such as an address, is left to the terminal, so that it can be copied whole.
        """
        from rich.text import Text

        column = max(self._console.width - LABEL_WIDTH - 2, LEAST_WIDTH)
        most = SHOWN_PROGRAM if line.label.startswith("program") else SHOWN
        text = visible(line.text)
        text = text if len(text) <= most else f"{text[:most]}…"
        if line.label == "request" and len(text) > column:
            text = text.replace(" → ", "\n→ ")
        folded = TextWrapper(column, break_long_words=False, break_on_hyphens=False)
        pieces = [piece for part in text.split("\n") for piece in folded.wrap(part) or [""]]
        for label, piece in zip_longest([line.label], pieces, fillvalue=""):
            head = f"{label:<{LABEL_WIDTH}}  " if label or len(piece) <= column else ""
            self._console.print(Text.assemble((head, STYLES.get(line.label, "bold cyan")), piece), soft_wrap=True)

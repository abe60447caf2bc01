"""The live trace of a run: prints each role's decision, each call and each result as a line on a terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from restgpt.tools.text.quotation import visible

if TYPE_CHECKING:
    from rich.console import Console

    from restgpt.nodes.run.events import CallFinished, ProgramCall, ProgressEvent, StepFinished
    from restgpt.nodes.state.records import Usage

SHOWN = 700
"""The number of characters of a text that one line shows."""

SHOWN_NAMES = 12
"""The number of functions that a line names."""

SHOWN_PROGRAM = 3000
"""The number of characters of a program that its lines show."""

STYLES = {
    "recipe": "bold cyan",
    "plan": "bold cyan",
    "continue": "bold cyan",
    "end": "bold cyan",
    "program": "bold cyan",
    "program 2": "bold cyan",
    "program 3": "bold cyan",
    "functions": "magenta",
    "api plan": "magenta",
    "calls": "magenta",
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
LABEL_WIDTH = max(len(label) for label in STYLES)

FAILED = frozenset({"failed", "budget"})
"""The ends of a program that are failures."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the trace: a label of `STYLES` and its text."""

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
            label = "program" if event["number"] == 1 else f"program {event['number']}"
            yield Line(label if label in STYLES else "program", event["code"])
        case "program_failed":
            yield Line("failed", event["problem"])
        case "program_called":
            yield from _calls(event["calls"])
        case "program_waiting":
            yield Line("waits", f"until {datetime.fromtimestamp(event['until']).strftime('%H:%M:%S')}")
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
        case "turn_finished":
            yield Line("end", "")


def _calls(calls: "Sequence[ProgramCall]") -> Iterator[Line]:
    """Yield a line for each line of the program that made calls."""
    for (line, source), count in Counter((call["line"], call["source"]) for call in calls).items():
        # Code that `exec` makes has no line in the program.
        where = f"line {line}" if line else "no line of the program"
        yield Line("calls", f"{where}{f' ×{count}' if count > 1 else ''}: {source}".removesuffix(": "))


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
        self._report: list[Line] = []

    def show(self, event: "ProgressEvent") -> None:
        """Print the lines of one event; a recipe's program comes after its instruction.

        A report that ends the turn is its answer, which the command prints.
        """
        waiting, self._report = self._report, []
        for line in waiting if event["type"] != "turn_finished" else ():
            self.print(line)
        if event["type"] == "task_started":
            self._task = event["text"]
        elif event["type"] == "program_written" and event["writer"] == "recipe":
            self.print(Line("recipe", self._task))
        for line in lines_of(event):
            (self._report.append if line.label == "report" else self.print)(line)

    def print(self, line: Line) -> None:
        """Print one line: the label, then the text, indented and cut to `SHOWN` or `SHOWN_PROGRAM` characters."""
        from rich.table import Table
        from rich.text import Text

        style = STYLES[line.label]
        text = visible(line.text)
        if not text:
            self._console.print(Text(line.label, style=style))
            return
        most = SHOWN_PROGRAM if line.label.startswith("program") else SHOWN
        if len(text) > most:
            text = f"{text[:most]}…"
        if any(len(word) >= self._console.width - LABEL_WIDTH - 2 for word in text.split()):
            # A terminal wraps such a line itself, so that an address can be copied whole.
            head = Text(f"{line.label:<{LABEL_WIDTH}}  ", style=style)
            self._console.print(head.append(text, style="default"), soft_wrap=True)
            return
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=LABEL_WIDTH, no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row(Text(line.label, style=style), Text(text, style="dim" if line.label == "code" else ""))
        self._console.print(table)

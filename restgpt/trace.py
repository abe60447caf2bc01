"""The live trace of a run: prints each role's decision, each request and each result as a line on a terminal."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from restgpt.calling.record import UNSENT, Request
from restgpt.nodes.state.records import Program, Step, Usage
from restgpt.tools.sandbox.code import clean_code
from restgpt.tools.text.quotation import visible

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 700
"""The number of characters of a text that one line shows."""

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
}
LABEL_WIDTH = max(len(label) for label in STYLES)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the trace: a label of `STYLES` and its text."""

    label: str
    text: str


def lines_of(node: str, update: Mapping[str, Any], describe: Callable[[Request], str]) -> Iterator[Line]:
    """Yield the trace lines of one node's update; `describe` returns a request as method and redacted URL.

    The requests of the update are those that no line has shown yet.
    """
    if node == "planner":
        yield from _planned(update)
    elif node == "open":
        yield Line("recipe", str(update["instruction"]))
        yield from _written(update.get("program"))
    elif node == "selector":
        yield from _selected(update)
    elif node == "caller" and update.get("hint"):
        yield Line("missing", str(update["hint"]))
    elif node == "caller":
        yield from _written(update.get("program"))
        yield from (Line("missing", step["result"]) for step in update.get("steps", []))
    elif node == "approval":
        yield from _judged(update.get("requests", []), describe)
    elif node == "sender":
        yield from (_sent(request, describe) for request in update.get("requests", []))
    elif node == "parser":
        yield from _parsed(update.get("requests", []))
        yield from _called(update.get("requests", []), describe)
        yield from _advanced(update)


def _planned(update: Mapping[str, Any]) -> Iterator[Line]:
    decision = update.get("decision") or {}
    if decision.get("kind") in ("plan", "continue"):
        yield Line(decision["kind"], decision["text"])
    elif decision.get("kind") == "end":
        yield Line("end", "")


def _written(program: Program | None) -> Iterator[Line]:
    """Yield the line of a new program; a corrected one has its number in the label."""
    if program is not None:
        label = "program" if program["number"] == 1 else f"program {program['number']}"
        yield Line(label if label in STYLES else "program", program["code"])


def _called(requests: Sequence[Request], describe: Callable[[Request], str]) -> Iterator[Line]:
    """Yield the lines of a program's calls: first calls that the parser itself has carried out, then the next calls."""
    placed = [request for request in requests if "place" in request]
    for _, group in groupby((request for request in placed if _is_over(request)), _line_of):
        called = list(group)
        yield from _calls(called)
        yield from request_lines(called, describe)
    yield from _calls([request for request in placed if not _is_over(request)])


def _is_over(request: Request) -> bool:
    return request["status"] not in UNSENT


def _calls(requests: Sequence[Request]) -> Iterator[Line]:
    """Yield a line for each line of the program that made calls."""
    for (line, source), count in Counter(map(_line_of, requests)).items():
        # Code that `exec` makes has no line in the program.
        where = f"line {line}" if line else "no line of the program"
        yield Line("calls", f"{where}{f' ×{count}' if count > 1 else ''}: {source}".removesuffix(": "))


def _line_of(request: Request) -> tuple[int, str]:
    return request["place"]["line"], request["place"]["source"]


def _advanced(update: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the lines that show how a run of a program ended."""
    program: Program | None = update.get("program")
    if program is None:
        return
    if program["status"] == "failed":
        yield Line("failed", program["feedback"])
    for step in update.get("steps", ()):
        # The lines of the requests were told already; a report that is the answer needs nothing beside it.
        proposal = update.get("proposal") or {"text": update.get("answer")}
        yield Line("report", proposal["text"]) if proposal["text"] else _outcome(step)


def _outcome(step: Step) -> Line:
    """Return the line of a program's end: its report, or what went wrong."""
    is_failed = step.get("program", {}).get("end") in ("failed", "budget", "shifted")
    return Line("failed" if is_failed else "report", step["result"])


def _selected(update: Mapping[str, Any]) -> Iterator[Line]:
    if chosen := update.get("selection"):
        words, operations = "", chosen["operations"]
        for wish in chosen["looks"][-1:]:
            words, operations = f"{wish['words']}: ", [*wish.get("named", ()), *wish.get("operations", ())]
        yield Line("functions", f"{words}{', '.join(operations) or chosen['reason']}")
        return
    api_plan = update.get("api_plan") or {"calls": [], "reason": ""}
    for call in api_plan["calls"]:
        yield Line("api plan", f"{call['operation']}: {call['purpose']}")
    if not api_plan["calls"]:
        yield Line("api plan", f"no call needed: {api_plan['reason']}")


def _judged(requests: Sequence[Request], describe: Callable[[Request], str]) -> Iterator[Line]:
    for request in requests:
        if request["status"] in ("rejected", "held"):
            why = "dry run" if request["status"] == "held" else request["note"]
            yield Line("not sent", f"{describe(request)}{_place(request)} ({why})")


def _sent(request: Request, describe: Callable[[Request], str]) -> Line:
    if request["status"] != "sent":
        label = "not sent" if request["status"] == "rejected" else "failed"
        return Line(label, f"{describe(request)}{_place(request)} → {request['note']}")
    response = request["response"]
    facts = [str(response.get("status"))]
    if (elapsed := response.get("elapsed_ms")) is not None:
        facts.append(f"{elapsed:.0f} ms")
    if (size := response.get("size")) is not None:
        facts.append(size_text(size))
    if "outcome_unknown" in request:
        facts.append("may have been carried out")
    return Line("request", f"{describe(request)}{_place(request)} → {', '.join(facts)}")


def _place(request: Request) -> str:
    """Return the line of the program that made a request; empty for a request of an API plan."""
    return f" (line {request['place']['line']})" if "place" in request and request["place"]["line"] else ""


def _parsed(requests: Sequence[Request]) -> Iterator[Line]:
    for request in requests:
        # A program reads its responses itself, and prints what matters at its end.
        if request["status"] == "parsed" and "place" not in request:
            if request["code"]:
                yield Line("code", clean_code(request["code"]).strip())
            yield Line("result", request["result"])


def size_text(size: int) -> str:
    """Format a number of bytes in decimal units, such as `1.5 kB`."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def usage_text(usage: Usage) -> str:
    """Format the usage of a run in one line: model calls and tokens by role, requests, seconds."""
    spent = [
        f"{role} {_count(cost['calls'], 'call')} {cost['input_tokens']:,}+{cost['output_tokens']:,} tokens"
        for role, cost in usage["roles"].items()
    ]
    return ", ".join([*spent, _count(usage["requests"], "request"), f"{usage['seconds']:.1f} s"])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def step_lines(step: Step, describe: Callable[[Request], str]) -> Iterator[Line]:
    """Yield the trace lines of a finished step."""
    program = step.get("program")
    if step["kind"] != "program":
        yield Line(step["kind"], step["said"] or step["plan"])
        yield from _selected({"api_plan": step["api_plan"]})
        yield from _written(program)
    else:
        # Steps of earlier turns keep only the planner's words, which are the code.
        yield from _written(program) if program is not None else [Line("program", clean_code(step["said"]))]
    yield from request_lines(step["requests"], describe)
    if program is not None or step["kind"] == "program":
        yield _outcome(step)


def request_lines(requests: Sequence[Request], describe: Callable[[Request], str]) -> Iterator[Line]:
    """Yield the trace lines of requests that are over, in their order."""
    for request in requests:
        if request["status"] == "parsed":
            yield _sent({**request, "status": "sent"}, describe)
            yield from _parsed([request])
        else:
            yield from _judged([request], describe)
            if request["status"] == "failed":
                yield _sent(request, describe)


class Trace:
    """Prints trace lines on a console during a run; prints each request state once, though updates repeat requests.

    It prints no lines for `known`, the requests of the thread before the run.
    """

    def __init__(self, console: "Console", describe: Callable[[Request], str], known: Iterable[Request] = ()) -> None:
        self._console = console
        self._describe = describe
        self._seen: dict[str, set[str]] = {request["id"]: set() for request in known}

    def show(self, chunk: Mapping[str, Any]) -> None:
        """Print the lines of one chunk of LangGraph's stream mode `updates`."""
        for node, update in chunk.items():
            if isinstance(update, Mapping):
                for line in lines_of(node, self._unseen(node, update), self._describe):
                    self.print(line)

    def _unseen(self, node: str, update: Mapping[str, Any]) -> dict[str, Any]:
        requests = [item for item in update.get("requests", []) if not self._is_shown(node, item)]
        for item in requests:
            self._seen.setdefault(item["id"], set()).add(item["status"])
        return {**update, "requests": requests}

    def _is_shown(self, node: str, request: Request) -> bool:
        # A call that the parser has planned is shown again only by the updates of approval and sender.
        if node == "parser" and "place" in request:
            return request["id"] in self._seen
        return request["status"] in self._seen.get(request["id"], ())

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
            text = f"{text[:most]}… ({len(text) - most} more characters)"
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=LABEL_WIDTH, no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row(Text(line.label, style=style), Text(text, style="dim" if line.label == "code" else ""))
        self._console.print(table)

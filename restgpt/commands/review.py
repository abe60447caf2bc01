"""A permission that a person gives with an approval: which further requests it covers is shown before it is given.

Decisions on requests that wait for approval, given by options or by a person at the terminal.

A program that waits is listed: numbered lines, with marks at the lines whose calls wait. The code is foreign text: its
comments could imitate a question, so every line of a terminal begins with a mark.
"""

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.commands.pairs import Find, json_arguments, paired_arguments, pairs_of
from restgpt.commands.terminal import Terminal, UsageError
from restgpt.outcome import Pending
from restgpt.tools.text.quotation import named, one_line, quotation, section, wrapped

HINT = "Numbers of those that may vary, such as 1 3 (empty: none): "


def permit_wish(terminal: Terminal, action: Mapping[str, Any]) -> dict[str, Any] | None:
    """Ask which further requests a person permits with this one; None if the person does not."""
    offer = action["permit"]
    open_ends = list(offer["lines"])
    terminal.say(f"\nFurther requests of {named(action['name'])} go out unasked if they are the same,")
    if open_ends:
        terminal.say("but for what may vary:")
        terminal.say("\n".join(f"  {number}  {line}" for number, line in enumerate(offer["lines"].values(), 1)))
        numbers = {str(number): pointer for number, pointer in enumerate(open_ends, 1)}
        while set(chosen := terminal.ask(HINT).replace(",", " ").split()) - set(numbers):
            terminal.say(f"Give numbers from 1 to {len(open_ends)}.")
        free = [numbers[word] for word in dict.fromkeys(chosen)]
    else:
        terminal.say("in everything.")
        free = []
    times = _number(terminal, f"How many requests at most ({offer['times']}; b: go back)? ", offer["times"])
    hours = times and _number(terminal, f"For how many hours ({offer['hours']:g}; b: go back)? ", offer["hours"])
    if not hours:
        return None
    terminal.say(covered_text(offer, free))
    said = terminal.ask(f"Approve this one, and permit {times} such requests for {hours:g} hours? [y/N] ")
    return {"free": free, "times": times, "hours": hours} if said[:1].lower() == "y" else None


def covered_text(offer: Mapping[str, Any], free: Collection[str]) -> str:
    """Which of the other changes of the thread such a permission would have covered, as a text."""
    others, count = offer["others"], offer["of"]
    if not count:
        return "The thread has no other request of this operation to compare with."
    covered = [item for item in others if not item["outside"] and set(item["differs"]) <= set(free)]
    values = [json.dumps(list(item["differs"].values()), ensure_ascii=False) for item in covered]
    told = f", such as {', '.join(values[:3])}" if any(item["differs"] for item in covered) else ""
    return f"It would have covered {len(covered)} of the {count} other requests of this operation in the thread{told}."


def _number(terminal: Terminal, question: str, default: float) -> Any:
    while (said := terminal.ask(question)) not in ("", "b"):
        try:
            return int(said) if said.isdigit() else float(said)
        except ValueError:
            terminal.say(f"{said!r} is no number.")
    return None if said else default


Decision = dict[str, Any]

JSON = ("{", "[")
"""How an edit begins that is all arguments as JSON, not a pair."""

ONLY_READS = "it [o]nly reads: approve, and do not ask again"

ALL_LINES = 40
"""The number of lines up to which a program is listed in full."""

AROUND = 5
"""The number of lines shown before and after each mark of a longer program."""

MOST_LINES = 80
"""The maximum number of lines of a listing."""

WIDTH = 160
"""The number of characters of a line that a listing shows; of a marked one ten times as many."""

_NEW_LINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision that the options of `resume` give for all waiting actions; empty if no option is given."""

    approve: bool = False
    reject: str | None = None
    respond: str | None = None
    edit: Sequence[str] | None = None
    only_reads: bool = False

    @property
    def is_given(self) -> bool:
        """Whether the options give a decision; raises `UsageError` if they give several."""
        given = [self.approve, self.reject is not None, self.respond is not None, bool(self.edit)]
        if sum(given) > 1:
            raise UsageError("--approve, --reject, --respond and --edit exclude each other. Give one of them.")
        if self.only_reads and not self.approve:
            raise UsageError("--only-reads applies to approved requests only. Give --approve --only-reads.")
        return any(given)

    def answers(self, pending: Sequence[Pending], find: Find) -> dict[str, Any]:
        """Return the resume values by interrupt id; raises `UsageError` if an action does not allow the decision."""
        actions = [action for pause in pending for action in pause.actions]
        kind = self._kind()
        if not all(pause.allows(kind) for pause in pending):
            raise UsageError(f"The waiting requests do not allow --{kind}. Give --approve or --reject.")
        if self.only_reads and not any(map(confirmation, actions)):
            raise UsageError(
                "None of the waiting requests seems only to read, so --only-reads does not apply. Give --approve "
                "alone. If one does only read, say so under `effects` in apis.yaml."
            )
        return _answers(pending, self._decisions(actions, find))

    def _kind(self) -> str:
        given = {"edit": self.edit, "respond": self.respond is not None, "approve": self.approve, "reject": True}
        return next(kind for kind, is_given in given.items() if is_given)

    def _decisions(self, actions: Sequence[dict[str, Any]], find: Find) -> list[Decision]:
        if self.edit:
            edited = zip(actions, edited_arguments(self.edit, actions, find), strict=True)
            return [edit_decision(action, arguments) for action, arguments in edited]
        if self.approve:
            offered = [confirmation(action) if self.only_reads else None for action in actions]
            return [decision or {"type": "approve"} for decision in offered]
        message = self.respond if self.respond is not None else self.reject
        return [{"type": self._kind(), "message": message} for _ in actions]


def _answers(pending: Sequence[Pending], decisions: Iterable[Decision]) -> dict[str, Any]:
    """Return the resume values by interrupt id, of decisions in the order of the waiting actions."""
    left = iter(decisions)
    return {pause.id: {"decisions": [next(left) for _ in pause.actions]} for pause in pending}


def confirmation(action: Mapping[str, Any]) -> Decision | None:
    """Return the decision that approves an action and confirms that its operation only reads; None if not offered."""
    offered = action.get("effect")
    return dict(offered["confirm"]) if offered else None


def edit_decision(action: dict[str, Any], arguments: dict[str, Any]) -> Decision:
    """Return the decision that sends an action with edited arguments."""
    return {"type": "edit", "edited_action": {"name": action["name"], "args": arguments}}


def edited_arguments(texts: Sequence[str], actions: Sequence[Mapping[str, Any]], find: Find) -> list[dict[str, Any]]:
    """Parse the edited arguments of each waiting request: a JSON object for one, a list of objects for several.

    Pairs change some arguments of a single one.
    """
    wanted = len(actions)
    if wanted == 1 and not texts[0].startswith(JSON):
        return [paired_arguments(find(actions[0]["name"]), texts, actions[0]["args"])]
    value = json_arguments(texts[-1], "The edited arguments are")
    listed = value if isinstance(value, list) else [value]
    if len(listed) != wanted or not all(isinstance(item, dict) for item in listed):
        many = f"a list of {wanted} objects" if wanted > 1 else 'one object {"path": {…}, "query": {…}, "body": …}'
        raise UsageError(f"The edited arguments must be {many}.")
    return listed


def pending_text(pending: Sequence[Pending], known: Collection[str] = ()) -> str:
    """Return the programs and the descriptions of all waiting actions; each contains the exact request.

    Of a program that is `known`, because the trace above shows it, only the lines that wait.
    """
    count, number = _count(pending), 0
    parts: list[str] = []
    for pause in pending:
        parts += [] if pause.program is None else [listing(pause.program, known)]
        for action in pause.actions:
            number += 1
            parts.append(f"{_heading(number, count)}{_description(action)}")
    return "\n\n".join(parts)


def _count(pending: Sequence[Pending]) -> int:
    return sum(len(pause.actions) for pause in pending)


def _heading(number: int, count: int) -> str:
    """The number of a waiting request, by which `restgpt threads ID --request N` prints it; empty for a single one."""
    return f"Request {number} of {count}.\n\n" if count > 1 else ""


def _description(action: Mapping[str, Any]) -> str:
    return str(action.get("description") or quotation(str(action["name"])))


def ask_person(terminal: Terminal, pending: Sequence[Pending], find: Find) -> dict[str, Any] | None:
    """Ask the person about each waiting action; returns None if the run is to stay paused.

    Several are shown first, all of them, and can then be approved together.
    """
    waiting = [(pause, action) for pause in pending for action in pause.actions]
    shown = [f"{_heading(number, len(waiting))}{_description(item[1])}" for number, item in enumerate(waiting, 1)]
    if len(waiting) > 1:
        terminal.say("\nApproval is needed.\n\n" + "\n\n".join(shown) + "\n")
        said = terminal.ask(f"Approve [a]ll {len(waiting)}, decide [o]ne by one, or leave them for [l]ater? ").lower()
        if said[:1] == "a":
            return _answers(pending, [{"type": "approve"} for _ in waiting])
        if said[:1] != "o":
            return None
    decisions: list[Decision] = []
    for (pause, action), text in zip(waiting, shown, strict=True):
        terminal.say(f"\nApproval is needed.\n\n{text}\n")
        if (decision := _ask_about(terminal, pause, action, find)) is None:
            return None
        decisions.append(decision)
    return _answers(pending, decisions)


LETTERS = {"a": "approve", "e": "edit", "r": "reject", "w": "respond"}
LABELS = {"approve": "[a]pprove", "edit": "[e]dit", "reject": "[r]eject", "respond": "ans[w]er"}
MEANINGS = {
    "approve": "a  send exactly this request, once",
    "edit": "e  change its arguments, then send it",
    "reject": "r  do not send it, with a reason, which an agent reads",
    "respond": "w  do not send it; an agent reads your answer instead",
}
"""What each decision does, for a person who asks."""

VIEW_MEANS = "v  show headers, the program, and where each value comes from"
NEXT_TOO = "the [n]ext ones too"
NEXT_MEANS = "n  send it, and others that look like it: which ones is asked and shown first"


def _ask_about(terminal: Terminal, pause: Pending, action: dict[str, Any], find: Find) -> Decision | None:
    allowed = pause.allowed.get(action["name"], ["approve", "reject"])
    offered = {key: kind for key, kind in LETTERS.items() if kind in allowed}
    confirmed = confirmation(action)
    named = [
        *(LABELS[kind] for kind in offered.values()),
        *([NEXT_TOO] if "permit" in action else []),
        *([ONLY_READS] if confirmed else []),
    ]
    hidden = _everything(pause, action)
    question = f"{', '.join(named)}, {'[v]iew all, ' if hidden else ''}[?], or leave it for [l]ater? "
    while True:
        said = terminal.ask(question).lower()[:1]
        if said == "o" and confirmed:
            return confirmed
        if said in ("", "l"):
            return None
        if said == "n" and "permit" in action:
            if (wish := permit_wish(terminal, action)) is not None:
                return {"type": "approve", "permit": wish}
            continue
        if said == "v" and hidden:
            terminal.say(f"\n{hidden}\n")
        elif said == "?":
            rest = ["l  decide later: nothing is sent"]
            more = [*([NEXT_MEANS] if "permit" in action else []), *([VIEW_MEANS] if hidden else [])]
            terminal.say("\n".join([*(MEANINGS[kind] for kind in offered.values()), *more, *rest]))
        elif said not in offered:
            terminal.say(f"{said} is none of these keys; ? explains them.")
        elif decision := _decision(terminal, action, offered[said], find):
            return decision


def _everything(pause: Pending, action: Mapping[str, Any]) -> str:
    """What a question leaves out: its details, and the program with the lines that wait."""
    program = [] if pause.program is None else [listing(pause.program)]
    return "\n\n".join([str(action.get("details", "")), *program]).strip()


def _decision(terminal: Terminal, action: dict[str, Any], kind: str, find: Find) -> Decision | None:
    """Return the decision of a kind, with its message or arguments; None to ask again."""
    if kind == "approve":
        return {"type": "approve"}
    if kind == "edit":
        return _edited(terminal, action, find)
    return {"type": kind, "message": terminal.ask("Why? " if kind == "reject" else "Answer: ")}


def _edited(terminal: Terminal, action: dict[str, Any], find: Find) -> Decision | None:
    """Return the decision with arguments from the person's editor, without one from a line of pairs or JSON."""
    import yaml

    try:
        if terminal.editor:
            text = terminal.edit(f"{EDIT_HINT}{yaml.safe_dump(action['args'], sort_keys=False, allow_unicode=True)}")
            return edit_decision(action, yaml_arguments(text)) if text else None
        terminal.say(section("The arguments are:", "\n".join(pairs_of(action)), most=None))
        text = terminal.ask("Change these (name=text or name:=JSON, or all as JSON; empty: go back): ")
        texts = [text] if text.startswith(JSON) else shlex.split(text)
        return edit_decision(action, edited_arguments(texts, [action], find)[0]) if texts else None
    except (UsageError, ValueError) as error:
        terminal.say(str(error))
        return None


EDIT_HINT = "# The arguments by place. Saved, they are sent instead; left as they are, nothing is decided.\n"


def yaml_arguments(text: str) -> dict[str, Any]:
    """Parse edited arguments in YAML; raises `UsageError` unless they are an object."""
    from restgpt.specs.problem import SpecError
    from restgpt.specs.reading.json_text import json_bytes

    try:
        found = json_arguments(json_bytes(text.encode()).decode(), "The edited arguments are")
    except SpecError as error:
        raise UsageError(f"The edited arguments are not YAML: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("The edited arguments must be one object by place, such as `body: {name: Moss}`.")
    return found


def listing(program: Mapping[str, Any], known: Collection[str] = ()) -> str:
    """Return the `program` of an approval's payload as text; of a long one the lines around the marks.

    Of a program whose code is `known` to the reader, only the marked lines.
    """
    lines = _NEW_LINE.split(str(program.get("code", "")))
    marks = {call["line"] for call in program.get("calls", ()) if 0 < call["line"] <= len(lines)}
    shown = sorted(marks) if marks and program.get("code") in known else _shown(len(lines), marks)
    return "\n".join([_waiting_at(marks), *_listed(lines, shown, marks)])


def _waiting_at(marks: Iterable[int]) -> str:
    numbers = [str(number) for number in sorted(marks)]
    if not numbers:
        return "The program that makes these calls:"
    places = f"line {numbers[0]}" if len(numbers) == 1 else f"lines {', '.join(numbers[:-1])} and {numbers[-1]}"
    return f"The program waits at {places}:"


def _shown(count: int, marks: Iterable[int]) -> list[int]:
    """Return the numbers of the lines to show: all of a short program, else those around the marks."""
    if count <= ALL_LINES:
        return list(range(1, count + 1))
    near = {number for mark in marks for number in range(mark - AROUND, mark + AROUND + 1) if 0 < number <= count}
    kept = sorted(near or range(1, ALL_LINES + 1))
    if len(kept) <= MOST_LINES:
        return kept
    # With many marks, the marked lines themselves come first.
    return sorted(sorted(kept, key=lambda number: (number not in marks, number))[:MOST_LINES])


def _listed(lines: list[str], shown: list[int], marks: Iterable[int]) -> Iterator[str]:
    before = 0
    for number in shown:
        if number > before + 1:
            yield _left_out(number - before - 1)
        arrow, line = "→" if number in marks else " ", one_line(lines[number - 1])
        first, *rest = wrapped(_cut(line, most=WIDTH * 10 if number in marks else WIDTH))
        yield f"{arrow}{number:>4} │ {first}".rstrip(" ")
        yield from (f"      ┆ {piece}" for piece in rest)
        before = number
    if before < len(lines):
        yield _left_out(len(lines) - before)


def _left_out(count: int) -> str:
    return f"      ⋮ {count} more {'line' if count == 1 else 'lines'}"


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[:most]}… ({len(line) - most} more characters)"

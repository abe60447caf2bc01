"""A permission that a person gives with an approval: which further requests it covers is shown before it is given."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from restgpt.commands.screen.terminal import Terminal

HINT = "Numbers of those that may vary, such as 1 3 (empty: none): "


def permit_wish(terminal: Terminal, action: Mapping[str, Any]) -> dict[str, Any] | None:
    """Ask which further requests a person permits with this one; None if the person does not."""
    from restgpt.tools.text.quotation import named

    offer = action["permit"]
    open_ends = list(offer["free"])
    terminal.say(f"\nFurther requests of {named(action['name'])} go out unasked if they have the same arguments, and")
    if open_ends:
        terminal.say("if each is the same, but for what may vary:")
        terminal.say("\n".join(f"  {number}  {line}" for number, line in enumerate(offer["lines"], 1)))
        said = terminal.ask(HINT).replace(",", " ").split()
        if any(not word.isdigit() or not 1 <= int(word) <= len(open_ends) for word in said):
            terminal.say(f"Give numbers from 1 to {len(open_ends)}.")
            return None
        free = [open_ends[int(word) - 1] for word in dict.fromkeys(said)]
    else:
        terminal.say("if each is the same. Nothing of this one may vary.")
        free = []
    times = _number(terminal, f"How many requests at most ({offer['times']})? ", offer["times"])
    hours = _number(terminal, f"For how many hours ({offer['hours']:g})? ", offer["hours"])
    if times is None or hours is None:
        return None
    terminal.say(covered_text(offer, free))
    if (
        terminal.ask(f"Approve this one, and permit {times} such requests for {hours:g} hours? [y/N] ").lower()[:1]
        != "y"
    ):
        return None
    return {"free": free, "times": times, "hours": hours}


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
    said = terminal.ask(question)
    try:
        return json.loads(said) if said else default
    except ValueError:
        terminal.say(f"{said!r} is no number.")
        return None

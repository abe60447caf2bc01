"""The short prompts of a model that is lost in long ones: the instruction, the next call, and the newest results."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from langchain_core.messages import HumanMessage

from restgpt.nodes.dialogue.conversation import ConversationState, earlier_text
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import Step
from restgpt.nodes.state.results import NOTHING_YET
from restgpt.prompts import fenced, render
from restgpt.specs.search.stemmer import STOP_STEMS, stems

ROOM = 2000
"""The maximum number of characters of the results in a short prompt; the newest are kept."""

NUMBER, WORD, NAME = re.compile(r"\d+(?:[.,]\d+)*"), re.compile(r"\w+"), re.compile(r"\b[^\W\d_a-z]\w+")

NEAR = 0.8
"""How much alike a name of an answer and one of the results are that is written wrong, from 0 to 1."""

CONVERSATION = 1000
"""The maximum number of characters of earlier conversation in it."""


def brief_turn(run: Run, state: ConversationState, task: str, *more: str) -> HumanMessage:
    """Return the message with the instruction, the sub-task `task` where it says something else, and the results.

    `more` follows them.
    """
    results = "\n".join(step["result"] for step in state["steps"] if step["requests"])
    shown = fenced("result", results[-ROOM:]) if results else NOTHING_YET
    text = render(
        "brief_turn",
        today=run.today(),
        conversation=earlier_text(state["messages"], state["instruction"], CONVERSATION),
        instruction=state["instruction"],
        task="" if task == state["instruction"] else f"Next: {task}\n",
        results=shown,
    )
    return HumanMessage("\n\n".join(filter(None, [text.strip(), *more])))


def made_up(answer: str, state: ConversationState, steps: Sequence[Step]) -> str:
    """Return what an answer from `steps` has made up: a number, a name that is nearly one of the results, or all of it.

    It is empty for a founded answer; after a change, that needs no word of the results.
    """
    found = "\n".join(step["result"] for step in steps)
    known = f"{state['instruction']}\n{found}"
    numbers = set(NUMBER.findall(answer)) - set(NUMBER.findall(known))
    if numbers:
        return ", ".join(sorted(numbers))
    words = set(WORD.findall(known))
    for name in NAME.findall(answer):
        if name not in words and (near := get_close_matches(name, words, 1, NEAR)):
            return f"{name} (but {near[0]})"
    new = set(stems(answer)) - STOP_STEMS - set(stems(state["instruction"]))
    changed = any(not request["safe"] for step in steps for request in step["requests"])
    return answer[:100] if new and not (changed or new & set(stems(found))) else ""

"""The short prompts of a model that is lost in long ones: the instruction, the next call, and the newest results."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from langchain_core.messages import HumanMessage

from restgpt.calling.record import succeeded
from restgpt.nodes.dialogue.conversation import ConversationState, earlier_text
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import Decision, Step
from restgpt.nodes.state.results import NOTHING_YET
from restgpt.prompts import fenced, render
from restgpt.specs import Operation
from restgpt.specs.reading.tree import values_in
from restgpt.specs.search.stemmer import STOP_STEMS, stems

CHANGING = {
    "POST": frozenset(stems("add create make new post insert write send upload register start book order")),
    "DELETE": frozenset(stems("delete remove cancel drop clear erase")),
}
UPDATING = frozenset(stems("update change set edit rename move mark assign replace modify put"))
"""The words for changes, by method; `UPDATING` those of all other methods."""

ASKING = re.compile(
    r"\s*(?:who|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|has|have|show|list|find|get|name|tell|"
    r"count|give|search|look|display|print|read|check)\b",
    re.IGNORECASE,
)
"""The words with which an instruction begins that asks for something."""

ROOM = 2000
"""The maximum number of characters of the results in a short prompt; the newest are kept."""

NUMBER, WORD, NAME = re.compile(r"\d+(?:[.,]\d+)*"), re.compile(r"\w+"), re.compile(r"\b[^\W\d_a-z]\w+")

SHORTEST_NAME = 3
"""The least characters of a text by which the user may have named a thing."""

NEAR = 0.8
"""How much alike a name of an answer and one of the results are that is written wrong, from 0 to 1."""

CONVERSATION = 1000
"""The maximum number of characters of earlier conversation in it."""


class BriefState(ConversationState):
    """The state keys that a choice of operations reads."""

    decision: Decision


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
    changed = any(not request["safe"] for step in steps for request in step["requests"])
    if not changed and _is_order(state["instruction"]):
        return "what was to be changed"
    # A number of the instruction stands in the arguments of a call that went by it.
    numbers = set(NUMBER.findall(answer)) - set(NUMBER.findall(found))
    if numbers:
        return ", ".join(sorted(numbers))
    words = set(WORD.findall(f"{state['instruction']}\n{found}"))
    for name in NAME.findall(answer):
        if name not in words and (near := get_close_matches(name, words, 1, NEAR)):
            return f"{name} (but {near[0]})"
    new = _words(answer) - set(stems(state["instruction"]))
    return answer[:100] if new and not (changed or new & set(stems(found))) else ""


def leaves(value: Any) -> list[Any]:
    """Return the plain values in arguments, without truths and nothings."""
    return [one for one in values_in(value) if isinstance(one, str | int | float) and not isinstance(one, bool)]


def is_named(value: Any, words: str) -> bool:
    """Return whether a value stands in other words as a whole, in any case."""
    return re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", words, re.IGNORECASE) is not None


def is_spoken_of(value: Any, words: str) -> bool:
    """Return whether a value stands in other words, or a text has one of them."""
    is_text = isinstance(value, str) and not value.isdecimal()
    return is_named(value, words) or (is_text and bool(_words(value) & _words(words)))


def _words(text: str) -> set[str]:
    return set(stems(text)) - STOP_STEMS


def is_beside(value: Any, words: str, answer: Any) -> bool:
    """Return whether an object in an answer has a value, and beside it a text that stands in `words`."""
    if isinstance(answer, list):
        return any(is_beside(value, words, item) for item in answer)
    if not isinstance(answer, dict):
        return False
    texts = [text for text in answer.values() if isinstance(text, str) and len(text) >= SHORTEST_NAME]
    found = any(str(one) == str(value) for one in answer.values()) and any(
        text.casefold() in words.casefold() for text in texts
    )
    return found or any(is_beside(value, words, item) for item in answer.values())


def not_for(run: Run, state: BriefState, steps: Sequence[Step]) -> list[Operation]:
    """Return the operations that a small model may not choose: changes that the user does not ask for, by the words.

    After an answer that no result holds, they are those too whose results are there.
    """
    asked = _changes_for(run, state["instruction"])
    again = state["decision"]["kind"] == "continue" and state["decision"]["text"] == state["instruction"]
    called = {request["operation"] for step in steps for request in step["requests"] if again and succeeded(request)}
    return [
        operation
        for operation in run.catalogue
        if run.catalogue.name_of(operation) in called
        or not (run.rules.effect(operation).is_read or any(one is operation for one in asked))
    ]


def _changes_for(run: Run, instruction: str) -> list[Operation]:
    """Return the operations whose names or summaries begin with a word of an instruction.

    Else those whose method has a word of it, else all, unless it is a question.
    """
    asked = set(stems(instruction))
    changing = [operation for operation in run.catalogue if not run.rules.effect(operation).is_read]
    for words_of in (_own_words, lambda operation: CHANGING.get(operation.method, UPDATING)):
        if found := [operation for operation in changing if asked & set(words_of(operation))]:
            return found
    return [] if ASKING.match(instruction) or instruction.rstrip().endswith(("?", "\uff1f")) else changing


def _is_order(instruction: str) -> bool:
    """Return whether an instruction begins with a word for a change."""
    return bool(set(stems(instruction)[:1]) & frozenset().union(UPDATING, *CHANGING.values()))


def _own_words(operation: Operation) -> list[str]:
    return [word for text in (operation.name, operation.summary or "") for word in stems(text)[:1]]

"""The short prompts of a model that is lost in long ones: the instruction, the next call, and the newest results."""

from langchain_core.messages import HumanMessage

from restgpt.nodes.dialogue.conversation import ConversationState, earlier_text
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.results import NOTHING_YET
from restgpt.prompts import fenced, render

ROOM = 2000
"""The maximum number of characters of the results in a short prompt; the newest are kept."""

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

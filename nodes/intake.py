"""Intake: opens a turn. It reads the instruction from the conversation or its own key, and sets the counters."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import uuid4

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from restgpt.nodes.state.recipe_run import GivenRecipe, begun, instruction_of
from restgpt.nodes.state.records import FORMAT, RecipeRun, Usage, no_usage
from restgpt.nodes.state.text import Given
from restgpt.tools.errors import StoppingError


class EmptyInstructionError(StoppingError):
    """The input has no instruction."""

    def __init__(self) -> None:
        super().__init__('The input has no instruction. Give {"messages": [("user", "…")]} or {"instruction": "…"}.')


class IntakeState(TypedDict, total=False):
    """The state keys that intake reads; most are missing on the first turn."""

    messages: list[AnyMessage]
    instruction: str
    asked: str
    turn: int
    round: int
    usage: Usage
    recipe: RecipeRun | None


def intake(state: IntakeState) -> dict[str, Any]:
    """Open the turn. A new human message is the instruction; without one, `instruction` becomes a message.

    A message or instruction that an earlier turn has read is not new, even if that turn failed without an answer:
    a second turn with it could make the same changes twice. A recipe without an instruction of its own makes one.
    """
    turn = state.get("turn", 0) + 1
    named = state.get("recipe")
    recipe = begun(cast(RecipeRun, named), turn) if isinstance(named, GivenRecipe) else None
    message = _new_message(state.get("messages", []), taken=state.get("asked", ""))
    left = state.get("instruction")
    given = str(message.text) if message else left if isinstance(left, Given) else ""
    instruction = given.strip() or (instruction_of(recipe) if recipe else "")
    if not instruction:
        raise EmptyInstructionError()
    # A dict, because LangGraph's stream mode `messages` would show a new message object beside the answer.
    added = [] if message else [{"type": "human", "content": instruction, "id": uuid4().hex}]
    asked = message.id if message else added[0]["id"]
    return {**opened_turn(state, instruction=instruction), "messages": added, "asked": asked, "recipe": recipe}


def opened_turn(state: IntakeState, *, instruction: str = "") -> dict[str, Any]:
    """Return the update that opens the next turn; without an instruction nothing in it counts as the user's words."""
    return {
        "format": FORMAT,
        "messages": [],
        "asked": "",
        "instruction": instruction,
        "turn": state.get("turn", 0) + 1,
        "task": 0,
        "round": state.get("round", 0),
        "plan": "",
        "decision": {"kind": "plan", "text": ""},
        "selection": None,
        "api_plan": {"calls": [], "reason": ""},
        "hint": "",
        "road": "",
        "program": None,
        "proposal": None,
        "recipe": None,
        "requests": [],
        "steps": [],
        "answer": "",
        "usage": no_usage(),
        "baseline": state.get("usage") or no_usage(),
    }


def _new_message(messages: Sequence[AnyMessage], *, taken: str) -> AnyMessage | None:
    """Return the last message if it is a human message that no turn has read yet."""
    if not messages or messages[-1].type != "human" or messages[-1].id == taken:
        return None
    return messages[-1]

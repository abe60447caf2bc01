"""Intake: opens a turn. It reads the instruction from the conversation or its own key, and sets the counters."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, cast
from uuid import uuid4

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig

from restgpt.nodes.dialogue.conversation import answered_by, unread
from restgpt.nodes.run.run import CLAIM
from restgpt.nodes.state.recipe_run import GivenRecipe, begun, instruction_of
from restgpt.nodes.state.records import FORMAT, Given, RecipeRun, no_usage, placed_id
from restgpt.nodes.state.state import State
from restgpt.tools.errors import StoppingError


class EmptyInstructionError(StoppingError):
    """The input has no instruction."""

    def __init__(self) -> None:
        super().__init__(
            'The input has no instruction. Give {"messages": [("user", "…")]} or {"instruction": "…"}. A message that '
            "this agent has read already is none."
        )


class UnreadablePartError(StoppingError):
    """The message with the instruction is a part alone that is no text, which no role of the agent reads."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"The message is a part of the type {kind!r}, and RestGPT reads text only. Say in words what it shows. "
            "Nothing was sent."
        )


def intake(state: State, config: RunnableConfig, agent: str = "") -> dict[str, Any]:
    """Open the turn. A given `instruction` goes first; without one, the newest new human message is the instruction.

    A message or instruction that an earlier turn has read is not new, even if that turn failed without an answer:
    a second turn with it could make the same changes twice. Nor is one that an answer of this `agent` names, in a graph
    around it that keeps its messages, but not its state. What other agents said since is part of the conversation. A
    recipe without an instruction of its own makes one. Raises `EmptyInstructionError` and `UnreadablePartError`.
    """
    turn = state.get("turn", 0) + 1
    named = state.get("recipe")
    recipe = begun(cast(RecipeRun, named), turn) if isinstance(named, GivenRecipe) else None
    left = state.get("instruction")
    named_text = left.strip() if isinstance(left, Given) else ""
    messages = state.get("messages", [])
    message = _new_message(messages, taken=state.get("asked", ""), agent=agent)
    if message is not None and named_text and str(message.text).strip() != named_text:
        message = None
    given = named_text or (_text_of(message) if message is not None else "")
    instruction = given.strip() or (instruction_of(recipe) if recipe else "")
    if not instruction:
        raise EmptyInstructionError()
    place = messages.index(message) if message else len(messages)
    placed = placed_id(place, "human", message.content if message else instruction)
    key = str(message.id) if message else placed
    # A dict, because LangGraph's stream mode `messages` would show a new message object beside the answer.
    added = [] if message else [{"type": "human", "content": instruction, "id": uuid4().hex}]
    opened = opened_turn(state, config, instruction=instruction, key=key, is_placed=key == placed)
    return {**opened, "messages": added, "asked": key if message else added[0]["id"], "recipe": recipe}


def _turn_id(config: RunnableConfig, key: str, *, is_placed: bool) -> str:
    """Return the id of a turn: that of its thread and message, so that a replay or a fork of it finds its changes.

    Without checkpoints no turn is replayed. In a graph around this one, each run begins with the first message, so an
    id that is of its place and text only tells no turns apart. Such a turn gets an id that no other one has.
    """
    configured = config.get("configurable", {})
    is_inside = "|" in str(configured.get("checkpoint_ns", ""))
    if CLAIM not in configured or (is_placed and is_inside):
        return uuid4().hex
    return sha256(f"{configured.get('thread_id')} {key}".encode("utf-8", "replace")).hexdigest()[:32]


def opened_turn(
    state: State, config: RunnableConfig, *, instruction: str = "", key: str = "", is_placed: bool = True
) -> dict[str, Any]:
    """Return the update that opens the next turn; without an instruction nothing in it counts as the user's words.

    `key` tells the turn from others of the thread: it is the id of its message, or `is_placed`, made of place and text.
    """
    turn = state.get("turn", 0) + 1
    return {
        "format": FORMAT,
        "messages": [],
        "asked": "",
        "turn_id": _turn_id(config, key or f"turn {turn}", is_placed=is_placed),
        "instruction": instruction,
        "turn": turn,
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


def _new_message(messages: Sequence[AnyMessage], *, taken: str, agent: str) -> AnyMessage | None:
    """Return the newest human message if no turn has read it yet, and no answer of the agent names it."""
    newest = next((message for message in reversed(messages) if message.type == "human"), None)
    if newest is None or newest.id == taken:
        return None
    is_answered = any(answered_by(message) == (agent, newest.id) for message in messages)
    return None if is_answered else newest


def _text_of(message: AnyMessage) -> str:
    text = str(message.text)
    if not text.strip() and (kinds := unread(message)):
        raise UnreadablePartError(kinds[0])
    return text

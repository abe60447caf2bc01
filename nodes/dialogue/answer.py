"""The end of a turn: the answer, the list of held requests of a dry run, and the doubt about an invented answer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NotRequired, Protocol

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from restgpt.calling.record import Request, succeeded
from restgpt.nodes.dialogue.conversation import answer_message, told_apis
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import Decision, Proposal, Step
from restgpt.nodes.state.results import told_results
from restgpt.specs.search.stemmer import STOP_STEMS, stems

MAX_NAMED = 3
"""How many functions the doubt about an answer names."""


class Told(TypedDict):
    """The state keys that may have told something of an answer."""

    messages: list[AnyMessage]
    steps: list[Step]


class Answering(Told):
    """The state keys of an answer; `asked` is the id of the message that it answers."""

    asked: NotRequired[str]


class Asking(Told):
    """The state keys that say what was asked, and what may have been told before."""

    instruction: str


class DoubtedReply(Protocol):
    """The part of a planner's reply that a doubt is about."""

    @property
    def decision(self) -> str:
        """What the planner decided."""

    @property
    def text(self) -> str:
        """The answer, if it decided to end."""

    @property
    def fulfilled(self) -> bool | None:
        """Whether it says that all was done or found; None if it says nothing about that."""


def rests_on_nothing(state: Told, steps: Sequence[Step]) -> bool:
    """Return whether no call was made in this turn and none was answered in an earlier one."""
    return not (told_apis(state["messages"]) or any(step["requests"] for step in steps))


def is_invented(state: Told, steps: Sequence[Step]) -> bool:
    """Return whether an answer can rest only on the report of a program that called nothing."""
    reports = [step for step in steps if "program" in step and step["program"].get("end") == "report"]
    return bool(reports) and rests_on_nothing(state, steps)


def is_fulfilled(run: Run, state: Asking, steps: Sequence[Step], reply: DoubtedReply) -> bool:
    """Return whether the instruction was carried out: as the reply says, or if it says nothing, if a call succeeded.

    A reply that says so without an answer of an API is believed only of an instruction that asks for nothing of an API.
    """
    made = [request for step in steps for request in step["requests"]]
    if reply.fulfilled is None:
        return is_any_done(made)
    return reply.fulfilled and may_be_fulfilled(run, state, made)


def is_any_done(requests: Iterable[Request]) -> bool:
    """Return whether a call succeeded, or would have been sent but for a dry run."""
    return any(succeeded(request) or request["status"] == "held" for request in requests)


def may_be_fulfilled(run: Run, state: Asking, requests: Iterable[Request]) -> bool:
    """Return whether a turn with these `requests` can have carried out its instruction.

    It can if a call succeeded, if an earlier answer of the thread may hold what is asked for, or if the instruction
    asks for nothing of an API, such as a greeting: it has no number, and no word of a function.
    """
    if is_any_done(requests) or told_apis(state["messages"]):
        return True
    asked = set(stems(state["instruction"])) - STOP_STEMS
    functions = run.catalogue.search(state["instruction"], MAX_NAMED)
    known = {stem for operation in functions for stem in stems(run.catalogue.line(operation))}
    return not (asked & known or any(word.isdecimal() for word in asked))


def doubt(run: Run, state: Asking, steps: Sequence[Step]) -> Callable[[DoubtedReply], None] | None:
    """Return a check that asks once more about an answer that does not say it is unfulfilled, if nothing was called.

    It is for `ask`: it raises `ValueError` with the functions that the instruction names. A refusal, a question back,
    an echo of the instruction, and a reply without numbers where no function fits the instruction pass, unless a
    program reported an answer without a call. None if results of this or an earlier turn may hold the answer.
    """
    invented = is_invented(state, steps)
    if not invented and (steps or told_apis(state["messages"])):
        return None
    doubted: list[DoubtedReply] = []

    def check(reply: DoubtedReply) -> None:
        if doubted or reply.decision != "end" or reply.fulfilled is False or reply.text.rstrip().endswith(("?", "？")):
            return
        told, asked = (set(stems(text)) - STOP_STEMS for text in (reply.text, state["instruction"]))
        names = [run.catalogue.function_name(item) for item in run.catalogue.search(state["instruction"], MAX_NAMED)]
        new = told - asked
        if not (invented or (new and names) or any(word.isdecimal() for word in new)):
            return
        doubted.append(reply)
        such = f", such as {', '.join(names)}" if names else ""
        raise ValueError(
            "It says that the instruction is fulfilled, but nothing was called yet. If the answer depends on what the "
            f"API holds, or something is to be changed, decide to call functions{such}. If nothing has to be called, "
            "give the same answer again; if it cannot be done, say so with `fulfilled` false."
        )

    return check


def ended(
    run: Run, state: Answering, steps: Sequence[Step], answer: str, *, fulfilled: bool, remark: str = ""
) -> dict[str, Any]:
    """Return the update that ends the turn with an answer; `remark` follows the list of held requests.

    `steps` are those of the turn, of which `state` may lack the last one.
    """
    text = f"{answer}{_held(run, steps)}{remark}".strip()
    decision: Decision = {"kind": "end", "text": text, "fulfilled": fulfilled}
    by = (run.agent, state.get("asked", ""))
    message = run.answer.finished(answer_message([*state["steps"], *steps], state["messages"], text, by))
    ended = {"decision": decision, "answer": text, "messages": [message]}
    return {**ended, "hint": "", "proposal": None, "usage": run.usage()}


def proposed_end(run: Run, state: Answering, steps: Sequence[Step], proposal: Proposal) -> dict[str, Any]:
    """Return the update that ends the turn with the answer that caller or parser propose."""
    if shown := proposal.get("shown"):
        run.answer.resume(shown[0], proposal["text"][: shown[1]])
    fulfilled, remark = proposal.get("fulfilled", False), proposal.get("remark", "")
    return ended(run, state, steps, proposal["text"], fulfilled=fulfilled, remark=remark)


def used_up_text(budget: str, steps: Sequence[Step]) -> str:
    """Return the answer of a turn whose `budget` is used up: what was found until then."""
    return found_text(f"The budget for this instruction is used up ({budget}), so it could not be finished.", steps)


def found_text(reason: str, steps: Sequence[Step]) -> str:
    """Return the answer of a turn that ends for a reason: what was found until then."""
    found = told_results(steps)
    return f"{reason} What was found until then:\n{found}" if found else f"{reason} Nothing was found until then."


def _held(run: Run, steps: Sequence[Step]) -> str:
    """Return the list of held requests for the answer of a dry run."""
    if run.context.writes != "dry-run":
        return ""
    held = [request for step in steps for request in step["requests"] if request["status"] == "held"]
    if not held:
        return "\n\nDry run: no request that changes something was needed."
    lines = [f"{number}. {request['note']}" for number, request in enumerate(held, 1)]
    return "\n\nDry run: nothing was changed. These requests would have been sent:\n" + "\n".join(lines)

"""The road of a model that is lost in long prompts: for each role a short prompt and one decision at a time.

Such a model repeats what it invented, so each reply is held against the words of the user and of the results: ids and
texts of a change are the user's, and so are the numbers and names of an answer those of the results.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, Self

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field, model_validator

from restgpt.calling.record import Request, succeeded
from restgpt.nodes.arguments import documented, giver_of, refusals
from restgpt.nodes.dialogue.conversation import UNFOUNDED, ConversationState, earlier_text, responses, said
from restgpt.nodes.dialogue.selection import Listing, without
from restgpt.nodes.run.run import Run
from restgpt.nodes.single_call import single_operation
from restgpt.nodes.state.records import ApiPlan, PlannedCall, Step
from restgpt.nodes.state.results import NOTHING_YET, result_of
from restgpt.nodes.state.rounds import RoundState, latest, of_turn
from restgpt.prompts import fenced, render
from restgpt.specs import Operation
from restgpt.specs.docs.arguments_schema import arguments_schema
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.words.keyword import GROUPS
from restgpt.specs.docs.words.plain_text import plain_text
from restgpt.specs.reading.tree import values_in
from restgpt.specs.search.query import asked_methods, seeks_change
from restgpt.specs.search.stemmer import STOP_STEMS, stems
from restgpt.tools.model.reply import written_calls
from restgpt.tools.response.columns import columns
from restgpt.tools.response.content import Body

MADE_UP = "stands in no result"
"""The words of a refusal of an answer that was made up."""

ALREADY = "It was called already, with the same arguments."
"""Why a call is not made."""

ROOM = 2000
"""The maximum number of characters of the results in a prompt; the newest are kept."""

CONVERSATION = 1000
"""The maximum number of characters of earlier conversation in it."""

ABOUT = 200
"""The maximum number of characters of an operation's description above its answer."""

NUMBER, WORD, NAME = re.compile(r"\d+(?:[.,]\d+)*"), re.compile(r"\w+"), re.compile(r"\b[^\W\d_a-z]\w+")

SHORTEST_NAME = 3
"""The least characters of a text by which the user may have named a thing."""

NEAR = 0.8
"""How much alike a name of an answer and one of the results are that is written wrong, from 0 to 1."""

PLACES = {*GROUPS.values(), "body"}


class BriefState(RoundState, ConversationState):
    """The state keys that the roles of this road read."""

    hint: str


class BriefReply(BaseModel):
    """The decision of the planner, which says first what it knows: a small model goes by its first words."""

    text: str = Field(min_length=1, description="The answer, or what is missing.")
    fulfilled: bool = Field(description="Whether the text is all that was asked for.")
    decision: Literal["end", "continue"] = Field(description="Whether this is the end, or one more call is needed.")
    thought: ClassVar[str] = ""
    is_last: ClassVar[bool] = False

    @model_validator(mode="after")
    def _end(self) -> Self:
        if self.fulfilled:
            self.decision = "end"
        return self

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        calls = written_calls(given)
        return {"decision": "continue", "fulfilled": False, "text": str(calls[0])} if calls else given


def decision_prompt(run: Run, state: ConversationState, *more: str) -> list[BaseMessage]:
    """Return the planner's prompt; `more` ends it."""
    return [SystemMessage(render("planner_brief")), _turn(run, state, state["instruction"], *more)]


def check_founded(reply: Any, state: ConversationState, steps: Sequence[Step]) -> None:
    """Raise `ValueError` for an answer that was made up."""
    if reply.fulfilled and (unfounded := _made_up(reply.text, state, steps)):
        raise ValueError(f"text: {unfounded} {MADE_UP}. Answer with what the results say.")


def one_operation(run: Run, state: BriefState, listing: Listing) -> ApiPlan:
    """Have the selector choose one operation; one whose id was not known comes after the one that gives it.

    Raises `ModelError`.
    """
    if state["hint"] and (giver := giver_of(run, state["api_plan"]["calls"][0]["operation"])):
        needing: PlannedCall = {**state["api_plan"]["calls"][0], "needs": [1]}
        return {"calls": [{**needing, "operation": giver, "needs": []}, needing], "reason": ""}
    task = state["decision"]["text"]
    listing = without(run, listing, _not_for(run, state))
    prompt = [SystemMessage(""), _turn(run, state, task)]
    return {"calls": [single_operation(run, prompt, listing.text, task)], "reason": ""}


def call_prompt(
    run: Run, state: BriefState, requests: Sequence[Request], planned: PlannedCall, refused: Sequence[Request]
) -> list[BaseMessage]:
    """Return the caller's prompt for the arguments of one call."""
    made = result_of(latest(requests))
    turn = _turn(
        run,
        state,
        state["decision"]["text"],
        fenced("result", made[-ROOM:]) if made else "",
        f"The call to fill in:\n{fenced('document', documented(run, planned['operation'], [planned]))}",
    )
    return [SystemMessage(""), turn, *(refusals(refused) if refused else ())]


def one_call(
    run: Run,
    state: BriefState,
    operation: Operation,
    given: Mapping[str, Any],
    requests: Sequence[Request],
    build: Callable[[dict[str, Any]], list[Request]],
) -> tuple[list[Request], str]:
    """Return the requests that `build` makes of arguments without inventions, or why there is none.

    A change that the words of the instruction do not ask for is asked about, whatever the run's setting is.
    """
    made = [*(item for step in of_turn(state) for item in step["requests"]), *requests]
    is_read, unknown = run.rules.effect(operation).is_read, f"an id for {run.catalogue.name_of(operation)}"
    # Into a change goes only what the user spoke of.
    found = [item["result"] for item in made] if is_read else []
    try:
        built = build(_without_inventions(operation, given, "\n".join([said(state), *found])))
    except ValueError as error:
        if UNFOUNDED not in str(error):
            raise
        # What such a model invented it invents again, so that it is not asked another time.
        return [], unknown
    if any(_is_done(state, request) for request in built):
        return [], ALREADY
    if not all(request["safe"] or _is_meant(run, state, request) for request in built):
        return [], unknown
    if not is_read and run.catalogue.name_of(operation) not in _changes_for(run, state["instruction"]):
        built = [{**request, "confirm": True} for request in built]
    return built, ""


def result_text(run: Run, request: Request, body: Body) -> str:
    """Return a JSON body as lines, below what the document says of it."""
    about = run.catalogue.operation(request["operation"]).description or ""
    shown = columns(body.value, run.context.result_budget * TOKEN, focus=request["output_instruction"])
    return f"{plain_text(about, ABOUT)}\n{shown}".strip()


def _turn(run: Run, state: ConversationState, task: str, *more: str) -> HumanMessage:
    """Return the message with the instruction, the sub-task `task` where it says something else, and the results."""
    results = "\n".join(step["result"] for step in state["steps"] if step["requests"])
    text = render(
        "brief_turn",
        today=run.today(),
        conversation=earlier_text(state["messages"], state["instruction"], CONVERSATION),
        instruction=state["instruction"],
        task="" if task == state["instruction"] else f"Next: {task}\n",
        results=fenced("result", results[-ROOM:]) if results else NOTHING_YET,
    )
    return HumanMessage("\n\n".join(filter(None, [text.strip(), *more])))


def _made_up(answer: str, state: ConversationState, steps: Sequence[Step]) -> str:
    """Return what an answer from `steps` has made up: a number, a name that is nearly one of the results, or all of it.

    It is empty for a founded answer; after a change, that needs no word of the results.
    """
    found, instruction = "\n".join(step["result"] for step in steps), state["instruction"]
    changed = any(not request["safe"] for step in steps for request in step["requests"])
    if not changed and seeks_change(instruction) and asked_methods(instruction):
        return "what was to be changed"
    # A number of the instruction stands in the arguments of a call that went by it.
    if numbers := set(NUMBER.findall(answer)) - set(NUMBER.findall(found)):
        return ", ".join(sorted(numbers))
    words = set(WORD.findall(f"{instruction}\n{found}"))
    for name in NAME.findall(answer):
        if name not in words and (near := get_close_matches(name, words, 1, NEAR)):
            return f"{name} (but {near[0]})"
    new = _words(answer) - set(stems(instruction))
    return answer[:100] if new and not (changed or new & set(stems(found))) else ""


def _not_for(run: Run, state: BriefState) -> list[Operation]:
    """Return the operations that may not be chosen: changes for an instruction that asks for none, or for others.

    After an answer that no result holds, they are those too whose results are there.
    """
    instruction = state["instruction"]
    asked, is_open = _changes_for(run, instruction), seeks_change(instruction)
    again = state["decision"]["kind"] == "continue" and state["decision"]["text"] == instruction
    made = (request for step in of_turn(state) for request in step["requests"] if again and succeeded(request))
    called = {request["operation"] for request in made}

    def is_for(operation: Operation) -> bool:
        name = run.catalogue.name_of(operation)
        is_free = run.rules.effect(operation).is_read or (name in asked if asked else is_open)
        return is_free and name not in called

    return [operation for operation in run.catalogue if not is_for(operation)]


def _changes_for(run: Run, instruction: str) -> set[str]:
    """Return the names of the changes that the words of an instruction ask for.

    They are those whose names or summaries begin with one of its words, else those whose method its verbs mean.
    """
    words, methods = set(stems(instruction)), asked_methods(instruction)
    changes = [operation for operation in run.catalogue if not run.rules.effect(operation).is_read]
    first = {one: {word for text in (one.name, one.summary or "") for word in stems(text)[:1]} for one in changes}
    found = [one for one in changes if words & first[one]] or [one for one in changes if one.method in methods]
    return {run.catalogue.name_of(operation) for operation in found}


def _is_done(state: BriefState, request: Request) -> bool:
    """Return whether the turn made the very same call before, which a model that is lost would make again."""
    made = [one for step in of_turn(state) for one in step["requests"] if succeeded(one) or one["status"] == "held"]
    return any((one["operation"], one["arguments"]) == (request["operation"], request["arguments"]) for one in made)


def _is_meant(run: Run, state: BriefState, request: Request) -> bool:
    """Return whether a change has values that the user named, or that have a name of theirs beside them."""
    arguments, words = request["arguments"], said(state)
    unsaid = [one for one in _leaves(arguments.get("path")) if not _is_named(one, words)]
    unsaid += [one for one in _leaves(arguments.get("body")) if not _is_spoken_of(one, words)]
    return all(any(_is_beside(one, words, value) for _, value in responses(run, state)) for one in unsaid)


def _leaves(value: Any) -> list[Any]:
    """Return the plain values in arguments, without truths and nothings."""
    return [one for one in values_in(value) if isinstance(one, str | int | float) and not isinstance(one, bool)]


def _is_named(value: Any, words: str) -> bool:
    """Return whether a value stands in other words as a whole, in any case."""
    return re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", words, re.IGNORECASE) is not None


def _is_spoken_of(value: Any, words: str) -> bool:
    """Return whether a value stands in other words, or a text has one of them."""
    is_text = isinstance(value, str) and not value.isdecimal()
    return _is_named(value, words) or (is_text and bool(_words(value) & _words(words)))


def _words(text: str) -> set[str]:
    return set(stems(text)) - STOP_STEMS


def _is_beside(value: Any, words: str, answer: Any) -> bool:
    """Return whether an object in an answer has a value, and beside it a text that stands in `words`."""
    if isinstance(answer, list):
        return any(_is_beside(value, words, item) for item in answer)
    if not isinstance(answer, dict):
        return False
    texts = [text for text in answer.values() if isinstance(text, str) and len(text) >= SHORTEST_NAME]
    found = any(str(one) == str(value) for one in answer.values()) and any(
        text.casefold() in words.casefold() for text in texts
    )
    return found or any(_is_beside(value, words, item) for item in answer.values())


def _without_inventions(operation: Operation, given: Mapping[str, Any], known: str) -> dict[str, Any]:
    """Return arguments, by place or by name, without the optional ones that were made up.

    They were if neither the value nor the name of the argument has a word in the text `known`. Where that has one of
    the values that the document lists, it is this one.
    """
    words = _words(known)
    body = arguments_schema(operation)["properties"].get("body", {})
    needed = {"body", *(item.name for item in operation.parameters if item.required), *body.get("required", ())}

    lists = {item.name: item.schema.get("enum") for item in operation.parameters if isinstance(item.schema, dict)}
    spoken = {
        name: [one for one in values or () if set() < set(stems(str(one))) <= words] for name, values in lists.items()
    }
    named = {name: values[0] for name, values in spoken.items() if len(values) == 1}

    def kept(arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for name, value in arguments.items():
            value = named.get(name, value)
            if name in PLACES and isinstance(value, dict):
                found[name] = kept(value)
            elif name in needed or words & {*stems(name), *stems(json.dumps(value, ensure_ascii=False))}:
                found[name] = value
        return found

    return kept(given)

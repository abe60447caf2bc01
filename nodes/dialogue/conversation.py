"""The conversation of a thread as the source of arguments: the user's words, and the responses received so far.

A call is drafted with the origin of its arguments; a person is asked about an id of a change that no text contains.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from restgpt.calling.call import Call, Problems, draft
from restgpt.calling.decision import permissions_for
from restgpt.calling.origin.evidence import text_of
from restgpt.calling.origin.flow import AnsweredApis, api_record
from restgpt.calling.origin.provenance import SHORTEST, traced_values
from restgpt.calling.record import CallRecord, Place, Provenance, Request
from restgpt.nodes.dialogue.knowledge import notes_of
from restgpt.nodes.run.run import MAX_TRACED, Run, kept_answers
from restgpt.nodes.state.recipe_run import current, kept_by, said_by
from restgpt.nodes.state.records import Step
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt.specs import Operation

CONVERSATION_BUDGET = 6000
"""The maximum number of characters of earlier conversation in a prompt; the newest are kept."""

MOST_TRACED = 1000
"""The maximum number of responses whose values a program's calls may use."""

LOCATIONS = ("location", "content-location", "link")
"""The headers that hold addresses."""

_WORD, _ADDRESS = re.compile(r"\w+"), re.compile(r"[/?#&=;,\s]+")


def turn_message(run: Run, messages: Sequence[AnyMessage], instruction: str) -> HumanMessage:
    """Return the message of a prompt with the instruction, and with the conversation before it, bounded."""
    earlier = earlier_text(messages, instruction)
    text = render("planner_turn", today=run.today(), conversation=earlier, instruction=instruction)
    return HumanMessage(text)


def earlier_text(messages: Sequence[AnyMessage], instruction: str, most: int = CONVERSATION_BUDGET) -> str:
    """Return the conversation beside the instruction for a prompt, its end in `most` characters; empty if none."""
    told = [message for message in messages if message.type in ("human", "ai")]
    asked = next((item for item in reversed(told) if item.type == "human" and item.text), None)
    if asked is not None and str(asked.text).strip() != instruction:
        asked = None
    parts = [(item, ["" if item is asked else str(item.text), *map(LEFT_OUT.format, unread(item))]) for item in told]
    earlier = "\n".join(f"{item.type}: {text}" for item, texts in parts for text in texts if text)
    if not earlier:
        return ""
    # The agent's answers quote API responses, so the whole conversation is fenced as data.
    return f"\nEarlier in this conversation:\n{fenced('conversation', earlier[-most:])}\n"


LEFT_OUT = "[A part of the type {} stood here, which you cannot see.]"
"""What a prompt says in place of a part of a message that no role reads."""


def unread(message: AnyMessage) -> list[str]:
    """Return the types of the parts of a person's message that no role reads, such as pictures."""
    parts = message.content if isinstance(message, HumanMessage) and isinstance(message.content, list) else []
    kinds = [str(part.get("type", "text"))[:40] for part in parts if isinstance(part, dict)]
    return [kind for kind in kinds if kind != "text"]


RELAYED = "restgpt_relayed"
"""The key in `additional_kwargs` of a human message that another model wrote, such as that of an MCP client."""


def said(state: State) -> str:
    """Return the user's instruction, messages and recipe in this thread, without the agent's answers.

    What another model relayed is not the user's words.
    """
    messages = [message for message in state["messages"] if isinstance(message, HumanMessage)]
    texts = [str(message.text) for message in messages if not is_relayed(message)]
    instruction = [] if messages and is_relayed(messages[-1]) else [state["instruction"]]
    return "\n".join([*instruction, *texts, *said_by(current(state))])


def topic(state: State) -> str:
    """Return the words that say what a prompt has to be about: the instruction, and what the user said before it."""
    return f"{state['instruction']}\n{said(state)}"


def relayed(state: State) -> list[str]:
    """Return the instructions of this thread that another model relayed, whose values no model of this run invented."""
    return [str(message.text) for message in state["messages"] if is_relayed(message)]


def is_relayed(message: AnyMessage) -> bool:
    """Return whether another model wrote a human message."""
    return isinstance(message, HumanMessage) and bool(message.additional_kwargs.get(RELAYED))


def responses(run: Run, state: State, *, most: int = MAX_TRACED) -> Iterator[tuple[str, Any]]:
    """Yield the saved responses of the thread, as `kept_answers`."""
    return kept_answers(run.session.responses, _requests(state["steps"], state["requests"]), most=most)


def operations_by_handle(state: State) -> dict[str, str]:
    """Return the names of the operations that gave the saved responses of the thread, by handle."""
    requests = _requests(state["steps"], state["requests"])
    return {handle: request["operation"] for request in requests if (handle := request["response"].get("handle"))}


def _requests(steps: Iterable[Step], requests: Iterable[Request]) -> list[Request]:
    """Return all requests of the thread, oldest first."""
    return [*(request for step in steps for request in step["requests"]), *requests]


TOLD_APIS = "restgpt_apis"
"""The key of an answer's metadata that maps the ids of the APIs that had answered by then to their names."""


ANSWERED = "restgpt_answered"
"""The key of an answer's metadata with the name of its agent and the id of the message that it answers."""


def answered_by(message: AnyMessage) -> tuple[str, str] | None:
    """Return the agent that wrote an answer and the id of the message that it answers; None for another message."""
    found = message.response_metadata.get(ANSWERED) if isinstance(message, AIMessage) else None
    return (str(found[0]), str(found[1])) if isinstance(found, list | tuple) and len(found) == 2 else None


def answer_message(
    steps: Iterable[Step], messages: Iterable[AnyMessage], text: str, by: tuple[str, str] = ("", "")
) -> AIMessage:
    """Return the message with an answer, which says by whom and to what it is, and which APIs may have told of it.

    A host can pass it on to another graph, or to a new thread of this one, which has none of the steps.
    """
    message = seen_message(answered_apis(steps, messages=messages), text)
    message.response_metadata[ANSWERED] = list(by)
    return message


def seen_message(apis: Mapping[str, str], text: str = "") -> AIMessage:
    """Return a message whose metadata holds the ids and names of the APIs whose answers its writer may have read."""
    return AIMessage(text, response_metadata={TOLD_APIS: dict(apis)} if apis else {})


def answered_apis(
    steps: Iterable[Step],
    requests: Iterable[Request] = (),
    *,
    messages: Iterable[AnyMessage] = (),
) -> dict[str, str]:
    """Return the ids and names of the APIs that the thread sent requests to; errors count, since models read them.

    Those that had answered before one of the `messages` was written count too.
    """
    found = (request["api"] for request in _requests(steps, requests) if is_answered(request))
    return {**told_apis(messages), **{api["id"]: api["name"] for api in found}}


def told_apis(messages: Iterable[AnyMessage]) -> dict[str, str]:
    """Return the ids and names of the APIs that had answered before one of the messages was written."""
    told = (message.response_metadata.get(TOLD_APIS) for message in messages if isinstance(message, AIMessage))
    return {str(key): str(name) for apis in told if isinstance(apis, Mapping) for key, name in apis.items()}


def is_answered(request: CallRecord) -> bool:
    """Return whether a request was sent, so that its answer or the lack of one tells something."""
    return request["status"] in ("sent", "parsed", "failed") or bool(request["response"])


def answered(
    run: Run, state: State, *, most: int = MAX_TRACED, seen: Collection[str] | None = None
) -> AnsweredApis | None:
    """Return the APIs that answered in this thread, with their responses; None if only one API is concerned.

    `seen` are the APIs whose answers the writer of a program had seen; None is all of them.
    """
    names = answered_apis(state["steps"], state["requests"], messages=state["messages"])
    if len(names.keys() | {api_record(api)["id"] for api in run.catalogue.apis}) < 2:
        return None
    holders: dict[str, set[str]] = {}
    headers: dict[str, set[str]] = {}
    for request in filter(is_answered, _requests(state["steps"], state["requests"])):
        api, response = request["api"]["id"], request["response"]
        if handle := response.get("handle"):
            holders.setdefault(handle, set()).add(api)
        headers.setdefault(api, set()).update((response.get("headers") or {}).values())
    return AnsweredApis(
        run=f"{run.thread} {state['turn']}",
        names=names,
        holders={handle: frozenset(apis) for handle, apis in holders.items()},
        headers={api: frozenset(values) for api, values in headers.items()},
        bodies=lambda: responses(run, state, most=most),
        seen=None if seen is None else frozenset(seen),
    )


def known_words(run: Run, state: State, written: Iterable[str] = ()) -> Callable[[], Iterator[set[str]]]:
    """Return a function that yields the words of all texts of a thread that may hold an id: said, or answered.

    `written` are texts of a model that is not of this run. Arguments, errors and the results of steps do not count,
    because a model wrote them.
    """
    found: list[set[str]] = []

    def texts() -> Iterator[str]:
        yield from (said(state), *relayed(state), *written, *kept_by(current(state)), *notes_of(run))
        for request in _requests(state["steps"], state["requests"]):
            yield from (request["response"].get("headers") or {}).values()
        for _, value in responses(run, state, most=MOST_TRACED):
            yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    unread = texts()

    def words() -> Iterator[set[str]]:
        yield from found
        for text in unread:
            found.append(_words(text))
            yield found[-1]

    return words


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def traced_draft(
    run: Run,
    state: State,
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    known: Callable[[], Iterator[set[str]]],
    repeats: bool = False,
    **given: Any,
) -> Call:
    """Call a call as `draft` does with what is `given`, and with origins where a rule or a person may need them.

    Raises `ArgumentError`. Where rules let a change go out unasked, an id in its path is asked about if no part of it
    is one of the words that are `known`, or stands in what the document says of the operation's parameters; and unless
    it `repeats` what was done, about a change that another turn of the thread has made, under a permission too.
    """
    effect = run.rules.effect(operation)
    is_traced = not effect.is_read or run.rules.restricts(operation) or given.get("answered") is not None
    drafted = draft(operation, arguments, effect=effect, **{**given, "said": given["said"] if is_traced else None})
    if isinstance(drafted, Problems):
        raise drafted.error
    if effect.is_read:
        return drafted
    drafted = replace(drafted, provenance=tuple(_with_headers(drafted, state)))
    is_allowed = run.rules.verdict(operation) == "allow"
    if not is_allowed and not permissions_for(drafted, run.rules):
        return drafted
    earlier = _requests(state["steps"], state["requests"])
    has_failed = any(_is_failed_twin(request, drafted, given["name"]) for request in earlier)
    called = filter(None, map(run.catalogue.lookup, {item["operation"] for item in earlier}))
    # What stands in the path of a request under a permission, a person has listed.
    unknown = tuple(_unknown_ids(drafted, known, called)) if is_allowed else ()
    # Without checkpoints nobody could answer, and each run of a thread is the first one.
    has_turns = not repeats and run.claim is not None
    is_repeated = has_turns and run.session.journal.has_other(drafted.fingerprint, run.turn_id)
    return replace(drafted, unknown=unknown, confirm=is_repeated or has_failed)


def _is_failed_twin(request: CallRecord, drafted: Call, name: str) -> bool:
    """Return whether a request is an equal change whose answer had a status of success and said that it failed."""
    is_equal = request["operation"] == name and request["arguments"] == drafted.arguments
    return is_equal and bool(request["response"].get("failure"))


def _unknown_ids(drafted: Call, known: Callable[[], Iterator[set[str]]], called: Iterable[Operation]) -> Iterator[str]:
    """Yield the names of the path arguments of which no part is a known word, nor one of the operation's document.

    What the document says of a parameter of that name counts also where it says it of an operation that was `called`.
    """
    operation = drafted.operation
    path = drafted.settled.get("path", {})
    items = [item for one in called if one.api is operation.api for item in one.parameters if item.name in path]
    about = [[item.description, item.schema, item.example] for item in (*operation.parameters, *items)]
    own = _words(
        json.dumps([operation.summary, operation.description, operation.path, about], ensure_ascii=False, default=str)
    )
    for name, value in path.items():
        parts = _words(text_of(value))
        if parts and not any(parts & words for words in chain([own], known())):
            yield name


def _with_headers(drafted: Call, state: State) -> Iterator[Provenance]:
    """Yield the origins of a call's values; of one that was computed or is in the path, with the header that has it."""
    values = dict(traced_values(drafted.settled))
    for item in drafted.provenance:
        is_open = item["origin"] == "program" or (item["origin"] == "model" and item["pointer"].startswith("/path/"))
        if is_open and not item.get("places") and (place := _header(values.get(item["pointer"]), state)):
            yield {**item, "origin": "response", "places": [place]}
        else:
            yield item


def _header(value: Any, state: State) -> Place | None:
    """Return the newest header of an answer that is a value, or has it as a part of its address."""
    text = text_of(value)
    for request in reversed(_requests(state["steps"], state["requests"])) if len(text) >= SHORTEST else ():
        for name, held in (request["response"].get("headers") or {}).items():
            if text == held or (name.lower() in LOCATIONS and text in _ADDRESS.split(held)):
                handle = request["response"].get("handle") or ""
                return {"handle": handle, "at": "", "header": name, "operation": request["operation"]}
    return None

"""The conversation of a thread as the source of arguments: the user's words, and the responses received so far.

A call is drafted with the origin of its arguments, and refused if it has an id that neither of the two contains.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from typing_extensions import TypedDict

from restgpt.calling.call import Draft, Problems
from restgpt.calling.draft import draft
from restgpt.calling.origin.evidence import Evidence
from restgpt.calling.origin.flow import AnsweredApis, api_record
from restgpt.calling.origin.grounding import Answers, IdSource, IdSources, ungrounded
from restgpt.calling.record import CallRecord, Request, succeeded
from restgpt.nodes.dialogue.knowledge import notes_of
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import current, kept_by, said_by
from restgpt.nodes.state.records import RecipeRun, Step
from restgpt.prompts import fenced, render
from restgpt.specs import Operation
from restgpt.specs.docs.words.keyword import keywords
from restgpt.tools.response.store import MOST_CACHED, UnknownHandleError

CONVERSATION_BUDGET = 6000
"""The maximum number of characters of earlier conversation in a prompt; the newest are kept."""

MAX_TRACED = 30
"""The maximum number of responses that are searched for the origin of an argument of a single call."""

MOST_GIVERS = 2
"""How many calls that give an invented value a refusal names."""

MAX_TRACED_SIZE = 4_000_000
"""The maximum size of a response that is searched for that, in bytes."""

MAX_TRACED_TOTAL = 16_000_000
"""The maximum size of all responses that are searched for that, in bytes; the newest are searched."""


class ConversationState(TypedDict):
    """The state keys that hold the conversation."""

    messages: list[AnyMessage]
    instruction: str
    requests: list[Request]
    steps: list[Step]
    turn: int
    road: NotRequired[str]
    recipe: NotRequired[RecipeRun | None]


def turn_message(run: Run, messages: Sequence[AnyMessage], instruction: str) -> HumanMessage:
    """Return the message of a prompt with the instruction, and with the conversation before it, bounded."""
    earlier = earlier_text(messages, instruction)
    text = render("planner_turn", today=run.today(), conversation=earlier, instruction=instruction)
    return HumanMessage(text)


def earlier_text(messages: Sequence[AnyMessage], instruction: str, most: int = CONVERSATION_BUDGET) -> str:
    """Return the conversation beside the instruction for a prompt, its end in `most` characters; empty if none."""
    told = [message for message in messages if message.type in ("human", "ai") and str(message.text)]
    asked = next((item for item in reversed(told) if item.type == "human"), None)
    if asked is not None and str(asked.text).strip() == instruction:
        told = [message for message in told if message is not asked]
    earlier = "\n".join(f"{message.type}: {message.text}" for message in told)
    if not earlier:
        return ""
    # The agent's answers quote API responses, so the whole conversation is fenced as data.
    return f"\nEarlier in this conversation:\n{fenced('conversation', earlier[-most:])}\n"


RELAYED = "restgpt_relayed"
"""The key in `additional_kwargs` of a human message that another model wrote, such as that of an MCP client."""


def said(state: ConversationState) -> str:
    """Return the user's instruction, messages and recipe in this thread, without the agent's answers.

    What another model relayed is not the user's words.
    """
    messages = [message for message in state["messages"] if isinstance(message, HumanMessage)]
    texts = [str(message.text) for message in messages if not is_relayed(message)]
    instruction = [] if messages and is_relayed(messages[-1]) else [state["instruction"]]
    return "\n".join([*instruction, *texts, *said_by(current(state))])


def topic(state: ConversationState) -> str:
    """Return the words that say what a prompt has to be about: the instruction, and what the user said before it."""
    return f"{state['instruction']}\n{said(state)}"


def relayed(state: ConversationState) -> list[str]:
    """Return the instructions of this thread that another model relayed, whose values no model of this run invented."""
    return [str(message.text) for message in state["messages"] if is_relayed(message)]


def is_relayed(message: AnyMessage) -> bool:
    """Return whether another model wrote a human message."""
    return isinstance(message, HumanMessage) and bool(message.additional_kwargs.get(RELAYED))


def responses(run: Run, state: ConversationState, *, most: int = MAX_TRACED) -> Iterator[tuple[str, Any]]:
    """Yield the saved responses of the thread, newest first, up to `most` and without binary and large ones."""
    requests = _requests(state["steps"], state["requests"])
    handles = dict.fromkeys(request["response"].get("handle") for request in reversed(requests))
    left = MAX_TRACED_TOTAL
    for handle in islice(filter(None, handles), most):
        try:
            body = run.session.responses.open(handle)
        except UnknownHandleError:
            continue
        # A body too heavy for the cache would be parsed again for every call.
        if not body.is_binary and body.size <= MAX_TRACED_SIZE and body.weight <= MOST_CACHED:
            left -= body.size
            if left < 0:
                return
            yield handle, body.value if body.is_json else body.text()


def operations_by_handle(state: ConversationState) -> dict[str, str]:
    """Return the names of the operations that gave the saved responses of the thread, by handle."""
    requests = _requests(state["steps"], state["requests"])
    return {handle: request["operation"] for request in requests if (handle := request["response"].get("handle"))}


def _requests(steps: Iterable[Step], requests: Iterable[Request]) -> list[Request]:
    """Return all requests of the thread, oldest first."""
    return [*(request for step in steps for request in step["requests"]), *requests]


UNFOUNDED = ": no such value stands in the instruction or in"
"""The part of a refusal that follows an id that a model invented."""

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
    run: Run, state: ConversationState, *, most: int = MAX_TRACED, seen: Collection[str] | None = None
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


def sources_of(
    run: Run,
    state: ConversationState,
    requests: Iterable[Request],
    answers: Iterable[tuple[str, Any]],
    written: Iterable[str] = (),
) -> IdSources:
    """Return where ids may come from: the user, the results of successful `requests`, and `answers` by handle.

    Arguments, errors and the results of steps do not count, because a model wrote them. `written` are the texts of a
    model that is not of this run.
    """
    results = (request["result"] for request in requests if succeeded(request))
    return IdSources(
        Evidence(said(state), *relayed(state), *written, *kept_by(current(state)), *notes_of(run), *results),
        Answers(value for _, value in answers),
    )


def grounded_draft(
    run: Run,
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    id: str,
    name: str,
    said: str,
    found: Iterable[tuple[str, Any]],
    evidence: IdSource,
    remedy: str,
    operations: Mapping[str, str] = {},
    code: str | None = None,
    line: int = 0,
    answered: AnsweredApis | None = None,
    pages: int = 1,
    description: str = "",
) -> Draft:
    """Draft a call as `draft` does, with origins only where a rule or a person may need them, or several APIs answer.

    Raises `ArgumentError`, and `ValueError` for ids that `evidence` does not contain; `remedy` ends its message.
    """
    effect = run.rules.effect(operation)
    is_traced = not effect.is_read or run.rules.restricts(operation) or answered is not None
    drafted = draft(
        operation,
        arguments,
        id=id,
        name=name,
        said=said if is_traced else None,
        found=found,
        operations=operations,
        code=code,
        line=line,
        answered=answered,
        pages=pages,
        description=description,
        effect=effect,
    )
    if isinstance(drafted, Problems):
        raise drafted.error
    if run.context.grounding and (invented := ungrounded(operation, drafted.arguments, evidence)):
        givers = _givers(run, operation, invented)
        raise ValueError(f"{'; '.join(invented)}{UNFOUNDED} {remedy}{givers}")
    return drafted


def _givers(run: Run, operation: Operation, invented: Sequence[str]) -> str:
    """Return a sentence with the calls whose answers hold the values that a model invented; empty if none is known."""
    calls = [
        f"{run.catalogue.function_name(giver)}({', '.join(f'{item.name}=…' for item in needed)})"
        for name, producers in run.catalogue.producers(operation).items()
        if any(f".{name} = " in text for text in invented)
        for giver in producers[:MOST_GIVERS]
        for needed in [[item for item in keywords(giver) if item.required]]
        if all(item.field != name for item in needed)
    ]
    return f" It stands in the answer of {' or '.join(dict.fromkeys(calls))}." if calls else ""

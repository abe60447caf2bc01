"""The caller: the arguments of the planned requests, and what the parser shall extract (paper, section 3.3)."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from restgpt.calling.call import Problems
from restgpt.calling.draft import draft
from restgpt.calling.grounding import ungrounded
from restgpt.nodes.background import NOTHING_YET, background, result_of
from restgpt.nodes.context import Context
from restgpt.nodes.records import ApiPlan, Decision, PlannedCall, Request, Step, Usage, placed, spent_since
from restgpt.nodes.resources import Resources, Run
from restgpt.nodes.rounds import MAX_REPAIRS, latest, lineage, next_calls, step_of, succeeded, to_repair
from restgpt.prompts import fenced, render
from restgpt.specs.docs.documentation import documentation
from restgpt.tools.errors import ArgumentError
from restgpt.tools.evidence import Evidence
from restgpt.tools.model.errors import ModelReplyError
from restgpt.tools.response.store import UnknownHandleError
from restgpt.tools.storable import storable_value

MAX_REQUESTS = 60
"""How many requests one reply may ask for."""

MAX_PAGES = 20
"""How many pages of one list a request may read."""

MAX_TRACED = 30
"""How many responses are looked through for where a value comes from."""

MAX_TRACED_SIZE = 4_000_000
"""Up to how many bytes a response is looked through for that."""


class Call(BaseModel):
    """One request to send."""

    call: int = Field(description="Number of the planned call that it carries out.")
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="Arguments by place: path, query, header, cookie, body."
    )
    description: str = Field(description="What the response is about, with the values used.")
    output_instruction: str = Field(description="What to extract from the response, with every condition.")
    pages: int = Field(default=1, ge=1, le=MAX_PAGES, description="How many pages of a list to read at most.")


class CallerReply(BaseModel):
    """The requests that carry out the planned calls."""

    thought: str = Field(default="", description="Where each value comes from, in one or two sentences.")
    calls: list[Call] = Field(description="One entry per request to send.", max_length=MAX_REQUESTS)
    missing: str = Field(default="", description="The required value that is not known, if there is one.")


class CallerState(TypedDict):
    """What the caller reads."""

    messages: list[AnyMessage]
    instruction: str
    turn: int
    task: int
    round: int
    plan: str
    decision: Decision
    api_plan: ApiPlan
    hint: str
    requests: list[Request]
    steps: list[Step]
    usage: Usage
    baseline: Usage


def make_caller(resources: Resources) -> Callable[..., dict[str, Any]]:
    """The caller node over `resources`."""

    def caller(state: CallerState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = resources.open(runtime, config)
        requests = [request for request in state["requests"] if request["round"] == state["round"]]
        refused = to_repair(requests)
        numbers = sorted({request["call"] for request in refused}) or next_calls(
            run.catalogue, state["api_plan"], requests
        )
        prompt = _prompt(run, state, requests, numbers, refused)
        evidence = _evidence(state, requests)
        built: list[Request] = []

        def check(reply: CallerReply) -> None:
            built[:] = _requests(run, state, reply, numbers, refused, evidence)

        try:
            reply = run.ask("caller", prompt, CallerReply, check=check)
        except ModelReplyError as error:
            return _finished(run, state, requests, f"No request was made. {error}")
        if built:
            return {"requests": built, "hint": "", "usage": run.usage()}
        return _missing(run, state, requests, numbers, reply.missing or "The caller made no request.")

    return caller


def _evidence(state: CallerState, requests: Sequence[Request]) -> Evidence:
    """What the user said and what APIs answered; arguments and errors repeat a model's own words."""
    answered = [*(request for step in state["steps"] for request in step["requests"]), *requests]
    return Evidence(_said(state), *(request["result"] for request in answered if succeeded(request)))


def _requests(
    run: Run,
    state: CallerState,
    reply: CallerReply,
    numbers: Sequence[int],
    refused: Sequence[Request],
    evidence: Evidence,
) -> list[Request]:
    """The reply's requests, built and checked; raises `ValueError` with everything that is wrong."""
    problems: list[str] = []
    requests: list[Request] = []
    waiting = list(refused)
    left = _left(run, state)
    if len(reply.calls) > left:
        raise ValueError(f"calls: {len(reply.calls)} requests are too many: the budget leaves {left}. Choose.")
    more_pages = left - len(reply.calls)
    for position, call in enumerate(reply.calls, 1):
        if call.call not in numbers:
            problems.append(f"calls.{position}.call: {call.call} is not one of {list(numbers)}.")
            continue
        planned = state["api_plan"]["calls"][call.call - 1]
        before = next((request for request in waiting if request["call"] == call.call), None)
        if before is not None:
            waiting.remove(before)
        try:
            request = _request(run, state, call, planned, before, evidence)
        except (ArgumentError, ValueError) as error:
            problems.append(f"calls.{position} ({planned['operation']}): {error}")
            continue
        request["pages"] = min(request["pages"], 1 + more_pages)
        more_pages -= request["pages"] - 1
        requests.append(request)
    if problems:
        raise ValueError("\n".join(problems))
    if not requests and not reply.missing:
        raise ValueError("calls is empty, and `missing` does not say which value is not known.")
    return [*requests, *(_given_up(request) for request in waiting)] if requests else []


def _given_up(request: Request) -> Request:
    """A refused request that the caller did not make again: it stays as it is, and is not asked for again."""
    return {**request, "attempt": MAX_REPAIRS}


def _left(run: Run, state: CallerState) -> int:
    """How many requests the budget leaves; each page of a list is one."""
    return max(0, run.context.max_requests - spent_since(state["baseline"], state["usage"])["requests"])


def _request(
    run: Run,
    state: CallerState,
    call: Call,
    planned: PlannedCall,
    before: Request | None,
    evidence: Evidence,
) -> Request:
    """One request; `before` is the refused one that it makes again."""
    operation = run.catalogue.operation(planned["operation"])
    attempt = before["attempt"] + 1 if before else 0
    part = lineage(before) if before else run.new_id()
    is_traced = not operation.is_safe or run.session.rules.restricts(operation)
    drafted = draft(
        operation,
        storable_value(call.arguments),
        id=f"{part}.{attempt}",
        name=planned["operation"],
        said=_said(state) if is_traced else None,
        found=_responses(run, state),
        pages=call.pages,
        description=call.description,
    )
    if isinstance(drafted, Problems):
        raise drafted.error
    if run.context.grounding and (invented := ungrounded(operation, drafted.arguments, evidence)):
        raise ValueError(
            f"{'; '.join(invented)}: no such value stands in the instruction or in a result. Copy it exactly, or leave "
            "out this entry and say in `missing` which value is not known."
        )
    return placed(
        drafted.to_json(),
        round_number=state["round"],
        call=call.call,
        attempt=attempt,
        output_instruction=call.output_instruction,
    )


def _said(state: CallerState) -> str:
    """What the user said in this thread; what the agent answered in between does not count."""
    said = [str(message.text) for message in state["messages"] if isinstance(message, HumanMessage)]
    return "\n".join([state["instruction"], *said])


def _responses(run: Run, state: CallerState) -> Iterator[tuple[str, Any]]:
    """The kept responses of the thread, the newest first, as far as a look at them is worth its time."""
    requests = [*(request for step in state["steps"] for request in step["requests"]), *state["requests"]]
    handles = dict.fromkeys(request["response"].get("handle") for request in reversed(requests))
    for handle in islice(filter(None, handles), MAX_TRACED):
        try:
            body = run.session.responses.open(handle)
        except UnknownHandleError:
            continue
        if not body.is_binary and body.size <= MAX_TRACED_SIZE:
            yield handle, body.value if body.is_json else body.text()


def _missing(
    run: Run, state: CallerState, requests: Sequence[Request], numbers: Sequence[int], missing: str
) -> dict[str, Any]:
    """A value is not known: back to the selector with what would give it, once; then back to the planner."""
    reason = f"A required value is not known: {missing}"
    givers = _givers(run, [state["api_plan"]["calls"][number - 1]["operation"] for number in numbers])
    if givers:
        reason += f"\nOperations that give such values: {givers}"
    if requests or state["hint"]:
        return _finished(run, state, requests, reason)
    return {"hint": reason, "usage": run.usage()}


def _givers(run: Run, operations: Sequence[str]) -> str:
    """For each path parameter, the operations that yield it."""
    lines = []
    for name in operations:
        for parameter, producers in run.catalogue.producers(run.catalogue.operation(name)).items():
            names = ", ".join(run.catalogue.name_of(producer) for producer in producers[:4])
            if names:
                lines.append(f"{parameter}: {names}")
    return "; ".join(dict.fromkeys(lines))


def _finished(run: Run, state: CallerState, requests: Sequence[Request], remark: str) -> dict[str, Any]:
    step = step_of(
        turn=state["turn"],
        task=state["task"],
        round_number=state["round"],
        decision=state["decision"],
        plan=state["plan"],
        api_plan=state["api_plan"],
        requests=requests,
        result=result_of(latest(requests), remark),
    )
    return {"steps": [step], "hint": "", "usage": run.usage()}


def _prompt(
    run: Run,
    state: CallerState,
    requests: Sequence[Request],
    numbers: Sequence[int],
    refused: Sequence[Request],
) -> list[BaseMessage]:
    planned = state["api_plan"]["calls"]
    known = background(state["steps"], before_task=state["task"] + 1, turn=state["turn"])
    if done := [request for request in latest(requests) if request not in refused]:
        found = "Calls of this plan that were made:\n" + fenced("result", result_of(done, numbered=True))
        known = found if known == NOTHING_YET else f"{known}\n\n{found}"
    names = dict.fromkeys(planned[number - 1]["operation"] for number in numbers)
    documentation = [f"## {name}\n{_documentation(run, name, planned)}" for name in names]
    prompt: list[BaseMessage] = [
        SystemMessage(render("caller", examples=run.examples("caller"))),
        HumanMessage(
            render(
                "caller_task",
                today=run.today(),
                background=known,
                instruction=state["instruction"],
                sub_task=_sub_task(state),
                calls="\n".join(
                    f"{number}. {planned[number - 1]['operation']}: {planned[number - 1]['purpose']}"
                    for number in numbers
                ),
                documentation=fenced("document", "\n\n".join(documentation)),
            )
        ),
    ]
    if refused:
        prompt += _refusals(refused)
    return prompt


def _documentation(run: Run, name: str, planned: Sequence[PlannedCall]) -> str:
    """What the document says of an operation; of its answer what the planned calls speak of."""
    purposes = " ".join(call["purpose"] for call in planned if call["operation"] == name)
    return documentation(run.catalogue.operation(name), budget=run.context.documentation_budget, focus=purposes)


def _sub_task(state: CallerState) -> str:
    """The sub-task and what it still lacks; nothing for a method that plans calls without sub-tasks."""
    if not state["plan"]:
        return ""
    still = f"\nStill to be done: {state['decision']['text']}" if state["decision"]["kind"] == "continue" else ""
    return f"\nSub-task: {state['plan']}{still}\n"


def _refusals(refused: Sequence[Request]) -> list[BaseMessage]:
    """What was sent and what the API said of it."""
    sent = CallerReply(
        thought="",
        calls=[
            Call(
                call=request["call"],
                arguments=request["arguments"],
                description=request["description"],
                output_instruction=request["output_instruction"],
                pages=request["pages"],
            )
            for request in refused
        ],
    )
    answers = fenced("result", result_of(refused))
    return [AIMessage(sent.model_dump_json()), HumanMessage(render("caller_refused", answers=answers))]

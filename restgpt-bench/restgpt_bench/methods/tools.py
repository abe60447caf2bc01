"""Native tool calling: every operation is a tool, and the model gets whole responses as tool results."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from restgpt.calling.origin.flow import api_record
from restgpt.calling.record import Request, request_of, succeeded
from restgpt.nodes.dialogue.conversation import answered, known_words, responses, said, traced_draft
from restgpt.nodes.programs.calls import made_in_turn
from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.records import ApiPlan, Step, ToolCall, spent_since
from restgpt.nodes.state.results import next_calls, result_of, shortened, step_of
from restgpt.nodes.state.state import State
from restgpt.prompts import render
from restgpt.specs.docs.map import summary_line
from restgpt.tools.errors import ArgumentError
from restgpt.tools.model.reply import text_of
from restgpt.tools.response.store import UnknownHandleError
from restgpt.tools.text.storable import storable_text, storable_value
from restgpt_bench.methods.toolbox import Tool, Toolbox, toolbox
from restgpt_bench.methods.turns import ended, exhausted, found, planned, trial_steps

MAX_BODY = 100_000
"""The maximum number of characters of one response that the model gets."""

MAX_ID = 200
"""The maximum number of characters of a tool call's id."""

NOT_MADE = "Not sent."


def make_tools(services: Services) -> Callable[..., dict[str, Any]]:
    """Make the node that asks the model, and drafts a request for each of its tool calls.

    Reads that the model asks for in one reply are sent together. A change is sent after all calls before it, so the
    node can run several times for one reply.
    """

    def tools(state: State, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config, state=state)
        update: dict[str, Any] = {}
        if state["api_plan"]["calls"]:
            requests = [_answered(run, request) for request in state["requests"] if request["round"] == state["round"]]
            if more := _drafted(run, state, requests):
                return {"requests": [*requests, *more], "usage": run.usage()}
            step = step_of(state, requests=requests, result=result_of(requests))
            update = {"requests": requests, "steps": [step]}
            state = {**state, "requests": requests, "steps": [*state["steps"], step]}
        return {**update, **_next(run, state)}

    return tools


def _next(run: Run, state: State) -> dict[str, Any]:
    """Ask the model, and return the update with its answer or with requests for its first calls."""
    if over := exhausted(run, state):
        return ended(run, state, found(trial_steps(state), over), fulfilled=False)
    box = toolbox(run.catalogue)
    reply = run.models.call_tools("planner", _prompt(run, state), box.definitions)
    text = text_of(reply)
    if not reply.tool_calls:
        return ended(run, state, text)
    update = planned(run, state, _plan_of(box, reply, text))
    begun: State = {**state, **update}  # type: ignore[typeddict-item]
    return {**update, "requests": [*state["requests"], *_drafted(run, begun, [])], "usage": run.usage()}


def _plan_of(box: Toolbox, reply: AIMessage, text: str) -> ApiPlan:
    """Return the tool calls of a reply as an API plan."""
    calls: ApiPlan = {"calls": [], "reason": storable_text(text)}
    for number, call in enumerate(reply.tool_calls, 1):
        tool = box.tools[call["name"]]
        made: ToolCall = {
            "id": storable_text(call["id"] or f"call-{number}")[:MAX_ID],
            "name": call["name"],
            "arguments": storable_value(call["args"]),
        }
        purpose = summary_line(tool.operation)
        calls["calls"].append({"operation": tool.name, "purpose": purpose, "needs": [], "tool_call": made})
    return calls


def _drafted(run: Run, state: State, requests: Sequence[Request]) -> list[Request]:
    """Draft the next calls of the plan: reads together, or changes; return nothing if all calls were drafted."""
    numbers = next_calls(run.catalogue, state["api_plan"], requests, reads=run.rules.reads)
    if not numbers:
        return []
    left = run.context.max_requests - spent_since(state["baseline"], state["usage"])["requests"]
    listed = []
    for position, number in enumerate(numbers):
        problem = f"The budget of {run.context.max_requests} requests is used up." if position >= left else ""
        listed.append(_request(run, state, number, problem))
    return listed


def _request(run: Run, state: State, number: int, problem: str) -> Request:
    """Draft the request of one tool call; one that cannot be made is rejected with the problem as its note."""
    call = state["api_plan"]["calls"][number - 1]
    tool = toolbox(run.catalogue).tools[call["tool_call"]["name"]]
    name = f"{run.request_id(len(made_in_turn(state)) + number)}.0"
    try:
        if problem:
            raise ValueError(problem)
        drafted = traced_draft(
            run,
            state,
            tool.operation,
            tool.arguments.grouped(call["tool_call"]["arguments"]),
            id=name,
            name=tool.name,
            said=said(state),
            found=responses(run, state),
            answered=answered(run, state),
            known=known_words(run, state),
            description=call["purpose"],
        )
    except (ArgumentError, ValueError) as error:
        is_read = run.rules.effect(tool.operation).is_read
        return _rejected(tool, call["tool_call"], name, state["round"], number, str(error), is_read=is_read)
    return request_of(drafted.to_json(), round_number=state["round"], call=number)


def _rejected(
    tool: Tool, call: ToolCall, name: str, round_number: int, number: int, problem: str, *, is_read: bool
) -> Request:
    """Return the record of a tool call for which no request can be made, with the arguments as the model wrote them."""
    return request_of(
        {
            "id": name,
            "operation": tool.name,
            "safe": is_read,
            "arguments": call["arguments"],
            "pages": 1,
            "description": "",
            "fingerprint": "",
            "status": "rejected",
            "note": storable_text(problem),
            "response": {},
            "api": api_record(tool.operation.api),
        },
        round_number=round_number,
        call=number,
    )


def _answered(run: Run, request: Request) -> Request:
    """Return a request with the start of its response as the result, for the record and for an answer without model."""
    if request["status"] != "sent":
        return request
    return {**request, "status": "parsed", "result": shortened(_body(run, request), run.context.result_budget * 4)}


def _prompt(run: Run, state: State) -> list[BaseMessage]:
    """Return the instruction, then each reply of the model with the results of its tool calls."""
    prompt: list[BaseMessage] = [SystemMessage(render("tools", today=run.today())), HumanMessage(state["instruction"])]
    for step in trial_steps(state):
        plan = step["api_plan"]
        made = [call["tool_call"] for call in plan["calls"]]
        calls = [
            {"id": call["id"], "name": call["name"], "args": call["arguments"], "type": "tool_call"} for call in made
        ]
        prompt.append(AIMessage(plan["reason"], tool_calls=calls))
        results = {request["call"]: request for request in step["requests"]}
        prompt += [_result(run, call, results.get(number)) for number, call in enumerate(made, 1)]
    return prompt


def _result(run: Run, call: ToolCall, request: Request | None) -> ToolMessage:
    if request is None:
        return ToolMessage(NOT_MADE, tool_call_id=call["id"], name=call["name"], status="error")
    is_good = succeeded(request) or request["status"] == "held"
    status = "success" if is_good else "error"
    return ToolMessage(_text(run, request), tool_call_id=call["id"], name=call["name"], status=status)


def _text(run: Run, request: Request) -> str:
    """Return the outcome of a request: the body alone if it succeeded, otherwise the status or the reason."""
    note = request["note"]
    if request["status"] == "held":
        return f"Not sent, because this is a dry run. It would be: {note}"
    if request["status"] == "rejected":
        return f"{NOT_MADE} {note}"
    if request["status"] != "parsed":
        return f"No answer. {note}"
    body = _body(run, request)
    if not succeeded(request):
        return f"HTTP {request['response']['status']}: {body}"
    if note:
        sent = json.dumps(request["arguments"], ensure_ascii=False)
        return f"{note} It was sent with {sent}.\n{body}"
    return body


def _body(run: Run, request: Request) -> str:
    """Return the body of a response as text, up to `MAX_BODY` characters."""
    handle = request["response"].get("handle")
    if not handle:
        return "The response has no body."
    try:
        body = run.session.responses.open(handle)
    except UnknownHandleError:
        return "The body of this response is no longer kept."
    if body.is_binary:
        return f"A {body.media_type} of {body.size} bytes was received."
    text = body.text(MAX_BODY)
    return f"{text}… (cut: the response has {body.size} bytes)" if body.size > len(text.encode()) else text


def _made(steps: Sequence[Step]) -> Iterator[Request]:
    """Yield the requests of finished rounds."""
    for step in steps:
        yield from step["requests"]


def _received(run: Run, requests: Sequence[Request]) -> Iterator[str]:
    """Yield the bodies of the successful responses."""
    for request in requests:
        if succeeded(request):
            yield _body(run, request)

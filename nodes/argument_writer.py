"""The arguments of planned calls, one call after the other, as on the paper's road (paper, section 3.3)."""

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field, model_validator

from restgpt.calling.record import MAX_PAGES, Request, request_of
from restgpt.nodes.dialogue.answer import given_up
from restgpt.nodes.dialogue.conversation import (
    answered,
    known_words,
    operations_by_handle,
    responses,
    said,
    traced_draft,
)
from restgpt.nodes.dialogue.knowledge import rules_text
from restgpt.nodes.programs.calls import made_in_turn
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import PlannedCall, spent_since
from restgpt.nodes.state.results import (
    MAX_REPAIRS,
    NOTHING_YET,
    background,
    latest,
    lineage,
    next_calls,
    of_turn,
    result_of,
    step_of,
    to_repair,
)
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt.specs import Operation
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.field import plain_text
from restgpt.specs.docs.interface import interface
from restgpt.specs.docs.signature import NOTED_MOST
from restgpt.tools.errors import ArgumentError
from restgpt.tools.model.model_errors import ModelReplyError, UsedUpError
from restgpt.tools.model.reply import written_calls

MOST_NAMED = 4
"""How many operations that give a value are named."""

MAX_REQUESTS = 60
"""The maximum number of requests in one reply."""


class Call(BaseModel):
    """One request to send."""

    call: int = Field(description="Number of the planned call that it carries out.")
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="Arguments by place: path, query, header, cookie, body."
    )
    description: str = Field(description="What the response is about, with the values used.")
    output_instruction: str = Field(
        default="", description="What to extract from the response, with every condition; empty if it has no body."
    )
    pages: int = Field(default=1, ge=1, le=MAX_PAGES, description="How many pages of a list to read at most.")


class CallerReply(BaseModel):
    """The requests that carry out the planned calls."""

    thought: str = Field(default="", description="Where each value comes from, in one or two sentences.")
    calls: list[Call] = Field(description="One entry per request to send.", max_length=MAX_REQUESTS)
    missing: str = Field(default="", description="The required value that is not known, if there is one.")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        calls = written_calls(given)
        entries = [{"call": 0, "arguments": call.arguments, "description": str(call)} for call in calls]
        return {"calls": entries} if calls else given


def requests_of(
    run: Run,
    state: State,
    reply: CallerReply,
    numbers: Sequence[int],
    refused: Sequence[Request],
    claims: list[str],
) -> list[Request]:
    """Build and check the requests of a reply; raises `ValueError` with all problems.

    `claims` are those of earlier refusals that the model has read; those of this one are added.
    """
    problems: list[str] = []
    insisted = tuple(claims)
    requests: list[Request] = []
    waiting = list(refused)
    made = len(made_in_turn(state))
    left = _left(run, state)
    if len(reply.calls) > left:
        raise ValueError(f"calls: {len(reply.calls)} requests are too many: the budget leaves {left}. Choose.")
    more_pages = left - len(reply.calls)
    for position, call in enumerate(reply.calls, 1):
        if len(numbers) == 1 and (len(reply.calls) == 1 or not 1 <= call.call <= len(state["api_plan"]["calls"])):
            call.call = numbers[0]
        if call.call not in numbers:
            problems.append(f"calls.{position}.call: {call.call} is not one of {list(numbers)}.")
            continue
        planned = state["api_plan"]["calls"][call.call - 1]
        before = next((request for request in waiting if request["call"] == call.call), None)
        if before is not None:
            waiting.remove(before)
        try:
            request = _request(run, state, call, planned, before, made + len(requests) + 1, insisted)
        except (ArgumentError, ValueError) as error:
            claims += error.claims if isinstance(error, ArgumentError) else ()
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
    """Mark a refused request that the caller did not repeat, so that no further repair is tried."""
    return {**request, "attempt": MAX_REPAIRS}


def _left(run: Run, state: State) -> int:
    """Return the number of requests that the budget leaves; each page of a list counts as one."""
    return max(0, run.context.max_requests - spent_since(state["baseline"], state["usage"])["requests"])


def _request(
    run: Run,
    state: State,
    call: Call,
    planned: PlannedCall,
    before: Request | None,
    number: int,
    insisted: Sequence[str],
) -> Request:
    """Build one request, of a number in the turn; `before` is the refused request that it repairs."""
    operation = run.catalogue.operation(planned["operation"])
    attempt = before["attempt"] + 1 if before else 0
    part = lineage(before) if before else run.request_id(number)
    drafted = traced_draft(
        run,
        state,
        operation,
        call.arguments,
        id=f"{part}.{attempt}",
        name=planned["operation"],
        said=said(state),
        found=responses(run, state),
        operations=operations_by_handle(state),
        answered=answered(run, state),
        known=known_words(run, state),
        pages=call.pages,
        description=call.description,
        insisted=insisted,
    )
    return request_of(
        run.session.keep(drafted),
        round_number=state["round"],
        call=call.call,
        attempt=attempt,
        output_instruction=call.output_instruction.strip() or planned["purpose"],
    )


def arguments_prompt(
    run: Run,
    state: State,
    requests: Sequence[Request],
    numbers: Sequence[int],
    refused: Sequence[Request],
) -> list[BaseMessage]:
    """Return the prompt for the arguments of the planned calls `numbers`, with the `refused` requests and answers."""
    planned = state["api_plan"]["calls"]
    known = background(state["steps"], before_task=state["task"] + 1, turn=state["turn"])
    if done := [request for request in latest(requests) if request not in refused]:
        found = "Calls of this plan that were made:\n" + fenced("result", result_of(done, numbered=True))
        known = found if known == NOTHING_YET else f"{known}\n\n{found}"
    names = dict.fromkeys(planned[number - 1]["operation"] for number in numbers)
    documentation = [f"## {name}\n{documented(run, name, planned)}" for name in names]
    prompt: list[BaseMessage] = [
        SystemMessage(render("caller", examples=run.examples("caller"))),
        HumanMessage(
            render(
                "caller_task",
                today=run.today(),
                background=known,
                instruction=state["instruction"],
                sub_task=sub_task(state),
                rules=rules_text(run, operations_of(run, names), state["instruction"]),
                calls="\n".join(
                    f"{number}. {planned[number - 1]['operation']}: {planned[number - 1]['purpose']}"
                    for number in numbers
                ),
                documentation=fenced("document", "\n\n".join(documentation)),
            )
        ),
    ]
    if refused:
        prompt += refusals(refused)
    return prompt


def documented(run: Run, name: str, planned: Sequence[PlannedCall]) -> str:
    """Return the documentation of an operation; the purposes of the planned calls select the response fields."""
    purposes = " ".join(call["purpose"] for call in planned if call["operation"] == name)
    operation = run.catalogue.operation(name)
    text = documentation(operation, budget=run.context.documentation_budget, focus=purposes)
    noted = plain_text(run.learned().noted(operation), NOTED_MOST)
    return f"{text}\nNote: {noted}." if noted else text


def sub_task(state: State) -> str:
    """Return the sub-task and its unfinished part; empty for a method without sub-tasks."""
    if not state["plan"]:
        return ""
    still = f"\nStill to be done: {state['decision']['text']}" if state["decision"]["kind"] == "continue" else ""
    return f"\nSub-task: {state['plan']}{still}\n"


def refusals(refused: Sequence[Request]) -> list[BaseMessage]:
    """Return the messages with the refused requests and the API's error responses."""
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


def producers(run: Run, operations: Sequence[str]) -> str:
    """Name, for each path parameter, the operations whose responses contain its values."""
    lines = []
    for name in operations:
        for parameter, producers in run.catalogue.producers(run.catalogue.operation(name)).items():
            names = ", ".join(run.catalogue.name_of(producer) for producer in producers[:MOST_NAMED])
            if names:
                lines.append(f"{parameter}: {names}")
    return "; ".join(dict.fromkeys(lines))


def operations_of(run: Run, names: Iterable[str]) -> list[Operation]:
    """Return the operations of these names, each once."""
    return [run.catalogue.operation(name) for name in dict.fromkeys(names)]


def functions_of(run: Run, operations: Sequence[Operation], focus: str) -> str:
    """Write operations as typed functions within the budget of the caller; words of `focus` select fields."""
    budget = run.context.documentation_budget
    return interface(
        operations,
        run.catalogue.function_name,
        budget=budget,
        most=budget,
        focus=focus,
        learned=run.learned(focus),
        reads=run.rules.reads,
    )


def next_requests(run: Run, state: State, requests: Sequence[Request]) -> dict[str, Any]:
    """Have the model write the arguments of the next planned calls, or correct those that the API refused."""
    refused = to_repair(requests)
    numbers = sorted({request["call"] for request in refused}) or next_calls(
        run.catalogue, state["api_plan"], requests, reads=run.rules.reads
    )
    try:
        built, missing = _arguments(run, state, requests, numbers, refused)
    except UsedUpError as error:
        return without_requests(run, state, requests, f"No request was made. {error}")
    except ModelReplyError as error:
        remark = f"No request was made. {error}"
        return {**without_requests(run, state, requests, remark), "proposal": given_up(remark, of_turn(state))}
    if built:
        return {"requests": built, "hint": "", "usage": run.usage()}
    return _missing(run, state, requests, numbers, missing or "The caller made no request.")


def _arguments(
    run: Run, state: State, requests: Sequence[Request], numbers: Sequence[int], refused: Sequence[Request]
) -> tuple[list[Request], str]:
    """Ask for the arguments of planned calls; return the requests, or which value is missing. Raises `ModelError`."""
    found: list[tuple[list[Request], str]] = []
    claims: list[str] = []

    def check(reply: CallerReply) -> None:
        found[:] = [(requests_of(run, state, reply, numbers, refused, claims), reply.missing)]

    run.models.ask("caller", arguments_prompt(run, state, requests, numbers, refused), CallerReply, check=check)
    return found[0]


def _missing(
    run: Run, state: State, requests: Sequence[Request], numbers: Sequence[int], missing: str
) -> dict[str, Any]:
    """Return to the selector with a hint about an unknown value; the second time, return to the planner.

    After a failed program return to the planner at once: the selector's next plan would get new programs, which fail
    as well, and so on.
    """
    reason = f"A required value is not known: {missing}"
    operations = producers(run, [state["api_plan"]["calls"][number - 1]["operation"] for number in numbers])
    if operations:
        reason += f"\nOperations that give such values: {operations}"
    if requests or state["hint"] or state.get("program") is not None:
        return without_requests(run, state, requests, reason)
    return {"hint": reason, "usage": run.usage()}


def without_requests(run: Run, state: State, requests: Sequence[Request], remark: str) -> dict[str, Any]:
    """Return the update that ends the round without a further request, with a remark for the planner."""
    step = step_of(state, requests=requests, result=result_of(latest(requests), remark))
    return {"steps": [step], "hint": "", "usage": run.usage()}

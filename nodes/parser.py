"""The parser: runs programs, and extracts results with generated Python (paper, section 3.3).

If that Python fails, the model reads the body.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from restgpt.calling.record import Request, seems_to_read, succeeded
from restgpt.nodes.programs.calls import made_in_turn
from restgpt.nodes.programs.program import advance, is_running
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.results import is_closed, is_over, latest, of_round, result_of, step_of
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt.specs.docs.documentation import described_status, response_documentation
from restgpt.tools.model.model_errors import UsedUpError
from restgpt.tools.response.content import Body, useful_headers
from restgpt.tools.response.sketch import sketch
from restgpt.tools.response.store import UnknownHandleError
from restgpt.tools.sandbox.result import STANDARD, SandboxResult, Status
from restgpt.tools.sandbox.runner import run_python

SMALL_BODY = 400
"""A body of at most this many bytes is the result as it is, without a model call."""

ERROR_BODY = 1500
"""The maximum number of characters of an error response's body in a prompt."""

REPAIRS = 1
"""How often the model gets failed code back with its traceback."""

SCHEMA_BUDGET = 1000
"""The maximum number of tokens of the response schema in a prompt."""

ANYTHING = "What the response says, in short."
"""The query for a response with a body where the document promises none."""

UNREPAIRABLE = frozenset(
    {
        Status.SANDBOX_UNAVAILABLE,
        Status.INTERNAL_ERROR,
        Status.INPUT_INVALID,
        Status.INPUT_TOO_LARGE,
        Status.INPUT_TOO_DEEP,
    }
)
"""Sandbox failures that other code cannot fix: the model reads the body instead."""


def parse(run: Run, state: State) -> dict[str, Any]:
    """Run the program of the round up to its next calls or its end, or read the responses; return the update."""
    requests = of_round(state)
    if state.get("proposal") or is_closed(state):
        return {}
    if is_running(state.get("program")):
        return advance(run, state)
    parsed: list[Request] = []
    for request in requests:
        if request["status"] == "sent":
            run.learn(request, made_in_turn(state))
            request = _with_headers(run, _parsed(run, request, parsed))
        parsed.append(request)
    update: dict[str, Any] = {"requests": parsed}
    if is_over(run.catalogue, state["api_plan"], parsed, reads=run.rules.reads):
        update["steps"] = [step_of(state, requests=parsed, result=result_of(latest(parsed)))]
    return update


def _parsed(run: Run, request: Request, others: Sequence[Request]) -> Request:
    response = request["response"]
    try:
        body = run.session.responses.open(response["handle"]) if response.get("handle") else None
    except UnknownHandleError:
        return {**request, "status": "parsed", "result": "The body of this response is no longer kept."}
    if body is None or not body.size:
        return {**request, "status": "parsed", "result": _without_body(run, request)}
    if not succeeded(request):
        return {**request, "status": "parsed", "result": _bounded(body.text(ERROR_BODY), ERROR_BODY)}
    if body.is_binary:
        return {**request, "status": "parsed", "result": f"A {body.media_type} of {body.size} bytes was received."}
    if body.size <= SMALL_BODY:
        return {**request, "status": "parsed", "result": _small(run, request, body)}
    try:
        result, code = _by_code(run, request, body, others) if run.context.code else ("", "")
        if not result:
            result = _directly(run, request, body)
    except UsedUpError as error:
        return {**request, "status": "parsed", "result": f"This response was not read. {error}"}
    limit = run.context.result_budget * 4
    return {**request, "status": "parsed", "result": _bounded(result, limit), "code": code}


def _with_headers(run: Run, request: Request) -> Request:
    """Add the headers to a result that later calls may need."""
    response, operation = request["response"], run.catalogue.operation(request["operation"])
    found = useful_headers(operation, response["status"], response.get("headers") or {})
    if not found:
        return request
    named = ", ".join(f"{name}: {value}" for name, value in found.items())
    return {**request, "result": f"{request['result']} (Headers: {named})".lstrip()}


def _small(run: Run, request: Request, body: Body) -> str:
    """Return a small body as it is; after a change, add the document's description of the response status."""
    text = body.text(SMALL_BODY)
    return text if seems_to_read(request) else f"{text} {_documented(run, request)}".rstrip()


def _without_body(run: Run, request: Request) -> str:
    return f"The response has no body. {_documented(run, request)}".rstrip()


def _documented(run: Run, request: Request) -> str:
    """Return the document's description of this response status; empty if it has none that says more than success."""
    said = described_status(run.catalogue.operation(request["operation"]), request["response"]["status"])
    return f"Documented for this status: {said}" if said else ""


def _bounded(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def _by_code(run: Run, request: Request, body: Body, others: Sequence[Request]) -> tuple[str, str]:
    """Return the output of the model's code, and the code; the output is empty if no code worked.

    Code that read another response of the same operation for the same query is run first, without a model call.
    """
    code = _same_query(request, others)
    if code and (outcome := _run(run, code, body)).ok:
        return outcome.output.strip(), code
    prompt = _prompt(run, request, body)
    for _ in range(REPAIRS + 1):
        code = run.models.read("parser", prompt)
        outcome = _run(run, code, body)
        if outcome.ok:
            return outcome.output.strip(), code
        if outcome.status in UNREPAIRABLE:
            break
        feedback = fenced("feedback", outcome.feedback())
        prompt = [*prompt, AIMessage(code), HumanMessage(render("parser_repair", feedback=feedback))]
    return "", code


def _run(run: Run, code: str, body: Body) -> SandboxResult:
    return run_python(code, body.raw, media="json" if body.is_json else "text", limits=run.limits(STANDARD))


def _same_query(request: Request, others: Sequence[Request]) -> str:
    """Return code that read another response for the same query, unless the code has words specific to that request."""
    wanted = (request["operation"], request["output_instruction"])
    for other in others:
        its_own = _subject(other) - _subject(request)
        if (other["operation"], other["output_instruction"]) == wanted and not its_own & _words(other["code"]):
            return other["code"]
    return ""


def _subject(request: Request) -> set[str]:
    """Return the words of a request's description and arguments, which differ between requests of one operation."""
    return _words(f"{request['description']} {json.dumps(request['arguments'], ensure_ascii=False)}")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _prompt(run: Run, request: Request, body: Body) -> list[BaseMessage]:
    operation = run.catalogue.operation(request["operation"])
    schema = response_documentation(
        operation,
        status=request["response"]["status"],
        focus=request["output_instruction"],
        budget=SCHEMA_BUDGET,
        received=body.value if body.is_json else None,
    )
    return [
        SystemMessage(render("parser", run.context.parser_prompt)),
        HumanMessage(
            render(
                "parser_task",
                today=run.today(),
                call=f"{operation.method} {operation.path}",
                arguments=json.dumps(request["arguments"], ensure_ascii=False),
                description=request["description"],
                schema=fenced("document", schema),
                shape=fenced("shape", _shape(request, body)),
                query=request["output_instruction"] or ANYTHING,
            )
        ),
    ]


def _shape(request: Request, body: Body) -> str:
    """Return the shape of the response, with the fields first that the query names."""
    if not body.is_json:
        return str(request["response"]["sketch"])
    return sketch(body.value, query=request["output_instruction"])


def _directly(run: Run, request: Request, body: Body) -> str:
    """Let the model read the body, cut to the budget, when code did not work."""
    operation = run.catalogue.operation(request["operation"])
    limit = run.context.result_budget * 4
    text = body.text(limit + 1)
    if len(text) > limit:
        text = f"{text[:limit]}\n… (cut after {limit} characters; the response has {body.size} bytes)"
    return run.models.read(
        "parser",
        [
            SystemMessage(render("direct")),
            HumanMessage(
                render(
                    "direct_task",
                    call=f"{operation.method} {operation.path}",
                    arguments=json.dumps(request["arguments"], ensure_ascii=False),
                    description=request["description"],
                    response=fenced("response", text),
                    query=request["output_instruction"] or ANYTHING,
                )
            ),
        ],
    )

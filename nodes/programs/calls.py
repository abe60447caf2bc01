"""The calls of a program: drafted from the functions and arguments that it names, with the origin of every value."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, cast

from restgpt.calling.record import MAX_PAGES, CallSite, Request, request_of
from restgpt.nodes.dialogue.conversation import (
    MOST_TRACED,
    answered,
    known_words,
    operations_by_handle,
    responses,
    said,
    traced_draft,
)
from restgpt.nodes.programs.log import made_in_turn
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import functions_in, of_program, unsaid_by
from restgpt.nodes.state.records import Program
from restgpt.nodes.state.state import State
from restgpt.specs import Operation
from restgpt.specs.docs.arguments import arguments_of, body_fields
from restgpt.specs.effect import seems_to_read as operation_reads
from restgpt.specs.effort import within
from restgpt.specs.operation import BODY, PAGES
from restgpt.specs.schemas.shape import Shape
from restgpt.tools.sandbox.code import call_text, digest_of
from restgpt.tools.sandbox.result import WantedCall
from restgpt.tools.text.storable import storable_text

FIELDS_MOST = 400
"""The fields of a result with more of them are not listed, so any field may be read."""

TRUTHS_DEPTH = 3
"""How deep an answer is searched for fields that are true or false."""

STEPS_MOST = 15_000
"""How many steps one stub may take; what is not known by then is left out."""

OTHERWISE = "The document describes this operation otherwise than when the recipe was saved."
"""Why a person is asked about a change of a recipe, whatever the rules say."""


def stub(operation: Operation, name: str, *, reads: Callable[[Operation], bool] = operation_reads) -> dict[str, Any]:
    """Describe the function of an operation: its keywords, the fields of its body and of its result.

    `reads` tells whether the operation reads, or seems to, so that several pages of it may be asked for.
    """
    pages = [PAGES] if reads(operation) else []
    with within(STEPS_MOST, operation.document.allowance):
        body = operation.sent
        return {
            "name": name,
            "keywords": {item.name: item.required for item in operation.accepted},
            "others": [*([BODY, *body_fields(body)] if body is not None else []), *pages],
            "needs_body": operation.body is not None and operation.body.required,
            "result": _result(operation),
            "truths": sorted(_truths(operation)),
        }


def _result(operation: Operation) -> list[str] | None:
    """Return the fields of the object that every successful response is; None if others may occur."""
    successes = [status for status in operation.responses if status.startswith("2")] or ["default"]
    media = [response.preferred for status in successes if (response := operation.responses.get(status))]
    contents = [content for content in media if content is not None]
    if not contents or any("json" not in item.media_type.lower() and "*" not in item.media_type for item in contents):
        return None
    shape = Shape(operation.document, contents[0].schema)
    is_closed = shape.kinds == ("object",) and not shape.is_open and not shape.is_base
    if any(item.schema != contents[0].schema for item in contents) or not is_closed:
        return None
    return list(shape.fields) if len(shape.fields) <= FIELDS_MOST else None


def _truths(operation: Operation) -> set[str]:
    """Return the names under which an answer holds true or false, wherever they occur in it."""
    waiting = [(shape, TRUTHS_DEPTH)] if (shape := operation.received) is not None else []
    truths: set[str] = set()
    others: set[str] = set()
    for shape, depth in waiting:
        inner = shape.items or shape
        for name, field in islice(inner.fields.items(), FIELDS_MOST if depth else 0):
            (truths if field.kinds == ("boolean",) else others).add(name)
            waiting.append((field, depth - 1))
    return truths - others


WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A word of a program, which may be the name of a function."""


def maker(run: Run, state: State, program: Program, before: int) -> Callable[[WantedCall, int], Request]:
    """Return a function that drafts calls of the program; it reads the responses once, if a call needs their values."""
    texts = said(state)
    made = len(made_in_turn(state))
    functions, record = functions_of(run, state, program), of_program(state, program)
    changed = functions_in(run.catalogue, record).changed if record is not None else ()
    code = _code(state, program)

    @cache
    def found() -> list[tuple[str, Any]]:
        # A program may use any of its answers, also the first of many.
        return list(responses(run, state, most=MOST_TRACED))

    @cache
    def operations() -> Mapping[str, str]:
        return operations_by_handle(state)

    def answers() -> Iterator[tuple[str, Any]]:
        yield from found()

    given_by = answered(run, state, most=MOST_TRACED, seen=program.get("seen"))
    # A client's model has a conversation of its own with the user, so what it writes is not invented here.
    known = known_words(run, state, [program["code"]] if program["writer"] == "client" else [])

    def make(call: WantedCall, number: int) -> Request:
        operation = functions.get(call.function)
        if operation is None:
            raise ValueError(f"there is no function {call.function}")
        keywords = dict(call.keywords)
        pages = _pages(keywords.pop("pages", 1))
        arguments = arguments_of(operation, keywords, call.positional, name=call.function)
        drafted = traced_draft(
            run,
            state,
            operation,
            arguments,
            known=known,
            # A client may say the same twice, and it words its programs itself.
            repeats=program["writer"] == "client",
            id=f"{run.request_id(made + number)}.0",
            name=run.catalogue.name_of(operation),
            said=texts,
            found=answers(),
            operations=operations(),
            code=code,
            line=call.line,
            answered=given_by,
            pages=pages,
            # The pause shows the line of a recipe; code made by `exec` has none.
            description=call.source if call.line and program["writer"] != "recipe" else "",
        )
        if call.function in changed and not drafted.effect.is_read:
            drafted = replace(drafted, doubt=OTHERWISE)
        place: CallSite = {
            "position": call.position,
            "line": call.line,
            "source": storable_text(call.source),
            "program": program["number"],
            "digest": call.digest,
            **_of_recipe(run, program, call, operation),
        }
        return request_of(run.session.keep(drafted), round_number=state["round"], call=before + number, place=place)

    return make


def _code(state: State, program: Program) -> str:
    """Return the code of a program; inputs that the user did not say count as its literals."""
    record = of_program(state, program)
    unsaid = unsaid_by(record) if record is not None else {}
    return f"{program['code']}\n{json.dumps(unsaid, ensure_ascii=False)}" if unsaid else program["code"]


def functions_of(run: Run, state: State, program: Program) -> Mapping[str, Operation]:
    """Return the functions that a program can call: those of its recipe, those it is limited to, or all of the APIs."""
    record = of_program(state, program)
    if record is not None:
        return functions_in(run.catalogue, record).operations
    known, long, allowed = run.catalogue.functions, run.catalogue.long_functions, program.get("functions")
    if allowed is not None:
        known = {name: found for name in allowed if (found := known.get(name) or long.get(name))}
    # Code from before the names were shortened, or of a client that knows the operationIds.
    used = {name: long[name] for name in WORD.findall(program["code"]) if name in long and long[name] in known.values()}
    return {**known, **used} if used else known


def _of_recipe(run: Run, program: Program, call: WantedCall, operation: Operation) -> CallSite:
    """Return what the place of a recipe's call has besides, so that a model's program can take its answer."""
    if program["writer"] != "recipe":
        return cast(CallSite, {})
    text = call_text(run.catalogue.function_name(operation), call.positional, call.keywords)
    return cast(CallSite, {"function": call.function, "shown_digest": digest_of(text)})


def _pages(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise ValueError(f"pages is a number from 1 to {MAX_PAGES}")
    return min(given, MAX_PAGES)

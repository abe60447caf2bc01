"""The calls of a program: drafted from the functions and arguments that it names, with the origin of every value."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from restgpt.calling.record import MAX_PAGES
from restgpt.nodes.dialogue.conversation import (
    answered,
    grounded_draft,
    operations_by_handle,
    responses,
    said,
    sources_of,
)
from restgpt.nodes.programs.log import ProgramState
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import comparison_of, of_program, unsaid_by
from restgpt.nodes.state.records import CallSite, Program, Request, placed
from restgpt.specs import Operation
from restgpt.specs.docs.words.keyword import arguments_of
from restgpt.tools.sandbox.guest.digest import call_text, digest_of
from restgpt.tools.sandbox.program import WantedCall
from restgpt.tools.text.storable import storable_text

WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A word of a program, which may be the name of a function."""

MOST_TRACED = 1000
"""The maximum number of responses whose values a program's calls may use."""


def maker(run: Run, state: ProgramState, program: Program, before: int) -> Callable[[WantedCall, int], Request]:
    """Return a function that drafts calls of the program; it reads the responses once, if a call needs their values."""
    texts = said(state)
    functions, record = functions_of(run, state, program), of_program(state, program)
    renamed = {} if record is None else comparison_of(run.catalogue, record).renamed
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
    earlier = (item for step in state["steps"] for item in step["requests"])
    # A client's model has a conversation of its own with the user, so what it writes is not invented here.
    written = [program["code"]] if program["writer"] == "client" else []
    evidence = sources_of(run, state, earlier, answers(), written)

    def make(call: WantedCall, number: int) -> Request:
        operation = functions.get(call.function)
        if operation is None:
            raise ValueError(f"there is no function {call.function}")
        names = renamed.get(call.function, {})
        keywords = {names.get(name, name): value for name, value in call.keywords.items()}
        pages = _pages(keywords.pop("pages", 1))
        arguments = arguments_of(operation, keywords, call.positional, name=call.function)
        drafted = grounded_draft(
            run,
            operation,
            arguments,
            id=f"{run.new_id()}.0",
            name=run.catalogue.name_of(operation),
            said=texts,
            found=answers(),
            operations=operations(),
            evidence=evidence,
            remedy="an answer. Take it from the answer of a call that gives it.",
            code=code,
            line=call.line,
            answered=given_by,
            pages=pages,
            # No model says why a recipe makes a call; the pause shows the line.
            description="" if program["writer"] == "recipe" else _reason(call),
        )
        place: CallSite = {
            "position": call.position,
            "line": call.line,
            "source": storable_text(call.source),
            "program": program["number"],
            "digest": call.digest,
            **_of_recipe(run, program, call, operation),
        }
        return placed(drafted.to_json(), round_number=state["round"], call=before + number, place=place)

    return make


def _code(state: ProgramState, program: Program) -> str:
    """Return the code of a program; inputs that the user did not say count as its literals."""
    record = of_program(state, program)
    unsaid = unsaid_by(record) if record is not None else {}
    return f"{program['code']}\n{json.dumps(unsaid, ensure_ascii=False)}" if unsaid else program["code"]


def functions_of(run: Run, state: ProgramState, program: Program) -> Mapping[str, Operation]:
    """Return the functions that a program can call: those of its recipe, those it is limited to, or all of the APIs."""
    record = of_program(state, program)
    if record is not None:
        return comparison_of(run.catalogue, record).functions
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


def _reason(call: WantedCall) -> str:
    """Return why a call is made, for the person who is asked; code made by `exec` has no line in the program."""
    return f"line {call.line} of the program calls it: {call.source}" if call.line else "the program calls it"


def _pages(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise ValueError(f"pages is a number from 1 to {MAX_PAGES}")
    return min(given, MAX_PAGES)

"""The caller's program for a sub-task: written from the operations of the API plan, or corrected after it failed.

The caller's reply for the whole instruction: a program, a recipe, functions that it needs to see, or the answer.

The caller: writes what is called, as a program or as the arguments of single requests (paper, section 3.3).
"""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from restgpt.nodes.argument_writer import functions_of, next_requests, operations_of, sub_task, without_requests
from restgpt.nodes.dialogue.answer import doubt, given_up, is_fulfilled, used_up_text
from restgpt.nodes.dialogue.conversation import answered_apis, topic, turn_message
from restgpt.nodes.dialogue.functions import functions_text, look_text
from restgpt.nodes.dialogue.knowledge import ASK, MAX_LOOKS, apis_text, rules_text
from restgpt.nodes.programs.calls import left
from restgpt.nodes.programs.ending import Ending, close
from restgpt.nodes.programs.program import may_write, program_text, written
from restgpt.nodes.programs.program_reply import Alternatives, ProgramReply, remarks
from restgpt.nodes.recipe_choice import RecipeReply, chosen, offer_of, offered_recipes, recipe_program
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import current
from restgpt.nodes.state.records import FunctionChoice, Look, PlannedCall, Proposal, Step
from restgpt.nodes.state.results import (
    background,
    bounded_results,
    decision_message,
    is_closed,
    of_round,
    of_turn,
    shortened,
)
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt.tools.model.model_errors import ModelReplyError, UsedUpError
from restgpt.tools.sandbox.code import program_code
from restgpt.tools.text.storable import storable_text


def sub_task_program(run: Run, state: State) -> dict[str, Any]:
    """Have the model write the program of the API plan, or correct the one that failed."""
    before = state.get("program")
    planned = state["api_plan"]["calls"]
    is_last = state["decision"].get("last", False)
    prompt: list[BaseMessage] = [
        SystemMessage(render("caller_program", program=program_text(run, "caller_report"))),
        HumanMessage(
            render(
                "caller_program_task",
                today=run.today(),
                background=background(state["steps"], before_task=state["task"] + 1, turn=state["turn"]),
                instruction=state["instruction"],
                sub_task=sub_task(state).strip().removeprefix("Sub-task: "),
                last=f"\n{render('caller_program_last')}\n" if is_last else "",
                rules=rules_text(
                    run, operations_of(run, (call["operation"] for call in planned)), state["instruction"]
                ),
                calls="\n".join(
                    f"{number}. {_function(run, call)}: {call['purpose']}" for number, call in enumerate(planned, 1)
                ),
                functions=fenced("document", _functions(run, planned)),
            )
        ),
    ]
    if before is not None:
        feedback = render("caller_program_again", feedback=fenced("feedback", before["feedback"]))
        prompt += [AIMessage(f"```python\n{before['code']}\n```"), HumanMessage(feedback)]
    code = run.models.read_program("caller", prompt)
    number = before["number"] + 1 if before else 1
    seen = answered_apis(state["steps"], state["requests"], messages=state["messages"])
    program = written(run, code, writer="caller", number=number, is_last=is_last, before=before, seen=seen)
    if before is not None and before["code"] == program["code"] and not before.get("refused"):
        return close(run, state, Ending("failed", before["feedback"], before, of_round(state), is_final=True))
    return {"program": program, "hint": "", "usage": run.usage()}


def _function(run: Run, call: PlannedCall) -> str:
    """Return the name of the function of a planned call; an operation's own name may be no name of Python."""
    return run.catalogue.function_name(run.catalogue.operation(call["operation"]))


def _functions(run: Run, planned: Sequence[PlannedCall]) -> str:
    """Return the signatures of the planned operations; their purposes select the fields of the answers."""
    operations = operations_of(run, (call["operation"] for call in planned))
    return functions_of(run, operations, " ".join(call["purpose"] for call in planned))


AGAIN_SHOWN = 1000
"""The maximum number of characters of a result that is told to a model that repeats its program."""


def whole_instruction(run: Run, state: State) -> dict[str, Any]:
    """Return the program for the whole instruction, that of the turn's recipe, or what the caller replies instead."""
    steps = of_turn(state)
    if (record := current(state)) and not steps:
        return recipe_program(run, state, record)
    recipes = [] if steps else offered_recipes(run, state["instruction"])
    offer = offer_of(recipes) if recipes else Alternatives("", ProgramReply)
    selection, instruction = _selection(state), state["instruction"]
    try:
        with run.answer:
            reply = run.models.ask(
                "caller",
                _whole_prompt(run, state, steps, offer),
                offer.schema,
                check=_check(run, state, steps, offer),
                callbacks=[run.answer],
                instead="planner",
            )
            if reply.decision == "end":
                return _proposed(run, _answer(run, state, steps, reply))
    except UsedUpError as error:
        text = used_up_text(error.budget, steps)
        return _proposed(run, {"kind": "end", "text": text, "fulfilled": False})
    except ModelReplyError as error:
        if error.is_shapeless and run.context.road == "auto":
            return {"road": "roles", **_proposed(run, {"kind": "plan", "text": instruction})}
        return _proposed(run, given_up(str(error), steps))
    if reply.decision == "functions":
        wish: Look = {"words": reply.text, "thought": reply.thought}
        return {"selection": {**selection, "looks": [*selection["looks"], wish]}, "usage": run.usage()}
    if isinstance(reply, RecipeReply) and reply.is_recipe:
        return recipe_program(run, state, chosen(recipes, reply.text))
    before = state.get("program") if steps else None
    if _is_last_program(state, steps, reply):
        return _proposed(run, given_up("The model wrote the same program again, which would do the same again.", steps))
    if reply.decision == "plan":
        return _proposed(run, {"kind": "plan", "text": reply.text, "thought": reply.thought})
    seen, number = answered_apis(state["steps"], messages=state["messages"]), len(steps) + 1
    program = written(run, reply.text, writer="caller", number=number, is_last=True, before=before, seen=seen)
    return {"program": program, "api_plan": {"calls": [], "reason": reply.thought}, "hint": "", "usage": run.usage()}


def _selection(state: State) -> FunctionChoice:
    return state["selection"] or {"operations": [], "others": [], "reason": "", "looks": []}


def _answer(run: Run, state: State, steps: Sequence[Step], reply: ProgramReply) -> Proposal:
    """Return the proposal of an answer; what was shown of it already is not withdrawn."""
    answer: Proposal = {"kind": "end", "text": reply.text, "fulfilled": is_fulfilled(state, steps, reply)}
    shown = run.answer.hand_over()
    return {**answer, "shown": shown} if shown else answer


def _proposed(run: Run, proposal: Proposal) -> dict[str, Any]:
    return {"proposal": proposal, "usage": run.usage()}


def _check(run: Run, state: State, steps: Sequence[Step], offer: Alternatives) -> Callable[[ProgramReply], None]:
    """Return the check of a reply for the whole instruction; it raises `ValueError`."""
    doubted, again = doubt(state, steps), list[str]()

    def check(reply: ProgramReply) -> None:
        for one in (offer.check, doubted):
            if one is not None:
                one(reply)
        if _is_last_program(state, steps, reply) and not again:
            again.append(reply.text)
            raise ValueError(
                "text: this program is the one that ran last, and would do the same again. What came of it:\n"
                f"{fenced('result', shortened(steps[-1]['result'], AGAIN_SHOWN))}\n"
                "Write another program, or end with what is known."
            )
        if reply.decision == "functions" and len(_selection(state)["looks"]) >= MAX_LOOKS:
            raise ValueError(
                "decision: no more functions can be shown. Decide with those that you see: program, plan or end."
            )

    return check


def _is_last_program(state: State, steps: Sequence[Step], reply: ProgramReply) -> bool:
    """Return whether a reply is the program that ran last in this turn, word for word, and does not insist so."""
    before = state.get("program") if steps else None
    if before is None or reply.decision != "program" or before.get("refused"):
        return False
    return program_code(storable_text(reply.text)) == before["code"]


def _whole_prompt(run: Run, state: State, steps: Sequence[Step], offer: Alternatives) -> list[BaseMessage]:
    instruction, about, selection = state["instruction"], topic(state), _selection(state)
    text = render(
        "instruction",
        run.context.caller_prompt,
        apis=apis_text(run, about, remedy=ASK),
        program=program_text(run, "instruction_report"),
        functions=fenced("document", functions_text(run, selection, instruction)),
    )
    prompt: list[BaseMessage] = [
        SystemMessage(f"{text}\n\n{offer.text}" if offer.text else text),
        turn_message(run, state["messages"], instruction),
    ]
    for step, result, remark in zip(steps, bounded_results(steps), remarks(steps), strict=True):
        shown = f"{fenced('result', result)}{remark}"
        more = f" {left(run, state)} requests are left." if step is steps[-1] else ""
        prompt += [decision_message(step), HumanMessage(render("instruction_again", result=shown) + more)]
    for number, wish in enumerate(selection["looks"], 1):
        asked = offer.schema(thought=wish["thought"], decision="functions", text=wish["words"])
        found = fenced("document", look_text(run, selection, number - 1, about))
        answer = render("instruction_functions", found=found, left=str(MAX_LOOKS - number))
        prompt += [AIMessage(asked.model_dump_json()), HumanMessage(answer)]
    return prompt


def make_caller(*, programs: bool = True) -> Callable[[Run, State], dict[str, Any]]:
    """Make the caller; without `programs` it writes the arguments of calls whatever the run's setting is."""

    def caller(run: Run, state: State) -> dict[str, Any]:
        if programs and state["decision"]["kind"] == "program":
            return whole_instruction(run, state)
        if is_closed(state):
            return {}
        requests = of_round(state)
        if programs and may_write(run, state):
            try:
                return sub_task_program(run, state)
            except UsedUpError as error:
                return without_requests(run, state, requests, f"No program was written. {error}")
        return next_requests(run, state, requests)

    return caller

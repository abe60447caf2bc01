"""Guards programs for whole instructions: the caller's replies with the functions of the APIs in view."""

from typing import Any

import pytest
from board import Agent, Board, agent_of
from paths import api_of
from roles import by_role, end, functions, no_call, one_task, plan, program, prompts_of
from scripted import ScriptedModel

from restgpt.nodes.dialogue.knowledge import MAX_LOOKS
from restgpt.specs import Api

COUNT = "print(find_tasks()['total'])"


def expressed(board: Board, *replies: Any, **context: Any) -> Agent:
    return board.agent(by_role({"express": list(replies)}), context=context)


def large(count: int) -> Api:
    """An API of many operations, of which one finds herons."""
    names = [*(f"shelf{number}" for number in range(count)), "herons"]
    made = {name: {"operationId": f"list_{name}", "summary": f"List {name}", "responses": {}} for name in names}
    return api_of({f"/{name}": {"get": operation} for name, operation in made.items()}, base_url="http://127.0.0.1:9")


def test_all_functions_of_a_small_api_are_shown_with_their_arguments(board: Board) -> None:
    agent = expressed(board, end("Nothing to do."))
    agent.ask("Hello")
    shown = str(prompts_of(agent.model, "express")[0][0].text)
    for operation in board.api.operations:
        assert f"{operation.name}(" in shown
    assert "more functions" not in shown.partition("# The functions")[2]


def test_functions_that_are_shown_with_their_signatures_are_not_shown_again(board: Board) -> None:
    agent = expressed(board, functions("find_tasks"), functions("Find_tasks "), program(COUNT))
    assert agent.ask("How many tasks are there?")["answer"] == "24"
    for number in (1, 2):
        found = str(prompts_of(agent.model, "express")[number][-1].text)
        assert found.startswith("More functions and rules:")
        assert "All functions that fit are shown above." in found
        assert "(" not in found
    assert agent.state["usage"]["roles"]["caller"]["calls"] == 3


def test_the_planner_must_decide_after_its_looks(board: Board) -> None:
    looks = [functions(f"find_tasks {number}") for number in range(MAX_LOOKS + 1)]
    agent = expressed(board, *looks, end("Enough.", fulfilled=False))
    assert agent.ask("How many tasks are there?")["answer"] == "Enough."
    prompts = prompts_of(agent.model, "express")
    assert "You may ask for functions or rules 0 more times." in str(prompts[MAX_LOOKS][-1].text)
    assert "no more functions can be shown" in str(prompts[MAX_LOOKS + 1][-1].text)


def counting(board: Board, code: str) -> Agent:
    """An agent whose planner has one sub-task that a program carries out."""
    script = {"express": [plan("Count the tasks")], "planner": [end("There are 24.")], "program": [code]}
    return board.agent(by_role(one_task("find_tasks", **script)), context={})


def test_a_plan_goes_to_the_loop_whose_planner_does_not_see_the_functions(board: Board) -> None:
    agent = counting(board, COUNT)
    assert agent.ask("How many tasks are there?")["answer"] == "There are 24."
    assert "find_tasks(" not in str(prompts_of(agent.model, "planner")[0][0].text)


@pytest.mark.parametrize("count", [100, 300, 2000])
def test_a_large_api_shows_the_best_functions_then_lines_then_their_number(count: int) -> None:
    model = by_role({"express": [end("Fine.", fulfilled=False)]})
    agent_of([large(count)], model).ask("How many herons are there?")
    shown = str(prompts_of(model, "express")[0][0].text).partition("# The functions")[2]
    signatures, _, lines = shown.partition("With the names of their arguments only")
    assert "list_herons(" in signatures
    assert lines.count("\n- ") > 3
    hidden = int(lines.partition("… and ")[2].split()[0]) if "… and " in lines else 0
    assert signatures.count("list_") + lines.count("\n- ") + hidden == count + 1
    assert "list_herons" not in lines
    assert len(shown) < 3500 * 4 + 500


def test_a_smaller_budget_shows_fewer_functions(board: Board) -> None:
    sizes = []
    for budget in (3500, 200):
        agent = expressed(board, end("Fine.", fulfilled=False), functions_budget=budget)
        agent.ask("How many tasks are there?")
        sizes.append(len(str(prompts_of(agent.model, "express")[0][0].text)))
    assert sizes[1] < sizes[0]


def test_a_reply_after_the_budget_of_steps_is_the_loops(board: Board) -> None:
    script = {"express": [program("print(1 / 0)")], "planner": [end("It failed.", fulfilled=False)]}
    agent = board.agent(by_role(script), context={"max_steps": 1})
    assert agent.ask("How many tasks are there?")["answer"] == "It failed."
    assert "1 API plans" in str(prompts_of(agent.model, "planner")[0][-1].text)


def test_the_loop_may_find_that_no_call_is_needed_after_a_sub_task_was_named(board: Board) -> None:
    script = {"express": [plan("Say hello")], "selector": [no_call("Hello.")], "planner": [end("Hello.")]}
    agent = board.agent(by_role(script), context={})
    assert agent.ask("Say hello")["answer"] == "Hello."


FORMS = [
    COUNT,
    f"```python\n{COUNT}\n```",
    f"~~~\n{COUNT}\n~~~",
    str(program(COUNT)),
    {"Decision": "PROGRAM", "Text": COUNT, "Thought": None},
    {"decision": "program", "program": COUNT},
    {"decision": "program", "text": ["found = find_tasks()", "print(found['total'])"]},
    {"decision": "run", "text": COUNT},
    {"thought": "x", "code": COUNT},
    {"text": COUNT},
    {"python": COUNT},
]


@pytest.mark.parametrize("reply", FORMS, ids=range(len(FORMS)))
def test_a_program_is_read_in_the_forms_of_small_models_without_another_call(board: Board, reply: Any) -> None:
    agent = expressed(board, reply)
    assert agent.ask("How many tasks are there?")["answer"] == "24"
    assert len(agent.model.prompts) == 1


def test_prose_is_no_program(board: Board) -> None:
    agent = expressed(board, "print(it) is what I would do.", "I call find_tasks().", program(COUNT))
    assert agent.ask("How many tasks are there?")["answer"] == "24"


INVENTED = program("print('There are 12.')")


def test_a_report_that_rests_on_no_answer_goes_back_to_the_planner_each_time(board: Board) -> None:
    agent = expressed(board, INVENTED, program("print('There are still 12.')"), program(COUNT))
    assert agent.ask("How many tasks are there?")["answer"] == "24"
    assert all("called no function" in str(prompt[-1].text) for prompt in prompts_of(agent.model, "express")[1:])


def test_an_end_after_a_program_without_calls_is_asked_about_once_and_then_believed(board: Board) -> None:
    agent = expressed(board, INVENTED, end("There are 12 projects."))
    assert agent.ask("How many projects are there?")["answer"] == "There are 12 projects."
    assert "nothing was called" in agent.model.texts[2]
    assert (len(agent.model.prompts), agent.state["decision"]["fulfilled"]) == (3, True)
    assert board.calls() == []


def test_reports_of_every_writer_that_rest_on_no_call_are_marked_and_not_the_answer(board: Board) -> None:
    agent = counting(board, "print('There are 12.')")
    assert agent.ask("How many projects are there?")["answer"] == "There are 24."
    assert "called no function" in str(prompts_of(agent.model, "planner")[0][-1].text)
    assert len(prompts_of(agent.model, "planner")) == 2


SILENT = {"thought": "", "decision": "end", "text": "It is done."}


@pytest.mark.parametrize(
    ("before", "is_fulfilled"),
    [
        ([program("stop('hm', len(rows(list_projects())))")], True),
        ([program("get_project(project_id=99)")], False),
    ],
)
def test_a_silent_end_is_fulfilled_after_a_successful_call(board: Board, before: list[Any], is_fulfilled: bool) -> None:
    agent = expressed(board, *before, SILENT)
    agent.ask("How many projects are there?")
    assert len(agent.model.prompts) == len(before) + 1
    assert agent.state["decision"]["fulfilled"] is is_fulfilled


BY_PAGES = "print(sum(not task['done'] for n in (1, 2, 3) for task in rows(find_tasks(page=n))), 'are open')"
COUNTED = "print(sum(not task['done'] for task in rows(find_tasks({}))), 'are open')"


def test_a_count_of_a_first_page_only_goes_back_to_the_planner(board: Board) -> None:
    agent = expressed(board, program(COUNTED.format("")), program(COUNTED.format("pages=20")))
    assert agent.ask("How many tasks are open?")["answer"] == "16 are open"
    assert "this is its first page only" in str(prompts_of(agent.model, "express")[1][-1].text)


@pytest.mark.parametrize(
    ("instruction", "code"),
    [
        ("How many tasks are open?", COUNTED.format("pages=20")),
        ("Look at the first tasks", COUNTED.format("")),
        ("How many tasks are there?", "print(find_tasks()['total'], 'tasks')"),
        ("How many tasks are open?", BY_PAGES),
    ],
)
def test_other_counts_are_answers_at_once(board: Board, instruction: str, code: str) -> None:
    agent = expressed(board, program(code))
    agent.ask(instruction)
    assert len(agent.model.prompts) == 1


def test_an_answer_before_anything_was_called_is_asked_about_once(board: Board) -> None:
    replies = iter([end("There are 24 tasks."), program(COUNT)])
    agent = board.agent(ScriptedModel(lambda prompt: next(replies)), context={})
    assert agent.ask("How many tasks are there?")["answer"] == "24"
    first, second = agent.model.prompts
    assert "nothing was called" in str(second[-1].text)
    assert len(second) == len(first) + 2


def test_a_refusal_and_a_question_back_pass(board: Board) -> None:
    agent = expressed(board, end("Which title should it have?", fulfilled=False))
    assert agent.ask("Add a task")["answer"] == "Which title should it have?"
    assert len(prompts_of(agent.model, "express")) == 1
    assert (agent.state["decision"]["fulfilled"], board.calls()) == (False, [])


def test_functions_that_rules_deny_are_not_offered_and_told_by_name(board: Board) -> None:
    agent = expressed(board, functions("create_task"), end("It is denied.", fulfilled=False))
    agent.ask("Add a task", writes="deny")
    prompt = prompts_of(agent.model, "express")[1]
    assert "\ncreate_task(" not in str(prompt[0].text)
    assert "more functions are denied by rules of the user." in str(prompt[0].text)
    assert "A rule of the user denies create_task." in str(prompt[-1].text)

"""Guards the end of a program: its report is the answer, unless a change failed or it says that it cannot go on."""

import re
from typing import Any

import pytest
from board import Board
from programs import decide, programmer, worker
from roles import by_role, end, plan, program, prompts_of, select

from restgpt_bench.worlds.faults import Fault, FaultKind

MADE = "POST /projects/{project_id}/tasks 201"
CODE = 'create_task(project_id=1, body={"title": "Chairs"})\nprint("Chairs is there")'
WISH = "Add the task Chairs to project 1"


def said(agent: Any, role: str = "express") -> str:
    return str(prompts_of(agent.model, role)[-1][-1].text)


def test_the_report_of_a_program_is_the_answer_with_one_model_call(board: Board) -> None:
    agent = programmer(board, CODE, writes="allow")
    done = agent.ask(WISH)
    assert (done["answer"], str(done["messages"][-1].text)) == ("Chairs is there", "Chairs is there")
    assert agent.state["usage"]["roles"]["caller"]["calls"] == 1
    assert agent.state["decision"] == {"kind": "end", "text": "Chairs is there", "fulfilled": True}
    [step] = agent.state["steps"]
    assert (step["kind"], step["plan"], len(step["requests"])) == ("program", WISH, 1)
    assert [call["operation"] for call in step["api_plan"]["calls"]] == ["create_task"]


def test_a_report_is_final_with_a_line_about_a_change_that_failed(board: Board) -> None:
    change = "update_project(project_id=99, body={'owner': 'Noor'})"
    code = f"try:\n    {change}\nexcept ApiError:\n    pass\nprint('All done')"
    agent = programmer(board, code, writes="allow")
    told = "All done\n(update_project was not done: the API answered 404)"
    assert agent.ask("Let Noor own project 99")["answer"] == told
    assert agent.state["decision"]["fulfilled"] is False


def test_a_denied_change_reaches_the_program_as_a_rejection(board: Board) -> None:
    agent = programmer(board, CODE, end("It is not allowed.", fulfilled=False), writes="deny")
    assert agent.ask(WISH)["answer"] == "It is not allowed."
    assert "The program ended on line 1" in said(agent)
    assert board.calls() == []


CAUGHT = "try:\n    delete_task(task_id=101)\nexcept Exception:\n    pass\nprint('Task 101 is gone.')"
ONLY_SAID = "print('Task 101 is gone.')"


@pytest.mark.parametrize("second", [CAUGHT, ONLY_SAID])
@pytest.mark.parametrize("writes", ["deny", "ask", "allow"])
def test_the_planner_words_the_answer_after_a_change_that_an_earlier_program_could_not_make(
    board: Board, second: str, writes: str
) -> None:
    board.world.faults.replace([Fault(FaultKind.STATUS, "DELETE /tasks/{task_id}", times=None, status=403)])
    first = "delete_task(task_id=101)\nprint('Gone.')"
    agent = programmer(board, first, second, end("It is still there.", fulfilled=False), writes=writes)
    done = agent.ask("Delete task 101")
    if writes == "ask":
        done = decide(agent, "reject")
    if (writes, second) == ("allow", CAUGHT):
        # Its own change failed: its report is final, and says so.
        assert done["answer"] == "Task 101 is gone.\n(delete_task was not done: the API answered 403)"
        return
    assert done["answer"] == "It is still there."
    assert "Task 101 is gone." in said(agent)


def test_a_change_that_a_better_program_makes_needs_no_more_words_of_the_planner(board: Board) -> None:
    wrong = "update_project(project_id=99, body={'name': 'Moss'})\nprint('Renamed.')"
    agent = programmer(board, wrong, wrong.replace("99", "1"), writes="allow")
    assert agent.ask("Name project 1 Moss, or project 99")["answer"] == "Renamed."
    assert [line.split()[-1] for line in board.calls() if "PATCH" in line] == ["404", "200"]


def test_the_reason_of_a_rejection_is_the_users_words_and_no_data(board: Board) -> None:
    agent = programmer(board, CODE, end("Not now.", fulfilled=False))
    agent.ask(WISH)
    assert decide(agent, {"type": "reject", "message": "Ask Noor first."})["answer"] == "Not now."
    outside = re.sub(r"<result-(\w+)>.*?</result-\1>", "", said(agent), flags=re.DOTALL)
    assert "Of create_task: The user rejected it. Ask Noor first." in outside


NAMES = "[item['name'] for item in list_projects()['items']]"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            f'stop("Which of them?", {NAMES})',
            ["The program stopped: Which of them?\nIt shows: ['Winter timetable'", "list_projects (status 200)"],
        ),
        (
            "list_projects()\nprint('Two are known.')\nstop('Which one?')",
            ["The program stopped: Which one?\nIt had printed: Two are known."],
        ),
        # A value that is too long says how to see the rest.
        ('list_projects()\nstop("Which?", "timetable " * 1000)', ["`repr('timetable ' * 1000)["]),
        (
            'found = one(list_projects()["items"], name="Moss")\ndelete_project(project_id=found["id"])',
            ["The program stopped:", "Moss"],
        ),
    ],
    ids=["a value", "a print before", "a long value", "a name that fits nothing"],
)
def test_a_stop_is_told_to_the_planner_with_what_it_shows(board: Board, code: str, told: list[str]) -> None:
    agent = programmer(board, code, end("Which project do you mean?"))
    assert agent.ask("Delete the project Moss")["answer"] == "Which project do you mean?"
    assert [text in said(agent) for text in told] == [True] * len(told)
    assert board.calls() == ["GET /projects 200"]


def test_a_long_value_of_a_stop_has_the_room_and_a_shape_is_shown_once(board: Board) -> None:
    first = 'found = list_projects()\nstop("Which?", "timetable " * 700)'
    agent = programmer(board, first, first.replace("Which?", "And which?"), end("Which project?"))
    agent.ask("Delete the project")
    told = [str(message.text) for message in prompts_of(agent.model, "express")[-1]]
    one, other = [text for text in told if "The program stopped: " in text]
    assert one.count("timetable ") == other.count("timetable ") == 700
    assert "list_projects (status 200)" in one
    assert "list_projects (status 200)" not in other


def test_what_a_program_left_undone_is_listed_in_its_answer_which_is_not_fulfilled(board: Board) -> None:
    change = "update_project(project_id=1, body={'name': 'Moss'})"
    code = f"{change}\nleft('Project Fern: none has this name')\nprint('Renamed.')"
    agent = programmer(board, code, writes="allow")
    done = agent.ask("Name project 1 Moss, and archive Fern")
    assert done["answer"] == "Renamed.\nNot done: Project Fern: none has this name"
    assert agent.state["decision"]["fulfilled"] is False


def test_a_program_that_only_left_something_says_so(board: Board) -> None:
    agent = programmer(board, "list_projects()\nleft('archive Fern: none has this name')")
    assert agent.ask("Archive Fern")["answer"] == "Nothing could be done.\nNot done: archive Fern: none has this name"


COUNT = "print(find_tasks()['total'], 'tasks')"


def test_the_last_sub_task_ends_with_its_report_and_without_a_closing_call(board: Board) -> None:
    last = {**plan("Count the tasks"), "last": True}  # type: ignore[dict-item]
    codes, both = ("print(len(rows(list_projects())))", COUNT), [select("list_projects"), select("find_tasks")]
    agent = worker(board, *codes, planner=[last], selector=both)
    assert agent.ask("How many tasks are there?")["answer"] == "24 tasks"
    roles = ("express", "planner", "selector", "program")
    assert [len(prompts_of(agent.model, role)) for role in roles] == [1, 1, 2, 2]
    texts = [str(prompt[1].text) for prompt in prompts_of(agent.model, "program")]
    assert ["your report is the answer to the user" in text for text in texts] == [False, True]


def test_a_sub_task_that_is_not_the_last_goes_back_to_the_planner(board: Board) -> None:
    agent = worker(board, COUNT, planner=[end("24.")])
    assert agent.ask("How many tasks are there?")["answer"] == "24."
    assert "24 tasks\nRead: find_tasks" in said(agent, "planner")


@pytest.mark.parametrize(
    ("code", "told"),
    [("found = get_task(103)", "The program failed."), ("get_task(103)", "Paint the maps")],
    ids=["an empty report", "an answer as it came"],
)
def test_a_report_that_says_nothing_goes_back_to_the_caller(board: Board, code: str, told: str) -> None:
    agent = programmer(board, code, "print(get_task(103)['hours'])")
    assert agent.ask("How many hours has task 103?")["answer"] == "11"
    assert told in said(agent)
    assert board.calls() == ["GET /tasks/{task_id} 200"]


def test_the_value_of_the_last_expression_is_the_report_of_a_program_without_output(board: Board) -> None:
    assert programmer(board, "find_tasks()['total']").ask("How many tasks are there?")["answer"] == "24"


@pytest.mark.parametrize("code", ["delete_task(103)", "gone = delete_task(103)"])
def test_what_a_program_without_output_changed_is_told_by_rule(board: Board, code: str) -> None:
    agent = programmer(board, code, writes="allow")
    assert agent.ask("Delete task 103.")["answer"] == 'Done: delete_task {"path": {"task_id": 103}}.'
    assert agent.state["decision"]["fulfilled"] is True
    assert (len(agent.model.prompts), board.calls()[-1]) == (1, "DELETE /tasks/{task_id} 204")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("delete_task(103)", "These requests would have been sent"),
        ("print(find_tasks()['total'])", "24\n\nDry run: no request that changes something was needed."),
    ],
)
def test_a_dry_run_lists_what_would_be_changed_or_says_that_nothing_would(board: Board, code: str, told: str) -> None:
    assert told in programmer(board, code, writes="dry-run").ask("Delete or count task 103.")["answer"]


def test_a_dry_run_lists_all_changes_whose_answers_are_not_used(board: Board) -> None:
    code = 'for number in (1, 2):\n    create_task(project_id=number, body={"title": "Chairs"})\nprint("Both are made")'
    agent = programmer(board, code, writes="dry-run")
    answer = agent.ask("Add the task Chairs to the projects 1 and 2")["answer"]
    assert "Dry run: nothing was changed." in answer
    assert [line[:2] for line in answer.splitlines() if "/tasks" in line] == ["1.", "2."]
    assert "Both are made" not in answer
    assert board.calls() == []


def test_a_dry_run_follows_the_branches_that_do_not_need_the_answer(board: Board) -> None:
    code = """made = gather(
    lambda: create_task(project_id=1, body={"title": "Chairs"})["id"],
    lambda: create_task(project_id=2, body={"title": "Tables"}),
)"""
    answer = programmer(board, code, writes="dry-run").ask("Add Chairs to project 1 and Tables to project 2")["answer"]
    assert ("Chairs" in answer, "Tables" in answer) == (True, True)
    assert "it depends on the response to create_task" in answer


def test_approved_changes_of_two_turns_are_each_asked_about(board: Board) -> None:
    agent = programmer(board, CODE, CODE)
    for count in (1, 2):
        assert "__interrupt__" in agent.ask(WISH)
        assert decide(agent, "approve")["answer"] == "Chairs is there"
        assert board.calls() == [MADE] * count


def test_a_plan_for_the_loop_may_follow_a_program_that_stopped(board: Board) -> None:
    express = [program('stop("Look first", find_tasks()["total"])'), plan("Count the tasks")]
    agent = worker(board, "print(find_tasks()['total'], 'it is')", express=express)
    assert agent.ask("How many tasks are there?")["answer"] == "Done."
    assert "24 it is" in said(agent, "planner")


def test_lists_that_are_read_together_share_the_budget_by_what_they_need(board: Board) -> None:
    calls = ", ".join(f"find_tasks({given}pages=20)" for given in ("", "done=False, ", "done=True, ", ""))
    script = {"express": [program(f"print(*(len(rows(answer)) for answer in gather({calls})))")]}
    agent = board.agent(by_role(script), context={"max_requests": 30})
    whole, undone, done, again = map(int, agent.ask("How many tasks are there?")["answer"].split())
    assert (whole, undone + done, again) == (24, 24, 24)


def test_a_list_that_the_budget_cuts_short_goes_to_the_planner(board: Board) -> None:
    script = {"express": [program("print(len(rows(find_tasks(pages=20))))")], "planner": [end("At least 20.")]}
    agent = board.agent(by_role(script), context={"max_requests": 2})
    assert agent.ask("How many tasks are there?")["answer"] == "At least 20."
    assert agent.state["usage"]["requests"] == 2
    assert "(find_tasks: The list may go on after these 2 pages.)" in agent.state["steps"][-1]["result"]

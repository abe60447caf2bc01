"""Guards the steering of a run in a real browser: forks with an edited state."""

import json
import re
from typing import Any

import pytest
from browser import Tab, axe_findings
from langgraphserver import APPROVE, Platform
from pagescript import COPY, CREATE, HOSTILE, READ
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


def ran(platform: Platform, instruction: str, *, approve: bool = False) -> str:
    """Run an instruction in a new thread, and approve its changes; return the thread."""
    thread = platform.new_thread()
    given: Any = {"instruction": instruction}
    platform.run(thread, input=given)
    if approve:
        platform.run(thread, command=APPROVE)
    return thread


def part(page: Page, name: str) -> Any:
    return page.get_by_role("region", name=name, exact=True)


def test_a_fork_runs_from_a_step_with_an_edited_state(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{ran(platform, READ)}/timeline")
    caller = page.get_by_role("list", name="Steps").get_by_role("listitem").nth(4)
    caller.locator("summary").click()
    caller.get_by_role("button", name="Fork after this step").click()
    fork = part(page, "Fork")
    expect(fork.get_by_label("After step").locator("option:checked")).to_have_text("5 caller, before parser")
    field = fork.get_by_label("State after this step, as JSON")
    state = json.loads(field.input_value())
    assert "usage" not in state
    field.fill("{")
    fork.get_by_role("button", name="Fork and run").click()
    expect(fork.get_by_role("alert")).to_contain_text("This is no JSON")
    # The product says what does not fit.
    field.fill(json.dumps({**state, "program": {"code": 7}}))
    fork.get_by_role("button", name="Fork and run").click()
    expect(fork.get_by_role("alert")).to_contain_text("program")
    assert axe_findings(page) == []
    state["program"]["code"] = "print('The board has', find_tasks()['total'], 'cards.')"
    field.fill(json.dumps(state))
    fork.get_by_role("button", name="Fork and run").click()
    expect(page.locator(".answer")).to_have_text("The board has 24 cards.")
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Timeline").click()
    roles = page.get_by_role("list", name="Steps").locator("strong")
    expect(roles).to_have_text(
        [
            "input",
            "intake",
            "planner",
            "selector",
            "caller",
            "edit",
            "parser",
            "planner",
        ]
    )
    expect(page.get_by_role("img", name="The graph")).to_be_visible()


def test_a_fork_from_before_a_change_asks_again_and_does_not_repeat_it(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{ran(platform, CREATE, approve=True)}/steer")
    fork = part(page, "Fork")
    fork.get_by_label("After step").select_option(label="5 caller, before parser")
    fork.get_by_role("button", name="Fork and run").click()
    expect(page.get_by_role("article", name="POST create_project")).to_be_visible()
    assert platform.changes() == ["POST 201"]


def test_hidden_characters_are_escapes_in_the_field_of_a_fork(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{ran(platform, HOSTILE)}/steer")
    written = part(page, "Fork").get_by_label("State after this step, as JSON").input_value()
    assert "\\u202e" in written
    assert not set(written) & set("\u202e\u202c\u200b\x1b\x07")


def test_an_undo_shows_what_it_would_send_and_asks_before_it_does(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{ran(platform, CREATE, approve=True)}/steer")
    undo = part(page, "Undo")
    preview = undo.get_by_role("list", name="What an undo would send")
    expect(preview.get_by_role("listitem")).to_have_count(1)
    expect(preview).to_contain_text("/v1/projects/201")
    expect(preview).to_contain_text("DELETE")
    assert axe_findings(page) == []
    assert platform.changes() == ["POST 201"]
    undo.get_by_role("button", name="Undo…").click()
    asked = page.get_by_role("article", name="DELETE delete_project")
    expect(asked).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("waiting: 1 change")).to_be_visible()
    expect(page.get_by_label("Instruction")).to_have_count(0)
    assert platform.changes() == ["POST 201"]
    asked.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".answer")).to_contain_text("Done.")
    assert platform.changes() == ["POST 201", "DELETE 204"]
    assert "Roof garden" not in platform.projects()
    # The thread knows that it is undone.
    page.go_back()
    expect(undo).to_contain_text("no change that is left to undo")


def test_two_runs_stand_side_by_side_with_the_first_difference_marked(tab: Tab, platform: Platform) -> None:
    ran(platform, READ)
    page = tab.open(f"#/thread/{ran(platform, COPY, approve=True)}/steer")
    compare = part(page, "Compare")
    compare.get_by_label("This run beside").select_option(label=READ)
    expect(compare.get_by_role("status")).to_have_text("The first difference is at step 1.")
    expect(compare.get_by_role("list", name="Steps of this run").locator("[aria-current]")).to_contain_text("1 input")
    told = compare.get_by_label("The first difference", exact=True)
    expect(told).to_contain_text(re.compile("/instruction|/messages"))
    expect(told).to_contain_text(COPY)
    # A fork beside the run that it came from differs where its state was edited.
    fork = part(page, "Fork")
    fork.get_by_label("After step").select_option(label="5 caller, before parser")
    field = fork.get_by_label("State after this step, as JSON")
    state = json.loads(field.input_value())
    state["program"]["code"] = "find_tasks()\nprint('Nothing is changed.')"
    field.fill(json.dumps(state))
    fork.get_by_role("button", name="Fork and run").click()
    expect(page.locator(".answer")).to_have_text("Nothing is changed.")
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Fork and undo").click()
    compare.get_by_label("This run beside").select_option(index=1)
    expect(compare.get_by_role("status")).to_have_text("The first difference is at step 6.")
    expect(told).to_contain_text("edit")
    expect(compare).to_contain_text("It has one more.")
    assert axe_findings(page) == []
    # The same instruction once more makes no difference but ids and times.
    one, two = ran(platform, READ), ran(platform, READ)
    tab.open(f"#/thread/{one}/steer")
    compare.get_by_label("This run beside").select_option(value=two)
    expect(compare.get_by_role("status")).to_have_text("The two runs do not differ.")


def test_a_run_is_saved_as_a_recipe_and_runs_again_with_other_inputs(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{ran(platform, CREATE, approve=True)}/steer")
    recipe = part(page, "Recipe")
    recipe.get_by_label("Save this run as").fill("New Project")
    recipe.get_by_role("button", name="Save as a recipe").click()
    expect(recipe.get_by_role("alert")).to_contain_text("lower-case letters")
    recipe.get_by_label("Save this run as").fill("new-project")
    page.keyboard.press("Enter")
    saved = recipe.get_by_role("list", name="Recipes").get_by_role("listitem")
    expect(saved).to_have_count(1)
    saved.locator("summary").first.click()
    expect(saved.get_by_label("name")).to_have_value("Roof garden")
    saved.get_by_label("name").fill("Herb garden")
    assert axe_findings(page) == []
    saved.get_by_role("button", name="Run it").click()
    asked = page.get_by_role("article", name="POST create_project")
    expect(asked.locator("pre").first).to_have_text('{"name":"Herb garden"}')
    asked.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".answer")).to_have_text("It is created.")
    assert platform.changes() == ["POST 201", "POST 201"]
    assert "Herb garden" in platform.projects()


def test_a_run_that_cannot_be_saved_says_why(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{ran(platform, CREATE)}/steer")
    recipe = part(page, "Recipe")
    recipe.get_by_label("Save this run as").fill("new-project")
    page.keyboard.press("Enter")
    expect(recipe.get_by_role("alert")).to_contain_text("is paused: a request waits for a decision")

"""Guards the cost of the page in a real browser: calls, tokens, requests and seconds by role and by step."""

import pytest
from browser import Tab
from langgraphserver import APPROVE, Platform
from pagescript import REPAIR
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


def rows(page: Page, caption: str) -> dict[str, list[str]]:
    """The cells of each row of a table, by the header of the row."""
    table = page.get_by_role("table", name=caption)
    found = {}
    for row in table.get_by_role("row").all()[1:]:
        found[row.get_by_role("rowheader").inner_text()] = row.get_by_role("cell").all_inner_texts()
    return found


def test_the_costs_are_those_of_the_state(tab: Tab, platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": REPAIR})
    result = platform.run(thread, command=APPROVE)
    usage = result["usage"]
    page = tab.open(f"#/thread/{thread}/cost")
    expect(page.get_by_role("table", name="By role")).to_contain_text("caller")
    by_role = rows(page, "By role")
    spent = usage["roles"]["caller"]
    assert by_role["caller"][:3] == [str(spent["calls"]), str(spent["input_tokens"] + spent["output_tokens"]), "0"]
    assert by_role["parser"][:3] == ["0", "0", str(usage["requests"])]
    by_step = rows(page, "By step")
    assert by_step.pop("Sum")[:3] == by_role["Sum"][:3] == ["2", "30", str(usage["requests"])]
    assert abs(float(by_role["Sum"][3]) - usage["seconds"]) < 0.02
    assert [name for name, cells in by_step.items() if cells[0] == "1"] == ["5 caller", "11 caller"]
    bars = page.get_by_role("table", name="By role").locator("tr").filter(has_text="caller").locator("rect")
    assert bars.first.get_attribute("width") == "100"

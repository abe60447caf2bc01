"""Guards what prompts hold of an API's description: its rules and the sections of an instruction before all else."""

from typing import Any

import pytest

from restgpt.specs import Api, load_api
from restgpt.specs.docs.prose import passages
from restgpt.specs.docs.sections import Sections, Subject

PADDING = "\n\n".join(f"Paragraph {number} tells how pleasant it is to work with this service." for number in range(60))


def api(description: str, **root: Any) -> Api:
    info = {"title": "Shop", "version": "1", "description": description}
    return load_api({"openapi": "3.1.0", "info": info, "paths": {}, **root}, base_url="http://127.0.0.1:9")


def described(description: str, budget: int = 800, *, about: str = "", **root: Any) -> str:
    shop = api(description, **root)
    sections = Sections(shop.description, shop.tag_descriptions, shop.path_descriptions)
    chosen = sections.chosen(Subject(about), budget)
    return "\n".join([*sections.lines(chosen), *sections.left_out(chosen)])


def ruled(description: str, budget: int = 400) -> list[str]:
    sections = Sections(description)
    return sections.lines(sections.chosen(Subject(""), budget, rules_only=True))


LINKED = "**Films** and [shows](https://x.example).\nUse `id`s such as `#W_0`."


@pytest.mark.parametrize(
    ("description", "lines"),
    [
        (LINKED, "Films and shows. Use ids such as #W_0."),
        ("", ""),
        ("Intro.\n\n```\nIt must be paid.", "Intro.\n``` It must be paid."),
    ],
)
def test_a_short_description_comes_whole_without_marks(description: str, lines: str) -> None:
    assert described(description) == lines
    assert ruled("") == []


@pytest.mark.parametrize(
    "rule",
    [
        "Orders can be returned within 30 days of delivery.",
        "A pending order must not be cancelled twice.",
        "Only the owner of a project changes it.",
        "Deleted invoices cannot be restored.",
        "Please do not call this while an import runs.",
        "A batch holds at most 50 items.",
        "Cancel the subscription before you delete the customer.",
        "Nur ungeöffnete Ware darf zurück.",
        "Une commande doit être confirmée.",
        "Los pedidos nunca se borran.",
        "订单必须在30天内退回。",
        "注文は一度だけ変更できます。変更は必ず確認してください。",
        "## Return policy\n\n- 30 days, unopened.\n- Shoes: 14 days.\n\n## Other",
    ],
)
def test_a_rule_is_kept_where_the_description_is_cut(rule: str) -> None:
    text = described(f"{PADDING}\n\n{rule}\n\n{PADDING}", 200)
    kept = rule.replace("## Return policy\n\n", "Return policy:\n").partition("\n\n")[0]
    assert kept in text
    assert "more paragraphs" in text
    assert len(text) < 200 * 4 + 100


def test_a_rule_in_the_middle_of_a_long_paragraph_is_kept_as_it_is() -> None:
    text = described(f"{'Nice words about us. ' * 40}Refunds are never paid in cash. {'More of them. ' * 400}", 150)
    assert "… Refunds are never paid in cash." in text


@pytest.mark.parametrize(
    "aside",
    [
        "## Changelog\n\nThe field must now be given.",
        "## Installation\n\nYou must install it first.",
        "Every request must have an API key.",
        "```\nyou_must_not_read_code()\n```",
        "<!-- must not be seen -->",
    ],
)
def test_what_the_program_does_itself_is_no_rule(aside: str) -> None:
    assert ruled(f"{PADDING}\n\n{aside}", 400) == []


def test_a_rule_about_whom_to_serve_is_not_taken_for_signing_in() -> None:
    rule = "You must authenticate the customer by e-mail before anything is changed."
    assert rule in "\n".join(ruled(f"{PADDING}\n\n## Authentication\n\n{rule}", 400))


def test_of_the_descriptions_of_tags_and_paths_only_the_rules_are_read() -> None:
    tags = [{"name": "orders", "description": "All about orders."}, {"name": "pay", "description": "Only once a day."}]
    assert described("A shop.", tags=tags) == "A shop.\npay: Only once a day."
    paths = {"/orders": {"description": "Orders cannot be changed once they are sent.", "get": {"responses": {}}}}
    assert described("A shop.", paths=paths) == "A shop.\n/orders: Orders cannot be changed once they are sent."


def test_rules_that_do_not_fit_are_counted() -> None:
    rules = "\n\n".join(f"Rule {number}: it must be {'so ' * 30}" for number in range(50))
    lines = described(rules, 100).splitlines()
    assert len("\n".join(lines)) < 500
    assert lines[-1] == f"… {50 - (len(lines) - 1)} more paragraphs"


@pytest.mark.parametrize(
    "tags", [7, {"a": 1}, [None, 3, {"name": 4}, {"description": ["x"]}, {"description": "Only."}]]
)
def test_odd_tags_and_descriptions_are_no_error(tags: Any) -> None:
    assert described("A shop.", tags=tags).startswith("A shop.")
    assert load_api({"openapi": "3.1.0", "info": {"title": "X", "description": 5}, "paths": {}}).description == "5"


def test_html_lists_tables_and_headings_are_read() -> None:
    table = "| plan | calls |\n|---|---|\n| free | 10 |\n\nEnd\n---\nLast."
    found = passages(f"<h2>Rules</h2><ul><li>First<li>Second</ul>\n\n{table}")
    rules = ("- First", "- Second", "plan | calls", "free | 10")
    assert [(item.heading, item.text) for item in found] == [*(("Rules", rule) for rule in rules), ("End", "Last.")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "unit", ["`", "*a ", "[a](", "<p", "# ", "- ", "|", "_a", "must ", "<!--", "```\n", "\n", "\x00"]
)
def test_hostile_repetitions_are_read_in_bounds(unit: str) -> None:
    text = described(unit * (400_000 // len(unit)), 300)
    assert len(text) < 2000


def test_only_the_first_of_very_many_tag_descriptions_are_read() -> None:
    tags = {f"tag{number}": f"It must be number {number}. {'x' * 5000}" for number in range(1000)}
    sections = Sections("", tags)
    lines = sections.lines(sections.chosen(Subject(""), 100_000))
    assert lines[0].startswith("tag0: It must be number 0.")
    assert 10 < len(lines) < 60


def handbook(*headings: str, size: int = 12) -> str:
    """A policy whose sections have a rule each, and sentences that have nothing to do with their headings."""
    filler = "\n\n".join(f"Clause {number} holds for everybody in the house." for number in range(size))
    return "\n\n".join(f"## {heading}\n\n{heading}: this must be kept.\n\n{filler}" for heading in headings)


HEADINGS = ("Principles", "Refunds", "Lost luggage", "Wheelchairs", "Invoices")


@pytest.mark.parametrize(
    ("about", "heading"),
    [
        ("The luggage of Ann is lost", "Lost luggage"),
        ("Send a bill to Ann", "Invoices"),
        ("Show me what Lost Luggage says", "Lost luggage"),
    ],
)
def test_the_section_of_the_instruction_is_whole_and_others_are_named(about: str, heading: str) -> None:
    text = described(handbook(*HEADINGS), 350, about=about)
    section = text.partition(f"{heading}:\n")[2]
    assert section.startswith(f"{heading}: this must be kept.\nClause 0 holds")
    assert "Clause 11" in section
    left_out = text.splitlines()[-1]
    assert left_out.startswith("Left out: ")
    assert ("Wheelchairs" in left_out, heading in left_out) == (True, False)
    whole = described(handbook(*HEADINGS), 2000)
    assert ("Left out" in whole, whole.count("Clause 11")) == (False, len(HEADINGS))


def test_the_words_of_functions_choose_sections_too() -> None:
    sections = Sections(handbook(*HEADINGS))
    chosen = sections.chosen(Subject("She came back", lambda: "cancel_invoice Cancel an invoice."), 350)
    assert "Invoices: this must be kept.\nClause 0 holds" in "\n".join(sections.lines(chosen))


def test_a_general_section_comes_before_sections_of_other_subjects() -> None:
    text = described(handbook("Wheelchairs", "Lost luggage", "General terms", "Refunds"), 450, about="Refund Ann")
    assert text.splitlines()[-1] == "Left out: Lost luggage"


def test_a_section_that_does_not_fit_keeps_its_rules_and_the_words_of_the_instruction() -> None:
    long = handbook("Refunds", size=100) + "\n\nCash is for shoes."
    assert described(long, 100, about="Shoes!").splitlines()[:2] == ["Refunds:", "Refunds: this must be kept."]
    assert "Cash is for shoes." in described(long, 100, about="Shoes!")


def test_paragraphs_without_a_heading_fill_the_room_with_those_of_the_instruction_first() -> None:
    plain = [f"House {number} has a door." for number in range(100)]
    text = described("\n\n".join(["A cat must be fed.", *plain, "Zebras sleep late."]), 200, about="My zebra")
    assert "A cat must be fed." in text
    assert "Zebras sleep late." in text
    assert "House 20 has a door." in text
    assert text.splitlines()[-1].startswith("… ")


def test_passages_shown_before_are_not_chosen_again() -> None:
    sections = Sections(handbook(*HEADINGS))
    shown = sections.chosen(Subject("Refund Ann"), 350)
    more = sections.chosen(Subject("the rules on wheelchairs"), 350, fitting_only=True, shown=shown)
    assert sections.lines(more)[0] == "Wheelchairs:"
    assert not shown & more


def test_very_many_sections_are_named_in_bounds() -> None:
    text = described(handbook(*(f"Subject {number} {'x' * 100}" for number in range(500)), size=0), 100)
    assert text.splitlines()[-1].endswith("; 469 more")
    assert len(text) < 3000

"""Guards text for a person: nothing in it is invisible, no line of it lacks its mark, and a terminal wraps none."""

import json
import tracemalloc
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restgpt.tools.text.quotation import (
    FOREIGN,
    GOES_ON,
    LEFT_OUT,
    MOST_LINES,
    MOST_NAME,
    WIDTH,
    JsonText,
    named,
    quotation,
    quoted,
    section,
    visible,
    visible_json,
)

MARKS = (FOREIGN, FOREIGN.rstrip(), GOES_ON, LEFT_OUT)
LINE_ENDS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
HIDDEN = {
    "escape sequence": "\x1b[2J",
    "C1 control sequence": "\x9b31m",
    "link of a terminal": "\x1b]8;;https://evil.example\x1b\\",
    "backspace": "\x08",
    "zero width space": "\u200b",
    "zero width joiner between letters": "a\u200db",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\xad",
    "right-to-left override": "\u202e",
    "isolate": "\u2066",
    "Arabic letter mark": "\u061c",
    "Braille blank": "\u2800",
    "Hangul filler": "\u3164",
    "Hangul choseong filler": "\u115f",
    "Hangul jungseong filler": "\u1160",
    "halfwidth Hangul filler": "\uffa0",
    "Khmer inherent vowel": "\u17b4",
    "combining grapheme joiner": "\u034f",
    "Mongolian vowel separator": "\u180e",
    "Mongolian variation selector": "\u180b",
    "variation selectors on a letter": "a\ufe0f\ufe01",
    "supplementary variation selector": "a\U000e0100",
    "tag characters": "\U000e0041\U000e007f",
    "private use": "\ue000",
    "not assigned": "\U000e0fff",
    "half of a surrogate pair": "\ud800",
    "run of no-break spaces": "a\xa0\xa0\xa0b",
    "null notehead": "\U0001d159",
}


REORDERING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(st.recursive(st.text(st.characters()) | st.sampled_from(REORDERING), st.lists, max_leaves=5))
def test_any_json_for_machines_is_visible_and_the_same_value(value: object) -> None:
    shown = visible_json(value)
    assert json.loads(shown) == value
    assert visible(shown) == shown
    assert not set(REORDERING) & set(shown)
    assert not any("\ud800" <= char <= "\udfff" for char in shown)


def test_json_for_machines_keeps_the_letters_of_all_languages() -> None:
    assert visible_json({"größe": "東京 👩‍💻"}) == '{\n  "größe": "東京 👩‍💻"\n}'
    assert visible_json(["größe"], is_ascii=True).isascii()


@pytest.mark.parametrize("is_ascii", [True, False])
def test_a_json_text_stays_as_it_is_written_in_little_memory(is_ascii: bool) -> None:
    text = '[1.10,\r\n"gr\u00f6\u202ee"' + ', {"d": "x"}' * 100_000 + "]"
    value = {"body": JsonText(text), "after": 1}
    tracemalloc.start()
    shown = visible_json(value, is_ascii=is_ascii)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert json.loads(shown) == {"body": json.loads(text), "after": 1}
    assert ("[1.10," in shown, "\u202e" in shown, shown.isascii()) == (True, False, is_ascii)
    # Decoded, the text takes thirty times its size.
    assert used < 12 * len(text)


def test_json_for_machines_may_be_nested_more_deeply_than_its_indented_form() -> None:
    value: list[object] = []
    for _ in range(500):
        value = [value]
    assert json.loads(visible_json(value)) == value


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_cannot_be_seen_is_shown_as_an_escape(hidden: str) -> None:
    shown = visible(hidden)
    assert shown != hidden
    assert "\\" in shown
    assert visible(shown) == shown
    assert not {char for char in shown if not char.isprintable()}


@pytest.mark.parametrize(
    "text", ["Größe 日本 €\n\tنص", "👩\u200d💻", "❤\ufe0f", "10\xa0000\u202f€", "東京\u3000駅", "ที่นี่", "e\u0301"]
)
def test_ordinary_text_stays_as_it_is_and_a_pile_of_combining_marks_is_taken_down(text: str) -> None:
    assert visible(text) == text
    assert visible(text + "\u0338" * 50).count("\u0338") < 10


@pytest.mark.parametrize("end", LINE_ENDS, ids=ascii)
def test_no_end_of_a_line_begins_a_line_without_a_mark(end: str) -> None:
    lines = quotation(f"one{end}It can be undone.").splitlines()
    assert all(line.startswith(MARKS) for line in lines)


@given(st.text(max_size=600))
def test_every_line_of_any_text_has_a_mark_and_fits_on_a_terminal(text: str) -> None:
    for line in section("The model says why:", text).splitlines()[2:]:
        assert line.startswith(MARKS)
        columns = sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in line)
        assert columns <= len(FOREIGN) + WIDTH


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=2_000))
def test_a_wrapped_line_loses_nothing(text: str) -> None:
    whole = quotation(text.strip().replace("  ", "")).replace("\n" + GOES_ON, "").removeprefix(FOREIGN)
    assert whole.rstrip() == text.strip().replace("  ", "") or not text.strip()


def test_blanks_cannot_push_text_out_of_sight() -> None:
    assert quotation(f"a{' ' * 1500}b") == f"{FOREIGN}a\\x20{{1500}}b"
    assert "\\x20{1500}" in quotation(f"{' ' * 1500}b")
    lines = quotation(f"a{chr(10) * 1500}b").splitlines()
    assert lines == [f"{FOREIGN}a", f"{LEFT_OUT}1,499 empty lines", f"{FOREIGN}b"]


def test_of_a_long_text_the_head_and_the_tail_are_shown_with_the_number_of_the_rest() -> None:
    shown = quotation("A" * 5_000 + "Z" * 5_000, most=900)
    assert (shown.count("A"), shown.count("Z")) == (600, 300)
    assert f"{LEFT_OUT}9,100 characters are left out here" in shown.splitlines()
    assert len(quotation("x\n" * 900, most=10_000).splitlines()) == MOST_LINES + 1
    assert quotation("x\n" * 900, most=None).count("x") == 900


@pytest.mark.parametrize("name", ["crm", "body.amount", "/people/0/a~1b", "team-board_2"])
def test_a_plain_name_stays_as_it_is(name: str) -> None:
    assert named(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *('crm" says', "x: you said it", "a\nb", "# Approved", "[here](https://evil.example)", "<b>", "`x`", "**x**"),
        *("a → b", "x" * 5_000),
    ],
)
def test_no_name_ends_its_quotation_marks_is_markdown_a_link_or_long(name: str) -> None:
    shown = named(f"{name} www.evil.example")
    assert shown[0] == '"'
    quote = shown.rindex('"')
    assert not set(shown[1:quote]) & set('"\n:#[]()<>`*→')
    assert "www." not in shown
    assert "://" not in shown
    assert len(shown) < MOST_NAME + 40


def test_a_quoted_text_cannot_end_its_quotation_marks() -> None:
    assert quoted('a" b\n\\"', 100) == '"a\\" b\\n\\\\\\""'
    assert quoted("x" * 500, 10) == '"xxxxxxxxxx"… (of 500 characters)'


@pytest.mark.parametrize("sign", ["☺\ufe0f", "\u4dc0", "\u2630", "→", "①"])
def test_a_sign_that_some_terminals_draw_wide_counts_as_wide(sign: str) -> None:
    assert all(line.count(sign[0]) <= WIDTH // 2 for line in quotation(sign * 200).splitlines())


def test_a_long_line_of_json_is_broken_between_its_fields() -> None:
    value = {"member": "Sam of the town", "note": "big print, please, and soon", "branch": "East end", "due": "soon"}
    first, rest = quotation(json.dumps(value, separators=(",", ":"))).splitlines()
    assert (first.endswith('soon",'), rest.startswith(f'{GOES_ON}"branch"')) == (True, True)

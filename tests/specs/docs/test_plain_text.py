"""Guards that a description loses the marks of Markdown and HTML, and nothing else."""

import time

import pytest

from restgpt.specs.docs.field import plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        *(
            (text, text)
            for text in (
                "such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.",
                "#W0000000 is an order number",
                "The area is 5 * 3 and the power 2*3*4.",
                "Matches *.txt and all *",
                "Use snake_case, _links and __typename.",
                "Replace <id> by the id: /users/<user-id>, if a < b and c > d.",
                "# of items to return",
            )
        ),
        ("The key `C#` or an array a[0](b).", "The key C# or an array a[0](b)."),
        ("# Orders\n\nAn *order* is **bought** by ***one*** customer.", "Orders An order is bought by one customer."),
        ("## Usage\n* first\n* second", "Usage - first - second"),
        ("Changes <b>one</b> pet,<br>see [the guide](https://example.com).", "Changes one pet, see the guide."),
        ("<p>One</p><p>Two &amp; three &lt;id&gt;</p>", "One Two & three <id>"),
        ("Give `<id>`, `*` or `a_b` and ``c * d``.", "Give <id>, * or a_b and c * d."),
        ("**Note:** the `limit` *must* be set", "Note: the limit must be set"),
        ("See <https://example.com/a>.", "See https://example.com/a."),
        ('```json\n{"a": 1}\n```\nEnd', '{"a": 1} End'),
        ("a | b\n--- | ---\nc | d", "a | b c | d"),
        (r"the field release\_date\*", "the field release_date*"),
        ("**both `code` and text**", "both code and text"),
        ("Be careful:\n> It is gone.", "Be careful: It is gone."),
        ("A<!-- hidden --> text", "A text"),
    ],
)
def test_marks_are_taken_out_and_signs_that_are_none_stay(text: str, plain: str) -> None:
    assert plain_text(text, 500) == plain


def test_a_long_text_is_cut_at_a_word() -> None:
    assert plain_text("one two three", 9) == "one two…"
    assert plain_text("one", 0) == ""


@pytest.mark.parametrize("sign", ["[", "*", "**a ", "`", "<", "<a ", "![", "[a](", "\\", "#", "<!--", "*a", "(*a"])
def test_a_hostile_text_takes_time_by_its_length_only(sign: str) -> None:
    def seconds(count: int) -> float:
        began = time.process_time()
        plain_text(sign * count, 100)
        return time.process_time() - began

    # Quadratic time would be a hundred times as long.
    assert seconds(40_000) < 30 * seconds(4_000) + 0.5

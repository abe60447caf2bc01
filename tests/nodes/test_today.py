"""Guards today's date in prompts: the setting of a run comes before the system date, and the weekday is named."""

from datetime import date, timedelta

from restgpt.nodes.run.services import dated, today_text


def test_a_day_is_named_with_its_weekday() -> None:
    first = date(2023, 12, 1)
    named = [dated(first + timedelta(days)) for days in range(4)]
    assert named == ["2023-12-01, a Friday", "2023-12-02, a Saturday", "2023-12-03, a Sunday", "2023-12-04, a Monday"]


def test_the_setting_comes_before_the_system_date() -> None:
    assert today_text("2024-02-29", lambda: date(2023, 12, 1)) == "2024-02-29, a Thursday"
    assert today_text("", lambda: date(2023, 12, 1)) == "2023-12-01, a Friday"

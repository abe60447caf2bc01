"""Today's date: the setting `today` of a run, and its text in prompts."""

from collections.abc import Callable
from datetime import date
from typing import Annotated

from pydantic import AfterValidator

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _checked(day: str) -> str:
    if day:
        date.fromisoformat(day)
    return day


Day = Annotated[str, AfterValidator(_checked)]
"""A date as YYYY-MM-DD; empty: the system date. pydantic rejects any other text."""


def today_text(setting: Day, system_date: Callable[[], date]) -> str:
    """Return today's date for a prompt: the date of the setting `today`, or the system date if it is empty."""
    return dated(date.fromisoformat(setting) if setting else system_date())


def dated(day: date) -> str:
    """Format a date with its weekday, such as `2023-12-01, a Friday`, because models often get the weekday wrong."""
    return f"{day.isoformat()}, a {WEEKDAYS[day.weekday()]}"

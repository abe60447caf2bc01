"""A day in the settings of a run, refused at once where it is none."""

from datetime import date
from typing import Annotated

from pydantic import AfterValidator


def _checked(day: str) -> str:
    if day:
        date.fromisoformat(day)
    return day


Day = Annotated[str, AfterValidator(_checked)]
"""A date as YYYY-MM-DD; empty: today."""

"""Guards the settings of a run: what cannot be meant is refused before it reaches a model."""

import pytest
from pydantic import ValidationError

from restgpt.functions.context import FunctionContext
from restgpt.nodes.context import Context

SETTINGS = [Context, FunctionContext]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("today", ["", "2024-02-29"])
def test_today_is_a_date_or_left_out(settings: type[Context | FunctionContext], today: str) -> None:
    assert settings(today=today).today == today


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("today", ["tomorrow", "2023-02-29", "29.02.2024"])
def test_what_is_no_date_is_not_taken_for_today(settings: type[Context | FunctionContext], today: str) -> None:
    with pytest.raises(ValidationError, match="today"):
        settings(today=today)

"""Guards the settings of a run: invalid values are rejected before a model is called."""

import pytest
from pydantic import ValidationError

from restgpt.commands.terminal import settings_of
from restgpt.nodes.run.services import Context
from restgpt.tools.model import ROLES
from restgpt_functions.context import FunctionContext

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


def test_each_role_has_a_setting_and_an_option_for_its_model() -> None:
    wanted = [f"{role}_model" for role in ROLES]
    assert [name for name in Context.model_fields if name.endswith("_model")] == wanted
    assert list(settings_of([], models=[f"{role}=openai:x" for role in ROLES])) == wanted


@pytest.mark.parametrize("role", ROLES)
def test_the_prompt_of_each_role_can_be_edited_at_its_node(role: str) -> None:
    setting = Context.model_json_schema()["properties"][f"{role}_prompt"]
    assert (setting["langgraph_nodes"], setting["langgraph_type"]) == ([role], "prompt")
    edited = f"{setting['default']}\nBe brief. It costs 1 $$."
    assert getattr(Context(**{f"{role}_prompt": edited}), f"{role}_prompt") == edited


@pytest.mark.parametrize("text", ["Plan.", "$apis $last $examples $more", "$apis $last $examples $"])
def test_a_prompt_without_its_variables_or_with_others_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match=r"planner_prompt.*\n.*\$apis, \$examples, \$last"):
        Context(planner_prompt=text)

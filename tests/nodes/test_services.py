"""Guards the settings and the services of a run: its models, its date, and the responses whose shapes are learned."""

from datetime import date, timedelta
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from langgraph.store.memory import InMemoryStore
from paths import api_of
from pydantic import SecretStr, ValidationError

from restgpt.commands.terminal import settings_of
from restgpt.nodes.run.run import MOST_LEARNED, Run
from restgpt.nodes.run.services import Context, Services, dated, today_text
from restgpt.tools.errors import SettingsError
from restgpt.tools.model import ROLES
from restgpt.tools.response.content import Reply
from restgpt.tools.settings import ApiEntry, Settings
from restgpt_functions.context import FunctionContext


def test_a_reply_has_a_bound_where_the_model_has_none_of_its_own() -> None:
    def most(model: ChatOpenAI, **context: Any) -> tuple[Any, bool]:
        services = Services([API], model=model, settings=Settings())
        found: Any = services.model("planner", Context(**context))
        assert found is services.model("planner", Context(**context))
        return found.max_tokens, found is model

    free = ChatOpenAI(model="m", api_key=SecretStr("x"))
    assert most(free) == (8192, False)
    assert most(free, max_reply_tokens=300) == (300, False)
    assert most(ChatOpenAI(model="m", api_key=SecretStr("x"), max_tokens=20)) == (20, True)  # type: ignore[call-arg]
    assert free.max_tokens is None


API = api_of(
    {"/open": {"get": {"operationId": "open", "responses": {}}}}, title="Shop", base_url="https://shop.example"
)


def reply(body: bytes, *, status: int = 200, media_type: str = "application/json", truncated: bool = False) -> Reply:
    return Reply(status, "", {"content-type": media_type}, media_type, body, truncated)


@pytest.mark.parametrize(
    ("answer", "is_learned"),
    [
        (reply(b'{"a": 1}'), True),
        (reply(b'{"a": 1}', status=201), True),
        (reply(b'{"error": "no"}', status=404), False),
        (reply(b'{"a": 1}', status=302), False),
        (reply(b'{"a": 1}', truncated=True), False),
        (reply(b"a,b\n1,2\n", media_type="text/csv"), False),
        (reply(b"", status=204), False),
        (reply(b'{"a": "' + b"x" * MOST_LEARNED + b'"}'), False),
    ],
)
def test_only_whole_successful_json_answers_of_moderate_size_are_learned(answer: Reply, is_learned: bool) -> None:
    store, operation = InMemoryStore(), API.operation("open")
    run = Run(Services([API], store=store, settings=Settings()), Context(), store, "t", started=0.0)
    response = run.session.responses.put(answer, operation).to_dict()
    run.learn({"operation": "open", "arguments": {}, "response": response})  # type: ignore[typeddict-item]
    assert (run.shapes.seen(operation) is not None) is is_learned


def test_without_an_api_or_with_an_unknown_one_the_error_says_what_to_do() -> None:
    with pytest.raises(SettingsError, match=r"apis\.yaml, in the folder in which the server or program was started"):
        Services(settings=Settings()).catalogue([])
    services = Services(settings=Settings(apis={"shop": ApiEntry("shop", "shop.yaml")}))
    with pytest.raises(SettingsError, match=r"no API 'garden'\. The configured APIs are: shop\. Choose one of them"):
        services.catalogue(["garden"])


def test_a_day_is_named_with_its_weekday() -> None:
    first = date(2023, 12, 1)
    named = [dated(first + timedelta(days)) for days in range(4)]
    assert named == ["2023-12-01, a Friday", "2023-12-02, a Saturday", "2023-12-03, a Sunday", "2023-12-04, a Monday"]


def test_the_setting_comes_before_the_system_date() -> None:
    assert today_text("2024-02-29", lambda: date(2023, 12, 1)) == "2024-02-29, a Thursday"
    assert today_text("", lambda: date(2023, 12, 1)) == "2023-12-01, a Friday"


@pytest.mark.parametrize("settings", [Context, FunctionContext])
def test_today_is_a_date_or_left_out(settings: type[Context | FunctionContext]) -> None:
    for today in ("", "2024-02-29"):
        assert settings(today=today).today == today
    for today in ("tomorrow", "2023-02-29", "29.02.2024"):
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

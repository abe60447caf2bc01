"""Guards `openfunctions`: single, parallel and multiple calls, questions, refusals, repairs, REST, every prompting."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from loopback import Handler, served
from scripted import Reply, ScriptedModel

from restgpt.tools.model.model_errors import ModelError, NoModelError
from restgpt_functions.context import FunctionContext
from restgpt_functions.docs.dialects import read_function
from restgpt_functions.docs.function import Function
from restgpt_functions.docs.loading import load_functions
from restgpt_functions.graph import build_functions_graph, openfunctions
from restgpt_functions.prompting import ASK_TOOL, DECLINE_TOOL, layout
from restgpt_functions.resources import EmptyPromptError, NoFunctionsError
from restgpt_functions.shortlist import shortlist

WEATHER = {
    "name": "weather.get",
    "description": "Get the weather of a city.",
    "parameters": {
        "type": "dict",
        "properties": {
            "city": {"type": "string", "description": "The city."},
            "days": {"type": "integer", "description": "How many days."},
            "units": {"type": "string", "enum": ["metric", "imperial"], "default": "metric"},
        },
        "required": ["city", "days"],
    },
}
ORDER = {
    "name": "Order food",
    "api_call": "food.order",
    "description": "Order food.",
    "parameters": [{"name": "items", "type": "array"}, {"name": "quantities", "type": "array"}],
}
DOCUMENT = """
openapi: 3.0.3
info: {title: Users, version: "1"}
servers: [{url: "https://api.example.com/v1"}]
paths:
  /users/{id}:
    get:
      operationId: getUser
      summary: Get a user.
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}}
        - {name: id, in: query, schema: {type: string}}
      responses: {200: {description: ok}}
"""


def calls(*pairs: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A structured reply."""
    return {"thought": "", "calls": [{"name": name, "arguments": given} for name, given in pairs], **more}


def weather(**given: Any) -> dict[str, Any]:
    """A structured reply that calls for the weather."""
    return calls(("weather.get", given))


def run(replies: list[Reply], prompt: str, functions: Any = (WEATHER, ORDER), **context: Any) -> dict[str, Any]:
    settings = {"on_missing": "return", "today": "2025-01-31", **context}
    graph = build_functions_graph(list(functions), model=ScriptedModel(replies), context=settings)
    return dict(graph.invoke({"prompt": prompt}))


def test_a_single_call_comes_as_text_as_data_and_as_a_tool_call() -> None:
    found = run([weather(city="Oslo", days=2)], "Weather in Oslo for two days")
    assert found["outcome"] == "call"
    assert found["text"] == 'weather.get(city="Oslo", days=2)'
    assert found["calls"] == [{"name": "weather.get", "arguments": {"city": "Oslo", "days": 2}}]
    (tool,) = found["tool_calls"]
    assert tool["function"]["name"] == "weather_get"
    assert json.loads(tool["function"]["arguments"]) == {"city": "Oslo", "days": 2}
    assert found["answer"] == found["messages"][-1].text == found["text"]
    assert found["usage"]["calls"] == 1


def test_lossless_conversions_need_no_repair() -> None:
    found = run([weather(city="Oslo", days="2")], "Weather in Oslo for 2 days")
    assert found["calls"][0]["arguments"]["days"] == 2
    assert found["usage"]["calls"] == 1


def test_a_fault_is_repaired_with_the_exact_reason() -> None:
    wrong = weather(city="Oslo", days=2, units="kelvin", sky=1)
    model = ScriptedModel([wrong, weather(city="Oslo", days=2, units="metric")])
    graph = build_functions_graph([WEATHER], model=model)
    found = graph.invoke({"prompt": "Metric weather in Oslo for 2 days"})
    assert found["outcome"] == "call"
    assert "/units: must be one of" in model.texts[1]
    assert "/sky: is unknown" in model.texts[1]


def test_repairs_end_after_two_and_say_what_is_wrong() -> None:
    wrong = [calls(("weather.fetch", {"city": city})) for city in ("Oslo", "Rome", "Oslo")]
    found = run(wrong, "Weather in Oslo for 2 days")
    assert found["outcome"] == "failed"
    assert "weather.fetch is not one of the functions" in found["answer"]
    assert found["usage"]["calls"] == 3


def test_a_missing_required_value_leads_to_a_question_that_names_it() -> None:
    found = run([weather(city="Oslo")], "Weather in Oslo")
    assert found["outcome"] == "ask"
    assert "days" in found["question"]
    assert found["calls"] == [{"name": "weather.get", "arguments": {"city": "Oslo"}}]
    assert [one["pointer"] for one in found["missing"]] == ["/days"]


def test_placeholders_are_written_as_the_original_does() -> None:
    found = run([weather(city="Paris")], "What will the weather be?", on_missing="placeholder")
    assert found["outcome"] == "call"
    assert found["calls"][0]["arguments"] == {"city": "Paris", "days": 1}


def needing(**properties: Any) -> dict[str, Any]:
    """The schema of an object that needs all its properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


NUMBER, TEXT = {"type": "number"}, {"type": "string"}
LINES = {
    "name": "order",
    "parameters": needing(
        lines={"type": "array", "items": needing(dish=TEXT, count={"type": "integer"})},
        to=needing(geo=needing(lat=NUMBER)),
    ),
}
"""A function that requires values within the items of a list, and within an object in an object."""


def test_placeholders_are_written_in_the_items_of_a_list_and_in_objects_that_are_missing() -> None:
    reply = calls(("order", {"lines": [{"dish": "soup"}, {"dish": "tea", "count": 2}]}))
    found = run([reply], "Order soup and two cups of tea", [LINES], on_missing="placeholder")
    lines = [{"dish": "soup", "count": 1}, {"dish": "tea", "count": 2}]
    assert found["calls"][0]["arguments"] == {"lines": lines, "to": {"geo": {"lat": 1.0}}}


def test_a_value_by_pointer_completes_an_item_of_a_list() -> None:
    given = {"lines": [{"dish": "soup"}, {"dish": "tea", "count": 2}], "to": {"geo": {"lat": 5}}}
    model = ScriptedModel([calls(("order", given))])
    graph = build_functions_graph([LINES], model=model, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"prompt": "Order soup and 2 cups of tea to latitude 5"}, config)
    found = graph.invoke(Command(resume={"/lines/0/count": 3}), config)
    assert found["outcome"] == "call"
    assert found["calls"][0]["arguments"]["lines"] == [{"dish": "soup", "count": 3}, {"dish": "tea", "count": 2}]


def test_a_question_where_nobody_is_asked_is_the_reason_for_no_call() -> None:
    found = run([calls(question="Which city?")], "What will the weather be?", on_missing="placeholder")
    assert (found["outcome"], found["answer"]) == ("refuse", "Which city?")


def test_the_models_own_question_is_completed_where_it_forgets_a_value() -> None:
    reply = calls(("weather.get", {}), question="Which city?")
    found = run([reply], "What will the weather be?")
    assert found["question"].startswith("Which city?")
    assert "days" in found["question"]


def paused(replies: list[Reply], prompt: str) -> tuple[Any, Any, ScriptedModel, dict[str, Any]]:
    model = ScriptedModel(replies)
    graph = build_functions_graph([WEATHER], model=model, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    return graph, config, model, dict(graph.invoke({"prompt": prompt}, config))


@pytest.mark.parametrize(("answer", "days"), [("Oslo, please", 2), ("Oslo, and make it 5 days", 5)])
def test_the_run_pauses_and_the_answer_completes_the_partial_call_or_changes_it(answer: str, days: int) -> None:
    replies: list[Reply] = [weather(days=2), weather(city="Oslo", days=5)]
    graph, config, model, first = paused(replies, "Weather for 2 days")
    (question,) = first["__interrupt__"]
    assert [one["name"] for one in question.value["missing"]] == ["city"]
    found = graph.invoke(Command(resume=answer), config)
    assert found["text"] == f'weather.get(city="Oslo", days={days})'
    assert '"arguments": {"days": 2}' in model.texts[1]
    assert found["usage"]["calls"] == 2


@pytest.mark.parametrize("given", [{"city": "Oslo"}, {"/city": "Oslo"}])
def test_values_by_name_complete_the_call_without_the_model(given: dict[str, str]) -> None:
    graph, config, model, _ = paused([weather(days=2)], "Weather for 2 days")
    found = graph.invoke(Command(resume=given), config)
    assert found["text"] == 'weather.get(city="Oslo", days=2)'
    assert len(model.prompts) == 1


def test_values_that_do_not_fit_are_asked_for_again() -> None:
    graph, config, _, _ = paused([weather(city="Oslo")], "Weather in Oslo")
    again = graph.invoke(Command(resume={"days": "many"}), config)
    assert "must be integer" in again["__interrupt__"][0].value["question"]
    assert graph.invoke(Command(resume={"days": 4}), config)["text"] == 'weather.get(city="Oslo", days=4)'


def test_a_second_question_follows_a_partial_answer() -> None:
    replies: list[Reply] = [weather(), weather(city="Oslo"), weather(city="Oslo", days=1)]
    graph, config, _, _ = paused(replies, "Weather")
    again = graph.invoke(Command(resume="Oslo"), config)
    assert [one["name"] for one in again["__interrupt__"][0].value["missing"]] == ["days"]
    assert graph.invoke(Command(resume="one day"), config)["text"] == 'weather.get(city="Oslo", days=1)'


def test_a_further_question_keeps_the_partial_call() -> None:
    replies: list[Reply] = [weather(days=2), calls(question="Which city exactly?"), weather(city="Oslo")]
    graph, config, _, _ = paused(replies, "Weather for 2 days")
    again = graph.invoke(Command(resume="the capital"), config)
    assert again["__interrupt__"][0].value["calls"] == [{"name": "weather.get", "arguments": {"days": 2}}]
    assert graph.invoke(Command(resume="Oslo"), config)["text"] == 'weather.get(city="Oslo", days=2)'


def test_an_open_question_takes_values_as_words() -> None:
    replies: list[Reply] = [calls(question="Weather or food?"), weather(city="Oslo", days=1)]
    graph, config, _, first = paused(replies, "Do something")
    assert first["__interrupt__"][0].value["missing"] == []
    found = graph.invoke(Command(resume={"what": "the weather in Oslo for one day"}), config)
    assert found["text"] == 'weather.get(city="Oslo", days=1)'


def requests_doc(url: str, *names: str) -> dict[str, Any]:
    params = needing(**dict.fromkeys(names, TEXT))
    properties = {"url": {"type": "string", "default": url}, "params": params}
    return {"name": "requests.get", "description": url, "parameters": {"properties": properties, "required": ["url"]}}


@pytest.mark.parametrize("prompting", ["structured", "v2"])
def test_documentation_of_one_library_function_is_told_apart_by_its_address(prompting: str) -> None:
    url = "https://b.example/weather"
    functions = [requests_doc("https://a.example/people/{id}", "fields"), requests_doc(url, "city")]
    structured = calls(("requests.get", {"url": url, "params": {"city": "Oslo"}}))
    text = f'requests.get(url="{url}", params={{"city": "Oslo"}})'
    found = run([structured if prompting == "structured" else text], "Weather in Oslo", functions, prompting=prompting)
    assert found["text"] == text


def test_a_rest_call_comes_as_a_prepared_request_and_a_requests_call() -> None:
    reply = calls(("getUser", {"path": {"id": 7}, "query": {"id": "x"}}))
    found = run([reply], "Get user 7 with id x", functions=load_functions(DOCUMENT), call_style="requests")
    assert found["text"] == 'requests.get(url="https://api.example.com/v1/users/7", params={"id": "x"})'
    (request,) = found["requests"]
    assert (request["method"], request["url"]) == ("GET", "https://api.example.com/v1/users/7?id=x")


def test_a_missing_path_value_of_a_rest_call_is_asked_for() -> None:
    found = run([calls(("getUser", {"path": {}}))], "Get my user", functions=load_functions(DOCUMENT))
    assert found["outcome"] == "ask"
    assert [one["pointer"] for one in found["missing"]] == ["/path/id"]


def test_functions_of_any_dialect_come_with_the_run() -> None:
    graph = build_functions_graph(model=ScriptedModel([calls(("getUser", {"path": {"id": 7}}))]))
    found = graph.invoke({"messages": [("user", "Get user 7")], "functions": DOCUMENT})
    assert found["requests"][0]["url"] == "https://api.example.com/v1/users/7"


def tool_message(*pairs: tuple[str, dict[str, Any]]) -> AIMessage:
    listed = [{"name": name, "args": args, "id": f"c{at}"} for at, (name, args) in enumerate(pairs)]
    return AIMessage("", tool_calls=listed)


def test_native_tools_are_called_by_legal_names_and_mapped_back() -> None:
    order = ("food_order", {"items": ["a"], "quantities": [1]})
    reply = tool_message(("weather_get", {"city": "Oslo", "days": 2}), order)
    found = run([reply], "Weather in Oslo for 2 days and one a", prompting="tools")
    assert [call["name"] for call in found["calls"]] == ["weather.get", "food.order"]


def test_native_tools_ask_and_decline_by_tools_of_their_own() -> None:
    ask = tool_message((ASK_TOOL, {"question": "How many days?", "function": "weather_get", "known": {"city": "Oslo"}}))
    found = run([ask], "Weather in Oslo", prompting="tools")
    assert (found["outcome"], found["question"]) == ("ask", "How many days?")
    assert found["calls"] == [{"name": "weather.get", "arguments": {"city": "Oslo"}}]
    decline = tool_message((DECLINE_TOOL, {"reason": "None books flights."}))
    assert run([decline], "Book a flight", prompting="tools")["outcome"] == "refuse"


def test_native_tools_are_repaired_with_a_tool_message() -> None:
    model = ScriptedModel([tool_message(("weather_get", {"city": "Oslo", "days": days})) for days in ("x", 2)])
    graph = build_functions_graph([WEATHER], model=model, context={"prompting": "tools"})
    found = graph.invoke({"prompt": "Weather in Oslo for 2 days"})
    assert found["outcome"] == "call"
    assert "/days: must be integer" in model.texts[1]
    assert model.prompts[1][-1].type == "tool"


def test_the_list_that_the_openfunctions_server_sends_is_read() -> None:
    legacy = [{"name": "weather.get", "arguments": {"city": "Oslo", "days": 2}}]
    reply = AIMessage('weather.get(city="Oslo", days=2)', additional_kwargs={"function_call": legacy})
    assert run([reply], "Weather in Oslo for 2 days", prompting="tools")["outcome"] == "call"


@pytest.mark.parametrize(
    ("version", "start", "end"),
    [
        ("v0", 'USER: <<question>> Q <<function>> [{"name": "Order food", "api_call"', "\nASSISTANT: "),
        ("v1", 'USER: <<question>> Q <<function>> [{"name": "Order food", "api_call"', "\nASSISTANT: "),
        ("v2", "You are an AI programming assistant, utilizing the Gorilla LLM model", "\n### Response: "),
    ],
)
def test_the_original_layouts_are_written_to_the_letter(version: Any, start: str, end: str) -> None:
    text = layout("Q", [read_function(ORDER)], version)
    assert text.startswith(start)
    assert text.endswith(end)
    if version == "v2":
        assert '### Instruction: <<function>>[{"name": "food.order"' in text
        assert "]\n<<question>>Q\n### Response: " in text
        assert '"type": "dict"' in text


@pytest.mark.parametrize("version", ["v0", "v1", "v2"])
def test_the_original_layouts_answer_with_call_text(version: str) -> None:
    replies: list[Reply] = ['weather.get(city="Oslo", days=', '<<function>>weather.get("Oslo", days=2)']
    found = run(replies, "Weather in Oslo for 2 days", prompting=version)
    assert found["text"] == 'weather.get(city="Oslo", days=2)'
    assert found["usage"]["calls"] == 2


def test_text_without_a_call_is_a_question_or_a_refusal() -> None:
    assert run(["For how many days?"], "Weather in Oslo", prompting="v2")["outcome"] == "ask"
    assert run(["None of them fits."], "Book a flight", prompting="v2")["outcome"] == "refuse"


class Completions(Handler):
    """A completions endpoint that answers every prompt with one call and keeps what it was asked."""

    asked: list[dict[str, Any]] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = json.loads(self.body())
        self.asked.append({"path": self.path, **body})
        choice = {"text": ' weather.get(city="Oslo", days=2)', "index": 0, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
        envelope = {"id": "1", "object": "text_completion", "created": 1, "model": "m"}
        self.answer({**envelope, "choices": [choice], "usage": usage})


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with served(Completions) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        yield f"{url}/v1"


@pytest.mark.usefixtures("endpoint")
def test_a_self_hosted_model_gets_its_prompt_without_a_chat_template() -> None:
    context = {"prompting": "v1", "model": "completion:gorilla-openfunctions-v1"}
    graph = build_functions_graph([WEATHER], context=context)
    found = graph.invoke({"prompt": "Weather in Oslo for 2 days"})
    assert found["text"] == 'weather.get(city="Oslo", days=2)'
    assert found["usage"] == {"calls": 1, "input_tokens": 9, "output_tokens": 4}
    (asked,) = Completions.asked
    assert asked["path"] == "/v1/completions"
    assert asked["prompt"].startswith("USER: <<question>> Weather in Oslo for 2 days <<function>> [{")
    assert asked["model"] == "gorilla-openfunctions-v1"


def test_many_functions_are_searched_for_the_likely_ones() -> None:
    many = [Function(f"tool{number}.run", f"Runs job {number}.") for number in range(300)]
    functions = [*many, read_function(WEATHER)]
    chosen = shortlist(functions, "What is the weather in the city of Oslo?", 5)
    assert len(chosen) == 5
    assert 300 in chosen
    model = ScriptedModel([weather(city="Oslo", days=2)])
    graph = build_functions_graph(functions, model=model, context={"max_functions": 5})
    assert graph.invoke({"prompt": "The weather in Oslo for 2 days"})["outcome"] == "call"
    assert model.texts[0].count("Runs job") <= 4


def test_what_is_missing_to_run_is_said() -> None:
    with pytest.raises(EmptyPromptError, match="no prompt"):
        build_functions_graph([WEATHER], model=ScriptedModel([])).invoke({"prompt": " "})
    with pytest.raises(NoFunctionsError, match="no functions"):
        build_functions_graph(model=ScriptedModel([])).invoke({"prompt": "x"})
    with pytest.raises(NoModelError):
        build_functions_graph([WEATHER]).invoke({"prompt": "x"})
    with pytest.raises(ModelError):
        build_functions_graph([WEATHER], model="nowhere:m").invoke({"prompt": "x"})


def test_the_exported_graph_shows_its_settings_and_its_ways() -> None:
    assert openfunctions.checkpointer is None
    schema = openfunctions.get_context_jsonschema()
    assert schema is not None
    assert set(schema["properties"]) == set(FunctionContext.model_fields)
    edges = {(edge.source, edge.target, edge.data) for edge in openfunctions.get_graph().edges}
    assert ("caller", "follow_up", "missing value") in edges
    assert ("follow_up", "caller", "words") in edges


def test_settings_of_a_run_go_over_those_of_the_graph() -> None:
    model = ScriptedModel([weather(city="Oslo")])
    graph = build_functions_graph([WEATHER], model=model, context={"on_missing": "ask"})
    found = graph.invoke({"prompt": "Weather in Oslo"}, context=FunctionContext(on_missing="return"))
    assert found["outcome"] == "ask"
    assert "__interrupt__" not in found

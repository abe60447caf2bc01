"""Guards the grounding check: invented values are found, said ones are not, with a measured precision and recall."""

import json
from pathlib import Path
from typing import Any

from restgpt.functions.calls.call import Call, Variable
from restgpt.functions.calls.grounding import ungrounded_values
from restgpt.functions.calls.parsing import parse_calls
from restgpt.functions.calls.validation import REQUIRED, check_call, settle_call
from restgpt.functions.docs.dialects import read_function
from restgpt.functions.docs.function import Function, FunctionParameter
from restgpt.functions.docs.loading import load_functions
from restgpt.functions.docs.sources import from_operations

# The published prompts whose reference answer invents a required value, by a reader's judgement.
INVENTED = frozenset(
    {2, 26, 36, 47, 49, *range(50, 69), 70, 72, 74, 75, 76, 77, 82, 86, 89, *range(103, 112)},
)

# Written before the check was first run on them: prompt, call, the required values that are invented.
HELD_OUT: list[tuple[str, str, set[str]]] = [
    (
        "Send an email to anna@example.org saying that the report is late.",
        'mail.send(to="anna@example.org", body="The report is late.")',
        set(),
    ),
    (
        "Send an email to Anna saying that the report is late.",
        'mail.send(to="anna@example.org", body="The report is late.")',
        {"to"},
    ),
    ("Book a room for three nights from March 5th.", 'room.book(nights=3, start="2025-03-05")', set()),
    ("Book a room.", 'room.book(nights=2, start="2025-03-05")', {"nights", "start"}),
    ("Convert 25 dollars to yen.", 'money.convert(amount=25, source="USD", target="JPY")', set()),
    ("Convert my savings to yen.", 'money.convert(amount=1000, source="USD", target="JPY")', {"amount", "source"}),
    ("What is the weather in Oslo tomorrow?", 'weather.get(city="Oslo", date="2025-01-02")', set()),
    ("What is the weather going to be like?", 'weather.get(city="Oslo", date="2025-01-02")', {"city", "date"}),
    ("Play the album Kind of Blue by Miles Davis.", 'music.play(album="Kind of Blue", artist="Miles Davis")', set()),
    ("Play some jazz.", 'music.play(album="Kind of Blue", artist="Miles Davis")', {"album", "artist"}),
    ("Translate 'good night' to German.", 'text.translate(text="good night", lang="de")', set()),
    ("Translate this sentence to German.", 'text.translate(text="Good morning", lang="de")', {"text"}),
    ("How far is it from Rome to Milan?", 'route.distance(start="Rome", end="Milan")', set()),
    ("How far is it to Milan?", 'route.distance(start="Rome", end="Milan")', {"start"}),
    ("Set the thermostat to 21 degrees in the living room.", 'home.set(room="living room", temperature=21)', set()),
    ("Make it warmer in the living room.", 'home.set(room="living room", temperature=21)', {"temperature"}),
    ("Remind me in half an hour to call mom.", 'reminder.add(minutes=30, text="Call mom")', set()),
    ("Remind me to call mom.", 'reminder.add(minutes=30, text="Call mom")', {"minutes"}),
    (
        "Find flights from Paris to Lisbon for two adults and one child.",
        'flight.find(origin="Paris", to="Lisbon", adults=2, children=1)',
        set(),
    ),
    (
        "Find flights to Lisbon for two adults.",
        'flight.find(origin="Paris", to="Lisbon", adults=2, children=1)',
        {"origin", "children"},
    ),
    ("Solve x^2 - 5x + 6 = 0.", "math.quadratic(a=1, b=-5, c=6)", {"a"}),
    ("Solve 2x^2 - 5x + 6 = 0.", "math.quadratic(a=2, b=-5, c=6)", set()),
    ("What is 15% of 240?", "math.percent(share=0.15, whole=240)", set()),
    ("What is the tip for dinner?", "math.percent(share=0.15, whole=240)", {"share", "whole"}),
    ("Show issue 42 of the repository octo/hello.", 'issue.get(owner="octo", repo="hello", number=42)', set()),
    ("Show the latest issue of hello.", 'issue.get(owner="octo", repo="hello", number=42)', {"owner", "number"}),
    ("Order two large pizzas with mushrooms.", 'pizza.order(count=2, size="large", toppings=["mushrooms"])', set()),
    ("Order a pizza.", 'pizza.order(count=1, size="large", toppings=["mushrooms"])', {"size", "toppings"}),
    ("What is the stock price of Microsoft?", 'stock.price(symbol="MSFT")', set()),
    ("What is the stock price?", 'stock.price(symbol="MSFT")', {"symbol"}),
    ("How many inhabitants does the United Kingdom have?", 'country.population(code="UK")', set()),
    ("How many inhabitants does the country have?", 'country.population(code="UK")', {"code"}),
    ("Cancel order A-1234.", 'order.cancel(order_id="A-1234", reason="")', set()),
    ("Cancel my order.", 'order.cancel(order_id="A-1234", reason="")', {"order_id"}),
    (
        "Schedule a call with Bob and Carol on Friday at 3 pm.",
        'call.plan(people=["Bob", "Carol"], date="2025-01-03", time="15:00")',
        set(),
    ),
    (
        "Schedule a call with the team on Friday.",
        'call.plan(people=["Bob", "Carol"], date="2025-01-03", time="15:00")',
        {"people", "time"},
    ),
    ("Draw a circle with a radius of five centimetres.", "draw.circle(radius=5)", set()),
    ("Draw a circle.", "draw.circle(radius=5)", {"radius"}),
    ("Search for hotels in Vienna under $150 a night.", 'hotel.search(city="Vienna", max_price=150)', set()),
    ("Search for cheap hotels in Vienna.", 'hotel.search(city="Vienna", max_price=150)', {"max_price"}),
    ("Compress photo.png with quality 80.", 'image.compress(path="photo.png", quality=80)', set()),
    ("Compress the picture.", 'image.compress(path="photo.png", quality=80)', {"path", "quality"}),
    ("Count the words in 'to be or not to be'.", 'text.count(text="to be or not to be")', set()),
    ("Count the words of the poem.", 'text.count(text="to be or not to be")', {"text"}),
    ("Who won the world cup in 1998?", "sport.winner(year=1998)", set()),
    ("Who won the world cup?", "sport.winner(year=1998)", {"year"}),
    ("Give me the sales of the last 30 days, sorted by revenue.", 'sales.list(days=30, sort="revenue")', set()),
    ("Give me the sales.", 'sales.list(days=30, sort="revenue")', {"days", "sort"}),
    ("Is it raining in New York City?", 'rain.now(city="NYC")', set()),
    ("Is it raining?", 'rain.now(city="NYC")', {"city"}),
    ("Add a 1.5 hour workout of running.", 'sport.add(kind="running", minutes=90)', set()),
    ("Add a workout.", 'sport.add(kind="running", minutes=90)', {"kind", "minutes"}),
    ("Turn off the lights in the kitchen and the hall.", 'light.set(rooms=["kitchen", "hall"], on=False)', set()),
    ("Turn off the lights.", 'light.set(rooms=["kitchen", "hall"], on=False)', {"rooms"}),
    ("Find the zip code of Springfield, Illinois.", 'zip.find(city="Springfield", state="IL")', set()),
    ("Find the zip code of Springfield.", 'zip.find(city="Springfield", state="IL")', {"state"}),
    ("What time is it in Sydney?", 'time.now(zone="Australia/Sydney")', set()),
    ("What time is it?", 'time.now(zone="Australia/Sydney")', {"zone"}),
    ("Generate a password of 16 characters without symbols.", "password.make(length=16, symbols=False)", set()),
    ("Generate a password.", "password.make(length=16, symbols=False)", {"length"}),
]


def required_everything(call: Call) -> Function:
    parameters = tuple(FunctionParameter(name, {}, required=True) for name in call.arguments)
    return Function(call.name, parameters=parameters)


def measure_held_out() -> tuple[int, int, int, int]:
    """True positives, false positives, false negatives and values in all, counted by value."""
    hits = alarms = misses = total = 0
    for prompt, text, invented in HELD_OUT:
        (call,) = parse_calls(text)
        found = {one.name for one in ungrounded_values(call, required_everything(call), [prompt])}
        hits += len(found & invented)
        alarms += len(found - invented)
        misses += len(invented - found)
        total += len(call.arguments)
    return hits, alarms, misses, total


def test_held_out_values_are_judged_as_a_reader_does() -> None:
    hits, alarms, misses, total = measure_held_out()
    assert total == 120
    assert hits / (hits + alarms) >= 0.95
    assert hits / (hits + misses) >= 0.95


def _published(data_folder: Path) -> list[tuple[str, Function, Call]]:
    file = data_folder / "openfunctions" / "gorilla_openfunctions_v1_test.json"
    found = []
    for entry in json.loads(file.read_text(encoding="utf-8")):
        function = read_function(entry["function"])
        found.append((entry["question"], function, parse_calls(entry["model_answer"], [function])[0]))
    return found


def test_the_published_answers_that_invent_are_found(data_folder: Path) -> None:
    flagged = {
        number
        for number, (question, function, call) in enumerate(_published(data_folder))
        if any(one.required for one in ungrounded_values(call, function, [question]))
    }
    assert len(INVENTED) == 42
    assert flagged == INVENTED


def test_swapped_values_are_found(data_folder: Path) -> None:
    complete = [item for number, item in enumerate(_published(data_folder)) if number not in INVENTED]
    found = tried = 0
    for number, (question, function, call) in enumerate(complete):
        for name in (name for name in function.required if name in call.arguments):
            other = _value_like(complete, number, call.arguments[name])
            swapped = Call(call.name, {**call.arguments, name: other})
            tried += 1
            found += name in {one.name for one in ungrounded_values(swapped, function, [question])}
    # What is not found is said in the same prompt in another role, as the amount of a loan is for its term.
    assert tried > 100
    assert found / tried >= 0.93


def _value_like(items: list[tuple[str, Function, Call]], number: int, value: Any) -> Any:
    """A different value of the same type out of another answer."""
    rotated = [*items[number + 1 :], *items[:number]]
    kind = str if isinstance(value, Variable) else type(value)
    return next(
        other for _, _, call in rotated for other in call.arguments.values() if type(other) is kind and other != value
    )


def _one(schema: dict[str, Any], value: Any, text: str, description: str = "", name: str = "a") -> bool:
    function = Function("f", parameters=(FunctionParameter(name, schema, True, description),))
    return not ungrounded_values(Call("f", {name: value}), function, [text])


def test_documented_defaults_and_meanings_are_grounds() -> None:
    assert _one({"default": "en"}, "en", "hello")
    assert _one({"const": "v1"}, "v1", "hello")
    assert _one({}, "metric", "hello", "The units. Default is metric.")
    assert _one({}, "XQ", "the price of Zebra", "Symbol, e.g. XQ for Zebra.")
    assert not _one({}, "XQ", "the price of Lion", "Symbol, e.g. XQ for Zebra.")
    assert not _one({}, "CNN", "the news", "The source, e.g. CNN.")


def test_a_place_may_be_named_more_fully_than_it_was_said() -> None:
    assert _one({}, "Oslo, Norway", "the weather in Oslo")
    assert _one({}, "Chicago, IL", "a park in Chicago, Illinois")
    assert not _one({}, "Bergen, Norway", "the weather in Oslo")


def test_booleans_and_nothing_are_taken_on_trust() -> None:
    assert _one({}, True, "hello")
    assert _one({}, None, "hello")


def test_the_words_of_the_parameter_itself_prove_nothing() -> None:
    assert not _one({}, "Project X", "a meeting about the project", name="project")
    assert _one({}, "Apollo project", "a meeting about the Apollo project", name="project")


def test_a_date_needs_a_date_in_the_conversation() -> None:
    assert _one({}, "2025-01-02", "tomorrow", name="date")
    assert _one({}, "2025-06-15", "on June 15th", name="start")
    assert _one({}, "2025-06-15", "on 15/06/2025", "The day of arrival.")
    assert not _one({}, "2025-06-16", "on 2025-06-15", name="date")
    assert not _one({}, "2025-06-15", "on some specific date", name="date")
    assert not _one({}, "2025-06-15", "tomorrow", name="symbol")
    assert not _one({}, "09:00", "at 3 pm", name="time")
    assert _one({}, "15:00", "at 3 pm", name="time")


def test_bare_names_count_as_their_text() -> None:
    assert _one({}, Variable("Berkeley"), "near Berkeley")
    assert not _one({}, Variable("my_number"), "a given value")


DOCUMENT = """
openapi: 3.0.3
info: {title: Users, version: "1"}
servers: [{url: https://api.example.com}]
paths:
  /users/{id}:
    put:
      operationId: putUser
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}}
        - {name: page, in: query, schema: {type: integer, default: 1}}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [name]
              properties: {name: {type: string}, nick: {type: string}}
      responses: {"200": {description: ok}}
"""


def test_values_inside_the_places_of_a_request_are_judged_one_by_one() -> None:
    (function,) = from_operations(load_functions(DOCUMENT)[0].operation.api.operations)  # type: ignore[union-attr]
    call = Call("putUser", {"path": {"id": 7}, "query": {"page": 1}, "body": {"name": "Zoe", "nick": "Zed"}})
    found = ungrounded_values(call, function, ["Rename user 9 to Zoe."])
    assert [(one.pointer, one.required) for one in found] == [("/path/id", True), ("/body/nick", False)]


def test_checks_name_the_place_and_tell_what_only_the_user_knows() -> None:
    functions = load_functions(DOCUMENT)
    problems = check_call(Call("putUser", {"path": {}, "body": {"nick": 3}}), functions)
    assert {problem.pointer for problem in problems if problem.message == REQUIRED} == {"/path/id", "/body/name"}
    function = read_function(
        {
            "name": "f",
            "parameters": {
                "type": "dict",
                "properties": {"n": {"type": "integer"}, "level": {"type": "string", "enum": ["low", "high"]}},
                "required": ["n"],
            },
        }
    )
    assert check_call(Call("f", {"n": 1, "level": "low"}), [function]) == []
    assert [(one.pointer, one.message) for one in check_call(Call("f", {}), [function])] == [("/n", REQUIRED)]
    (problem,) = check_call(Call("f", {"n": 1, "level": "mid"}), [function])
    assert problem.pointer == "/level"
    assert "low" in problem.message
    (problem,) = check_call(Call("f", {"n": 1, "levle": "low"}), [function])
    assert "level" in problem.message
    (problem,) = check_call(Call("f", {"n": Variable("count")}), [function])
    assert "bare name" in problem.message
    (problem,) = check_call(Call("g", {}), [function])
    assert "not one of the functions" in problem.message
    (problem,) = check_call(Call("f", {"n": 1}, (2,)), [function])
    assert "no parameter name" in problem.message


def test_lossless_conversions_settle_a_call() -> None:
    function = read_function(
        {
            "name": "f",
            "parameters": {
                "type": "dict",
                "properties": {"n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}},
            },
        }
    )
    assert settle_call(Call("f", {"n": "5", "l": "a", "x": "5"}), function).arguments == {"n": 5, "l": ["a"], "x": "5"}
    named = Function("f", parameters=(FunctionParameter("city", {"type": "string"}),))
    assert settle_call(Call("f", {"city": Variable("Berkeley")}), named).arguments == {"city": "Berkeley"}
    kept = Variable("os.getcwd()")
    assert settle_call(Call("f", {"city": kept}), named).arguments == {"city": kept}


def test_published_answers_are_checked_and_one_defect_remains(data_folder: Path) -> None:
    defects = {
        number: [problem.pointer for problem in problems]
        for number, (_, function, call) in enumerate(_published(data_folder))
        if (problems := check_call(settle_call(call, function), [function]))
    }
    assert defects == {6: ["/level"]}
    raw = {number: check_call(call, [function]) for number, (_, function, call) in enumerate(_published(data_folder))}
    as_written = {number: [problem.pointer for problem in problems] for number, problems in raw.items() if problems}
    assert as_written == {0: ["/amenities"], 5: ["/loc"], 6: ["/level"]}

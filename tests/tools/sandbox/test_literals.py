"""Guards the inputs of a program: which literals they replace, what stays, and what is said of the code."""

from typing import Any

import pytest

from restgpt.tools.sandbox.literals import Parametrized, Replacement, parametrized

NAME, WHO, TITLES, HOURS, STATE = (
    Replacement("name", "Roof garden"),
    Replacement("who", "Björn"),
    Replacement("titles", ("Buy soil", "Order seeds")),
    Replacement("hours", 5, "hours"),
    Replacement("state", "open", "state"),
)
INPUTS: dict[str, Any] = {"name": "Shed", "who": "Ada", "titles": ["Dig"], "hours": 7, "state": "done"}


def put(code: str, *replacements: Replacement) -> Parametrized:
    return parametrized(code, replacements or (NAME, WHO, TITLES, HOURS, STATE))


def test_literals_with_the_values_of_inputs_are_replaced_wherever_they_stand() -> None:
    pairs = [
        ("a = put(name='Roof garden')", "a = put(name=inputs['name'])"),
        ("b = put({'name': 'Roof garden', 'hours': 5})", "b = put({'name': inputs['name'], 'hours': inputs['hours']})"),
        ("for t in ['Buy soil', 'Order seeds']:\n    put(t)", "for t in inputs['titles']:\n    put(t)"),
        ("c = f'{a} for Björn'", "c = f\"{a} for {inputs['who']}\""),
        ("d = 'The Roof garden of Björn.'", "d = f\"The {inputs['name']} of {inputs['who']}.\""),
        ("e = put(state='open')", "e = put(state=inputs['state'])"),
        ("f = 'Took 5 hours.'", "f = f\"Took {inputs['hours']} hours.\""),
    ]
    found = put("\n".join(before for before, _ in pairs))
    assert (found.problem, found.code) == ("", "\n".join(after for _, after in pairs) + "\n")
    assert found.used == {"name", "who", "titles", "hours", "state"}


@pytest.mark.parametrize(
    "code",
    [
        *("x['Roof garden']", "x.get('Roof garden')", "{'Roof garden': 1}", '"""Roof garden"""\nprint(1)'),
        *("def f(a: 'Roof garden'):\n    return a", "match x:\n    case 'Roof garden':\n        print(1)"),
        *("print(f'{x:Roof garden}')", "print('Roof gardens', 'open', 5, 'Björns')", "put(titles=['Buy soil'])"),
    ],
)
def test_names_of_fields_other_words_and_places_of_other_names_stay(code: str) -> None:
    found = put(code)
    assert (found.code, found.used, found.problem) == (code, frozenset(), "")


def test_the_literals_are_listed_with_the_names_of_their_places() -> None:
    code = """
title = "Plan"
found = [p for p in rows(list_projects()) if p["name"].lower() == "winter"]
one(found, owner="Ada")
for tag in ["a", "b"]:
    put(-3, hours=-5, body={"kind": "x", "on": True})
print(found[0]["id"], "done")
"""
    found = put(code)
    assert (found.problem, found.is_constant) == ("", False)
    tags = [("tags", ["a", "b"]), ("tags", "a"), ("tags", "b")]
    assert [*found.literals[:3]] == [("title", "Plan"), ("name", "winter"), ("owner", "Ada")]
    assert [*found.literals[3:]] == [*tags, ("", -3), ("hours", -5), ("kind", "x"), ("", "done")]


@pytest.mark.parametrize(
    ("code", "is_constant"),
    [("print('It is so.')", True), ("a = get()\nprint(1)", True), ("print(f'{a}')", False), ("table(x)", False)],
)
def test_a_program_that_prints_only_literals_is_constant(code: str, is_constant: bool) -> None:
    assert put(code).is_constant is is_constant


def test_code_that_cannot_be_parsed_is_a_problem_with_its_line() -> None:
    assert put("a = 1\nb = (").problem.startswith("The program cannot be parsed on line 2")
    assert put("-" * 50_000 + "1").problem != ""


def test_nothing_of_the_code_is_run() -> None:
    code = "import os\nos._exit(3)\nopen('/etc/passwd')\nwhile True:\n    pass\na = 'Roof garden'"
    assert put(code, NAME).code.endswith("a = inputs['name']\n")


@pytest.mark.parametrize("value", ["'", '"', "\\", "{x}", "a\nb", "\u2028", "ü" * 300, "$&*()[]"])
def test_odd_values_and_names_give_the_right_code(value: str) -> None:
    code = f"put(x={value!r}, y={'A ' + value + ' B'!r})"
    found = put(code, Replacement("odd", value))
    assert "inputs['odd']" in found.code or found.problem != ""
    scope = {"put": lambda **given: scope.update(given), "inputs": {"odd": value}}
    if found.problem == "":
        exec(found.code, scope)
        assert (scope["x"], scope["y"]) == (value, f"A {value} B")

"""Guards the inputs of a program: which literals they replace, what stays, and what the report says of the new code."""

import json
import sys
from typing import Any

import pytest

from restgpt.tools.sandbox.backend import SandboxBackend
from restgpt.tools.sandbox.parametrize import MOST_CODE, Parametrized, Replacement, Site, parametrized
from restgpt.tools.sandbox.result import Limits, Media, SandboxResult, Status

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="programs are parsed in the locked interpreter of Linux"
)

PATIENT = Limits(wall=30.0, cpu=30.0)
NAME, WHO, TITLES, HOURS = (
    Replacement("name", "Roof garden"),
    Replacement("who", "Björn"),
    Replacement("titles", ("Buy soil", "Order seeds")),
    Replacement("hours", 5, "hours"),
)


def put(code: str, *replacements: Replacement, functions: Any = ("get", "put")) -> Parametrized:
    return parametrized(code, replacements, functions=functions, limits=PATIENT)


def lines(pairs: list[tuple[str, str]], *replacements: Replacement) -> None:
    """Compare each line of one program with the expected line."""
    found = put("\n".join(before for before, _ in pairs), *replacements)
    assert found.problem == ""
    assert found.code.split("\n") == [after for _, after in pairs]


def same(*codes: str) -> list[tuple[str, str]]:
    return [(code, code) for code in codes]


# Texts


def test_a_literal_that_is_the_value_becomes_the_input() -> None:
    lines(
        [
            ('a = "Roof garden"', 'a = inputs["name"]'),
            ("a = 'Roof garden'  # Roof garden: é", 'a = inputs["name"]  # Roof garden: é'),
            ("é = [ 'ü','''Roof garden''' ,1]", "é = [ 'ü',inputs[\"name\"] ,1]"),
            (
                'get(name="Roof garden", body={"x": "roof Garden"})',
                'get(name=inputs["name"], body={"x": inputs["name"]})',
            ),
        ],
        NAME,
    )


def test_a_literal_next_to_a_keyword_keeps_its_distance() -> None:
    lines([('a = 1 if"Roof garden"else 2', 'a = 1 if inputs["name"] else 2')], NAME)


def test_a_literal_of_several_lines_becomes_one_line() -> None:
    found = put('a = ("Roof "\n     "garden")\nget(n=a)', NAME)
    assert found.code == 'a = (inputs["name"])\nget(n=a)'
    assert found.sites == (Site(2, "get", False),)


def test_what_is_no_value_stays() -> None:
    code = [
        '"""Roof garden"""',
        'a = {"Roof garden": 1}["Roof garden"]',
        'b = a.get("Roof garden"), a.pop("Roof garden", 1), field(a, "Roof garden")',
        'b = b"Roof garden"',
        'def f(x: "Roof garden" = 1) -> "Roof garden":',
        '    """Roof garden"""',
        '    "Roof garden"',
        "match a:",
        '    case "Roof garden": pass',
        '    case {"Roof garden": [1, "Roof garden"]}: pass',
        'c = f"{a:Roof garden}"',
        'd = "Roof gardener", "xRoof garden", "Roof-garden", "roof garden is here"',
    ]
    found = put("\n".join(code), NAME)
    assert (found.code.split("\n"), found.used, found.problem) == (code, frozenset(), "")


def test_a_text_that_contains_the_value_becomes_a_format() -> None:
    lines(
        [
            ('a = "For Björn."', "a = f\"For {inputs['who']}.\""),
            (
                "a = 'Björn: {\"Roof garden\"} \\n {}'",
                "a = f\"{inputs['who']}: {{\\\"{inputs['name']}\\\"}} \\n {{}}\"",
            ),
            ('a = "Björn Björn"', "a = f\"{inputs['who']} {inputs['who']}\""),
            ("a = r'C:\\Björn'", "a = f\"C:\\\\{inputs['who']}\""),
            *same('a = "Björns"', 'a = "björn is here"'),
        ],
        NAME,
        WHO,
    )


def test_a_short_value_is_replaced_in_a_text_only_as_a_whole_word() -> None:
    lines(
        [
            ('a = "go to EU now"', "a = f\"go to {inputs['x']} now\""),
            ('a = "EU"', 'a = inputs["x"]'),
            *same('a = "EU-wide"', 'a = "(EU)"'),
        ],
        Replacement("x", "EU"),
    )


def test_an_f_string_is_changed_as_a_whole() -> None:
    found = put(
        "x = {'a': 1}\nprint(f\"Björn has {x['a']:>{3}} of {len('Björn')} {{é}} {x!r}\", 1)  # kept\nprint(f'Björn')",
        WHO,
    )
    assert found.problem == ""
    printed: list[str] = []
    exec(found.code, {"inputs": {"who": "Ann"}, "print": lambda *given: printed.append(str(given[0]))})
    assert printed == ["Ann has   1 of 3 {é} {'a': 1}", "Ann"]
    assert found.code.split("\n")[1].endswith(", 1)  # kept")


def test_an_f_string_that_cannot_be_written_again_stays_or_means_the_same() -> None:
    code = "x = {'a': 1}\na = f'''Björn \"\"\" \\' \\\\ {x[\"a\"]}'''"
    found = put(code, WHO)
    assert found.problem == ""
    given: dict[str, Any] = {"inputs": {"who": "Björn"}}
    exec(found.code, given)
    assert given["a"] == 'Björn """ \' \\ 1'


def test_longer_values_come_first() -> None:
    lines(
        [
            (
                "a = 'New York City', 'New York', 'in New York City'",
                'a = inputs["b"], inputs["a"], f"in {inputs[\'b\']}"',
            )
        ],
        Replacement("a", "New York"),
        Replacement("b", "New York City"),
    )


def test_the_exact_case_comes_first() -> None:
    lines([("a = 'dune', 'DUNE'", 'a = inputs["b"], inputs["a"]')], Replacement("a", "Dune"), Replacement("b", "dune"))


# Numbers and lists


def test_a_number_is_replaced_only_where_its_keyword_names_it() -> None:
    lines(
        [
            ("get(hours=5, n=5, page=5)", 'get(hours=inputs["hours"], n=5, page=5)'),
            ('put(body={"hours": 5, "n": 5})', 'put(body={"hours": inputs["hours"], "n": 5})'),
            ("max_hours = 5", 'max_hours = inputs["hours"]'),
            ("HOURS = [5, 6]", 'HOURS = [inputs["hours"], 6]'),
            ("get(hours=[4, 5])", 'get(hours=[4, inputs["hours"]])'),
            *same("get(hours=5.0)", "get(hours=-5)", "get(hours=True)", "get(hours='5')", "get(hours=5 + 1)", "x = 5"),
            *same(
                "twice_hours = 5", "twice_hours = 5", "for loop_hours in []: pass", "loop_hours = 5", "afterhours = 5"
            ),
        ],
        HOURS,
    )


def test_negative_numbers_and_decimals_are_replaced() -> None:
    lines(
        [("get(lat=-1.5, n=- 2)", 'get(lat=inputs["lat"], n=inputs["n"])')],
        Replacement("lat", -1.5, "lat"),
        Replacement("n", -2, "n"),
    )


def test_a_number_without_keyword_is_not_replaced() -> None:
    assert put("n = 5\nget(n=5)", Replacement("n", 5)).used == frozenset()


def test_a_list_with_exactly_these_items_is_replaced() -> None:
    lines(
        [
            ('a = ["Buy soil", "Order seeds"]', 'a = inputs["titles"]'),
            ('for t in "Buy soil", "Order seeds": pass', 'for t in inputs["titles"]: pass'),
            ('for t in ("Buy soil","Order seeds"): pass', 'for t in inputs["titles"]: pass'),
            *same(
                'a = ["Order seeds", "Buy soil"]',
                'a = ["Buy soil"]',
                'a = {"Buy soil", "Order seeds"}',
                "[a, b] = 1, 2",
            ),
            ("a = [1, 2.5]", 'a = inputs["n"]'),
        ],
        TITLES,
        Replacement("n", (1, 2.5)),
    )


def test_used_names_the_inputs_that_are_in_the_code() -> None:
    found = put('a = "Roof garden"\nb = "For Björn"\nget(hours=6)', NAME, WHO, HOURS, TITLES)
    assert found.used == {"name", "who"}


def test_a_program_that_has_inputs_keeps_them() -> None:
    code = 'a = inputs["Roof garden"], inputs.get("Björn")'
    assert put(code, NAME, WHO).code == code


# Calls and literals


def test_calls_are_listed_in_the_order_of_evaluation() -> None:
    found = put('a = put(n=get(x="Roof garden"))\nget(n=a)\nother()', NAME)
    assert found.sites == (Site(1, "get", False), Site(1, "put", False), Site(2, "get", False))


REPEATED = [
    "for x in []: get()",
    "for x in []: pass\nelse: get()",
    "while get(): pass",
    "[get() for x in []]",
    "{x: get() for x in []}",
    "[1 for x in [] for y in get()]",
    "[1 for x in [] if get()]",
    "def f(): get()",
    "f = lambda: get()",
    "if 1: get()",
    "if 1: pass\nelse: get()",
    "1 if 1 else get()",
    "1 and get()",
    "1 < 2 < get()",
    "assert 1, get()",
    "try: get()\nexcept Exception: pass",
    "try: pass\nfinally: get()",
    "with x: get()",
    "match 1:\n    case 1: get()",
    "match 1:\n    case x if get(): pass",
    "f = get",
    "map(get, [])",
    "f'{[get() for x in []]}'",
]
ONCE = [
    "get()",
    "x = [get()]",
    "for x in get(): pass",
    "[x for x in get()]",
    "if get(): pass",
    "1 if get() else 2",
    "get() and 1",
    "get() < 2 < 3",
    "assert get()",
    "gather(get(), 1)",
    "print(f'{get()}')",
    "match get():\n    case 1: pass",
    "def f(x=get()): pass",
    "@get()\ndef f(): pass",
    "class C: x = get()",
]


def test_calls_that_may_be_made_not_once_are_repeated() -> None:
    for codes, is_repeated in ((REPEATED, True), (ONCE, False)):
        marked = [f"{code}\nprint({number})" for number, code in enumerate(codes)]
        found = put("\n".join(marked))
        assert [site.is_repeated for site in found.sites] == [is_repeated] * len(codes), found
        code = "\n".join(marked).split("\n")
        assert all("get" in code[site.line - 1] for site in found.sites)


def test_the_literals_that_are_left_are_listed_once() -> None:
    code = (
        '"""Doc."""\na = {"key": "value", "k": "Björn"}\nb = a["key"], "value", "x", f"all {a} of", " "\n'
        'print("For Björn.")'
    )
    found = put(code, WHO)
    assert found.literals == ("value", "x", "all ", " of", "For ", ".")


def test_five_hundred_literals_are_listed_at_most() -> None:
    assert len(put("a = " + repr([f"n{n}" for n in range(700)])).literals) == 500


# Code that defeats the rewriting


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("x = (", "The program cannot be parsed on line 1: '(' was never closed."),
        ("x = 1\nif x\n", "The program cannot be parsed on line 2: expected ':'."),
        ("x = " + "-" * 20_000 + "1", "The program cannot be parsed"),
        ("x = " + "(" * 500 + ")" * 500, "The program cannot be parsed"),
        ("x = 1" + " + 1" * 12_000, "The program cannot be parsed"),
        ("x = 'a\0b'", "The program cannot be parsed"),
        ("x = '\ud800'", "The program cannot be parsed"),
        ("get()\n" * 2001, "The program cannot be parsed: the code has more than 2000 calls."),
        ("", "The program cannot be parsed"),
        ("x" * 70_000, "The program cannot be parsed"),
    ],
)
def test_code_that_cannot_be_rewritten_stays_with_a_reason(code: str, problem: str) -> None:
    found = put(code, NAME)
    assert found.problem.startswith(problem)
    assert (found.used, found.sites, found.literals) == (frozenset(), (), ())


def test_nothing_of_the_code_is_run() -> None:
    code = 'import os\nos._exit(3)\nopen("/etc/passwd")\nwhile True: pass\na = "Roof garden"'
    assert put(code, NAME).code.endswith('a = inputs["name"]')


def test_odd_line_ends_and_names_do_not_shift_the_places() -> None:
    code = (
        "# -*- coding: latin-1 -*-\nÄ = 'ü'\x0c\n\x0cif 1:\n\tℌ = '\u2028\x85', 'Roof garden'  # \x85\n"
        "\ta = 'Roof garden'"
    )
    found = put(code, NAME)
    assert found.problem == ""
    assert found.code == code.replace("'Roof garden'", 'inputs["name"]')
    found = put("a = 1\rb = '''x\ry''', 'Roof garden'\rc = 'Roof garden'", NAME)
    assert found.code == "a = 1\rb = '''x\ry''', inputs[\"name\"]\rc = inputs[\"name\"]"


def test_deep_code_is_rewritten() -> None:
    code = "x = " + "[" * 90 + "'Roof garden'" + "]" * 90
    assert put(code, NAME).code == code.replace("'Roof garden'", 'inputs["name"]')


@pytest.mark.parametrize("value", ["", " ", "\n", "\0", "\ud800", "{", "'\"", "\\", "a" * 5000])
def test_odd_values_do_no_harm(value: str) -> None:
    code = f"a = {value!a}\nb = {'for ' + value + ' now'!a}\nc = f'{{a}} x'"
    found = put(code, Replacement("x", value))
    assert found.problem == ""
    given: dict[str, Any] = {"inputs": {"x": value}}
    exec(found.code, given)
    assert (given["a"], given["b"]) == (value, "for " + value + " now")


@pytest.mark.parametrize("name", ['a"b', "a'b", "a\\b", "é", "a\nb"])
def test_odd_names_of_inputs_give_the_right_code_or_none(name: str) -> None:
    found = put("a = 'Roof garden'\nb = 'The Roof garden.'", Replacement(name, "Roof garden"))
    given: dict[str, Any] = {"inputs": {name: "X"}}
    exec(found.code, given)
    assert (given["a"], given["b"]) == (("Roof garden", "The Roof garden.") if found.problem else ("X", "The X."))


# Reports that are untrusted


class Reporting:
    """A sandbox whose worker reports what it is told to."""

    name = "reporting"
    runs_programs = True

    def __init__(self, payload: str) -> None:
        self.payload = payload

    def run(self, code: str, data: bytes, *, media: Media, limits: Limits, may_wait: bool = False) -> SandboxResult:
        return SandboxResult(Status.NO_OUTPUT, payload=self.payload)

    def close(self) -> None:
        pass


def reported(**changed: Any) -> Parametrized:
    report = {"code": "get()", "used": ["name"], "sites": [[1, "get", False]], "literals": ["x"], **changed}
    backend: SandboxBackend = Reporting(changed["raw"] if "raw" in changed else json.dumps(report))
    return parametrized("old", [NAME], functions=["get"], backend=backend)


def test_a_report_in_the_agreed_form_is_read() -> None:
    assert reported() == Parametrized("get()", frozenset({"name"}), (Site(1, "get", False),), ("x",))


@pytest.mark.parametrize(
    "changed",
    [
        *({"raw": raw} for raw in ("x", "[]", "5", '"x"', "{}", "[" * 100_000)),
        *({"code": code} for code in (5, None, "x" * (MOST_CODE + 1), "\ud800")),
        *({"used": used} for used in ("name", ["other"], [5], ["name", "name"], {"name": 1})),
        *({"sites": sites} for sites in (5, {}, [5], [[1, "get"]], [[0, "get", True]], [[2, "get", True]])),
        *({"sites": [site]} for site in (["1", "get", True], [1, "put", True], [1, ["get"], True], [1, "get", 1])),
        {"sites": [[1, "get", True]] * 2001},
        *({"literals": literals} for literals in ("x", [5], ["x"] * 501, ["\ud800"])),
    ],
)
def test_a_report_in_another_form_gives_no_code(changed: dict[str, Any]) -> None:
    found = reported(**changed)
    assert (found.code, found.used, found.sites, found.literals) == ("old", frozenset(), (), ())
    assert found.problem.startswith("The report of the rewritten program cannot be read: ")

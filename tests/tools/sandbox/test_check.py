"""Guards the check of a program before its first request: it reports certain problems only, in bounded work."""

import argparse
import ast
import difflib
import json
import json.decoder
import json.encoder
import json.scanner
import json.tool
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given as given_by
from hypothesis import settings
from hypothesis import strategies as st

from restgpt.tools.sandbox.check import problems
from restgpt.tools.sandbox.code import rewritten

MOVIE = ["id", "title", "genres", "extra", "links"]


def stub(*needed: str, optional: tuple[str, ...] = (), others: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    keywords = {**dict.fromkeys(needed, True), **dict.fromkeys(optional, False)}
    return {"keywords": keywords, "others": list(others), "needs_body": False, "result": None, "truths": [], **more}


BODY = ("body", "name", "description", "public")
STUBS: dict[str, dict[str, Any]] = {
    "get_movie": stub("movie_id", optional=("language",), result=MOVIE),
    "search_movie": stub("query", optional=("page",), others=("pages",), result=["page", "results", "total"]),
    "create_list": stub("session", others=BODY, needs_body=True),
    "create_any": stub(others=("body", "name")),
    "list_movies": stub(others=("pages",), truths=["adult"]),
    "get_any": stub(others=("pages",)),
}
GIVEN = ("rows", "one", "field", "number", "table", "stop", "gather", "data")
MODULES = ("json", "re", "datetime", "collections", "contextlib", "operator")


def found(code: str, *, fields: bool = True, modules: tuple[str, ...] = MODULES) -> list[str]:
    code = textwrap.dedent(code)
    told = problems(ast.parse(code), STUBS, [*STUBS, "delete_movie"], GIVEN, modules, fields=fields, code=code)
    return [text for _, text in told]


@pytest.mark.parametrize(
    "text", ["9007199254740993.25", "0.10000000000000000001", "1e400", "-1_0.00000000000000000001"]
)
def test_a_decimal_that_no_number_keeps_is_refused(text: str) -> None:
    for code in (
        f"print(create_any(body={{'amount': {text}}}))",
        f"x = 'größe'; amount = {text}\r\nprint(create_any(name=amount))",
    ):
        [told] = problems(ast.parse(code), STUBS, [*STUBS], GIVEN, MODULES, code=code)
        assert told[0] == 1
        assert told[1].startswith(f"{text.removeprefix('-')} has more digits than a number keeps")


def test_a_good_program_has_no_problems() -> None:
    code = """
    import json
    from collections import Counter

    def year(movie):
        return movie["extra"][:4]

    answer = search_movie(query="heat", pages=3)
    counts: Counter = Counter()
    for position, movie in enumerate(rows(answer), start=1):
        details = get_movie(movie["id"], language="de")
        for genre in details["genres"]:
            counts[genre["name"]] += 1
        print(position, details["title"], details.get("extra"), details["links"]["other"], year(movie))
    best = max(answer["results"], key=lambda m: m["id"])
    delete_movie = best["title"]  # a value, which is not called
    create_list("s", name=best["title"])
    create_list(session="s", body={"name": "x"})
    print(json.dumps(counts), *[m["title"] for m in sorted(rows(answer), key=lambda m: m["title"])])
    """
    assert found(code) == []
    imports = "import urllib.parse, http\nfrom urllib import parse\nfrom http import HTTPStatus"
    assert found(imports, modules=(*MODULES, "urllib", "http")) == []
    decimals = "1.10, 1e22, 10000000000000000000000.0, 1_0.5, 0.0, .5, 1E-7"
    assert found(f"print(create_any(body=[{decimals}]))") == []


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("m['adult'] == 'false'", ["adult is False, without quotes, or not: never the text 'false'"]),
        ("'True' != m.get('adult')", ["adult is True, without quotes, or not: never the text 'True'"]),
        ("m['adult'] == False and m['title'] == 'false'", []),
    ],
)
def test_a_field_that_is_true_or_false_is_not_compared_with_a_text(test: str, told: list[str]) -> None:
    assert found(f"movies = list_movies()\nprint([m for m in movies if {test}])") == told


def test_problems_have_lines_and_come_in_their_order() -> None:
    tree = ast.parse("x = get_movi(1)\n\ny = get_movie()\nimport requests")
    assert problems(tree, STUBS, [*STUBS], GIVEN, MODULES) == [
        (1, "there is no function get_movi; nearest: 'get_movie'"),
        (3, "get_movie() needs the argument movie_id"),
        (4, "requests is not here: call the functions instead"),
    ]


OWN = (
    "def get_movie(n): return {'title': 'It'}\nprint(get_movie(1)['title'])",
    "class get_movie: title = 'It'",
    "get_movie = lambda n: {'title': 'It'}\nprint(get_movie(1)['title'])",
    "for get_movie in [len]: print(get_movie([1]))",
    "print((get_movie := len)([1]), get_movie([]))",
    "import json as get_movie",
    "from json import dumps as get_movie",
    "with open('x') as get_movie: print(get_movie(1))",
    "try: print(1)\nexcept ValueError as get_movie: print(get_movie(1))",
    "def f(get_movie): return get_movie(1)",
    "def f():\n    [get_movie, other] = [len, 1]\n    return get_movie([other])",
)
"""Programs that bind the name of an operation."""


OTHERWISE = "call it, and give what you bind here another name"
FUNCTIONS, STANDARD = "call the functions instead", "use the functions and standard modules"
GATHER = "gather(f(x), g(y)) calls several"
MANY = "arguments by position, but"
SEARCH = "it takes query, page, pages"
LIST = "it takes session, body, name, description, public"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        # Imports and names
        *((code, f"get_movie is a function of the API: {OTHERWISE}") for code in OWN),
        ("def stop(why): pass", f"stop is here already: {OTHERWISE}"),
        ("gather = map\ngather(len, [])", f"gather is here already: {OTHERWISE}"),
        ("from urllib import request", f"urllib.request is not here: {FUNCTIONS}"),
        ("import http.client as c", f"http.client is not here: {FUNCTIONS}"),
        ("try: import requests\nexcept ImportError: data = [1]", f"requests is not here: {FUNCTIONS}"),
        ("import socket", f"socket is not here: {FUNCTIONS}"),
        ("import numpy as np", f"numpy is not here: {STANDARD}"),
        ("from requests.auth import X", f"requests is not here: {FUNCTIONS}"),
        ("import asyncio", f"asyncio is not here: call the functions without await; {GATHER}"),
        ("from . import other", f"a relative import is not here: {STANDARD}"),
        ("movie = 1\nprint(movi)", "the name movi is never assigned; nearest: 'movie'"),
        ("zzzzzz()", "there is no function zzzzzz"),
        ("delete_movies(3)", "there is no function delete_movies; nearest: 'delete_movie'"),
        ("api.get_movie(1)", "api is not here: call get_movie(...) directly"),
        ("json.dumps(1)", "the module json is not imported: add `import json`"),
        ("requests.get('x')", f"requests is not here: {FUNCTIONS}"),
        (
            "async def main():\n    await get_movie(1)",
            f"the functions are ordinary functions: call them without async and await; {GATHER}",
        ),
        # Calls
        ("search_movie(quer='x', query='x')", f"search_movie() has no argument 'quer'; nearest: 'query'; {SEARCH}"),
        ("get_movie(1, pages=2)", "get_movie() has no argument 'pages'; it takes movie_id, language"),
        ("search_movie('x', body={})", f"search_movie() has no argument 'body'; {SEARCH}"),
        ("get_any(x=1)", "get_any() has no argument 'x'; it takes pages"),
        ("search_movie()", "search_movie() needs the argument query"),
        ("search_movie(page=1)", "search_movie() needs the argument query"),
        ("search_movie('x', 1, 2)", f"search_movie() takes at most 2 {MANY} 3 are given; {SEARCH}"),
        ("create_any({'name': 1})", f"create_any() takes at most 0 {MANY} 1 are given; it takes body, name"),
        ("create_list('s')", "create_list() needs the argument body"),
        ("create_list()", "create_list() needs the arguments session, body"),
        ("create_list('s', nam='x', name='y')", f"create_list() has no argument 'nam'; nearest: 'name'; {LIST}"),
    ],
)
def test_what_cannot_be_right_is_reported(code: str, message: str) -> None:
    assert found(code) == [message]


@pytest.mark.parametrize(
    "code",
    [
        "get_movie(1)['titel']",
        "get_movie(1).get('titel')",
        "m = get_movie(1)\nprint(m['titel'])",
        "m = get_movie(1)\nm.get('titel')",
        "m = get_movie(1)\nm.get('titel', '')",
        "m = get_movie(1)\nfor t in m.get('titel') or []: print(t)",
        "m = get_movie(1)\nif not m: stop('none')\nprint(len(m), f'{m}', rows(m), m['titel'])",
        "def f():\n    m = get_movie(1)\n    return lambda: m['titel']",
        "try:\n    m = get_movie(1)\n    m['titel']\nexcept Exception as error:\n    print(error)",
        "counts = {}\nm = get_movie(1)\nfor key in m['genres']: counts[key] = 1\nprint(m['titel'])",
    ],
)
def test_a_field_that_cannot_exist_is_reported(code: str) -> None:
    told = "get_movie(...) has no field 'titel'; nearest: 'title'; it has id, title, genres, extra, links"
    assert found(code) == [told]
    assert found(code, fields=False) == []


@pytest.mark.parametrize(
    "code",
    [
        # Names that may be bound
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
        "from __future__ import annotations",
        "from re import *\nprint(anything)",
        "exec('a = 1')\nprint(a)",
        "try:\n    later\nexcept NameError:\n    later = 1",
        "def f(x: Unknown) -> Unknown:\n    y: Unknown = x\n    return y",
        "def f():\n    global total\n    total = 1\nprint(total)",
        "match data:\n    case {'a': a, **rest}: print(a, rest)\n    case [b, *c] as d: print(b, c, d)",
        "if (n := 3) > 2: print(n)\nprint([y for x in data if (y := x)], y)",
        "class A:\n    def f(self): return __class__\nprint(A, __name__)",
        "with open('x') as file: print(file)",
        "try: pass\nexcept OSError as error: print(error)",
        "print(delete_movie, exit)",
        # Calls that can be sent, as far as their keywords say
        "get_movie('5')",
        "get_movie(movie_id=data)",
        "get_movie(1, None)",
        "search_movie(5, pages='all')",
        "search_movie(*data)",
        "search_movie(**data)",
        "create_list('s', name='x')",
        "create_list('s', **data)",
        "create_list('s', body=data)",
        "create_any()",
        "print(sorted(list_movies(), key=lambda stop: stop['title']), [stop for stop in list_movies()])",
        "def rows(answer): return answer\nnumber = 1\nprint(rows(number))",
        "list(map(get_movie, [1, 2]))",
        # Fields that may exist
        "get_any()['titel']",
        "list_movies()[0]['titel']",
        "get_movie(1)['links']['titel']",
        *(
            f"m = get_movie(1)\n{change}\nm['own']"
            for change in (
                *("m = get_any()", "if data: m = get_any()", "for m in data: pass", "m['own'] = 1"),
                *("m.update(own=1)", "m |= {'own': 1}", "m.setdefault('own', 1)", "for key in ['own']: m[key] = 1"),
                *("def fill(n, key): n[key] = 1\nfill(m, 'own')", "n = m\nn.update(data)"),
                *("ms = [m]\nms[0].update(data)", "a, n = 1, m\nn[data] = 1"),
                *("from operator import setitem\nsetitem(m, 'own', 1)", "dict.update(m, data)"),
                *("def f():\n    global m\n    m = data\nf()", "del m\nm = data", "rows(m)[0]['own'] = 1"),
            )
        ),
        "m = get_movie(1)\nif 'own' in m: m['own']",
        "m = get_movie(1)\nif 'error' in m: print(m['reason'])",
        "m = get_movie(1)\nif m.get('status_code') == 34: print(m['status_text'])",
        "if get_movie(1).get('error'): stop('no')",
        "m = get_movie(1)\nm.get('titel') or m.get('title')",
        "m = get_movie(1)\nm.get('titel', m.get('title'))",
        "m = get_movie(1)\nm['titel'] if m.get('titel') else m['title']",
        "m = get_movie(1)\ntry: m['titel']\nexcept KeyError: pass",
        "import contextlib\nm = get_movie(1)\nwith contextlib.suppress(KeyError): m['titel']",
        "m = search_movie('x')\nitems = m if isinstance(m, list) else m['titles']",
        "m = search_movie('x')\nif type(m) is list: m['titles']",
        "def f(m): return m['titel']\nm = get_movie(1)",
        "m = dict(get_movie(1))\nm['own']",
        "m = {**get_movie(1), 'own': 1}\nm['own']",
        "m = (get_movie(1) or {'own': 1})['own']",
        "class A:\n    m = get_movie(1)\n    def f(self): return m['titel']\nm = data",
        "*ms, m = list_movies()\nm['titel']",
        "x = x['titel'] if data else get_movie(x)",
        "globals()['m'] = {'titel': 1}\nm = get_movie(1)\nm['titel']",
    ],
)
def test_what_may_be_right_is_not_reported(code: str) -> None:
    assert found(code) == []


def test_at_most_twenty_problems_are_reported_and_none_twice() -> None:
    code = "\n".join(f"name{number}()\nname{number}()" for number in range(50))
    messages = found(code)
    assert len(messages) == len(set(messages)) == 20
    assert messages[0] == "there is no function name0"


def test_long_and_deep_programs_are_checked() -> None:
    deep = "x = " + " + ".join(["get_movie(1)['titel']"] * 900)
    assert len(found(deep)) == 1
    assert found("x = get_movie(1)" + "['links']" * 90 + "['titel']") == []
    chain = "if data: pass\n" + "".join(f"elif data == {n}: pass\n" for n in range(300))
    assert found(chain) == []
    assert found("x = " + "y" * 100_000 + "()") == ["there is no function " + "y" * 77 + "..."]
    twice = "get_movie(1)['titel']; get_movi(1)"
    assert found("\n".join([twice] * 3000)) == found(twice)
    nested = "".join(" " * n + "try:\n" for n in range(18)) + " " * 18 + "get_movi(1)\n"
    nested += "".join(" " * n + "except OSError: pass\n" for n in reversed(range(18)))
    assert found(nested) == ["there is no function get_movi; nearest: 'get_movie'"]


SOURCES: tuple[ModuleType, ...] = (json, json.decoder, json.encoder, json.scanner, json.tool, difflib, argparse, ast)


@pytest.mark.parametrize("module", SOURCES, ids=lambda module: str(module.__name__))
def test_programs_of_the_standard_library_are_checked_and_rewritten(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    everything = {name: {**STUBS["get_movie"], "name": name} for name in names}
    assert len(problems(tree, everything, names, GIVEN, MODULES)) <= 20
    imported = {"json", "sys", "re", "collections", "heapq", "os", "gettext", "copy", "textwrap", "shutil", "ast"}
    imported |= {"argparse", "codecs", "_ast", "inspect", "pathlib", "enum", "contextlib", "difflib", "_json"}
    imported |= {"types", "doctest", "warnings"}
    own = ("relative", "stop is here already")
    assert not [text for _, text in problems(tree, {}, [], [], imported) if not any(word in text for word in own)]
    compile(rewritten(tree), "<source>", "exec")


NODES = st.sampled_from(
    [
        *("x", "rows(x)", "get_movie(x)", "search_movie(x)['results']", "x['titel']", "x.get('id', x)", "-x"),
        *("[x for x in x]", "{**x}", "(x := x)", "lambda x=x: x", "x[1:]", "x or x", "f'{x!r:>{x}}'", "None"),
        *("gather(*[x for y in x])", "gather([get_movie(y) for y, *x in x if y])", "sorted(x, key=lambda m: m['x'])"),
        *("create_list(body={'name': x, x: 1}, *x)", "next(iter(x))", "enumerate(zip(x, x))"),
    ]
)


@settings(max_examples=150, deadline=None)
@given_by(st.lists(st.tuples(NODES, NODES, NODES), min_size=1, max_size=6))
def test_no_program_breaks_the_check(parts: list[tuple[str, str, str]]) -> None:
    def filled(template: str, inner: str) -> str:
        return template.replace("x)", f"({inner}))", 1)

    code = "\n".join(
        f"{'x' if n % 2 else 'x, (y, *z)'} = {filled(a, filled(b, c))}" for n, (a, b, c) in enumerate(parts)
    )
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    first = problems(tree, STUBS, [*STUBS], GIVEN, MODULES)
    assert first == problems(ast.parse(code), STUBS, [*STUBS], GIVEN, MODULES) == sorted(first)
    ast.unparse(rewritten(tree))


SPREAD = "lambda *, a=a, b=b, c=c, d=d: f(a, b)"


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("gather(f(x), g(y))", "gather(lambda: f(x), lambda: g(y))"),
        ("gather(f, x, 1, lambda: f(x))", "gather(f, x, 1, lambda: f(x))"),
        ("gather(*[f(x) for x in xs if c])", "gather(*[lambda *, x=x: f(x) for x in xs if c])"),
        ("gather(*(f(x) for x in xs))", "gather(*(lambda *, x=x: f(x) for x in xs))"),
        ("gather([f(x) for x in xs])", "gather(*[lambda *, x=x: f(x) for x in xs])"),
        ("gather(f(x) for x in xs)", "gather(*(lambda *, x=x: f(x) for x in xs))"),
        ("gather([f(x), g(y)])", "gather(lambda: f(x), lambda: g(y))"),
        ("gather(*[f(x), y], z())", "gather(lambda: f(x), y, lambda: z())"),
        ("gather(*[f(a, b) for a, (b, *c) in s for d in a])", f"gather(*[{SPREAD} for a, (b, *c) in s for d in a])"),
        ("gather(*[f(y) for x in s if (y := x)])", "gather(*[lambda *, x=x, y=y: f(y) for x in s if (y := x)])"),
        ("gather(*[lambda: f(x) for x in xs])", "gather(*[lambda *, x=x: f(x) for x in xs])"),
        ("gather(*[gather(f(x), 1) for x in s])", "gather(*[lambda *, x=x: gather(lambda: f(x), 1) for x in s])"),
        ("gather(*tasks)", "gather(*tasks)"),
        ("gather(tasks)", "gather(tasks)"),
        ("gather((y := f(x)))", "gather((y := f(x)))"),
        ("other(f(x))", "other(f(x))"),
        ("gather = g\ngather(f(x))", "gather = g\ngather(f(x))"),
    ],
)
def test_the_branches_of_gather_become_functions(code: str, result: str) -> None:
    assert ast.unparse(rewritten(ast.parse(code))) == result


def test_rewritten_branches_keep_their_own_values_and_lines() -> None:
    code = "answers = gather(*[f(a,\n  b) for a, b in [(1, 2), (3, 4)]])\nmore = gather(\n  f(5, 6),\n  g)"
    tree = rewritten(ast.parse(code))

    def gather(*branches: Callable[[], object]) -> list[object]:
        return [branch() for branch in reversed(branches)]

    names: dict[str, Any] = {"f": lambda a, b: (a, b), "g": lambda: 7, "gather": gather}
    exec(compile(tree, "<code>", "exec"), names)
    assert (names["answers"], names["more"]) == ([(3, 4), (1, 2)], [7, (5, 6)])
    assert sorted(node.lineno for node in ast.walk(tree) if isinstance(node, ast.Lambda)) == [1, 4]

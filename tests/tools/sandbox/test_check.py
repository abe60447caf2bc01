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

from restgpt.tools.sandbox.code import OFFERED
from restgpt.tools.sandbox.guest import library, shapes
from restgpt.tools.sandbox.guest.check import problems
from restgpt.tools.sandbox.guest.gather import rewritten

TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
MOVIE: dict[str, Any] = {
    "fields": {
        "id": INTEGER,
        "title": TEXT,
        "genres": {"items": {"fields": {"id": INTEGER, "name": TEXT}, "open": False}},
        "extra": None,
        "links": {"fields": {"self": TEXT}, "open": True},
    },
    "open": False,
}
FOUND = {"fields": {"page": INTEGER, "results": {"items": MOVIE}, "total": INTEGER}, "open": False}
STUBS: dict[str, dict[str, Any]] = {
    "get_movie": {
        "name": "get_movie",
        "keywords": {
            "movie_id": {"required": True, "types": ["integer"]},
            "language": {"required": False, "types": ["string"], "values": ["de", "en-US"]},
            "adult": {"required": False, "types": ["boolean"]},
            "score": {"required": False, "types": ["number"]},
            "parts": {"required": False, "types": ["array"], "values": ["cast", "crew"]},
            "level": {"required": False, "types": ["integer"], "values": [1, 2]},
        },
        "body": None,
        "pages": False,
        "result": MOVIE,
    },
    "search_movie": {
        "name": "search_movie",
        "keywords": {
            "query": {"required": True, "types": ["string"]},
            "page": {"required": False, "types": ["integer"]},
        },
        "body": None,
        "pages": True,
        "result": FOUND,
    },
    "create_list": {
        "name": "create_list",
        "keywords": {"session": {"required": True, "types": ["string"]}},
        "body": {
            "required": True,
            "types": ["object"],
            "fields": ["name", "description", "public"],
            "needs": ["name"],
            "open": False,
        },
        "pages": False,
        "result": None,
    },
    "create_any": {
        "name": "create_any",
        "keywords": {},
        "body": {"required": False, "types": ["object"], "fields": ["name"], "needs": ["name"], "open": True},
        "pages": False,
        "result": None,
    },
    "list_movies": {"name": "list_movies", "keywords": {}, "body": None, "pages": True, "result": {"items": MOVIE}},
    "get_any": {"name": "get_any", "keywords": {}, "body": None, "pages": True, "result": None},
}
GIVEN = ("rows", "one", "field", "number", "table", "stop", "gather", "data")
MODULES = ("json", "re", "datetime", "collections", "contextlib")


def found(code: str, *, fields: bool = True) -> list[str]:
    tree = ast.parse(textwrap.dedent(code))
    return [text for _, text in problems(tree, STUBS, [*STUBS, "delete_movie"], GIVEN, MODULES, fields=fields)]


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


def test_modules_beside_those_of_the_network_may_be_imported() -> None:
    tree = ast.parse("import urllib.parse, http\nfrom urllib import parse\nfrom http import HTTPStatus")
    assert problems(tree, STUBS, [*STUBS], GIVEN, OFFERED) == []


def test_problems_have_lines_and_come_in_their_order() -> None:
    tree = ast.parse("x = get_movi(1)\n\ny = get_movie()\nimport requests")
    assert problems(tree, STUBS, [*STUBS], GIVEN, MODULES) == [
        (1, "there is no function get_movi; nearest: get_movie"),
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


@pytest.mark.parametrize(
    ("code", "message"),
    [
        # Imports and names
        *(
            (code, "get_movie is a function of the API: call it, and give what you bind here another name")
            for code in OWN
        ),
        ("def stop(why): pass", "stop is here already: call it, and give what you bind here another name"),
        (
            "gather = map\ngather(len, [])",
            "gather is here already: call it, and give what you bind here another name",
        ),
        ("from urllib import request", "urllib.request is not here: call the functions instead"),
        ("import http.client as c", "http.client is not here: call the functions instead"),
        ("try: import requests\nexcept ImportError: data = [1]", "requests is not here: call the functions instead"),
        ("import socket", "socket is not here: call the functions instead"),
        ("import numpy as np", "numpy is not here: use the functions and standard modules"),
        ("from requests.auth import X", "requests is not here: call the functions instead"),
        (
            "import asyncio",
            "asyncio is not here: call the functions without await; gather(f(x), g(y)) calls several",
        ),
        ("from . import other", "a relative import is not here: there are no other files"),
        ("movie = 1\nprint(movi)", "the name movi is never assigned; nearest: movie"),
        ("zzzzzz()", "there is no function zzzzzz"),
        ("delete_movies(3)", "there is no function delete_movies; nearest: delete_movie, list_movies"),
        ("api.get_movie(1)", "api is not here: call get_movie(...) directly"),
        ("json.dumps(1)", "the module json is not imported: add `import json`"),
        ("requests.get('x')", "requests is not here: call the functions instead"),
        (
            "async def main():\n    await get_movie(1)",
            "the functions are ordinary functions: call them without async and await; gather(f(x), g(y)) calls several",
        ),
        # Calls
        (
            "search_movie(quer='x', query='x')",
            "search_movie() has no argument 'quer'; nearest: 'query'; it takes query, page, pages",
        ),
        (
            "get_movie(1, pages=2)",
            "get_movie() has no argument 'pages'; nearest: 'parts'; "
            "it takes movie_id, language, adult, score, parts, level",
        ),
        (
            "search_movie('x', body={})",
            "search_movie() has no argument 'body'; it takes query, page, pages",
        ),
        ("search_movie()", "search_movie() needs the argument query"),
        (
            "search_movie('x', 1, 2)",
            "search_movie() takes at most 2 arguments by position (query, page), but 3 are given",
        ),
        ("search_movie('x', query='y')", "search_movie() gets the argument 'query' twice, by position and by name"),
        ("get_movie('abc')", "the argument 'movie_id' of get_movie() has to be an integer, but it is 'abc'"),
        ("get_movie(1.5)", "the argument 'movie_id' of get_movie() has to be an integer, but it is '1.5'"),
        ("get_movie([1])", "the argument 'movie_id' of get_movie() has to be an integer, but it is a list"),
        ("get_movie(None)", "get_movie() needs the argument 'movie_id', but it is None"),
        ("get_movie(1, adult='yes')", "the argument 'adult' of get_movie() has to be a boolean, but it is 'yes'"),
        ("search_movie({'q': 1})", "the argument 'query' of search_movie() has to be a string, but it is a dict"),
        (
            "search_movie(['Jaws', 'Alien'])",
            "the argument 'query' of search_movie() has to be a string, but it is a list; "
            "join several values into one text, as its description says",
        ),
        (
            "get_movie(1, language='en')",
            "the argument 'language' of get_movie() cannot be 'en'; it is one of de, en-US",
        ),
        (
            "get_movie(1, 'en-us')",
            "the argument 'language' of get_movie() cannot be 'en-us'; nearest: 'en-US'; it is one of de, en-US",
        ),
        ("get_movie(1, level=-1)", "the argument 'level' of get_movie() cannot be '-1'; it is one of 1, 2"),
        ("create_list('s')", "create_list() needs a body with name"),
        ("create_list('s', body=None)", "create_list() needs a body, but it is None"),
        ("create_list('s', public=True)", "the body of create_list() needs name"),
        ("create_list('s', body={'public': True})", "the body of create_list() needs name"),
        (
            "create_list('s', body={'name': 'x', 'publik': 1})",
            "the body of create_list() has no field 'publik'; nearest: 'public'; it has name, description, public",
        ),
        ("create_list('s', body=['x'])", "the body of create_list() has to be a dict, but it is a list"),
        (
            "create_list('s', nam='x', name='y')",
            "create_list() has no argument 'nam'; nearest: 'name'; it takes session, body, name, description, public",
        ),
        # Fields of answers
        ("list_movies()['results']", "list_movies(...) is a list, so it has no field 'results'; take an item of it"),
        (
            "m = get_movie(1)\nfor g in m['genres']: g['titel']",
            "an item of get_movie(...)[\"genres\"] has no field 'titel'; it has id, name",
        ),
    ],
)
def test_what_cannot_be_right_is_reported(code: str, message: str) -> None:
    assert found(code) == [message]


TITLE = "; nearest: 'title'; it has id, title, genres, extra, links"


@pytest.mark.parametrize(
    ("code", "label"),
    [
        ("get_movie(1)['titel']", "get_movie(...)"),
        ("m = get_movie(1)\nm.get('titel')", "get_movie(...)"),
        ("m = get_movie(1)\nm.get('titel', '')", "get_movie(...)"),
        ("for m in list_movies(): m['titel']", "an item of list_movies(...)"),
        ("[m['titel'] for m in rows(search_movie('x'))]", 'an item of search_movie(...)["results"]'),
        ("r = search_movie('x')\nr['results'][0]['titel']", 'an item of search_movie(...)["results"]'),
        ("r = search_movie('x')\nr.get('results', [])[:3][-1]['titel']", 'an item of search_movie(...)["results"]'),
        ("for m in search_movie('x').get('results') or []: m['titel']", 'an item of search_movie(...)["results"]'),
        ("one(search_movie('x'), title='y')['titel']", 'an item of search_movie(...)["results"]'),
        ("next(iter(list_movies()), None)['titel']", "an item of list_movies(...)"),
        ("next(m for m in list_movies() if m['id'] == 1)['titel']", "an item of list_movies(...)"),
        ("for i, m in enumerate(list_movies()): m['titel']", "an item of list_movies(...)"),
        ("for m, n in zip(list_movies(), [1]): m['titel']", "an item of list_movies(...)"),
        ("ms = [get_movie(i) for i in [1]]\nfor m in ms: m['titel']", "get_movie(...)"),
        ("ms = gather(*[get_movie(i) for i in [1]])\nfor m in ms: m['titel']", "get_movie(...)"),
        ("a, b = gather(get_movie(1), lambda: search_movie('x'))\na['titel']", "get_movie(...)"),
        ("for m in map(get_movie, [1]): m['titel']", "get_movie(...)"),
        ("sorted(list_movies(), key=lambda m: m['titel'])", "an item of list_movies(...)"),
        ("ms = list_movies()\nms.sort(key=lambda m: m['titel'])", "an item of list_movies(...)"),
        ("list(filter(lambda m: m['titel'], list_movies()))", "an item of list_movies(...)"),
        ("def f():\n    m = get_movie(1)\n    return lambda: m['titel']", "get_movie(...)"),
        ("m = n = get_movie(1)\nif (k := n): k['titel']", "get_movie(...)"),
        ("m = get_movie(1) if data else None\nm['titel']", "get_movie(...)"),
        ("if data: m = get_movie(1)\nelse: m = get_movie(2)\nm['titel']", "get_movie(...)"),
        ("m = get_movie(1)\nm.get('titel') or m.get('name')", "get_movie(...)"),
    ],
)
def test_a_field_that_cannot_exist_is_reported(code: str, label: str) -> None:
    assert found(code)[-1] == f"{label} has no field 'titel'{TITLE}"
    assert not [text for text in found(code, fields=False) if "field" in text]


@pytest.mark.parametrize(
    "code",
    [
        "print(get_movie(movie_id=1)['id'] == '1')",
        "print([m for m in search_movie(query='x')['results'] if '7' != m['id']])",
        "found = search_movie(query='x')\nprint(found.get('total') == 'none')",
    ],
)
def test_a_number_that_is_compared_with_a_text_is_reported(code: str) -> None:
    [told] = found(code)
    assert "is a number, which no text is equal to" in told


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
        # Calls that can be sent
        "get_movie('5')",
        "get_movie(5.0)",
        "get_movie(f'{data}')",
        "get_movie(data)",
        "get_movie(-1, score=3)",
        "get_movie(1, score='3.5', adult='true')",
        "get_movie(1, None)",
        "get_movie(1, parts='cast,crew')",
        "get_movie(1, parts=['cast'], level='1')",
        "get_movie(1, level=1.0)",
        "search_movie(5, pages='all')",
        "search_movie(*data)",
        "search_movie(**data)",
        "create_list('s', name='x')",
        "create_list('s', **data)",
        "create_list('s', body=data)",
        "create_list('s', body={**data})",
        "create_list('s', body={data: 1})",
        "create_any()",
        "create_any(name='x', other=1)",
        "create_any(body={'name': 'x', 'other': 1})",
        "print(sorted(list_movies(), key=lambda stop: stop['title']), [stop for stop in list_movies()])",
        "def rows(answer): return answer\nnumber = 1\nprint(rows(number))",
        "list(map(get_movie, [1, 2]))",
        # Fields that may exist
        "get_any()['titel']",
        "get_movie(1)['links']['titel']",
        "get_movie(1)['extra']['titel']",
        "m = get_movie(1)\nm = get_any()\nm['titel']",
        "m = get_movie(1)\nm = search_movie('x')\nm['titel']",
        "for m in list_movies(): m['own'] = 1\nfor m in list_movies(): m['own']",
        "m = get_movie(1)\nm.update(own=1)\nm['own']",
        "m = get_movie(1)\nm |= {'own': 1}\nm['own']",
        "m = get_movie(1)\nm.update(get_any())\nm['own']",
        "m = get_movie(1)\nfor key in ['own']: m[key] = 1\nm['own']",
        "m = get_movie(1)\nm.setdefault('own', 1)\nm['own']",
        "ms = list_movies()\nms.append({'own': 1})\nms[-1]['own']",
        "def fill(m, key): m[key] = 1\nm = get_movie(1)\nfill(m, 'own')\nm['own']",
        "m = get_movie(1)\nif 'own' in m: m['own']",
        "if get_movie(1).get('error'): stop('no')",
        "r = search_movie('x')\nr['results'] = [{'own': 1}]\nr['results'][0]['own']",
        "r = search_movie('x')\nr['results'] = [{'own': 1}]\nrows(r)[0]['own']",
        "r = search_movie('x')\nr['results'].append({'own': 1})\nr['results'][-1]['own']",
        "m = get_movie(1)\nm['genres'] = {'own': 1}\nm['genres']['own']",
        "ms = list_movies()\nms[:] = [{'own': 1}]\nms[0]['own']",
        "ms = list_movies()\nfor n, m in enumerate(ms): ms[n] = {'own': m}\nms[0]['own']",
        "m = get_movie(1)\nm.get('titel') or m.get('title')",
        "m = get_movie(1)\nm.get('titel', m.get('title'))",
        "m = get_movie(1)\nm['titel'] if m.get('titel') else m['title']",
        "m = get_movie(1)\ntry: m['titel']\nexcept KeyError: pass",
        "import contextlib\nm = get_movie(1)\nwith contextlib.suppress(KeyError): m['titel']",
        "m = search_movie('x')\nm = m if isinstance(m, list) else m['titles']",
        "def f(m): return m['titel']\nm = get_movie(1)",
        "def rows(x): return [{'titel': 1}]\nrows(list_movies())[0]['titel']",
        "def sorted(x, key): return key({'titel': 1})\nsorted(list_movies(), key=lambda m: m['titel'])",
        "def f():\n    global m\n    m = {'titel': 1}\nm = get_movie(1)\nf()\nm['titel']",
        "m = dict(get_movie(1))\nm['own']",
        "m = {**get_movie(1), 'own': 1}\nm['own']",
        "m = (get_movie(1) or {'own': 1})['own']",
        "class A:\n    m = get_movie(1)\n    def f(self): return m['titel']\nm = data",
        "(get_movie(1) and data)['titel']",
        "*ms, m = list_movies()\nm['titel']",
        "x = x['titel'] if data else get_movie(x)",
        # Comparisons
        "print(get_movie(movie_id=1)['title'] == '1')",
        "print(str(get_movie(movie_id=1)['id']) == '1')",
        "print(get_movie(movie_id=1)['extra'] == '1')",
        "print(get_movie(movie_id=1)['id'] == 1)",
        "print(get_movie(movie_id=1)['id'] in ('1', 1))",
        "found = get_movie(movie_id=1)\nfound['id'] = str(found['id'])\nprint(found['id'] == '1')",
    ],
)
def test_what_may_be_right_is_not_reported(code: str) -> None:
    assert found(code) == []


def test_counting_in_a_new_dict_keeps_the_check_of_fields() -> None:
    code = "counts = {}\nfor m in list_movies(): counts[m['id']] = 1\nprint(m['titel'])"
    assert len(found(code)) == 1


def test_the_check_and_the_library_know_the_same_envelopes() -> None:
    assert shapes.LISTS == library.LISTS


def test_the_shape_of_rows_is_what_rows_returns() -> None:
    item = {"fields": {"a": TEXT}, "open": False}
    code = ast.parse("for x in rows(get()): x['b']")

    def messages(result: object) -> list[tuple[int, str]]:
        stub = {"name": "get", "keywords": {}, "body": None, "pages": True, "result": result}
        return problems(code, {"get": stub}, ["get"], GIVEN, ())

    def answer(*unknown: str, **fields: object) -> object:
        return {"fields": {**fields, **dict.fromkeys(unknown)}, "open": False}

    assert messages({"items": item})
    assert messages(answer(total=INTEGER, results={"items": item}))
    assert messages(answer(total=INTEGER, Movies={"items": item}))
    assert messages(answer(tags={"items": TEXT}, results={"items": item}))
    assert messages(item)
    # A list that comes first may be there, or several lists, or a field of any type.
    assert not messages(answer("items", results={"items": item}))
    assert not messages(answer("other", movies={"items": item}))
    assert not messages(answer(cast={"items": item}, crew={"items": item}))
    assert not messages(answer(data=answer(items={"items": item})))
    assert not messages({**item, "fields": {"results": {"items": item}}, "open": True})


NAMES = st.sampled_from(["items", "data", "cast", "x", "y", "errors"])
SHAPES = st.recursive(
    st.sampled_from([None, TEXT, {"items": TEXT}, {"items": None}]),
    lambda inner: st.one_of(
        st.builds(lambda fields: {"fields": fields, "open": False}, st.dictionaries(NAMES, inner, max_size=4)),
        st.builds(lambda shape: {"items": shape}, inner),
    ),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given_by(SHAPES, st.data())
def test_a_reported_field_is_in_no_row_of_an_answer_of_that_shape(shape: Any, drawn: st.DataObject) -> None:
    def answer(shape: Any) -> Any:
        if shape is None:
            return drawn.draw(st.sampled_from([1, "t", [], ["t"], [{"x": 1}], {"items": [{"y": 1}]}]))
        if "fields" in shape:
            return {name: answer(inner) for name, inner in shape["fields"].items()}
        if "items" in shape:
            return [answer(shape["items"]) for _ in range(drawn.draw(st.integers(0, 2)))]
        return "text"

    stub = {"name": "get", "keywords": {}, "body": None, "pages": True, "result": shape}
    name = drawn.draw(NAMES)
    tree = ast.parse(f"for row in rows(get()): row[{name!r}]")
    if problems(tree, {"get": stub}, ["get"], GIVEN, ()):
        given = answer(shape)
        try:
            items = library.rows(given)
        except (LookupError, ValueError):
            return
        assert not [item for item in items if isinstance(item, dict) and name in item], given


def test_at_most_twenty_problems_are_reported_and_none_twice() -> None:
    code = "\n".join(f"name{number}()\nname{number}()" for number in range(50))
    messages = found(code)
    assert len(messages) == len(set(messages)) == 20
    assert messages[0] == "there is no function name0"


class Counted(dict[str, Any]):
    """A stub that counts how often it is looked at."""

    looks = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.looks += 1
        return super().get(key, default)


def test_the_work_grows_with_the_program_not_with_its_paths() -> None:
    stub = Counted(STUBS["get_movie"])
    lines = ["x0 = get_movie(1)"] + [f"x{n} = x{n - 1} if x{n - 1} else (x{n - 1} or x{n - 1})" for n in range(1, 40)]
    problems(ast.parse("\n".join(lines) + "\nx39['titel']"), {"get_movie": stub}, ["get_movie"], GIVEN, ())
    assert 0 < stub.looks < 10


def test_long_and_deep_programs_are_checked() -> None:
    deep = "x = " + " + ".join(["get_movie(1)['titel']"] * 900)
    assert len(found(deep)) == 1
    assert found("x = get_movie(1)" + "['links']" * 90 + "['titel']") == []
    chain = "if data: pass\n" + "".join(f"elif data == {n}: pass\n" for n in range(300))
    assert found(chain) == []
    assert found("x = " + "y" * 100_000 + "()") == ["there is no function " + "y" * 79 + "…"]
    assert found("\n".join(["get_movie(1)['titel']; get_movi(1)"] * 3000)) == found(
        "get_movie(1)['titel']; get_movi(1)"
    )
    cycle = "a = b\nb = a\nfor c in c: c['x']\n" + "\n".join(f"d = d['x{n}']" for n in range(500))
    assert found(cycle) == []


SOURCES: tuple[ModuleType, ...] = (json, json.decoder, json.encoder, json.scanner, json.tool, difflib, argparse, ast)


@pytest.mark.parametrize("module", SOURCES, ids=lambda module: str(module.__name__))
def test_programs_of_the_standard_library_are_checked_and_rewritten(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    everything = {name: {**STUBS["get_movie"], "name": name} for name in names}
    assert len(problems(tree, everything, names, GIVEN, MODULES)) <= 20
    imported = {"json", "sys", "re", "collections", "heapq", "os", "gettext", "copy", "textwrap", "shutil", "ast"}
    imported |= {
        "argparse",
        "codecs",
        "_ast",
        "inspect",
        "pathlib",
        "enum",
        "contextlib",
        "difflib",
        "_json",
        "types",
        "doctest",
        "warnings",
    }
    own = ("relative", "stop is here already")
    assert not [text for _, text in problems(tree, {}, [], [], imported) if not any(word in text for word in own)]
    compile(rewritten(tree), "<source>", "exec")


NODES = st.sampled_from(
    [
        "x",
        "rows(x)",
        "get_movie(x)",
        "search_movie(x)['results']",
        "x['titel']",
        "x.get('id', x)",
        "[x for x in x]",
        "{**x}",
        "(x := x)",
        "lambda x=x: x",
        "gather(*[x for y in x])",
        "gather([get_movie(y) for y, *x in x if y])",
        "sorted(x, key=lambda m: m['x'])",
        "x[1:]",
        "x or x",
        "-x",
        "f'{x!r:>{x}}'",
        "None",
        "create_list(body={'name': x, x: 1}, *x)",
        "next(iter(x))",
        "enumerate(zip(x, x))",
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
        (
            "gather(*[f(a, b) for a, (b, *c) in xs for d in a])",
            "gather(*[lambda *, a=a, b=b, c=c, d=d: f(a, b) for a, (b, *c) in xs for d in a])",
        ),
        (
            "gather(*[f(y) for x in xs if (y := x)])",
            "gather(*[lambda *, x=x, y=y: f(y) for x in xs if (y := x)])",
        ),
        ("gather(*[lambda: f(x) for x in xs])", "gather(*[lambda *, x=x: f(x) for x in xs])"),
        (
            "gather(*[gather(f(x), g(x)) for x in xs])",
            "gather(*[lambda *, x=x: gather(lambda: f(x), lambda: g(x)) for x in xs])",
        ),
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
    lines = sorted(node.lineno for node in ast.walk(tree) if isinstance(node, ast.Lambda))

    def gather(*branches: Callable[[], object]) -> list[object]:
        return [branch() for branch in reversed(branches)]

    names: dict[str, Any] = {"f": lambda a, b: (a, b), "g": lambda: 7, "gather": gather}
    exec(compile(tree, "<code>", "exec"), names)
    assert names["answers"] == [(3, 4), (1, 2)]
    assert names["more"] == [7, (5, 6)]
    assert lines == [1, 4]

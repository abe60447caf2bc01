"""Guards functions with `yield`: each prints what it prints in CPython, or is refused before the first request."""

import pytest
from programrun import Host, in_cpython, once

from restgpt.tools.sandbox.code import LACKING

TREE = "tree = {'n': 'a', 'of': [{'n': 'b', 'of': []}, {'n': 'c', 'of': [{'n': 'd', 'of': []}]}]}\n"
WALK = (
    f"{TREE}def walk(unit, depth=0):\n    yield depth, unit['n']\n    for child in unit['of']:\n"
    "        yield from walk(child, depth + 1)\n"
)
FIND = (
    f"{TREE}def find(node, key):\n    if isinstance(node, dict):\n        for k, v in node.items():\n"
    "            if k == key:\n                yield v\n            yield from find(v, key)\n"
    "    elif isinstance(node, list):\n        for item in node:\n            yield from find(item, key)\n"
)


@pytest.mark.parametrize(
    "code",
    [
        f"{WALK}for depth, name in list(walk(tree)): print('  ' * depth + name)",
        f"{WALK}print(dict(walk(tree)), max(walk(tree)), *walk(tree), sorted(walk(tree)))",
        f"{FIND}print(list(find(tree, 'n')), ','.join(find(tree, 'n')), set(find(tree, 'n')) - {{'a', 'b', 'c'}})",
        "def f(n):\n    for i in range(n):\n        if i == 2:\n            return\n        yield i\nprint(list(f(5)))",
        "def f(n):\n    while True:\n        yield n\n        n -= 1\n        if n < 0:\n            break\n"
        "print([*f(3)])",
        "def f():\n    yield\n    yield 1\nprint(list(f()))",
        "def f():\n    yield from []\nprint(list(f()), sum(f()))",
        "def f(n):\n    row = []\n    for i in range(n):\n        row.append(i)\n        yield row\nprint(list(f(2)))",
        "seen = set()\ndef f(items):\n    for i in items:\n        if i not in seen:\n            seen.add(i)\n"
        "            yield i\nprint(list(f([1, 1, 2])), seen)",
        "def f():\n    print('begun')\n    yield 1\n    print('ended')\nprint(list(f()))",
        "def f():\n    def g(): return 5\n    yield g()\nprint(list(f()))",
        "def f():\n    yield {}['a']\ntry: list(f())\nexcept KeyError as e: print('no', e)",
        "def outer(key):\n    def inner(d):\n        for k in d:\n            yield k, key\n"
        "    return list(inner({'a': 1}))\n"
        "print(outer(5))",
    ],
)
def test_a_function_with_yield_whose_values_are_taken_at_once_prints_what_it_prints_in_python(code: str) -> None:
    run = once(code)
    assert run.result.output == in_cpython(code), run.problem


@pytest.mark.parametrize(
    "code",
    [
        f"{WALK}for d, n in walk(tree): print(n)",
        f"{WALK}print([n for d, n in walk(tree)])",
        f"{WALK}print(next(walk(tree)), list(next(walk(tree))))",
        f"{WALK}for i, n in enumerate(walk(tree)): print(n)",
        f"{WALK}made = walk(tree)\nprint(list(made))",
        f"{WALK}take = walk\nprint(list(take(tree)))",
        "def f():\n    while True:\n        yield 1\nfor x in f(): break",
        "def f():\n    x = yield 1\n    print(x)\nlist(f())",
        "def f():\n    yield 1\n    return 2\nlist(f())",
        "def f():\n    yield get(n=1)\n    yield get(n=2)\nfor x in f(): break",
        "def f():\n    yield 1\ndef f():\n    yield 2\nlist(f())",
        "class A:\n    def f(self):\n        yield 1\nprint(list(A().f()))",
        "from contextlib import contextmanager\n@contextmanager\ndef f():\n    yield 1\nwith f(): pass",
        "f = lambda: (yield 1)\nprint(list(f()))",
        "def f():\n    yield 1\n    raise StopIteration\nprint(list(f()))",
    ],
)
def test_where_values_are_not_taken_at_once_it_is_refused_with_a_way_round_it(code: str) -> None:
    run = once(code)
    assert (run.kind, LACKING in run.problem) == ("refused", True), run.result.output


def test_calls_in_a_function_with_yield_are_made_where_all_its_values_are_taken() -> None:
    host = Host({"get": lambda n: n * 2})
    code = "def pages():\n    for n in [1, 2]:\n        yield from [get(n=n)]\nprint(list(pages()), sum(pages()))"
    assert host.play(code).result.output == "[2, 4] 6\n"

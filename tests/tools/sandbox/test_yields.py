"""Guards functions with `yield`: each prints what it prints in CPython, or is refused before the first request."""

import contextlib
import io

import pytest
from programrun import Host, once

from restgpt.tools.sandbox.yields import LACKING

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


def in_cpython(code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "__main__"})
    return printed.getvalue()


@pytest.mark.parametrize(
    "code",
    [
        f"{WALK}for depth, name in walk(tree): print('  ' * depth + name)",
        f"{WALK}found = []\nfor depth, name in walk(tree):\n    found.append(name)\nprint(found)",
        f"{WALK}groups = {{}}\nfor d, n in walk(tree):\n    groups.setdefault(d, []).append(n)\nprint(groups)",
        f"{WALK}total = 0\nfor d, n in walk(tree):\n    total += d\n    if n == 'c': break\nprint(total)",
        f"{WALK}print(next(walk(tree)), next((n for d, n in walk(tree) if d), None), dict(walk(tree)), max(walk(tree)))",
        f"{WALK}print([n for _, n in walk(tree)], *walk(tree), sorted(n for _, n in walk(tree)), (0, 'a') in walk(tree))",
        f"{WALK}made = walk(tree)\nprint(next(made), list(made), list(made))",
        f"{WALK}first, *rest = walk(tree)\nprint(first, rest)",
        f"{FIND}print(list(find(tree, 'n')), next(find(tree, 'of'))[0]['n'], ','.join(find(tree, 'n')))",
        f"{FIND}print(any(n == 'd' for n in find(tree, 'n')), sum(len(v) for v in find(tree, 'of')))",
        "def f(n):\n    for i in range(n):\n        if i == 2:\n            return\n        yield i\nprint(list(f(5)))",
        "def f(n):\n    while True:\n        yield n\n        n -= 1\n        if n < 0:\n            break\nprint([*f(3)])",
        "def f():\n    yield\n    yield 1\nprint(list(f()), list(zip(f(), 'ab')))",
        "def chunks(items, size):\n    for at in range(0, len(items), size):\n        yield items[at:at + size]\n"
        "for part in chunks([1, 2, 3], 2): print(part)",
        "def f():\n    yield from []\nprint(list(f()), next(f(), 'none'))",
        "def f(x):\n    seen = set()\n    for i in x:\n        if i not in seen:\n            seen.add(i)\n            yield i\n"
        "print(list(f([1, 1, 2])))",
        "def f():\n    print('begun')\n    yield 1\n    print('ended')\nprint(list(f()))",
        "import re\ndef words(text):\n    for m in re.findall(r'\\w+', text):\n        yield m.lower()\n"
        "for w in words('A b'): print(w)",
        "def outer(key):\n    def inner(d):\n        for k in d:\n            yield k, key\n    return list(inner({'a': 1}))\n"
        "print(outer(5))",
    ],
)
def test_a_function_with_yield_prints_what_it_prints_in_python(code: str) -> None:
    run = once(code)
    assert run.result.output == in_cpython(code), run.problem


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    print('a')\n    yield 1\nfor x in f(): print(x)",
        "def f():\n    while True:\n        yield 1\nfor x in f(): break",
        "def f():\n    x = yield 1\n    print(x)\nlist(f())",
        "def f():\n    yield 1\n    return 2\nlist(f())",
        "n = 0\ndef f():\n    global n\n    n += 1\n    yield n\nfor x in f(): print(n)",
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        yield n\n    for x in g(): print(n)\nf()",
        "seen = set()\ndef f(items):\n    for i in items:\n        seen.add(i)\n        yield i\nfor x in f([1, 2]): print(seen)",
        "def f(path):\n    path.append(1)\n    yield path\nfor x in f([]): print(x)",
        "def f(n):\n    row = []\n    for i in range(n):\n        row.append(i)\n        yield row\nfor x in f(2): print(x)",
        "def f(n):\n    row = []\n    for i in range(n):\n        row.append(i)\n        yield {'row': row}\nfor x in f(2): print(x)",
        "seen = set()\ndef f(items):\n    for i in items:\n        if i not in seen:\n            yield i\n"
        "for x in f([1, 1]):\n    seen.add(x)\n    print(x)",
        f"{WALK}for d, n in walk(tree):\n    tree['of'] = []\n    print(n)",
        f"{FIND}for v in find(tree, 'of'):\n    v.clear()\n    print(v)",
        "def f(act):\n    act(1)\n    yield 1\nfor x in f(print): print(x)",
        "limit = 1\ndef f():\n    for i in range(5):\n        if i < limit:\n            yield i\nfor x in f():\n    limit = 5\n    print(x)",
        "import random\ndef f():\n    yield random.random()\nfor x in f(): print(random.random())",
        "def f():\n    for n in [1, 2]:\n        yield get(n=n)\nfor x in f(): break",
        "def g(n): return get(n=n)\ndef f():\n    for n in [1, 2]:\n        yield g(n)\nfor x in f(): break",
        "class A:\n    def f(self):\n        yield 1\nprint(list(A().f()))",
        "def f():\n    yield 1\ng = f\nprint(list(g()))",
        "from contextlib import contextmanager\n@contextmanager\ndef f():\n    yield 1\nwith f(): pass",
        "f = lambda: (yield 1)\nprint(list(f()))",
        "def f():\n    for i in [1, 2]:\n        yield i\n        raise StopIteration\nfor x in f(): print(x)",
        "class A:\n    def tell(self): print('told')\n    def f(self): pass\ndef f(a):\n    yield 1\n    a.tell()\nfor x in f(A()): print(x)",
        "def f(rows):\n    for row in rows:\n        yield row['a']\ntry:\n    for x in f([{'a': 1}, {}]): print(x)\n"
        "except KeyError as e: print('no', e)",
        "def f(rows):\n    for row in rows:\n        yield row\nit = iter([1, 2, 3])\nfor x in f(it): break\nprint(list(it))",
        "def f(rows):\n    for row in rows:\n        yield row\nit = f([1, 2, 3])\nfor x in f(it): break\nprint(list(it))",
        "def h():\n    print('h')\n    yield 1\ndef f():\n    yield 0\n    yield from h()\nfor x in f(): print(x)",
        "def f(x):\n    x += [1]\n    yield x\nfor y in f([]): print(y)",
    ],
)
def test_where_python_could_print_something_else_it_is_refused(code: str) -> None:
    run = once(code)
    assert (run.kind, LACKING in run.problem) == ("refused", True), run.result.output


def test_calls_in_a_function_with_yield_are_made_where_all_its_values_are_taken() -> None:
    host = Host({"get": lambda n: n * 2})
    code = "def pages():\n    for n in [1, 2]:\n        yield from [get(n=n)]\nprint(list(pages()), sum(pages()))"
    assert host.play(code).result.output == "[2, 4] 6\n"

#: a main function behind a guard | movies
import json

def main():
    result = {"count": len(data["results"])}
    print(json.dumps(result))

if __name__ == "__main__":
    main()
#> {"count": 6}
#: dataclass with order and asdict | shop
from dataclasses import dataclass, asdict, field

@dataclass(order=True)
class Product:
    price: float
    name: str = field(compare=False)
    tags: list = field(default_factory=list, compare=False)

items = sorted(Product(float(p["price"]), p["name"], p["tags"]) for p in data["products"])
print(asdict(items[0]))
#> {'price': 2.35, 'name': 'Paper clips', 'tags': ['office']}
#: future annotations with a dataclass | shop
from __future__ import annotations
from dataclasses import dataclass, fields

@dataclass
class Node:
    name: str
    next: Node | None = None

print([f.name for f in fields(Node)], Node("a", Node("b")).next.name)
#> ['name', 'next'] b
#: typing and NamedTuple | credits
from typing import Any, Dict, List, NamedTuple, Optional, TypedDict

class Person(NamedTuple):
    id: int
    name: str

class Row(TypedDict):
    name: str

def people(rows: List[Dict[str, Any]]) -> List[Person]:
    return [Person(r["id"], r["name"]) for r in rows]

first: Optional[Person] = people(data["cast"])[0]
print(first, first._asdict())
#> Person(id=1, name='Ada Merle') {'id': 1, 'name': 'Ada Merle'}
#: enum | issues
from enum import Enum, IntEnum, auto
class State(Enum):
    OPEN = "open"
    CLOSED = "closed"
print([State(i["state"]).name for i in data], list(State)[0].value)
#> ['OPEN', 'CLOSED', 'CLOSED', 'OPEN'] open
#: classes with inheritance and properties | organisation
class Unit:
    def __init__(self, raw):
        self.raw = raw
    @property
    def size(self):
        return 1 + sum(Unit(u).size for u in self.raw.get("units", []))
    @classmethod
    def root(cls):
        return cls(data)
    @staticmethod
    def label(n):
        return f"<{n}>"
    def __repr__(self):
        return self.label(self.raw["name"])
class Root(Unit):
    def __len__(self):
        return self.size
print(Root.root(), len(Root.root()), issubclass(Root, Unit))
#> <Head office> 7 True
#: abstract base class | empty
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
class Square(Shape):
    def area(self): return 4
print(Square().area())
try:
    Shape()
except TypeError:
    print("abstract")
#> 4
#> abstract
#: own exceptions with finally | shop
class MissingProduct(Exception):
    def __init__(self, sku):
        super().__init__(f"no product {sku}")
        self.sku = sku
prices = {p["sku"]: p["price"] for p in data["products"]}
for order in data["orders"]:
    try:
        for line in order["lines"]:
            if line["sku"] not in prices:
                raise MissingProduct(line["sku"])
    except MissingProduct as error:
        print("order", order["id"], error)
    else:
        print("order", order["id"], "fine")
    finally:
        pass
#> order 9001 fine
#> order 9002 fine
#> order 9003 no product X-999
#: exception groups and notes | empty
try:
    raise ExceptionGroup("several", [ValueError(1), KeyError("k")])
except* ValueError as group:
    print("values", len(group.exceptions))
except* KeyError:
    print("keys")
#> values 1
#> keys
#: decorators and closures | empty
import functools
def logged(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        print("calling", f.__name__)
        return f(*args, **kwargs)
    return inner
def counter():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step
@logged
def add(a, b=2, *rest, c, **more):
    return a + b + c
step = counter()
step()
print(add(1, c=3), step())
#> calling add
#> 6 2
#: context managers | empty
from contextlib import contextmanager, suppress, redirect_stdout
import io
@contextmanager
def tagged(name):
    print("<" + name + ">")
    yield
    print("</" + name + ">")
with tagged("b"), suppress(ZeroDivisionError):
    1 / 0
buffer = io.StringIO()
with redirect_stdout(buffer):
    print("hidden")
print(buffer.getvalue().strip())
#> <b>
#> </b>
#> hidden
#: traceback printed by the code itself | empty
import traceback, sys
def fail():
    return [][1]
try:
    fail()
except IndexError:
    print(traceback.format_exc().strip().splitlines()[-1])
    print("return [][1]" in traceback.format_exc())
#> IndexError: list index out of range
#> True
#: warnings and logging do not disturb | empty
import warnings, logging
logging.basicConfig(level=logging.INFO)
logging.getLogger(__name__).info("to stderr")
warnings.warn("careful")
print("done")
#> done
#: sys.exit after the answer | movies
import sys
print("total", data["total_results"])
sys.exit(0)
#> total 6
#: exit without import | movies
if data["page"] == 1:
    print("first page")
    exit()
print("unreachable")
#> first page
#: a non-zero exit code | movies
print("nothing found")
raise SystemExit(1)
#> nothing found
#: stdout rewrapped in UTF-8 | movies
import sys, io
sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
print(data["results"][3]["title"])
#> 東京の朝
#: stdout reconfigured | movies
import sys
sys.stdout.reconfigure(encoding="utf-8")
print("→", data["results"][1]["title"])
#> → Café de la Lune
#: copy and the data left alone | shop
import copy
clone = copy.deepcopy(data)
clone["products"].clear()
print(len(clone["products"]), len(data["products"]))
#> 0 5
#: globals and a helper used before its call | movies
def show():
    return describe(data["results"][0])
def describe(m):
    return f"{m['title']} in {globals()['YEAR']}"
YEAR = 2023
print(show())
#> The Quiet Harbour in 2023
#: operators and protocols | empty
class Money:
    def __init__(self, cents): self.cents = cents
    def __add__(self, other): return Money(self.cents + other.cents)
    def __radd__(self, other): return self if other == 0 else NotImplemented
    def __eq__(self, other): return self.cents == other.cents
    def __lt__(self, other): return self.cents < other.cents
    def __getitem__(self, i): return str(self.cents)[i]
    def __iter__(self): return iter(str(self.cents))
    def __call__(self): return self.cents
    def __hash__(self): return hash(self.cents)
    def __str__(self): return f"{self.cents / 100:.2f}"
print(sum([Money(150), Money(275)]), max(Money(1), Money(2))(), list(Money(12)), Money(34)[0])
#> 4.25 2 ['1', '2'] 3
#: eval and exec of arithmetic | empty
print(eval("2 + 3 * 4"), eval("x + 1", {"x": 1}))
exec("y = [n for n in range(3)]")
print(y)
#> 14 2
#> [0, 1, 2]
#: ast.literal_eval | empty
import ast
print(ast.literal_eval("{'a': [1, 2.5, None]}"), ast.dump(ast.parse("1+1", mode="eval").body)[:6])
#> {'a': [1, 2.5, None]} BinOp(
#: uuid, secrets and struct | empty
import uuid, secrets, struct
print(uuid.UUID(int=5), len(str(uuid.uuid4())), len(secrets.token_hex(4)), struct.pack(">I", 258), uuid.uuid5(uuid.NAMESPACE_DNS, "x").version)
#> 00000000-0000-0000-0000-000000000005 36 8 b'\x00\x00\x01\x02' 5
#: pathlib and os.path on names only | credits
from pathlib import PurePosixPath
import os.path
print(PurePosixPath(data["cast"][0]["profile_path"]).suffix, os.path.basename("/a/b.jpg"), os.path.join("a", "b"))
#> .jpg b.jpg a/b
#: pickle, gzip and zlib in memory | numbers
import pickle, gzip, zlib
print(pickle.loads(pickle.dumps(data[:3])), gzip.decompress(gzip.compress(b"abc")), zlib.crc32(b"abc"))
#> [3, 1, 4] b'abc' 891568578
#: an answer as a Markdown table | movies
rows = [("Title", "Votes")] + [(m["title"], m["vote_count"]) for m in data["results"][:3]]
for i, (a, b) in enumerate(rows):
    print(f"| {a} | {b} |")
    if i == 0:
        print("|---|---|")
#> | Title | Votes |
#> |---|---|
#> | The Quiet Harbour | 1204 |
#> | Café de la Lune | 340 |
#> | Iron Orchard | 0 |
#: a large list built and summed | empty
rows = [{"i": i, "s": str(i)} for i in range(50_000)]
print(sum(len(r["s"]) for r in rows))
#> 238890
#: sleeping a little | empty
import time
time.sleep(0.01)
print("awake")
#> awake
#: async functions driven by hand | empty
async def answer():
    return 42
coroutine = answer()
try:
    coroutine.send(None)
except StopIteration as stop:
    print(stop.value)
#> 42
#: type aliases and generics | empty
from typing import TypeVar, Generic, Callable, Iterable
T = TypeVar("T")
class Box(Generic[T]):
    def __init__(self, value: T) -> None:
        self.value = value
apply: Callable[[int], int] = lambda n: n + 1
print(Box[int](apply(1)).value)
#> 2
#: global statement and chained comparison | numbers
count = 0
def tally(n):
    global count
    if 1 < n <= 5:
        count += 1
for n in data:
    tally(n)
print(count)
#> 8
#: multiple assignment, swap, ternaries, del | empty
a, b = 1, 2
a, b = b, a
del b
values = {**{"x": 1}, "y": a}
print(values, "small" if a < 5 else "large", not a, a is not None)
#> {'x': 1, 'y': 2} small False True

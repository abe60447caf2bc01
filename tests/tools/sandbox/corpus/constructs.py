#: comprehensions, slices, unpacking
a, *b = [x for x in range(6) if x % 2]
print(a, b[::-1], {k: v for k, v in {"a": 1}.items()})
#: a generator in sum, max, join
print(sum(x for x in [1, 2]), max((x for x in [1]), default=0), ", ".join(str(x) for x in [1, 2]))
#: next over a generator
print(next((x for x in [1, 2] if x > 1), None))
#: a generator that is read twice
g = (x for x in [1, 2])
print(next(g), next(g))
#: a call inside next, any or all
print(next(get(n=n) for n in [1, 2]))
#: map and filter with calls
print(list(map(get, [1, 2])), list(filter(lambda x: get(n=x) > 1, [1, 2])))
#: a call in the key of sorted
print(sorted([2, 1], key=lambda x: get(n=x)))
#: calls in gather
print(gather(get(n=1), get(n=2)), gather(*[get(n=x) for x in [1, 2]]))
#: errors of calls, with status and body
try:
    get(n=404)
except ApiError as e:
    print(e.status, e.body, type(e).__name__, getattr(e, "status", 0))
#: errors of calls among others
try:
    get(n=404)
except (KeyError, ApiError) as e:
    print(isinstance(e, ApiError), f"{e}")
#: an error of the program, with its class
try:
    {}["a"]
except KeyError as e:
    print(repr(e), e.args)
#: an error with a cause
try:
    raise ValueError("a") from KeyError("b")
except ValueError as e:
    print(repr(e.__cause__))
#: an error with two arguments
try:
    raise ValueError("a", 1)
except ValueError as e:
    print(e)
#: the library
rows_ = rows({"items": [{"Name": "Ann", "n": "1,5"}]})
print(field(rows_[0], "name"), one(rows_, "ann")["n"], number("1,234.5"), table("a;b\n1;2"))
#: the library in the key of sorted
print(sorted([{"n": "2"}, {"n": "1"}], key=lambda x: number(field(x, "n"))))
#: del of a key, an item, a name
d, l, x = {"a": 1, "b": 2}, [1, 2], 3
del d["a"], l[0], x
print(d, l)
#: del of a slice
l = [1, 2, 3]
del l[1:]
print(l)


#: a function with yield
def numbers():
    yield 1


print(list(numbers()))


#: a function with defaults, keywords, a closure
def f(a, *b, c=3, **d):
    def inner():
        nonlocal c
        c += 1
        return c

    return a, b, inner(), d


print(f(1, 2, e=5))


#: a class
class Total:
    def __init__(self):
        self.n = 0

    def add(self, n):
        self.n += n


t = Total()
t.add(2)
print(t.n)


#: a class with a base
class Missing(Exception):
    pass


try:
    raise Missing("x")
except Missing as e:
    print(e)


#: a class with a property
class C:
    @property
    def x(self):
        return 1


print(C().x)
#: a dataclass, a namedtuple
from dataclasses import dataclass
from collections import namedtuple


@dataclass
class P:
    x: int = 1


print(P(), namedtuple("N", "a b")(1, 2))
#: match
match {"a": [1, 2]}:
    case {"a": [x, *_]}:
        print(x)


#: with and a context manager of one's own
class W:
    def __enter__(self):
        return 1

    def __exit__(self, *a):
        pass


with W() as w:
    print(w)
#: f-strings and formats
print(f"{1.5:>8.2f}|{'a':<4}|{1234567:,}|{0.256:.1%}", "{:>4} {x}".format(1, x=2), "%05.1f" % 2)
#: round
print(round(2.675, 2), round(2.5), round(-0.5), round(1234.5, -2))
#: whole numbers and division
print(10**30, 7 // -2, -7 % 3, int("ff", 16), divmod(7, 2))
#: texts
s = " Añb c "
print(
    s.strip().title(), s.split(), s.casefold(), "a-b".partition("-"), "abc".removeprefix("a"), "x".zfill(3), s.isascii()
)
#: str.translate
print("abc".translate({97: "x"}))
#: a method as a key
c = {"a": 1, "b": 2}
print(max(c, key=c.get), sorted(["b", "A"], key=str.lower))
#: a method as a value
l = []
add = l.append
add(1)
print(l)
#: sets
print(sorted({1, 2} & {2, 3}), {1} <= {1, 2}, len(frozenset([1, 1])))
#: callable, hasattr, getattr
print(callable(print), callable(1), hasattr([], "x"), getattr([], "x", 5))
#: issubclass
print(issubclass(bool, int))
#: globals and locals
x = 1
print("x" in globals())
#: exit
print("a")
exit()


#: exec
exec("print(1)")
#: import collections
from collections import Counter, defaultdict, deque

d = defaultdict(list)
d["a"].append(1)
print(dict(d), Counter("aab").most_common(1), deque([1, 2])[0])
#: collections.OrderedDict
from collections import OrderedDict

print(list(OrderedDict(a=1)))
#: import itertools, functools
import itertools, functools

print(
    list(itertools.chain.from_iterable([[1], [2]])),
    [(k, list(g)) for k, g in itertools.groupby("aab")],
    functools.reduce(lambda a, b: a + b, [1, 2]),
)
#: import re
import re

print(re.findall(r"\d+", "a1b22"), re.sub(r"\s+", " ", "a  b"), re.search(r"(?P<y>\d{4})", "in 2020")["y"])
#: re.sub with a function
import re

print(re.sub("a", lambda m: m[0] * 2, "banana"))
#: import json, base64, hashlib
import json, base64, hashlib

print(json.dumps({"a": [1, None, "é"]}, indent=1), base64.b64encode(b"a"), hashlib.sha256(b"a").hexdigest()[:8])
#: import datetime
from datetime import datetime, timedelta, date, timezone

print(
    datetime.now(),
    datetime.now(timezone.utc).date(),
    date(2020, 2, 28) + timedelta(days=2),
    datetime.strptime("2020-01-02", "%Y-%m-%d"),
    datetime.fromisoformat("2020-01-02T03:04:05+00:00"),
)
#: time.sleep moves the clock
import time

time.sleep(5)
print(time.time())
#: import math, random, decimal
import math, random
from decimal import Decimal

print(math.ceil(1.2), math.isclose(0.1 + 0.2, 0.3), random.Random(1).randint(1, 1), Decimal("1.10") + 1)
#: import csv
import csv

print(list(csv.reader(["a,b", '1,"x,y"'])))
#: import statistics
import statistics

print(statistics.mean([1, 2]))
#: import io
import io

print(io.StringIO("a").read())
#: import urllib.parse
from urllib.parse import quote

print(quote("a b"))
#: import operator, heapq
from operator import itemgetter
import heapq

print(heapq.nlargest(1, [{"n": 1}], key=itemgetter("n")))
#: import enum
from enum import Enum


class E(Enum):
    A = 1


print(E.A.name)
#: import uuid
import uuid

print(uuid.UUID(int=1))


#: a list is sorted by its own class
class V:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n


print([v.n for v in sorted([V(2), V(1)])])
#: open
print(open("/etc/passwd").read())
#: a dry run that uses what it did not get
made = get(n=0)
print(made["id"])

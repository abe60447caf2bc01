#: Counter with most_common | playlists
from collections import Counter
artists = Counter(a["name"] for p in data["items"] for e in p["tracks"]["items"] if e["track"] for a in e["track"]["artists"])
for name, n in artists.most_common(2):
    print(name, n)
#> North 3
#> Ivy 2
#: defaultdict grouping | movies
from collections import defaultdict
groups = defaultdict(list)
for m in data["results"]:
    groups[m["original_language"]].append(m["title"])
for language in sorted(groups):
    print(language, groups[language])
#> de ['Zebra']
#> en ['The Quiet Harbour', 'Iron Orchard', 'Orbit 9']
#> fr ['Café de la Lune']
#> ja ['東京の朝']
#: itertools groupby on dates | weather
from itertools import groupby
rows = list(zip(data["hourly"]["time"], data["hourly"]["precipitation"]))
for day, group in groupby(rows, key=lambda r: r[0][:10]):
    print(day, round(sum(p for _, p in group), 2))
#> 2024-05-01 1.6
#> 2024-05-02 5.1
#: statistics | weather
import statistics
temps = [t for t in data["hourly"]["temperature_2m"] if t is not None]
print(round(statistics.mean(temps), 3), statistics.median(temps), round(statistics.stdev(temps), 3))
#> 15.764 17.05 4.806
#: average with rounding | movies
votes = [m["vote_average"] for m in data["results"] if m["vote_count"]]
print(round(sum(votes) / len(votes), 2))
#> 7.5
#: half-way rounding | empty
print(round(673.535, 2), round(2.675, 2), round(0.125, 2), round(2.5), round(-1.5))
#> 673.53 2.67 0.12 2 -2
#: decimal prices | shop
from decimal import Decimal, ROUND_HALF_UP
prices = {p["sku"]: Decimal(p["price"]) for p in data["products"]}
for order in data["orders"]:
    total = sum((prices.get(line["sku"], Decimal(0)) * line["qty"] for line in order["lines"]), Decimal(0))
    print(order["id"], total.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))
#> 9001 147.80
#> 9002 235.00
#> 9003 24.50
#: fractions | numbers
from fractions import Fraction
print(sum(Fraction(n) for n in data[:5]) / 5)
#> 14/5
#: big integers and floats | numbers
print(max(data), min(data), data[-2] * 2, data[-1] + 0.2)
#> 123456789012345678901234567890 -2 246913578024691357802469135780 0.30000000000000004
#: math functions | weather
import math
lat1, lon1, lat2, lon2 = map(math.radians, (data["latitude"], data["longitude"], 48.8566, 2.3522))
a = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
print(f"{2 * 6371 * math.asin(math.sqrt(a)):.1f} km")
#> 878.4 km
#: heapq and bisect | numbers
import heapq, bisect
print(heapq.nlargest(3, data), heapq.nsmallest(2, data))
ordered = sorted(data)
print(bisect.bisect_left(ordered, 5))
#> [123456789012345678901234567890, 1000.0, 9] [-2, 0.1]
#> 9
#: accumulate, pairwise and islice | numbers
from itertools import accumulate, pairwise, islice
print(list(islice(accumulate(data), 5)), [b - a for a, b in pairwise(data[:4])])
#> [3, 4, 8, 9, 14] [-2, 3, -3]
#: product, combinations, chain, count | numbers
import itertools
print(list(itertools.combinations(data[:3], 2)), list(itertools.product("ab", repeat=2))[1])
print(list(itertools.chain([1], (2,))), next(x for x in itertools.count(10) if x % 7 == 0))
#> [(3, 1), (3, 4), (1, 4)] ('a', 'b')
#> [1, 2] 14
#: functools reduce, lru_cache and partial | numbers
from functools import reduce, lru_cache, partial
@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(reduce(lambda a, b: a * b, data[:5]), fib(50), partial(pow, 2)(8))
#> 60 12586269025 256
#: deque and OrderedDict | numbers
from collections import deque, OrderedDict
recent = deque(maxlen=3)
for n in data:
    recent.append(n)
print(list(recent)[:1], list(OrderedDict.fromkeys(data[:6])))
#> [1000.0] [3, 1, 4, 5, 9]
#: max by dict get | shop
stock = {p["name"]: p["stock"] for p in data["products"]}
print(max(stock, key=stock.get), min(stock, key=stock.get))
#> Paper clips Garden chair
#: sorted with str.lower and itemgetter | shop
from operator import itemgetter, attrgetter
print(sorted([o["customer"]["email"] for o in data["orders"]], key=str.lower))
print([p["sku"] for p in sorted(data["products"], key=itemgetter("stock"), reverse=True)])
#> ['ann@example.test', 'ann@example.test', 'Bob@Example.test']
#> ['A-101', 'C-300', 'B-201', 'A-100', 'B-200']
#: cmp_to_key | numbers
from functools import cmp_to_key
print(sorted(data[:6], key=cmp_to_key(lambda a, b: (a > b) - (a < b))))
#> [1, 1, 3, 4, 5, 9]
#: set operations | shop
tags = [set(p["tags"]) for p in data["products"]]
print(sorted(set().union(*tags)), sorted(tags[0] & tags[1]), sorted(tags[0] ^ tags[1]))
#> ['garden', 'kitchen', 'light', 'office', 'sale'] ['office'] ['light']
#: a histogram as text | issues
for i in data:
    print(f"#{i['number']:<3}|{'*' * i['comments']}")
#> #12 |****
#> #11 |**********
#> #7  |
#> #3  |**
#: a percentage table | shop
total = sum(p["stock"] for p in data["products"])
for p in data["products"]:
    print(f"{p['name']:>15s} {p['stock']:>6,d} {p['stock'] / total:>7.2%}")
#>       Desk lamp     12   0.55%
#>     Paper clips  1,900  86.96%
#>    Garden chair      0   0.00%
#>      Hose, 20 m     33   1.51%
#>   "Classic" mug    240  10.98%
#: random with a seed | numbers
import random
random.seed(7)
print(random.sample(range(100), 3), random.choice(["a"]))
#> [41, 19, 50] a
#: bit operations and bases | numbers
print(bin(data[5]), hex(255), 0b101 | 2, 7 // 2, -7 // 2, 7 % -3, 2 ** 10, divmod(17, 5))
#> 0b1001 0xff 7 3 -4 -2 1024 (3, 2)
#: complex and infinity | odd
import cmath, math
print(math.isnan(data["nan"]), data["inf"] < 0, cmath.sqrt(-1), data["big"])
#> True True 1j 9007199254740993
#: a sum of squares | numbers
print(sum(i * i for i in range(1_000_00)))
#> 333328333350000

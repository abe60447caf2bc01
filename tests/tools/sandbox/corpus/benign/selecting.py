#: the first result | movies
print(data["results"][0]["id"])
#> 101
#: titles with a loop | movies
for movie in data['results']:
    print(movie['title'])
#> The Quiet Harbour
#> Café de la Lune
#> Iron Orchard
#> 東京の朝
#> Orbit 9
#> Zebra
#: a comprehension with a filter | movies
titles = [m["title"] for m in data["results"] if m["vote_average"] > 7.5]
print(titles)
#> ['The Quiet Harbour', 'Café de la Lune', 'Zebra']
#: the most popular with max and key | movies
best = max(data["results"], key=lambda m: m["popularity"])
print(f"{best['title']} (id={best['id']}, popularity={best['popularity']:.1f})")
#> Orbit 9 (id=105, popularity=310.0)
#: next with a default | movies
movie = next((m for m in data["results"] if m["original_language"] == "it"), None)
print(movie)
#> None
#: a name found without regard to case | movies
wanted = "orbit 9"
match = [m for m in data["results"] if m["title"].lower() == wanted.lower()]
print(match[0]["id"] if match else "not found")
#> 105
#: get with defaults and None | movies
for m in data.get("results", []):
    overview = m.get("overview") or "no overview"
    print(m["id"], len(overview.split()))
#> 101 10
#> 102 8
#> 103 2
#> 104 3
#> 105 6
#> 106 5
#: slices and enumerate | movies
for index, m in enumerate(data["results"][1:4], start=1):
    print(f"{index}. {m['title']}")
#> 1. Café de la Lune
#> 2. Iron Orchard
#> 3. 東京の朝
#: sorting by two keys | movies
ordered = sorted(data["results"], key=lambda m: (-m["vote_average"], m["title"]))
print("\n".join(f"{m['vote_average']:<6} {m['title']}" for m in ordered))
#> 8.125  Café de la Lune
#> 7.85   The Quiet Harbour
#> 7.85   Zebra
#> 7.4    東京の朝
#> 6.3    Orbit 9
#> 0      Iron Orchard
#: walrus and early break | movies
for m in data["results"]:
    if (count := m["vote_count"]) > 10000:
        print(m["title"], count)
        break
else:
    print("none")
#> Orbit 9 15230
#: the director's id | credits
director = [c for c in data["crew"] if c["job"] == "Director"]
print(f"The director is {director[0]['name']} with id {director[0]['id']}")
#> The director is Dana Ruiz with id 9
#: unique people in order | credits
seen = set()
names = []
for person in data["cast"] + data["crew"]:
    if person["id"] in seen:
        continue
    seen.add(person["id"])
    names.append(person["name"])
print(", ".join(names))
#> Ada Merle, Bo Lindqvist, Chidi Okafor, Dana Ruiz, Emil Novak, Fay Wong
#: the lead actor by order | credits
lead = min(data["cast"], key=lambda c: c["order"])
print(lead["name"], "as", lead["character"])
#> Ada Merle as Captain Voss
#: a dict comprehension by department | credits
by_department = {c["department"]: c["name"] for c in data["crew"]}
print(by_department)
#> {'Directing': 'Dana Ruiz', 'Writing': 'Dana Ruiz', 'Camera': 'Fay Wong'}
#: the length of a list | playlists
print(len(data["items"]), "of", data["total"])
#> 3 of 7
#: nested lists flattened | playlists
tracks = [entry["track"] for playlist in data["items"] for entry in playlist["tracks"]["items"] if entry["track"]]
print([t["name"] for t in tracks])
#> ['First Light', 'Tempo', 'Countdown', 'First Light', 'Glow']
#: an id by exact name | playlists
ids = [p["id"] for p in data["items"] if p["name"] == "Deep Focus"]
print(ids[0])
#> pl2
#: conditional expressions and None names | playlists
for p in data["items"]:
    owner = p["owner"]["display_name"] if p["owner"]["display_name"] is not None else p["owner"]["id"]
    print(f"{p['name']} by {owner}: {'public' if p['public'] else 'private'}")
#> Morning Run by Kim: public
#> Deep Focus by Kim: private
#> Party — 2024! by u2: public
#: try and except KeyError | shop
for product in data["products"]:
    try:
        print(product["sku"], product["discount"])
    except KeyError as error:
        print(product["sku"], "missing", error)
#> A-100 0.1
#> A-101 None
#> B-200 0.25
#> B-201 missing 'discount'
#> C-300 0.5
#: any and all | shop
print(any("sale" in p["tags"] for p in data["products"]), all(p["stock"] > 0 for p in data["products"]))
#> True False
#: an empty object | empty
if not data:
    print("no data")
else:
    print(list(data))
#> no data
#: a scalar at top level | scalar
print(type(data).__name__, data)
#> str just a string: café
#: a list at top level | issues
open_issues = [i for i in data if i["state"] == "open"]
print(len(open_issues), [i["number"] for i in open_issues])
#> 2 [12, 3]
#: isinstance on unknown shapes | issues
if isinstance(data, dict):
    items = data.get("items", [])
elif isinstance(data, list):
    items = data
else:
    items = [data]
print(len(items))
#> 4
#: match statement | issues
for issue in data:
    match issue:
        case {"state": "open", "labels": [{"name": "bug"}, *rest]}:
            print(issue["number"], "open bug", len(rest))
        case {"state": "closed", "user": {"login": who}}:
            print(issue["number"], "closed, by", who)
        case _:
            print(issue["number"], "other")
#> 12 open bug 1
#> 11 closed, by bob
#> 7 closed, by ann
#> 3 open bug 1
#: star unpacking | numbers
first, *middle, last = data
print(first, len(middle), last)
#> 3 18 0.1
#: a while loop with pop | organisation
stack, names = [data], []
while stack:
    unit = stack.pop()
    names.append(unit["name"])
    stack.extend(reversed(unit.get("units", [])))
print(" > ".join(names))
#> Head office > Research > Lab > Library > Sales > North > Shop 1
#: a generator with yield | organisation
def walk(unit, depth=0):
    yield depth, unit["name"]
    for child in unit.get("units", []):
        yield from walk(child, depth + 1)

for depth, name in walk(data):
    print("  " * depth + name)
#> Head office
#>   Research
#>     Lab
#>     Library
#>   Sales
#>     North
#>       Shop 1
#: a recursive sum | organisation
def total(unit):
    return unit["budget"] + sum(total(u) for u in unit.get("units") or [])
print(total(data))
#> 2140
#: a recursive key search | organisation
def find(node, key):
    if isinstance(node, dict):
        for k, v in node.items():
            if k == key:
                yield v
            yield from find(v, key)
    elif isinstance(node, list):
        for item in node:
            yield from find(item, key)
print(list(find(data, "budget")))
#> [1000, 400, 250, 50, 300, 120, 20]
#: lambda in filter and map | shop
cheap = list(map(lambda p: p["name"], filter(lambda p: float(p["price"]) < 10, data["products"])))
print(cheap)
#> ['Paper clips', '"Classic" mug']
#: zip of parallel arrays | weather
hourly = data["hourly"]
for when, degrees in zip(hourly["time"], hourly["temperature_2m"]):
    if degrees is not None and degrees > 18:
        print(when, degrees)
#> 2024-05-01T12:00 19.4
#> 2024-05-02T12:00 22.6
#> 2024-05-02T18:00 18.3
#: deleting keys and updating | movies
movie = dict(data["results"][0])
del movie["overview"]
movie.pop("adult", None)
movie.update(seen=True)
print(sorted(movie))
#> ['genre_ids', 'id', 'original_language', 'popularity', 'release_date', 'seen', 'title', 'vote_average', 'vote_count']

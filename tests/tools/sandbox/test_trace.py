"""Guards traced programs: they do what they do without a trace, and report what they read of their answers."""

import json
import sys
from typing import Any

import pytest
from programrun import FORGE, Failure, Host, once
from programrun import entry as answered

from restgpt.tools.sandbox.guest.trace import MOST_KEYS, MOST_PATTERN, MOST_READS, Reads
from restgpt.tools.sandbox.program import Entry, ProgramRun
from restgpt.tools.sandbox.result import Limits, Status
from restgpt.tools.sandbox.waiting import WaitingPrograms

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run in the locked interpreter of Linux")

ANSWER: dict[str, Any] = {
    "id": 5,
    "price": 1.5,
    "paid": True,
    "note": None,
    "tags": ["b", "a"],
    "owner": {"name": "Ann", "home": {"city": "Oslo"}},
    "items": [
        {"id": 1, "name": "beta", "parts": [{"n": 1}]},
        {"id": 2, "name": "alpha", "parts": []},
        {"id": 3, "name": "Gamma", "parts": [{"n": 2}, {"n": "x"}]},
    ],
    "matrix": [[1, 2], [3]],
    "@odd/name~": "x",
}


def read_by(code: str, answer: Any = ANSWER) -> dict[str, str]:
    """Return the patterns that a statement reads of the answer `a`, with their types as one text."""
    reads = Reads()
    exec(code, {"a": reads.answer("0", json.loads(json.dumps(answer))), "json": json})
    report = reads.report()
    return {pattern: " ".join(types) for pattern, types in report["kinds"][0].items()} if report["of"] else {}


def play(code: str, answer: Any = ANSWER, **options: Any) -> ProgramRun:
    return Host({"get": lambda **given: answer}).play(code, traced=True, **options)


# The same as without a trace

SAME = """
a
str(a), repr(a), f"{a}", f"{a!r}", "%s" % a, format(a)
type(a), type(a["items"]), type(a).__name__, type(a)(), type(a["items"])([1])
isinstance(a, dict), isinstance(a["items"], list), hasattr(a, "keys"), callable(a), bool(a)
json.dumps(a), json.dumps(a, indent=1), json.dumps(a, sort_keys=True), json.dumps(a["items"])
json.dumps({"x": a["owner"], "y": [a["items"][0]]})
a == json.loads(json.dumps(a)), json.loads(json.dumps(a)) == a, a != a, a == {}, a == None, a["items"] == []
a["items"] == json.loads(json.dumps(a["items"])), a["matrix"] < [[1, 3]], [[0]] < a["matrix"], a["tags"] >= ["b"]
copy.copy(a), copy.deepcopy(a), a.copy(), a["items"].copy(), pickle.loads(pickle.dumps(a))
copied(copy.deepcopy(a)), copied(a)
list(a), list(a.keys()), list(a.values()), list(a.items()), sorted(a), len(a), list(reversed(a)), a.keys() & {"id"}
a.keys(), a.values(), a["owner"].items(), dict(a.items()) == a, a.items() >= {("id", 5)}
{**a}, dict(a), dict(a, id=6), a | {"id": 6}, {"id": 6} | a, dict(**a["owner"])
{k: v for k, v in a.items()}, {i["id"]: i for i in a["items"]}
a["items"][0], a["items"][-1], a["items"][1:], a["items"][::-1], [*a["items"]], list(a["items"]), tuple(a["items"])
a["items"] + [1], [1] + a["items"], a["tags"] * 2, 2 * a["tags"], a["tags"] + a["tags"], sum([a["tags"]], [])
sorted(a["tags"]), sorted(a["items"], key=lambda i: i["name"]), max(a["items"], key=lambda i: i["id"]), min(a["tags"])
list(reversed(a["items"])), list(enumerate(a["tags"])), list(zip(a["tags"], a["items"])), list(zip(*a["matrix"]))
a["tags"].index("a"), a["tags"].count("a"), "a" in a["tags"], {"n": 1} in a["items"][0]["parts"], "id" in a
a.get("id"), a.get("none"), a.get("none", 7), a.get("note", 7), a.get("owner").get("home")
a["none"]
a[0]
a[[]]
a["items"][9]
a["items"]["x"]
a.none
a["items"].none
a["items"] + (1,)
a < a
hash(a)
hash(a["items"])
a()
a["id"]["x"]
", ".join(a["tags"]), sorted(set(a["tags"])), sorted(frozenset(a)), collections.Counter(a["tags"])
collections.deque(a["tags"]), collections.ChainMap(a, {})
collections.OrderedDict(a["owner"]), collections.defaultdict(list, a["owner"])
list(itertools.chain(a["tags"], *a["matrix"])), functools.reduce(operator.add, a["matrix"])
operator.itemgetter("id", "price")(a), "{id} {owner[name]}".format(**a), "%(id)s" % a, "{id}".format_map(a)
textwrap.shorten(str(a), 50), pprint.pformat(a), pprint.pformat([a, (a,)]), urllib.parse.urlencode(a)
matched(a), matched(a["owner"]), matched(a["items"]), matched(a["tags"])
changed(a), changed_list(a["items"])
rows(a["items"]), field(a, "Owner.home.city"), field(a, "nothing", default=1), one(a["items"], "gamma")
one(a["items"], id="2")["name"], rows(a["matrix"]), field(a, "nothing")
rows(a)
rows({"data": a["owner"]}), rows({"albums": {"items": a["items"]}}), one(a["items"], n=1)
headers(a), number(field(a, "price"))
all(a["tags"]), any(a["matrix"]), len(a["items"]), [x for [x, *_] in a["matrix"]], unpacked(*a["tags"], **a["owner"])
heapq.nlargest(1, a["items"], key=lambda i: i["id"]), bisect.bisect([1, 5], a["id"]), statistics.mean([*a["matrix"][0]])
random.Random(1).choice(a["items"]), random.Random(1).sample(a["tags"], 2), isinstance(a, collections.abc.Mapping)
a.setdefault("id", 1), a.pop("id"), a.pop("zz", 0), a.popitem(), a
a.pop("zz")
list.__len__(a["items"]), dict.get(a, "id"), id(a["items"]) == id(a["items"]), a["items"] is a["items"]
"""

EVALUATING = """
import json, copy, pickle, collections, itertools, functools, operator, textwrap, pprint, urllib.parse, heapq, bisect
import statistics, random, collections.abc
def copied(b):
    b["items"][0]["name"] = "new"
    b["owner"].update({"home": 1})
    return b, a
def matched(x):
    match x:
        case {"id": int() as n, "owner": {"name": str(name)}, **rest}: return "object", n, name, sorted(rest)
        case {"name": name}: return "person", name
        case [{"id": first}, *others]: return "items", first, len(others)
        case [first, second]: return "two", first, second
def changed(x):
    x["total"] = {"n": 1}
    x["total"]["n"] += 1
    x["owner"]["name"] += "!"
    del x["note"]
    x |= {"new": [1]}
    x.update(tags=1)
    x.setdefault("list", []).append(2)
    return x, x["total"], x.get("note"), x["list"], "tags" in x
def changed_list(x):
    x.append({"name": "own"})
    x.sort(key=lambda i: i["name"])
    x += [{"name": "z"}]
    x.insert(0, {"name": "first"})
    x[1:2] = [{"name": "sliced"}]
    last = x.pop()
    x.reverse()
    x.extend(({"name": "e"},))
    x.remove({"name": "e"})
    x *= 1
    return x, last, [i["name"] for i in x]
def unpacked(*a, **b):
    return a, b
for line in LINES:
    a = get()
    try:
        print(line, "->", eval(line))
    except Exception as error:
        print(line, "->", type(error).__name__, error)
"""


@pytest.mark.parametrize("part", range(6))
def test_a_traced_program_does_what_it_does_without_a_trace(part: int) -> None:
    """In parts, and waiting for its answers, because a program else runs again for each."""
    lines = SAME.strip().split("\n")[part::6]
    code = EVALUATING.replace("LINES", repr(lines)) + "# rows field one number"
    options: dict[str, Any] = {"limits": Limits(wall=30, cpu=30, shown=64_000), "most": 1000}
    host = {"get": lambda: ANSWER}
    plain, traced = (Host(host, waiting=WaitingPrograms()).play(code, traced=flag, **options) for flag in (False, True))
    assert plain.kind == "finished", plain.problem
    assert traced.result.output.split("\n") == plain.result.output.split("\n")
    assert plain.reads == {}
    assert traced.reads["0"][""] == ("object",)


def test_copies_share_what_is_inside_as_plain_ones_do() -> None:
    code = "a = get()\nb = a.copy()\nc = [*a['items']]\nb['owner']['name'] = 'B'\nc[0]['id'] = 9\n"
    run = play(
        code + "d = a['matrix'].copy()\nd[0][0] = 7\nprint(a['owner']['name'], a['items'][0]['id'], a['matrix'])"
    )
    assert run.result.output == "B 9 [[7, 2], [3]]\n"


@pytest.mark.parametrize(
    "argument", ["a", "a['items']", "{'x': a['owner'], 'y': [a['id']]}", "a['tags'] + ['c']", "{**a, 'id': 6}"]
)
def test_a_call_with_parts_of_an_answer_has_the_same_digest_with_and_without_a_trace(argument: str) -> None:
    [first] = once("get()").calls
    code = f"a = get()\nput(body={argument})"
    plain, traced = (once(code, answered(first, ANSWER), traced=flag) for flag in (False, True))
    assert plain.calls == traced.calls
    assert type(traced.calls[0].keywords["body"]) in (dict, list)


def test_the_headers_of_a_traced_answer_are_found() -> None:
    assert play("a, b = get(), get(n=1)\nprint(headers(a)['x-position'], headers(b)['x-position'])").kind == "finished"


# What is read

OWNER = {"/owner": "object", "/owner/name": "string", "/owner/home": "object"}
ITEMS = {"/items": "array", "/items/*": "object"}
MATRIX = {"/matrix": "array", "/matrix/*": "array"}
PARTS = {"/items/*/parts": "array", "/items/*/parts/*": "object", "/items/*/parts/*/n": "integer string"}
READS = [
    ("a['id']", {"/id": "integer"}),
    ("a.get('id')", {"/id": "integer"}),
    ("a.get('none')", {"/none": "missing"}),
    ("'none' in a", {"/none": "missing"}),
    ("a['price'], a['paid'], a['note']", {"/price": "number", "/paid": "boolean", "/note": "null"}),
    ("a['owner']['home']", {"/owner": "object", "/owner/home": "object"}),
    ("a['@odd/name~']", {"/@odd~1name~0": "string"}),
    ("a['tags'][0]", {"/tags": "array", "/tags/*": "string"}),
    ("len(a['items'])", {"/items": "array"}),
    ("[i['id'] for i in a['items']]", {**ITEMS, "/items/*/id": "integer"}),
    ("[p['n'] for i in a['items'] for p in i['parts']]", {**ITEMS, **PARTS}),
    ("str(a['owner'])", {**OWNER, "/owner/home/city": "string"}),
    ("json.dumps(a['tags'])", {"/tags": "array", "/tags/*": "string"}),
    ("a['matrix'] == [[1, 2], [3]]", {**MATRIX, "/matrix/*/*": "integer"}),
    ("a['matrix'] == []", {"/matrix": "array"}),
    ("{**a['owner']}", OWNER),
    ("dict(a['owner'])['home']['city']", {**OWNER, "/owner/home/city": "string"}),
    ("list(a['owner'])", OWNER),
    ("a['owner'].copy()['name']", {"/owner": "object", "/owner/name": "string"}),
    ("a['x'] = 1; a['x']", {}),
    ("a['x'] = {'y': {}}; a['x']['y']; a.get('x')", {}),
    ("a['matrix'].append([9]); a['matrix'][2]", MATRIX),
    ("sorted(a['items'], key=lambda i: i['name'])", {**ITEMS, "/items/*/name": "string"}),
    ("a['items'].sort(key=lambda i: i['name'])", {**ITEMS, "/items/*/name": "string"}),
    ("(a['items'] + [])[0]['id']", {**ITEMS, "/items/*/id": "integer"}),
    ("import copy; copy.deepcopy(a)['owner']['name']", {"/owner": "object", "/owner/name": "string"}),
]


@pytest.mark.parametrize(("code", "expected"), READS, ids=[code for code, _ in READS])
def test_a_read_is_recorded_with_its_types(code: str, expected: dict[str, str]) -> None:
    assert read_by(code) == {"": "object", **expected}


def test_an_answer_that_is_not_looked_into_has_no_reads() -> None:
    assert read_by("b = a; b is None") == {}


@pytest.mark.parametrize(("answer", "kind"), [("text", "string"), (5, "integer"), (1.0, "number"), (False, "boolean")])
def test_a_scalar_answer_is_read_as_a_whole(answer: Any, kind: str) -> None:
    assert play("print(get())", answer).reads == {"0": {"": (kind,)}}


def test_an_empty_answer_has_no_reads() -> None:
    assert play("print(get())", None).reads == {}


def test_an_object_with_many_keys_that_is_iterated_over_is_a_map() -> None:
    few = {f"k{n}": {"v": n} for n in range(MOST_KEYS)}
    many = few | {"last": {"v": "x"}}
    assert len(read_by("[x['v'] for x in a.values()]", few)) == 1 + 2 * MOST_KEYS
    assert read_by("[x['v'] for x in a.values()]", many) == {"": "object", "/*": "object", "/*/v": "integer string"}
    assert read_by("[a[k]['v'] for k in ('k1',)]", many) == {"": "object", "/k1": "object", "/k1/v": "integer"}


LIBRARY = [
    ("one(a['items'], 'alpha')['id']", {"/items/*/name", "/items/*/id"}),
    ("one(a['items'], name='alpha')['id']", {"/items/*/name", "/items/*/id"}),
    ("field(a['owner'], 'NAME')", {"/owner/name", "/owner/NAME"}),
    ("field(a, 'owner.home.city')", {"/owner", "/owner/home", "/owner/home/city"}),
]


@pytest.mark.parametrize(("code", "expected"), LIBRARY)
def test_the_library_reads_the_fields_that_it_chooses_by(code: str, expected: set[str]) -> None:
    run = play(f"a = get()\nprint({code})")
    assert run.kind == "finished", run.problem
    assert {*run.reads["0"]} - {"", "/items", "/items/*", "/owner"} == expected - {"/owner"}


def test_the_list_of_an_envelope_is_read_and_its_neighbours_are_not() -> None:
    answer = {"page": 1, "data": {"items": [{"id": 1, "name": "x"}], "total": 1}}
    run = play("print(len(rows(get())))", answer)
    assert run.reads["0"] == {"": ("object",), "/data": ("object",), "/data/items": ("array",)}


# Reports


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        ("print(1)", "finished"),
        ("stop('enough')", "stopped"),
        ("put(n=1)", "calls"),
        ("1 / 0", "failed"),
        ("raise MemoryError", "failed"),
        ("exit()", "failed"),
    ],
)
def test_every_end_reports_the_reads(ending: str, kind: str) -> None:
    [call] = once("get()").calls
    run = once(f"a = get()\na['id']\n{ending}", answered(call, ANSWER), traced=True)
    assert (run.kind, run.is_cut) == (kind, False)
    assert run.reads == {"0": {"": ("object",), "/id": ("integer",)}}


def test_a_dry_run_that_ends_at_an_unknown_answer_reports_the_reads() -> None:
    code = "a = get()\nx = put(n=a['id'])\nprint(x['id'])"
    [first] = once(code).calls
    [second] = once(code, answered(first, ANSWER)).calls
    held = Entry(second.position, "k", second.digest, "held")
    run = once(code, answered(first, ANSWER), held, traced=True)
    assert (run.kind, run.reads) == ("unknown", {"0": {"": ("object",), "/id": ("integer",)}})


def test_a_program_that_was_ended_from_outside_has_cut_reads() -> None:
    [call] = once("get()").calls
    run = once("get()['id']\nimport os; os._exit(1)", answered(call, ANSWER), traced=True)
    assert (run.result.status, run.reads, run.is_cut) == (Status.CRASHED, {}, True)


def test_reads_are_those_of_each_answer_by_its_position() -> None:
    run = play("a, b = gather(get(n=1), get(n=2))\nprint(a['id'], b['price'])")
    assert {position: sorted(kind) for position, kind in run.reads.items()} == {
        "0.0.0": ["", "/id"],
        "0.1.0": ["", "/price"],
    }


def test_an_answer_of_an_earlier_program_is_read_too() -> None:
    [call] = once("get(n=1)").calls
    run = once("print(get(n=1)['id'])", answered(call, ANSWER, position=""), traced=True)
    assert run.reads == {"0": {"": ("object",), "/id": ("integer",)}}


def test_the_body_of_an_error_has_no_reads() -> None:
    def fail() -> None:
        raise Failure(404, {"error": "x"})

    code = "try:\n    get()\nexcept ApiError as e:\n    print(e.body['error'], type(e.body))"
    run = Host({"get": fail}).play(code, traced=True)
    assert (run.result.output, run.reads) == ("x <class 'dict'>\n", {})


def test_many_equal_answers_share_the_room_of_a_report() -> None:
    wide = {f"k{n}": n for n in range(40)}
    run = play("for a in gather(*(get(n=n) for n in range(100))):\n    print(len(dict(a)))", wide, most=1000)
    assert ([len(part) for part in run.reads.values()], run.is_cut) == ([41] * 100, False)


def test_too_many_patterns_are_cut() -> None:
    huge = {f"k{n}": n for n in range(30_000)}
    run = play("a = get()\nfor n in range(30_000):\n    a[f'k{n}']\nprint(get(n=1)['k1'])", huge)
    assert (sum(map(len, run.reads.values())), run.is_cut) == (MOST_READS, True)


def test_a_pattern_that_is_too_long_or_no_text_is_cut() -> None:
    answer = {"x" * 300: {"y": 1}, "\ud800": 1, "id": 1}
    run = play("a = get()\na['x' * 300]['y'], a['\\ud800']\nprint(a['id'])", answer)
    assert (run.reads, run.is_cut) == ({"0": {"": ("object",), "/id": ("integer",)}}, True)
    assert "x" * (MOST_PATTERN - 1) not in run.result.payload


def test_reads_make_no_report_too_large() -> None:
    answer = {f"{n:0190d}": n for n in range(1000)}
    [first] = once("get()").calls
    code = "a = get()\nfor k in [*a]:\n    a[k]\ngather(put(n='x' * 399_000), put(n='y' * 399_000))"
    run = once(code, answered(first, answer), traced=True)
    assert (run.kind, len(run.calls), run.is_cut, run.reads) == ("calls", 2, True, {})


@pytest.mark.slow
def test_a_deep_answer_and_a_large_one_are_read() -> None:
    deep: Any = "end"
    for _ in range(300):
        deep = {"d": deep}
    run = play("a = get()\nb = a\nfor _ in range(300):\n    b = b['d']\nprint(b, len(str(a)))", deep)
    assert (run.result.output, run.is_cut) == ("end 2105\n", True)
    many = [{"id": n, "name": f"n{n}", "parts": [{"n": n}]} for n in range(40_000)]
    run = play(
        "a = get()\nprint(sum(i['id'] for i in a), sum(p['n'] for i in a for p in i['parts']), len(str(a)) > 9)", many
    )
    assert run.kind == "finished", run.problem
    assert run.reads["0"]["/*/parts/*/n"] == ("integer",)


def test_an_answer_that_holds_itself_is_walked_once() -> None:
    run = play("a = get()\na['owner']['self'] = a\nprint(str(a)[:8], a == a, a['owner']['self'] is a)")
    assert (run.kind, run.result.output) == ("finished", "{'id': 5 True True\n")


# Inputs


def test_inputs_are_plain_values_under_their_name() -> None:
    inputs = {"title": "Dune", "tags": ["a"], "n": None}
    run = once("print(inputs, type(inputs))\ninputs['tags'].append(1)", inputs=inputs)
    assert run.result.output == "{'title': 'Dune', 'tags': ['a'], 'n': None} <class 'dict'>\n"
    assert inputs["tags"] == ["a"]


def test_without_inputs_there_is_no_such_name() -> None:
    assert "inputs" in once("print(inputs)").problem


@pytest.mark.parametrize("check", ["names", "fields"])
@pytest.mark.parametrize("traced", [False, True])
def test_the_check_knows_inputs(check: str, traced: bool) -> None:
    assert once("print(inputs['a'])", check=check, inputs={"a": 1}, traced=traced).result.output == "1\n"
    assert once("print(inputs['a'])", check=check, traced=traced).kind == "refused"


# Hostile programs

PLACED = "{'0': {'': ['object']}}"
FORGED = [
    "5",
    "[]",
    "{}",
    "{'kinds': {}, 'of': {}, 'is_cut': False}",
    "{'kinds': [], 'of': [], 'is_cut': False}",
    "{'kinds': [], 'of': {}, 'is_cut': 0}",
    "{'kinds': [5], 'of': {}, 'is_cut': False}",
    "{'kinds': [{'': 'object'}], 'of': {'0': 0}, 'is_cut': False}",
    "{'kinds': [{'': []}], 'of': {'0': 0}, 'is_cut': False}",
    "{'kinds': [{'': [['object']]}], 'of': {'0': 0}, 'is_cut': False}",
    "{'kinds': [{'': ['text']}], 'of': {'0': 0}, 'is_cut': False}",
    "{'kinds': [{'id': ['object']}], 'of': {'0': 0}, 'is_cut': False}",
    "{'kinds': [{'/~2': ['object']}], 'of': {'0': 0}, 'is_cut': False}",
    "{'kinds': [{'/\\ud800': ['object']}], 'of': {'0': 0}, 'is_cut': False}",
    "{'kinds': [{'/' + 'x' * 300: ['object']}], 'of': {'0': 0}, 'is_cut': False}",
    "{'kinds': [{f'/{n}': ['object'] for n in range(2001)}], 'of': {'0': 0}, 'is_cut': False}",
    "{'kinds': [{'': ['object']}], 'of': {'0': 1}, 'is_cut': False}",
    "{'kinds': [{'': ['object']}], 'of': {'0': -1}, 'is_cut': False}",
    "{'kinds': [{'': ['object']}], 'of': {'0': False}, 'is_cut': False}",
    "{'kinds': [{'': ['object']}], 'of': {'1': 0}, 'is_cut': False}",
    "{'kinds': [{'': ['object']}], 'of': {'x': 0}, 'is_cut': False}",
]


@pytest.mark.parametrize("reads", FORGED)
def test_a_report_of_reads_in_another_form_ends_the_program(reads: str) -> None:
    [call] = once("get()").calls
    code = f"{FORGE}\nforge(b'calls', {{'calls': [call(position='1')], 'reads': {reads}}})"
    run = once(code, answered(call, ANSWER), traced=True)
    assert (run.kind, run.reads, run.calls) == ("failed", {}, ())
    assert run.problem.startswith("The program ended in a way that cannot be read: ")
    assert once(code, answered(call, ANSWER)).kind == "calls"


def test_a_report_without_reads_has_cut_reads() -> None:
    run = once(f"{FORGE}\nforge(b'calls', {{'calls': [call()]}})", traced=True)
    assert (run.kind, run.reads, run.is_cut) == ("calls", {}, True)


@pytest.mark.parametrize(
    "change",
    [
        "import builtins; builtins.dict = builtins.list = int",
        "import builtins; builtins.type = builtins.isinstance = lambda *a: 1 / 0",
        "trace.Fields.__getitem__ = lambda self, key: 7",
        "trace._dict_get = lambda *a: 7",
        "trace._TYPES.clear()",
        "trace.Node.below = None",
        "a._node = None",
        "a._node.types.add(5)",
        "a._node.pattern = 5",
        "gather.__self__._reads = None",
        "gather.__self__._reads.__class__ = dict",
        "gather.__self__._reads.report = lambda: {'of': 1}",
        "del a._node",
    ],
)
def test_a_program_that_changes_its_trace_deceives_only_itself(change: str) -> None:
    [call] = once("get()").calls
    code = f"import sys\ntrace = sys.modules['restgpt.tools.sandbox.guest.trace']\na = get()\n{change}\nprint(a['id'])"
    run = once(code, answered(call, ANSWER), traced=True)
    assert run.kind in ("failed", "finished")
    for kind in run.reads.values():
        assert all(pattern == "" or pattern.startswith("/") for pattern in kind)


def test_a_program_that_replaces_dict_and_list_is_traced() -> None:
    code = "class dict(dict): pass\nlist = tuple\na = get()\nprint(dict(a)['id'], list(a['tags']), isinstance(a, dict))"
    run = play(code)
    assert run.result.output == "5 ('b', 'a') False\n"
    assert run.reads["0"]["/tags/*"] == ("string",)

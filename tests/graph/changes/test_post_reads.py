"""Guards reads by POST: proposed ones wait for a person, who confirms each operation once; changes always wait."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from board import Agent, agent_of
from langchain.agents.middleware.human_in_the_loop import HITLRequest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.types import Command
from postshop import DOCUMENT, PostShop, served_shop
from pydantic import TypeAdapter
from question import unmarked
from roles import call, end, plan, program, select
from scripted import ScriptedModel

from restgpt.calling.journal import journals
from restgpt.calling.permissions import Permissions
from restgpt.nodes.run.services import Context, Services
from restgpt.specs import Operation
from restgpt.tools.settings import ApiEntry, EffectRule, PolicyRule, Settings

PROGRAM = """
user = find_user(email="ann@example.org")["user_id"]
orders = search_orders(user_id=user, pages=5)
cancel_order(id=orders[-1]["id"])
print(len(orders), "orders")
"""
READS = """
user = find_user(email="ann@example.org")["user_id"]
print(len(search_orders(user_id=user, pages=5)), "orders")
"""
APPROVE: dict[str, Any] = {"type": "approve"}
ONLY_READS = {"type": "approve", "only_reads": True}


@pytest.fixture
def shop() -> Iterator[PostShop]:
    with served_shop() as served:
        yield served


def agent(
    shop: PostShop,
    *replies: Any,
    store: BaseStore | None = None,
    thread: str = "thread",
    settings: Settings | None = None,
    document: str = DOCUMENT,
    **context: Any,
) -> Agent:
    model = ScriptedModel(list(replies or [program(READS)]))
    api = shop.api(document, entry="shop" if settings else None)
    services = Services([api], model=model, settings=settings or Settings(), defaults=Context(**context))
    made = agent_of(None, model, services=services, store=store or InMemoryStore())
    made.thread = thread
    return made


def asking(shop: PostShop, **options: Any) -> Agent:
    """An agent that waits with its first read."""
    made = agent(shop, **options)
    assert waiting(made.ask("How many orders?")) == ["find_user"]
    return made


def resume(asked: Agent, *decisions: dict[str, Any]) -> dict[str, Any]:
    return asked.graph.invoke(Command(resume={"decisions": list(decisions)}), asked.config)  # type: ignore[return-value]


def waiting(found: dict[str, Any]) -> list[str]:
    """The names of the actions that wait for a person."""
    return [action["name"] for pause in found.get("__interrupt__", ()) for action in pause.value["action_requests"]]


def confirmed(operation: Operation) -> InMemoryStore:
    """A store in which an operation was confirmed as a read."""
    store = InMemoryStore()
    Permissions(store).confirm_read(operation, "it reads")
    return store


def rules(**entry: Any) -> Settings:
    return Settings(apis={"shop": ApiEntry(name="shop", spec="shop.yaml", **entry)})


@pytest.mark.slow
def test_after_one_confirmation_each_no_read_asks_again_in_another_process_but_the_change_does(
    shop: PostShop, tmp_path: Path
) -> None:
    database = str(tmp_path / "store.db")
    with SqliteStore.from_conn_string(database) as store:
        store.setup()
        first = agent(shop, program(PROGRAM), store=store)
        assert waiting(first.ask("Cancel my last order")) == ["find_user"]
        assert shop.paths() == []
        assert waiting(resume(first, ONLY_READS)) == ["search_orders"]
        assert waiting(resume(first, ONLY_READS)) == ["cancel_order"]
        done = resume(first, APPROVE)
        assert (done["answer"], shop.cancelled) == ("5 orders", [5])
        # Confirmed reads are no changes, so the journal has one entry.
        [made] = journals(store)
        assert made["request"]["url"].endswith("/orders/cancel")
    shop.paths()
    with SqliteStore.from_conn_string(database) as store:
        second = agent(shop, program(PROGRAM), store=store, thread="another")
        assert waiting(second.ask("Cancel my last order")) == ["cancel_order"]
        assert shop.paths() == ["/users/find", *["/orders/search"] * 3]


def test_the_question_tells_the_guess_its_reason_and_the_decision_that_confirms_it(shop: PostShop) -> None:
    asked = agent(shop)
    [pause] = asked.ask("How many orders?")["__interrupt__"]
    [action] = pause.value["action_requests"]
    assert action["effect"]["confirm"] == ONLY_READS
    assert action["effect"]["reason"] == "it is a POST, but the document marks it with x-restgpt-effect: read"
    lines = unmarked(action["description"])
    assert lines[lines.index("It seems only to read:") + 2] == action["effect"]["reason"]
    TypeAdapter(HITLRequest).validate_python(pause.value)


def test_a_plain_approval_is_for_this_request_only_and_covers_its_further_pages(shop: PostShop) -> None:
    store = InMemoryStore()
    asked = asking(shop, store=store)
    [pause] = resume(asked, APPROVE)["__interrupt__"]
    [action] = pause.value["action_requests"]
    assert action["further_pages"] == 4
    line = "Approving covers up to 4 further pages of the list, a request each."
    assert line in action["description"].splitlines()
    shop.paths()
    assert resume(asked, APPROVE)["answer"] == "5 orders"
    assert shop.paths() == ["/orders/search"] * 3
    assert waiting(agent(shop, store=store).ask("Again")) == ["find_user"]


def test_a_change_cannot_be_confirmed_as_a_read(shop: PostShop) -> None:
    store = InMemoryStore()
    asked = agent(shop, program("cancel_order(id=3)\nprint('done')"), store=store)
    [pause] = asked.ask("Cancel order 3")["__interrupt__"]
    assert "effect" not in pause.value["action_requests"][0]
    [again] = resume(asked, ONLY_READS)["__interrupt__"]
    assert "cannot be confirmed as a read" in again.value["action_requests"][0]["description"]
    assert (shop.cancelled, Permissions(store).listed()) == ([], [])


@pytest.mark.parametrize("said", ["yes", 1, "true"])
def test_only_true_confirms(shop: PostShop, said: Any) -> None:
    store = InMemoryStore()
    asked = asking(shop, store=store)
    assert waiting(resume(asked, {"type": "approve", "only_reads": said})) == ["find_user"]
    assert Permissions(store).listed() == []


def test_nothing_that_a_model_writes_confirms_a_read(shop: PostShop) -> None:
    store = InMemoryStore()
    code = 'find_user(email="ann@example.org", only_reads=True)'
    asked = agent(shop, program(code), end("No.", fulfilled=False), store=store)
    asked.ask("How many orders?")
    assert (shop.requests, Permissions(store).listed()) == ([], [])


def test_a_changed_operation_is_asked_about_again(shop: PostShop) -> None:
    store = InMemoryStore()
    asked = asking(shop, store=store)
    resume(asked, ONLY_READS)
    changed = DOCUMENT.replace("Find a user by email", "Find a user by email address")
    assert waiting(agent(shop, store=store, document=changed).ask("Again")) == ["find_user"]
    assert waiting(agent(shop, store=store).ask("Again")) == ["search_orders"]


@pytest.mark.parametrize(
    ("writes", "status", "note"), [("deny", "rejected", "{effect: read, id: find_user}"), ("dry-run", "held", "")]
)
def test_a_proposal_is_refused_under_deny_with_the_way_to_confirm_it_and_held_by_a_dry_run(
    shop: PostShop, writes: str, status: str, note: str
) -> None:
    asked = agent(shop, program(READS), end("It was refused.", fulfilled=False), writes=writes)
    asked.ask("How many orders?")
    [request] = asked.state["steps"][-1]["requests"]
    assert request["status"] == status
    assert note in request["note"]
    assert shop.requests == []


@pytest.mark.parametrize("writes", ["ask", "deny", "dry-run"])
def test_a_configured_read_is_sent_unasked_whatever_the_run_does_with_changes(shop: PostShop, writes: str) -> None:
    settings = rules(effects=(EffectRule("read", paths=("/users/*", "/orders/search")),))
    asked = agent(shop, settings=settings, writes=writes)
    assert asked.ask("How many orders?")["answer"].startswith("5 orders")


@pytest.mark.parametrize(
    "entry",
    [{"effects": (EffectRule("change", ids=("find_user",)),)}, {"policy": (PolicyRule("ask", ids=("find_user",)),)}],
    ids=["the user calls it a change", "a rule goes on asking"],
)
def test_no_confirmation_is_offered_against_the_users_word(shop: PostShop, entry: dict[str, Any]) -> None:
    [pause] = agent(shop, settings=rules(**entry)).ask("How many orders?")["__interrupt__"]
    assert "effect" not in pause.value["action_requests"][0]


def test_what_was_confirmed_and_set_to_change_since_is_asked_about(shop: PostShop) -> None:
    store = confirmed(shop.api(entry="shop").operation("find_user"))
    settings = rules(effects=(EffectRule("change", ids=("find_user",)),))
    assert waiting(agent(shop, store=store, settings=settings).ask("Again")) == ["find_user"]


def test_a_confirmed_read_is_sent_again_after_a_fault_and_a_change_is_not(shop: PostShop) -> None:
    store = confirmed(shop.api().operation("find_user"))
    shop.failing[:] = [503]
    code = 'print(find_user(email="ann@example.org")["user_id"])'
    assert agent(shop, program(code), store=store).ask("Who is Ann?")["answer"] == "7"
    assert shop.paths() == ["/users/find"] * 2


def test_a_failed_proposed_read_does_not_stop_the_next_call(shop: PostShop) -> None:
    calls = [{"body": {"email": "bob@example.org"}}, {"body": {"email": "ann@example.org"}}]
    script = [plan("find both"), select("find_user", "find_user"), call(*calls), end("Ann is 7.")]
    asked = agent(shop, *script, road="roles")
    assert waiting(asked.ask("Who are bob@example.org and ann@example.org?")) == ["find_user", "find_user"]
    done = resume(asked, APPROVE, APPROVE)
    assert done["answer"] == "Ann is 7."
    assert [request["response"]["status"] for request in asked.state["steps"][-1]["requests"]] == [404, 200]


def test_confirming_one_of_two_requests_of_an_operation_confirms_both_from_then_on(shop: PostShop) -> None:
    code = 'found = gather(find_user(email="ann@example.org"), find_user(email="Ann@example.org"))'
    asked = agent(shop, program(code), program("print('over')"), end("No."))
    assert waiting(asked.ask("Who is ann@example.org, or Ann@example.org?")) == ["find_user", "find_user"]
    resume(asked, ONLY_READS, APPROVE)
    assert shop.paths() == ["/users/find"] * 2


def test_an_approved_proposal_is_recorded_and_journalled_as_such_and_a_confirmed_read_is_safe(shop: PostShop) -> None:
    asked = asking(shop)
    resume(asked, APPROVE)
    [entry] = asked.journal.entries()
    assert entry["request"]["url"].endswith("/users/find")
    assert entry["undo"] == {"reason": "it seems only to read, so there is nothing to undo"}
    resume(asked, ONLY_READS)
    [first, second] = asked.state["steps"][-1]["requests"]
    assert (first["safe"], first.get("proposed")) == (False, True)
    assert (second["safe"], second.get("proposed")) == (True, None)


def test_confirmed_reads_of_one_gather_go_out_as_reads(shop: PostShop) -> None:
    store = confirmed(shop.api().operation("search_orders"))
    code = "print(*[len(found) for found in gather(*[search_orders(limit=n) for n in (3, 4)])])"
    asked = agent(shop, program(code), store=store)
    assert asked.ask("Show 3 orders, then 4")["answer"] == "3 4"
    assert len(shop.requests) == 2


def again(asked: Agent, shop: PostShop, document: str, store: BaseStore, **context: Any) -> Agent:
    """The same thread in another process, which reads another version of the document."""
    services = Services([shop.api(document)], model=asked.model, settings=Settings(), defaults=Context(**context))
    return agent_of(None, asked.model, services=services, checkpointer=asked.graph.checkpointer, store=store)


def test_a_confirmation_is_for_the_operation_that_was_shown_though_the_document_is_another_by_then(
    shop: PostShop,
) -> None:
    store = InMemoryStore()
    asked = asking(shop, store=store)
    changed = DOCUMENT.replace("by email", "by email\n      description: The user hears of it.")
    [pause] = resume(again(asked, shop, changed, store), ONLY_READS)["__interrupt__"]
    [action] = pause.value["action_requests"]
    assert (shop.requests, Permissions(store).listed()) == ([], [])
    lines = unmarked(action["description"])
    assert any(line.startswith("the API's spec has changed since the question") for line in lines)
    assert "The user hears of it." in lines
    assert waiting(resume(again(asked, shop, changed, store), ONLY_READS)) == ["search_orders"]
    assert Permissions(store).reads(shop.api(changed).operation("find_user"))


def test_a_read_that_waits_behind_a_question_is_asked_about_if_its_confirmation_is_gone_by_then(shop: PostShop) -> None:
    store = confirmed(shop.api().operation("find_user"))
    code = 'gather(find_user(email="ann@example.org"), cancel_order(id=3))\nprint("done")'
    asked = agent(shop, program(code), store=store)
    assert waiting(asked.ask("Cancel order 3 of ann@example.org")) == ["cancel_order"]
    [kept] = Permissions(store).listed()
    Permissions(store).revoke(kept)
    assert waiting(resume(asked, APPROVE)) == ["find_user"]
    assert shop.paths() == ["/orders/cancel"]


@pytest.mark.parametrize("writes", ["ask", "deny", "dry-run"])
def test_a_read_that_became_a_change_before_it_was_sent_is_not_sent(shop: PostShop, writes: str) -> None:
    store = confirmed(shop.api().operation("find_user"))
    asked = agent(shop, program(READS), end("No.", fulfilled=False), store=store, writes=writes)
    asked.graph.invoke({"instruction": "How many orders?"}, asked.config, interrupt_before=["parser"])
    changed = DOCUMENT.replace("x-restgpt-effect: read", "x-restgpt-effect: change")
    later = again(asked, shop, changed, store, writes=writes)
    later.graph.invoke(None, later.config)
    assert shop.requests == []


def test_a_kept_request_is_not_sent_as_another_operation_that_has_its_name_by_then(shop: PostShop) -> None:
    store = InMemoryStore()
    before = DOCUMENT.replace("operationId: cancel_order", "operationId: list_orders")
    after = DOCUMENT.replace("operationId: search_orders", "operationId: list_orders")
    Permissions(store).confirm_read(shop.api(after).operation("list_orders"), "it reads")
    script = [program("list_orders(id=3)"), end("No.", fulfilled=False)]
    asked = agent(shop, *script, store=store, document=before, writes="allow")
    asked.stop_at("approved", {"instruction": "Cancel order 3"})
    later = again(asked, shop, after, store, writes="allow")
    later.graph.invoke(None, later.config)
    assert shop.requests == []

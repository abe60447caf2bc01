"""Guards the commands about reads by POST: confirming, listing and forgetting them, and what decides without asking."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli import Cli
from postshop import DOCUMENT, PostShop, served_shop

from restgpt.calling.scope import HOURS, TIMES
from restgpt.commands.review import Verdict
from restgpt.commands.terminal import UsageError
from restgpt.outcome import Pending
from restgpt.specs import load_api

CODE = 'print(find_user(email="ann@example.org")["user_id"])'
SCRIPT = {"express": [{"thought": "", "decision": "program", "text": CODE}] * 3}


@pytest.fixture
def shop() -> Iterator[PostShop]:
    with served_shop() as served:
        yield served


@pytest.fixture
def spec(tmp_path: Path) -> str:
    path = tmp_path / "shop.yaml"
    path.write_text(DOCUMENT, encoding="utf-8")
    return str(path)


def find(spec: str, shop: PostShop, *more: str) -> list[str]:
    arguments = '{"body": {"email": "ann@example.org"}}'
    return ["call", "find_user", "--spec", spec, "--base-url", shop.url, "--args", arguments, *more]


def test_a_run_that_is_resumed_with_only_reads_asks_no_more(cli: Cli, shop: PostShop, spec: str, model: Any) -> None:
    model(SCRIPT)
    ask = ["ask", "Who is ann@example.org?", "--spec", spec, "--base-url", shop.url]
    paused = cli(*ask)
    assert paused.code == 3
    assert "--approve --only-reads" in paused.err
    thread = next(line.split()[1] for line in paused.err.splitlines() if line.startswith("thread "))
    done = cli("resume", thread, "--approve", "--only-reads")
    assert (done.code, done.out.strip()) == (0, "7")
    again = cli(*ask)
    assert (again.code, again.out.strip()) == (0, "7")
    assert "POST /users/find" in cli("memory", "list").out
    assert cli("memory", "forget", "permissions", "find_user", "--json").document == {"forgotten": 1}
    assert cli(*ask).code == 3


def test_a_single_call_is_confirmed_once_and_then_sent_without_a_thread(cli: Cli, shop: PostShop, spec: str) -> None:
    waiting = cli(*find(spec, shop))
    assert (waiting.code, shop.requests) == (3, [])
    assert "--only-reads" in waiting.err
    assert cli(*find(spec, shop, "--only-reads")).code == 0
    sent = cli(*find(spec, shop, "--writes", "deny", "--json")).document
    assert (sent["status"], sent["response"]["body"]) == ("done", {"user_id": 7})
    assert "thread" not in sent
    assert shop.paths() == ["/users/find"] * 2


def test_a_single_call_under_deny_is_refused_with_the_way_to_confirm_it(cli: Cli, shop: PostShop, spec: str) -> None:
    refused = cli(*find(spec, shop, "--writes", "deny"))
    assert refused.code == 1
    assert "{effect: read, id: find_user}" in refused.err
    assert shop.requests == []


def test_a_change_is_not_sent_for_only_reads(cli: Cli, shop: PostShop, spec: str) -> None:
    options = ["--spec", spec, "--base-url", shop.url, "--args", '{"body": {"id": 1}}', "--only-reads"]
    refused = cli("call", "cancel_order", *options)
    assert (refused.code, shop.requests) == (2, [])
    assert "--only-reads does not apply" in refused.err


def test_a_person_at_the_terminal_confirms_a_read(cli: Cli, shop: PostShop, spec: str) -> None:
    code, screen = cli.on_a_terminal(*find(spec, shop), prompt="[l]ater?", answer="o")
    assert code == 0, screen
    assert "It seems only to read:" in screen
    assert cli(*find(spec, shop)).code == 0


def test_effects_are_listed_with_their_origin(cli: Cli, shop: PostShop, spec: str) -> None:
    # A confirmation is for the server as well, so the document has to name the served one.
    Path(spec).write_text(DOCUMENT.replace("http://127.0.0.1:1", shop.url), encoding="utf-8")
    # A confirmation is also for the entry, not for every document that was read from the same file.
    Path("apis.yaml").write_text(
        f"shop:\n  spec: {spec}\n  base_url: {shop.url}\n  effects: [{{effect: change, id: search_orders}}]\n"
    )
    arguments = '{"body": {"email": "ann@example.org"}}'
    assert cli("call", "find_user", "--api", "shop", "--args", arguments, "--only-reads").code == 0
    shown = cli("api", "show", "shop", "--effects", "--json").document["operations"]
    assert [(item["name"], item["effect"], item["origin"]) for item in shown] == [
        ("find_user", "read", "confirmed"),
        ("search_orders", "change", "settings"),
        ("cancel_order", "change", "method"),
    ]
    text = cli("api", "show", spec, "--effects").out
    assert "change  search_orders: POST /orders/search  (by apis.yaml)" in text
    Path("apis.yaml").unlink()
    text = cli("api", "show", spec, "--effects").out
    assert "read    search_orders: POST /orders/search  (proposed, not confirmed: it is a POST, but" in text


def test_forgetting_what_was_never_confirmed_is_an_error_that_says_where_to_look(cli: Cli) -> None:
    refused = cli("memory", "forget", "permissions", "find_user")
    assert refused.code == 2
    assert "restgpt memory list" in refused.err
    assert cli("memory", "forget", "permissions").code == 0


CONFIRM = {"type": "approve", "only_reads": True}
READ = {"name": "find", "args": {}, "effect": {"kind": "read", "reason": "", "confirm": CONFIRM}}
CHANGE = {"name": "cancel", "args": {}}


def test_only_reads_confirms_what_is_offered_and_approves_the_rest() -> None:
    pause = Pending("one", (READ, CHANGE), {})
    answers = Verdict(approve=True, only_reads=True).answers([pause], load_api(DOCUMENT).operation)
    assert answers == {"one": {"decisions": [CONFIRM, {"type": "approve"}]}}


def test_only_reads_needs_an_approval_and_something_that_seems_to_read() -> None:
    with pytest.raises(UsageError, match="Give --approve --only-reads"):
        _ = Verdict(only_reads=True).is_given
    with pytest.raises(UsageError, match="None of the waiting requests"):
        Verdict(approve=True, only_reads=True).answers([Pending("one", (CHANGE,), {})], load_api(DOCUMENT).operation)


def test_changes_like_one_are_permitted_by_a_command_and_taken_back(cli: Cli, shop: PostShop, spec: str) -> None:
    like = ["id:=2", "--spec", spec, "--base-url", shop.url]
    unsaid = cli("api", "permit", "cancel_order", *like)
    assert (unsaid.code, "with --yes" in unsaid.err) == (2, True)
    assert cli("memory", "list").out == "Nothing is kept.\n"
    given = cli("api", "permit", "cancel_order", *like, "--times", "1", "--yes", "--json")
    assert (given.code, given.document["times"]) == (0, 1)
    assert "cancel_order" in given.err
    sent = cli("call", "cancel_order", *like)
    assert (sent.code, "Sent unasked, under a permission of the user." in sent.err) == (0, True)
    assert "unasked 1 times, 1 of them used, until " in cli("memory", "list").out
    assert cli("call", "cancel_order", *like).code == 3
    assert cli("memory", "forget", "permissions", "cancel_order").code == 0


def test_a_narrower_permission_applies_at_once(cli: Cli, shop: PostShop, spec: str) -> None:
    like = ["--spec", spec, "--base-url", shop.url, "--args", '{"id": 2}']
    assert cli("api", "permit", "cancel_order", *like, "--wish", '{"one_of": {"/body/id": [3]}}', "--yes").code == 0
    narrower = cli("api", "permit", "cancel_order", *like)
    assert (narrower.code, "in place of: " in narrower.err) == (0, True)
    assert len(cli("memory", "list", "--json").document["permissions"]) == 1


def test_what_cannot_be_permitted_is_refused(cli: Cli, shop: PostShop, spec: str) -> None:
    refused = cli("api", "permit", "find_user", "--spec", spec, "--args", '{"email": "a"}', "--yes")
    assert (refused.code, "cannot be permitted" in refused.err) == (2, True)


def test_an_argument_is_left_open_by_its_name(cli: Cli, shop: PostShop, spec: str) -> None:
    like = ["id:=2", "--spec", spec, "--base-url", shop.url]
    given = cli("api", "permit", "cancel_order", *like, "--free", "id", "--yes", "--json").document
    assert (given["scope"], given["times"]) == ({"/body/id": {"from": "user", "most": 2}}, TIMES)
    assert round((given["until"] - given["at"]) / 3600) == HOURS
    unknown = cli("api", "permit", "cancel_order", *like, "--free", "name", "--yes")
    assert (unknown.code, "has no argument name. It takes " in unknown.err) == (2, True)

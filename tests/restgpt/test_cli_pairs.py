"""Guards `restgpt call` with arguments by name, its list of operations, and its requests as curl."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli import Cli, at, changes
from paths import openapi, operation_of

from restgpt.commands.pairs import paired_arguments, pairs_of
from restgpt.commands.terminal import UsageError
from restgpt.specs import Operation
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

TEXT = {"type": "string"}


def param(name: str, place: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": TEXT, "required": place == "path", **more}


def body(**properties: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"type": "object", "properties": properties}}}}


@pytest.fixture
def operation() -> Operation:
    named = [("id", "path"), ("limit", "query"), ("tag", "query"), ("X-Trace", "header"), ("seen", "cookie")]
    address = {"type": "object", "properties": {"city": TEXT}}
    fields = {"requestBody": body(name=TEXT, tag=TEXT, address=address, due=TEXT)}
    fields["parameters"] = [param(*item) for item in named]  # type: ignore[assignment]
    return operation_of(fields, "post", "/x/{id}")


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        (["limit=5", "id=a=b"], {"query": {"limit": "5"}, "path": {"id": "a=b"}}),
        (["limit:=5", "name:=null"], {"query": {"limit": 5}, "body": {"name": None}}),
        (["x-trace:a:b", "seen="], {"header": {"X-Trace": "a:b"}, "cookie": {"seen": ""}}),
        (["header.X-Trace=abc", "due=12:30"], {"header": {"X-Trace": "abc"}, "body": {"due": "12:30"}}),
        (["query.tag=a", "body.tag=b"], {"query": {"tag": "a"}, "body": {"tag": "b"}}),
        (["query.tag=a", "query.tag=b", "query.tag=c"], {"query": {"tag": ["a", "b", "c"]}}),
        (
            ["body.address.city=Rome", "body.other.deep:=[1]"],
            {"body": {"address": {"city": "Rome"}, "other": {"deep": [1]}}},
        ),
        (["address.city=Rome", "name=x"], {"body": {"address": {"city": "Rome"}, "name": "x"}}),
        (["body@a/b.json"], {"body": {"@file": "a/b.json"}}),
        (["name@a=b"], {"body": {"name": {"@file": "a=b"}}}),
        (['body:={"name": "x"}', "body.due=1"], {"body": {"name": "x", "due": "1"}}),
        (
            ["body.seats.1.name=Bo", "body.seats.0.name=Ada", "body.seats.0.rows.0:=3"],
            {"body": {"seats": [{"name": "Ada", "rows": [3]}, {"name": "Bo"}]}},
        ),
        (
            ['body:={"stops": [{"at": "Rome"}]}', "body.stops.0.by=rail"],
            {"body": {"stops": [{"at": "Rome", "by": "rail"}]}},
        ),
    ],
)
def test_the_document_places_arguments(operation: Operation, pairs: list[str], found: dict[str, Any]) -> None:
    assert paired_arguments(operation, pairs) == found


def test_a_missing_argument_is_named_without_a_value_that_might_be_meant(cli: Cli, toy: WorldServer) -> None:
    refused = cli("call", "create_project", *at(toy))
    assert (refused.code, "/body: is required" in refused.err, "{" in refused.err) == (2, True, False)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["tag=a"], "tag may mean several arguments of x. Write query.tag=… or body.tag=…"),
        (["tag:=[1]"], "Write query.tag:=… or body.tag:=…"),
        (["nme=a"], "x has no argument nme. It takes id*, limit, tag, X_Trace, seen, body {name, tag, address, due}."),
        (["limit:5"], "x has no header limit. It takes id*, limit,"),
        (["limit"], "'limit' names no value. Write name=text, name:=JSON, Header:text or name@FILE."),
        (["limit:=x"], "limit:=x is not JSON"),
        (["body.name=a", "body=b"], "body=b is the whole of body, of which a part is given too."),
        (["body.seats.0=a", "body.seats.2=b"], "A list has an item 2, but no item 1. Number them from 0"),
        (["body=b", "body.name=a"], "body.name=a is a part of body, which is given as a whole too."),
    ],
)
def test_what_has_no_one_meaning_is_refused_with_a_remedy(operation: Operation, pairs: list[str], told: str) -> None:
    with pytest.raises(UsageError) as raised:
        paired_arguments(operation, pairs)
    assert told in str(raised.value)


def test_a_name_of_the_function_is_known_too_and_a_twin_is_not_guessed() -> None:
    twins = operation_of({"parameters": [param("id", "path"), param("id", "query")]}, "get", "/x/{id}")
    assert paired_arguments(twins, ["id_query=2", "path.id=1"]) == {"query": {"id": "2"}, "path": {"id": "1"}}
    with pytest.raises(UsageError, match=r"Write path\.id=… or query\.id=…"):
        paired_arguments(twins, ["id=1"])


def test_an_argument_of_an_operation_without_any_is_refused() -> None:
    with pytest.raises(UsageError, match="x has no argument name"):
        paired_arguments(operation_of({}), ["name=a"])


def test_a_call_with_arguments_by_name_is_sent_in_the_types_of_the_document(cli: Cli, toy: WorldServer) -> None:
    given = ["project_id=1", "title=Moss", "hours=2", "done=true"]
    made = cli("call", "create_task", *at(toy), *given, "--approve", "--json")
    assert made.code == 0, made.err
    body = made.document["response"]["body"]
    assert [body[name] for name in ("project_id", "title", "hours", "done")] == [1, "Moss", 2, True]
    both = cli("call", "create_task", *at(toy), "project_id=1", "--args", '{"title": "x"}')
    assert (both.code, "Give arguments as NAME=VALUE or with --args" in both.err) == (2, True)


def test_a_call_without_an_operation_lists_them(cli: Cli, toy: WorldServer) -> None:
    ran = cli("call", *at(toy), "--exclude", "method=DELETE")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "list_projects: GET /projects  List all projects")
    listed = [item["name"] for item in cli("call", *at(toy), "--json").document["operations"]]
    assert {"delete_task"} == {*listed} - {line.partition(":")[0] for line in ran.out.splitlines()} - {"delete_project"}


def shell(line: str, **variables: str) -> list[str]:
    """The words that a shell gives to curl."""
    script = f"curl() {{ printf '%s\\0' \"$@\"; }}\n{line}"
    ran = subprocess.run(["sh", "-c", script], env={**os.environ, **variables}, capture_output=True, check=True)
    return ran.stdout.decode().split("\0")[:-1]


def test_curl_gets_the_request_and_credentials_from_variables(cli: Cli, toy: WorldServer) -> None:
    given = ["project_id=1", 'title=It\'s $HOME `date` "x"']
    ran = cli("call", "create_task", *at(toy), *given, "--curl")
    assert (ran.code, CREDENTIAL in ran.out, changes(toy.world)) == (0, False, [])
    words = shell(ran.out, RESTGPT_AUTH_KEY="s p")
    assert words[:3] == ["--request", "POST", f"{toy.url}/projects/1/tasks?key=s p"]
    assert json.loads(words[words.index("--data-raw") + 1]) == {"title": 'It\'s $HOME `date` "x"'}
    assert cli("call", "create_task", *at(toy), *given, "--curl", "--json").document == {"curl": ran.out.rstrip("\n")}


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        ({"type": "http", "scheme": "bearer"}, ["--header", "Authorization: Bearer secret"]),
        ({"type": "http", "scheme": "basic"}, ["--user", "secret"]),
        ({"type": "apiKey", "in": "header", "name": "X-Key"}, ["--header", "X-Key: secret"]),
        ({"type": "apiKey", "in": "cookie", "name": "sid"}, ["--header", "Cookie: sid=secret"]),
        ({"type": "oauth2", "flows": {}}, ["--header", "Authorization: Bearer secret"]),
    ],
)
def test_curl_has_a_variable_for_each_way_to_sign_in_though_none_is_set(
    cli: Cli, scheme: dict[str, Any], words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RESTGPT_AUTH_KEY")
    paths = {"/x": {"get": {"operationId": "x", "responses": {}}}}
    document = openapi(paths, schemes={"key": scheme}, security=[{"key": []}], servers=[{"url": "http://h.test"}])
    Path("doc.json").write_text(json.dumps(document))
    Path("apis.yaml").write_text("shop: {spec: doc.json, headers: {X-Team: '${TEAM}'}}\n")
    monkeypatch.setenv("TEAM", "red-team-secret")
    plain = shell(cli("call", "x", "--spec", "doc.json", "--curl").out, RESTGPT_AUTH_KEY="secret")
    assert plain[-2:] == words
    monkeypatch.setenv("RESTGPT_AUTH_SHOP_KEY", "me:own-secret")
    named = cli("call", "x", "--api", "shop", "--curl").out
    assert ("red-team" in named, "own-secret" in named) == (False, False)
    found = shell(named, RESTGPT_AUTH_SHOP_KEY="secret", TEAM="blue")
    assert found[-2:] == words
    assert "X-Team: blue" in found


def test_curl_gets_a_body_that_is_no_text(cli: Cli) -> None:
    sent = {"requestBody": {"content": {"application/octet-stream": {}}}, "operationId": "x", "responses": {}}
    Path("doc.json").write_text(json.dumps(openapi({"/x": {"post": sent}}, servers=[{"url": "http://h.test"}])))
    Path("a.bin").write_bytes(b"\xff\x00\x01")
    line = cli("call", "x", "--spec", "doc.json", "body@a.bin", "--curl").out
    assert line.startswith("echo /wAB | base64 -d | curl ")
    assert shell(line)[-2:] == ["--data-binary", "@-"]
    # A terminal would show the bell as an escape.
    Path("a.bin").write_bytes(b"ring\a")
    assert cli("call", "x", "--spec", "doc.json", "body@a.bin", "--curl").out.startswith(
        "echo cmluZwc= | base64 -d | curl "
    )


def test_the_pairs_of_a_question_reach_into_lists_and_can_be_given_back(operation: Operation) -> None:
    args = {
        "path": {"id": "7"},
        "body": {"stops": [{"at": "Rome", "tags": ["a", "b"]}, {"at": "Pisa"}], "odd": {"a.b": 1}},
    }
    shown = pairs_of({"args": args, "description": str(args)})
    words = shlex.split(" ".join(shown))
    assert words[:2] == ["path.id=7", "body.stops.0.at=Rome"]
    assert paired_arguments(operation, [word for word in words if not word.endswith(":=…")]) == {
        "path": {"id": "7"},
        "body": {**args["body"], "odd": {"a.b": 1}},
    }

"""Guards the arguments of the MCP server's tools: a sentence about each wrong one, and nothing is left behind."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from chatserver import ChatServer
from mcpserver import changes, text_of, with_client

from restgpt.graph.persistence import open_persistence
from restgpt.host.named_arguments import MOST_CHARACTERS, MOST_ITEMS, MOST_LONG
from restgpt.recipes.book import RecipeBook
from restgpt.tools.settings import Settings
from restgpt_bench.worlds.server import WorldServer

Opener = Callable[..., Any]

MISSING = object()
FITTING: Mapping[str, Mapping[str, Any]] = {
    "find_operations": {"query": "task", "limit": 3},
    "describe_operation": {"operations": ["get_task"]},
    "read_operation": {"operation": "list_projects", "arguments": {}, "pages": 1},
    "change_operation": {"operation": "create_project", "arguments": {"body": {"name": "Roof"}}, "pages": 1},
    "run_program": {"code": "print(1)", "thread": "program-1"},
    "read_result": {"handle": "s1.x", "pointer": "/a", "page": 1},
    "ask": {"instruction": "Count the tasks."},
    "pending": {"handle": "s1.x"},
    "undo": {"handle": "s1.x"},
    "add_task": {"project": "Winter timetable", "title": "Moss"},
}
OF_TYPE: Mapping[str, list[Any]] = {
    "string": [1.5, [], ["a"], {}, {"a": 1}],
    "integer": [True, "", "one", 1.5, [], {}],
    "object": [False, "", "[]", "{", 7, [], [["a", 1]]],
    "array": ["", {}, [None], [[]], 1.5],
}
OF_OWN: Mapping[str, list[Any]] = {
    "string": [" ", "\n", "a\0b", "\x1b[31mred", "\x85", "x" * (MOST_LONG + 1), "x" * 1_000_000],
    "integer": [0, -1, -(10**30)],
    "object": [],
    "array": [[], [""], ["a\0"], ["x" * (MOST_CHARACTERS + 1)], ["get_task"] * (MOST_ITEMS + 1)],
}


def wrong_values(tool: Any, own: bool) -> Iterator[tuple[str, Any]]:
    """Each argument of a tool with each value that it cannot have."""
    for name, schema in tool.input_schema["properties"].items():
        kind = schema["type"]
        is_required = name in tool.input_schema.get("required", ())
        yield from ((name, value) for value in [*OF_TYPE[kind], *(OF_OWN[kind] if own else [])])
        if is_required:
            yield from ((name, value) for value in [MISSING, None, *([""] if own and kind == "string" else [])])
        if "maximum" in schema:
            yield name, 10**30


def kept() -> list[str]:
    """Everything in the database except the keys of the seals, which a server makes when it is first asked."""
    with open_persistence(Settings.from_env()) as persistence:
        items = persistence.store.search((), limit=10_000)
        threads = [str(item.config) for item in persistence.checkpointer.list(None)]
        named = [f"{item.namespace} {item.key} {item.value}" for item in items if item.namespace[-1] != "keys"]
    return sorted([*named, *threads])


@pytest.mark.slow
def test_wrong_arguments_of_every_tool_get_a_sentence_and_leave_nothing_behind(
    opened: Opener, toy: WorldServer, recipes: RecipeBook, write: Callable[..., ChatServer]
) -> None:
    model = write({"thought": "", "decision": "end", "text": "Nothing.", "fulfilled": True})
    before = kept()
    tried: list[str] = []

    async def use(client: Any) -> None:
        for tool in (await client.list_tools()).tools:
            is_recipe = tool.name == "add_task"
            for name, value in wrong_values(tool, own=not is_recipe):
                given = {**FITTING[tool.name], name: value}
                if value is MISSING:
                    del given[name]
                result = await client.call_tool(tool.name, given)
                told, case = text_of(result), f"{tool.name} {name} {value!r}"[:100]
                assert result.is_error, case
                assert name in told.partition("do not fit:")[2], (case, told)
                assert len(told) < 1_000, case
                tried.append(tool.name)

    with_client(opened(), use)
    assert set(tried) == FITTING.keys()
    assert (kept(), changes(toy), model.requests) == (before, [], [])


@pytest.mark.slow
def test_wrong_places_of_a_direct_tool_get_a_sentence_and_leave_nothing(opened: Opener, toy: WorldServer) -> None:
    before = kept()

    async def use(client: Any) -> None:
        for tool in (await client.list_tools()).tools:
            for name in tool.input_schema["properties"].keys() & {"path", "query", "header", "cookie"}:
                for value in OF_TYPE["object"]:
                    result = await client.call_tool(tool.name, {name: value})
                    told = text_of(result)
                    assert (result.is_error, f"'{name}' must be an object" in told) == (True, True), told

    with_client(opened(is_direct=True), use)
    assert (kept(), list(toy.world.log)) == (before, [])


def test_an_empty_text_for_an_optional_argument_counts_as_none(opened: Opener) -> None:
    async def use(client: Any) -> list[Any]:
        ran = await client.call_tool("run_program", {"code": "print(41 + 1)", "thread": ""})
        return [ran, await client.call_tool("pending", {"handle": ""})]

    ran, pending = with_client(opened(), use)
    assert (ran.is_error, "42" in text_of(ran)) == (False, True)
    assert (pending.is_error, text_of(pending)) == (False, "Nothing waits for a person.")


def test_the_longest_texts_and_lists_are_taken(opened: Opener) -> None:
    async def use(client: Any) -> list[Any]:
        code = "print(1)".ljust(MOST_LONG - 2) + "\t#"
        described = await client.call_tool("describe_operation", {"operations": ["get_task"] * MOST_ITEMS})
        return [await client.call_tool("run_program", {"code": code}), described]

    found = with_client(opened(), use)
    assert [result.is_error for result in found] == [False, False], [text_of(result) for result in found]

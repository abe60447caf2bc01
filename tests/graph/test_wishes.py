"""Guards what a prompt shows of functions that do not all fit, and that each wish for more of them is answered."""

from typing import Any

from board import agent_of
from roles import by_role, end, prompts_of

from restgpt.specs import Api, load_api


def _operation(name: str, summary: str, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "summary": summary, "responses": {"200": {"description": "ok"}}, **more}


def _parameter(name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}


def orchard() -> Api:
    """An API about trees, pickers and baskets among many bolts."""
    graft = {"type": "object", "required": ["pickerId"], "properties": {"note": {}, "pickerId": {"type": "string"}}}
    body = {"required": True, "content": {"application/json": {"schema": graft}}}
    tree = [_parameter("season", "query"), _parameter("treeId", "path")]
    paths: dict[str, Any] = {
        "/trees/{treeId}/grafts": {"post": _operation("graft", "Graft a tree", parameters=tree, requestBody=body)},
        "/trees": {"get": _operation("all_trees", "List trees")},
        "/pickers": {"get": _operation("all_pickers", "List the people who pick")},
        "/baskets": {"get": _operation("all_baskets", "List baskets of the harvest")},
    }
    for number in range(60):
        paths[f"/bolts/b{number}"] = {"get": _operation(f"bolt_{number}", f"Show the tree bolt {number}")}
    document = {"openapi": "3.1.0", "info": {"title": "Orchard", "version": "1"}, "paths": paths}
    return load_api(document, base_url="http://127.0.0.1:9")


def shown(*wishes: str, instruction: str = "Graft the tree Bramley", budget: int = 800) -> list[str]:
    """The functions of the first prompt, and the answer to each wish."""
    replies = [{"thought": "", "decision": "functions", "text": wish} for wish in wishes]
    model = by_role({"express": [*replies, end("No.", fulfilled=False)]})
    context = {"functions_budget": budget, "operations_budget": 400}
    agent_of([orchard()], model, context=context).ask(instruction)
    first, *later = prompts_of(model, "express")
    return [str(first[0].text).partition("# The functions")[2], *(str(prompt[-1].text) for prompt in later)]


def test_what_the_instruction_names_is_shown_in_full_with_what_gives_its_ids() -> None:
    full, _, names = shown()[0].partition("With the names of their arguments only")
    for name in ("graft(treeId*: str, season: str, body*: {pickerId*: str, note: any})", "all_trees(", "all_pickers("):
        assert name in full
        assert name.partition("(")[0] not in names


def test_other_functions_are_shown_with_the_names_of_their_arguments() -> None:
    full, _, names = shown(instruction="Which bolt of a tree is loose?")[0].partition("With the names of")
    assert "graft(" not in full
    assert "\n- graft(treeId*, season, body* {pickerId*, note})" in names


def test_each_wish_for_functions_is_answered() -> None:
    answer = shown("list baskets; list hubs and list the trees")[1]
    assert "\nall_baskets(" in answer
    assert "Nothing fits `list hubs`." in answer
    assert "`list the trees`: all_trees is shown above." in answer


def test_a_wish_that_nothing_fits_names_the_nearest_functions() -> None:
    assert "Nothing fits `list the weather of the picker`" not in shown("list the weather of the picker")[1]
    assert "Nothing fits `create a hub`; nearest: all_pickers." in shown("create a hub")[1]
    assert "Nothing fits `all hubs`; nearest: all_baskets." in shown("all hubs")[1]


def test_the_same_wish_again_shows_further_functions_until_there_are_none() -> None:
    first, second = shown("show the bolt", "Show  the bolt")[1:]
    assert "\nbolt_" in first
    assert "\nbolt_" in second
    assert not {line for line in first.split("\n") if line.startswith("bolt_")} & set(second.split("\n"))
    assert "All functions that fit are shown above." in shown("list baskets", "list baskets")[2]


def test_what_stands_in_brackets_is_no_wish_of_its_own() -> None:
    [_, text] = shown("list the trees (with Date, Size), list baskets")
    assert "Date" not in text.partition("Nothing fits")[2]
    assert "Nothing fits" not in text

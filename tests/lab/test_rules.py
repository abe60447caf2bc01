"""Guards that each rule of an API's owner can be reached: in the first prompt, or when the caller asks for it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.store.memory import InMemoryStore
from roles import end
from scripted import Reply, ScriptedModel

from restgpt.graph.build import build_graph
from restgpt.nodes.dialogue.knowledge import MAX_LOOKS
from restgpt.specs import Api, load_api

CASES = Path(__file__).parents[2] / "lab" / "rules"
LEFT_OUT = re.compile(r"Left out[^:]*: (.*)")


def api_of(case: dict[str, Any]) -> Api:
    """An API as a framework writes it from functions, with the policy as the Markdown of its description."""
    paths = {}
    for name, (summary, fields) in case["operations"].items():
        content = {"application/json": {"schema": {"properties": _typed(fields)}}}
        tool = {"operationId": name, "summary": summary, "requestBody": {"content": content}}
        paths[f"/tools/{name}"] = {"post": {**tool, "responses": {"200": {"description": "OK"}}}}
    policy = "\n\n".join(f"## {heading}\n\n" + "\n\n".join(rules) for heading, rules in case["policy"].items())
    info = {"title": case["title"], "version": "1", "description": f"# Policy\n\n{policy}"}
    return load_api({"openapi": "3.1.0", "info": info, "paths": paths}, base_url="http://127.0.0.1:9")


def _typed(fields: dict[str, str]) -> dict[str, Any]:
    return {name: {"type": kind} for name, kind in fields.items()}


def prompts(case: dict[str, Any], question: str, **context: Any) -> list[str]:
    """The prompts of a caller that asks for the rules on its instruction, then for all sections that are left out."""
    seen: list[str] = []

    def reply(prompt: list[BaseMessage]) -> Reply:
        seen.append("\n".join(str(message.text) for message in prompt))
        named = LEFT_OUT.findall(str(prompt[-1].text)) if len(seen) <= MAX_LOOKS else []
        wish = f"the owner's rules on: {question}" if len(seen) == 1 else "; ".join(named)
        return {"thought": "", "decision": "functions", "text": wish} if wish else end("No.", fulfilled=False)

    graph = build_graph([api_of(case)], model=ScriptedModel(reply), store=InMemoryStore(), context=context)
    graph.invoke({"messages": [("user", question)]})
    return seen


@pytest.mark.parametrize("name", ["airline", "clinic", "phone"])
def test_all_rules_of_a_policy_of_usual_length_are_in_the_first_prompt(name: str) -> None:
    case = json.loads((CASES / f"{name}.json").read_text())
    for question, rules in case["cases"]:
        first = prompts(case, question)[0]
        assert [rule for rule in rules if rule not in first] == []


@pytest.mark.parametrize("name", ["airline", "clinic", "phone"])
def test_each_rule_of_a_policy_that_is_too_long_is_shown_at_first_or_after_asking(name: str) -> None:
    case = json.loads((CASES / f"{name}.json").read_text())
    count = 0
    for question, rules in case["cases"]:
        first, *later = prompts(case, question, rules_budget=200)
        count += sum(rule in first for rule in rules)
        assert [rule for rule in rules if rule not in later[-1]] == []
    assert count >= sum(len(rules) for _, rules in case["cases"]) * 2 / 3

"""Scripts by role: a scripted model that identifies the role by the system message."""

from collections.abc import Iterable, Mapping

from langchain_core.messages import BaseMessage
from scripted import Reply, ScriptedModel

ROLES = {
    "You are the planner": "planner",
    "You fulfil a user's instruction with the functions": "express",
    "You carry out one sub-task": "program",
    "You are the API selector": "selector",
    "You are the caller": "caller",
    "You write Python": "parser",
    "You read one API response": "direct",
    "You fulfil a user's instruction by calling REST APIs, one call": "react",
    "You plan, once and in advance": "offline",
    "You write the final answer": "answer",
    "You fulfil a user's instruction by calling REST APIs. You describe": "deps",
    "You judge whether a trial": "judge",
    "You are an assistant that carries out": "tools",
}


def role_of(prompt: list[BaseMessage]) -> str:
    return next(role for opening, role in ROLES.items() if str(prompt[0].text).startswith(opening))


def by_role(script: Mapping[str, Iterable[Reply]]) -> ScriptedModel:
    """A model whose replies are scripted for each role; a role without replies left is an `AssertionError`.

    Asked whether nothing has to be called, it stands by what it said.
    """
    replies = {role: iter(lines) for role, lines in script.items()}
    said: dict[str, Reply] = {}

    def reply(prompt: list[BaseMessage]) -> Reply:
        role = role_of(prompt)
        if role in said and "but nothing was called" in str(prompt[-1].text):
            return said[role]
        try:
            said[role] = next(replies[role])
            return said[role]
        except (KeyError, StopIteration):
            raise AssertionError(f"nothing scripted for the {role}, who was asked:\n{prompt[-1].text}") from None

    return ScriptedModel(reply)


def prompts_of(model: ScriptedModel, role: str) -> list[list[BaseMessage]]:
    return [prompt for prompt in model.prompts if role_of(prompt) == role]


def plan(text: str) -> Reply:
    return {"thought": "", "decision": "plan", "text": text}


def functions(text: str) -> Reply:
    return {"thought": "", "decision": "functions", "text": text}


def go_on(text: str) -> Reply:
    return {"thought": "", "decision": "continue", "text": text}


def end(text: str, *, fulfilled: bool = True) -> Reply:
    return {"thought": "", "decision": "end", "text": text, "fulfilled": fulfilled}


def program(code: str) -> Reply:
    """Return the planner's decision for a program."""
    return {"thought": "", "decision": "program", "text": code}


def select(*calls: str | tuple[str, list[int]]) -> Reply:
    """Return an API plan; a call is an operation, or an operation and its needs."""
    pairs = [(call, []) if isinstance(call, str) else call for call in calls]
    listed = [{"operation": name, "purpose": f"use {name}", "needs": needs} for name, needs in pairs]
    return {"thought": "", "calls": listed, "answer": ""}


def no_call(answer: str) -> Reply:
    return {"thought": "", "calls": [], "answer": answer}


def call(*arguments: dict[str, object], numbers: list[int] | None = None, **more: object) -> Reply:
    """Return the caller's reply: one request per argument set, for the planned calls `numbers`, or 1, 2, …"""
    numbered = zip(numbers or range(1, len(arguments) + 1), arguments, strict=True)
    listed = [
        {
            "call": number,
            "arguments": given,
            "description": "the answer",
            "output_instruction": "the ids and names",
            **more,
        }
        for number, given in numbered
    ]
    return {"thought": "", "calls": listed, "missing": ""}


def missing(what: str) -> Reply:
    return {"thought": "", "calls": [], "missing": what}


def one_task(*operations: str | tuple[str, list[int]], **script: Iterable[Reply]) -> dict[str, Iterable[Reply]]:
    """A script with one sub-task, for which these operations are selected, and the first called without arguments.

    The script of a role replaces its replies.
    """
    told: dict[str, Iterable[Reply]] = {"planner": [plan("Do it"), end("Done.")], "caller": [call({})]}
    return {**told, "selector": [select(*operations)], **script}

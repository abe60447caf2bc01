"""Guards the words that users and models read: they are those of the field, which CONTRIBUTING.md lists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from cli import command_tree

from restgpt.prompts import names, text_of

ROOT = Path(__file__).parents[2]

PRODUCT = ("restgpt", "graph", "nodes", "tools", "specs")

FORBIDDEN = {
    r"\broads?\b(?!: )": "way, or the setting `road`",
    r"\brooms?\b": "folder or layer; of tokens and bytes, budget or space",
    r"\bstanding\b": "state or outcome",
    r"\banswers? (?:of|from) (?:an? |the |its )?(?:\w+ )?(?:API|server|operation|call|change)s?\b": "response",
    r"\b(?:APIs?|server|operation|call|request)(?:'s|s') (?:\w+ )?answers?\b": "response",
    r"\b(?:headers?|body|fields?|shapes?|size|schemas?) of (?:an |the |one |its |earlier )?answers?\b": "response",
    r"\b(?:got|gets|get|came) no answer\b": "response",
    r"\b(?:the|an|no) answer (?:came|was complete|to (?:a|the|this) (?:call|request))\b": "response",
    r"\bAPI(?:'s|s'|s)? documents?\b|(?<!OpenAPI )\bdocuments? of (?:the|an|its) APIs?\b": "spec, or OpenAPI document",
    r"\bfor whom\b": "the user",
    r"\bhung on\b|\bhangs on\b": "belongs to",
    r"\bcan be undone: ": "Undo:",
    r"\bways? back\b": "undo",
    r"\b(?:or is|are) none\b": "name the case",
    r"\bin some (?:seconds|minutes|hours)\b": "a figure",
}
"""House words as regular expressions, each with what to write instead. Code and commands are not read."""


def found(text: str) -> list[str]:
    """The house words of a text with what to write instead; code, addresses and links are passed over."""
    prose = re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|https?://\S+|<!--.*?-->", " ", text, flags=re.DOTALL)
    prose = re.sub(r"\s+", " ", prose)
    return [
        f"“{match[0]}”: {instead}"
        for pattern, instead in FORBIDDEN.items()
        for match in re.finditer(pattern, prose, re.IGNORECASE)
    ]


def literals(code: str) -> Iterator[tuple[int, str]]:
    """The texts of a module that somebody may read, each with its line: messages, questions, descriptions."""
    tree = ast.parse(code)
    unread = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            unread.update(map(id, node.values))
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unread:
            yield node.lineno, node.value


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """The help of a command and of all commands below it."""
    texts = [command.help, command.short_help, *(getattr(option, "help", "") for option in command.params)]
    yield f"{name} --help", "\n\n".join(filter(None, texts))
    for below in getattr(command, "commands", {}):
        yield from helps(command.get_command(typer.Context(command), below), f"{name} {below}")


def test_no_message_question_or_description_has_a_house_word() -> None:
    modules = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py") if not path.is_symlink()]
    assert len(modules) > 200
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in sorted(set(modules))
        for line, text in literals(path.read_text(encoding="utf-8"))
        if " " in text
        for word in found(text)
    ]
    assert wrong == []


def test_no_prompt_has_a_house_word() -> None:
    assert [f"{name}.md: {word}" for name in names() for word in found(text_of(name))] == []


def test_no_help_of_a_command_has_a_house_word() -> None:
    shown = dict(helps(command_tree(), "restgpt"))
    assert len(shown) > 25
    assert [f"{command}: {word}" for command, text in shown.items() for word in found(text)] == []


def test_no_page_has_a_house_word() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    assert [f"{page.name}: {word}" for page in pages for word in found(page.read_text(encoding="utf-8"))] == []


def test_a_house_word_is_found_in_prose_and_not_in_code() -> None:
    planted = [
        "It takes the same road.",
        "There is no room for it.",
        "The standing of a thread.",
        "It waits for an answer of the API.",
        "The headers of an\nanswer.",
        "The operation's answer is long.",
        "The API's document says so.",
        "The user for whom it is sent.",
        "Nothing that hung on it.",
        "Whether it can be undone: It can be undone.",
        "The server refuses, or is none.",
        "There is no way back.",
        "In some minutes.",
    ]
    assert [text for text in planted if not found(text)] == []
    fine = (
        "The setting `road`, (road: program), [it](the-rooms.md), the OpenAPI document of an API, the agent's answer."
    )
    assert found(fine) == []


def test_a_message_is_read_whole_and_a_docstring_is_not() -> None:
    code = '"""A road."""\n\nraise ValueError(f"an answer " f"of {name}, a room")\n'
    assert [(line, found(text)) for line, text in literals(code) if found(text)] == [
        (3, ["“room”: folder or layer; of tokens and bytes, budget or space"])
    ]

"""Prepare generated Python: extract it from Markdown."""

import ast
import re
import textwrap
from threading import Lock

from restgpt.tools.text.fence import fence_around

UNPARSABLE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError, SystemError)
"""What `ast.parse` raises for code that is wrong, too deep or too large; the last of them by a fault of Python 3.11."""

_STATEMENT = re.compile(r"(?:import|from|def|for|if|with|class) \w|print\(|\w+ = ", re.ASCII)
_BLOCK = re.compile(r"^[ \t]*```([^\n]*)(?:\n|\Z)(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
"""A block between fences; the last one may be unclosed."""

_PYTHON = frozenset({"python", "python3", "py"})


FILENAME = "<code>"

PARSING = Lock()


def syntax_tree(code: str) -> ast.Module:
    """Return the syntax tree of some code; raises what `UNPARSABLE` lists.

    One at a time: Python 3.11 counts the depth of trees that two threads make together, and fails.
    """
    with PARSING:
        return ast.parse(code, FILENAME)


def clean_code(text: str) -> str:
    """Return the Python in a model's reply, without byte order mark, Markdown and common indentation."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    blocks: list[tuple[str, str]] = _BLOCK.findall(text)
    # Statements outside of the fences mean plain code with a fence inside a string, which is not changed.
    if blocks and not any(_STATEMENT.match(line.lstrip()) for line in _BLOCK.sub("", text).split("\n")):
        python = [code for language, code in blocks if language.strip().lower() in _PYTHON]
        text = "\n".join(code.removesuffix("\n") for code in python or [blocks[0][1]])
    return textwrap.dedent(text).rstrip("\n")


def program_code(text: str) -> str:
    """Return a program as the sandbox runs it, so that line numbers are those of the shown code.

    Only a fence around all of it is taken away: a fence inside of other text may be a quotation.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    fence = fence_around(text)
    return textwrap.dedent(text if fence is None else fence.text).rstrip("\n")

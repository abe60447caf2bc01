"""Put inputs into a program in place of the values of its literals, and list the calls and literals that are left.

The host never parses the code of a model: the worker of the sandbox does, without running it, and the report is
untrusted. It is checked here, and the new code is run only as the code of a program is: locked, call by call.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.tools.sandbox.backend import SandboxBackend
from restgpt.tools.sandbox.code import clean_code
from restgpt.tools.sandbox.guest.rewriting import MOST_LITERALS, MOST_SITES
from restgpt.tools.sandbox.result import Limits, SandboxResult, Status
from restgpt.tools.sandbox.runner import run_python

LIMITS = Limits(wall=10.0, cpu=10.0)
"""The limits of one rewriting."""

MOST_CODE = 200_000
"""The maximum number of characters of rewritten code."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """An input and its value in the saved run.

    A number replaces only literals that `keyword` names: an argument, a key of a dict, or a variable whose name is or
    ends with it. A tuple replaces a list or a tuple with exactly its items.
    """

    name: str
    value: str | int | float | tuple[str | int | float, ...]
    keyword: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """A call of a function in the new code.

    `is_repeated` says that it may be made any number of times, or not at all: it is in a loop, a comprehension, a
    function, a condition, the later part of a boolean expression, or a try.
    """

    line: int
    function: str
    is_repeated: bool


@dataclass(frozen=True, slots=True)
class Parametrized:
    """The new code, the names of the inputs in it, its calls, and the texts that are still literals, each once.

    `problem` says why there is no new code: then `code` is the old one, and the rest is empty.
    """

    code: str
    used: frozenset[str] = frozenset()
    sites: tuple[Site, ...] = ()
    literals: tuple[str, ...] = ()
    problem: str = ""


def parametrized(
    code: str,
    replacements: Sequence[Replacement],
    *,
    functions: Collection[str],
    limits: Limits = LIMITS,
    backend: SandboxBackend | None = None,
) -> Parametrized:
    """Return the code with `inputs["name"]` in place of literals that have the value of a replacement.

    `functions` are the names of the functions whose calls are listed. Comments and layout stay as they are.
    """
    cleaned = clean_code(code)
    job = {
        "functions": sorted(functions),
        "replacements": [
            {"name": item.name, "value": _listed(item.value), "keyword": item.keyword} for item in replacements
        ],
    }
    result = run_python(cleaned, json.dumps(job), media="rewriting", limits=limits, backend=backend)
    if not result.payload:
        return Parametrized(cleaned, problem=_problem(result))
    try:
        return _read(result.payload, {item.name for item in replacements}, frozenset(functions))
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        return Parametrized(cleaned, problem=f"The report of the rewritten program cannot be read: {error}.")


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _problem(result: SandboxResult) -> str:
    if result.status is Status.INPUT_TOO_LARGE:
        return "The values of the inputs are too large."
    place = f" on line {result.error.line}" if result.error and result.error.line else ""
    detail = f": {result.error.message}" if result.error and result.error.message else ""
    return f"The program cannot be parsed{place}{detail or f' ({result.status})'}."


def _read(payload: str, names: Collection[str], functions: Collection[str]) -> Parametrized:
    """Return the report of the worker if it has the agreed form. Raises ValueError, TypeError or KeyError."""
    report = json.loads(payload)
    code, used, sites, literals = (report[key] for key in ("code", "used", "sites", "literals"))
    if not isinstance(code, str) or len(code) > MOST_CODE:
        raise ValueError("its code is no text, or too long")
    code.encode()  # lone surrogates raise ValueError
    if not _are_texts(used, len(names)) or not set(used) <= set(names):
        raise ValueError("it uses other inputs")
    if not isinstance(sites, list) or len(sites) > MOST_SITES or not _are_texts(literals, MOST_LITERALS):
        raise ValueError("its lists are no lists, or too long")
    "".join(literals).encode()
    lines = code.count("\n") + 1
    return Parametrized(code, frozenset(used), tuple(_site(item, lines, functions) for item in sites), tuple(literals))


def _are_texts(value: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(isinstance(item, str) for item in value)


def _site(item: Any, lines: int, functions: Collection[str]) -> Site:
    line, function, is_repeated = item
    if type(line) is not int or not 0 < line <= lines or function not in functions or type(is_repeated) is not bool:
        raise ValueError("it names a call that cannot be")
    return Site(line, function, is_repeated)

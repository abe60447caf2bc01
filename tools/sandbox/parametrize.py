"""Put inputs into a program in place of the values of its literals, and list its literals.

The host never parses the code of a model: the worker of the sandbox does, without running it, and the report is
untrusted. It is checked here, and the new code is run only as the code of a program is: locked, call by call.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.tools.sandbox.code import program_code
from restgpt.tools.sandbox.result import Limits, SandboxResult, Status
from restgpt.tools.sandbox.runner import run_python

LIMITS = Limits(wall=10.0, cpu=10.0)
"""The limits of one rewriting."""

MOST_CODE = 200_000
"""The maximum number of characters of rewritten code."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """An input and its value in the saved run; with `keyword` it replaces only literals of this name."""

    name: str
    value: str | int | float | tuple[str | int | float, ...]
    keyword: str = ""


@dataclass(frozen=True, slots=True)
class Parametrized:
    """The new code, the names of the inputs in it, and what the old code says.

    `literals` are its texts, numbers and lists of these with the names of their places: an argument, a key, a variable,
    a compared field, or none. `words` may be names of fields that it reads. `is_constant` says that it prints no value,
    `takes_one` that it takes items of lists by their places. `problem` says why there is no new code.
    """

    code: str
    used: frozenset[str] = frozenset()
    literals: tuple[tuple[str, Any], ...] = ()
    words: frozenset[str] = frozenset()
    is_constant: bool = False
    takes_one: bool = False
    problem: str = ""


def parametrized(code: str, replacements: Sequence[Replacement], *, limits: Limits = LIMITS) -> Parametrized:
    """Return the code with `inputs["name"]` in place of literals that have the value of a replacement."""
    cleaned = program_code(code)
    job = [{"name": item.name, "value": _listed(item.value), "keyword": item.keyword} for item in replacements]
    result = run_python(cleaned, json.dumps(job), media="rewriting", limits=limits)
    if not result.payload:
        return Parametrized(cleaned, problem=_problem(result))
    try:
        return _read(result.payload, frozenset(item.name for item in replacements))
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


def _read(payload: str, names: frozenset[str]) -> Parametrized:
    """Return the report of the worker if it has the agreed form. Raises ValueError, TypeError or KeyError."""
    payload.encode()  # lone surrogates raise ValueError
    report = json.loads(payload)
    code, literals = report["code"], tuple((name, value) for name, value in report["literals"])
    if not isinstance(code, str) or len(code) > MOST_CODE:
        raise ValueError("its code is no text, or too long")
    used, words = frozenset(report["used"]), frozenset(report["words"])
    if not used <= names or not all(isinstance(item, str) for item in (*words, *(name for name, _ in literals))):
        raise ValueError("its lists are none")
    values = [inner for _, value in literals for inner in (value if isinstance(value, list) else [value])]
    if not all(isinstance(value, str | int | float) and not isinstance(value, bool) for value in values):
        raise ValueError("its literals are none")
    return Parametrized(code, used, literals, words, report["is_constant"] is True, report["takes_one"] is True)

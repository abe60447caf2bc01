"""Sweeps over many cases: `make test` runs a few of them, `make test-all` every one."""

from collections.abc import Iterable
from typing import Any

import pytest


def few(cases: Iterable[Any], keep: int = 6) -> list[Any]:
    """Return all cases; `keep` of them, spread evenly from the first to the last, are quick, and the others slow."""
    found = list(cases)
    quick = {number * (len(found) - 1) // max(1, keep - 1) for number in range(keep)}
    return [case if number in quick else _slow(case) for number, case in enumerate(found)]


def _slow(case: Any) -> Any:
    """Mark a case, which may be a tuple of arguments or have marks already."""
    if isinstance(case, tuple) and hasattr(case, "marks"):
        return case._replace(marks=[*case.marks, pytest.mark.slow])  # type: ignore[attr-defined]
    return pytest.param(*(case if type(case) is tuple else (case,)), marks=pytest.mark.slow)

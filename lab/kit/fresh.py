"""Runs a function in a process of its own, whose time and memory are those of the function."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def fresh(function: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Return what a function returns in a new process, which has imported nothing but its module."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *args, **kwargs).result()

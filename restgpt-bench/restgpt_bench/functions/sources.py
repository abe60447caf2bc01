"""Sources of functions for training: Python packages, command lines, REST documents, files of documentation."""

import argparse
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal

from restgpt.functions.docs.function import Function, FunctionError
from restgpt.functions.docs.loading import load_functions
from restgpt.functions.docs.sources import from_callable, from_parser

Kind = Literal["python", "command line", "rest", "documentation"]


@dataclass(frozen=True, slots=True)
class SourcedFunction:
    """A function with the kind and the name of the source that documents it."""

    function: Function
    kind: Kind
    source: str


def read_sources(names: list[str]) -> list[SourcedFunction]:
    """Read functions from `python:PACKAGE`, `argparse:MODULE:NAME`, and files; a bare name is a file.

    A file is an OpenAPI document or function documentation. Raises `FunctionError` naming the source that cannot be
    read.
    """
    return [found for name in names for found in _read_source(name)]


def _read_source(name: str) -> Iterator[SourcedFunction]:
    scheme, colon, rest = name.partition(":")
    if colon and scheme == "python":
        for function in functions_of(_module(rest)):
            yield SourcedFunction(function, "python", name)
    elif colon and scheme == "argparse":
        for function in from_parser(_parser(rest)):
            yield SourcedFunction(function, "command line", name)
    else:
        for function in load_functions(Path(name)):
            yield SourcedFunction(function, "rest" if function.is_rest else "documentation", Path(name).name)


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise FunctionError("", f"python:{name} cannot be imported: {error}") from None


def functions_of(module: ModuleType) -> Iterator[Function]:
    """The public, documented functions of a module that take arguments by name."""
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    for name in names:
        target = getattr(module, name, None)
        if not callable(target) or inspect.isclass(target) or not inspect.getdoc(target):
            continue
        try:
            function = from_callable(target, name=f"{module.__name__}.{name}")
        except FunctionError:
            continue
        if function.parameters:
            yield function


def _parser(name: str) -> argparse.ArgumentParser:
    """The parser that an attribute of a module is, or that it makes when it is called."""
    module, _, attribute = name.partition(":")
    found = getattr(_module(module), attribute, None)
    if callable(found) and not isinstance(found, argparse.ArgumentParser):
        found = found()
    if not isinstance(found, argparse.ArgumentParser):
        raise FunctionError("", f"argparse:{name} is no ArgumentParser and makes none")
    return found

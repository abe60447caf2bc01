"""Loading functions: from a file, text or data in any documented dialect, or from an OpenAPI document."""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from restgpt.specs.api import Api, load_api
from restgpt.specs.reading.yaml_events import read_yaml
from restgpt_functions.docs.dialects import read_function
from restgpt_functions.docs.function import Function, FunctionError
from restgpt_functions.docs.operations import from_operations

LITERAL_CHARS = 1_000_000

# The key with the version at the beginning of an OpenAPI document.
_OPENAPI = re.compile(rb"(?:^|[\"'])(?:openapi|swagger)[\"']?\s*:\s*[\"']?\d", re.MULTILINE)

Source = str | Path | bytes | Mapping[str, Any] | Iterable[Any]


def load_functions(source: Source, *, base_url: str | None = None) -> list[Function]:
    """Read functions from a path, text, data or an OpenAPI document, for which `base_url` may replace its server.

    Text is JSON, JSON lines, YAML, or the Python literals of the published training file. Raises `FunctionError`
    naming the field that cannot be read.
    """
    if isinstance(source, Path):
        try:
            data = source.read_bytes()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise FunctionError("", f"{source.name} cannot be read: {reason}") from None
        return _loaded(load_api(source, base_url=base_url)) if _OPENAPI.search(data, 0, 65536) else load_functions(data)
    if isinstance(source, str | bytes):
        return _from_text(source)
    if isinstance(source, Mapping):
        if "openapi" in source or "swagger" in source:
            return _loaded(load_api(source, base_url=base_url))
        listed = next((key for key in ("functions", "tools", "Functions") if isinstance(source.get(key), list)), "")
        return _from_list(source[listed], f"/{listed}") if listed else _from_entry(source, "")
    return _from_list(source, "")


def _loaded(api: Api) -> list[Function]:
    return from_operations(api.operations)


def _from_list(entries: Iterable[object], pointer: str) -> list[Function]:
    return [function for at, entry in enumerate(entries) for function in _from_entry(entry, f"{pointer}/{at}")]


def _from_entry(entry: object, pointer: str) -> list[Function]:
    if isinstance(entry, Function):
        return [entry]
    if isinstance(entry, str):
        entry = _literal(entry, pointer)
    if isinstance(entry, Mapping) and isinstance(inner := entry.get("function"), list):
        return [read_function(one, pointer=f"{pointer}/function/{at}") for at, one in enumerate(inner)]
    return [read_function(entry, pointer=pointer)]


def _from_text(source: str | bytes) -> list[Function]:
    if isinstance(source, str) and "\n" not in source and len(source) < 4096 and Path(source).is_file():
        return load_functions(Path(source))
    try:
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else source.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise FunctionError("", f"the documentation is not UTF-8 text: {error.reason}") from None
    data = _parsed(text)
    if isinstance(data, Mapping | list):
        return load_functions(data)
    raise FunctionError("", "no function documentation: expected JSON, JSON lines or YAML with functions")


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise FunctionError("", "the documentation is nested too deeply") from None
    except json.JSONDecodeError as error:
        reason = f"not valid JSON: {error.msg} at line {error.lineno}"
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.lstrip().startswith(("{", "[")) for line in lines):
        return [_literal(line, f"/{number}") for number, line in enumerate(lines)]
    if text.lstrip().startswith(("{", "[")):
        raise FunctionError("", reason)
    try:
        return read_yaml(text, [])
    except (yaml.YAMLError, ValueError) as error:
        raise FunctionError("", f"neither JSON nor YAML: {getattr(error, 'problem', None) or 'unreadable'}") from None


def _literal(text: str, pointer: str) -> object:
    """A function written as JSON or as the representation of a Python dict, read without evaluation."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        pass
    try:
        return ast.literal_eval(text[:LITERAL_CHARS].strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise FunctionError(pointer, "neither JSON nor a Python literal") from None

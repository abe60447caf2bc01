"""Guards the modules that the worker of a program gets: few, in an order in which they load, without the package."""

import json
import subprocess
import sys

import pytest

from restgpt.tools.sandbox.code import given_modules, modules_for
from restgpt.tools.sandbox.result import Media

# Defines the modules as the worker does, in an interpreter without the package, and prints what they imported of it.
DEFINING = """
import json, marshal, sys
from types import ModuleType
given, compiled = json.loads(sys.stdin.read())
for name, text in given.items():
    module = sys.modules[name] = ModuleType(name)
    raw = bytes.fromhex(text)
    exec(marshal.loads(raw) if compiled else compile(raw, name, "exec"), module.__dict__)
print(sorted(set(sys.modules) & {"restgpt", "typing", "random", "hashlib", "dataclasses"}))
"""
EVERYTHING = "gather(rows(1), field(2), table(3))"


def short(code: str, media: str) -> list[str]:
    return [name.rpartition(".")[2] for name in given_modules(code, media, compiled=True)]  # type: ignore[arg-type]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("media", ["program", "rewriting"])
def test_the_given_modules_load_without_the_package_and_import_nothing_slow(media: Media, compiled: bool) -> None:
    given = given_modules(EVERYTHING, media, compiled=compiled)
    sent = json.dumps([{name: raw.hex() for name, raw in given.items()}, compiled])
    base = str(getattr(sys, "_base_executable", sys.executable))
    done = subprocess.run([base, "-I", "-S", "-B", "-c", DEFINING], input=sent, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_a_replay_gets_only_the_modules_that_its_words_need() -> None:
    assert short("print(get(1))", "replay") == ["digest", "determinism", "replay"]
    assert short("print(rows(get(1)))", "replay") == ["digest", "determinism", "replay", "library"]
    assert short("gather(get(1))", "replay") == ["digest", "determinism", "replay", "gather"]
    assert "check" in short("print(1)", "program")


def test_code_over_data_gets_no_module() -> None:
    assert given_modules(EVERYTHING, "json", compiled=True) == {}


def test_the_standard_modules_that_a_function_of_the_library_imports_are_loaded() -> None:
    assert "csv" in modules_for("table(x)", "replay")
    assert "difflib" in modules_for("one(x)", "replay")
    assert "csv" not in modules_for("rows(x)", "replay")


def test_names_outside_ascii_can_be_compiled() -> None:
    assert "unicodedata" in modules_for("größe = 1", "replay")

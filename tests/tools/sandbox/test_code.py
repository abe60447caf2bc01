"""Guards the preparation of model-written code: its extraction from Markdown and the list of its imports."""

import pytest

from restgpt.tools.sandbox.code import CORE, OFFERED, clean_code, missing_module, modules_for, needs_zones


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("print(1)", "print(1)"),
        ("\ufeffprint(1)\r\nprint(2)", "print(1)\nprint(2)"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("```\nprint(1)\n```\n", "print(1)"),
        ("```py\nprint(1)", "print(1)"),
        ("Here is the code:\n\n```Python\nprint(1)\n```\nIt prints 1.", "print(1)"),
        ("```json\n{}\n```\n```python\nprint(1)\n```", "print(1)"),
        ("```python\na = 1\n```\nand then\n```python\nprint(a)\n```", "a = 1\nprint(a)"),
        ("    a = 1\n    print(a)", "a = 1\nprint(a)"),
        ("text = '''\n```\ncode\n```\n'''\nprint(text)", "text = '''\n```\ncode\n```\n'''\nprint(text)"),
        ("  \n\n", ""),
        ("```python\n```", ""),
    ],
)
def test_code_is_taken_out_of_its_markdown(reply: str, code: str) -> None:
    assert clean_code(reply) == code


@pytest.mark.parametrize("unit", ["```\n", "\n", " ", "```python\n`", "import\n", "`", "```x\n\n"])
def test_hostile_markdown_is_read_in_one_pass(unit: str) -> None:
    clean_code(unit * (65536 // len(unit)))


def test_modules_are_found_by_the_words_of_the_code() -> None:
    found = modules_for("from statistics import mean\nimport xml.etree.ElementTree as ET\nprint('csv')")
    assert {"statistics", "xml", "xml.etree.ElementTree", "csv"} <= set(found)
    assert "decimal" not in found


def test_nothing_but_offered_modules_is_loaded() -> None:
    found = modules_for("import subprocess, socket, asyncio, multiprocessing, numpy, antigravity, restgpt")
    assert found == ()
    assert {name.partition(".")[0] for name in CORE if not name.startswith("_")} <= OFFERED | {"encodings"}


def test_only_known_modules_are_loaded_after_a_failed_import() -> None:
    assert missing_module("No module named 'statistics'") == "statistics"
    assert missing_module("No module named '_strptime'") == "_strptime"
    assert missing_module("No module named 'email.headerregistry'") == "email.headerregistry"
    for name in ("antigravity", "subprocess", "_not_a_module", "../x", "os;rm", "", "x" * 100):
        assert missing_module(f"No module named '{name}'") == ""


def test_time_zones_are_read_for_code_that_names_them() -> None:
    assert needs_zones("from zoneinfo import ZoneInfo")
    assert not needs_zones("from datetime import timezone")

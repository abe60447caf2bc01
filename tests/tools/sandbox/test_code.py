"""Guards the preparation of model-written code: its extraction from Markdown and the list of its imports."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from restgpt.tools.sandbox import library
from restgpt.tools.sandbox.code import clean_code, syntax_tree


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


def test_many_threads_parse_at_once() -> None:
    source = Path(library.__file__).read_text(encoding="utf-8")
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(syntax_tree, [source] * 60))
    assert {len(tree.body) for tree in trees} == {len(trees[0].body)}

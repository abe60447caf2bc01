"""JSONPath: the nodes that RFC 9535 names, and faults with their place."""

from typing import Any

import pytest

from restgpt.recipes.arazzo import flow
from restgpt.recipes.arazzo.jsonpath import Path, PathError

STORE: Any = {
    "books": [
        {"title": "Sayings", "price": 8, "tags": ["old"]},
        {"title": "Moby", "price": 9, "isbn": "0-1", "tags": []},
        {"title": "Rings", "price": 22, "isbn": "0-2"},
    ],
    "limit": 10,
    "odd name": {"'": 1},
}


def nodes(path: str, data: Any = STORE) -> Any:
    """What the code of a path finds, as in a program."""
    return eval(Path([path]).code, vars(flow))(data)


def values(path: str, data: Any = STORE) -> list[Any]:
    return [value for _, value in nodes(path, data)]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [STORE]),
        ("$.limit", [10]),
        ("$['odd name']['\\'']", [1]),
        ('$["limit", "none"]', [10]),
        ("$.books[0].title", ["Sayings"]),
        ("$.books[-1].title", ["Rings"]),
        ("$.books[9]", []),
        ("$.books[0:2].price", [8, 9]),
        ("$.books[::-1].price", [22, 9, 8]),
        ("$.books[::0].price", []),
        ("$.books[*].isbn", ["0-1", "0-2"]),
        ("$..price", [8, 9, 22]),
        ("$..[1].title", ["Moby"]),
        ("$.books[?@.isbn].price", [9, 22]),
        ("$.books[?!@.isbn].price", [8]),
        ("$.books[?@.price < $.limit && @.price != 8].title", ["Moby"]),
        ("$.books[?(@.price > 20 || @.title == 'Moby')].price", [9, 22]),
        ("$.books[?length(@.title) == 5].title", ["Rings"]),
        ("$.books[?count(@.tags[*]) == 1].price", [8]),
        ("$.books[?value(@..isbn) == '0-1'].price", [9]),
        ("$.books[?match(@.isbn, '0-.')].price", [9, 22]),
        ("$.books[?search(@.title, 'in')].title", ["Sayings", "Rings"]),
        ("$.books[?@.missing == @.absent].price", [8, 9, 22]),
        ("$[?@ == 10]", [10]),
    ],
)
def test_a_path_finds_its_nodes(path: str, found: list[Any]) -> None:
    assert values(path) == found


def test_true_is_not_one_and_texts_are_not_numbers() -> None:
    assert values("$[?@ == 1]", [True, 1, 1.0, "1"]) == [1, 1.0]
    assert values("$[?@ < 2]", [True, 1, "1"]) == [1]


def test_the_place_of_a_node_is_told() -> None:
    assert [place for place, _ in nodes("$.books[-1].price")] == [("books", 2, "price")]


def test_a_path_to_one_node_is_recognised() -> None:
    assert Path(["$.a['b'][0]"]).is_singular
    assert not Path(["$.a[*]"]).is_singular
    assert not Path(["$..a"]).is_singular


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("$.", "'$.' is not understood: expected a shorthand selector"),
        ("$[?@.* == 1]", "is not understood: non-singular query is not comparable"),
        ("$[?sum(@.a) > 1]", "is not understood: function 'sum' is not defined"),
        ("$[?@.a <> 1]", "has @['a'] <> 1, which RFC 9535 does not have"),
        ("$[?match(@.a, '\\\\p{Lu}')]", "classes such as \\p{Lu}: not supported"),
        ("$[9007199254740992]", "is not understood: index out of range"),
        ("$[1e400]", "has a number that is not understood"),
        ("$[?@.a == 1e400]", "has a number that is not understood"),
        ("$[?:1.5]", "has a number that is not understood"),
        ("$" + "[?@" * 30 + "]" * 30, "is nested too deeply"),
        ("$[?" + "(" * 500 + "@.a" + ")" * 500 + "]", "maximum recursion depth exceeded"),
        ("$" + ".a" * 3000, "longer than 4000 characters"),
    ],
)
def test_a_fault_is_told(path: str, said: str) -> None:
    with pytest.raises(PathError) as caught:
        Path([path])
    assert said in str(caught.value)


def test_deep_data_does_not_end_the_search() -> None:
    data: Any = {"a": 1}
    for _ in range(3_000):
        data = [data]
    assert values("$..a", data) == [1]

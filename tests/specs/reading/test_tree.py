"""Guards the walks over JSON values: everything is found, in order, at any depth, with its path."""

from typing import Any

from restgpt.specs.reading.tree import places_in, values_in

TREE: Any = {"a": [1, {"b": None}], "c": "x"}


def test_every_place_is_found_in_the_order_of_the_value() -> None:
    paths = [(), ("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("c",)]
    values = [TREE, TREE["a"], 1, {"b": None}, None, "x"]
    assert [(tuple(path), value) for path, value in places_in(TREE)] == [*zip(paths, values, strict=True)]
    assert [*places_in(5)] == [([], 5)]


def test_every_value_is_found_behind_the_one_that_holds_it() -> None:
    found = list(values_in(TREE))
    assert found[0] is TREE
    assert len(found) == 6
    assert found.index(TREE["a"]) < found.index(1)
    assert [*values_in("abc")] == ["abc"]


def test_deep_nesting_is_walked() -> None:
    tree: Any = 1
    for _ in range(20_000):
        tree = [tree]
    assert sum(1 for _ in values_in(tree)) == 20_001
    assert max(len(path) for path, _ in places_in(tree)) == 20_000

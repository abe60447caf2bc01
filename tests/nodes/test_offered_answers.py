"""Guards the answers of earlier programs that a run gets: as many as the sandbox can hold, and every change."""

from typing import Any

from restgpt.nodes.programs.calls import offered
from restgpt.tools.sandbox.result import Entry


def answer(key: str, size: int, *, position: str = "", safe: bool = True) -> tuple[Any, Entry]:
    return {"safe": safe}, Entry(position, key, "digest", "answer", 200, {}, "text", b"x" * size)


def test_answers_that_fit_are_all_offered() -> None:
    given = [answer("a", 40), answer("b", 60, position="0")]
    assert offered(given, most=100) == [entry for _, entry in given]


def test_a_read_that_does_not_fit_is_made_again() -> None:
    assert [entry.key for entry in offered([answer("a", 90), answer("b", 20), answer("c", 10)], most=100)] == ["a", "c"]


def test_a_change_that_does_not_fit_is_offered_without_its_body() -> None:
    [entry] = offered([answer("a", 200, safe=False)], most=100)
    assert (entry.key, entry.given, entry.media, entry.body) == ("a", "answer", "empty", b"")


def test_the_answers_of_the_program_itself_come_first() -> None:
    kept = offered([answer("earlier", 50), answer("own", 80, position="0")], most=100)
    assert [entry.key for entry in kept] == ["own"]

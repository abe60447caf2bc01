"""Guards runs against hostile answers: each takes bounded CPU time and memory, and ends with an answer or an error."""

import sys

import pytest

from lab.hostile.answers import MOST_CPU_S, MOST_MEMORY, SECRET, cost_of, hostile_answers, read_answer

FULL = [
    "8 MB of JSON Lines with one digit each",
    "8 MB of JSON Lines that are announced as JSON",
    "an array of 20 million zeros",
    "an array of 10 million empty objects",
    "an object of 10^6 names",
    "10 MB of escaped percent signs",
    "pages of 8 MB without an end",
    "a Link header of 60 kB of spaces",
    "a header of 60 kB of question marks",
]


def test_the_answers_have_different_names() -> None:
    names = [answer.name for answer in hostile_answers()]
    assert len(names) >= 30
    assert len(set(names)) == len(names)
    assert set(FULL) <= set(names)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured with /proc")
@pytest.mark.parametrize("answer", hostile_answers(), ids=lambda answer: answer.name)
def test_a_small_hostile_answer_ends_with_words(answer: object) -> None:
    cost = read_answer(answer, 0.001)  # type: ignore[arg-type]
    assert cost.endings
    assert all(cost.endings)
    assert SECRET not in " ".join(cost.endings)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured with /proc")
@pytest.mark.parametrize("name", FULL)
def test_a_hostile_answer_is_bounded(name: str) -> None:
    cost = cost_of(name)
    # Other work may slow this process down.
    assert cost.cpu < 3 * MOST_CPU_S, cost
    assert cost.memory < MOST_MEMORY, cost

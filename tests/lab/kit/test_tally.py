"""Guards the sums of tallies: counts and lists add up, and the longest time stays."""

from dataclasses import dataclass, field

from lab.kit.tally import Sum


@dataclass(slots=True)
class Tally(Sum):
    trials: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


def test_tallies_of_lanes_add_up_and_keep_the_longest_time() -> None:
    lanes = [Tally(2, ["lost a"], 3.0), Tally(1, ["lost b"], 5.0), Tally(4, [], 1.0)]
    assert sum(lanes, Tally()) == Tally(7, ["lost a", "lost b"], 5.0)

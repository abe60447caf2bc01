"""Guards tallies: counts and lists add up, the longest time stays, and what goes wrong is said."""

from collections import Counter

from lab.kit.tally import Tally, in_lanes, tallied


def test_tallies_of_lanes_add_up_and_keep_the_longest_time() -> None:
    lanes = [Tally(Counter(runs=2), ["lost a"], 3.0), Tally(Counter(runs=1), ["lost b"], 5.0), Tally()]
    assert in_lanes(3, lanes.__getitem__) == Tally(Counter(runs=3), ["lost a", "lost b"], 5.0)


def test_what_goes_wrong_in_a_trial_is_said_once() -> None:
    said: list[str] = []

    def run(trial: int, tally: Tally) -> None:
        tally.wrong += [f"lost {trial}"] * (trial == 3)

    tally = tallied(range(12), run, say=said.append)
    assert (tally["trials"], tally.wrong) == (12, ["lost 3"])
    assert said == ["lost 3", "  10 trials"]

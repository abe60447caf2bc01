"""Guards the table of scores: a row for each suite and road, with means."""

from lab.kit.drive import spent
from lab.scores import LOOP, OURS, table


def test_a_row_has_what_was_done_and_the_mean_costs() -> None:
    role = {"calls": 1, "input_tokens": 1000, "output_tokens": 10}
    usage = {"roles": {"caller": role, "planner": role}, "requests": 3}
    costs = [{**spent(usage), "seconds": 0.5}, {**spent(None), "seconds": 1.5}]
    scores = [("toy", OURS, True, costs[0]), ("toy", OURS, False, costs[1]), ("toy", LOOP, True, costs[0])]
    assert list(table(scores)) == [
        "| tasks | by | done | model calls | input tokens | output tokens | requests | seconds |",
        "|---|---|---|---|---|---|---|---|",
        "| toy | RestGPT | 1 of 2 | 1.00 | 1,000 | 10 | 1.50 | 1.00 |",
        "| toy | `create_agent` | 1 of 1 | 2.00 | 2,000 | 20 | 3.00 | 0.50 |",
    ]

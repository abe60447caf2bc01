"""What is run of each suite: all pairs in three modes with a form each in turn, and a sample of them in every form."""

import logging
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from lab.injection.bed import Bed, installed
from lab.injection.reader import FORMS
from lab.injection.run import MODES, Outcome, run

SAMPLE = 40
"""How many pairs are run in every form."""


Job = tuple[str, str, bool, Sequence[tuple[int, str]]]
"""Suite, mode, whether all functions are posted, and the runs: number of a pair, below 0 no attack, and form."""


def pairs(suite: Any) -> list[tuple[Any, Any]]:
    """Return all pairs of a task and an injection."""
    return list(product(suite.user_tasks.values(), suite.injection_tasks.values()))


def jobs(suites: Sequence[str]) -> Iterator[Job]:
    """Yield what is to be run, the longest first."""
    counts = {name: len(pairs(installed()[name])) for name in suites}
    for name, mode, is_posted in product(sorted(suites, key=lambda one: -counts[one]), MODES, (False, True)):
        every = [(number, FORMS[number // 2 % len(FORMS)]) for number in range(counts[name]) if number % 2 == is_posted]
        sample = range(0, counts[name], max(1, sum(counts.values()) // SAMPLE)) if mode in ("ask", "allow") else ()
        forms = [(number, form) for number in sample for form in FORMS if (number + FORMS.index(form)) % 2 == is_posted]
        yield name, mode, is_posted, list(dict.fromkeys([*(every if mode != "allow" else ()), *forms]))
        if not is_posted:
            yield name, mode, False, [(-1 - n, FORMS[0]) for n in range(len(installed()[name].user_tasks))]


def done(job: Job) -> list[Outcome]:
    """Carry out a job."""
    logging.disable(logging.CRITICAL)
    name, mode, is_posted, runs = job
    bed, found = Bed(name, is_posted=is_posted), []
    tasks = list(bed.suite.user_tasks.values())
    with bed.served():
        for number, form in runs:
            task, injection = pairs(bed.suite)[number] if number >= 0 else (tasks[-1 - number], None)
            found.append(run(bed, mode, task, injection, form))
    return found

"""Guards the repetition of programs: each run of a program draws the same random numbers from its seed."""

from restgpt.tools.sandbox.program import run_program

DRAW = """
import random, secrets, uuid
print(random.random(), random.randrange(10**9), random.Random().random(), secrets.token_hex(4), uuid.uuid4())
"""


def _drawn(seed: str) -> str:
    run = run_program(DRAW, stubs=[], names=[], entries=[], clock=1e9, seed=seed, most=1, check="")
    assert run.kind == "finished", run.problem
    return run.result.output


def test_a_program_draws_the_same_random_numbers_in_each_run() -> None:
    assert _drawn("a seed") == _drawn("a seed")


def test_another_seed_gives_other_random_numbers() -> None:
    assert _drawn("a seed") != _drawn("another")

"""Runs the tests of programs in each sandbox that runs programs."""

import pytest


@pytest.fixture(autouse=True)
def each_sandbox(sandbox: str) -> None:
    """Run the test in both sandboxes, unless it is marked `cpython`."""

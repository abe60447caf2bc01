"""Fixtures of the graph's tests."""

from collections.abc import Iterator

import pytest
from board import Board, served_board


@pytest.fixture
def board() -> Iterator[Board]:
    with served_board() as served:
        yield served

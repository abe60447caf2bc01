"""The team board on which the baselines run."""

from collections.abc import Iterator

import pytest
from board import Board, served_board


@pytest.fixture
def board() -> Iterator[Board]:
    with served_board() as board:
        yield board

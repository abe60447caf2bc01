"""Guards notices: that a list goes on is told unless its first page was all that was wanted."""

from typing import Any

import pytest

from restgpt.calling.execution import FIRST_PAGE
from restgpt.calling.record import Request
from restgpt.nodes.state.results import notices_of

OTHER = "the response differs from its documented schema at /items"


def request(wanted: str, pages: int = 1, result: str = "", **query: Any) -> Request:
    made: dict[str, Any] = {
        "arguments": {"query": query},
        "pages": pages,
        "output_instruction": wanted,
        "result": result,
        "response": {"notices": [OTHER, FIRST_PAGE]},
    }
    return made  # type: ignore[return-value]


@pytest.mark.parametrize(
    "found",
    [
        request("the id of the movie Dune", query="Dune"),
        request("the newest films", per_page=5),
        request("the id of the first task"),
        request("the id of the list 'Friday films'", result="The list Friday films has id 7."),
    ],
)
def test_a_call_that_wanted_few_items_is_not_told_that_the_list_goes_on(found: Request) -> None:
    assert notices_of(found) == [OTHER]


@pytest.mark.parametrize(
    "found",
    [
        request("the ids of the tasks"),
        request("all movies named Dune", query="Dune"),
        request("how many films there are", limit=5),
        request("the ids of the films", limit=100),
        request("the id of the list 'Friday films'", result="There is no such list."),
        request("the id of the first task", pages=2),
    ],
)
def test_any_other_call_is_told_that_the_list_goes_on(found: Request) -> None:
    assert notices_of(found) == [OTHER, FIRST_PAGE]

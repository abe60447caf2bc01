"""Guards that a recipe stops where its guards cannot see what the program read."""

from typing import Any, cast

import pytest

from restgpt.nodes.programs.guard import Guard, told
from restgpt.tools.sandbox.program import ProgramRun
from restgpt.tools.sandbox.result import SandboxResult, Status


@pytest.mark.parametrize("kind", ["calls", "finished"])
def test_a_trace_that_was_cut_stops_a_recipe(kind: Any) -> None:
    guard = Guard(cast(Any, None), cast(Any, None), cast(Any, None), cast(Any, None))
    found = guard.of_answers([], ProgramRun(kind, SandboxResult(Status.PAUSED, ""), is_cut=True))
    assert "more fields than the trace holds" in told(found)

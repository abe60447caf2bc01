"""The caller: writes what is called, as a program or as the arguments of single requests (paper, section 3.3)."""

from collections.abc import Callable
from typing import Any

from restgpt.nodes.arguments import next_requests, without_requests
from restgpt.nodes.instruction import whole_instruction
from restgpt.nodes.programs.program import may_write
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.rounds import is_closed, of_round
from restgpt.nodes.state.state import State
from restgpt.nodes.sub_task import sub_task_program
from restgpt.tools.model.errors import UsedUpError


def make_caller(*, programs: bool = True) -> Callable[[Run, State], dict[str, Any]]:
    """Make the caller; without `programs` it writes the arguments of calls whatever the run's setting is."""

    def caller(run: Run, state: State) -> dict[str, Any]:
        if programs and state["decision"]["kind"] == "program":
            return whole_instruction(run, state)
        if is_closed(state):
            return {}
        requests = of_round(state)
        if programs and may_write(run, state):
            try:
                return sub_task_program(run, state)
            except UsedUpError as error:
                return without_requests(run, state, requests, f"No program was written. {error}")
        return next_requests(run, state, requests)

    return caller

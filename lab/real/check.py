"""Checks the judges of a server's tasks: the gold calls pass; nothing done, a wrong answer and a wrong change fail."""

from collections.abc import Iterator

from lab.real.server import Running, Server
from lab.real.state import State
from lab.real.task import Task


def check_task(server: Server, running: Running, task: Task) -> list[str]:
    """Return what is wrong with the judge of a task; raises `ServerError` if a gold call fails."""
    http = running.http
    server.reset(http)
    before = server.state(http)
    for call in task.gold:
        http.send(call)
    after = server.state(http)
    http.send(server.mischief)
    return [f"{task.name}: {line}" for line in _findings(task, before, after, server.state(http))]


def _findings(task: Task, before: State, after: State, disturbed: State) -> Iterator[str]:
    """Yield the faults of a judge, given the states before and after the gold calls, and after a change too many."""
    right, wrong = task.right, task.wrong
    if not task.faults(before, before, ""):
        yield "a run that does nothing passes"
    if task.expected(before) != before and not task.faults(before, before, right):
        yield "the right answer passes without the change"
    if faults := task.faults(before, after, right):
        yield f"the gold calls fail: {'; '.join(faults)}"
    if wrong != right and not task.faults(before, after, wrong):
        yield f"the answer {wrong!r} passes"
    if not task.faults(before, disturbed, right):
        yield "a change too many passes"

"""Checks the judges of a server's tasks: the gold calls pass; nothing done, a wrong answer and a wrong change fail."""

from collections.abc import Iterator, Sequence

from restgpt.bench.real.http import Call
from restgpt.bench.real.server import Running, Server
from restgpt.bench.real.task import Task


def check_task(server: Server, running: Running, task: Task) -> list[str]:
    """Return what is wrong with the judge of a task; raises `ServerError` if a gold call fails."""
    return list(_findings(server, running, task))


def _findings(server: Server, running: Running, task: Task) -> Iterator[str]:
    server.reset(running.http)
    before = server.state(running.http)
    right, wrong = task.right(before), task.wrong(before)
    if not task.faults(before, before, ""):
        yield f"{task.name}: a run that does nothing passes"
    if task.expected(before) != before and not task.faults(before, before, right):
        yield f"{task.name}: the right answer passes without the change"
    if faults := _faults_after(server, running, task, task.gold, right):
        yield f"{task.name}: the gold calls fail: {'; '.join(faults)}"
    if wrong != right and not _faults_after(server, running, task, task.gold, wrong):
        yield f"{task.name}: the answer {wrong!r} passes"
    if not _faults_after(server, running, task, (*task.gold, server.mischief), right):
        yield f"{task.name}: a change too many passes"


def _faults_after(server: Server, running: Running, task: Task, calls: Sequence[Call], answer: str) -> list[str]:
    """Return the faults of a run that makes some calls on the seeded server."""
    server.reset(running.http)
    before = server.state(running.http)
    for call in calls:
        running.http.send(call)
    return task.faults(before, server.state(running.http), answer)

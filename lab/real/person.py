"""Decides about requests as a careful person would: approves what the task wants, and rejects everything else."""

from dataclasses import dataclass
from typing import Any

from lab.real.http import Http
from lab.real.server import Server, sent_of
from lab.real.state import State
from lab.real.task import Task

REFUSAL = "I did not ask for this change."


@dataclass(slots=True)
class Person:
    """The user of one run, and a count of the decisions on changes and on reads."""

    server: Server
    task: Task
    http: Http
    before: State
    approved: int = 0
    rejected: int = 0
    reads: int = 0

    def decide(self, action: dict[str, Any]) -> dict[str, Any]:
        """Return the decision about one action of a question."""
        sent = sent_of(action["request"], self.http)
        if self.server.only_reads(sent):
            self.reads += 1
            return confirmed_read(action)
        effects = self.server.effects(sent, self.http)
        if effects and all(self.task.wants(effect, self.before) for effect in effects):
            self.approved += 1
            return {"type": "approve"}
        self.rejected += 1
        return {"type": "reject", "message": REFUSAL}


def confirmed_read(action: dict[str, Any]) -> dict[str, Any]:
    """Return the decision on a request that only reads.

    If the question offers to confirm its operation as a read, it is that decision, else an approval.
    """
    offered = action.get("effect") or {}
    return dict(offered.get("confirm") or {"type": "approve"})

"""Records of benchmark tasks, made by hand: a task of two gold calls, correct unless a test changes it."""

from collections.abc import Mapping, Sequence
from typing import Any

from restgpt_bench.restbench.record import GoldCall, Record, RunSettings, SubTask

FIND, READ, CHANGE, OTHER = "GET /search", "GET /songs/{song_id}", "PUT /likes", "GET /charts"
NAMES = {"find": FIND, "read": READ, "change": CHANGE, "other": OTHER}


def entry(operation: str, status: int = 200, **sent: Any) -> dict[str, Any]:
    """An entry of the world's log; `sent` is its path, query or body."""
    return {"path": "", "query": {}, "body": None, **sent, "status": status, "covers": [operation]}


def plan(*names: str) -> dict[str, Any]:
    """An API plan of some operations."""
    return {"calls": [{"operation": name, "purpose": "", "needs": []} for name in names], "reason": ""}


def request(name: str, status: int = 200, result: str = "", *, state: str = "parsed") -> dict[str, Any]:
    """A request of the trajectory."""
    return {"operation": name, "status": state, "response": {"status": status} if status else {}, "result": result}


def record(
    *,
    key: str = "1",
    gold: Sequence[str] = (FIND, READ),
    alternatives: Sequence[Sequence[str]] = (),
    log: Sequence[Mapping[str, Any]] | None = None,
    plans: Sequence[Mapping[str, Any]] | None = None,
    requests: Sequence[Mapping[str, Any]] | None = None,
    speaks_of: Sequence[str] = (FIND, READ, CHANGE),
    flows: Mapping[str, tuple[Any, ...]] | None = None,
    **more: Any,
) -> Record:
    """Return a record; the defaults are those of a run that made the two reads and answered wrongly."""
    log = [entry(FIND), entry(READ, path="/songs/s17")] if log is None else log
    plans = [plan("find"), plan("read")] if plans is None else plans
    requests = (
        [request("find", result="The id is s17"), request("read", result="blue")] if requests is None else requests
    )
    flows = {READ: ("s17",)} if flows is None else flows
    given: dict[str, Any] = {
        "success": False,
        "why": "not as wanted",
        "answer": "red",
        "told": True,
        "usage": {"roles": {"planner": {"calls": 3, "input_tokens": 300, "output_tokens": 30}}},
        "wall_s": 2.0,
        "cpu_s": 0.5,
        "offered": 40,
        **more,
    }
    return Record(
        key=key,
        instruction="What colour is the song?",
        gold=tuple(gold),
        paths=(tuple(gold), *map(tuple, alternatives)),
        calls=tuple(GoldCall(step, {}, flows.get(step, ())) for step in gold),
        log=log,
        steps=[{"api_plan": plan(), "requests": list(requests), "result": ""}],
        plans=plans,
        hints=[],
        operations=NAMES,
        subtasks=tuple(SubTask("a sub-task", (operation,)) for operation in speaks_of),
        **given,
    )


def settings(**given: Any) -> RunSettings:
    """The settings of a run over the toy suite."""
    return RunSettings(**{"suite": "dev-toy", "method": "restgpt", "model": "scripted:perfect", **given})

"""Faults on purpose: rules that make a simulated API fail now and then, the same way for the same seed."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any


class FaultKind(StrEnum):
    """The ways in which a request can fail."""

    STATUS = "status"  # an error status in the API's own style; nothing is done
    SLOW = "slow"  # the right reply, `seconds` later
    RESET = "reset"  # the connection breaks; with `applied`, only after the work was done
    MALFORMED = "malformed"  # the right status with a body that is not JSON
    TRUNCATED = "truncated"  # the connection ends in the middle of the body
    MEDIA_TYPE = "media_type"  # JSON announced as text/html


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule: what goes wrong, for which requests.

    A rule counts the requests to `operation` ("METHOD /template"; None: all). It strikes from the `nth` of them on
    (1-based), `times` times (None: for ever), each time with `probability`. `seconds` is the delay of a slow reply;
    `retry_after` is sent as Retry-After (seconds, or an HTTP date as text) with an error status.
    """

    kind: FaultKind = FaultKind.STATUS
    operation: str | None = None
    nth: int = 1
    times: int | None = 1
    probability: float = 1.0
    status: int = 500
    retry_after: float | str | None = None
    seconds: float = 1.0
    applied: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Fault":
        """Read a rule from a JSON object; raises ValueError on an unknown field or kind."""
        unknown = set(data) - {item.name for item in fields(cls)}
        if unknown:
            raise ValueError(f"a fault has no field {', '.join(sorted(unknown))}")
        return cls(**{**data, "kind": FaultKind(data.get("kind", FaultKind.STATUS))})

    def to_json(self) -> dict[str, Any]:
        """The rule as a JSON object, as `from_json` reads it."""
        return asdict(self)


class FaultPlan:
    """The rules in force, with the counts of their requests and strikes; the first rule that strikes decides."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed
        self.replace(())

    def replace(self, faults: Iterable[Fault]) -> None:
        """Put new rules in force and begin to count again."""
        self._faults = tuple(faults)
        self._seen = [0] * len(self._faults)
        self._struck = [0] * len(self._faults)
        self._random = random.Random(f"faults {self._seed}")

    def strike(self, operation: str | None) -> Fault | None:
        """Count a request to `operation` and return the fault that it meets, if any."""
        hit: Fault | None = None
        for index, fault in enumerate(self._faults):
            if fault.operation not in (None, operation):
                continue
            self._seen[index] += 1
            if hit is None and self._is_due(index, fault):
                self._struck[index] += 1
                hit = fault
        return hit

    def _is_due(self, index: int, fault: Fault) -> bool:
        if self._seen[index] < fault.nth or (fault.times is not None and self._struck[index] >= fault.times):
            return False
        return fault.probability >= 1 or self._random.random() < fault.probability

"""The weights of the ranking, learned on instructions for eleven documents by `lab.weights`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each sign counts; scores are multiplied by `exp` of the weights from `path` to `unasked`."""

    synonym: float = 0.5
    person: float = 2.0
    clause: float = 0.288
    path: float = 0.75
    last: float = 0.16
    title: float = 0.32
    similar: float = 0.3
    does: float = 0.5
    asked: float = 0.375
    other: float = 0.147
    unasked: float = 1.6
    flow: float = 0.75
    kept: float = 0.4
    changed: float = 0.7
    named: float = 1.2
    repeated: float = 0.85


WEIGHTS = Weights()

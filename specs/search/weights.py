"""The weights of the ranking, learned on instructions for eight documents by `restgpt.lab.weights`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each sign counts; scores are multiplied by `exp` of the weights from `path` to `deprecated`."""

    synonym: float = 0.4
    person: float = 2.0
    clause: float = 0.18
    vector: float = 0.5
    path: float = 0.6
    last: float = 0.2
    title: float = 0.32
    similar: float = 0.24
    asked: float = 0.3
    elsewhere: float = 0.15
    other: float = 0.184
    unasked: float = 0.8
    deprecated: float = 0.2
    flow: float = 0.75
    kept: float = 0.4
    named: float = 1.2
    repeated: float = 0.85


WEIGHTS = Weights()

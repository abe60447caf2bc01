"""The weights of the ranking, learned on instructions for eight documents by `restgpt.bench.retrieval.learn`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each sign counts; scores are multiplied by `exp` of the weights from `path` to `deprecated`."""

    synonym: float = 0.4
    person: float = 0.98
    clause: float = 0.147
    vector: float = 0.5
    path: float = 0.6
    last: float = 0.196
    title: float = 0.28
    similar: float = 0.21
    asked: float = 0.28
    elsewhere: float = 0.118
    other: float = 0.245
    unasked: float = 0.5
    deprecated: float = 0.2
    flow: float = 0.75
    kept: float = 0.28
    named: float = 1.2
    repeated: float = 0.85


WEIGHTS = Weights()

"""The allowance of a run: between which APIs values may go, by a person's answers and by the choices made so far."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from restgpt.calling.record import CallRecord, FlowRecord

MOST_CHOICES = 16
"""How many choices calls to one API may make unasked in one run after another API has answered."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a run may send between APIs: the pairs that a person allowed or refused, and the choices made so far.

    A pair is the id of the API that answered and the id of the one that gets its values. `choices` has the number of
    choices of each pair, `made` what was chosen.
    """

    granted: frozenset[tuple[str, str]] = frozenset()
    refused: frozenset[tuple[str, str]] = frozenset()
    choices: Mapping[tuple[str, str], int] = field(default_factory=dict)
    made: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def after(self, record: CallRecord) -> "Allowance":
        """The allowance after a call of the run; a call that is only drafted or held changes nothing."""
        flow, api = record.get("flow"), record.get("api")
        if flow is None or api is None or not is_counted(record):
            return self
        granted = {(source, api["id"]) for source in flow.get("granted", ())}
        refused = {(source, api["id"]) for source in flow.get("refused", ())}
        pairs = [(source, api["id"]) for source in flow["read"]]
        return Allowance(
            granted=self.granted | granted,
            refused=self.refused | refused,
            choices={**self.choices, **{pair: self.choices.get(pair, 0) + self.cost(flow, pair) for pair in pairs}},
            made={**self.made, **{pair: self.made.get(pair, frozenset()) | set(flow["choices"]) for pair in pairs}},
        )

    def cost(self, flow: FlowRecord, pair: tuple[str, str]) -> int:
        """How many choices of a pair a call makes: its arguments that no earlier call had too, and at least itself.

        What was chosen before the API of the pair had answered, or for another API, is chosen anew.
        """
        return max(1, len(set(flow["choices"]) - self.made.get(pair, frozenset())))

    def asked(self, flow: FlowRecord | None, api: str, allowed: Collection[str], *, lets_words: bool) -> set[str]:
        """The APIs whose values a call to `api` may send only after a person was asked.

        `allowed` are those that the settings let through, and with `lets_words` they let through what a model wrote.
        """
        if flow is None or flow.get("is_decided"):
            return set()
        may_come = {*flow["carried"], *(() if lets_words else flow["worded"])}
        pairs = [(source, api) for source in flow["read"]]
        may_come |= {pair[0] for pair in pairs if self.choices.get(pair, 0) + self.cost(flow, pair) > MOST_CHOICES}
        return {source for source in may_come if source not in allowed and (source, api) not in self.granted}


def is_counted(record: CallRecord) -> bool:
    """Whether a call counts for the allowance of its run; one that is only drafted or held does not."""
    return record["status"] not in ("planned", "held")


def joined(before: FlowRecord | None, flow: FlowRecord) -> FlowRecord:
    """Return one flow that counts at least as much as two flows to the same API, in bounded space.

    More than `MOST_CHOICES` choices count alike, so no more are kept.
    """
    if before is None:
        before = {"read": {}, "carried": [], "worded": [], "choices": []}
    given, added = before["choices"], [choice for choice in flow["choices"] if choice not in before["choices"]]
    # A call without a new choice counts as one, so it gets a name that no digest has.
    choices = [*given, *(added or [f"call {len(given)}"])][: MOST_CHOICES + 1]
    both: FlowRecord = {
        "read": {**before["read"], **flow["read"]},
        "carried": sorted({*before["carried"], *flow["carried"]}),
        "worded": sorted({*before["worded"], *flow["worded"]}),
        "choices": choices,
        "is_decided": True,
    }
    both["granted"] = sorted({*before.get("granted", ()), *flow.get("granted", ())})
    both["refused"] = sorted({*before.get("refused", ()), *flow.get("refused", ())})
    return both


def is_by_choices(flow: FlowRecord, asked: Collection[str]) -> bool:
    """Whether a call needs a person only because too many choices were made before."""
    return not {*flow["carried"], *flow["worded"]} & set(asked)

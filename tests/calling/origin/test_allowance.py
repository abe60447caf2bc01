"""Guards the allowance of a run: pairs that a person allowed or refused, and the number of choices."""

from typing import Any, cast

from restgpt.calling.origin.allowance import MOST_CHOICES, Allowance
from restgpt.calling.record import CallRecord, FlowRecord


def flow(*choices: str, **more: Any) -> FlowRecord:
    given = {"read": {"a": "A"}, "carried": [], "worded": [], "choices": list(choices), **more}
    return cast(FlowRecord, given)


def call(told: FlowRecord, status: str = "sent", api: str = "b") -> CallRecord:
    return cast(CallRecord, {"status": status, "flow": told, "api": {"id": api, "name": api.upper()}})


def asked(allowance: Allowance, told: FlowRecord, api: str = "b", *allowed: str, lets_words: bool = False) -> set[str]:
    return allowance.asked(told, api, allowed, lets_words=lets_words)


def test_more_choices_than_the_bound_are_asked_about() -> None:
    allowance = Allowance()
    for number in range(MOST_CHOICES):
        assert asked(allowance, flow(str(number))) == set()
        allowance = allowance.after(call(flow(str(number))))
    assert asked(allowance, flow("another")) == {"a"}
    assert asked(allowance, flow("another"), "c") == set()


def test_all_choices_of_one_call_count_and_repeated_ones_only_once() -> None:
    many = flow(*map(str, range(MOST_CHOICES)))
    assert asked(Allowance(), many) == set()
    assert asked(Allowance(), flow(*map(str, range(MOST_CHOICES + 1)))) == {"a"}
    assert Allowance().after(call(flow("limit", "x"))).cost(flow("limit", "y"), ("a", "b")) == 1


def test_what_was_chosen_before_an_api_answered_or_for_another_one_is_chosen_anew() -> None:
    many = flow(*map(str, range(MOST_CHOICES + 1)), granted=["a"])
    made = Allowance().after(call(many)).after(call({**many, "read": {"a": "A", "c": "C"}}, api="d"))
    later = flow(*many["choices"], read={"a": "A", "c": "C"})
    assert asked(made, later) == {"c"}


def test_a_call_without_arguments_is_a_choice_too() -> None:
    allowance = Allowance()
    for _ in range(MOST_CHOICES):
        allowance = allowance.after(call(flow()))
    assert asked(allowance, flow()) == {"a"}


def test_calls_that_were_not_sent_are_no_choices() -> None:
    allowance = Allowance()
    for status in ("planned", "held"):
        allowance = allowance.after(call(flow("x"), status))
    assert allowance == Allowance()


def test_what_a_person_said_counts_for_its_own_pair() -> None:
    granted = Allowance().after(call(flow(granted=["a"])))
    assert asked(granted, flow(carried=["a"])) == set()
    assert asked(granted, flow(carried=["a"]), "c") == {"a"}
    assert Allowance().after(call(flow(refused=["a"]), "rejected")).refused == {("a", "b")}


def test_settings_let_one_api_or_the_models_words_through() -> None:
    assert asked(Allowance(), flow(carried=["a"]), "b", "a") == set()
    assert asked(Allowance(), flow(worded=["a"]), lets_words=True) == set()
    assert asked(Allowance(), flow(carried=["a"]), lets_words=True) == {"a"}

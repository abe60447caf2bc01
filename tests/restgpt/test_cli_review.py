"""Guards decisions on waiting requests: only a person's answers or options decide."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli import TOY

from restgpt.commands.agent_run import how_to_decide
from restgpt.commands.review import Verdict, ask_person, pending_text
from restgpt.commands.terminal import Terminal, UsageError
from restgpt.outcome import Pending
from restgpt.specs import load_api

ALL = ["approve", "edit", "reject", "respond"]
ACTION = {"name": "create_project", "args": {"body": {"name": "Moss"}}, "description": "POST /projects\nWhy: asked"}
PAUSE = Pending("one", (ACTION,), {"create_project": ALL})
APPROVED = {"type": "approve"}
FIND = load_api(TOY).operation


class Typed(Terminal):
    """A terminal that answers questions in order from a list; its input ends after the last."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.questions: list[str] = []
        self.said: list[str] = []
        self.opened: list[str] = []
        self.saved: str | None = None
        self._answers = iter(answers)

    def ask(self, question: str) -> str:
        self.questions.append(question)
        return next(self._answers, "")

    def say(self, text: str) -> None:
        self.said.append(text)

    @property
    def editor(self) -> str:
        return "" if self.saved is None else "an editor"

    def edit(self, text: str) -> str | None:
        self.opened.append(text)
        return self.saved


def decided(*answers: str, pause: Pending = PAUSE) -> tuple[object, Typed]:
    terminal = Typed(*answers)
    return ask_person(terminal, [pause], FIND), terminal


@pytest.mark.parametrize("said", ["y", "x"])
def test_only_the_offered_letters_decide(said: str) -> None:
    decision, terminal = decided(said, "l")
    assert decision is None
    assert len(terminal.questions) == 2


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        (["a"], APPROVED),
        (["r", "wrong name"], {"type": "reject", "message": "wrong name"}),
        (["w", "use Fern"], {"type": "respond", "message": "use Fern"}),
        # An empty edit goes back to the question.
        (["e", "", "a"], APPROVED),
        # So does a choice of the next ones, of which none can be permitted.
        (["n", "a"], APPROVED),
        # The end of the input leaves it for later.
        ([], None),
    ],
)
def test_what_is_typed_decides(typed: list[str], decision: Any) -> None:
    found, terminal = decided(*typed)
    assert found == (decision and {"one": {"decisions": [decision]}})
    assert "POST /projects\nWhy: asked" in terminal.said[0]
    assert "[n]ext" not in terminal.questions[0]


def test_an_edit_that_is_not_json_is_asked_again() -> None:
    decision, terminal = decided("e", "{", "e", "[" * 5000, "e", '{"body": {"name": "Fern"}}')
    edited = {"type": "edit", "edited_action": {"name": "create_project", "args": {"body": {"name": "Fern"}}}}
    assert decision == {"one": {"decisions": [edited]}}
    assert any("not JSON" in said for said in terminal.said)
    assert any("nested too deeply" in said for said in terminal.said)


def test_pairs_change_some_of_the_arguments_that_wait() -> None:
    action = {**ACTION, "args": {"body": {"name": "Moss", "owner": "Ada", "parts": {"a": 1}}}}
    pause = replace(PAUSE, actions=(action,))
    decision, terminal = decided("e", "owner='Bo B.", "e", "body.owner='Bo B.' body.parts.b:=2", pause=pause)
    edited = {"name": "Moss", "owner": "Bo B.", "parts": {"a": 1, "b": 2}}
    args = {"name": "create_project", "args": {"body": edited}}
    assert decision == {"one": {"decisions": [{"type": "edit", "edited_action": args}]}}
    assert "No closing quotation" in "".join(terminal.said)
    assert Verdict(edit=["body.owner=Bo B.", "body.parts.b:=2"]).answers([pause], FIND) == decision
    assert action["args"]["body"]["owner"] == "Ada"
    with pytest.raises(UsageError, match="has no argument colour"):
        Verdict(edit=["colour=red"]).answers([PAUSE], FIND)


def test_the_command_that_edits_shows_the_arguments_as_pairs_but_no_long_one_and_no_credential() -> None:
    body = {"name": "Bo's tea", "note": "x" * 90, "due": None, "key": "hunter2", "of": "a  b"}
    shown = {"url": "/projects/7", "body": {**body, "due": "null", "key": "[redacted]"}}
    action = {**ACTION, "args": {"path": {"id": 7}, "body": body}, "request": shown}
    [line] = [line for line in how_to_decide("t", [replace(PAUSE, actions=(action,))]).splitlines() if "--edit" in line]
    pairs = ["path.id:=7", "body.name=Bo's tea", "body.note:=…", "body.due:=null", "body.key:=…", "body.of:=…"]
    assert shlex.split(line)[3:] == [word for pair in pairs for word in ("--edit", pair)]
    with pytest.raises(UsageError, match="not JSON"):
        Verdict(edit=["body.key:=…"]).answers([PAUSE], FIND)
    plain = {**ACTION, "args": {"path": {"id": 7}}, "request": {"url": "/projects/7"}}
    [line] = [
        line for line in how_to_decide("t", [replace(PAUSE, actions=(plain, action))]).splitlines() if "--edit" in line
    ]
    assert shlex.split(line)[3:] == ["--edit", '[{"path": {"id": 7}}, {…}]']
    assert "--edit" not in how_to_decide("t", [replace(PAUSE, allowed={"create_project": ["approve"]})])


def test_with_an_editor_the_arguments_are_edited_as_yaml() -> None:
    terminal = Typed("e", "e", "a")
    terminal.saved = "# A note.\nbody:\n  name: Fern\n  due: 2026-12-01\n"
    edited = {"name": "create_project", "args": {"body": {"name": "Fern", "due": "2026-12-01"}}}
    assert ask_person(terminal, [PAUSE], FIND) == {"one": {"decisions": [{"type": "edit", "edited_action": edited}]}}
    assert terminal.opened[0].endswith("\nbody:\n  name: Moss\n")
    terminal = Typed("e", "a")
    terminal.saved = "- a list"
    assert ask_person(terminal, [PAUSE], FIND) == {"one": {"decisions": [APPROVED]}}
    assert "must be one object" in terminal.said[-1]


def test_what_a_question_leaves_out_and_what_each_key_does_is_told_on_demand() -> None:
    detailed = {**ACTION, "details": "Headers: none"}
    program = {"code": "make()", "calls": [{"line": 1}]}
    decision, terminal = decided("v", "?", "l", pause=Pending("one", (detailed,), {"create_project": ALL}, program))
    assert decision is None
    assert "Headers: none" not in terminal.said[0]
    assert "Headers: none" in terminal.said[1]
    assert "→   1 │ make()" in terminal.said[1]
    assert [line[:1] for line in terminal.said[2].splitlines()] == ["a", "e", "r", "w", "v", "l"]


def test_a_view_is_offered_only_where_something_is_left_out() -> None:
    _, terminal = decided("v", "?", "l")
    assert "v is none of these keys; ? explains them." in terminal.said[-2]
    assert ["[v]iew" in terminal.questions[0], "\nv  " in terminal.said[-1], len(terminal.said)] == [False, False, 3]


def test_one_undecided_request_leaves_all_for_later() -> None:
    both = Pending("one", (ACTION, ACTION), {"create_project": ALL})
    assert decided("o", "a", "l", pause=both)[0] is None
    assert decided("l", pause=both)[0] is None
    assert decided("o", "a", "a", pause=both)[0] == {"one": {"decisions": [APPROVED, APPROVED]}}


def test_only_allowed_decisions_are_offered() -> None:
    narrow = Pending("one", (ACTION,), {"create_project": ["approve", "reject"]})
    decision, terminal = decided("e", "r", "no", pause=narrow)
    assert decision == {"one": {"decisions": [{"type": "reject", "message": "no"}]}}
    assert "[e]dit" not in terminal.questions[0]


def test_flags_decide_for_every_pause() -> None:
    other = Pending("two", (ACTION,), {"create_project": ALL})
    answers = Verdict(reject="no").answers([PAUSE, other], FIND)
    assert answers == {name: {"decisions": [{"type": "reject", "message": "no"}]} for name in ("one", "two")}


def test_several_edits_are_a_list_in_order() -> None:
    both = Pending("one", (ACTION, ACTION), {"create_project": ALL})
    answers = Verdict(edit=['[{"body": {"name": "A"}}, {"body": {"name": "B"}}]']).answers([both], FIND)
    assert [item["edited_action"]["args"]["body"]["name"] for item in answers["one"]["decisions"]] == ["A", "B"]
    with pytest.raises(UsageError, match="list of 2 objects"):
        Verdict(edit=["{}"]).answers([both], FIND)


def test_a_flag_that_is_not_allowed_is_refused() -> None:
    narrow = Pending("one", (ACTION,), {"create_project": ["approve", "reject"]})
    with pytest.raises(UsageError, match="--edit"):
        Verdict(edit=["{}"]).answers([narrow], FIND)


def test_no_flag_is_no_decision_and_an_empty_reason_is_one() -> None:
    assert not Verdict().is_given
    assert Verdict(reject="").is_given


def test_what_waits_is_told_in_the_words_of_the_payload() -> None:
    assert pending_text([PAUSE]) == "POST /projects\nWhy: asked"


CONFIRMED = {"type": "approve", "only_reads": True}
READ = {**ACTION, "effect": {"kind": "read", "reason": "its path ends in find", "confirm": CONFIRMED}}


def test_a_read_is_confirmed_only_where_that_is_offered() -> None:
    pause = Pending("one", (READ,), {"create_project": ALL})
    decision, terminal = decided("o", pause=pause)
    assert decision == {"one": {"decisions": [CONFIRMED]}}
    assert "it [o]nly reads" in terminal.questions[0]
    decision, terminal = decided("o", "l")
    assert decision is None
    assert "it [o]nly reads" not in terminal.questions[0]


def test_several_waiting_requests_are_numbered_through_all_pauses() -> None:
    pauses = [PAUSE, Pending("two", (ACTION,), {"create_project": ALL})]
    numbered = [line for line in pending_text(pauses).splitlines() if line.startswith("Request ")]
    assert numbered == ["Request 1 of 2.", "Request 2 of 2."]
    terminal = Typed("a")
    answers = ask_person(terminal, pauses, FIND)
    assert ["Request 1 of 2." in terminal.said[0], "Request 2 of 2." in terminal.said[0]] == [True, True]
    assert terminal.questions[0].startswith("Approve [a]ll 2, decide [o]ne by one")
    assert answers == {name: {"decisions": [APPROVED]} for name in ("one", "two")}


def test_the_arguments_that_a_person_may_edit_are_marked_as_foreign_text() -> None:
    hostile = {**ACTION, "args": {"body": {"name": "x" * 90 + "\u2028Approve: it is safe."}}}
    terminal = Typed("e", "", "l")
    ask_person(terminal, [Pending("one", (hostile,), {"create_project": ALL})], FIND)
    [said] = [text for text in terminal.said if text.startswith("The arguments are:")]
    assert all(line.startswith(("    │ ", "    ┆ ")) for line in said.splitlines()[2:])


def test_the_editor_gets_the_arguments_as_a_file_and_a_broken_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "editor.py"
    script.write_text("import sys\nwith open(sys.argv[1], 'a') as file:\n    file.write('b: 2\\n')\n")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    assert Terminal().edit("a: 1\n") == "a: 1\nb: 2\n"
    monkeypatch.setenv("EDITOR", f"{sys.executable} -c pass")
    assert Terminal().edit("a: 1\n") is None
    monkeypatch.setenv("EDITOR", "no-such-editor")
    assert Terminal().edit("a: 1\n") is None
    assert "The editor no-such-editor could not be used" in capsys.readouterr().err


OFFER = {
    "free": {"/body/title": {"from": "user"}, "/body/seats": {"from": "get_seats", "field": "/data/*/free", "most": 4}},
    "lines": {
        "/body/title": "body.title: any value you said",
        "/body/seats": "body.seats: any value that you said, or data.free of get_seats",
    },
    "times": 10,
    "hours": 24.0,
    "others": [
        {"differs": {"/body/title": "Fern"}, "outside": []},
        {"differs": {"/body/seats": 9}, "outside": ["/body/seats"]},
    ],
    "of": 3,
}
PERMITTING = Pending("one", ({**ACTION, "permit": OFFER},), {"create_project": ALL})


def test_the_next_ones_are_permitted_after_it_was_shown_which_these_would_have_been() -> None:
    decision, terminal = decided("n", "1", "3", "", "y", pause=PERMITTING)
    wish = {"free": ["/body/title"], "times": 3, "hours": 24.0}
    assert decision == {"one": {"decisions": [{"type": "approve", "permit": wish}]}}
    told = "\n".join(terminal.said)
    assert "  1  body.title: any value you said\n  2  body.seats: any value that you said, or" in told
    assert "It would have covered 1 of the 3 other requests of this operation in the thread" in told
    assert "permit 3 such requests for 24 hours" in terminal.questions[-1]


def test_a_number_that_is_none_is_asked_for_again() -> None:
    decision, terminal = decided("n", "3", "x", "1", "many", "3", "[1]", "", "y", pause=PERMITTING)
    wish = {"free": ["/body/title"], "times": 3, "hours": 24.0}
    assert decision == {"one": {"decisions": [{"type": "approve", "permit": wish}]}}
    told = [said for said in terminal.said if "is no number" in said or "Give numbers" in said]
    assert told == [*["Give numbers from 1 to 2."] * 2, "'many' is no number.", "'[1]' is no number."]


@pytest.mark.parametrize(
    "said",
    [["3"], ["x"], ["1", "many"], ["1", "[1]"], ["", "b"], ["", "", "b"], ["", "", '"a"'], ["", "", "", "n"], []],
)
def test_nothing_is_permitted_by_half(said: list[str]) -> None:
    assert decided("n", *said, pause=PERMITTING)[0] is None

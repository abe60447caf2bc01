"""Guards results: they are bounded and printable, and their feedback has the error and a hint."""

import pytest

from restgpt.tools.sandbox.result import CodeError, Limits, SandboxResult, Status, printable, result_of, shorten


def test_good_output_is_its_own_feedback_and_only_space_is_none() -> None:
    assert result_of(Status.OK, b"42\n", Limits()).feedback() == "42\n"
    assert result_of(Status.OK, b" \n\n", Limits()).status is Status.NO_OUTPUT


def test_feedback_names_error_line_output_and_hint() -> None:
    error = CodeError("KeyError", "'titel'", 3, "print(m['titel'])")
    shape = "a dict with the keys 'title'"
    text = SandboxResult(Status.RUNTIME_ERROR, "first\n", error, shape=shape).feedback()
    assert text.splitlines() == [
        "The code failed on line 3: KeyError: 'titel'",
        "    print(m['titel'])",
        "Output before that:",
        "first",
        "Hint: `data` is a dict with the keys 'title'.",
    ]


def test_feedback_names_what_python_before_3_12_does_not_read_in_an_f_string() -> None:
    error = CodeError("SyntaxError", "f-string: unmatched '['", 1, "print(f'{a['b']}')")
    assert "the other quotes" in SandboxResult(Status.SYNTAX_ERROR, error=error).feedback()
    plain = CodeError("SyntaxError", "invalid syntax", 1, "Here it is:")
    assert "no prose" in SandboxResult(Status.SYNTAX_ERROR, error=plain).feedback()


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_words(status: Status) -> None:
    told = (Status.SYNTAX_ERROR, Status.RUNTIME_ERROR, Status.IMPORT_ERROR)
    assert "failed (" not in SandboxResult(status).feedback() or status in told
    assert SandboxResult(status).ok is (status is Status.OK)


def test_long_output_keeps_head_and_tail_and_stays_text() -> None:
    printed = b"a" + "é".encode() * 30_000 + b"z"
    result = result_of(Status.OK, printed, Limits())
    assert result.truncated
    assert (result.output[:2], result.output[-2:]) == ("aé", "éz")
    assert "21810 characters left out" in result.output
    assert len(result.output) < 8192 + 60
    assert shorten("abc", 3) == ("abc", False)


def test_output_cut_inside_a_character_stays_text() -> None:
    result = result_of(Status.OUTPUT_LIMIT, "é".encode() * 10, Limits(output=5))
    assert (result.output, result.truncated) == ("éé\ufffd", True)


def test_terminal_sequences_and_control_characters_are_removed() -> None:
    assert printable("\x1b]0;title\x07\x1b[31mred\x1b[0m\x00\x08\r\nnext\rline\t\x9b") == "red\nnext\nline\t"
    assert printable("half \ud83d") == "half \\ud83d"


def test_memory_grows_with_the_data() -> None:
    assert Limits().memory_for(1000) == 256 << 20
    assert Limits().memory_for(100 << 20) == 800 << 20
    assert Limits(memory=1).memory_for(100) == 1

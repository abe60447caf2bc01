"""Guards the line that tells a person for which model a run waits."""

import re
import threading
from threading import Event
from typing import Any

from board import Board
from roles import program
from scripted import ScriptedModel

from restgpt.commands.waiting import Waiting
from restgpt.graph.build import build_graph


def test_a_line_says_for_which_model_a_run_waits_until_it_speaks(board: Board) -> None:
    heard, said = Event(), list[str]()

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            heard.set()

    def reply(prompt: Any) -> Any:
        assert heard.wait(60)
        return program("print(len(rows(list_projects())))")

    # A call that was cut off in another test may be waited for still.
    before = threading.enumerate()
    waiting = Waiting(say, first=0.01)
    agent = build_graph([board.api], model=ScriptedModel(reply))
    found = agent.invoke({"messages": [("user", "How many?")]}, {"callbacks": [waiting]})
    assert found["answer"] == "4"
    assert [line.partition(",")[0] for line in said[:2]] == ["waiting for scriptedmodel"] * 2
    assert re.fullmatch(r"waiting for [^,]+, \d+ s", said[0])
    for thread in threading.enumerate():
        if thread.name == "restgpt-waiting" and thread not in before:
            thread.join(60)
            assert not thread.is_alive()


def test_a_waiting_line_names_provider_and_model() -> None:
    said, heard = list[str](), Event()

    def say(text: str) -> None:
        said.append(text)
        heard.set()

    waiting = Waiting(say, first=0.01)
    about = {"ls_provider": "openai", "ls_model_name": "gpt-5-mini"}
    waiting.on_chat_model_start({}, [], run_id="one", metadata=about)
    assert heard.wait(60)
    waiting.on_llm_new_token("x", run_id="one")
    assert said[0] == "waiting for openai:gpt-5-mini, 0 s"

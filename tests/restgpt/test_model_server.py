"""Guards commands against the model's address: a server there that is no model's, and an address from `.env`."""

from pathlib import Path

import pytest
from chatserver import ChatServer
from cli import Cli, by_calls
from roles import end
from wrongserver import WRONG, wrong_server

from restgpt.commands.terminal import Terminal, say_address_of_dotenv
from restgpt.tools.settings.environment import load_dotenv
from restgpt_bench.worlds.server import WorldServer

COMMON = ("a web page", "a gateway", "an error with 200", "an empty object", "nesting")
ANSWERS = [
    pytest.param(answer, id=name, marks=[] if name in COMMON else pytest.mark.slow) for name, answer in WRONG.items()
]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_ask_names_the_setting_if_no_model_answers(
    answer: bytes, cli: Cli, toy: WorldServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wrong_server(answer) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("RESTGPT_MODEL", "openai:m")
        ran = cli("ask", "How many projects are there?", *by_calls(toy), "--json")
    assert (ran.code, ran.document["status"]) == (1, "failed")
    assert "OPENAI_BASE_URL" in ran.document["error"]
    assert ran.document["error"] in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_an_address_from_dotenv_is_named_once_before_the_first_request(
    options: list[str], cli: Cli, toy: WorldServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key-of-the-user")
    with ChatServer([end("Hello.")] * 2) as chat:
        (tmp_path / ".env").write_text(f"OPENAI_BASE_URL={chat.url}?token=hush\nRESTGPT_MODEL=openai:scripted\n")
        started = cli.start("ask", "Hello?", *by_calls(toy), *options, cwd=tmp_path)
        _, err = started.communicate()
    said = f"sets OPENAI_BASE_URL: requests to the model go to {chat.url}, with your OPENAI_API_KEY, which is not from"
    assert err.count(said) == 1
    assert "hush" not in err
    assert err.index(said) < (err.index("thread ") if not options else len(err))


@pytest.mark.parametrize(
    ("dotenv", "outside", "said"),
    [
        ("OPENAI_BASE_URL=http://a.test/v1", {}, "go to http://a.test/v1."),
        ("OPENAI_BASE_URL=http://me:pw@a.test/v1\nOPENAI_API_KEY=own", {}, "go to http://a.test/v1."),
        ("ANTHROPIC_BASE_URL=http://a.test", {"ANTHROPIC_API_KEY": "k"}, "with your ANTHROPIC_API_KEY"),
        ("OPENAI_BASE_URL=http://[bad", {}, "an address that cannot be read"),
        ("OPENAI_BASE_URL=http://a.test/v1", {"OPENAI_BASE_URL": "http://b.test/v1"}, ""),
        ("RESTGPT_MODEL=openai:m", {"OPENAI_BASE_URL": "http://b.test/v1"}, ""),
        ("OPENAI_BASE_URL=", {}, ""),
    ],
)
def test_only_an_address_that_dotenv_has_set_is_named(
    dotenv: str,
    outside: dict[str, str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(dotenv)
    # The variables that `load_dotenv` adds are removed again after the test.
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "RESTGPT_MODEL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name, value in outside.items():
        monkeypatch.setenv(name, value)
    load_dotenv(tmp_path / ".env")
    say_address_of_dotenv(Terminal(quiet=True))
    err = capsys.readouterr().err
    assert said in err
    assert bool(err) == bool(said)
    assert "pw" not in err

"""Guards that any server at the model's address is answered with an error that names the setting, never with a bug."""

import openai
import pytest
from chatserver import ChatRequest, ChatServer, Refusal
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr
from wrongserver import CUT, UNFIT, WRONG, chunk, stream, wrong_server

from lab.kit.port import held_port
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable
from restgpt.tools.model.model_errors import ModelError, ModelUnavailableError
from restgpt.tools.model.provider import CompletionModel, resolve_model
from restgpt.tools.model.reply import read_text
from restgpt.tools.model.structured import ask, read_tool_calls

PATIENCE_S = 60.0
KEY = "sk-key-of-the-user"
QUESTION = [HumanMessage("Which colour?")]
TOOL = {"type": "function", "function": {"name": "paint", "description": "", "parameters": {"type": "object"}}}


class Colour(BaseModel):
    """A colour."""

    name: str


def model(url: str, *, streaming: bool) -> ChatOpenAI:
    return ChatOpenAI(model="m", base_url=url, api_key=SecretStr(KEY), max_retries=0, timeout=30, streaming=streaming)


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.sampled(12, "answer")
@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_server_that_is_no_models_is_an_error_that_names_the_setting(answer: bytes, streaming: bool) -> None:
    with wrong_server(answer) as url:
        chat = model(url, streaming=streaming)
        asked = [lambda: ask(chat, QUESTION, Colour), lambda: read_tool_calls(chat, QUESTION, [TOOL])]
        asked += [lambda: read_text(chat, QUESTION)]
        for question in asked:
            with pytest.raises(ModelUnavailableError, match="OPENAI_BASE_URL") as caught:
                question()
            assert KEY not in repr(caught.value)


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.sampled(2, "answer")
@pytest.mark.parametrize("answer", UNFIT.values(), ids=UNFIT)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_an_empty_or_unfit_completion_is_an_error_of_the_reply(answer: bytes, streaming: bool) -> None:
    with wrong_server(answer) as url:
        chat = model(url, streaming=streaming)
        with pytest.raises(ModelError):
            ask(chat, QUESTION, Colour)


def test_a_stream_without_its_last_parts_is_no_reply() -> None:
    with wrong_server(CUT) as url:
        chat = model(url, streaming=True)
        for question in (lambda: read_text(chat, QUESTION), lambda: ask(chat, QUESTION, Colour)):
            with pytest.raises(ModelUnavailableError, match="broke off its reply"):
                question()


SAID = chunk({"role": "assistant", "content": "red"})
COUNTED = chunk({"content": "red"}, usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})
QUOTED = chunk({"content": '"finish_reason": "stop"'})


@pytest.mark.parametrize(
    ("events", "is_whole"),
    [
        ((SAID, b"[DONE]"), True),
        ((SAID, chunk({}, ""), b"[DONE]"), True),
        ((SAID, chunk(None, "stop"), b"[DONE]"), True),
        ((SAID, chunk({}, "stop")), True),
        ((SAID,), False),
        ((COUNTED, COUNTED), False),
        ((SAID, QUOTED), False),
    ],
)
def test_a_stream_ends_with_a_finish_reason_or_done_and_not_with_its_connection(
    events: tuple[bytes, ...], is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wrong_server(stream(*events)) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        chat = resolve_model("openai:m")
        chat.streaming = True  # type: ignore[attr-defined]
        if is_whole:
            assert read_text(chat, QUESTION)[0] == "red"
            return
        with pytest.raises(ModelUnavailableError, match="broke off its reply"):
            read_text(chat, QUESTION)


def test_half_of_a_streamed_tool_call_is_not_completed() -> None:
    function = {"name": "Colour", "arguments": '{"name": "re'}
    half = chunk(
        {"role": "assistant", "tool_calls": [{"index": 0, "id": "1", "type": "function", "function": function}]}
    )
    with wrong_server(stream(half, chunk({}, "length"), b"[DONE]")) as url:
        chat = model(url, streaming=True)
        for method in ("function_calling", "json_schema"):
            with pytest.raises(ModelUnavailableError, match=r"cut off.*\(length\).*max_tokens"):
                ask(chat, QUESTION, Colour, method=method)  # type: ignore[arg-type]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("url", ["http://[bad", "no address", "http://127.0.0.1:99999999/v1", "ftp://a/v1"])
def test_an_address_that_is_none_is_an_error_that_names_the_setting(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match=r"cannot be set up|OPENAI_BASE_URL"):
        read_text(resolve_model("openai:m"), QUESTION)


@pytest.mark.sampled(12, "answer")
@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_a_completions_endpoint_that_is_none_is_an_error_too(answer: bytes) -> None:
    with wrong_server(answer) as url:
        client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=30)
        with pytest.raises(ModelUnavailableError, match="OPENAI_BASE_URL"):
            read_text(CompletionModel("m", client=client), QUESTION)


def test_a_stopped_run_tries_no_further_call(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Cancellation()

    def stopping(request: ChatRequest) -> Refusal:
        run.cancel()
        return Refusal(503)

    with ChatServer(stopping) as server, cancellable(run):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with pytest.raises(CancelledRunError):
            ask(resolve_model("openai:m", timeout=PATIENCE_S), QUESTION, Colour)
        assert len(server.requests) == 1


def test_an_unreachable_model_of_anthropic_names_its_own_variable() -> None:
    with held_port() as port:
        chat = ChatAnthropic(model="m", base_url=f"http://127.0.0.1:{port}", api_key=SecretStr(KEY), max_retries=0)  # type: ignore[call-arg]
        with pytest.raises(ModelUnavailableError, match="Check ANTHROPIC_BASE_URL, or") as raised:
            read_text(chat, QUESTION)
    assert "OPENAI" not in str(raised.value)

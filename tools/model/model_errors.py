"""The cost of model calls: their number, and the tokens read and written.

The errors of chat models; each stops the run and names the remedy.

StoppingError
└── ModelError                 the model cannot be used
├── NoModelError           no model is configured
├── ModelReplyError        the replies do not fit the schema
├── ModelUnavailableError  the provider refused, or cannot be reached
├── UsedUpError            a budget of the instruction was used up before the model answered
│   ├── OutOfTimeError     its time
│   └── OutOfTokensError   its tokens
└── NotRecordedError       a recording holds no reply for the prompt

The exception mapping: from exceptions of the providers' packages to the errors of this project.
"""

import re
import sys
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from pydantic import SecretStr

from restgpt.tools.errors import StoppingError
from restgpt.tools.http.cancellation import CancelledRunError
from restgpt.tools.text.redaction import Redactor


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The number of model calls, and the tokens they read and wrote."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "ModelUsage") -> "ModelUsage":
        """Add up two usages."""
        return ModelUsage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


def usage_of(message: AIMessage) -> ModelUsage:
    """The cost of one reply; zero tokens if the provider reports none."""
    counts = message.usage_metadata
    if counts is None:
        return ModelUsage(calls=1)
    return ModelUsage(1, counts["input_tokens"], counts["output_tokens"])


REPAIRS = 2
"""The number of times that an unfit reply is sent back with the reason before `ModelReplyError` is raised."""


class ModelError(StoppingError):
    """A model cannot be used; the message names the cause and the remedy."""


class NoModelError(ModelError):
    """No model is configured."""

    def __init__(self) -> None:
        super().__init__(
            "No model is configured. Give one with one of these:\n"
            "  a hosted provider:         export OPENAI_API_KEY=…  and  --model openai:gpt-5-mini\n"
            "  a local server:            export OPENAI_BASE_URL=http://localhost:11434/v1  and  --model openai:NAME\n"
            "  any LangChain chat model:  export RESTGPT_MODEL=PROVIDER:NAME  (pip install langchain-PROVIDER)\n"
            "On a server, in Studio and in Python, RESTGPT_MODEL or the setting `model` takes the place of --model."
        )


class ModelReplyError(ModelError):
    """The model's replies did not fit the schema, even after they were sent back with the reason.

    `is_shapeless` says that none of them was JSON of the schema, a fence that it reads, or a tool call.
    """

    def __init__(self, schema: str, reason: str, *, usage: ModelUsage | None = None) -> None:
        repairs = usage.calls - 1 if usage else REPAIRS
        super().__init__(
            f"The model's replies were not a valid {schema} after {repairs} repairs: {reason.rstrip('.')}. "
            "A more capable model, or another --structured-output method, may help."
        )
        self.reason = reason
        self.is_shapeless = False
        self.usage = usage or ModelUsage()


class ModelUnavailableError(ModelError):
    """The provider refused or could not be reached."""


class CutOffError(ModelUnavailableError):
    """A reply ended after so many `tokens`, at a limit before its own end."""

    def __init__(self, message: str, *, tokens: int = 0) -> None:
        super().__init__(message)
        self.tokens = tokens


class UsedUpError(ModelError):
    """A budget, in words, was used up before the model answered; nodes end the turn with what was found."""

    def __init__(self, message: str, *, budget: str) -> None:
        super().__init__(message)
        self.budget = budget


class OutOfTimeError(UsedUpError):
    """The time for the instruction was used up before the model answered."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The time for this instruction is used up: {seconds:g} s. Ask for less, or raise the setting max_seconds.",
            budget=f"{seconds:g} seconds",
        )


class OutOfTokensError(UsedUpError):
    """The tokens for the instruction were used up before the model was asked."""

    def __init__(self, tokens: int) -> None:
        super().__init__(
            f"The tokens for this instruction are used up: {tokens}. Ask for less, or raise the setting max_tokens.",
            budget=f"{tokens} tokens",
        )


class NotRecordedError(ModelError):
    """The recording holds no reply for this prompt."""


PROVIDER_ERRORS = (
    ("openai", "OpenAIError"),
    ("anthropic", "AnthropicError"),
    ("google.genai.errors", "APIError"),
    ("google.api_core.exceptions", "GoogleAPIError"),
    ("mistralai.models", "SDKError"),
    ("groq", "GroqError"),
    ("cohere.core.api_error", "ApiError"),
    ("ollama", "ResponseError"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("httpx", "HTTPError"),
    ("httpx", "InvalidURL"),
    ("requests", "RequestException"),
)
"""The base classes of the exceptions that providers' packages raise; they have no base class in common."""


def provider_errors() -> tuple[type[BaseException], ...]:
    """The exception classes of those providers' packages that are loaded."""
    found = [getattr(sys.modules[module], name, None) for module, name in PROVIDER_ERRORS if module in sys.modules]
    return tuple(kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseException))


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError)
"""What providers' packages raise while they read an answer that is none of a chat model, such as a web page.

They expect the server to keep its contract, so a missing or wrong member of its JSON fails wherever it is used first.
"""


def model_failures(model: object) -> tuple[type[BaseException], ...]:
    """The exception classes of a call of `model` that failed: those of providers, and `UNREADABLE` for their packages.

    From a model of anybody else `UNREADABLE` are faults of that program.
    """
    return (*provider_errors(), *(UNREADABLE if _providers(model) else ()))


def _providers(model: object) -> list[str]:
    """The providers whose packages a model is of, the nearest first."""
    while (bound := getattr(model, "bound", None)) is not None:
        model = bound
    roots = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    return [
        root.removeprefix("langchain_") for root in roots if root.startswith("langchain_") and root != "langchain_core"
    ]


def _variable(model: object) -> str:
    """The variable with the address of a model's server, in words if it is not known."""
    provider = next(iter(_providers(model)), "openai")
    known = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
    return known.get(provider, "the address of its server")


def is_unreadable(error: BaseException) -> bool:
    """Whether a model call failed because its answer could not be read, not because the provider said so."""
    return isinstance(error, UNREADABLE) and not isinstance(error, provider_errors())


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind a provider's exception, under any of the names that providers use.

    For an error in the place of a reply, which OpenRouter sends with status 200, it is the code of that error.
    """
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "status"):
            if isinstance(value := getattr(holder, name, None), int):
                return value
    bodies = (getattr(error, "body", None), *error.args[:1])
    return next((body["code"] for body in bodies if isinstance(body, dict) and isinstance(body.get("code"), int)), None)


def is_cut_off(error: BaseException) -> bool:
    """Whether OpenAI's package found that a reply was cut off at its limit of tokens."""
    return type(error).__name__ == "LengthFinishReasonError"


def cut_off(reason: str, tokens: int = 0) -> CutOffError:
    """The error for a reply that ended before its own end, for the reason that the provider gives."""
    after = f" after {tokens} tokens" if tokens else ""
    return CutOffError(
        f"The model's reply was cut off{after} ({reason}), so nothing of it was used. Raise the limit for the tokens "
        "of a reply: the setting max_reply_tokens, `max_tokens` of a chat model that you give, or the limits of the "
        "model's server (Ollama: num_predict and num_ctx). Or ask for less, or take a model that thinks less.",
        tokens=tokens,
    )


def unavailable(error: BaseException, model: object = None) -> ModelUnavailableError:
    """The error for a provider's exception, without its text, which may quote the request or a key.

    Raises `CancelledRunError` if the run was stopped, which OpenAI's package takes for a failed connection.
    """
    if isinstance(error.__cause__, CancelledRunError):
        raise error.__cause__
    if is_cut_off(error):
        return cut_off("length")
    status, variable = status_of(error), _variable(model)
    if is_unreadable(error) and status is None:
        return ModelUnavailableError(
            f"The model's server sent a response that no chat model sends ({type(error).__name__}). Check the model's "
            f"name and {variable}, or the provider's own settings: another kind of server may answer there."
        )
    if status is None and "Timeout" in type(error).__name__:
        return ModelUnavailableError(
            "The model's server did not answer in the time for one model call, nor when it was asked again. Raise the "
            f"setting model_timeout (--set model_timeout=600, in seconds), or check {variable}."
        )
    if status is None:
        return ModelUnavailableError(
            f"The model's server cannot be reached or used ({type(error).__name__}). Check {variable}, or the "
            "provider's own settings, and the network."
        )
    remedy = {
        401: "Check the API key.",
        403: "Check what the API key may do.",
        404: f"Check {_place(error, model)}, and go on with `restgpt resume THREAD --model …`.",
        413: "The prompt is too large for this model or account: lower the settings functions_budget and "
        "operations_budget, or take another model.",
        429: "Wait, or raise the account's limit.",
    }.get(status, f"Try again later, or check {variable}." if status >= 500 else f"Check {variable}.")
    if seconds := _retry_after(error):
        remedy = f"It asks to wait {seconds} s; then go on with the thread. {remedy}"
    return ModelUnavailableError(f"The model's server answered {status}. {remedy}")


def _retry_after(error: BaseException) -> str:
    """The seconds of the header Retry-After, if it is a number (RFC 9110, section 10.2.3)."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    seconds = str(headers.get("retry-after", "")).strip()
    return seconds if re.fullmatch(r"[0-9]{1,6}", seconds) else ""


def _place(error: BaseException, model: object) -> str:
    """The names of the model and of the server, without the rest of its URL, which may hold a key."""
    name = getattr(model, "model_name", None) or getattr(model, "model", None) or "not known"
    url = getattr(getattr(error, "request", None), "url", None)
    return f"the model's name ({name}) and {_variable(model)} ({getattr(url, 'host', None) or 'not known'})"


def refused(error: BaseException, model: BaseChatModel) -> ModelUnavailableError:
    """The error for a request that the provider refused in every form, with the reason but without the model's keys."""
    reason = Redactor(_keys_of(model)).message(str(error))
    return ModelUnavailableError(f"The model refused the request: {first_line(reason)}")


def _keys_of(model: BaseChatModel) -> list[str]:
    """The keys that a model's client holds, which LangChain's classes keep as `SecretStr`."""
    values = (getattr(model, name) for name in type(model).model_fields)
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


def first_line(error: object) -> str:
    """The first line of an exception's text, bounded."""
    return str(error).strip().partition("\n")[0][:300]

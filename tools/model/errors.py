"""The errors of chat models; each stops the run and names the remedy.

StoppingError
└── ModelError                 the model cannot be used
├── NoModelError           no model is configured
├── ModelReplyError        the replies do not fit the schema
├── ModelUnavailableError  the provider refused, or cannot be reached
├── UsedUpError            a budget of the instruction was used up before the model answered
│   ├── OutOfTimeError     its time
│   └── OutOfTokensError   its tokens
└── NotRecordedError       a recording holds no reply for the prompt
"""

from restgpt.tools.errors import StoppingError
from restgpt.tools.model.usage import ModelUsage

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

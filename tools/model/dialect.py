"""The dialect of a model's server: the parameters, messages and methods of reply that it takes, as its refusals tell.

Servers that call themselves compatible refuse different parts of a request, with different statuses. A dialect is kept
as long as its model, so that a part that was refused is not sent again.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any
from weakref import finalize

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from restgpt.tools.model.errors import is_unreadable, model_failures, status_of

UNSUPPORTED = frozenset({200, 400, 422})
"""Statuses with which providers refuse a method of structured output that the model does not have.

Behind a 200 is a reply that the provider's package cannot read, such as one that a filter ended; another method can
help.
"""

_METHOD = re.compile(
    r"\btools?\b|tool_|function.call|response_format|json_schema|grammar|requested parameters", re.IGNORECASE
)
"""The words of a refusal of tools or of a schema, whatever its status (llama.cpp: 500, OpenRouter: 404)."""

_ROLES = re.compile(r"roles? must alternate|alternate user|system (?:role|message)s? (?:is |are )?not", re.IGNORECASE)

_PARAMETERS: tuple[tuple[re.Pattern[str], str, Any], ...] = (
    (re.compile("temperature", re.IGNORECASE), "temperature", None),
    (re.compile("stream_options"), "stream_usage", False),
    (re.compile(r"max_(?:completion_)?tokens"), "max_tokens", None),
    # The second is how LangChain reads a whole answer in the place of a stream.
    (re.compile(r"\bstreaming\b|\"stream\"|found in stream", re.IGNORECASE), "disable_streaming", True),
)
"""The words of a refusal of a parameter, the field of LangChain's model that sends it, and the value that does not."""


class Dialect:
    """What the server of a model refused: methods of a reply, parameters, and several messages."""

    def __init__(self) -> None:
        self.methods: set[str] = set()
        self._parameters: dict[str, Any] = {}
        self._is_single = False

    def adapted(self, model: BaseChatModel) -> BaseChatModel:
        """Return the model without the parameters that were refused."""
        return model.model_copy(update=self._parameters) if self._parameters else model

    def messages(self, conversation: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the messages of a conversation, or all in one for a template that demands turns."""
        if not self._is_single:
            return list(conversation)
        told = (f"assistant: {item.text}" if item.type == "ai" else str(item.text) for item in conversation)
        return [HumanMessage("\n\n".join(told))]

    def learn(self, model: BaseChatModel, error: BaseException) -> bool:
        """Leave out what a refusal names, and return whether the request can be sent again without it."""
        text = str(error)
        if not self._is_single and _ROLES.search(text):
            self._is_single = True
            return True
        for words, name, value in _PARAMETERS:
            if name not in self._parameters and getattr(model, name, value) != value and words.search(text):
                self._parameters[name] = value
                return True
        return False


_DIALECTS: dict[int, Dialect] = {}


def dialect_of(model: BaseChatModel) -> Dialect:
    """Return the dialect of a model's server, as far as it is known."""
    found = _DIALECTS.get(id(model))
    if found is None:
        found = _DIALECTS[id(model)] = Dialect()
        finalize(model, _DIALECTS.pop, id(model), None)
    return found


def spoken(
    model: BaseChatModel,
    conversation: Sequence[BaseMessage],
    send: Callable[[BaseChatModel, list[BaseMessage]], AIMessage],
) -> AIMessage:
    """Return the reply that `send` gets for a conversation, which is sent again without each part that is refused."""
    dialect = dialect_of(model)
    while True:
        try:
            return send(dialect.adapted(model), dialect.messages(conversation))
        except model_failures(model) as error:
            if not dialect.learn(model, error):
                raise


def is_refusal(error: BaseException) -> bool:
    """Return whether an error refuses the method of a reply, so that another one may work."""
    status = status_of(error)
    if status is None:
        return is_unreadable(error)
    return status in UNSUPPORTED or ((status == 404 or status >= 500) and _METHOD.search(str(error)) is not None)

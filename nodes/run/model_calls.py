"""The model calls of one node run: begun within the tokens of the turn, ended by its deadline, and counted by role."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import asdict, dataclass, field
from functools import partial
from threading import Thread
from typing import Any, TypeVar, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from restgpt.nodes.run.context import Context
from restgpt.nodes.state.records import RoleUsage
from restgpt.prompts import render
from restgpt.tools.model.echo import ECHO
from restgpt.tools.model.errors import ModelReplyError, OutOfTimeError, OutOfTokensError
from restgpt.tools.model.reply import read_text
from restgpt.tools.model.role import Role
from restgpt.tools.model.structured import ask, read_tool_calls
from restgpt.tools.model.usage import ModelUsage
from restgpt.tools.text.redaction import Redactor
from restgpt.tools.tracing.content import redacted_with

Answer = TypeVar("Answer", bound=BaseModel)
Result = TypeVar("Result")


@dataclass(slots=True)
class ModelCalls:
    """Asks the models of the roles for one node run.

    `model` gives the chat model of a role, or that of another role if it has none of its own, `left` the seconds until
    the deadline of the turn, `redactor` what hides secrets in traces. `tokens` is the number of tokens that the turn
    took before; without it, they are not bounded. `host` is what the application around the agent demands of all roles,
    `hidden` hides in prompts what APIs answered for programs alone, `is_echo` whether a reply asks for what stands in
    an answer of the thread: then it is put back once.
    """

    model: Callable[[Role, Role | None], BaseChatModel]
    context: Context
    left: Callable[[], float]
    redactor: Callable[[], Redactor]
    hidden: Callable[[], Redactor]
    is_echo: Callable[[Any], bool]
    tokens: int | None = None
    host: str = ""
    _spent: dict[str, ModelUsage] = field(default_factory=dict)

    def ask(
        self,
        role: Role,
        prompt: Sequence[BaseMessage],
        schema: type[Answer],
        *,
        check: Callable[[Answer], None] | None = None,
        callbacks: Sequence[BaseCallbackHandler] = (),
        instead: Role | None = None,
    ) -> Answer:
        """Ask a role's model for a reply of the type `schema`; raises `ModelError`.

        A role without a model of its own asks that of the role `instead`.
        """
        model, method = self.model(role, instead), self.context.structured_output
        prompt = self._ruled(prompt)
        question = partial(
            ask, model, prompt, schema, method=method, check=check, callbacks=callbacks, is_echo=self.is_echo
        )
        return self._counted(role, question)

    def read(self, role: Role, prompt: Sequence[BaseMessage]) -> str:
        """Ask a role's model for text; raises `ModelError`."""
        return self._counted(role, partial(read_text, self.model(role, None), self._ruled(prompt)))

    def read_program(self, role: Role, prompt: Sequence[BaseMessage]) -> str:
        """Ask a role's model for a program, once more if it stands in an answer of an API; raises `ModelError`."""
        code = self.read(role, prompt)
        if not self.is_echo(code):
            return code
        return self.read(role, [*prompt, AIMessage(code), HumanMessage(ECHO)])

    def call_tools(self, role: Role, prompt: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        """Ask a role's model for native calls of tools, or for text; raises `ModelError`."""
        model, prompt = self.model(role, None), self._ruled(prompt)
        return self._counted(role, partial(read_tool_calls, model, prompt, tools, is_echo=self.is_echo))

    def _ruled(self, prompt: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return a prompt as it is sent, with the rules of the host at the end of its system message."""
        if (hidden := self.hidden()).secrets:
            prompt = [message.model_copy(update={"content": hidden.json(message.content)}) for message in prompt]
        if not self.host:
            return list(prompt)
        first, rest = (prompt[0].text, prompt[1:]) if prompt and prompt[0].type == "system" else ("", prompt)
        return [SystemMessage("\n\n".join(filter(None, [str(first), render("host", rules=self.host)]))), *rest]

    def usage(self) -> dict[str, RoleUsage]:
        """Return the calls and tokens so far, by role."""
        return {role: cast(RoleUsage, asdict(spent)) for role, spent in self._spent.items()}

    def _counted(self, role: Role, call: Callable[[], tuple[Result, ModelUsage]]) -> Result:
        """Return what a model call gives, and count its cost; that of replies that do not fit, too."""
        try:
            found, usage = self._bounded(call)
        except ModelReplyError as error:
            self._note(role, error.usage)
            raise
        self._note(role, usage)
        return found

    def _note(self, role: Role, usage: ModelUsage) -> None:
        self._spent[role] = self._spent.get(role, ModelUsage()) + usage

    def _used(self) -> int:
        return sum(spent.input_tokens + spent.output_tokens for spent in self._spent.values())

    def _bounded(self, call: Callable[[], Result]) -> Result:
        """Return the result of a model call, which is not begun when the tokens of the turn are used up.

        Raises `OutOfTokensError`, and `OutOfTimeError` at the deadline, without waiting for the model.
        """
        if self.tokens is not None and self.tokens + self._used() >= self.context.max_tokens:
            raise OutOfTokensError(self.context.max_tokens)
        call = redacted_with(self.redactor, call)
        left = self.left()
        if left <= 0:
            raise OutOfTimeError(self.context.max_seconds)
        if left == math.inf:
            return call()
        # A chat model cannot be interrupted, so it runs in a thread, which ends some time after it was given up.
        future: Future[Result] = Future()
        context = copy_context()
        Thread(target=_settle, args=(future, partial(context.run, call)), daemon=True, name="restgpt-model").start()
        try:
            return future.result(left)
        except TimeoutError:
            if future.done():
                raise
            late = OutOfTimeError(self.context.max_seconds)
        raise late


def _settle(future: Future[Result], call: Callable[[], Result]) -> None:
    """Give a future the result of a call, or its error."""
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - raised again in the node that waits
        future.set_exception(error)

"""The answer as it comes: shows the growing answer in LangGraph's stream mode `messages` while the model writes it.

The reply of planner or caller is JSON: a decision, and a text that is the answer if the decision is `end`.
`AnswerStream` reads the reply while it streams, and sends the new part of such a text as a message chunk. All chunks
have one id, which the message in the state gets too, so a client that joins the chunks has the message of the state.
A client cannot take back a part of a message. So if the reply turns out to be unusable, the whole message is withdrawn:
a last chunk of its id has the type `remove`, and the next reply is sent under another id.

The model calls of one node run: begun within the tokens of the turn, ended by its deadline, and counted by role.
"""

import math
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import asdict, dataclass, field
from functools import partial
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, cast
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.graph.message import push_message
from pydantic import BaseModel
from pydantic_core import from_json

from restgpt.nodes.run.services import Context
from restgpt.nodes.state.records import RoleUsage
from restgpt.prompts import render
from restgpt.tools.model import Role
from restgpt.tools.model.model_errors import ModelReplyError, ModelUsage, OutOfTimeError, OutOfTokensError
from restgpt.tools.model.reply import ECHO, read_text, without_thoughts
from restgpt.tools.model.structured import ask, read_tool_calls
from restgpt.tools.text.redaction import Redactor
from restgpt.tools.tracing.telemetry import redacted_with

FENCE = re.compile(r"\s*(?:```\w*\s*)?(?=\{)")
"""The only text that may stand before the JSON of a reply that is shown while it comes."""


class WithdrawnMessage(AIMessageChunk):
    """The last chunk of a message that is not the answer: clients remove the message with this id.

    LangGraph's JavaScript client reads the type as that of LangChain's `RemoveMessage`. A `RemoveMessage` itself could
    not be added to the chunks before it, which LangGraph's server does in its older mode `messages`.
    """

    type: Literal["remove"] = "remove"  # type: ignore[assignment]


class AnswerStream(BaseCallbackHandler):
    """A callback of a role's model calls in one node run; it sends nothing if the model does not stream.

    LangChain streams a model call only if something wants the tokens, such as the stream mode `messages`. As a context
    manager, it withdraws what was shown if the block ends without `finished` or `hand_over`.
    """

    run_inline = True

    def __init__(self) -> None:
        self._context = copy_context()
        self._lock = Lock()
        self._is_over = False
        self._call: UUID | None = None
        self._text = ""
        self._arguments: dict[int | str | None, str] = {}
        self._id = ""
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._is_over = True
            self._withdraw()

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Begin a reply; the one before it could not be used."""
        with self._lock:
            self._withdraw()
            self._call, self._text, self._arguments = run_id, "", {}

    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: Any = None,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """Send what the chunk adds to the answer."""
        if not isinstance(chunk, ChatGenerationChunk) or not isinstance(chunk.message, AIMessageChunk):
            return
        with self._lock:
            # A model call that the node has given up may go on in its thread.
            if run_id == self._call and not self._is_over:
                self._read(chunk.message)
                # The reply is the first tool call, or the text if there is none.
                self._show(answer_in(next(iter(self._arguments.values()), without_thoughts(self._text))))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Withdraw what was shown of a reply that did not come to its end."""
        with self._lock:
            if run_id == self._call:
                self._withdraw()

    def finished(self, message: AIMessage) -> AIMessage:
        """Return the message of the answer for the state: with the id of its chunks, if any were sent.

        Sends the rest of it as the last chunk. Without earlier chunks LangGraph shows the message itself, as one part.
        """
        with self._lock:
            text = str(message.content)
            if self._shown and text.startswith(self._shown):
                rest = text[len(self._shown) :]
                self._push(AIMessageChunk(content=rest, id=self._id, response_metadata=message.response_metadata))
                message = message.model_copy(update={"id": self._id})
                self._shown = ""
            self._is_over = True
            self._withdraw()
            return message

    def hand_over(self) -> tuple[str, int] | None:
        """Leave what was shown to a later node run; returns its id and the number of its characters, None for none."""
        with self._lock:
            shown = (self._id, len(self._shown)) if self._shown else None
            self._is_over, self._id, self._shown = True, "", ""
            return shown

    def resume(self, message_id: str, shown: str) -> None:
        """Go on with a message of which an earlier node run has shown the beginning `shown`."""
        with self._lock:
            self._id, self._shown = message_id, shown

    def _read(self, message: AIMessageChunk) -> None:
        self._text += str(message.text)
        for call in message.tool_call_chunks:
            self._arguments[call["index"]] = self._arguments.get(call["index"], "") + (call["args"] or "")

    def _show(self, answer: str) -> None:
        # The state has the answer without white space around it.
        answer = answer.strip()
        if answer and not (answer.startswith(self._shown) or self._shown.startswith(answer)):
            # What was shown was a draft: the thought that it was in ends here.
            self._withdraw()
        if len(answer) > len(self._shown) and answer.startswith(self._shown):
            self._id = self._id or str(uuid4())
            self._push(AIMessageChunk(content=answer[len(self._shown) :], id=self._id))
            self._shown = answer

    def _withdraw(self) -> None:
        if self._shown:
            self._push(WithdrawnMessage(content="", id=self._id))
        self._id, self._shown = "", ""

    def _push(self, message: AIMessageChunk) -> None:
        # A model call may run in another thread, or with a config of its own.
        self._context.run(push_message, message, state_key=None)


def answer_in(reply: str) -> str:
    """Return the answer in the beginning of a reply, as far as it has come; empty if the reply decides otherwise.

    The decision counts only once another key follows it, because a decision that is cut off may look like `end`.
    """
    fence = FENCE.match(reply)
    if fence is None:
        return ""
    try:
        found = from_json(reply[fence.end() :], allow_partial="trailing-strings")
    except ValueError:
        return ""
    is_end = found.get("decision") == "end" and list(found)[-1] != "decision"
    text = found.get("text")
    return text if is_end and isinstance(text, str) else ""


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
        """Ask a role's model for a program, once more if it stands in a response of an API; raises `ModelError`."""
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

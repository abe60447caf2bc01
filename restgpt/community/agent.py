"""`create_openapi_agent` with the signature of langchain-community, and the agent that it returns: RestGPT's graph."""

import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.agents import AgentAction
from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from restgpt.calling.policy import Writes
from restgpt.community.reduced_spec import METHODS, ReducedSpec, document_of
from restgpt.community.requests_wrapper import Wrapper, client_of, entry_of
from restgpt.graph.build import Graph, build_graph
from restgpt.nodes.run.context import MAX_STEPS, Context
from restgpt.nodes.run.services import Services
from restgpt.specs.api import Api, load_api
from restgpt.tools.settings import PolicyRule, Settings

Source = str | Path | bytes | Mapping[str, Any]
Action = dict[str, Any]
"""A change that waits for approval: the keys are `name`, `args` and `description`, which has the exact request."""

Approve = Callable[[Action], bool]

OTHER_METHODS = frozenset({"HEAD", "OPTIONS", "TRACE", "QUERY"})
"""The methods of OpenAPI that langchain-community has no tool for."""

MOST_WAITING = 100
"""How many results that wait for approval an agent keeps."""

NEEDLESS = frozenset({"early_stopping_method", "handle_parsing_errors", "trim_intermediate_steps", "verbose"})
"""The arguments of the old executor for troubles that the graph does not have, or for printing; they have no effect."""

HOW_TO_APPROVE = (
    "The request was not sent. To send it, call agent.resume(result, approve=True). To decide in your program, give "
    "approve=FUNCTION to create_openapi_agent; to send all changes unasked, as langchain-community did, writes='allow'."
)


class OpenAPIAgent(Runnable[Mapping[str, Any] | str, dict[str, Any]]):
    """An agent with the methods of langchain-community's executor: `invoke`, `run`, and their asynchronous forms.

    A result has the keys `input` and `output`. If a change waits for approval and the agent has no `approve`, `output`
    says what waits, `actions` lists the changes, and `resume` goes on. `graph` is the graph, which can do more.
    """

    input_keys = ("input",)
    output_keys = ("output",)

    def __init__(
        self,
        graph: Graph,
        saver: InMemorySaver,
        *,
        approve: Approve | None = None,
        memories: Sequence[Any] = (),
        config: RunnableConfig | None = None,
        shows_steps: bool = False,
    ) -> None:
        self.graph = graph
        self._saver = saver
        self._approve = approve
        self._memories = memories
        self._given: RunnableConfig = config or {}
        self._shows_steps = shows_steps
        self._waiting: dict[str, None] = {}

    def invoke(
        self, input: Mapping[str, Any] | str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Carry out an instruction, `{"input": TEXT}` or the text itself; raises the errors of the graph."""
        text = _instruction(input)
        return self._driven(text, {"messages": self._messages(text)}, self._config(config))

    async def ainvoke(
        self, input: Mapping[str, Any] | str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Carry out an instruction without blocking the event loop."""
        text = _instruction(input)
        return await self._adriven(text, {"messages": self._messages(text)}, self._config(config))

    def resume(self, result: Mapping[str, Any], *, approve: bool) -> dict[str, Any]:
        """Go on after a result with `actions`, which are sent if `approve` is true; raises `ValueError` without any."""
        text, config = self._paused(result)
        return self._driven(text, _answer([approve] * len(result["actions"])), config)

    async def aresume(self, result: Mapping[str, Any], *, approve: bool) -> dict[str, Any]:
        """Go on after a result with `actions` without blocking the event loop."""
        text, config = self._paused(result)
        return await self._adriven(text, _answer([approve] * len(result["actions"])), config)

    def run(self, input: Mapping[str, Any] | str, **kwargs: Any) -> str:
        """Carry out an instruction and return its output."""
        return str(self.invoke(input, _config_of(kwargs))["output"])

    async def arun(self, input: Mapping[str, Any] | str, **kwargs: Any) -> str:
        """Carry out an instruction without blocking the event loop, and return its output."""
        return str((await self.ainvoke(input, _config_of(kwargs)))["output"])

    def __call__(self, inputs: Mapping[str, Any] | str, **kwargs: Any) -> dict[str, Any]:
        """Carry out an instruction, as the old executor did when it was called."""
        return self.invoke(inputs, _config_of(kwargs))

    def _driven(self, text: str, given: Any, config: RunnableConfig) -> dict[str, Any]:
        turns = self._turns(text, config)
        next(turns)
        with self._kept_if_paused(config):
            while True:
                state = self.graph.invoke(given, config)
                try:
                    given = turns.send(state)
                except StopIteration as end:
                    result: dict[str, Any] = end.value
                    return result

    async def _adriven(self, text: str, given: Any, config: RunnableConfig) -> dict[str, Any]:
        turns = self._turns(text, config)
        next(turns)
        with self._kept_if_paused(config):
            while True:
                state = await self.graph.ainvoke(given, config)
                try:
                    given = turns.send(state)
                except StopIteration as end:
                    result: dict[str, Any] = end.value
                    return result

    @contextmanager
    def _kept_if_paused(self, config: RunnableConfig) -> Iterator[None]:
        """Delete the thread of a run that does not wait: the old agent kept nothing of an instruction either."""
        thread = str(config["configurable"]["thread_id"])
        self._waiting.pop(thread, None)
        try:
            yield
        finally:
            if thread not in self._waiting:
                self._saver.delete_thread(thread)

    def _turns(self, text: str, config: RunnableConfig) -> Generator[Any, Mapping[str, Any], dict[str, Any]]:
        """Take the states of a run and yield the answers to its pauses, until a result can be returned."""
        answer: Any = None
        while actions := _actions(state := (yield answer)):
            if self._approve is None:
                thread = str(config["configurable"]["thread_id"])
                self._wait(thread)
                shown = "\n\n".join(str(action.get("description", "")) for action in actions)
                return {
                    "input": text,
                    "output": f"{shown}\n\n{HOW_TO_APPROVE}",
                    "actions": actions,
                    "thread_id": thread,
                }
            answer = _answer([bool(self._approve(action)) for action in actions])
        result: dict[str, Any] = {"input": text, "output": str(state["answer"])}
        if self._shows_steps:
            steps = self.graph.get_state(config).values.get("steps", ())
            result["intermediate_steps"] = [
                (AgentAction("api_controller", step["plan"], step["said"]), step["result"]) for step in steps
            ]
        for memory in self._memories:
            if hasattr(memory, "save_context"):
                memory.save_context({"input": text}, {"output": result["output"]})
        return result

    def _wait(self, thread: str) -> None:
        """Keep a thread that waits for approval, and of the others the newest."""
        self._waiting[thread] = None
        for oldest in list(self._waiting)[:-MOST_WAITING]:
            self._waiting.pop(oldest, None)
            self._saver.delete_thread(oldest)

    def _messages(self, text: str) -> list[AnyMessage | tuple[str, str]]:
        """Return the conversation in the memories, and the instruction."""
        return [*(message for memory in self._memories for message in _conversation(memory)), ("user", text)]

    def _config(self, config: RunnableConfig | None, thread: str | None = None) -> RunnableConfig:
        own = {"thread_id": thread or uuid4().hex}
        # Also has the configuration of a node of a host's graph that calls the agent. As its subgraph, the agent would
        # pause the host, whose node then runs again: the approval would be for what a model writes the second time.
        merged = merge_configs(self._given, config)
        kept = {name: value for name, value in merged.get("configurable", {}).items() if not _is_of_a_run(name)}
        return {**merged, "configurable": {**kept, **own}}

    def _paused(self, result: Mapping[str, Any]) -> tuple[str, RunnableConfig]:
        if not result.get("actions") or result.get("thread_id") not in self._waiting:
            raise ValueError(
                "The result has no actions that wait for approval. Give a result of invoke as it is, once, to the "
                f"agent that returned it; an agent keeps the newest {MOST_WAITING} that wait."
            )
        return str(result["input"]), self._config(None, str(result["thread_id"]))


def _is_of_a_run(name: str) -> bool:
    """Return whether a key of a configuration belongs to a run of LangGraph, such as that of the host."""
    return name.startswith(("__pregel_", "checkpoint_"))


def create_openapi_agent(
    api_spec: ReducedSpec | Source,
    requests_wrapper: Wrapper,
    llm: BaseChatModel | str,
    shared_memory: Any = None,
    callback_manager: BaseCallbackManager | None = None,
    verbose: bool = True,
    agent_executor_kwargs: Mapping[str, Any] | None = None,
    allow_dangerous_requests: bool = False,
    allowed_operations: Sequence[str] = ("GET", "POST"),
    *,
    writes: Writes = "ask",
    approve: Approve | None = None,
    base_url: str | None = None,
    **kwargs: Any,
) -> OpenAPIAgent:
    """Build the agent from what langchain-community's function of this name takes: docs/from-langchain-community.md.

    `api_spec` is a reduced specification, or better the document itself in any form that `load_api` takes. Headers and
    `auth` of `requests_wrapper` are sent to the API. Requests of other methods than `allowed_operations` are refused.
    A change waits for approval unless `writes` is `allow`; `approve` decides about each. `base_url` replaces the
    servers of the specification, and is needed for one at a private address. `verbose` has no effect, and neither have
    further arguments, which cause a warning.

    Raises `ValueError` without `allow_dangerous_requests`, if `allowed_operations` is empty or has a method that
    langchain-community has no tool for, and for a specification or a wrapper that cannot be used; `TypeError` for a
    model that takes no messages; `SpecError` and `SettingsError` as a run of the graph does.
    """
    if not allow_dangerous_requests:
        raise ValueError(
            "You must set allow_dangerous_requests to True, because the agent sends requests that a model chooses. "
            "Changes wait for approval all the same, unless you also give writes='allow'."
        )
    if not isinstance(llm, BaseChatModel | str):
        raise TypeError(f"llm must be a chat model, such as ChatOpenAI(…), and not {type(llm).__name__}.")
    api, settings = _api_of(api_spec, requests_wrapper, _denial(allowed_operations), base_url)
    options = dict(agent_executor_kwargs or {})
    memories = [memory for memory in (shared_memory, options.pop("memory", None)) if memory is not None]
    shows_steps = bool(options.pop("return_intermediate_steps", False))
    config: RunnableConfig = {"callbacks": callback_manager} if callback_manager is not None else {}
    config = merge_configs(config, _config_of(options))
    defaults = Context(writes=writes, **_limits(options))
    if ignored := sorted({*kwargs, *options} - NEEDLESS - {"callbacks", "tags", "metadata"}):
        warnings.warn(f"RestGPT has no use for {', '.join(ignored)} of create_openapi_agent.", stacklevel=2)
    saver = InMemorySaver()
    http = client_of(requests_wrapper, api, settings)
    services = Services([api], model=llm, defaults=defaults, settings=settings, http=http)
    graph = build_graph(services=services, checkpointer=saver, name="OpenAPIAgent")
    return OpenAPIAgent(graph, saver, approve=approve, memories=memories, config=config, shows_steps=shows_steps)


def _denial(allowed: Collection[str]) -> PolicyRule:
    """Return the rule that refuses all methods but the allowed ones; raises `ValueError` if no known one is allowed."""
    given = {str(method).upper() for method in allowed}
    if not given or given - METHODS:
        raise ValueError(
            f"allowed_operations is {', '.join(sorted(given)) or 'empty'}. Name one or more of "
            f"{', '.join(sorted(METHODS))}."
        )
    methods = tuple(sorted((METHODS | OTHER_METHODS) - given))
    reason = f"`allowed_operations` of create_openapi_agent has only {', '.join(sorted(given))}."
    return PolicyRule(methods=methods, decision="deny", reason=reason)


def _api_of(
    spec: ReducedSpec | Source, wrapper: Wrapper, denial: PolicyRule, base_url: str | None
) -> tuple[Api, Settings]:
    """Load the API as the only entry of the settings, which has the headers of the wrapper and the rule."""
    source = document_of(spec) if isinstance(spec, ReducedSpec) else spec
    name = load_api(source).name
    entry = replace(entry_of(wrapper, name), policy=(denial,))
    settings = replace(Settings.from_env(is_allowed=True), apis={name: entry})
    return load_api(source, base_url=base_url, name=name, entry=name, given=entry.given), settings


def _limits(options: dict[str, Any]) -> dict[str, Any]:
    """Take the limits of the old executor out of its arguments, as settings of a run."""
    iterations, seconds = options.pop("max_iterations", None), options.pop("max_execution_time", None)
    found: dict[str, Any] = {}
    if iterations is not None:
        found["max_steps"] = max(1, min(int(iterations), MAX_STEPS))
    if seconds is not None:
        found["max_seconds"] = float(seconds)
    return found


def _config_of(options: Mapping[str, Any]) -> RunnableConfig:
    """Return callbacks, tags and metadata of the old executor as a configuration."""
    found: RunnableConfig = {}
    if options.get("callbacks") is not None:
        found["callbacks"] = options["callbacks"]
    if options.get("tags"):
        found["tags"] = list(options["tags"])
    if options.get("metadata"):
        found["metadata"] = dict(options["metadata"])
    return found


def _instruction(given: Mapping[str, Any] | str) -> str:
    """Return the text of an input; raises `ValueError` if it has none."""
    text = given.get("input") if isinstance(given, Mapping) else given
    if not isinstance(text, str) or not text.strip():
        raise ValueError('The input has no instruction. Give {"input": "…"}, or the text itself.')
    return text


def _conversation(memory: Any) -> list[AnyMessage]:
    """Return the messages of a memory of langchain-classic, which may be wrapped as read-only."""
    holder: Any = memory if hasattr(memory, "chat_memory") else getattr(memory, "memory", None)
    history = getattr(holder, "chat_memory", None)
    if history is None:
        raise TypeError(f"A memory must have messages (chat_memory), which {type(memory).__name__} has not.")
    return list(history.messages)


def _actions(state: Mapping[str, Any]) -> list[Action]:
    """Return the changes that a run waits for."""
    return [action for pause in state.get("__interrupt__", ()) for action in pause.value["action_requests"]]


def _answer(approvals: Sequence[bool]) -> Command[Any]:
    """Return the answer to a pause: one decision for each of its changes."""
    return Command(resume={"decisions": [{"type": "approve" if one else "reject"} for one in approvals]})

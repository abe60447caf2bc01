"""The services of the nodes: the functions that the graph was built with, the model, the redactor."""

from collections.abc import Sequence
from functools import cache, cached_property

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from restgpt.tools.errors import StoppingError
from restgpt.tools.model.provider import PREFIX, resolve_completion_model, resolve_model
from restgpt.tools.settings import Settings
from restgpt.tools.text.redaction import Redactor
from restgpt_functions.context import FunctionContext, FunctionState
from restgpt_functions.docs.function import Function
from restgpt_functions.docs.loading import load_functions


class EmptyPromptError(StoppingError):
    """The run has no prompt."""

    def __init__(self) -> None:
        super().__init__('There is no prompt. Give {"messages": [("user", "…")]} or {"prompt": "…"}.')


class NoFunctionsError(StoppingError):
    """The run has no functions."""

    def __init__(self) -> None:
        super().__init__("There are no functions. Give their documentation under `functions`, in any dialect.")


class FunctionResources:
    """The services of one graph; settings and models are read when they are first needed."""

    def __init__(
        self, functions: Sequence[Function] | None, model: str | BaseChatModel | None, defaults: FunctionContext
    ) -> None:
        self._functions = functions
        self._model = model
        self._defaults = defaults
        self._resolved = cache(self._resolve)

    @cached_property
    def _settings(self) -> Settings:
        return Settings.from_env()

    def context(self, runtime: Runtime[FunctionContext]) -> FunctionContext:
        """The graph's settings with the run's own over them."""
        if runtime.context is None:
            return self._defaults
        return self._defaults.model_copy(update=runtime.context.model_dump(exclude_unset=True))

    def functions(self, state: FunctionState) -> Sequence[Function]:
        """The functions in the state of a run, else the functions of the graph; raises `NoFunctionsError`."""
        found = load_functions(state["functions"]) if state.get("functions") else self._functions
        if not found:
            raise NoFunctionsError()
        return found

    def offered(self, state: FunctionState) -> list[Function]:
        """The functions that the model reads in this run."""
        functions = self.functions(state)
        return [functions[number] for number in state["offered"]]

    def model(self, context: FunctionContext) -> BaseChatModel:
        """The model of the run, else of the graph, else of the environment; raises `ModelError`."""
        wanted = context.model or self._model or self._settings.model or ""
        return wanted if isinstance(wanted, BaseChatModel) else self._resolved(wanted, context.temperature)

    def _resolve(self, name: str, temperature: float | None) -> BaseChatModel:
        if name.startswith(PREFIX):
            return resolve_completion_model(name, settings=self._settings)
        return resolve_model(name, temperature=temperature)

    def redactor(self) -> Redactor:
        """The redactor of all secrets of the settings."""
        return Redactor(self._settings.secrets())

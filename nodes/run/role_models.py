"""The chat model of each role: finds the setting that names it, and creates each model once."""

from collections.abc import Callable, Mapping
from threading import Lock

from langchain_core.language_models import BaseChatModel

from restgpt.nodes.run.context import Context
from restgpt.tools.model.provider import resolve_model
from restgpt.tools.model.role import Role
from restgpt.tools.settings import Settings


class RoleModels:
    """The chat models of a graph: `model` for all roles, `models` for single roles, both optional."""

    def __init__(
        self,
        model: str | BaseChatModel | None,
        models: Mapping[str, str | BaseChatModel],
        settings: Callable[[], Settings],
    ) -> None:
        self._model = model
        self._models = dict(models)
        self._settings = settings
        self._lock = Lock()
        self._resolved: dict[tuple[str, float | None, float], BaseChatModel] = {}

    def model(self, role: Role, context: Context, instead: Role | None = None) -> BaseChatModel:
        """Return the model of a role; the first of these that is set names it.

        The role's setting of the run, the graph's `models`, the run's `model`, the graph's `model`, the environment. A
        role without a setting of its own takes the model of the role `instead`.
        """
        own = self._own(role, context)
        if not own and instead and not self._settings().models.get(role):
            role = instead
            own = self._own(role, context)
        wanted = own or context.model or self._model or self._settings().model_for(role)
        if isinstance(wanted, BaseChatModel):
            return wanted
        key = (wanted or "", context.temperature, context.model_timeout)
        with self._lock:
            if key not in self._resolved:
                self._resolved[key] = resolve_model(
                    wanted, temperature=context.temperature, timeout=context.model_timeout
                )
            return self._resolved[key]

    def _own(self, role: Role, context: Context) -> str | BaseChatModel | None:
        return getattr(context, f"{role}_model") or self._models.get(role)

"""The OpenAPI agent of langchain-community, built on RestGPT: a program of its users changes one import.

`create_openapi_agent` needs no further package. The other names are those of langchain-community itself, which the
extra `restgpt[community]` installs.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from restgpt.community.agent import OpenAPIAgent, create_openapi_agent

__all__ = ["OpenAPIAgent", "create_openapi_agent"]

OURS = {"OpenAPIAgent": "agent", "create_openapi_agent": "agent"}
"""The modules of our names."""

THEIRS = {
    "ReducedOpenAPISpec": "langchain_community.agent_toolkits.openapi.spec",
    "reduce_openapi_spec": "langchain_community.agent_toolkits.openapi.spec",
    "RequestsWrapper": "langchain_community.utilities.requests",
    "TextRequestsWrapper": "langchain_community.utilities.requests",
}
"""The modules of the names of langchain-community, which programs import beside its agent."""


def __getattr__(name: str) -> Any:
    """Import a name on its first use (PEP 562); raises `ImportError` if langchain-community is not installed."""
    from importlib import import_module

    if name in OURS:
        return getattr(import_module(f"restgpt.community.{OURS[name]}"), name)
    if name not in THEIRS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(THEIRS[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_community":
            raise
        from restgpt.tools.extras import extra_command

        raise ImportError(
            f"{name} is a part of langchain-community, which is not installed: {extra_command('community')}"
        ) from None


def __dir__() -> list[str]:
    """Return all names, for tab completion."""
    return sorted([*OURS, *THEIRS])

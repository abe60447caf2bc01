"""The credentials of langchain-community's `RequestsWrapper` for a graph of RestGPT.

`services_of` needs no further package. The other names are those of langchain-community itself, which the extra
`restgpt[community]` installs.
"""

from typing import Any

THEIRS = ("RequestsWrapper", "TextRequestsWrapper")
"""The names of langchain-community that programs import beside ours."""


def __getattr__(name: str) -> Any:
    """Import a name on its first use (PEP 562); raises `ImportError` if langchain-community is not installed."""
    from importlib import import_module

    if name not in THEIRS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module("langchain_community.utilities.requests"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_community":
            raise
        from restgpt.tools.extras import extra_command

        raise ImportError(
            f"{name} is a part of langchain-community, which is not installed: {extra_command('community')}"
        ) from None


def __dir__() -> list[str]:
    """Return all names, for tab completion."""
    return sorted(["services_of", *THEIRS])

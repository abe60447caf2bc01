"""APIs as their OpenAPI documents describe them, read lazily."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from restgpt.specs.api import Api, load_api
    from restgpt.specs.catalogue import Catalogue
    from restgpt.specs.media_type import MediaType, RequestBody, Response
    from restgpt.specs.operation import Operation
    from restgpt.specs.parameter import Parameter
    from restgpt.specs.problem import BrokenReference, Problem, SpecError, UnknownOperationError, UnknownPartError
    from restgpt.specs.security import SecurityScheme
    from restgpt.specs.servers import Server

__all__ = [
    "Api",
    "BrokenReference",
    "Catalogue",
    "MediaType",
    "Operation",
    "Parameter",
    "Problem",
    "RequestBody",
    "Response",
    "SecurityScheme",
    "Server",
    "SpecError",
    "UnknownOperationError",
    "UnknownPartError",
    "load_api",
]

HOMES = {
    "Api": "api",
    "load_api": "api",
    "Catalogue": "catalogue",
    "MediaType": "media_type",
    "Operation": "operation",
    "Parameter": "parameter",
    "RequestBody": "media_type",
    "Response": "media_type",
    "BrokenReference": "problem",
    "Problem": "problem",
    "SpecError": "problem",
    "UnknownOperationError": "problem",
    "UnknownPartError": "problem",
    "SecurityScheme": "security",
    "Server": "servers",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562), so that the command line starts without reading modules."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"restgpt.specs.{HOMES[name]}"), name)

"""Building the request of an operation from its arguments."""

from restgpt.tools.request.build import PreparedRequest, build_request

__all__ = ["PreparedRequest", "build_request"]

"""Building the request of an operation from its arguments."""

from restgpt.tools.request.prepared_request import PreparedRequest, build_request

__all__ = ["PreparedRequest", "build_request"]

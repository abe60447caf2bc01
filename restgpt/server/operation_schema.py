"""The JSON schema of an operation's arguments by place, from which the page makes the form of an edit.

The form only helps to write: whether an edit fits is decided where it is sent, as for every other client.
"""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from restgpt.specs import Operation, SpecError
from restgpt.specs.docs.arguments import arguments_schema
from restgpt.tools.errors import RestgptError

PATH = "/debug/schema"


def schema_routes(lookup: Callable[[str], Operation | None]) -> list[Route]:
    """Return the route `GET /debug/schema?operation=NAME`; `lookup` finds one."""

    # Not a coroutine, because it may read a document: Starlette runs it in a thread.
    def serve(request: Request) -> Response:
        name = request.query_params.get("operation", "")
        try:
            operation = lookup(name)
            if operation is None:
                return JSONResponse({"detail": "No configured API has this operation."}, 404)
            return JSONResponse(arguments_schema(operation), headers={"Cache-Control": "no-store"})
        except (RestgptError, SpecError) as error:
            return JSONResponse({"detail": str(error)}, 404)

    return [Route(PATH, serve, include_in_schema=False)]

"""The newest run of a thread as a recipe, for the page: it is made and returned, and written nowhere."""

from collections.abc import Callable, Mapping
from typing import Any

from langgraph.store.base import BaseStore
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from restgpt.nodes.recipes.saved_run import save_run
from restgpt.nodes.run.services import Services
from restgpt.recipes.recipe import NAME
from restgpt.recipes.recipe_file import recipe_text
from restgpt.server.wire import Values
from restgpt.specs import SpecError, UnknownOperationError
from restgpt.tools.errors import RestgptError

PATH = "/debug/recipe"
WRONG_NAME = "Use 1 to 64 lower-case letters, digits and hyphens for the name of a recipe."


def recipe_routes(services: Callable[[str], Services], values_of: Values, store: BaseStore) -> list[Route]:
    """Return the route `GET /debug/recipe?thread=ID&name=NAME`."""

    def serve(request: Request) -> Response:
        thread, name = request.query_params.get("thread", ""), request.query_params.get("name", "")
        if not NAME.fullmatch(name):
            return JSONResponse({"detail": WRONG_NAME}, 400)
        try:
            made = _made(values_of(thread), services(thread), name, store, thread)
        except (RestgptError, SpecError, UnknownOperationError) as error:
            return JSONResponse({"detail": str(error)}, 404)
        return JSONResponse(made, headers={"Cache-Control": "no-store"})

    return [Route(PATH, serve, include_in_schema=False)]


def _made(values: Mapping[str, Any], services: Services, name: str, bodies: BaseStore, thread: str) -> dict[str, Any]:
    recipe = save_run(values, services, name=name, store=bodies, thread=thread)
    return {"recipe": recipe.to_json(), "text": recipe_text(recipe), "examples": recipe.examples}

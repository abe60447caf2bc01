"""What an undo of a thread would do, for the page: each change, and the request that would reverse it."""

from collections.abc import Callable
from typing import Any

from langgraph.store.base import BaseStore
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from restgpt.calling.journal.journal import Journal
from restgpt.calling.undo.reversal import reversals
from restgpt.nodes.run.services import Services
from restgpt.server.wire import Values
from restgpt.specs import SpecError
from restgpt.tools.errors import RestgptError

PATH = "/debug/undo"


def undo_routes(
    services: Callable[[str], Services], values_of: Values, store: BaseStore, undone_in: Callable[[str], str]
) -> list[Route]:
    """Return the route `GET /debug/undo?thread=ID`; the changes of a thread are undone in the thread `undone_in`."""

    def serve(request: Request) -> Response:
        thread = request.query_params.get("thread", "")
        try:
            values_of(thread)
            changes = _preview(Journal(store, thread), services(thread))
        except (RestgptError, SpecError) as error:
            return JSONResponse({"detail": str(error)}, 404)
        shown = {"thread": undone_in(thread), "changes": changes}
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})

    return [Route(PATH, serve, include_in_schema=False)]


def _preview(journal: Journal, services: Services) -> list[dict[str, Any]]:
    """Return the changes that were made and not undone, newest first, with their reversals or why there is none."""
    catalogue = services.catalogue(())
    redactor = services.redactor()
    return [
        {
            "change": found.shown,
            "reversal": None if found.draft is None else found.draft.request.shown(redactor),
            "caution": "" if found.draft is None else found.draft.description,
            "reason": found.reason,
        }
        for found in reversals(journal, catalogue)
    ]

"""A thread without a model, such as a call of an MCP client: finished after a kill, decided, and reported."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from restgpt.commands.failure import Exit, UsageError
from restgpt.commands.screen.review import Verdict
from restgpt.commands.screen.terminal import Terminal
from restgpt.outcome import Called, Pending
from restgpt.tools.text.quotation import visible_json

if TYPE_CHECKING:
    from restgpt.client import Client
    from restgpt.graph.persistence import Persistence
    from restgpt.nodes.run.services import Services
    from restgpt.threads import ThreadRecord
    from restgpt.tools.settings import Settings


def resources_of(record: "ThreadRecord", settings: "Settings", persistence: "Persistence") -> "Services":
    """Return the APIs and settings of a thread; raises `UsageError`, `SpecError`."""
    from restgpt.nodes.run.context import Context
    from restgpt.nodes.run.services import Services
    from restgpt.tools.settings.run_settings import checked_settings

    if record.sources.is_empty:
        raise UsageError(
            f"The documents of the APIs of thread {record.thread} were given as texts, so they cannot be loaded here. "
            "Go on with it in the program that began it."
        )
    context = checked_settings(Context, record.context)
    return Services(record.sources.load(settings), defaults=context, settings=settings, store=persistence.store)


def client_of(record: "ThreadRecord", settings: "Settings", persistence: "Persistence") -> "Client":
    """Return a client over the APIs of a thread, for its calls without a model; raises as `resources_of`."""
    from restgpt.client import Client

    return Client(services=resources_of(record, settings, persistence), **persistence.saved)


def decided(client: "Client", standing: Any, answers: Callable[[Pending], dict[str, Any] | None]) -> Any:
    """Decide question after question by `answers`, until none is left or it returns None; return what stands then."""
    while isinstance(standing, Pending) and (given := answers(standing)) is not None:
        standing = client.resume(standing.thread, given)
    return standing


class ClientThread:
    """A thread that this process has locked, and that a client without a model began."""

    def __init__(
        self, terminal: Terminal, record: "ThreadRecord", settings: "Settings", persistence: "Persistence"
    ) -> None:
        self._terminal = terminal
        self._record = record
        self._client = client_of(record, settings, persistence)

    def resume(self, verdict: Verdict) -> NoReturn:
        """Finish the thread, decide what waits, and end the command; raises `UsageError` if nothing can be resumed."""
        from restgpt.commands.run import decide_here
        from restgpt.threads import UnknownThreadError

        thread = self._record.thread
        is_decided = verdict.is_given
        try:
            # An answer comes first: going on with the thread would send what it may reject.
            standing = self._client.question(thread) if is_decided else self._client.standing(thread)
        except UnknownThreadError:
            raise UsageError(
                f"Thread {thread} is a single call, which cannot be resumed. Repeat it with `restgpt call`, which asks "
                f"first if its outcome is unknown, or reverse it with `restgpt undo {thread}`."
            ) from None
        if is_decided and not isinstance(standing, Pending):
            raise UsageError(f"No request waits for a decision in thread {thread}.")
        # The options decide the first question only, not a later one, such as about a changed target.
        verdicts = iter([verdict] if is_decided else [])

        def answers(pending: Pending) -> dict[str, Any] | None:
            given = next(verdicts, None)
            return given.answers([pending]) if given else decide_here(self._terminal, [pending])

        self._report(decided(self._client, standing, answers))

    def _report(self, standing: Any) -> NoReturn:
        """Print the state of the thread, and end the command."""
        from restgpt.commands.run import waiting_text

        thread = self._record.thread
        if isinstance(standing, Pending):
            self._terminal.document({"thread": thread, "status": "paused", "pending": [standing.to_dict()]})
            self._terminal.say(waiting_text(thread, [standing]))
            raise typer.Exit(Exit.PAUSED)
        if isinstance(standing, Called):
            self._report_call(standing)
        else:
            self._terminal.document({"thread": thread, "status": standing.end, "answer": standing.text})
            self._terminal.answer(standing.text)
        is_rejected = isinstance(standing, Called) and standing.rejection is not None
        raise typer.Exit(Exit.DONE if standing.ok else Exit.REJECTED if is_rejected else Exit.UNFULFILLED)

    def _report_call(self, called: Called) -> None:
        thread = self._record.thread
        self._terminal.document({"thread": thread, "status": called.state, "response": _response(called)})
        if called.state != "sent":
            self._terminal.say(_unsent(called))
            return
        self._terminal.note(" ".join([f"{called.operation} → {called.status_code}", *called.notices]))
        value = called.json
        if isinstance(value, str):
            self._terminal.answer(value)
        elif value is not None and not isinstance(value, bytes):
            self._terminal.answer(visible_json(value))
        if called.ok:
            self._terminal.note(f"Undo it with: restgpt undo {thread}")


def _unsent(called: Called) -> str:
    """Return what became of a call to which no response came."""
    if called.rejection is not None:
        return f"Rejected. Nothing was sent. {called.rejection}".strip()
    return f"{'No response came' if called.state == 'failed' else 'Nothing was sent'}: {called.note}"


def _response(called: Called) -> dict[str, Any]:
    """Return the answer as a JSON document; a binary body is left out."""
    value = called.json
    body = {} if isinstance(value, bytes) else {"body": value}
    return {"status": called.status_code, **body} if called.state == "sent" else {}

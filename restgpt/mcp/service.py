"""The tools of a server, without the protocol: each returns a text (`Said`), or a thread and its state (`Left`)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from restgpt.client import Client
from restgpt.graph.persistence import ThreadBusyError
from restgpt.host.definitions import CHANGE, READ, Definition, call_arguments, check_reads, definitions, tools_of
from restgpt.host.named_arguments import in_types, taken_arguments
from restgpt.host.operations import FOUND, MOST, described_text, direct_definitions, found_text
from restgpt.host.preview import ResultPage, parse_uri, preview, preview_ran, read
from restgpt.mcp.http import TOKEN
from restgpt.mcp.seal import Seals
from restgpt.mcp.tool_runs import Answer, Said, Shell, explained, foreseen, unforeseen
from restgpt.mcp.tool_threads import Answered, Left, ServedThreads
from restgpt.nodes.state.recipe_run import filled
from restgpt.outcome import Called, Pending, Ran, Undone
from restgpt.prompts import fenced
from restgpt.recipes.recipe import Recipe
from restgpt.server.page_routes import page_of
from restgpt.specs import Api, Operation
from restgpt.tools.errors import RestgptError, SettingsError
from restgpt.tools.response.content import Body
from restgpt.tools.response.page import preview_text

log = logging.getLogger("restgpt.mcp")

MOST_WAITING = 10
"""The most threads that `pending` without a handle reports."""

MOST_SHOWN = 8_000
"""The most characters that a model is shown of what waits; the person sees all of it."""

MOST_FILE = 16 * 1024 * 1024
"""The most bytes of a file that a client reads at once, and not by pages."""

MOST_LISTS = 100
"""The most lists of direct tools that are kept, one for each choice of tags in a URL."""

RUNNING = "running"
"""The status of a thread that another process goes on with."""

BUSY = (
    "An equal call is being carried out, or its thread is in use by another process. Nothing was sent by this one. "
    "Call `pending` without a handle to see its state."
)

JOINED = (
    "An equal call was begun before, and its result may not have been read. This is that call; no second one was made. "
    "If you want it twice, make the call once more."
)

DECISIONS = (("--approve",), ("--reject", "why"))
"""The options of `restgpt resume` that a client is told."""

Arguments = Mapping[str, Any]


class UnknownToolError(RestgptError):
    """There is no tool of this name; the message names the nearest ones."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        near = get_close_matches(name, known, n=3) or list(known)[:20]
        super().__init__(f"There is no tool {name[:100]!r}. Near names: {', '.join(near)}.")


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a client sees: their definitions by name, and the operations of direct tools by name."""

    definitions: Mapping[str, Definition]
    operations: Mapping[str, Operation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a server offers: its recipes, and `ask` if it has a model.

    `shell` has the commands by which a person decides, and `home` is where a page of `restgpt ui` may be found. With
    `is_direct` it offers a tool for each operation that has one of the `tags`; without tags, for every operation.
    """

    shell: Shell = field(default_factory=Shell)
    home: Path | None = None
    recipes: Sequence[Recipe] = ()
    has_model: bool = False
    is_direct: bool = False
    tags: tuple[str, ...] = ()


class Service:
    """The tools of one server, for each client (`principal`); all methods may be used from several threads at once."""

    def __init__(
        self, client: Client, threads: ServedThreads, seals: Seals, offer: Offer, *, apis: Sequence[Api]
    ) -> None:
        self._client = client
        self._apis = apis
        self._catalogue = client.services.catalogue(client.services.defaults.apis)
        self._threads = threads
        self._seals = seals
        self._offer = offer
        self._recipes = tools_of(offer.recipes)
        self._listed: dict[tuple[str, ...], Tools] = {}
        self._tools: dict[str, Callable[[str, Arguments], Said | Left]] = {
            "find_operations": self._find,
            "describe_operation": self._describe,
            READ: self._read,
            CHANGE: self._call,
            "run_program": self._run_program,
            "run_recipe": self._run_recipe,
            "read_result": self._read_result,
            "ask": self._ask,
            "pending": self._pending,
            "undo": self._undo,
        }

    def tools(self, tags: tuple[str, ...] = ()) -> Tools:
        """Return all tools; `tags` choose the operations of a direct server for one client.

        Raises `SettingsError` if a direct server would have more operations than a host takes as tools.
        """
        tags = tags or self._offer.tags if self._offer.is_direct else ()
        found = self._listed.get(tags)
        if found is None:
            found = self._direct(tags) if self._offer.is_direct else self._plain()
            if len(self._listed) >= MOST_LISTS:
                self._listed.clear()
            self._listed[tags] = found
        return found

    def _plain(self) -> Tools:
        found = definitions(self._apis, has_model=self._offer.has_model, recipes=self._offer.recipes)
        return Tools({item.name: item for item in found})

    def _direct(self, tags: tuple[str, ...]) -> Tools:
        catalogue = self._catalogue
        chosen = [item for item in catalogue if not tags or set(tags) & set(item.tags)]
        if len(chosen) > MOST or not chosen:
            raise _tag_error(tags, len(chosen), {tag for item in catalogue for tag in item.tags})
        found = direct_definitions(catalogue, chosen, effects=self._client.effect)
        operations = {item.name: operation for item, operation in zip(found, chosen, strict=False)}
        return Tools({item.name: item for item in found}, operations)

    def taken(self, principal: str) -> Answered:
        """Return the results that a client got before the request that arrives at this moment, for `act`."""
        return self._threads.taken(principal)

    def act(
        self, principal: str, name: str, arguments: Arguments, tags: tuple[str, ...] = (), *, taken: Answered
    ) -> Said | Left:
        """Do what a tool does. Raises `UnknownToolError`; any other foreseen error is the text of the result."""
        tools = self.tools(tags)
        if name not in tools.definitions:
            raise UnknownToolError(name, list(tools.definitions))
        return _or_error(lambda: self._acted(principal, tools, name, arguments, taken))

    def _acted(self, principal: str, tools: Tools, name: str, arguments: Arguments, taken: Answered) -> Said | Left:
        self._threads.acknowledge(taken)
        if (operation := tools.operations.get(name)) is not None:
            # The schema of a direct tool may be shortened, so the document decides whether the arguments fit.
            return self._threads.call(principal, self._catalogue.name_of(operation), arguments)
        if (tool := self._tools.get(name)) is None:
            return self._run(principal, self._recipes[name], arguments)
        return tool(principal, taken_arguments(tools.definitions[name], arguments))

    def _find(self, principal: str, given: Arguments) -> Said:
        return Said(
            found_text(self._catalogue, given["query"], int(given.get("limit", FOUND)), learned=self._client.learned)
        )

    def _describe(self, principal: str, given: Arguments) -> Said:
        return Said(
            described_text(
                self._catalogue, given["operations"], effects=self._client.effect, learned=self._client.learned
            )
        )

    def _read(self, principal: str, given: Arguments) -> Left:
        operation = self._catalogue.operation(given["operation"])
        check_reads(operation, self._client.effect, self._catalogue.name_of(operation))
        return self._call(principal, given)

    def _call(self, principal: str, given: Arguments) -> Left:
        beside = dict(given)
        operation, pages = beside.pop("operation"), int(beside.pop("pages", 1))
        return self._threads.call(
            principal, operation, call_arguments(beside.pop("arguments", {}), beside), pages=pages
        )

    def _run_program(self, principal: str, given: Arguments) -> Left:
        started = {key: given[key] for key in ("code", "thread") if given.get(key)}
        return self._threads.run(principal, "program", started)

    def _run_recipe(self, principal: str, given: Arguments) -> Said | Left:
        recipes = {recipe.name: recipe for recipe in self._offer.recipes}
        recipe = recipes.get(given["name"]) or self._recipes.get(given["name"])
        if recipe is None:
            near = get_close_matches(given["name"], list(recipes), n=3) or list(recipes)[:20]
            return Said(f"There is no recipe {given['name'][:100]!r}. Near names: {', '.join(near)}.", is_error=True)
        return self._run(principal, recipe, given.get("inputs", {}))

    def _run(self, principal: str, recipe: Recipe, given: Arguments) -> Left:
        inputs = in_types({**recipe.inputs, "properties": recipe.properties}, given)
        # Inputs that do not fit begin no thread.
        filled(recipe, inputs)
        started = {"recipe": recipe.to_json(), "inputs": inputs}
        return self._threads.run(principal, "recipe", started)

    def _ask(self, principal: str, given: Arguments) -> Left:
        return self._threads.run(principal, "agent", {"instruction": given["instruction"]})

    def _read_result(self, principal: str, given: Arguments) -> Said:
        handle = self._seals.open("result", principal, given["handle"]).subject
        return Said(read(self._client.body, handle, given.get("pointer", ""), int(given.get("page", 1))).text)

    def _pending(self, principal: str, given: Arguments) -> Said | Left:
        if given.get("handle"):
            thread = self._seals.open("waiting", principal, given["handle"]).subject
            return Left(self._threads.standing(principal, thread))
        waiting = self._threads.unfinished(principal)
        if not waiting:
            return Said("Nothing waits for a person.", facts={"status": "done", "waiting": 0})
        told = [self._one_pending(principal, record.thread) for record in waiting[:MOST_WAITING]]
        more = [f"{len(waiting) - MOST_WAITING} more wait."] if len(waiting) > MOST_WAITING else []
        facts = {"status": "listed", "waiting": len(waiting), "threads": [dict(item.facts) for item in told]}
        return Said("\n\n".join([*(item.text for item in told), *more]), facts=facts)

    def _one_pending(self, principal: str, thread: str) -> Said:
        try:
            return self.said(principal, Left(self._threads.standing(principal, thread)))
        except ThreadBusyError:
            return Said(f"{thread} is being carried out.", facts={"thread": thread, "status": RUNNING})
        except foreseen() as error:
            return Said(explained(error), is_error=True, facts={"thread": thread, "status": "failed"})

    def _undo(self, principal: str, given: Arguments) -> Said | Left:
        thread = self._seals.open("change", principal, given["handle"]).subject
        standing = self._threads.undo(thread)
        if isinstance(standing, Undone) and not standing.calls:
            return Said("\n".join(["There is nothing that can be undone.", *standing.left]), facts={"status": "done"})
        return Left(standing)

    def offers(self, pending: Pending) -> bool:
        """Return whether this server offers the operations that wait: another one on the database may have asked."""
        names = (str(action["name"]) for action in pending.actions)
        return all(self._catalogue.lookup(name) is not None for name in names)

    def decide(
        self, principal: str, pending: Pending, decision: Mapping[str, Any], *, once: Callable[[], bool] = lambda: True
    ) -> Said | Left:
        """Decide a question as the person at the client did; return the state of the thread after that.

        `once` says, when nothing else can decide any more, whether the decision counts. A change that this server does
        not offer keeps waiting, because an approval would be lost with a call that fails.
        """
        if not self.offers(pending):
            return self.said(principal, Left(pending))
        return _or_error(lambda: Left(self._threads.decide(principal, pending, decision, once=once)))

    def page(self, principal: str, thread: str) -> str:
        """Return the address of a thread in a running page; empty without one, and for a client with a token.

        Such a client may be on another machine, where the address leads to another program.
        """
        home = self._offer.home
        return "" if home is None or principal.startswith(TOKEN) else page_of(home, thread)

    def question(self, thread: str) -> Pending | None:
        """Return the question of a thread that a decision answers, without going on with the thread."""
        return self._threads.question(thread)

    def data(self, name: str, tags: tuple[str, ...], said: Said) -> dict[str, Any] | None:
        """Return the result of a tool as data that fits its output schema; None for an error, and without a schema."""
        answer = self.tools(tags).definitions[name].answer
        return None if said.is_error or answer is None else said.structured(answer)

    def standing(self, principal: str, thread: str, decision: Mapping[str, Any] | None = None) -> Said | Left:
        """Return the state of a thread, after a `decision` on a question that it does not have; or the error's text."""
        return _or_error(lambda: Left(self._threads.standing(principal, thread, decision=decision)))

    def resource(self, principal: str, uri: str) -> ResultPage | Body:
        """Read a result by its URI: a page, or the whole body if it is a file of at most `MOST_FILE` bytes.

        Raises `SealError`, `UnknownHandleError` and what `parse_uri` and `read` raise.
        """
        text, pointer, page = parse_uri(uri)
        handle = self._seals.open("result", principal, text).subject
        if not pointer and page == 1:
            body = self._client.body(handle)
            if body.is_binary and body.size <= MOST_FILE:
                return body
        return read(self._client.body, handle, pointer, page)

    def said(self, principal: str, left: Left) -> Said:
        """Return the result of a tool that tells a client the state of a thread."""
        standing = left.standing
        match standing:
            case Pending():
                said = self._of_pending(principal, standing)
            case Called():
                said = self._of_call(principal, standing)
            case Ran():
                said = self._of_program(principal, standing)
            case Undone():
                said = _of_undo(standing)
            case Answer():
                said = self._of_run(principal, standing)
        if not left.is_joined:
            return said
        return replace(said, text=f"{JOINED}\n\n{said.text}", facts={**said.facts, "note": JOINED})

    def _of_pending(self, principal: str, pending: Pending) -> Said:
        handle = self._seals.seal("waiting", principal, pending.thread)
        change, _, undo = pending.thread.partition("/")
        line = self._offer.shell.line
        decided = [("undo", change)] if undo else [("resume", change, *way) for way in DECISIONS]
        commands = "".join(f"\n  {line(*words)}" for words in decided)
        # The question shows values of APIs and texts of documents, so it is data to the model.
        shown = fenced("question", pending.description[:MOST_SHOWN])
        if len(pending.description) > MOST_SHOWN:
            shown = f"{shown}\n\nThis is a part; `{line('threads', change)}` shows all."
        elsewhere = "" if self.offers(pending) else "This server does not offer its operation, so it cannot send it. "
        text = (
            f"{elsewhere}What is shown below waits for a person, and is sent only if the person approves it; no "
            f"argument of a tool can do that. The person decides with:{commands}\n"
            f"{self._offer.shell.needs}To learn the decision and get the result, call `pending` with this handle: "
            f"{handle}\n\n{shown}"
        )
        return Said(text, facts={"status": "pending", "thread": pending.thread, "handle": handle})

    def _of_call(self, principal: str, called: Called) -> Said:
        result = self._seals.seal("result", principal, called.handle) if called.handle else ""
        seen = preview(called, handle=result)
        facts = {"status": called.state, "http_status": called.status_code, "thread": called.thread}
        undo = self._undoable(principal, called.thread, facts) if called.ok else ""
        # A person or a rule that says no is no error of the tool.
        is_error = called.state == "failed" or (called.state == "sent" and not called.ok)
        return Said("\n\n".join(filter(None, [seen.text, undo])), is_error, seen, facts)

    def _of_program(self, principal: str, ran: Ran) -> Said:
        seen = preview_ran(ran, handle=self._seals.seal("result", principal, ran.handle) if ran.handle else "")
        facts = {"status": "done" if ran.ok else "failed", "thread": ran.thread}
        undo = self._undoable(principal, ran.thread, facts)
        return Said("\n\n".join(filter(None, [seen.text, undo])), not ran.ok, seen, facts)

    def _undoable(self, principal: str, thread: str, facts: dict[str, Any]) -> str:
        """Return how the changes of a thread are reversed, and add the handle to the facts; empty without changes."""
        if not thread or not self._threads.has_changes(thread):
            return ""
        facts["handle"] = self._seals.seal("change", principal, thread)
        approved = "What was changed, a person or the server's rules had approved."
        return f"{approved} To reverse it, call `undo` with this handle: {facts['handle']}"

    def _of_run(self, principal: str, answer: Answer) -> Said:
        facts = {"status": "done" if answer.ok else "failed", "thread": answer.thread}
        undo = self._undoable(principal, answer.thread, facts)
        seen = preview_text(answer.text)
        more = "" if seen.is_whole else f"This is a part; `restgpt threads {answer.thread}` shows all."
        parts = [fenced("answer", seen.text), more, undo]
        return Said("\n\n".join(filter(None, parts)), not answer.ok, facts=facts)


def _or_error(work: Callable[[], Said | Left]) -> Said | Left:
    """Return the result of some work; the text of the error if it raises a foreseen one."""
    try:
        return work()
    except ThreadBusyError:
        return Said(BUSY, is_error=True, facts={"status": RUNNING})
    except foreseen() as error:
        return Said(explained(error), is_error=True)
    except Exception as error:
        # The SDK would send its text to the client's model.
        log.error("A tool failed", exc_info=error)
        return Said(unforeseen(error), is_error=True)


def _of_undo(undone: Undone) -> Said:
    lines = [
        f"{call.record['description']} {'Done.' if call.ok else f'Not done: {call.note or call.status_code}.'}"
        for call in undone.calls
    ]
    facts = {"status": "undone" if undone.ok else "failed", "thread": undone.thread}
    return Said("\n".join(lines), is_error=not undone.ok, facts=facts)


def _tag_error(tags: Sequence[str], count: int, known: set[str]) -> SettingsError:
    listed = ", ".join(sorted(known)[:30]) or "none, so leave out --direct"
    named = f"The tags {', '.join(tags)} have" if tags else "The documents have"
    what = "no operation" if not count else f"{count} operations, more than the {MOST} that can be tools"
    return SettingsError(
        f"{named} {what}. Choose groups with --tag NAME, over HTTP also in the URL: /mcp?tags=a,b. The tags are: "
        f"{listed}."
    )

"""The threads of the command line as the page sees and runs them: each run is the one that a command would make."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from threading import Event, RLock
from typing import Any
from uuid import uuid4

from langgraph.errors import InvalidUpdateError
from langgraph.types import Command, StateSnapshot
from pydantic import ValidationError

from restgpt.calling.record import undo_report
from restgpt.client import Client, check_open
from restgpt.commands.agent_run import Agent
from restgpt.commands.ask import numbered, record_of_turn
from restgpt.commands.resume import is_over, open_agent, rest_of
from restgpt.commands.saved_recipe import graph_input, instruction_of_run, recipe_of_thread, settling, sources_of
from restgpt.commands.single_call import resources_of
from restgpt.commands.terminal import Terminal, UsageError, expected_errors, refuse_bytes
from restgpt.commands.ui.page_runs import Part, Runs, Work, text_of
from restgpt.graph.persistence import Persistence, history_of, thread_config, undo_thread, undone_by
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.recipe_run import filled
from restgpt.nodes.state.records import StateError
from restgpt.outcome import Ran
from restgpt.recipes.recipe import Recipe
from restgpt.server.page_routes import UnreadableThreadError
from restgpt.sources import Sources
from restgpt.specs import Operation
from restgpt.threads import SavedStates, ThreadRecord, Threads, checked_name, delete, due_threads, undeletable
from restgpt.tools.settings import Settings
from restgpt.tools.settings.entry import WRITES
from restgpt.tools.text.storable import storable_text

AGENT, UNDO = "restgpt", "undo"
"""The graphs of the page."""
DUE_S = 5
"""How often the page looks for threads that have waited long enough, in seconds."""

MOST_LISTED = 50
MOST_HISTORY = 4_000_000
"""The maximum size of one page of a thread's history, in bytes, unless one state is larger."""
STATUS = {"running": "busy", "paused": "interrupted", "stopped": "interrupted", "failed": "error", "done": "idle"}
"""The status of a thread in LangGraph's words."""
TITLES = ("restgpt", "page", "titles")
"""The namespace of the store with the titles that a person gave to threads."""
SHOWN = ("messages", "answer", "usage")
"""The keys of the state that the page gets while a run goes on."""


class PageThreads:
    """The threads of the database of the command line; new ones get `sources` and the settings `context`.

    All methods may be used from several threads at once.
    """

    def __init__(
        self,
        kept: Persistence,
        settings: Settings,
        *,
        sources: Sources,
        context: Mapping[str, Any],
        terminal: Terminal,
        runs: Runs,
    ) -> None:
        self._kept = kept
        self._settings = settings
        self._sources = sources
        self._context = context
        self._terminal = terminal
        self._runs = runs
        self._records = Threads(kept.store)
        self._states = SavedStates(kept)
        self._lock = RLock()
        self._opened: dict[tuple[str, str], Any] = {}
        # Threads in which nothing has run yet, which have no record.
        self._made: dict[str, dict[str, Any]] = {}
        # Records of killed runs, which need no look at their locks again.
        self._killed: dict[str, int] = {}
        # Whether a record of a failed run is one that came to its end, by its number.
        self._ended: dict[int, bool] = {}

    # What there is.

    def search(self, graph: str, limit: int = MOST_LISTED, *, is_waiting: bool = False) -> list[dict[str, Any]]:
        """Return the threads of a graph, or only those that wait for a person, the last used first."""
        is_undo = graph == UNDO
        kept = self._records.waiting() if is_waiting else self._records.newest(undos=is_undo)
        new = () if is_undo else sorted(self._made.values(), key=lambda made: str(made["updated_at"]), reverse=True)
        listed = chain(new, (self._shown(record) for record in kept if record.is_undo == is_undo))
        return list(islice((shown for shown in listed if shown["interrupts"] or not is_waiting), limit))

    def make(self, graph: str, name: str, thread: str | None = None) -> dict[str, Any]:
        """Make a thread, or return it if there is one; it is kept from its first run on."""
        base = None if thread is None else undone_by(thread)
        if graph == UNDO or base is not None:
            return {"thread_id": undo_thread(self._records.get(base or "").thread)}
        named = uuid4().hex[:12] if thread is None else checked_name(thread)
        if self._records.find(named) is None:
            about = {"graph_id": AGENT, "name": name}
            made = {"thread_id": named, "status": "idle", "metadata": about, "interrupts": {}}
            self._made.setdefault(named, {**made, "updated_at": _at(datetime.now(UTC).isoformat(), 0)})
        return self.get(named)

    def get(self, thread: str) -> dict[str, Any]:
        """Return a thread as it is listed; raises `UsageError`."""
        if (record := self._records.find(thread)) is not None:
            return self._shown(record)
        if (base := undone_by(thread)) is not None and self._records.get(base):
            status = "busy" if self._runs.is_running(thread) else "idle"
            return {"thread_id": thread, "status": status, "metadata": {"graph_id": UNDO}}
        return self._made.get(thread) or self._shown(self._records.get(thread))

    def _shown(self, record: ThreadRecord) -> dict[str, Any]:
        is_running = self._runs.is_running(record.thread)
        is_killed = record.status == "running" and not self._is_busy(record)
        waits = (record.status == "paused" or is_killed) and not is_running
        title = self._kept.store.get(TITLES, record.thread)
        sources = record.sources
        about = {
            "graph_id": UNDO if record.is_undo else AGENT,
            "name": record.instruction if title is None else title.value["name"],
            "apis": [*sources.names, *(spec.rpartition("/")[2] for spec in sources.specs)],
            "is_dry": record.context.get("writes") == "dry-run",
            "is_unfulfilled": record.status == "failed" and not is_running and self._is_ended(record),
        }
        return {
            "thread_id": record.thread,
            "status": "busy" if is_running else "interrupted" if is_killed else STATUS[record.status],
            "updated_at": _at(record.updated, record.written),
            "metadata": about,
            "interrupts": _interrupts(self._snapshot(record.thread)) if waits else {},
        }

    def _is_ended(self, record: ThreadRecord) -> bool:
        """Whether a run that counts as failed came to its end: then its instruction is not fulfilled."""
        if record.written not in self._ended:
            self._ended[record.written] = not self._snapshot(record.thread).tasks
        return self._ended[record.written]

    def rename(self, thread: str, name: str) -> dict[str, Any]:
        """Give a thread a title, which only the page shows, and return the thread."""
        record = self._records.get(thread)
        self._kept.store.put(TITLES, thread, {"name": storable_text(name.strip()) or record.instruction}, index=False)
        return self.get(thread)

    def choices(self) -> dict[str, Any]:
        """Return what may be chosen for the next run: APIs, how changes are treated at most, and its model else."""
        apis = tuple(self._settings.apis) if self._sources.is_empty else self._sources.names
        writes = WRITES[: WRITES.index(self._context.get("writes", "ask")) + 1]
        return {"apis": apis, "writes": writes, "model": self._context.get("model") or self._settings.model or ""}

    def _is_busy(self, record: ThreadRecord) -> bool:
        if self._killed.get(record.thread) == record.written:
            return False
        # The undo of a thread is run under the lock of the thread.
        name = record.thread.partition("/")[0]
        is_busy = self._runs.is_running(record.thread) or self._kept.is_busy(name)
        if not is_busy:
            self._killed[record.thread] = record.written
        return is_busy

    def state(self, thread: str) -> dict[str, Any]:
        """Return the newest state of a thread; raises `UsageError`."""
        if thread in self._made and self._records.find(thread) is None:
            return {"values": {}, "next": [], "tasks": [], "checkpoint": None, "parent_checkpoint": None}
        base = undone_by(thread)
        record = self._records.get(base or thread)
        snapshot = self._snapshot(thread)
        # Also a task that has ended, but not its step; `snapshot.next` omits it.
        shown = _state(snapshot) | {"next": [task.name for task in snapshot.tasks]}
        if base is not None or record.turn == 0:
            shown["values"] = {**snapshot.values, "messages": _said(snapshot, record, thread)}
        elif record.status != "done" and not self._runs.is_running(thread) and self._is_unbegun(snapshot, record):
            # It was killed before its first checkpoint; what comes next is its beginning.
            said = [*snapshot.values.get("messages", ()), {"id": "", "type": "human", "content": record.instruction}]
            shown |= {"values": {**snapshot.values, "messages": said}, "next": ["__start__"]}
        return shown

    def _is_unbegun(self, snapshot: StateSnapshot, record: ThreadRecord) -> bool:
        return not snapshot.tasks and int(snapshot.values.get("turn", 0)) < record.turn and not self._is_busy(record)

    def values(self, thread: str) -> Mapping[str, Any]:
        """Return the values of the newest state of a thread; raises `UnreadableThreadError`."""
        try:
            found: Mapping[str, Any] = self.state(thread)["values"]
        except UsageError as error:
            raise UnreadableThreadError(str(error)) from None
        return found

    def history(self, thread: str, *, limit: int, before: str = "") -> list[dict[str, Any]]:
        """Return the saved states of a thread, the newest first, from those before a checkpoint on.

        Each has the steps of its own turn. Returns fewer states than `limit` where they are large, but always one.
        """
        found: list[dict[str, Any]] = []
        size = 0
        for item in islice(history_of(self._reader(thread), thread, before), limit):
            state = _state(item)
            if "steps" in item.values:
                own = [step for step in item.values["steps"] if step["turn"] == item.values["turn"]]
                state["values"] = {**item.values, "steps": own}
            size += len(text_of(state))
            if found and size > MOST_HISTORY:
                break
            found.append(state)
        return found

    def picture(self, graph: str) -> dict[str, Any]:
        """Return the nodes and edges of a graph."""
        drawn = self._states.graph("agent" if graph == AGENT else "call")
        found: dict[str, Any] = drawn.get_graph().to_json()
        return found

    def _snapshot(self, thread: str) -> StateSnapshot:
        found: StateSnapshot = self._reader(thread).get_state(thread_config(thread))
        return found

    def _reader(self, thread: str) -> Any:
        """Return the graph of a thread, which reads its states without any document."""
        if (record := self._records.find(thread)) is not None:
            return self._states.graph(record.kind, record.recipe)
        return self._states.graph("agent" if undone_by(thread) is None else "call")

    # What belongs to a thread.

    def services(self, thread: str) -> Services:
        """Return the APIs of a thread, for what is shown of it; raises `UsageError`, `SpecError`."""
        return self._resources(self._records.get(undone_by(thread) or thread))

    def _resources(self, record: ThreadRecord) -> Services:
        made = partial(resources_of, record, self._settings, self._kept)
        found: Services = self._kept_open("services", record, made)
        return found

    def lookup(self, operation: str) -> Operation | None:
        """Find an operation of the threads that were opened last, or of those that wait for a decision."""
        opened = [found for (kind, _), found in reversed(list(self._opened.items())) if kind == "services"]
        waiting = (self._resources(record) for record in self._records.waiting() if not record.sources.is_empty)
        for services in chain(opened, waiting):
            found: Operation | None = services.catalogue(()).lookup(operation)
            if found is not None:
                return found
        return None

    def _agent(self, record: ThreadRecord) -> Agent:
        key = f"agent {json.dumps(record.recipe, sort_keys=True)}"
        if model := self._context.get("model"):
            record = replace(record, context={"model": model, **record.context})
        found: Agent = self._kept_open(key, record, lambda: open_agent(record, self._settings, self._kept))
        return found

    def _client(self, record: ThreadRecord) -> Client:
        made = self._resources(record)
        found: Client = self._kept_open("client", record, lambda: Client(services=made, **self._kept.saved))
        return found

    def _kept_open(self, kind: str, record: ThreadRecord, make: Callable[[], Any]) -> Any:
        """Return what was opened for threads with these APIs and settings, with connections and waiting programs."""
        key = (kind, json.dumps([repr(record.sources), dict(record.context)], sort_keys=True))
        with self._lock:
            # The last used one comes last.
            self._opened[key] = self._opened.pop(key, None) or make()
            return self._opened[key]

    # What changes it.

    def edit(self, thread: str, values: Mapping[str, Any], *, node: str | None, checkpoint: str) -> dict[str, Any]:
        """Save an edited state after a checkpoint, and return the checkpoint that has it."""
        record = self._records.get(thread)
        if record.turn == 0:
            raise UsageError("The state of calls without a model cannot be edited.")
        with self._kept.lock(thread):
            config = self._saved(thread, checkpoint).config
            try:
                made = self._reader(thread).update_state(config, dict(values), as_node=node)
            except (StateError, InvalidUpdateError) as error:
                raise UsageError(str(error)) from None
            except KeyError as error:
                raise UsageError(
                    f"This state has no {error.args[0]}, by which the graph goes on after {node}. Give it too, or edit "
                    "the state as another node."
                ) from None
        return {"checkpoint": made["configurable"]}

    def _saved(self, thread: str, checkpoint: str) -> StateSnapshot:
        """Return the state of a thread at its newest or a named checkpoint; raises `UsageError` if there is none."""
        found: StateSnapshot = self._reader(thread).get_state(thread_config(thread, checkpoint))
        if checkpoint and found.metadata is None:
            raise UsageError(f"The thread {thread} has no checkpoint {checkpoint}. Read its history for those it has.")
        return found

    def delete(self, thread: str) -> None:
        """Delete a thread for good; raises `UsageError` for one that is in use or has a change of unknown outcome."""
        if self._made.pop(thread, None) is None or self._records.find(thread) is not None:
            record = self._records.get(thread)
            self._check_idle(thread)
            if reasons := undeletable(self._kept, [record]) or delete(self._kept, [record]):
                raise UsageError(reasons[thread])
            self._kept.store.delete(TITLES, thread)
        self._runs.forget(thread)

    def begin(
        self,
        thread: str,
        given: Mapping[str, Any],
        *,
        answers: Any = None,
        checkpoint: str = "",
        wish: Mapping[str, Any] = {},
    ) -> Work:
        """Lock a thread for a run with an input, with answers by interrupt, or from a checkpoint on.

        A new instruction has the settings of the `wish`, which are among the `choices`. Raises `ThreadBusyError`,
        `UsageError`, `ModelError` and what else the command for it raises, before it runs.
        """
        base = undone_by(thread)
        self._check_idle(thread)
        if answers is not None:
            self._check_open(thread, answers)
        with ExitStack() as stack:
            stack.enter_context(self._kept.lock(base or thread))
            record = self._records.find(base or thread)
            if base is not None:
                parts = self._undo(self._records.get(base), given, answers)
            elif record is not None and record.turn == 0 and not given:
                parts = self._calls(record, answers)
            elif "recipe" in given:
                parts = self._recipe(thread, given["recipe"])
            elif given:
                parts = self._turn(thread, _text(given), wish)
            else:
                parts = self._rest(self._records.get(thread), answers, checkpoint)
            return Work(parts, stack.pop_all().close)

    def resume_due(self, over: Event, every: float = DUE_S) -> None:
        """Go on with each thread that is due, until this is `over`; look `every` seconds."""
        while not over.wait(every):
            for thread, answers in due_threads(self._kept).items():
                with suppress(*expected_errors()):  # another process may have gone on with it
                    self._runs.start(thread, self.begin(thread, {}, answers=answers or None))

    def _check_idle(self, thread: str) -> None:
        if self._runs.is_running(thread):
            raise UsageError("A run of this thread goes on. Wait for its end, or stop it.")

    def _check_open(self, thread: str, answers: Any) -> None:
        """Raise `OutdatedDecisionError` unless each answer is for a question that is open, by its id."""
        check_open(self._snapshot(thread), answers if isinstance(answers, Mapping) else (), thread)

    def _turn(self, thread: str, text: str, wish: Mapping[str, Any]) -> Iterator[Part]:
        """Begin a turn, as `restgpt ask` does."""
        if not text.strip():
            raise UsageError("The instruction is empty.")
        refuse_bytes(text)
        is_new = self._records.find(thread) is None
        sources, context = (self._sources, self._context) if is_new else (Sources(), {})
        choices, names = self.choices(), wish.get("apis", ())
        context = {**context, **{name: wish[name] for name in ("model", "writes") if wish.get(name)}}
        if context.get("writes", WRITES[0]) not in choices["writes"] or set(names) - set(choices["apis"]):
            raise UsageError("These settings go beyond those that `restgpt ui` was started with. Start it with more.")
        sources = replace(self._sources, names=tuple(names)) if names else sources
        record = record_of_turn(self._records, checked_name(thread), text, sources, context)
        record = replace(record, sources=record.sources.or_all(self._settings))
        agent = self._agent(record)
        return self._driven(agent, numbered(record, agent), {"messages": [("user", text)]})

    def _recipe(self, thread: str, given: Any) -> Iterator[Part]:
        """Run a recipe in a new thread, as `restgpt recipe run` does."""
        try:
            recipe = Recipe.model_validate(given["recipe"])
        except (ValidationError, KeyError, TypeError):
            raise UsageError("This is no recipe.") from None
        inputs = given.get("inputs") or {}
        run = recipe_of_thread(recipe, filled(recipe, inputs), inputs)
        sources, _ = sources_of(recipe, self._sources, self._settings)
        record = ThreadRecord(checked_name(thread), instruction_of_run(run), sources, self._context, recipe=run)
        agent = self._agent(record)
        return self._driven(agent, numbered(record, agent), graph_input(run))

    def _rest(self, record: ThreadRecord, answers: Any, checkpoint: str) -> Iterator[Part]:
        """Go on with a thread as `restgpt resume` does, or from an earlier checkpoint."""
        agent = self._agent(record)
        if checkpoint:
            values = self._saved(record.thread, checkpoint).values
            # The thread is then in the turn of the checkpoint, which a later `resume` goes on with.
            turn, said = int(values.get("turn", record.turn)), values.get("instruction") or record.instruction
            return self._driven(agent, replace(record, turn=turn, instruction=str(said)), None, checkpoint)
        if answers is not None:
            return self._driven(agent, record, Command(resume=dict(answers)))
        if agent.outcome(record.thread).pending:
            raise UsageError("A change waits for a decision.")
        if is_over(agent, record):
            raise UsageError("The thread has nothing left to run.")
        return self._driven(agent, record, rest_of(agent, record))

    def _driven(self, agent: Agent, record: ThreadRecord, given: Any, checkpoint: str = "") -> Iterator[Part]:
        """Run a thread of the agent, and note in its record how it ended, as the commands do."""
        self._made.pop(record.thread, None)
        # Before this returns, so that no list has a time without the thread.
        record = self._records.mark(record, "running")
        settle = settling(record.recipe, record.thread, self._terminal) if record.recipe else None

        def parts() -> Iterator[Part]:
            with self._records.running(record) as note:
                stream = agent.parts(record.thread, given, ("custom", "messages", "values"), checkpoint=checkpoint)
                with closing(stream):  # type: ignore[type-var]
                    for mode, data in stream:
                        yield mode, _streamed(mode, data)
                outcome = agent.outcome(record.thread)
                note(outcome.status if settle is None else settle(outcome).status)

        return parts()

    def _calls(self, record: ThreadRecord, answers: Any) -> Iterator[Part]:
        """Finish and decide calls without a model, as `restgpt resume` does."""
        client = self._client(record)

        def parts() -> Iterator[Part]:
            if answers is None:
                client.outcome(record.thread)
            else:
                client.resume(record.thread, answers)
            yield "values", {}

        return parts()

    def _undo(self, record: ThreadRecord, given: Mapping[str, Any], answers: Any) -> Iterator[Part]:
        """Undo the changes of a thread, or decide about it, as `restgpt undo` does."""
        client, changes = self._client(record), given.get("changes")
        steps = changes if isinstance(changes, int) and changes > 0 else None

        def parts() -> Iterator[Part]:
            if answers is None:
                client.undo(record.thread, steps=steps)
            else:
                client.resume(undo_thread(record.thread), answers)
            yield "values", {}

        return parts()


def _text(given: Mapping[str, Any]) -> str:
    """Return the instruction in the input of a run."""
    try:
        return str(given["messages"][-1]["content"])
    except (LookupError, TypeError):
        raise UsageError("The input has no instruction.") from None


def _at(time: str, number: int) -> str:
    """Return a time with a number behind its second, because databases note whole seconds only."""
    return f"{time[:19]}.{number % 10**9:09}Z"


def _interrupts(snapshot: StateSnapshot) -> dict[str, Any]:
    tasks = {task.id: [{"id": pause.id, "value": pause.value} for pause in task.interrupts] for task in snapshot.tasks}
    return {task: pauses for task, pauses in tasks.items() if pauses}


def _state(snapshot: StateSnapshot) -> dict[str, Any]:
    """Return a saved state as LangGraph's server writes it."""
    waiting = _interrupts(snapshot)
    parent = snapshot.parent_config
    return {
        "values": snapshot.values,
        "next": list(snapshot.next),
        "tasks": [
            {"id": task.id, "name": task.name, "error": task.error, "interrupts": waiting.get(task.id, [])}
            for task in snapshot.tasks
        ],
        "metadata": snapshot.metadata,
        "created_at": snapshot.created_at,
        "checkpoint": snapshot.config["configurable"],
        "parent_checkpoint": None if parent is None else parent["configurable"],
        "interrupts": [pause for pauses in waiting.values() for pause in pauses],
    }


def _said(snapshot: StateSnapshot, record: ThreadRecord, thread: str) -> list[dict[str, str]]:
    """Return what was said in a thread without a model: what was wanted, and in the end what became of it."""
    is_undo = undone_by(thread) is not None
    wanted = f"Undo the changes of the thread {record.thread}." if is_undo else record.instruction
    said = [{"id": "wanted", "type": "human", "content": wanted}]
    values = snapshot.values
    if snapshot.tasks or not values:
        return said
    if values.get("program"):
        found = Ran.of(values)
        return said if found is None else [*said, {"id": "told", "type": "ai", "content": found.text}]
    records = [item for item in values.get("requests", ()) if item["round"] == values.get("round")]
    return [*said, {"id": "told", "type": "ai", "content": undo_report(records)}]


def _streamed(mode: str, data: Any) -> Any:
    if mode == "values":
        return {name: data[name] for name in SHOWN if name in data}
    return [data[0], {}] if mode == "messages" else data

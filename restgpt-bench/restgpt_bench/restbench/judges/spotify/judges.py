"""Judges of runs: the account must be the wanted one, or the answer true, and nothing else may change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from restgpt_bench.restbench.judges.answer import Expectation, Verdict
from restgpt_bench.restbench.judges.spotify.changes import changes
from restgpt_bench.restbench.judges.task import follows
from restgpt_bench.worlds.log import LogEntry
from restgpt_bench.worlds.spotify.account import Account, Playlist
from restgpt_bench.worlds.spotify.fixtures import open_account
from restgpt_bench.worlds.world import World

# Lists whose order does not count: two ways to the same library may fill it in different orders.
UNORDERED = ("saved_tracks", "saved_albums", "followed_artists", "followed_users")
Found = TypeVar("Found")
DONE = "Done."
NOT_DONE = "I could not do that."


class Judge(Protocol):
    """Decides on a task from the world after the run, the request log and the answer."""

    def check(self, world: World[Any], log: Sequence[LogEntry], answer: str) -> Verdict:
        """Whether the task was done, and only it."""
        ...

    def right(self, world: World[Any]) -> str:
        """A true answer."""
        ...

    def wrong(self, world: World[Any]) -> str:
        """An answer that is not true."""
        ...


@dataclass(frozen=True, slots=True)
class Says:
    """The answer says what is true of the account at the start, was looked up, and nothing changed."""

    truth: Callable[[Account], Expectation]

    def check(self, world: World[Any], log: Sequence[LogEntry], answer: str) -> Verdict:
        """Compare the states, look for a fulfilled request, then read the answer."""
        before = start(world)
        found = differences(before.dump(), world.state.dump())
        if found:
            return Verdict(False, f"changed something: {found[0]}")
        if not any(entry.ok for entry in log):
            return Verdict(False, "answered without looking anything up")
        return self.truth(before).judge(answer)

    def right(self, world: World[Any]) -> str:
        """The truth in the shortest words."""
        return self.truth(start(world)).right()

    def wrong(self, world: World[Any]) -> str:
        """Something of the same kind that is false."""
        return self.truth(start(world)).wrong()


class _Change:
    """The base of judges of changes: the answer does not count."""

    __slots__ = ()

    def right(self, world: World[Any]) -> str:
        """A plain confirmation."""
        return DONE

    def wrong(self, world: World[Any]) -> str:
        """A plain denial."""
        return NOT_DONE


@dataclass(frozen=True, slots=True)
class Becomes(_Change):
    """The account is exactly what `edit` makes of the account at the start.

    `order` must be a subsequence of the fulfilled requests; the state named in `free` is left out of the comparison,
    as "component" or "component.field".
    """

    edit: Callable[[Account], None]
    order: tuple[str, ...] = ()
    free: tuple[str, ...] = ()

    def check(self, world: World[Any], log: Sequence[LogEntry], answer: str) -> Verdict:
        """Compare with the edited account."""
        before, expected = start(world), start(world)
        self.edit(expected)
        # The number of songs that were begun before the right one does not count.
        moved = expected.player.history != before.player.history
        found = differences(expected.dump(), world.state.dump(), free=(*self.free, *(("history",) if moved else ())))
        if found:
            return Verdict(False, f"not as wanted: {found[0]}")
        return _in_order(log, self.order)


@dataclass(frozen=True, slots=True)
class Meets(_Change):
    """The account meets a condition that several end states meet, and is unchanged outside of `touched`.

    `problem` compares the account at the start and at the end and returns what is wrong, or None.
    """

    problem: Callable[[Account, Account], str | None]
    touched: tuple[str, ...]
    order: tuple[str, ...] = ()

    def check(self, world: World[Any], log: Sequence[LogEntry], answer: str) -> Verdict:
        """Ask for the problem, then compare the rest."""
        before: Account = start(world)
        problem = _found(self.problem, before, world.state)
        if problem:
            return Verdict(False, problem)
        found = differences(before.dump(), world.state.dump(), free=self.touched)
        if found:
            return Verdict(False, f"changed something else: {found[0]}")
        return _in_order(log, self.order)


@dataclass(frozen=True, slots=True)
class Creates(_Change):
    """Exactly one playlist is new, it is the listener's own and called `name`, and `problem` finds its tracks right.

    `problem` reads the account at the start and the URIs in the new playlist.
    """

    name: str
    problem: Callable[[Account, list[str]], str | None]

    def check(self, world: World[Any], log: Sequence[LogEntry], answer: str) -> Verdict:
        """Find the new playlist, look into it, then compare the rest."""
        before, after = start(world), world.state
        known = {item.id for item in before.playlists}
        made = [item for item in after.playlists if item.id not in known]
        if len(made) != 1 or not isinstance(made[0], Playlist):
            return Verdict(False, f"{len(made)} new playlists instead of one")
        if made[0].name.strip() != before.catalogue.said("name", self.name):
            return Verdict(False, f"the playlist is called {made[0].name}")
        problem = _found(self.problem, before, [item.uri for item in made[0].items])
        if problem:
            return Verdict(False, problem)
        rest = after.dump()
        rest["playlists"] = [item for item in rest["playlists"] if item["id"] != made[0].id]
        found = differences(before.dump(), rest)
        return Verdict(not found, f"changed something else: {found[0]}" if found else "the playlist is as wanted")


def start(world: World[Any]) -> Account:
    """A fresh account as it was after the world's last reset."""
    account = open_account(world.seed, world.fixture)
    account.catalogue = replace(account.catalogue, exchanged=world.exchanged)
    return account


def differences(before: Mapping[str, Any], after: Mapping[str, Any], *, free: Sequence[str] = ()) -> list[str]:
    """The differences between two dumps of accounts, without those in `free`."""
    return changes(_comparable(before, free), _comparable(after, free))


def _found(problem: Callable[[Account, Found], str | None], before: Account, found: Found) -> str | None:
    try:
        return problem(before, found)
    except LookupError as error:
        # A podcast in place of a song, or nothing at all.
        return f"something else than music was found: {error}"


def _comparable(state: Mapping[str, Any], free: Sequence[str]) -> dict[str, Any]:
    kept = {name: value for name, value in state.items() if name not in free}
    for name in UNORDERED:
        if name in kept:
            kept[name] = sorted(kept[name])
    if isinstance(kept.get("player"), dict):
        kept["player"] = {name: value for name, value in kept["player"].items() if f"player.{name}" not in free}
    return kept


def _in_order(log: Sequence[LogEntry], order: Sequence[str]) -> Verdict:
    if not follows([entry.operation for entry in log if entry.ok], order):
        return Verdict(False, f"not done in this order: {', '.join(order)}")
    return Verdict(True, "the state is as wanted and nothing else changed")

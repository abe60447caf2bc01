"""The player: the track that plays, its context, the queue and the history."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Play:
    """A track of the history, with its context and the Unix time in milliseconds."""

    track: str
    context: str | None
    played_at: int


def milliseconds(moment: datetime) -> int:
    """Unix time in milliseconds."""
    return int(moment.timestamp() * 1000)


@dataclass(slots=True)
class Player:
    """Playback of one listener, in URIs.

    `items` are the tracks of the context (or the single tracks asked for) and `position` the place in them; an item of
    the listener's own queue plays before the context goes on, and does not move `position`.
    """

    track: str | None = None
    context: str | None = None
    items: list[str] = field(default_factory=list)
    position: int = 0
    is_playing: bool = False
    progress_ms: int = 0
    repeat: str = "off"
    shuffle: bool = False
    queue: list[str] = field(default_factory=list)
    history: list[Play] = field(default_factory=list)

    @property
    def upcoming(self) -> list[str]:
        """The URIs that will play next: the listener's queue, then the rest of the context."""
        return [*self.queue, *self.items[self.position + 1 :]]

    def start(self, items: Sequence[str], *, context: str | None, position: int, progress_ms: int, now: int) -> None:
        """Play `items` from `position`."""
        self._remember(now)
        self.items, self.context, self.position = list(items), context, position
        self._play(self.items[position], progress_ms)

    def skip(self, now: int) -> None:
        """Go to the next item; after the last one of a context, back to its first, paused unless it repeats."""
        self._remember(now)
        if self.queue:
            self._play(self.queue.pop(0))
        elif self.position + 1 < len(self.items):
            self.position += 1
            self._play(self.items[self.position])
        elif self.items:
            self.position = 0
            self._play(self.items[0])
            self.is_playing = self.repeat == "context"

    def back(self, now: int) -> None:
        """Go to the item before; from an item of the queue, back into the context; from the first one, to its start."""
        if self.items and self.track == self.items[self.position]:
            if self.position:
                self._remember(now)
            self.position = max(0, self.position - 1)
        else:
            self._remember(now)
        if self.items:
            self._play(self.items[self.position])

    def dump(self) -> dict[str, Any]:
        """The state as plain values, without the queue and the history."""
        return {
            "track": self.track,
            "context": self.context,
            "items": list(self.items),
            "position": self.position,
            "is_playing": self.is_playing,
            "progress_ms": self.progress_ms,
            "repeat": self.repeat,
            "shuffle": self.shuffle,
        }

    def _play(self, track: str, progress_ms: int = 0) -> None:
        self.track, self.progress_ms, self.is_playing = track, progress_ms, True

    def _remember(self, now: int) -> None:
        # Spotify's history holds songs only.
        if self.track is not None and self.track.startswith("spotify:track:"):
            self.history.insert(0, Play(self.track, self.context, now))

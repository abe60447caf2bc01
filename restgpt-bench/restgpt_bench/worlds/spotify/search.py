"""Search in the catalogue: words and field filters, best match and most popular first."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from restgpt_bench.worlds.spotify.catalogue import Album, Artist, Catalogue, Track, open_catalogue

FILTER = re.compile(
    r'\b(track|artist|album|genre|year|isrc|upc):\s*("[^"]*"|\S+(?:\s+(?!\w+:)[^\s":]+)*)', re.IGNORECASE
)
SHORT_FILTERS = frozenset({"year", "isrc", "upc"})
FILLERS = frozenset({"a", "an", "and", "by", "for", "from", "in", "me", "of", "on", "some", "the", "to"})
FILLERS |= {"album", "artist", "music", "playlist", "song", "track"}


@dataclass(frozen=True, slots=True)
class Query:
    """A search text cut into free words and filters."""

    text: str
    words: frozenset[str]
    filters: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """An item in the index: its words, the fields that filters compare, and the item itself."""

    item: Any
    name: str
    words: frozenset[str]
    fields: dict[str, frozenset[str]]
    year: int | None
    popularity: int


@lru_cache(maxsize=20_000)
def words_of(text: str) -> frozenset[str]:
    """The words of `text`, folded: no case, no accents, no possessive or plural s."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    found = re.findall(r"\w+", re.sub(r"['’]s\b", "", plain).replace("'", ""))
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found)


def parse(text: str) -> Query:
    """Cut a search text into free words and filters; an unquoted filter reaches to the next filter."""
    filters: dict[str, str] = {}

    def take(match: re.Match[str]) -> str:
        name, value = match[1].lower(), match[2].strip().strip('"')
        first, _, rest = value.partition(" ")
        if name in SHORT_FILTERS:
            filters[name] = first
            return f" {rest} "
        filters[name] = value
        return " "

    free = re.sub(r"\s+", " ", FILTER.sub(take, text)).strip(' "')
    return Query(free, words_of(free), filters)


def find(catalogue: Catalogue, kind: str, text: str) -> list[Any]:
    """Items of `kind` that fit the search text, best first.

    All words must be found, filler words aside; if nothing has them all, the items that have most of them are returned.
    """
    query = parse(text)
    entries = [entry for entry in _index(catalogue.seed, kind) if _passes(entry, query.filters)]
    needed = (query.words - FILLERS) or query.words
    best = max((len(needed & entry.words) for entry in entries), default=0)
    if needed and (best == 0 or best * 2 < len(needed)):
        return []
    found = [entry for entry in entries if len(needed & entry.words) == best]
    found.sort(key=lambda entry: (_distance(entry, query, needed), -entry.popularity, entry.item.id))
    return [entry.item for entry in found]


def _distance(entry: Entry, query: Query, needed: frozenset[str]) -> int:
    name = words_of(entry.name)
    if not needed:
        return 0
    if name == query.words or name - FILLERS == needed:
        return 0
    return 1 if needed <= name else 2


def _passes(entry: Entry, filters: dict[str, str]) -> bool:
    for name, value in filters.items():
        if name == "year":
            if not _in_years(entry.year, value):
                return False
        elif name not in entry.fields or not words_of(value) <= entry.fields[name]:
            return False
    return True


def _in_years(year: int | None, value: str) -> bool:
    match = re.fullmatch(r"(\d{4})(?:-(\d{4}))?", value)
    if year is None or match is None:
        return False
    return int(match[1]) <= year <= int(match[2] or match[1])


@cache
def _index(seed: int, kind: str) -> Sequence[Entry]:
    catalogue = open_catalogue(seed)
    makers: dict[str, Callable[[Catalogue], Iterable[Entry]]] = {
        "artist": _artists,
        "album": _albums,
        "track": _tracks,
        "playlist": _playlists,
        "show": _spoken,
        "episode": _episodes,
        "audiobook": _books,
    }
    return tuple(makers[kind](catalogue))


def _artists(catalogue: Catalogue) -> Iterable[Entry]:
    for artist in catalogue.artists.values():
        name, genre = words_of(artist.name), _genre_words([artist])
        yield Entry(artist, artist.name, name | genre, {"artist": name, "genre": genre}, None, artist.popularity)


def _albums(catalogue: Catalogue) -> Iterable[Entry]:
    for album in catalogue.albums.values():
        performers = [catalogue.artists[key] for key in album.artists]
        fields = {**_performed(performers), "album": words_of(album.name), "upc": words_of(album.upc)}
        words = fields["album"] | fields["artist"] | fields["genre"]
        yield Entry(album, album.name, words, fields, album.released.year, _rank(performers, album))


def _tracks(catalogue: Catalogue) -> Iterable[Entry]:
    for track in catalogue.tracks.values():
        performers = [catalogue.artists[key] for key in track.artists]
        album = catalogue.albums[track.album]
        fields = {
            **_performed(performers),
            "track": words_of(track.name),
            "album": words_of(album.name),
            "isrc": words_of(track.isrc),
        }
        words = fields["track"] | fields["artist"] | fields["album"] | fields["genre"]
        yield Entry(track, track.name, words, fields, album.released.year, _rank(performers, track))


def _rank(performers: list[Artist], item: Album | Track) -> int:
    """By the primary artist first, then by the item itself."""
    return performers[0].popularity * 100 + item.popularity


def _performed(performers: list[Artist]) -> dict[str, frozenset[str]]:
    names = frozenset[str]().union(*(words_of(artist.name) for artist in performers))
    return {"artist": names, "genre": _genre_words(performers)}


def _genre_words(performers: list[Artist]) -> frozenset[str]:
    return frozenset[str]().union(*(words_of(genre) for artist in performers for genre in artist.genres))


def _playlists(catalogue: Catalogue) -> Iterable[Entry]:
    for item in catalogue.playlists.values():
        words = words_of(item.name) | words_of(item.description)
        yield Entry(item, item.name, words, {}, None, item.followers)


def _spoken(catalogue: Catalogue) -> Iterable[Entry]:
    for show in catalogue.shows.values():
        yield Entry(show, show.name, words_of(show.name) | words_of(show.publisher), {}, None, 0)


def _episodes(catalogue: Catalogue) -> Iterable[Entry]:
    for episode in catalogue.episodes.values():
        words = words_of(episode.name) | words_of(catalogue.shows[episode.show].name)
        yield Entry(episode, episode.name, words, {}, episode.released.year, 0)


def _books(catalogue: Catalogue) -> Iterable[Entry]:
    for book in catalogue.audiobooks.values():
        yield Entry(book, book.name, words_of(book.name) | words_of(book.author), {}, None, 0)

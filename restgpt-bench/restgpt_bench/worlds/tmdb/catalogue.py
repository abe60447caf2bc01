"""The records of the simulated film database, and the look-ups that handlers and checks share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol, TypeVar, cast

from restgpt_bench.worlds.tmdb.words import DIRECTOR

Said = TypeVar("Said", str, int)

STAR_VOTES = 300
"""A title with fewer votes is in no list of the best rated."""


@dataclass(frozen=True, slots=True)
class Role:
    """A part in a cast: a person plays a character; `order` 0 is the lead."""

    person: int
    character: str
    order: int


@dataclass(frozen=True, slots=True)
class Job:
    """A place in a crew."""

    person: int
    department: str
    job: str


@dataclass(slots=True)
class Person:
    """A person."""

    id: int
    name: str
    birthday: date
    place_of_birth: str
    gender: int
    department: str
    popularity: float


@dataclass(frozen=True, slots=True)
class Maker:
    """A production company or a television network."""

    id: int
    name: str
    headquarters: str
    country: str
    homepage: str


@dataclass(frozen=True, slots=True)
class Company(Maker):
    """A production company."""

    founded: int


@dataclass(frozen=True, slots=True)
class Network(Maker):
    """A television network."""


@dataclass(slots=True)
class Title:
    """The base of films and shows; `name` is the title, `released` the first date."""

    id: int
    name: str
    released: date
    popularity: float
    vote_average: float
    vote_count: int
    genres: tuple[int, ...]
    language: str
    companies: tuple[int, ...]
    keywords: tuple[int, ...]
    reviews: int = 2
    cast: list[Role] = field(default_factory=list)
    crew: list[Job] = field(default_factory=list)
    similar: tuple[int, ...] = ()
    recommended: tuple[int, ...] = ()

    @property
    def lead(self) -> int:
        """The person billed first."""
        return min(self.cast, key=lambda role: role.order).person

    @property
    def directors(self) -> list[int]:
        """The people whose job is Director."""
        return [job.person for job in self.crew if job.job == DIRECTOR]


@dataclass(slots=True)
class Movie(Title):
    """A film."""

    runtime: int = 100
    budget: int = 0
    revenue: int = 0
    certification: str = "PG"
    collection: int | None = None


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode of a season."""

    id: int
    show: int
    season: int
    number: int
    air_date: date
    vote_average: float
    crew: tuple[Job, ...]
    guests: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class Season:
    """A season of a show."""

    id: int
    show: int
    number: int
    air_date: date
    episodes: tuple[Episode, ...]

    @property
    def crew(self) -> list[Job]:
        """All jobs of the episodes, each once."""
        return list(dict.fromkeys(job for episode in self.episodes for job in episode.crew))


@dataclass(slots=True)
class Show(Title):
    """A television show; `cast` is the main cast of all seasons, `crew` the crew of the whole series."""

    networks: tuple[int, ...] = ()
    country: str = "US"
    running: bool = False
    kind: str = "Scripted"
    run_time: int = 45
    seasons: dict[int, Season] = field(default_factory=dict)

    @property
    def episodes(self) -> int:
        """The number of episodes of all seasons."""
        return sum(len(season.episodes) for season in self.seasons.values())


AnyTitle = TypeVar("AnyTitle", bound=Title)


@dataclass(frozen=True, slots=True)
class Collection:
    """Films that belong together; `parts` are ids in no order."""

    id: int
    name: str
    parts: tuple[int, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class Charts:
    """The lists of the database, as ids in the order they are served."""

    now_playing: tuple[int, ...]
    on_the_air: tuple[int, ...]
    airing_today: tuple[int, ...]
    trending: dict[tuple[str, str], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Credit:
    """The part or the job of one person in one title."""

    title: Title
    part: Role | Job
    episodes: int = 1

    @property
    def code(self) -> str:
        """The credit id, of 24 hexadecimal digits."""
        return digest(f"credit {kind_of(self.title)} {self.title.id} {self.part}")

    @property
    def acts(self) -> bool:
        """Whether the person plays a role."""
        return isinstance(self.part, Role)

    @property
    def directs(self) -> bool:
        """Whether the person's job is Director."""
        return isinstance(self.part, Job) and self.part.job == DIRECTOR


@dataclass(slots=True)
class Catalogue:
    """All data of the simulated API; nothing changes it once it is built."""

    seed: int
    people: dict[int, Person]
    movies: dict[int, Movie]
    shows: dict[int, Show]
    companies: dict[int, Company]
    networks: dict[int, Network]
    collections: dict[int, Collection]
    movie_genres: dict[int, str]
    tv_genres: dict[int, str]
    keywords: dict[int, str]
    charts: Charts
    credits: "CreditIndex"
    exchanged: Mapping[tuple[str, Any], Any] = field(default_factory=dict)

    def said(self, kind: str, value: Said) -> Said:
        """A name or number that an instruction says; another one, if the task is asked about other things."""
        return cast(Said, self.exchanged.get((kind, value), value))

    def titles(self, kind: str) -> Mapping[int, Title]:
        """The films (`movie`) or the shows (`tv`)."""
        return self.movies if kind == "movie" else self.shows

    def genres(self, kind: str) -> dict[int, str]:
        """The genres of films (`movie`) or of shows (`tv`)."""
        return self.movie_genres if kind == "movie" else self.tv_genres

    def movie(self, name: str) -> Movie:
        """The film of exactly this title; LookupError without one."""
        return _named(self.movies.values(), self.said("movie", name))

    def show(self, name: str) -> Show:
        """The show of exactly this name; LookupError without one."""
        return _named(self.shows.values(), self.said("show", name))

    def person(self, name: str) -> Person:
        """The person of exactly this name; LookupError without one."""
        return _named(self.people.values(), self.said("person", name))

    def collection(self, name: str) -> Collection:
        """The collection of exactly this name; LookupError without one."""
        return _named(self.collections.values(), self.said("collection", name))

    def company(self, name: str) -> Company:
        """The company of exactly this name; LookupError without one."""
        return _named(self.companies.values(), self.said("company", name))

    def companies_of(self, name: str) -> list[Company]:
        """The companies whose names contain this one."""
        said = self.said("company", name)
        return [company for company in self.companies.values() if said in company.name]


class CreditIndex:
    """All credits by person: films acted in and made, shows acted in and made."""

    def __init__(self, movies: Iterable[Movie], shows: Iterable[Show]) -> None:
        self._movies = _by_person(credit for movie in movies for credit in _credits(movie))
        self._shows = _by_person(credit for show in shows for credit in _show_credits(show))

    def movies(self, person: int) -> Sequence[Credit]:
        """The film credits of a person, in no order."""
        return self._movies.get(person, ())

    def shows(self, person: int) -> Sequence[Credit]:
        """The television credits of a person, in no order."""
        return self._shows.get(person, ())

    def directed(self, person: int) -> list[Title]:
        """The films that a person directed, each once."""
        return _each_once(credit.title for credit in self.movies(person) if credit.directs)

    def directed_shows(self, person: int) -> list[Title]:
        """The shows of which a person directed an episode, each once."""
        return _each_once(credit.title for credit in self.shows(person) if credit.directs)

    def acted(self, person: int) -> list[Title]:
        """The films in whose cast a person is, each once."""
        return _each_once(credit.title for credit in self.movies(person) if credit.acts)

    def acted_shows(self, person: int) -> list[Title]:
        """The shows in whose cast a person is, each once."""
        return _each_once(credit.title for credit in self.shows(person) if credit.acts)

    @cached_property
    def by_code(self) -> dict[str, Credit]:
        """All credits by their id."""
        tables = (*self._movies.values(), *self._shows.values())
        return {credit.code: credit for credits in tables for credit in credits}


def digest(text: str) -> str:
    """A digest of `text` in 24 hexadecimal digits, like an object id."""
    return blake2b(text.encode(), digest_size=12).hexdigest()


def kind_of(title: Title) -> str:
    """The media type of a title: movie or tv."""
    return "movie" if isinstance(title, Movie) else "tv"


def best_rated(titles: Iterable[AnyTitle]) -> list[AnyTitle]:
    """The titles with enough votes, the best rated first."""
    counted = [title for title in titles if title.vote_count >= STAR_VOTES]
    return sorted(counted, key=lambda title: -title.vote_average)


def _credits(title: Title, episodes: int = 1) -> Iterator[Credit]:
    parts: list[Role | Job] = [*title.cast, *title.crew]
    for part in parts:
        yield Credit(title, part, episodes)


def _show_credits(show: Show) -> Iterator[Credit]:
    yield from _credits(show, show.episodes)
    counts: dict[Job, int] = {}
    for season in show.seasons.values():
        for episode in season.episodes:
            for guest in episode.guests:
                yield Credit(show, guest)
            for job in episode.crew:
                counts[job] = counts.get(job, 0) + 1
    for job, count in counts.items():
        yield Credit(show, job, count)


def _by_person(credits: Iterable[Credit]) -> dict[int, list[Credit]]:
    found: dict[int, list[Credit]] = {}
    for credit in credits:
        found.setdefault(credit.part.person, []).append(credit)
    return found


def _each_once(titles: Iterable[Title]) -> list[Title]:
    return list({title.id: title for title in titles}.values())


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Record = TypeVar("_Record", bound=_Named)


def _named(records: Iterable[_Record], name: str) -> _Record:
    for record in records:
        if record.name == name:
            return record
    raise LookupError(f"nothing here is called {name}")

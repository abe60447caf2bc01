"""The pools for building the film database: one random source, values that are used once, people."""

import random
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from itertools import product
from typing import TypeVar

from restgpt_bench.worlds.tmdb import words
from restgpt_bench.worlds.tmdb.catalogue import Company, Job, Network, Person, Role
from restgpt_bench.worlds.tmdb.seeding.entities import OWN, PUBLISHED

T = TypeVar("T")
ARTISTS = PUBLISHED.artists + OWN.artists
ACTORS = 150
NEWCOMERS = 24
MAKERS = 60
DIRECTING_MAKERS = 25
FIRST_DAY = date(1955, 1, 1)
# Later days are left to the films in theatres.
LAST_DAY = date(2023, 9, 30)
KINDS_OF_COMPANY = ("Films", "Pictures", "Studio", "Productions")
# Films in the wrong language, with too low a rating, and a day too old, for a search for good new films.
NEAR_MISSES = (("fr", 8.301, date(2022, 4, 9)), ("en", 6.9, date(2022, 8, 2)), ("en", 8.203, date(2020, 12, 31)))


class Pools:
    """The random source, numbers and names that are used once, people, companies, networks, genres."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"tmdb {seed}")
        self.ids = iter(self.draw.sample(range(1_000, 990_000), 8_000))
        self.titles = iter(self.shuffled(f"{a} {n}" for a, n in product(words.ADJECTIVES, words.NOUNS)))
        self.names = iter(self.shuffled(f"{a} {b}" for a, b in product(words.FIRST_NAMES, words.LAST_NAMES)))
        # Three decimals, each value once: every maximum is unique.
        reserved = {round(1_000 * score) for _, score, _ in NEAR_MISSES}
        self.scores = iter(score for score in self.draw.sample(range(4_400, 8_600), 3_000) if score not in reserved)
        self.fame = iter(self.draw.sample(range(4_000, 900_000), 4_000))
        self.days = iter(self._days())
        self.people: dict[int, Person] = {}
        self._name_things()
        self._hire()

    def _days(self) -> list[date]:
        """Days of release, each once, more of them in the last years."""
        span = (LAST_DAY - FIRST_DAY).days
        every = self.draw.sample(range(span), 600)
        recent = [day for day in self.draw.sample(range(span - 2_600, span), 400) if day not in set(every)]
        return [FIRST_DAY + timedelta(days=day) for day in self.shuffled([*every, *recent[:250]])]

    def shuffled(self, values: Iterable[T]) -> list[T]:
        """The values in a drawn order."""
        found = list(values)
        self.draw.shuffle(found)
        return found

    def some(self, values: Sequence[T], low: int, high: int) -> tuple[T, ...]:
        """From `low` to `high` different values."""
        return tuple(self.draw.sample(values, self.draw.randint(low, high)))

    def below(self, popularity: float) -> float:
        """A popularity well below another."""
        return round(popularity * self.draw.uniform(0.1, 0.6), 4)

    def language(self) -> str:
        """The code of a language, mostly English."""
        return "en" if self.draw.random() < 0.6 else self.draw.choice(list(words.LANGUAGES))

    def cast(self, actors: Sequence[int], low: int, high: int) -> list[Role]:
        """A cast that includes `actors`, in no order of billing."""
        people = self.shuffled([*actors, *self.draw.sample(self.actors, self.draw.randint(low, high))])
        orders = self.shuffled(range(len(people)))
        return [Role(person, self.character(), order) for person, order in zip(people, orders, strict=True)]

    def character(self) -> str:
        """The name of a part."""
        return f"{self.draw.choice(words.FIRST_NAMES)} the {self.draw.choice(words.TRADES)}"

    def helper(self, job: str) -> Job:
        """Somebody for a job, who never directs."""
        return Job(self.draw.choice(self.makers[DIRECTING_MAKERS:]), words.CREW.get(job, "Writing"), job)

    def _name_things(self) -> None:
        self.movie_genres = dict(zip(self.ids, words.MOVIE_GENRES, strict=False))
        self.tv_genres = dict(zip(self.ids, words.TV_GENRES, strict=False))
        self.keywords = dict(zip(self.ids, words.KEYWORDS, strict=False))
        nouns = self.draw.sample(words.NOUNS, 36)
        invented = [f"{noun} {KINDS_OF_COMPANY[number % 4]}" for number, noun in enumerate(nouns[:24])]
        working = [self._company(name) for name in (*PUBLISHED.companies, *OWN.companies, *invented)]
        idle = [self._company(name) for name in (*PUBLISHED.idle_companies, *OWN.idle_companies)]
        self.producers = [company.id for company in working]
        self.companies = {company.id: company for company in (*working, *idle)}
        stations = (*PUBLISHED.networks, *(f"{noun} Channel" for noun in nouns[24:]))
        self.networks = {network.id: network for network in map(self._network, stations)}

    def _company(self, name: str) -> Company:
        country, town = self._place()
        founded = self.draw.randint(1908, 2012)
        return Company(next(self.ids), name, f"{town}, {country}", words.COUNTRIES[country], self._site(name), founded)

    def _network(self, name: str) -> Network:
        country, town = self._place()
        return Network(next(self.ids), name, f"{town}, {country}", words.COUNTRIES[country], self._site(name))

    def _place(self) -> tuple[str, str]:
        return self.draw.choice(list(words.COUNTRIES)), self.draw.choice(words.TOWNS)

    def _site(self, name: str) -> str:
        host = f"{self.draw.choice(words.ADJECTIVES)}-{self.draw.choice(words.NOUNS)}-{len(name)}".lower()
        return f"https://www.{host}.example"

    def _hire(self) -> None:
        self.artists = {
            item.name: self._person(item.name, words.DIRECTING if item.directs[1] else "Acting") for item in ARTISTS
        }
        self.actors = [self._person(next(self.names), "Acting").id for _ in range(ACTORS)]
        self.newcomers = [self._person(next(self.names), "Acting").id for _ in range(NEWCOMERS)]
        self.makers = [self._person(next(self.names), words.DIRECTING).id for _ in range(MAKERS)]
        self.directing_makers = self.makers[:DIRECTING_MAKERS]
        self.directors = [self.artists[item.name].id for item in ARTISTS if item.directs[1]] + self.directing_makers
        for item, surname in zip(ARTISTS, self.draw.sample(words.LAST_NAMES, len(ARTISTS)), strict=True):
            decoy = self._person(item.decoy or f"{item.name} {surname}", "Acting")
            decoy.popularity = self.below(self.artists[item.name].popularity)
            self.actors.append(decoy.id)

    def _person(self, name: str, department: str) -> Person:
        born = date(self.draw.randint(1938, 1999), self.draw.randint(1, 12), self.draw.randint(1, 28))
        country, town = self._place()
        fame = next(self.fame) / 10_000
        person = Person(next(self.ids), name, born, f"{town}, {country}", self.draw.randint(1, 2), department, fame)
        self.people[person.id] = person
        return person

"""Builds the films: the named ones, collections, careers, inventions, films to come, and decoys."""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import product

from restgpt_bench.worlds.tmdb import words
from restgpt_bench.worlds.tmdb.catalogue import Collection, Job, Movie, Role
from restgpt_bench.worlds.tmdb.seeding.entities import (
    AGED,
    COUPLE,
    COUPLES_TITLE,
    OWN,
    PUBLISHED,
    RIVALS,
    VETERAN,
    Artist,
    Film,
    Saga,
)
from restgpt_bench.worlds.tmdb.seeding.pools import ARTISTS, NEAR_MISSES, Pools
from restgpt_bench.worlds.world import TODAY

INVENTED = 160
TRILOGIES = 6
COMING = 14
IN_THEATRES = 24
NEWEST_ID = 998_000
FILMS = PUBLISHED.films + OWN.films
SAGAS = PUBLISHED.sagas + OWN.sagas


class Studio:
    """Makes all films: afterwards `movies`, `collections` and `in_theatres` hold them."""

    def __init__(self, pools: Pools) -> None:
        self.pools = pools
        self.draw = pools.draw
        self.movies: dict[int, Movie] = {}
        self.collections: dict[int, Collection] = {}
        self.in_theatres: list[int] = []
        self.directors = list(pools.directors)
        pair = [pools.artists[name].id for name in COUPLE]
        # Both of the couple or one of them, in the film and in the show of the same name.
        self.couple = pair if self.draw.random() < 0.5 else self.draw.sample(pair, 1)

    def named(self, title: str) -> Movie:
        """The film of this title."""
        return next(movie for movie in self.movies.values() if movie.name == title)

    def film_everything(self) -> None:
        """All films, in the order of their dependencies."""
        for item in FILMS:
            self._film_named(item)
        for saga in SAGAS:
            self._film_saga(saga)
        for _ in range(TRILOGIES):
            self._film_trilogy()
        self._film_careers()
        for _ in range(INVENTED):
            self._film_invented()
        self._film_recent()
        self._film_coming()
        for item in FILMS:
            self._film_decoys(item)

    def _movie(self, name: str, day: date | None = None, *, number: int | None = None) -> Movie:
        pools = self.pools
        movie = Movie(
            id=number or next(pools.ids),
            name=name,
            released=day or next(pools.days),
            popularity=next(pools.fame) / 1_000,
            vote_average=next(pools.scores) / 1_000,
            vote_count=self.draw.randint(120, 25_000),
            genres=pools.some(list(pools.movie_genres), 2, 3),
            language=pools.language(),
            companies=pools.some(pools.producers, 1, 3),
            keywords=pools.some(list(pools.keywords), 4, 7),
            reviews=self.draw.choice((1, 2, 3, 3, 4, 23)),
            runtime=self.draw.randint(78, 201),
            budget=self.draw.randint(1, 250) * 1_000_000,
            revenue=self.draw.randint(1, 9_000) * 100_000,
            certification=self.draw.choice(("G", "PG", "PG-13", "R")),
        )
        self.movies[movie.id] = movie
        return movie

    def _staff(self, movie: Movie, directors: Sequence[int], actors: Sequence[int] = ()) -> None:
        """Give a film its directors, a cast that includes `actors`, and other jobs as decoys."""
        movie.cast = self.pools.cast(actors, 5, 8)
        jobs = [Job(person, words.DIRECTING, words.DIRECTOR) for person in directors]
        jobs += [self.pools.helper(job) for job in self.pools.some(list(words.CREW), 4, 7)]
        # A director also writes or produces now and then, and helps on the films of others.
        extra = self.draw.choice(("Writer", "Producer", "Screenplay"))
        jobs.append(Job(self.draw.choice(directors), words.CREW[extra], extra))
        friend = self.draw.choice([person for person in self.directors if person not in directors])
        favour = self.draw.choice(("Executive Producer", "Second Unit Director", "Assistant Director", "Editor"))
        jobs.append(Job(friend, words.CREW[favour], favour))
        movie.crew = list(dict.fromkeys(self.pools.shuffled(jobs)))

    def _film_named(self, item: Film) -> None:
        movie = self._movie(item.title)
        movie.language = "en"
        movie.vote_count = max(movie.vote_count, 900)
        movie.companies = movie.companies[:1]
        # A task compares this director's age, so no other task may name the director.
        choice = self.pools.directing_makers if item.title == AGED[0] else self.directors
        pool = [person for person in choice if self.pools.people[person].name != item.not_by]
        self._staff(movie, [self.draw.choice(pool)], self.couple if item.title == COUPLES_TITLE else ())

    def _film_saga(self, saga: Saga) -> None:
        count = self.draw.randint(*saga.parts)
        titles = self.draw.sample(list(product(words.ADJECTIVES, words.NOUNS)), count)
        parts = [self._film_part(saga.pattern.format(*pair)) for pair in titles]
        company = self.draw.choice(self.pools.producers)
        for part in parts:
            part.companies = (company,)
        collection = self._collect(f"{saga.name} Collection", parts)
        if saga.decoy:
            decoy = self._film_part(f"{saga.decoy} 1")
            decoy.popularity = self.pools.below(min(part.popularity for part in parts))
            self._collect(f"{saga.decoy} Collection", [decoy], weight=collection.weight / 3)

    def _film_trilogy(self) -> None:
        noun = self.draw.choice(words.NOUNS)
        name = f"{next(self.pools.titles)} Trilogy"
        self._collect(name, [self._film_part(f"{name} {number}: {noun}") for number in range(1, 4)])

    def _film_part(self, title: str) -> Movie:
        movie = self._movie(title)
        self._staff(movie, [self.draw.choice(self.directors)])
        return movie

    def _collect(self, name: str, parts: Sequence[Movie], *, weight: float | None = None) -> Collection:
        ids = tuple(self.pools.shuffled(part.id for part in parts))
        collection = Collection(next(self.pools.ids), name, ids, weight or self.draw.uniform(10, 90))
        self.collections[collection.id] = collection
        for part in parts:
            part.collection = collection.id
        return collection

    def _film_careers(self) -> None:
        for item in ARTISTS:
            person = self.pools.artists[item.name].id
            for _ in range(self._still_to_direct(item, person)):
                partner = [self.draw.choice(self.pools.directing_makers)] if self.draw.random() < 0.08 else []
                self._staff(self._movie(next(self.pools.titles)), [person, *partner])
        self._part_the_rivals()
        for item in ARTISTS:
            for _ in range(self.draw.randint(*item.acts)):
                star = self.pools.artists[item.name].id
                self._staff(self._movie(next(self.pools.titles)), [self.draw.choice(self.directors)], [star])

    def _still_to_direct(self, item: Artist, person: int) -> int:
        return max(2, self.draw.randint(*item.directs) - self._count(person)) if item.directs[1] else 0

    def _count(self, person: int) -> int:
        return sum(person in movie.directors for movie in self.movies.values())

    def _part_the_rivals(self) -> None:
        """Let one of the rivals be ahead for good: from here on neither directs any more."""
        pair = [self.pools.artists[name].id for name in RIVALS]
        if self._count(pair[0]) == self._count(pair[1]):
            self._staff(self._movie(next(self.pools.titles)), [self.draw.choice(pair)])
        self.directors = [person for person in self.directors if person not in pair]

    def _film_invented(self, day: date | None = None, *, number: int | None = None) -> Movie:
        movie = self._movie(next(self.pools.titles), day, number=number)
        self._staff(movie, [self.draw.choice(self.pools.directing_makers)])
        return movie

    def _film_recent(self) -> None:
        """The films in theatres, near misses in a search for good new films, and the newest film of all."""
        days = self.draw.sample(range(1, 40), IN_THEATRES)
        self.in_theatres = [self._film_invented(TODAY - timedelta(days=day)).id for day in days]
        for language, score, day in NEAR_MISSES:
            movie = self._film_invented(day)
            # So popular that it comes first unless the filters exclude it.
            movie.language, movie.vote_average, movie.popularity = language, score, movie.popularity + 700
        self._film_invented(TODAY, number=NEWEST_ID + self.draw.randint(0, 999))

    def _film_coming(self) -> None:
        """Films to come, by newcomers; one is by and with the veteran."""
        veteran = self.pools.artists[VETERAN].id
        for number, days in enumerate(self.draw.sample(range(8, 420), COMING)):
            movie = self._movie(next(self.pools.titles), TODAY + timedelta(days=days))
            movie.vote_average, movie.vote_count, movie.revenue = 0.0, 0, 0
            people = self.draw.sample(self.pools.newcomers, 7)
            director = veteran if number == 0 else people.pop()
            cast = [*people, veteran] if number == 0 else people
            movie.cast = [Role(person, self.pools.character(), order) for order, person in enumerate(cast)]
            movie.crew = [Job(director, words.DIRECTING, words.DIRECTOR), Job(people[0], "Writing", "Writer")]

    def _film_decoys(self, item: Film) -> None:
        """Films with almost the same title, less popular than the named one."""
        meant = self.named(item.title)
        for title in item.decoys:
            decoy = self._movie(title)
            decoy.popularity = self.pools.below(meant.popularity)
            self._staff(decoy, [self.draw.choice(self.pools.directing_makers)])

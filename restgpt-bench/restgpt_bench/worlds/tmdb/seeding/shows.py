"""Builds the shows: the named ones with decoys, careers, inventions, and their seasons and episodes."""

from collections.abc import Sequence
from datetime import date, timedelta

from restgpt_bench.worlds.tmdb import words
from restgpt_bench.worlds.tmdb.catalogue import Episode, Job, Role, Season, Show
from restgpt_bench.worlds.tmdb.seeding.entities import COUPLES_TITLE, OWN, PUBLISHED, RANKED, RANKED_PARTNER, Series
from restgpt_bench.worlds.tmdb.seeding.films import Studio
from restgpt_bench.worlds.tmdb.seeding.pools import ARTISTS
from restgpt_bench.worlds.world import TODAY

INVENTED = 70
NEWEST_ID = 999_000
ON_THE_AIR = 14
BOTH_LISTS = 2
ONLY_TODAY = 3
GUEST_ORDER = 500
SERIES = PUBLISHED.series + OWN.series


class Station:
    """Makes all shows: afterwards `shows`, `on_the_air` and `airing_today` hold them."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.pools = studio.pools
        self.draw = studio.draw
        self.shows: dict[int, Show] = {}
        self.sizes: dict[int, tuple[int, ...]] = {}
        self.directors: dict[int, list[int]] = {}
        self.on_the_air: list[int] = []
        self.airing_today: list[int] = []

    def named(self, name: str) -> Show:
        """The show of this name."""
        return next(show for show in self.shows.values() if show.name == name)

    def broadcast_everything(self) -> None:
        """All shows, then their seasons."""
        for item in SERIES:
            self._broadcast_named(item)
        self._broadcast_careers()
        for _ in range(INVENTED):
            self._broadcast_invented()
        self._share_director()
        self._show(next(self.pools.titles), (4,), number=NEWEST_ID + self.draw.randint(0, 999))
        self._choose_running()
        for show, age in zip(self.shows.values(), self._ages(), strict=True):
            self._film_seasons(show, age)

    def _show(
        self, name: str, sizes: tuple[int, ...], actors: Sequence[int] = (), *, number: int | None = None
    ) -> Show:
        pools = self.pools
        show = Show(
            id=number or next(pools.ids),
            name=name,
            released=TODAY,
            popularity=next(pools.fame) / 1_000,
            vote_average=next(pools.scores) / 1_000,
            vote_count=self.draw.randint(300, 20_000),
            genres=pools.some(list(pools.tv_genres), 2, 3),
            language=pools.language(),
            companies=pools.some(pools.producers, 1, 1),
            keywords=pools.some(list(pools.keywords), 3, 6),
            reviews=self.draw.choice((1, 2, 3, 4, 23)),
            networks=pools.some(list(pools.networks), 1, 1),
            country=self.draw.choice(("US", "GB", "JP", "CA")),
            kind=self.draw.choice(("Scripted", "Scripted", "Miniseries", "Reality", "Documentary")),
            run_time=self.draw.randint(22, 70),
        )
        self.shows[show.id] = show
        # A few episodes more than asked for: the counts come from the seed.
        self.sizes[show.id] = tuple(size + self.draw.randint(0, 3) for size in sizes)
        self.directors[show.id] = self.draw.sample(pools.directing_makers, 3)
        self._staff(show, actors)
        return show

    def _staff(self, show: Show, actors: Sequence[int]) -> None:
        show.cast = self.pools.cast(actors, 5, 7)
        jobs = self.pools.some(("Executive Producer", "Producer", "Original Music Composer", "Editor"), 2, 3)
        show.crew = [self.pools.helper(job) for job in jobs]

    def _broadcast_named(self, item: Series) -> None:
        show = self._show(item.name, item.episodes, self.studio.couple if item.name == COUPLES_TITLE else ())
        for name in item.decoys:
            self._show(name, (6,)).popularity = self.pools.below(show.popularity)
        if item.not_seasons:
            # The number of seasons comes from the seed, and is never that of the real show.
            count = self.draw.choice([number for number in range(3, 9) if number != item.not_seasons])
            self.sizes[show.id] = tuple(self.draw.randint(4, 7) for _ in range(count))

    def _broadcast_invented(self, actors: Sequence[int] = ()) -> Show:
        sizes = tuple(self.draw.randint(4, 9) for _ in range(self.draw.randint(1, 3)))
        return self._show(next(self.pools.titles), sizes, actors)

    def _broadcast_careers(self) -> None:
        """The shows in which the named artists play, or of which they direct episodes."""
        for item in ARTISTS:
            person = self.pools.artists[item.name].id
            for _ in range(item.shows):
                self._broadcast_invented([person])
            for _ in range(item.directs_shows):
                self.directors[self._broadcast_invented().id][0] = person

    def _share_director(self) -> None:
        """The director of one named film also made television, and perhaps the first season of a named show."""
        person = self.studio.named(RANKED).directors[0]
        for _ in range(2):
            self.directors[self._broadcast_invented().id][0] = person
        pool = self.directors[self.named(RANKED_PARTNER).id]
        if self.draw.random() < 0.5:
            pool[0] = person
        elif person in pool:
            pool.remove(person)

    def _choose_running(self) -> None:
        """The shows on the air this week and those of today: some are in both lists, some in one."""
        running = self.draw.sample(list(self.shows), ON_THE_AIR + BOTH_LISTS + ONLY_TODAY)
        self.on_the_air = running[: ON_THE_AIR + BOTH_LISTS]
        self.airing_today = running[ON_THE_AIR:]
        for number in running:
            self.shows[number].running = True

    def _ages(self) -> list[int]:
        """For each show the days since its last season ended, each number once."""
        return self.draw.sample(range(20, 10_000), len(self.shows))

    def _film_seasons(self, show: Show, age: int) -> None:
        sizes = self.sizes[show.id]
        end = TODAY - timedelta(days=age)
        if show.running:
            end = TODAY + timedelta(days=0 if show.id in self.airing_today else self.draw.randint(0, 6))
        last = end - timedelta(weeks=sizes[-1] - 1)
        for number, size in enumerate(sizes, start=1):
            start = last - timedelta(days=371 * (len(sizes) - number))
            show.seasons[number] = self._season(show, number, start, size)
        show.released = show.seasons[1].air_date

    def _season(self, show: Show, number: int, start: date, size: int) -> Season:
        pool = self.directors[show.id]
        # Each of the pool directs at least one episode, if there are enough.
        directors = self.pools.shuffled([*pool, *(self.draw.choice(pool) for _ in range(size - len(pool)))])
        episodes = [
            self._episode(show, number, index, start + timedelta(weeks=index - 1), director)
            for index, director in enumerate(directors[:size], start=1)
        ]
        return Season(next(self.pools.ids), show.id, number, start, tuple(episodes))

    def _episode(self, show: Show, season: int, number: int, day: date, director: int) -> Episode:
        crew = (self.pools.helper("Writer"), Job(director, words.DIRECTING, words.DIRECTOR))
        score = self.draw.randint(5_000, 9_400) / 1_000
        return Episode(next(self.pools.ids), show.id, season, number, day, score, crew, self._guests(show))

    def _guests(self, show: Show) -> tuple[Role, ...]:
        """One or two who are not in the main cast."""
        playing = {role.person for role in show.cast}
        free = [person for person in self.draw.sample(self.pools.actors, 12) if person not in playing]
        guests = free[: self.draw.randint(1, 2)]
        return tuple(
            Role(person, self.pools.character(), order) for order, person in enumerate(guests, start=GUEST_ORDER)
        )

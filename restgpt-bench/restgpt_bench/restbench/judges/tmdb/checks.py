"""The true answers to the published instructions, by index; the instructions are published elsewhere.

Each is computed from the catalogue of the world's seed, so no model can know it from memory.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date

from restgpt_bench.restbench.judges.answer import AllOf, AnyOf, Dates, Expectation, Number, YesNo
from restgpt_bench.restbench.judges.tmdb.expectations import (
    AGE,
    COUNT,
    RATING,
    RELEASE,
    ahead,
    birthday,
    covers,
    episode_title,
    genres,
    headquarters,
    keywords,
    lead,
    network_page,
    people,
    pictures,
    plot,
    profiles,
    quotes,
    stars,
    stills,
    titles,
    town,
)
from restgpt_bench.worlds.tmdb import movies, views
from restgpt_bench.worlds.tmdb.catalogue import Catalogue, Episode, Movie, Season, Show, Title, best_rated, kind_of
from restgpt_bench.worlds.tmdb.words import DIRECTOR
from restgpt_bench.worlds.world import TODAY

Truth = Callable[[Catalogue], Expectation]


# Facts about a catalogue.


def popular(catalogue: Catalogue) -> list[Movie]:
    """Released films, the most popular first."""
    released = [movie for movie in catalogue.movies.values() if movie.released <= TODAY]
    return sorted(released, key=lambda movie: -movie.popularity)


def popular_show(catalogue: Catalogue) -> Show:
    """The most popular show."""
    return max(catalogue.shows.values(), key=lambda show: show.popularity)


def trending_show(catalogue: Catalogue, window: str = "day") -> Show:
    """The first show in the trends of today, or of this week."""
    return catalogue.shows[catalogue.charts.trending["tv", window][0]]


def parts(catalogue: Catalogue, name: str) -> list[Movie]:
    """The films of a collection in the order of their release."""
    found = [catalogue.movies[number] for number in catalogue.collection(f"{name} Collection").parts]
    return sorted(found, key=lambda movie: movie.released)


def directed(catalogue: Catalogue, name: str) -> list[Title]:
    """The films that a person directed, the newest first."""
    return _newest_first(catalogue.credits.directed(catalogue.person(name).id))


def acted(catalogue: Catalogue, name: str) -> list[Title]:
    """The films in which a person plays, the newest first."""
    return _newest_first(catalogue.credits.acted(catalogue.person(name).id))


def acted_shows(catalogue: Catalogue, name: str) -> list[Title]:
    """The shows in which a person plays, the newest first."""
    return _newest_first(catalogue.credits.acted_shows(catalogue.person(name).id))


def directed_shows(catalogue: Catalogue, person: int) -> list[Title]:
    """The shows of which a person directed an episode, the newest first."""
    return _newest_first(catalogue.credits.directed_shows(person))


def season_of(catalogue: Catalogue, name: str, number: int) -> Season:
    """A season of a show."""
    return catalogue.show(name).seasons[catalogue.said("season_number", number)]


def episode(catalogue: Catalogue, name: str, season: int, number: int) -> Episode:
    """An episode of a show."""
    shown: int = catalogue.said("episode_number", number)
    return season_of(catalogue, name, season).episodes[shown - 1]


def season_directors(catalogue: Catalogue, name: str, season: int) -> list[int]:
    """The directors of the episodes of a season."""
    jobs = season_of(catalogue, name, season).crew
    return list(dict.fromkeys(job.person for job in jobs if job.job == DIRECTOR))


def _newest_first(titles: Iterable[Title]) -> list[Title]:
    return sorted(titles, key=lambda title: title.released, reverse=True)


def similar(catalogue: Catalogue, title: Title) -> list[Title]:
    """The similar titles."""
    return [catalogue.titles(kind_of(title))[number] for number in title.similar]


def recommended(catalogue: Catalogue, title: Title) -> list[Title]:
    """The recommended titles."""
    return [catalogue.titles(kind_of(title))[number] for number in title.recommended]


# Single instructions that need more than a line.


def _logos_of_disney(catalogue: Catalogue) -> Expectation:
    found = [company.id for company in catalogue.companies_of("Walt Disney")]
    return pictures(catalogue, "company", found, "logo")


def _after_titanic(catalogue: Catalogue) -> Expectation:
    film = catalogue.movie("Titanic")
    near, like = recommended(catalogue, film), similar(catalogue, film)
    others = [
        other for other in catalogue.movies.values() if other not in [*near, *like] and film.name not in other.name
    ]
    return AnyOf((titles(catalogue, near, 2, forbidden=others), titles(catalogue, [*like, *near], 2, forbidden=others)))


def _top_movie_and_keyword(catalogue: Catalogue) -> Expectation:
    film = popular(catalogue)[0]
    return AllOf((titles(catalogue, [film]), keywords(catalogue, [film], 1)))


def _near_coppola(catalogue: Catalogue) -> Expectation:
    films = directed(catalogue, "Francis Ford Coppola")
    return titles(catalogue, [other for film in films for other in similar(catalogue, film)], 1, beside=films)


def _cast_on_the_air(catalogue: Catalogue) -> Expectation:
    casts = [catalogue.shows[number].cast for number in catalogue.charts.on_the_air]
    return AnyOf(tuple(people(catalogue, [role.person for role in cast], 2) for cast in casts))


def _more_by_the_director(catalogue: Catalogue) -> Expectation:
    film = catalogue.movie("Django Unchained")
    works = [work for person in film.directors for work in catalogue.credits.directed(person) if work != film]
    return titles(catalogue, works, 2)


def _founded(catalogue: Catalogue) -> Expectation:
    show = catalogue.show("The Big Bang Theory")
    return Number(catalogue.companies[show.companies[0]].founded)


def _first_aired(catalogue: Catalogue) -> Expectation:
    day = catalogue.show("The Big Bang Theory").released
    return AnyOf((Dates((day,)), Number(day.year)))


def _colleagues(catalogue: Catalogue) -> Expectation:
    person = catalogue.person("Jeremy Clarkson").id
    show = max(catalogue.credits.acted_shows(person), key=lambda title: title.popularity)
    return people(catalogue, [role.person for role in show.cast if role.person != person], 2)


def _new_and_good(catalogue: Catalogue) -> Expectation:
    films = sorted(catalogue.movies.values(), key=lambda movie: -movie.popularity)
    least = catalogue.said("vote_average.gte", 7)
    first = date.fromisoformat(catalogue.said("primary_release_date.gte", "2021-01-01"))
    good = [movie for movie in films if movie.language == "en" and movie.vote_average >= least]
    good = [movie for movie in good if movie.released >= first]
    return titles(catalogue, good, 2, forbidden=[movie for movie in films if movie not in good])


def _tallest_ring(catalogue: Catalogue) -> Expectation:
    return genres(catalogue, max(parts(catalogue, "The Lord of the Rings"), key=lambda movie: movie.popularity))


def _same_director(catalogue: Catalogue) -> Expectation:
    person = catalogue.movie("Mulholland Drive").directors[0]
    same = person in season_directors(catalogue, "Twin Peaks", 1)
    return YesNo(same, (catalogue.people[person].name,) if same else ())


def _masters(catalogue: Catalogue) -> Expectation:
    names = ("Akira Kurosawa", "Steven Spielberg")
    counts = [len(directed(catalogue, name)) for name in names]
    first, second = (_short(catalogue.said("person", name), name) for name in names)
    return ahead((first, second), (counts[0], counts[1]), COUNT)


def _short(name: str, known: str) -> str:
    """The family name of somebody who is known by it; the whole name of anybody else."""
    return name.split()[-1] if name == known else name


def _both_married(catalogue: Catalogue) -> Expectation:
    cast = {role.person for role in catalogue.show("We Married as Job").cast}
    return YesNo({catalogue.person("Yui Aragaki").id, catalogue.person("Gen Hoshino").id} <= cast)


def _ages(catalogue: Catalogue) -> Expectation:
    first = catalogue.people[catalogue.movie("Barbie").directors[0]]
    second = catalogue.people[catalogue.show("Death Note").lead]
    days = (-first.birthday.toordinal(), -second.birthday.toordinal())
    years = abs(first.birthday.year - second.birthday.year)
    return AllOf((ahead((first.name, second.name), days, AGE), Number(years)))


def _profile_of_the_popular(catalogue: Catalogue) -> Expectation:
    leads = (popular_show(catalogue).lead, trending_show(catalogue, "week").lead)
    return AnyOf(tuple(profiles(catalogue, person) for person in leads))


def _lead_today(catalogue: Catalogue) -> Expectation:
    return AnyOf((lead(catalogue, popular_show(catalogue)), lead(catalogue, trending_show(catalogue))))


def _earlier_film(catalogue: Catalogue) -> Expectation:
    names = ("The Double Life of Veronique", "Mulholland Drive")
    days = [-catalogue.movie(name).released.toordinal() for name in names]
    return ahead(_said(catalogue, names), (days[0], days[1]), RELEASE)


def _said(catalogue: Catalogue, names: tuple[str, str]) -> tuple[str, str]:
    """Two films as the instruction names them."""
    return catalogue.said("movie", names[0]), catalogue.said("movie", names[1])


def _known_movies(catalogue: Catalogue) -> Expectation:
    works = views.known_for(catalogue, catalogue.person("Christopher Nolan"))
    found = [work for work in works if kind_of(work) == "movie"]
    return titles(catalogue, found, min(2, len(found)), beside=works)


def _avatars(catalogue: Catalogue) -> Expectation:
    names = ("Avatar", "Avatar: The Way of Water")
    scores = [catalogue.movie(name).vote_average for name in names]
    return ahead(_said(catalogue, names), (scores[0], scores[1]), RATING)


def _latest_of_eastwood(catalogue: Catalogue) -> Expectation:
    person = catalogue.person("Clint Eastwood").id
    return Dates((max(credit.title.released for credit in catalogue.credits.movies(person)),))


def _favourite_on_the_air(catalogue: Catalogue) -> Expectation:
    running = [catalogue.shows[number] for number in catalogue.charts.on_the_air]
    return Dates((max(running, key=lambda show: show.popularity).released,))


def _most_popular_person(catalogue: Catalogue) -> int:
    return max(catalogue.people.values(), key=lambda person: person.popularity).id


PUBLISHED: Mapping[int, Truth] = {
    0: lambda c: Number(len(directed(c, "Sofia Coppola"))),
    1: lambda c: lead(c, c.movie("The Dark Knight")),
    2: lambda c: people(c, best_rated(c.movies.values())[0].directors),
    3: lambda c: pictures(c, "collection", [c.collection("Star Wars Collection").id], "poster", "backdrop"),
    4: _logos_of_disney,
    5: lambda c: profiles(c, c.movie("Titanic").lead),
    6: lambda c: quotes(c, similar(c, c.movie("Titanic"))[:1]),
    7: _after_titanic,
    8: lambda c: titles(c, directed(c, "Christopher Nolan")[:1]),
    9: lambda c: titles(c, [max(directed(c, "Martin Scorsese"), key=lambda film: film.vote_average)]),
    10: lambda c: people(c, acted(c, "Leonardo DiCaprio")[0].directors),
    11: lambda c: titles(c, directed_shows(c, c.person("Catherine Hardwicke").id)[:1]),
    12: lambda c: titles(c, [*recommended(c, c.show("Breaking Bad")), *similar(c, c.show("Breaking Bad"))], 2),
    13: lambda c: people(c, c.movies[c.charts.trending["movie", "day"][0]].directors),
    14: lambda c: people(c, c.movie("Twilight").directors),
    15: lambda c: stills(c, episode(c, "The Witcher", 1, 2)),
    16: lambda c: titles(c, best_rated(c.movies.values())[:1]),
    17: lambda c: Dates((c.movie("The Matrix").released,)),
    18: lambda c: people(c, [_most_popular_person(c)]),
    19: lambda c: covers(c, directed(c, "Christopher Nolan")),
    20: lambda c: keywords(c, [c.movie("Titanic")], 2),
    21: lambda c: titles(c, [c.shows[number] for number in c.charts.on_the_air[: views.PAGE]], 1),
    22: _latest_of_eastwood,
    23: lambda c: quotes(c, [c.movie("The Dark Knight")]),
    24: _near_coppola,
    25: lambda c: lead(c, movies.newest(c)),
    26: lambda c: covers(c, [c.movies[number] for number in c.charts.now_playing]),
    27: _top_movie_and_keyword,
    28: lambda c: keywords(c, popular(c)[:1], 2),
    29: lambda c: stars(c, c.movie("Titanic")),
    30: lambda c: pictures(c, "company", [c.company("Paramount Pictures").id], "logo"),
    31: lambda c: town(c.company("Universal Pictures").headquarters),
    32: lambda c: Dates((c.movie("Titanic").released,)),
    33: lambda c: stars(c, parts(c, "Star Wars")[0]),
    34: lambda c: covers(c, parts(c, "Harry Potter")),
    35: lambda c: keywords(c, parts(c, "The Hunger Games"), 1),
    36: lambda c: Dates(tuple(film.released for film in parts(c, "The Hobbit"))),
    37: lambda c: titles(c, parts(c, "The Fast and the Furious"), forbidden=c.movies.values()),
    38: lambda c: quotes(c, parts(c, "The Fast and the Furious")),
    39: lambda c: Dates((parts(c, "The Lord of the Rings")[0].released,)),
    40: lambda c: people(c, season_directors(c, "House of Cards", 1)),
    41: lambda c: titles(c, [*similar(c, c.show("House of Cards")), *recommended(c, c.show("House of Cards"))], 2),
    42: _favourite_on_the_air,
    43: _more_by_the_director,
    44: _cast_on_the_air,
    45: lambda c: quotes(c, [c.show("Breaking Bad")]),
    46: lambda c: titles(c, recommended(c, c.show("The Last of Us")), 2),
    47: lambda c: titles(c, recommended(c, c.show("The Last of Us")), 2),
    48: lambda c: people(c, [role.person for role in episode(c, "Friends", 3, 24).guests]),
    49: lambda c: lead(c, popular_show(c)),
    50: lambda c: keywords(c, best_rated(c.shows.values())[:1], 1),
    51: lambda c: covers(c, [c.show("2 Broke Girls")]),
    52: lambda c: Number(c.show("2 Broke Girls").episodes),
    53: _founded,
    54: _first_aired,
    55: lambda c: keywords(c, [popular_show(c)], 1),
    56: lambda c: plot(c, episode(c, "Westworld", 2, 3)),
    57: lambda c: Dates((season_of(c, "Game of Thrones", 2).air_date,)),
    58: lambda c: stills(c, episode(c, "Band of Brothers", 1, 3)),
    59: lambda c: pictures(c, "network", c.show("Game of Thrones").networks, "logo"),
    60: lambda c: network_page(c, c.show("Game of Thrones")),
    61: lambda c: keywords(c, [popular_show(c)], 1),
    62: lambda c: headquarters(c, popular_show(c)),
    63: lambda c: genres(c, c.show("The Mandalorian")),
    64: lambda c: birthday(c, trending_show(c).lead),
    65: lambda c: network_page(c, trending_show(c)),
    66: lambda c: quotes(c, [trending_show(c)]),
    67: lambda c: titles(c, similar(c, trending_show(c)), 1),
    68: lambda c: covers(c, [trending_show(c)]),
    69: _colleagues,
    70: lambda c: profiles(c, c.show("Black Mirror").lead),
    71: lambda c: birthday(c, c.show("The Mandalorian").lead),
    72: _lead_today,
    73: _profile_of_the_popular,
    74: lambda c: quotes(c, acted_shows(c, "Cate Blanchett")[:1]),
    75: lambda c: titles(c, [max(acted_shows(c, "David Schwimmer"), key=lambda show: show.popularity)]),
    76: lambda c: people(c, [job.person for job in episode(c, "Black Mirror", 2, 3).crew if job.job == DIRECTOR]),
    77: _known_movies,
    78: _avatars,
    79: _new_and_good,
    80: _tallest_ring,
    81: lambda c: birthday(c, _most_popular_person(c)),
    82: lambda c: pictures(c, "season", [season_of(c, "The Big Bang Theory", 2).id], "poster"),
    83: lambda c: episode_title(c, episode(c, "The Mandalorian", 2, 3)),
    84: lambda c: birthday(c, c.movie("The Shawshank Redemption").lead),
    85: lambda c: birthday(c, c.movie("The Shawshank Redemption").directors[0]),
    86: lambda c: headquarters(c, c.movie("The Shawshank Redemption")),
    87: lambda c: headquarters(c, parts(c, "Star Wars")[0]),
    88: _earlier_film,
    89: _same_director,
    90: lambda c: town(c.people[c.movie("Mulholland Drive").directors[0]].place_of_birth),
    91: lambda c: YesNo(c.movie("Mulholland Drive") in best_rated(c.movies.values())[:10]),
    92: _masters,
    93: lambda c: titles(c, directed_shows(c, c.movie("Mulholland Drive").directors[0]), forbidden=c.shows.values()),
    94: lambda c: birthday(c, c.person("Scarlett Johansson").id),
    95: lambda c: Number(len(c.show("Sword Art Online").seasons)),
    96: _both_married,
    97: _ages,
    98: lambda c: titles(c, acted(c, "Katherine LaNasa")[:1]),
    99: lambda c: covers(c, [c.movie("Oppenheimer")]),
}

OWN: Mapping[str, Truth] = {
    "airing": lambda c: titles(c, [c.shows[number] for number in c.charts.airing_today], forbidden=c.shows.values()),
    "trending-person": lambda c: people(c, c.charts.trending["person", "week"][:1]),
    "twenty-fifth": lambda c: titles(c, best_rated(c.movies.values())[24:25]),
    "japanese": lambda c: titles(c, _japanese(c), 2, forbidden=[s for s in c.shows.values() if s not in _japanese(c)]),
    "birthday": lambda c: birthday(c, c.person("Agnès Varda").id),
    "count": lambda c: Number(len(directed(c, "Satyajit Ray"))),
    "headquarters": lambda c: town(c.company("Studio Ghibli").headquarters),
    "runtime": lambda c: Number(c.movie("The Grand Budapest Hotel").runtime),
    "guest": lambda c: people(c, [role.person for role in episode(c, "Fleabag", 2, 4).guests]),
    "last-part": lambda c: titles(c, parts(c, "Indiana Jones")[-1:]),
    "higher": lambda c: ahead(
        _said(c, ("Parasite", "Paddington")),
        (c.movie("Parasite").vote_average, c.movie("Paddington").vote_average),
        RATING,
    ),
    "lead": lambda c: lead(c, directed(c, "Jane Campion")[0]),
    "homepage": lambda c: network_page(c, c.show("The Wire")),
    "birthplace": lambda c: town(c.people[c.movie("Casablanca").directors[0]].place_of_birth),
    "first-director": lambda c: birthday(c, acted(c, "Toshiro Mifune")[-1].directors[0]),
}


def _japanese(catalogue: Catalogue) -> list[Title]:
    least = catalogue.said("vote_average.gte", 6)
    found = [show for show in catalogue.shows.values() if show.language == "ja" and show.vote_average >= least]
    return sorted(found, key=lambda show: -show.popularity)

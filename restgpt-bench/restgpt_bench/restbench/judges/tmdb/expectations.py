"""Expectations of answers about the catalogue: people, titles, reviews, pictures, places, episodes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from restgpt_bench.restbench.judges.answer import AllOf, Dates, Names, Pictures, Prefers, Quotes
from restgpt_bench.worlds.text import Text
from restgpt_bench.worlds.tmdb import views, words, writing
from restgpt_bench.worlds.tmdb.catalogue import Catalogue, Episode, Show, Title, kind_of


@dataclass(frozen=True, slots=True)
class Contest:
    """A property in which two things are compared: the comparatives both ways, and a phrase for it."""

    phrase: str
    more: tuple[str, ...]
    less: tuple[str, ...]


RATING = Contest(
    "has a higher rating",
    ("higher", "better", "greater", "highest", "best", "wins", "winner"),
    ("lower", "worse", "lowest"),
)
RELEASE = Contest(
    "was released earlier",
    ("earlier", "before", "earliest", "older", "sooner"),
    ("later", "after", "newer", "latest"),
)
COUNT = Contest("directed more movies", ("more", "most"), ("fewer", "less", "fewest"))
AGE = Contest("is older", ("older", "oldest", "elder"), ("younger", "youngest"))


def people(
    catalogue: Catalogue, numbers: Iterable[int], least: int | None = None, *, beside: Iterable[int] = ()
) -> Names:
    """All (or at least some) of these people; an answer may name few others than them and those `beside` them."""
    names = _names_of(catalogue, numbers)
    every = _names_of(catalogue, catalogue.people)
    return Names(
        names, least, longer=_containing(names, every), rivals=_others(every, names, _names_of(catalogue, beside))
    )


def _names_of(catalogue: Catalogue, numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(catalogue.people[number].name for number in numbers)


def _others(every: Iterable[str], *known: Iterable[str]) -> tuple[str, ...]:
    """The names that are in none of the known ones, each once."""
    left_out = {name for names in known for name in names}
    return tuple(dict.fromkeys(name for name in every if name not in left_out))


def lead(catalogue: Catalogue, title: Title) -> Names:
    """The person who plays the lead."""
    return people(catalogue, [title.lead])


def stars(catalogue: Catalogue, title: Title) -> AllOf:
    """The person who plays the lead, and one more of the first five."""
    cast = [role.person for role in title.cast]
    others = [role.person for role in title.cast if 0 < role.order < 5]
    return AllOf((people(catalogue, [title.lead], beside=cast), people(catalogue, others, 1, beside=cast)))


def titles(
    catalogue: Catalogue,
    found: Sequence[Title],
    least: int | None = None,
    *,
    forbidden: Iterable[Title] = (),
    beside: Iterable[Title] = (),
) -> Names:
    """All (or at least some) of these titles, and none that is forbidden; a title inside another does not count.

    An answer may name few others than them and those `beside` them.
    """
    names = tuple(title.name for title in found)
    every = [title.name for table in (catalogue.movies, catalogue.shows) for title in table.values()]
    wrong = tuple(title.name for title in forbidden if title.name not in names)
    rivals = _others(every, names, wrong, (title.name for title in beside))
    return Names(names, least, wrong, _containing(names, every), rivals)


def _containing(names: Sequence[str], others: Iterable[str]) -> tuple[str, ...]:
    """The other names in which one of `names` is contained."""
    return tuple(other for other in others if other not in names and any(name in other for name in names))


def keywords(catalogue: Catalogue, found: Iterable[Title], least: int) -> Names:
    """Some keywords of these titles."""
    names = tuple(dict.fromkeys(catalogue.keywords[key] for title in found for key in title.keywords))
    return Names(names, least, rivals=_others(catalogue.keywords.values(), names))


def quotes(catalogue: Catalogue, found: Iterable[Title]) -> Quotes:
    """A quote of a review of any of these titles, and no quote of a review of another title."""
    wanted = list(found)
    others = [title for table in (catalogue.movies, catalogue.shows) for title in table.values() if title not in wanted]
    return Quotes(tuple(_reviews(catalogue, wanted)), tuple(_reviews(catalogue, others)))


def _reviews(catalogue: Catalogue, found: Iterable[Title]) -> Iterator[Text]:
    for title in found:
        for _, text in views.reviews(catalogue, title):
            yield text


def pictures(catalogue: Catalogue, kind: str, numbers: Iterable[int], *whats: str) -> Pictures:
    """The path of any such image of these records."""
    return Pictures(
        tuple(
            image["file_path"]
            for number in numbers
            for what in whats
            for image in writing.images(catalogue.seed, what, kind, number)
        )
    )


def covers(catalogue: Catalogue, found: Iterable[Title]) -> Pictures:
    """The path of a poster or backdrop of any of these titles."""
    found = list(found)
    return pictures(catalogue, kind_of(found[0]), [title.id for title in found], "poster", "backdrop")


def profiles(catalogue: Catalogue, person: int) -> Pictures:
    """The path of a picture of a person."""
    return pictures(catalogue, "person", [person], "profile")


def stills(catalogue: Catalogue, shown: Episode) -> Pictures:
    """The path of a still of an episode."""
    return pictures(catalogue, "episode", [shown.id], "still")


def birthday(catalogue: Catalogue, person: int) -> Dates:
    """The day of a person's birth."""
    return Dates((catalogue.people[person].birthday,))


def town(place: str) -> Names:
    """The town of a place such as "town, country"."""
    name = place.partition(",")[0]
    return Names((name,), rivals=_others(words.TOWNS, (name,)))


def headquarters(catalogue: Catalogue, title: Title) -> Names:
    """The town of the only company that made a title."""
    return town(catalogue.companies[title.companies[0]].headquarters)


def host(address: str) -> str:
    """The host of a homepage, without www."""
    return urlsplit(address).netloc.removeprefix("www.")


def network_page(catalogue: Catalogue, show: Show) -> Names:
    """The homepage of the only network of a show."""
    name = host(catalogue.networks[show.networks[0]].homepage)
    return Names((name,), rivals=_others((host(network.homepage) for network in catalogue.networks.values()), (name,)))


def genres(catalogue: Catalogue, title: Title) -> Names:
    """All genres of a title."""
    table = catalogue.genres(kind_of(title))
    names = tuple(table[number] for number in title.genres)
    return Names(names, rivals=_others(table.values(), names))


def plot(catalogue: Catalogue, shown: Episode) -> Names:
    """Two words of an episode's plot that the show's other plots do not have."""
    others = {
        mark
        for season in catalogue.shows[shown.show].seasons.values()
        for other in season.episodes
        if other != shown
        for mark in writing.synopsis(catalogue.seed, "episode", other.id).marks
    }
    marks = writing.synopsis(catalogue.seed, "episode", shown.id).marks
    own = tuple(mark for mark in marks if mark not in others)
    return Names(own if len(own) > 1 else marks, 2, rivals=_others(sorted(others), marks))


def episode_title(catalogue: Catalogue, shown: Episode) -> Names:
    """The name of an episode."""
    every = [
        writing.title_of(catalogue.seed, other.id)
        for season in catalogue.shows[shown.show].seasons.values()
        for other in season.episodes
    ]
    title = writing.title_of(catalogue.seed, shown.id)
    return Names((title,), rivals=_others(every, (title,)))


def ahead(names: tuple[str, str], scores: tuple[float, float], contest: Contest) -> Prefers:
    """The name with the greater score is ahead."""
    winner, loser = names if scores[0] > scores[1] else names[::-1]
    return Prefers(winner, loser, contest.more, contest.less, contest.phrase)

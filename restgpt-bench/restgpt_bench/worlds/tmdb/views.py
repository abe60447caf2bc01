"""Builds the JSON of the film database's records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from restgpt_bench.worlds.exchange import Call, RefusalError
from restgpt_bench.worlds.routing import Handler
from restgpt_bench.worlds.text import Text
from restgpt_bench.worlds.tmdb import words, writing
from restgpt_bench.worlds.tmdb.catalogue import (
    Catalogue,
    Collection,
    Company,
    Credit,
    Episode,
    Job,
    Maker,
    Movie,
    Person,
    Role,
    Season,
    Show,
    Title,
    digest,
    kind_of,
)
from restgpt_bench.worlds.world import TODAY

PAGE = 20
NOT_FOUND = "The resource you requested could not be found."
Row = dict[str, Any]
Later = Callable[[], Row]
T = TypeVar("T")


def found(table: Mapping[int, T], number: int) -> T:
    """The record with an id, or the 404 of this API."""
    if number not in table:
        raise RefusalError(404, NOT_FOUND)
    return table[number]


def paged(items: Sequence[T], call: Call, row: Callable[[T], Row]) -> Row:
    """The page of `items` that the call asks for, twenty to a page."""
    page = call.query.get("page", 1)
    return {
        "page": page,
        "results": [row(item) for item in items[(page - 1) * PAGE : page * PAGE]],
        "total_pages": -(-len(items) // PAGE),
        "total_results": len(items),
    }


def appended(catalogue: Catalogue, call: Call, row: Row, parts: Mapping[str, Handler]) -> Row:
    """`row` with the sub-requests named in append_to_response under their names; unknown ones are ignored."""
    wanted = str(call.query.get("append_to_response", "")).split(",")
    return {**row, **{name.strip(): parts[name.strip()](catalogue, call) for name in wanted if name.strip() in parts}}


def _shared(catalogue: Catalogue, title: Title) -> Row:
    kind = kind_of(title)
    return {
        "id": title.id,
        "overview": writing.synopsis(catalogue.seed, kind, title.id).text,
        "genre_ids": list(title.genres),
        "original_language": title.language,
        "popularity": round(title.popularity, 3),
        "vote_average": title.vote_average,
        "vote_count": title.vote_count,
        "poster_path": writing.image_path(catalogue.seed, "poster", kind, title.id),
        "backdrop_path": writing.image_path(catalogue.seed, "backdrop", kind, title.id),
    }


def movie_row(catalogue: Catalogue, movie: Movie) -> Row:
    """A film in a list."""
    return {
        **_shared(catalogue, movie),
        "adult": False,
        "title": movie.name,
        "original_title": movie.name,
        "release_date": movie.released.isoformat(),
        "video": False,
    }


def show_row(catalogue: Catalogue, show: Show) -> Row:
    """A show in a list."""
    return {
        **_shared(catalogue, show),
        "name": show.name,
        "original_name": show.name,
        "first_air_date": show.released.isoformat(),
        "origin_country": [show.country],
    }


def title_row(catalogue: Catalogue, title: Title) -> Row:
    """A film or show in a list."""
    if isinstance(title, Movie):
        return movie_row(catalogue, title)
    if isinstance(title, Show):
        return show_row(catalogue, title)
    raise TypeError("a title is a film or a show")


def marked_row(catalogue: Catalogue, title: Title) -> Row:
    """A film or show in a mixed list, with its media type."""
    return {**title_row(catalogue, title), "media_type": kind_of(title)}


def known_for(catalogue: Catalogue, person: Person) -> list[Title]:
    """The three most popular titles of a person, from the part of the business they are known in."""
    index = catalogue.credits
    if person.department == words.DIRECTING:
        titles = [*index.directed(person.id), *index.directed_shows(person.id)]
    else:
        titles = [*index.acted(person.id), *index.acted_shows(person.id)]
    return sorted(titles, key=lambda title: -title.popularity)[:3]


def person_row(catalogue: Catalogue, person: Person) -> Row:
    """A person in a list."""
    return {
        "id": person.id,
        "name": person.name,
        "adult": False,
        "popularity": round(person.popularity, 4),
        "profile_path": profile(catalogue, person.id),
        "known_for_department": person.department,
        "known_for": [marked_row(catalogue, title) for title in known_for(catalogue, person)],
    }


def profile(catalogue: Catalogue, person: int) -> str:
    """The main picture of a person."""
    return writing.image_path(catalogue.seed, "profile", "person", person)


def person_details(catalogue: Catalogue, person: Person) -> Row:
    """A person in full."""
    return {
        "adult": False,
        "also_known_as": [],
        "biography": writing.biography(catalogue.seed, person.id, person.name),
        "birthday": person.birthday.isoformat(),
        "deathday": None,
        "gender": person.gender,
        "homepage": None,
        "id": person.id,
        "imdb_id": f"nm{person.id:07d}",
        "known_for_department": person.department,
        "name": person.name,
        "place_of_birth": person.place_of_birth,
        "popularity": round(person.popularity, 4),
        "profile_path": profile(catalogue, person.id),
    }


def cast_row(catalogue: Catalogue, title: Title, role: Role) -> Row:
    """A member of a cast."""
    return _credited(catalogue, Credit(title, role), {"character": role.character, "order": role.order})


def crew_row(catalogue: Catalogue, title: Title, job: Job) -> Row:
    """A member of a crew."""
    return _credited(catalogue, Credit(title, job), {"department": job.department, "job": job.job})


def _credited(catalogue: Catalogue, credit: Credit, part: Row) -> Row:
    person = catalogue.people[credit.part.person]
    return {
        "id": person.id,
        "name": person.name,
        **part,
        "credit_id": credit.code,
        "gender": person.gender,
        "profile_path": profile(catalogue, person.id),
    }


def credits(catalogue: Catalogue, title: Title, number: int, crew: Iterable[Job]) -> Row:
    """The main cast of a title, and the crew of the record with id `number`: the title, a season or an episode."""
    return {
        "id": number,
        "cast": [cast_row(catalogue, title, role) for role in title.cast],
        "crew": [crew_row(catalogue, title, job) for job in crew],
    }


def credit_row(catalogue: Catalogue, credit: Credit) -> Row:
    """A role or job, in the list of a person's credits."""
    row = {**title_row(catalogue, credit.title), "credit_id": credit.code}
    if isinstance(credit.title, Show):
        row["episode_count"] = credit.episodes
    if isinstance(credit.part, Role):
        return {**row, "character": credit.part.character}
    return {**row, "department": credit.part.department, "job": credit.part.job}


def maker_row(catalogue: Catalogue, maker: Maker) -> Row:
    """A company or network in a list."""
    kind = "company" if isinstance(maker, Company) else "network"
    return {
        "id": maker.id,
        "logo_path": writing.image_path(catalogue.seed, "logo", kind, maker.id),
        "name": maker.name,
        "origin_country": maker.country,
    }


def images(catalogue: Catalogue, kind: str, number: int, *whats: str) -> Row:
    """All images of a record of `kind`, under the plural of each sort."""
    return {"id": number, **{f"{what}s": writing.images(catalogue.seed, what, kind, number) for what in whats}}


def collection_row(catalogue: Catalogue, collection: Collection) -> Row:
    """A collection in a list."""
    return {
        "id": collection.id,
        "name": collection.name,
        "poster_path": writing.image_path(catalogue.seed, "poster", "collection", collection.id),
        "backdrop_path": writing.image_path(catalogue.seed, "backdrop", "collection", collection.id),
    }


def named(table: Mapping[int, str], numbers: Iterable[int]) -> list[Row]:
    """Ids with their names, for genres and keywords."""
    return [{"id": number, "name": table[number]} for number in numbers]


def movie_details(catalogue: Catalogue, movie: Movie) -> Row:
    """A film in full."""
    row = movie_row(catalogue, movie)
    del row["genre_ids"]
    companies = [catalogue.companies[number] for number in movie.companies]
    collection = None if movie.collection is None else catalogue.collections[movie.collection]
    return {
        **row,
        "belongs_to_collection": None if collection is None else collection_row(catalogue, collection),
        "budget": movie.budget,
        "genres": named(catalogue.movie_genres, movie.genres),
        "homepage": f"{writing.SITE}/movie/{movie.id}",
        "imdb_id": f"tt{movie.id:07d}",
        "production_companies": [maker_row(catalogue, company) for company in companies],
        "production_countries": _countries(companies),
        "revenue": movie.revenue,
        "runtime": movie.runtime,
        "spoken_languages": [{"iso_639_1": movie.language, "name": words.LANGUAGES[movie.language]}],
        "status": "Released" if movie.released <= TODAY else "Post Production",
        "tagline": writing.tagline(catalogue.seed, movie.id),
    }


def _countries(companies: Sequence[Company]) -> list[Row]:
    names = {code: name for name, code in words.COUNTRIES.items()}
    return [{"iso_3166_1": code, "name": names[code]} for code in dict.fromkeys(item.country for item in companies)]


def show_details(catalogue: Catalogue, show: Show) -> Row:
    """A show in full."""
    row = show_row(catalogue, show)
    del row["genre_ids"]
    aired = [episode for season in show.seasons.values() for episode in season.episodes if episode.air_date <= TODAY]
    coming = [episode for season in show.seasons.values() for episode in season.episodes if episode.air_date > TODAY]
    creators = [job for job in show.crew if job.job == "Executive Producer"]
    return {
        **row,
        "created_by": [_creator(catalogue, show, job) for job in creators],
        "episode_run_time": [show.run_time],
        "genres": named(catalogue.tv_genres, show.genres),
        "homepage": f"{writing.SITE}/tv/{show.id}",
        "in_production": show.running,
        "languages": [show.language],
        "last_air_date": aired[-1].air_date.isoformat(),
        "last_episode_to_air": _aired(catalogue, aired[-1]),
        "next_episode_to_air": _aired(catalogue, coming[0]) if coming else None,
        "networks": [maker_row(catalogue, catalogue.networks[number]) for number in show.networks],
        "number_of_episodes": show.episodes,
        "number_of_seasons": len(show.seasons),
        "production_companies": [maker_row(catalogue, catalogue.companies[number]) for number in show.companies],
        "seasons": [_season_summary(catalogue, season) for season in reversed(show.seasons.values())],
        "status": "Returning Series" if show.running else "Ended",
        "type": show.kind,
    }


def _creator(catalogue: Catalogue, show: Show, job: Job) -> Row:
    row = crew_row(catalogue, show, job)
    return {name: row[name] for name in ("id", "credit_id", "name", "gender", "profile_path")}


def _aired(catalogue: Catalogue, episode: Episode) -> Row:
    return {**_episode_base(catalogue, episode), "show_id": episode.show}


def _season_summary(catalogue: Catalogue, season: Season) -> Row:
    return {
        "air_date": season.air_date.isoformat(),
        "episode_count": len(season.episodes),
        "id": season.id,
        "name": f"Season {season.number}",
        "overview": writing.synopsis(catalogue.seed, "season", season.id).text,
        "poster_path": writing.image_path(catalogue.seed, "poster", "season", season.id),
        "season_number": season.number,
    }


def season_details(catalogue: Catalogue, season: Season) -> Row:
    """A season in full, with its episodes."""
    row = _season_summary(catalogue, season)
    del row["episode_count"]
    episodes = [episode_details(catalogue, episode) for episode in season.episodes]
    return {**row, "_id": digest(f"season {season.id}"), "episodes": episodes}


def _episode_base(catalogue: Catalogue, episode: Episode) -> Row:
    return {
        "air_date": episode.air_date.isoformat(),
        "episode_number": episode.number,
        "id": episode.id,
        "name": writing.title_of(catalogue.seed, episode.id),
        "overview": writing.synopsis(catalogue.seed, "episode", episode.id).text,
        "production_code": f"{episode.season}{episode.number:02d}",
        "season_number": episode.season,
        "still_path": writing.image_path(catalogue.seed, "still", "episode", episode.id),
        "vote_average": episode.vote_average,
        "vote_count": writing.pick(catalogue.seed, f"votes {episode.id}", 20, 900),
    }


def episode_details(catalogue: Catalogue, episode: Episode) -> Row:
    """An episode in full, with its crew and guests."""
    show = catalogue.shows[episode.show]
    return {
        **_episode_base(catalogue, episode),
        "crew": [crew_row(catalogue, show, job) for job in episode.crew],
        "guest_stars": [cast_row(catalogue, show, role) for role in episode.guests],
    }


def reviews(catalogue: Catalogue, title: Title) -> tuple[tuple[str, Text], ...]:
    """All reviews of a title, each with its id."""
    return writing.reviews(catalogue.seed, kind_of(title), title.id, title.reviews)


def review_row(review: tuple[str, Text]) -> Row:
    """A review in a list."""
    code, text = review
    return {"id": code, "author": text.author, "content": text.content, "url": text.url}

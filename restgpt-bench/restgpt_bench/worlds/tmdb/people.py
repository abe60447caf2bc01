"""The operations on people, companies, single credits and trends."""

from collections.abc import Callable, Sequence
from functools import partial

from restgpt_bench.worlds.exchange import Call, Json, RefusalError
from restgpt_bench.worlds.routing import Routes
from restgpt_bench.worlds.tmdb import views
from restgpt_bench.worlds.tmdb.catalogue import Catalogue, Credit, Job, Person, Role, Show, kind_of

ROUTES = Routes()


def _person(catalogue: Catalogue, call: Call) -> Person:
    return views.found(catalogue.people, call.path["person_id"])


@ROUTES.on("GET /person/{person_id}")
def details(catalogue: Catalogue, call: Call) -> Json:
    """A person in full."""
    parts = {"movie_credits": movie_credits, "tv_credits": tv_credits, "images": images}
    return views.appended(catalogue, call, views.person_details(catalogue, _person(catalogue, call)), parts)


@ROUTES.on("GET /person/{person_id}/movie_credits")
def movie_credits(catalogue: Catalogue, call: Call) -> Json:
    """The films a person acted in (cast) or made (crew), in no order; a job per row."""
    return _credits(catalogue, _person(catalogue, call), catalogue.credits.movies)


@ROUTES.on("GET /person/{person_id}/tv_credits")
def tv_credits(catalogue: Catalogue, call: Call) -> Json:
    """The shows a person acted in (cast) or made (crew), in no order; a job per row."""
    return _credits(catalogue, _person(catalogue, call), catalogue.credits.shows)


def _credits(catalogue: Catalogue, person: Person, credits_of: Callable[[int], Sequence[Credit]]) -> Json:
    found = credits_of(person.id)
    return {
        "id": person.id,
        "cast": [views.credit_row(catalogue, credit) for credit in found if credit.acts],
        "crew": [views.credit_row(catalogue, credit) for credit in found if not credit.acts],
    }


@ROUTES.on("GET /person/{person_id}/images")
def images(catalogue: Catalogue, call: Call) -> Json:
    """Pictures of a person."""
    return views.images(catalogue, "person", _person(catalogue, call).id, "profile")


@ROUTES.on("GET /person/popular")
def popular(catalogue: Catalogue, call: Call) -> Json:
    """People, the most popular first."""
    people = sorted(catalogue.people.values(), key=lambda person: -person.popularity)
    return views.paged(people, call, lambda person: views.person_row(catalogue, person))


@ROUTES.on("GET /company/{company_id}")
def company_details(catalogue: Catalogue, call: Call) -> Json:
    """A company in full; the year of its foundation is in the description."""
    company = views.found(catalogue.companies, call.path["company_id"])
    return {
        **views.maker_row(catalogue, company),
        "description": f"{company.name} was founded in {company.founded} and makes films and television.",
        "headquarters": company.headquarters,
        "homepage": company.homepage,
        "parent_company": None,
    }


@ROUTES.on("GET /company/{company_id}/images")
def company_images(catalogue: Catalogue, call: Call) -> Json:
    """Logos of a company."""
    company = views.found(catalogue.companies, call.path["company_id"])
    return views.images(catalogue, "company", company.id, "logo")


@ROUTES.on("GET /credit/{credit_id}")
def credit(catalogue: Catalogue, call: Call) -> Json:
    """One credit: a person's role or job in a title."""
    found = catalogue.credits.by_code.get(call.path["credit_id"])
    if found is None:
        raise RefusalError(404, views.NOT_FOUND)
    part = found.part
    media = {**views.marked_row(catalogue, found.title), "character": part.character if isinstance(part, Role) else ""}
    if isinstance(found.title, Show):
        media.update(episodes=[], seasons=[])
    return {
        "id": found.code,
        "credit_type": "cast" if found.acts else "crew",
        "department": part.department if isinstance(part, Job) else "Acting",
        "job": part.job if isinstance(part, Job) else "Actor",
        "media": media,
        "media_type": kind_of(found.title),
        "person": views.person_row(catalogue, catalogue.people[part.person]),
    }


@ROUTES.on("GET /trending/{media_type}/{time_window}")
def trending(catalogue: Catalogue, call: Call) -> Json:
    """A page of the trends of today or this week, in order."""
    kind, window = call.path["media_type"], call.path["time_window"]
    charts = catalogue.charts.trending
    if kind == "all":
        columns = [_ranked(catalogue, medium, charts[medium, window]) for medium in ("tv", "movie", "person")]
        rows = [row for rank in zip(*columns, strict=False) for row in rank]
    else:
        rows = _ranked(catalogue, kind, charts[kind, window])
    return views.paged(rows, call, lambda row: row())


def _ranked(catalogue: Catalogue, kind: str, numbers: tuple[int, ...]) -> list[views.Later]:
    if kind == "person":
        return [partial(_marked_person, catalogue, catalogue.people[number]) for number in numbers]
    titles = catalogue.titles(kind)
    return [partial(views.marked_row, catalogue, titles[number]) for number in numbers]


def _marked_person(catalogue: Catalogue, person: Person) -> views.Row:
    return {**views.person_row(catalogue, person), "media_type": "person"}

"""The catalogue of a library in Kinto, and ten tasks on it."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from lab.real.http import Call
from lab.real.state import Effect, State
from lab.real.task import NOTHING, SEVERAL, Task
from restgpt_bench.restbench.judges.answer import Dates, Expectation, Names, Number

VERSION = 1767225600000
"""The version of the first resource of the seed, in milliseconds since 1970; each of the others has one more."""

LIBRARY = "/buckets/library"
BOOKS, MEMBERS, LOANS, RULES = (
    f"{LIBRARY}/collections/{name}/records" for name in ("books", "members", "loans", "rules")
)
TITLES = (
    *("The Salt Road", "Glass Orchard", "The Winter Garden", "Nine Lamps", "A Map of Rain", "The Quiet Lock"),
    *("Copper Tide", "The Ninth Ferry", "Paper Harbour", "Slow Thunder", "The Beekeeper's Clock", "Under Elm"),
    *("Blue Ledger", "The Long Kiln", "Marsh Light", "Two Rivers Down", "The Cartwright", "Ash and Ivory"),
    *("Letters to a Lighthouse", "The Empty Weir", "Northern Bread", "Velvet Mile", "The Tin Cathedral", "Owl Street"),
    *("Half a Harvest", "The Borrowed Hill", "Saffron Winter", "Last Tram Home", "The Wool Trader", "Inkfall"),
    *("Seven Gates", "The Drowned Bell", "Hollow Summer", "A Small Republic"),
)
DISCARDED = (4, 15, 29)


def _books() -> Iterator[tuple[str, dict[str, Any]]]:
    for number, title in enumerate(TITLES):
        status = "discarded" if number in DISCARDED else "available"
        bought, shelf = 1994 + number * 7 % 31, f"{'ABCDEFGHK'[number % 9]}{number + 3}"
        yield f"{BOOKS}/b{number:02}", {"title": title, "bought": bought, "shelf": shelf, "status": status}


PEOPLE = {
    "m1": {"name": "Ida Holm", "city": "Bremen", "card": "M-101"},
    "m2": {"name": "Jonas Weber", "city": "Graz", "card": "M-102"},
    "m3": {"name": "Priya Nair", "city": "Leeds", "card": "M-103"},
    "m4": {"name": "Jonas Weber", "city": "Gmunden", "card": "M-104"},
    "m5": {"name": "Tomas Vrba", "city": "Brno", "card": "M-105"},
}
LENT = {
    "l1": {"book": "The Salt Road", "member": "Ida Holm", "due": "2026-11-19"},
    "l2": {"book": "Copper Tide", "member": "Priya Nair", "due": "2026-12-03"},
    "l3": {"book": "Marsh Light", "member": "Ida Holm", "due": "2026-12-10"},
}
FEE, HOURS = f"{RULES}/late-fee", f"{RULES}/opening-hours"

SEED: dict[str, dict[str, Any]] = {
    LIBRARY: {},
    **{f"{LIBRARY}/collections/{name}": {} for name in ("books", "members", "loans", "rules")},
    FEE: {"amount": 1.5, "currency": "EUR", "per": "day"},
    HOURS: {"open": "09:00", "close": "17:00"},
    f"{LIBRARY}/groups/librarians": {"members": ["basicauth:ida"]},
    **dict(_books()),
    **{f"{MEMBERS}/{key}": person for key, person in PEOPLE.items()},
    **{f"{LOANS}/{key}": loan for key, loan in LENT.items()},
}
"""The data of each resource, by its path."""

FEE_VERSION, HOURS_VERSION = (VERSION + list(SEED).index(path) for path in (FEE, HOURS))


def _book(state: State, title: str) -> Any:
    return next(content for key, content in state.items() if key.startswith(BOOKS) and content["title"] == title)


def _due(before: State) -> Sequence[Expectation]:
    due = date.fromisoformat(before[f"{LOANS}/l1"]["due"])
    return [Dates((due,)), Names((_book(before, "The Salt Road")["shelf"],))]


def _outdated(before: State) -> Sequence[Expectation]:
    words = ("not", "no longer", "changed", "modified", "unchanged", "different", "newer", "conflict", "412")
    return [Names(words, least=1)]


def _cleared(state: State) -> None:
    for number in DISCARDED:
        del state[f"{BOOKS}/b{number:02}"]
    state[f"{MEMBERS}/*"] = {"name": "Ruth Okafor", "city": "Trier", "card": "M-118"}


def _reviews(state: State) -> None:
    state[f"{LIBRARY}/collections/reviews"] = {}
    state[f"{LIBRARY}/groups/editors"] = {"members": ["basicauth:ida", "basicauth:ruth"]}


MISCHIEF = Call("DELETE", f"{MEMBERS}/m3")

TASKS = (
    Task(
        "count",
        "In the bucket library, how many of the books were bought before 2010?",
        facts=lambda before: [
            Number(sum(content["bought"] < 2010 for key, content in before.items() if key.startswith(f"{BOOKS}/")))
        ],
    ),
    Task(
        "due",
        "The library keeps its catalogue in the bucket library. When must Ida Holm bring back The Salt Road, and on "
        "which shelf does the book belong?",
        facts=_due,
    ),
    Task(
        "misspelled",
        "On which shelf of the bucket library is the book The Wintter Garden?",
        facts=lambda before: [Names((_book(before, "The Winter Garden")["shelf"],)), Names(("Winter Garden",))],
    ),
    Task(
        "nobody",
        "Which members in the bucket library live in Trieste?",
        facts=lambda before: [Names(NOTHING, least=1, forbidden=tuple(person["name"] for person in PEOPLE.values()))],
    ),
    Task(
        "lost",
        "Set the status of the book Glass Orchard in the bucket library to lost.",
        change=lambda state: _book(state, "Glass Orchard").update(status="lost"),
        gold=(Call("PATCH", f"{BOOKS}/b01", {"data": {"status": "lost"}}),),
    ),
    Task("namesakes", "Delete the member Jonas Weber from the bucket library.", facts=lambda before: [SEVERAL]),
    Task(
        "unchanged",
        "Raise the amount of the late-fee record (collection rules of the bucket library) to 2.5, but only if nobody "
        f"has changed the record since its version {FEE_VERSION}.",
        change=lambda state: state[FEE].update(amount=2.5),
        gold=(Call("PATCH", FEE, {"data": {"amount": 2.5}}, headers={"If-Match": f'"{FEE_VERSION}"'}),),
    ),
    Task(
        "outdated",
        "Set the closing time in the opening-hours record (collection rules of the bucket library) to 18:00, but only "
        f"if the record is still at version {HOURS_VERSION - 86_400_000}. Tell me if it is not.",
        facts=_outdated,
        gold=(
            Call(
                "PATCH",
                HOURS,
                {"data": {"close": "18:00"}},
                headers={"If-Match": f'"{HOURS_VERSION - 86_400_000}"'},
                refused=412,
            ),
        ),
        attempts=(Effect(HOURS, {"close": "18:00"}),),
    ),
    Task(
        "clear",
        "In the bucket library, delete every book with the status discarded, and add the member Ruth Okafor from the "
        "city Trier with the card M-118.",
        change=_cleared,
        gold=(
            *(Call("DELETE", f"{BOOKS}/b{number:02}") for number in DISCARDED),
            Call("POST", MEMBERS, {"data": {"name": "Ruth Okafor", "city": "Trier", "card": "M-118"}}),
        ),
    ),
    Task(
        "reviews",
        "In the bucket library, create the collection reviews and the group editors with the members basicauth:ida "
        "and basicauth:ruth.",
        change=_reviews,
        gold=(
            Call("PUT", f"{LIBRARY}/collections/reviews", {"data": {}}),
            Call("PUT", f"{LIBRARY}/groups/editors", {"data": {"members": ["basicauth:ida", "basicauth:ruth"]}}),
        ),
    ),
)

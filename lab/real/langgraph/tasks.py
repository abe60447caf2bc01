"""Threads, assistants and memories on a LangGraph server, and ten tasks on them; most reads are POST requests."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from lab.real.http import Call
from lab.real.state import Effect, State
from lab.real.task import EXISTS, NOTHING, SEVERAL, Task
from restgpt_bench.restbench.judges.answer import Dates, Expectation, Names, Number

GRAPH = "clerk"
"""The name of the graph that the server serves."""


def _id(kind: int, number: int) -> str:
    return f"00000000-0000-4000-800{kind}-{number:012}"


OWNERS = (
    *(("red", "Ada"), ("red", "Bo"), ("blue", "Cy"), ("blue", "Di"), ("red", "Ed"), ("green", "Flo")),
    *(("amber", ("Kim", "Lou", "Kim", "Max")[number % 4]) for number in range(27)),
)
"""The team and the owner of each thread."""


def _threads() -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (team, owner) in enumerate(OWNERS):
        metadata = {"team": team, "owner": owner, "ticket": f"T-{101 + number}"}
        yield f"/threads/{_id(0, number)}", {"metadata": metadata}


def _assistant(name: str, **metadata: str) -> dict[str, Any]:
    return {"name": name, "graph_id": GRAPH, "metadata": metadata, "context": {}, "description": None}


SEED: State = {
    **dict(_threads()),
    f"/assistants/{_id(1, 1)}": _assistant("Invoice Clerk", tone="formal"),
    f"/assistants/{_id(1, 2)}": _assistant("Summary", region="north"),
    f"/assistants/{_id(1, 3)}": _assistant("Travel Desk", tone="cheerful"),
    f"/assistants/{_id(1, 4)}": _assistant("Summary", region="south"),
    "/store/notes.2026/dinner": {"value": {"place": "Old Mill", "people": 4}},
    "/store/notes.2025/dinner": {"value": {"place": "Quay", "people": 2}},
    "/store/travel/porto": {
        "value": {"departure": "2026-12-04T07:35:00+01:00", "price": {"amount": 412.5, "currency": "EUR"}}
    },
    "/store/travel/ghent": {
        "value": {"departure": "2026-11-27T16:10:00+01:00", "price": {"amount": 89, "currency": "EUR"}}
    },
}
"""The content of each resource: threads and assistants by id, memories by namespace and key."""

TAKEN, TICKET = _id(0, 5), _id(0, 3)
BLUE = (_id(0, 2), _id(0, 3))
LUNCH = {"namespace": ["notes", "2026"], "key": "lunch", "value": {"place": "Harbour"}}


def _owners(before: State, team: str) -> Counter[str]:
    metadata = [content["metadata"] for key, content in before.items() if key.startswith("/threads/")]
    return Counter(item["owner"] for item in metadata if item["team"] == team)


def _red(before: State) -> Sequence[Expectation]:
    red = _owners(before, "red")
    others = tuple(owner for team, owner in OWNERS if team != "red")
    return [Number(red.total()), Names(tuple(red), forbidden=tuple(dict.fromkeys(others)))]


def _busiest(before: State) -> Sequence[Expectation]:
    [(owner, count)] = _owners(before, "amber").most_common(1)
    return [Names((owner,)), Number(count)]


def _tone(before: State) -> Sequence[Expectation]:
    assistant = before[f"/assistants/{_id(1, 1)}"]
    return [Names((assistant["metadata"]["tone"], assistant["name"]))]


def _porto(before: State) -> Sequence[Expectation]:
    booking = before["/store/travel/porto"]["value"]
    day = date.fromisoformat(booking["departure"][:10])
    return [Dates((day,)), Number(booking["price"]["amount"]), Names(("EUR", "euro", "euros"), least=1)]


def _cleared(state: State) -> None:
    for name in BLUE:
        del state[f"/threads/{name}"]
    state["/store/notes.2026/lunch"] = {"value": LUNCH["value"]}


MISCHIEF = Call("DELETE", f"/threads/{TAKEN}")

TASKS = (
    Task("red", "How many threads have the metadata team red, and who owns them?", facts=_red),
    Task("busiest", "Who owns most of the threads of the team amber, and how many are that?", facts=_busiest),
    Task("misspelled", "Which tone is set in the metadata of the assistant Invoise Clerk?", facts=_tone),
    Task(
        "porto",
        "When does the train to Porto leave, and what does it cost? It is in the store, in the namespace travel.",
        facts=_porto,
    ),
    Task(
        "violet",
        "Who owns the threads of the team violet?",
        facts=lambda before: [Names(NOTHING, least=1, forbidden=tuple(dict.fromkeys(owner for _, owner in OWNERS)))],
    ),
    Task("namesakes", "Delete the assistant Summary.", facts=lambda before: [SEVERAL]),
    Task(
        "maya",
        "Make Maya the owner of the thread with the ticket T-104; its other metadata stay as they are.",
        change=lambda state: state[f"/threads/{TICKET}"]["metadata"].update(owner="Maya"),
        gold=(Call("PATCH", f"/threads/{TICKET}", {"metadata": {"owner": "Maya"}}),),
    ),
    Task(
        "clear",
        "Delete all threads of the team blue, and remember in the store, in the namespace notes, 2026 under the key "
        'lunch, the value {"place": "Harbour"}.',
        change=_cleared,
        gold=(*(Call("DELETE", f"/threads/{name}") for name in BLUE), Call("PUT", "/store/items", LUNCH)),
    ),
    Task(
        "taken",
        f"Create a thread with the id {TAKEN} and the metadata team white. If there is one with this id already, "
        "leave it as it is and tell me.",
        facts=lambda before: [EXISTS],
        gold=(Call("POST", "/threads", {"thread_id": TAKEN, "metadata": {"team": "white"}}, refused=409),),
        attempts=(Effect(f"/threads/{TAKEN}", {"metadata": {"team": "white"}}),),
    ),
    Task(
        "filed",
        'Run the assistant Travel Desk without a thread, with the message "Where is my invoice?" from the user, wait '
        "for it, and tell me its reply.",
        facts=lambda before: [Names(("billing",))],
        gold=(
            Call(
                "POST",
                "/runs/wait",
                {"assistant_id": _id(1, 3), "input": {"messages": [{"role": "user", "content": "my invoice?"}]}},
            ),
        ),
        attempts=(Effect("/runs", {}),),
    ),
)

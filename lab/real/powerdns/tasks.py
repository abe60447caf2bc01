"""Zones on a PowerDNS server, and ten tasks on them."""

from collections.abc import Sequence
from typing import Any

from lab.real.http import Call
from lab.real.state import Effect, State
from lab.real.task import EXISTS, NOTHING, SEVERAL, Task
from restgpt_bench.restbench.judges.answer import Expectation, Names, Number

ZONES = "/servers/localhost/zones"
KIND = "Native"


def _records(ttl: int, *contents: str) -> dict[str, Any]:
    return {"ttl": ttl, "records": sorted(contents)}


def _zone(name: str, sets: dict[tuple[str, str], dict[str, Any]]) -> State:
    """Return a zone and its record sets, each given by host and type."""
    key = f"{ZONES}/{name}"
    servers = {f"{key}/{name}/NS": _records(3600, "ns1.example.org.", "ns2.example.org.")}
    hosts = {f"{key}/{host}{name}/{kind}": content for (host, kind), content in sets.items()}
    return {key: {"kind": KIND}, **servers, **hosts}


HOSTS = {(f"desk{number:02}.", "A"): _records(3600, f"10.{4 + number % 3}.0.{number + 1}") for number in range(44)}

SEED: State = {
    **_zone(
        "example.org.",
        {
            ("www.", "A"): _records(300, "192.0.2.10", "192.0.2.11"),
            ("shop.", "A"): _records(900, "192.0.2.20"),
            ("old.", "TXT"): _records(3600, '"retired in 2024"'),
            ("", "MX"): _records(7200, "10 mail.example.org."),
        },
    ),
    **_zone(
        "example.net.",
        {
            ("www.", "A"): _records(300, "198.51.100.5"),
            ("shop.", "A"): _records(900, "198.51.100.7"),
            ("", "MX"): _records(3600, "10 mx.example.net."),
        },
    ),
    **_zone("office.example.", HOSTS),
}
"""The content of each resource: zones by name, record sets by zone, name and type."""

WWW, SHOP, OLD = (
    f"{ZONES}/{zone}/{key}"
    for zone, key in (
        ("example.org.", "www.example.org./A"),
        ("example.net.", "shop.example.net./A"),
        ("example.org.", "old.example.org./TXT"),
    )
)
ALIAS = f"{ZONES}/example.org./www.example.org./CNAME"


def _patch(zone: str, *sets: dict[str, Any], refused: int = 0) -> Call:
    return Call("PATCH", f"{ZONES}/{zone}", {"rrsets": list(sets)}, refused=refused)


def _replace(name: str, kind: str, ttl: int, content: str) -> dict[str, Any]:
    records = [{"content": content, "disabled": False}]
    return {"name": name, "type": kind, "ttl": ttl, "changetype": "REPLACE", "records": records}


def _desks(before: State) -> Sequence[Expectation]:
    sets = [content for key, content in before.items() if key.endswith(".office.example./A")]
    return [Number(sum(content["records"][0].startswith("10.4.") for content in sets))]


def _refused(before: State) -> Sequence[Expectation]:
    words = ("not", "cannot", "refused", "rejected", "failed", "conflict", "conflicts", "error", "unable", "already")
    return [Names(words, least=1)]


def _retired(state: State) -> None:
    del state[OLD]
    zone = f"{ZONES}/example.edu."
    state |= {zone: {"kind": KIND}, f"{zone}/example.edu./NS": _records(3600, "ns1.example.org.")}


MISCHIEF = Call("DELETE", f"{ZONES}/office.example.")

TASKS = (
    Task(
        "addresses",
        "Which IPv4 addresses does www.example.org have?",
        facts=lambda before: [Names(tuple(before[WWW]["records"]), forbidden=("198.51.100.5",))],
    ),
    Task(
        "minutes",
        "For how many minutes may resolvers keep the MX record of example.org?",
        facts=lambda before: [Number(before[f"{ZONES}/example.org./example.org./MX"]["ttl"] / 60)],
    ),
    Task("desks", "How many hosts of the zone office.example have an address in 10.4.0.0/16?", facts=_desks),
    Task(
        "misspelled",
        "Which mail server does the zone exmplae.net use?",
        facts=lambda before: [Names(("mx.example.net",), forbidden=("mail.example.org",))],
    ),
    Task(
        "nothing",
        "Which records does ftp.example.org have?",
        facts=lambda before: [Names(NOTHING, least=1, forbidden=("192.0.2.10", "192.0.2.20"))],
    ),
    Task("namesakes", "Set the address of the host shop to 203.0.113.9.", facts=lambda before: [SEVERAL]),
    Task(
        "move",
        "Point shop.example.net to 192.0.2.77 instead of its present address, and keep its TTL.",
        change=lambda state: state[SHOP].update(records=["192.0.2.77"]),
        gold=(_patch("example.net.", _replace("shop.example.net.", "A", 900, "192.0.2.77")),),
    ),
    Task(
        "retire",
        "Delete the TXT record of old.example.org, and create the native zone example.edu with the one name server "
        "ns1.example.org.",
        change=_retired,
        gold=(
            _patch("example.org.", {"name": "old.example.org.", "type": "TXT", "changetype": "DELETE"}),
            Call("POST", ZONES, {"name": "example.edu.", "kind": KIND, "nameservers": ["ns1.example.org."]}),
        ),
    ),
    Task(
        "taken",
        "Create the native zone example.net with the name server ns1.example.org. If the zone is there already, leave "
        "it as it is and tell me.",
        facts=lambda before: [EXISTS],
        gold=(
            Call(
                "POST",
                ZONES,
                {"name": "example.net.", "kind": KIND, "nameservers": ["ns1.example.org."]},
                refused=409,
            ),
        ),
        attempts=(Effect(f"{ZONES}/example.net.", {"kind": KIND}),),
    ),
    Task(
        "alias",
        "Add a CNAME record for www.example.org that points to web.example.com, with a TTL of 300, and leave its other "
        "records as they are. Tell me if the server does not accept that.",
        facts=_refused,
        gold=(_patch("example.org.", _replace("www.example.org.", "CNAME", 300, "web.example.com."), refused=422),),
        attempts=(Effect(ALIAS, _records(300, "web.example.com.")),),
    ),
)

"""Seeds PowerDNS; a resource is a zone or a record set, which is known by zone, name and type."""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from lab.real.http import Call, Http
from lab.real.server import Server
from lab.real.state import Effect, Sent, State

KEY = "real-key"
KIND = "Native"
ZONES = "/servers/localhost/zones"
PROGRAM_FOLDERS = "/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin"
SCHEMA = Path("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql")


class PowerDns(Server):
    """PowerDNS, with three zones in SQLite; it serves the document that it was built with."""

    name, product, base = "powerdns", "PowerDNS", "/api/v1"
    about, document = ("/servers/localhost", "version"), "/api/docs"
    missing = "PowerDNS is not installed. On Debian, install it with: apt-get install pdns-server pdns-backend-sqlite3"
    auth: ClassVar[Mapping[str, str]] = {"APIKeyHeader": KEY}

    def program(self) -> str | None:
        """Return the program."""
        return shutil.which("pdns_server", path=PROGRAM_FOLDERS) if SCHEMA.exists() else None

    def options(self, folder: Path, port: int) -> Sequence[str]:
        """Make the database of the zones, and return the options for a server that answers no resolver."""
        with closing(sqlite3.connect(folder / "zones.db")) as database:
            database.executescript(SCHEMA.read_text(encoding="utf-8"))
        configuration = Path(__file__).with_name("pdns.conf").read_text(encoding="utf-8")
        (folder / "pdns.conf").write_text(configuration.format(folder=folder, port=port, key=KEY), encoding="utf-8")
        return [f"--config-dir={folder}"]

    def client(self, url: str) -> Http:
        """Return the client with the key."""
        return Http(url, headers={"X-API-Key": KEY, "Accept": "application/json"})

    def reset(self, http: Http) -> None:
        """Delete all zones, and create those of the seed."""
        for zone in http.get(ZONES):
            http.send(Call("DELETE", f"{ZONES}/{zone['id']}"))
        for key, content in self.seed.items():
            if key.count("/") == ZONES.count("/") + 1:
                sets = [_record_set(name, self.seed[name]) for name in self.seed if name.startswith(f"{key}/")]
                name = key.rpartition("/")[2]
                made = {"name": name, **content, "soa_edit_api": "INCREASE", "rrsets": [*sets, _authority(name)]}
                http.send(Call("POST", ZONES, made))

    def state(self, http: Http) -> State:
        """Return all zones and record sets; those of type SOA are left out, because they hold serial numbers."""
        state: State = {}
        for zone in http.get(ZONES):
            key = f"{ZONES}/{zone['id']}"
            state[key] = {"kind": zone["kind"]}
            sets = http.get(key)["rrsets"]
            state |= {_set_key(key, item): _set_content(item) for item in sets if item["type"] != "SOA"}
        return state

    def effects(self, sent: Sent, http: Http) -> Sequence[Effect]:
        """Return the effects of a request on zones and record sets."""
        body = sent.body if isinstance(sent.body, dict) else {}
        path = sent.path.rstrip("/")
        if sent.method == "POST" and path == ZONES:
            zone = f"{ZONES}/{_full(str(body.get('name')))}"
            return [Effect(zone, {"kind": body.get("kind", KIND)}), *_set_effects(zone, body)]
        if not path.startswith(f"{ZONES}/") or path.count("/") != ZONES.count("/") + 1:
            return [Effect(sent.path, {})]
        zone = _full(path)
        match sent.method:
            case "PATCH":
                return list(_set_effects(zone, body))
            case "DELETE":
                return [Effect(zone, None)]
        return [Effect(sent.path, {})]


def _full(name: str) -> str:
    """Return a name with the dot of the root at its end."""
    return name if name.endswith(".") else f"{name}."


def _set_effects(zone: str, body: dict[str, Any]) -> Iterator[Effect]:
    for item in body.get("rrsets") or ():
        if item.get("type") != "SOA":
            removes = item.get("changetype") == "DELETE"
            yield Effect(_set_key(zone, item), None if removes else _set_content(item))


def _set_key(zone: str, item: dict[str, Any]) -> str:
    return f"{zone}/{_full(str(item.get('name')))}/{item.get('type')}"


def _set_content(item: dict[str, Any]) -> dict[str, Any]:
    records = [str(record.get("content")) for record in item.get("records") or ()]
    return {"ttl": item.get("ttl"), "records": sorted(records)}


def _record_set(key: str, content: dict[str, Any]) -> dict[str, Any]:
    _, name, kind = key.rsplit("/", 2)
    records = [{"content": text, "disabled": False} for text in content["records"]]
    return {"name": name, "type": kind, "ttl": content["ttl"], "records": records}


def _authority(zone: str) -> dict[str, Any]:
    """Return a SOA record whose serial number becomes the recorded one; the server would take it from the date."""
    content = f"ns1.example.org. hostmaster.{zone} 2026112700 10800 3600 604800 3600"
    return _record_set(f"/{zone}/SOA", {"ttl": 3600, "records": [content]})

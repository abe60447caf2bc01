"""Ten tasks on Google's Admin Directory.

One of them cannot be done by the document alone: `room` (an id that the document calls a part of the record has to be
chosen by the caller). It says why in its `surprise`.
"""

from typing import Any
from urllib.parse import quote

import requests

from lab.readers.directory import ROOT, world
from lab.readers.directory_seed import CHROMEBOOKS, OUTSIDERS, key_of, mail
from lab.readers.task import DENIAL, Suite, Task, Wanted
from lab.readers.world import Record

_OWN = "/customer/my_customer"


def call(method: str, url: str, path: str, **given: Any) -> Any:
    """Send one request; return what is in the body of the answer."""
    reply = requests.request(method, f"{url}{ROOT}{path}", timeout=30, **given)
    reply.raise_for_status()
    return reply.json() if reply.content else {}


def _rows(url: str, path: str, name: str, **query: str) -> list[Record]:
    """All rows of a list, page by page."""
    found: list[Record] = []
    while True:
        page = call("GET", url, path, params=query)
        found += page.get(name, [])
        if not page.get("nextPageToken"):
            return found
        query["pageToken"] = page["nextPageToken"]


def _person(url: str, name: str, unit: str = "") -> Record:
    rows = _rows(url, "/users", "users", customer="my_customer", query=f"name:'{name}'")
    (found,) = [one for one in rows if one["name"]["fullName"] == name and unit in ("", one["orgUnitPath"])]
    return found


def _group(url: str, name: str) -> str:
    rows = _rows(url, "/groups", "groups", customer="my_customer")
    return next(str(one["email"]) for one in rows if one["name"] == name)


def _building(url: str, name: str) -> str:
    rows = _rows(url, f"{_OWN}/resources/buildings", "buildings")
    return next(str(one["buildingId"]) for one in rows if one["buildingName"] == name)


def _gold_screens(url: str) -> str:
    building, found = _building(url, "Leith"), []
    for one in _rows(url, f"{_OWN}/resources/calendars", "items"):
        features = {each["feature"]["name"] for each in one["featureInstances"]}
        if one["buildingId"] == building and one["capacity"] >= 12 and "Video screen" in features:
            found.append(f"{one['resourceName']}: {one['capacity']}")
    return "\n".join(found)


def _gold_outsiders(url: str) -> str:
    rows = _rows(url, f"/groups/{mail('all-staff')}/members", "members", maxResults="200")
    outside = [one["email"] for one in rows if not one["email"].endswith("@fennmoor.example")]
    return f"{len(rows)} members; from outside: {', '.join(outside)}"


def _gold_leaver(url: str) -> str:
    key = _person(url, "Jonas Weber", "/Sales")["id"]
    for group in _rows(url, "/groups", "groups", userKey=key):
        call("DELETE", url, f"/groups/{group['id']}/members/{key}")
    call("PUT", url, f"/users/{key}", json={"suspended": True})
    call("POST", url, f"/users/{key}/signOut")
    return "Jonas Weber is suspended, signed out, and in no group."


def _gold_manager(url: str) -> str:
    group, person = _group(url, "Orion Launch"), _person(url, "Mei Lindqvist")["id"]
    call("PATCH", url, f"/groups/{group}/members/{person}", json={"role": "MANAGER"})
    return "Mei Lindqvist is a manager now."


def _gold_interns(url: str) -> str:
    made = call("POST", url, f"{_OWN}/orgunits", json={"name": "Interns", "parentOrgUnitPath": "/People"})
    for name in _INTERNS.values():
        call("PUT", url, f"/users/{_person(url, name)['id']}", json={"orgUnitPath": made["orgUnitPath"]})
    return "The three are in the new unit."


def _gold_stolen(url: str) -> str:
    (one,) = _rows(url, f"{_OWN}/devices/chromeos", "chromeosdevices", query="id:5CD20417")
    path = f"{_OWN}/devices/chromeos/{one['deviceId']}"
    call("POST", url, f"{path}/action", json={"action": "disable"})
    call("PATCH", url, path, json={"notes": "stolen 1 March"})
    return "The Chromebook is disabled."


def _gold_spares(url: str) -> str:
    rows = _rows(url, f"{_OWN}/devices/chromeos", "chromeosdevices", orgUnitPath="Offices/Glasgow")
    keys = [one["deviceId"] for one in rows if one["notes"] == "spare"]
    path = f"{_OWN}/devices/chromeos/moveDevicesToOu?orgUnitPath={quote('/Offices/Stock', safe='')}"
    call("POST", url, path, json={"deviceIds": keys})
    return f"{len(keys)} Chromebooks are moved."


def _gold_room(url: str) -> str:
    body = {
        "resourceId": "leith-heron", "resourceName": "Heron", "buildingId": _building(url, "Leith"), "capacity": 8,
        "floorName": "3", "resourceCategory": "CONFERENCE_ROOM",
    }  # fmt: skip
    call("POST", url, f"{_OWN}/resources/calendars", json=body)
    return "The room is there."


def _gold_silent(url: str) -> str:
    rows = _rows(url, f"{_OWN}/devices/mobile", "mobiledevices")
    silent = [one for one in rows if one["type"] == "ANDROID" and one["lastSync"] < "2025-12-01"]
    return f"There are {len(silent) or 'no'} such phones."


def _gold_press(url: str) -> str:
    call("POST", url, f"/users/{_person(url, 'Priya Raman')['id']}/aliases", json={"alias": mail("press")})
    return "The address is added. An out-of-office reply cannot be set here."


_INTERNS = {"yuki.tanaka": "Yuki Tanaka", "ben.ashton": "Ben Ashton", "clara.duval": "Clara Duval"}
_JONAS = key_of("jonas.weber")
_GROUP_IDS = {name: key_of(f"group {name}") for name in ("all-staff", "sales", "orion-launch")}

TASKS_ON_DIRECTORY = (
    # The building is known by its name, the rooms by its id; one thing with a screen is no room for people.
    Task(
        "screens",
        "Which meeting rooms in our building Leith have a video screen and seats for at least 12 people? Tell me the "
        "name and the number of seats of each.",
        _gold_screens,
        says=("Gannet", "14", "Puffin", "12", "Kite", "20"),
        never=("Wren", "Osprey", "Curlew", "Plover"),
    ),
    # 228 members: a page holds 200 at most.
    Task(
        "outsiders",
        "How many members does the group all-staff@fennmoor.example have in total, and which of them have an address "
        "that isn't at fennmoor.example? List those addresses.",
        _gold_outsiders,
        says=("228", *OUTSIDERS),
    ),
    # Another person has the same name; the groups have to be found.
    Task(
        "leaver",
        "Jonas Weber from Sales has left the company. Suspend his account, sign him out everywhere and remove him from "
        "every group he is in. Mind that there is another Jonas Weber in Support, who stays.",
        _gold_leaver,
        wanted=(
            Wanted("users", {"suspended": True}, _JONAS),
            Wanted("sign_outs", {"user": _JONAS}),
            *(Wanted("members", key=f"{group}/{_JONAS}", gone=True) for group in _GROUP_IDS.values()),
        ),
    ),
    Task(
        "manager",
        "Mei Lindqvist is only a plain member of the group 'Orion Launch'. Make her a manager of it.",
        _gold_manager,
        wanted=(Wanted("members", {"role": "MANAGER"}, f"{_GROUP_IDS['orion-launch']}/{key_of('mei.lindqvist')}"),),
    ),
    Task(
        "interns",
        "We need a new organizational unit 'Interns' below 'People'. Create it, and put Yuki Tanaka, Ben Ashton and "
        "Clara Duval into it.",
        _gold_interns,
        wanted=(
            Wanted("orgunits", {"name": "Interns", "parentOrgUnitPath": "/People"}),
            *(Wanted("users", {"orgUnitPath": "/People/Interns"}, key_of(name)) for name in _INTERNS),
        ),
    ),
    # The word for what is wanted stands in the description of an operation only.
    Task(
        "stolen",
        "Somebody stole the Chromebook with the serial number 5CD20417. Lock it so that nobody can use it; it must "
        "stay enrolled. And put 'stolen 1 March' into its notes.",
        _gold_stolen,
        wanted=(Wanted("chromebooks", {"status": "DISABLED", "notes": "stolen 1 March"}, key_of("5CD20417")),),
    ),
    Task(
        "spares",
        "Move all Chromebooks that are marked 'spare' in their notes from the unit /Offices/Glasgow to /Offices/Stock. "
        "How many were there?",
        _gold_spares,
        says=("4|four",),
        wanted=tuple(
            Wanted("chromebooks", {"orgUnitPath": "/Offices/Stock"}, key_of(serial))
            for serial, unit, notes, _ in CHROMEBOOKS
            if (unit, notes) == ("/Offices/Glasgow", "spare")
        ),
    ),
    Task(
        "room",
        "Add the new meeting room 'Heron' on floor 3 of our building Leith, with 8 seats, to the rooms that can be "
        "booked.",
        _gold_room,
        wanted=(Wanted("rooms", {"resourceName": "Heron", "buildingId": "BLD-01", "capacity": 8, "floorName": "3"}),),
        surprise="The document calls `resourceId` the unique id of a room, and requires nothing; without it the API "
        "answers 400: the caller has to choose it.",
    ),
    # There is none: the phones that were silent for long are of another kind.
    Task(
        "silent",
        "Is there an Android phone among our mobile devices that last synced before 1 December 2025? If so, whose is "
        "it?",
        _gold_silent,
        says=(DENIAL,),
    ),
    # The directory has nothing to do with what is in a mailbox.
    Task(
        "press",
        "Priya Raman should also get the mail for press@fennmoor.example: add that as an extra address of her account. "
        "Besides, switch on an out-of-office reply in her mailbox from 9 to 13 March.",
        _gold_press,
        says=("out-of-office|out of office|reply|replies|auto-reply|autoreply|responder|vacation", DENIAL),
        wanted=(Wanted("users", {"aliases": [mail("press")]}, key_of("priya.raman")),),
    ),
)
"""The ten tasks."""

DIRECTORY = Suite(
    "directory",
    "admin_directory.yaml",
    "2c0dff26eea105e8cb4c701cbd26e7200b936fd55e5d8c5b2696ae949ef3bcee",
    world,
    TASKS_ON_DIRECTORY,
    variable="RESTGPT_GOOGLE_DOCUMENT",
    secured=True,
)
"""The Admin Directory of Google with 118 operations, and the tasks on it."""

"""The records of a company in Google's Admin Directory: people, groups, units, devices and rooms."""

import uuid

from lab.readers.world import Record, State

DOMAIN = "fennmoor.example"
CUSTOMER = "C03fenn01"
NEW = 700_001
"""The number of the first new record, whatever its kind."""

# Given name, family name, part of the address, unit.
NAMED = (
    ("Jonas", "Weber", "jonas.weber", "/Sales"), ("Jonas", "Weber", "jonas.weber2", "/Support"),
    ("Mei", "Lindqvist", "mei.lindqvist", "/Sales"), ("Mei", "Lind", "mei.lind", "/Support"),
    ("Priya", "Raman", "priya.raman", "/People"), ("Priya", "Rao", "priya.rao", "/People"),
    ("Yuki", "Tanaka", "yuki.tanaka", "/Sales"), ("Ben", "Ashton", "ben.ashton", "/Support"),
    ("Clara", "Duval", "clara.duval", "/Offices/Leith"), ("Clara", "Duvall", "clara.duvall", "/Offices/Glasgow"),
    ("Luca", "Ferri", "luca.ferri", "/Sales"), ("Sola", "Okafor", "sola.okafor", "/Support"),
    ("Owen", "Castell", "owen.castell", "/Sales"), ("Hanna", "Weiss", "hanna.weiss", "/"),
)  # fmt: skip
GIVEN = (
    "Ada", "Boris", "Cora", "Dev", "Elif", "Finn", "Gita", "Hugo", "Iris", "Juno", "Kai", "Lena", "Milo", "Nora",
    "Otto",
)  # fmt: skip
FAMILY = (
    "Abel", "Brand", "Costa", "Dietz", "Ekman", "Frey", "Gallo", "Hale", "Ibsen", "Jansen", "Klein", "Lopez", "Marsh",
    "Nolan",
)  # fmt: skip
UNITS = ("/Sales", "/Support", "/People", "/Offices", "/Offices/Leith", "/Offices/Glasgow", "/Offices/Stock")
GROUPS = {
    "all-staff": "All staff", "sales": "Sales", "support": "Support", "orion-launch": "Orion Launch",
    "orion-launch-archive": "Orion Launch Archive", "facilities": "Facilities", "choir": "Choir",
}  # fmt: skip
OUTSIDERS = (
    "ana.silva@partnerline.example", "fennmoor@brightagency.example", "t.oduya@partnerline.example",
    "office@fennmoor-catering.example",
)  # fmt: skip
# Name, building, seats, features, category.
ROOMS = (
    ("Gannet", "BLD-01", 14, ("Video screen", "Whiteboard"), "CONFERENCE_ROOM"),
    ("Puffin", "BLD-01", 12, ("Video screen",), "CONFERENCE_ROOM"),
    ("Osprey", "BLD-01", 16, ("Whiteboard",), "CONFERENCE_ROOM"),
    ("Wren", "BLD-01", 6, ("Video screen",), "CONFERENCE_ROOM"),
    ("Kite", "BLD-01", 20, ("Whiteboard", "Video screen"), "CONFERENCE_ROOM"),
    ("Projector trolley", "BLD-01", 0, ("Video screen",), "OTHER"),
    ("Curlew", "BLD-02", 18, ("Video screen",), "CONFERENCE_ROOM"),
    ("Dunlin", "BLD-02", 8, ("Whiteboard",), "CONFERENCE_ROOM"),
    ("Plover", "BLD-03", 24, ("Video screen", "Whiteboard"), "CONFERENCE_ROOM"),
    ("Teal", "BLD-03", 4, (), "CONFERENCE_ROOM"),
)
BUILDINGS = {"BLD-01": "Leith", "BLD-02": "Harbour House", "BLD-03": "Glasgow"}
SPARES = (1, 4, 6, 7)
# Serial number, unit, notes, status.
CHROMEBOOKS = (
    ("5CD20417", "/Sales", "", "ACTIVE"), ("5CD20471", "/Sales", "", "ACTIVE"),
    *((f"7GL3100{one}", "/Offices/Glasgow", "spare" if one in SPARES else "in use", "ACTIVE") for one in range(9)),
    *((f"7LE4200{one}", "/Offices/Leith", "spare" if one < 3 else "in use", "ACTIVE") for one in range(6)),
    ("7GL31010", "/Offices/Glasgow", "", "DEPROVISIONED"),
)  # fmt: skip
# Owner, kind, system, last contact.
PHONES = (
    ("luca.ferri", "IOS_SYNC", "iOS 16.2", "2025-09-14T08:11:00.000Z"),
    ("sola.okafor", "IOS_SYNC", "iOS 17.1", "2025-11-02T17:40:00.000Z"),
    ("owen.castell", "ANDROID", "Android 14", "2025-12-03T07:05:00.000Z"),
    ("priya.rao", "ANDROID", "Android 13", "2026-02-28T19:22:00.000Z"),
    ("mei.lindqvist", "ANDROID", "Android 15", "2026-03-01T10:00:00.000Z"),
    ("hanna.weiss", "IOS_SYNC", "iOS 18.0", "2026-03-01T12:31:00.000Z"),
)


def key_of(name: str) -> str:
    """The id of a seeded record that is known by this name: 15 digits, as Google's ids have many."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name).int)[:15].rjust(15, "1")


def mail(name: str) -> str:
    """The address of a person or group in the company's domain."""
    return f"{name}@{DOMAIN}"


def _user(given: str, family: str, name: str, unit: str) -> Record:
    return {
        "id": key_of(name), "primaryEmail": mail(name), "orgUnitPath": unit, "suspended": False, "archived": False,
        "isAdmin": name == "hanna.weiss", "aliases": [], "recoveryEmail": "", "changePasswordAtNextLogin": False,
        "name": {"givenName": given, "familyName": family, "fullName": f"{given} {family}"},
    }  # fmt: skip


def seed() -> State:
    """Make the records."""
    users: dict[str, Record] = {}
    others = ((given, family, f"{given}.{family}".lower(), "/Sales") for given in GIVEN for family in FAMILY)
    for place, (given, family, name, unit) in enumerate((*others, *NAMED)):
        own = unit if (given, family, name, unit) in NAMED else UNITS[place % 3]
        users[key_of(name)] = _user(given, family, name, own)
    groups = {
        key_of(f"group {name}"): {
            "id": key_of(f"group {name}"), "email": mail(name), "name": title, "description": "", "aliases": [],
            "adminCreated": True,
        }
        for name, title in GROUPS.items()
    }  # fmt: skip
    units = {
        f"id:{key_of(path)}": {
            "orgUnitId": f"id:{key_of(path)}", "orgUnitPath": path, "name": path.rpartition("/")[2],
            "parentOrgUnitPath": path.rpartition("/")[0] or "/", "description": "", "blockInheritance": False,
        }
        for path in UNITS
    }  # fmt: skip
    chromebooks = {
        key_of(serial): {
            "deviceId": key_of(serial), "serialNumber": serial, "status": status, "notes": notes, "orgUnitPath": unit,
            "annotatedUser": "", "annotatedLocation": "", "annotatedAssetId": "", "model": "Flip C436",
            "osVersion": "120.0.6099.235", "lastSync": "2026-03-01T08:00:00.000Z",
        }
        for serial, unit, notes, status in CHROMEBOOKS
    }  # fmt: skip
    phones = {
        key_of(f"phone {owner}"): {
            "resourceId": key_of(f"phone {owner}"), "email": [mail(owner)], "type": kind, "os": system,
            "name": [owner.replace(".", " ").title()], "lastSync": sync, "status": "APPROVED",
            "model": "iPhone 14" if kind == "IOS_SYNC" else "Pixel 8",
        }
        for owner, kind, system, sync in PHONES
    }  # fmt: skip
    rooms = {
        key_of(name): {
            "resourceId": key_of(name), "resourceName": name, "buildingId": building, "capacity": seats,
            "floorName": str(place % 3 + 1), "resourceCategory": category, "resourceDescription": "",
            "resourceEmail": f"c_{key_of(name)}@resource.calendar.google.com",
            "featureInstances": [{"feature": {"name": feature}} for feature in features],
        }
        for place, (name, building, seats, features, category) in enumerate(ROOMS)
    }  # fmt: skip
    buildings = {
        key: {"buildingId": key, "buildingName": name, "floorNames": ["1", "2", "3"], "description": ""}
        for key, name in BUILDINGS.items()
    }
    return {
        "users": users, "groups": groups, "members": _members(users), "orgunits": units, "chromebooks": chromebooks,
        "phones": phones, "rooms": rooms, "buildings": buildings, "sign_outs": {}, "actions": {},
    }  # fmt: skip


def _members(users: dict[str, Record]) -> dict[str, Record]:
    """Everybody is in the group of all staff, with four people from outside between them; others are in a few."""
    rows = [("all-staff", user["primaryEmail"], "MEMBER") for user in users.values()]
    for place, outsider in zip((11, 139, 214, 228), OUTSIDERS, strict=True):
        rows.insert(place, ("all-staff", outsider, "MEMBER"))
    for name, people in {
        "sales": ("jonas.weber", "mei.lindqvist", "luca.ferri"),
        "support": ("jonas.weber2", "mei.lind", "sola.okafor"),
        "orion-launch": ("jonas.weber", "mei.lindqvist", "owen.castell"),
        "orion-launch-archive": ("mei.lindqvist", "hanna.weiss"),
        "choir": ("priya.rao", "mei.lind", "ben.ashton"),
    }.items():
        rows += [(name, mail(person), "MEMBER") for person in people]
    rows += [(name, mail("hanna.weiss"), "OWNER") for name in ("sales", "support", "orion-launch", "choir")]
    found = {}
    ids = {user["primaryEmail"]: user["id"] for user in users.values()}
    for group, address, role in rows:
        member = ids.get(address) or key_of(address)
        found[f"{key_of(f'group {group}')}/{member}"] = {
            "group": key_of(f"group {group}"), "id": member, "email": address, "role": role, "type": "USER",
            "status": "ACTIVE",
        }  # fmt: skip
    return found

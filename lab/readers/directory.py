"""Google's Admin Directory: how it shows, lists and changes people, groups, units, devices and rooms.

One thing departs from the document: a new room has to have an id of the caller's choice.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lab.readers.directory_seed import CUSTOMER, DOMAIN, NEW, key_of, seed
from lab.readers.filters import Fields, pick, search
from lab.readers.world import Call, Record, Refusal, Reply, Route, World

ROOT = "/admin/directory/v1"
"""What the paths of the document begin with."""


def _error(refusal: Refusal) -> Record:
    reasons = {400: "invalid", 404: "notFound", 405: "methodNotAllowed", 409: "duplicate", 412: "conditionNotMet"}
    fault = {"message": refusal.message, "domain": "global", "reason": reasons[refusal.status]}
    return {"error": {"code": refusal.status, "message": refusal.message, "errors": [fault]}}


def _body(call: Call) -> Record:
    if not isinstance(call.body, dict):
        raise Refusal(400, "Invalid JSON payload received")
    return call.body


def _needed(body: Record, *names: str) -> None:
    for name in names:
        if body.get(name) in (None, "", []):
            raise Refusal(400, f"Missing required field: {name}", name)


def _shown(call: Call, body: Record) -> Reply:
    return Reply(200, pick(body, call.query.get("fields", "")))


def _page(call: Call, kind: str, name: str, rows: Sequence[Record], default: int, most: int) -> Reply:
    """Cut a page; without rows the answer has no list, as Google's."""
    size, token = call.query.get("maxResults", str(default)), call.query.get("pageToken", "")
    if not size.isdigit() or int(size) < 1 or (token and not token.removeprefix("CAE").isdigit()):
        raise Refusal(400, "Invalid Input: pageToken or maxResults")
    start, end = int(token.removeprefix("CAE") or 0), min(int(size), most)
    body: Record = {"kind": f"admin#directory#{kind}", "etag": '"f3nn"'}
    page = list(rows[start : start + end])
    if page:
        body[name] = page
    if start + end < len(rows):
        body["nextPageToken"] = f"CAE{start + end}"
    return _shown(call, body)


def _customer(call: Call) -> None:
    """Check the account that a call names, in its path or as a parameter; raises `Refusal`."""
    given = call.ids.get("customer") or call.query.get("customer", "")
    domain = call.query.get("domain", "")
    if given not in ("", "my_customer", CUSTOMER) or domain not in ("", DOMAIN):
        raise Refusal(404, "Domain not found.")
    if not given and not domain and not call.query.get("userKey"):
        raise Refusal(400, "Bad Request")


def _sorted(call: Call, rows: list[Record], columns: Fields) -> list[Record]:
    name = call.query.get("orderBy", "")
    if not name:
        return rows
    if name not in columns:
        raise Refusal(400, "Invalid Input: orderBy", "orderBy")
    turned = call.query.get("sortOrder", "").upper() == "DESCENDING"
    return sorted(rows, key=lambda one: str(columns[name](one)).casefold(), reverse=turned)


def _reader(*names: str) -> Callable[[Record], Any]:
    def read(record: Record) -> Any:
        found: Any = record
        for name in names:
            found = found.get(name, "") if isinstance(found, dict) else ""
        return str(found).lower() if isinstance(found, bool) else found

    return read


def _plain(*names: str) -> dict[str, Callable[[Record], Any]]:
    return {name.lower(): _reader(name) for name in names}


_FEATURES = {"featureinstances.feature.name": lambda one: [each["feature"]["name"] for each in one["featureInstances"]]}
QUERIES: dict[str, Fields] = {
    "users": {
        **_plain("orgUnitPath", "isAdmin"),
        "issuspended": _reader("suspended"),
        "isarchived": _reader("archived"),
        "name": _reader("name", "fullName"),
        "givenname": _reader("name", "givenName"),
        "familyname": _reader("name", "familyName"),
        "email": lambda one: [one["primaryEmail"], *one["aliases"]],
    },
    "groups": {**_plain("name", "email")},
    "chromebooks": {
        **_plain("status"),
        "id": _reader("serialNumber"),
        "note": _reader("notes"),
        "user": _reader("annotatedUser"),
        "location": _reader("annotatedLocation"),
        "asset_id": _reader("annotatedAssetId"),
        "sync": _reader("lastSync"),
    },
    "phones": {**_plain("name", "email", "type", "os", "model", "status"), "sync": _reader("lastSync")},
    "rooms": {
        **_plain("buildingId", "capacity", "resourceCategory", "resourceEmail", "resourceId", "floorName"),
        "name": _reader("resourceName"),
        "resourcename": _reader("resourceName"),
        "generatedresourcename": _reader("resourceName"),
        "floor_name": _reader("floorName"),
        **_FEATURES,
    },
}
"""The searchable fields of each collection."""
_FREE = {
    "users": ("name", "email"), "groups": ("name", "email"), "chromebooks": ("id", "note", "user", "location"),
    "phones": ("name", "email", "model"), "rooms": ("name",),
}  # fmt: skip


def _sought(world: World, call: Call, collection: str) -> list[Record]:
    fits = search(call.query.get("query", ""), QUERIES[collection], _FREE[collection])
    return [one for one in world.rows(collection) if fits(one)]


def _user(world: World, key: str) -> Record:
    for one in world.rows("users"):
        if key.casefold() in (one["id"], one["primaryEmail"], *one["aliases"]):
            return one
    raise Refusal(404, "Resource Not Found: userKey")


def _show_user(one: Record) -> Record:
    return {"kind": "admin#directory#user", **one, "customerId": CUSTOMER, "isMailboxSetup": True}


def _users(world: World, call: Call) -> Reply:
    _customer(call)
    rows = [] if call.query.get("showDeleted") == "true" else _sought(world, call, "users")
    columns = {
        "email": _reader("primaryEmail"),
        "familyName": _reader("name", "familyName"),
        "givenName": _reader("name", "givenName"),
    }
    rows.sort(key=lambda one: str(one["primaryEmail"]))
    return _page(call, "users", "users", [_show_user(one) for one in _sorted(call, rows, columns)], 100, 500)


def _get_user(world: World, call: Call) -> Reply:
    return _shown(call, _show_user(_user(world, call.ids["user"])))


def _put_user(world: World, call: Call) -> Reply:
    user, body = _user(world, call.ids["user"]), _body(call)
    names = ("suspended", "archived", "recoveryEmail", "changePasswordAtNextLogin", "primaryEmail", "password")
    new = {name: body[name] for name in names if name in body}
    if "name" in body:
        name = user["name"] | {part: body["name"][part] for part in ("givenName", "familyName") if part in body["name"]}
        new["name"] = name | {"fullName": f"{name['givenName']} {name['familyName']}"}
    if "orgUnitPath" in body:
        new["orgUnitPath"] = _unit(world, body["orgUnitPath"])["orgUnitPath"]
    world.state["users"][user["id"]] = user | new
    return _shown(call, _show_user(user | new))


def _post_user(world: World, call: Call) -> Reply:
    body = _body(call)
    _needed(body, "primaryEmail", "name", "password")
    if any(body["primaryEmail"] in (one["primaryEmail"], *one["aliases"]) for one in world.rows("users")):
        raise Refusal(409, "Entity already exists.")
    new = {"suspended": False, "archived": False, "isAdmin": False, "aliases": [], "orgUnitPath": "/"} | body
    return _shown(call, _show_user(world.add("users", {**new, "name": {**body["name"]}}, text=True)))


def _delete_user(world: World, call: Call) -> Reply:
    del world.state["users"][_user(world, call.ids["user"])["id"]]
    return Reply(204)


def _sign_out(world: World, call: Call) -> Reply:
    world.add("sign_outs", {"user": _user(world, call.ids["user"])["id"]})
    return Reply(204)


def _aliases(world: World, call: Call) -> Reply:
    user = _user(world, call.ids["user"])
    rows = [{"alias": one, "primaryEmail": user["primaryEmail"], "id": user["id"]} for one in user["aliases"]]
    return _shown(call, {"kind": "admin#directory#aliases"} | ({"aliases": rows} if rows else {}))


def _post_alias(world: World, call: Call) -> Reply:
    user, body = _user(world, call.ids["user"]), _body(call)
    _needed(body, "alias")
    taken = [address for one in world.rows("users") for address in (one["primaryEmail"], *one["aliases"])]
    if body["alias"] in taken + [one["email"] for one in world.rows("groups")]:
        raise Refusal(409, "Entity already exists.")
    if not str(body["alias"]).endswith(f"@{DOMAIN}"):
        raise Refusal(400, "Invalid Input: alias")
    user["aliases"] = [*user["aliases"], body["alias"]]
    shown = {"kind": "admin#directory#alias", "id": user["id"], "primaryEmail": user["primaryEmail"]}
    return _shown(call, shown | {"alias": body["alias"]})


def _delete_alias(world: World, call: Call) -> Reply:
    user = _user(world, call.ids["user"])
    user["aliases"] = [one for one in user["aliases"] if one != call.ids["alias"]]
    return Reply(204)


def _group(world: World, key: str) -> Record:
    for one in world.rows("groups"):
        if key.casefold() in (one["id"], one["email"]):
            return one
    raise Refusal(404, "Resource Not Found: groupKey")


def _show_group(world: World, one: Record) -> Record:
    count = len(world.rows("members", group=one["id"]))
    return {"kind": "admin#directory#group", **one, "directMembersCount": str(count)}


def _groups(world: World, call: Call) -> Reply:
    _customer(call)
    rows = _sought(world, call, "groups")
    if call.query.get("userKey"):
        key = _user(world, call.query["userKey"])["id"]
        rows = [one for one in rows if f"{one['id']}/{key}" in world.state["members"]]
    rows = _sorted(call, rows, {"email": _reader("email")})
    return _page(call, "groups", "groups", [_show_group(world, one) for one in rows], 200, 200)


def _get_group(world: World, call: Call) -> Reply:
    return _shown(call, _show_group(world, _group(world, call.ids["group"])))


def _put_group(world: World, call: Call) -> Reply:
    group, body = _group(world, call.ids["group"]), _body(call)
    group |= {name: body[name] for name in ("name", "description", "email") if name in body}
    return _shown(call, _show_group(world, group))


def _delete_group(world: World, call: Call) -> Reply:
    del world.state["groups"][_group(world, call.ids["group"])["id"]]
    return Reply(204)


def _member(world: World, call: Call) -> Record:
    group, key = _group(world, call.ids["group"])["id"], call.ids["member"].casefold()
    for one in world.rows("members", group=group):
        if key in (one["id"], one["email"]):
            return one
    raise Refusal(404, "Resource Not Found: memberKey")


def _show_member(one: Record) -> Record:
    return {"kind": "admin#directory#member"} | {name: value for name, value in one.items() if name != "group"}


def _members(world: World, call: Call) -> Reply:
    roles = [one.strip().upper() for one in call.query.get("roles", "").split(",") if one.strip()]
    rows = world.rows("members", group=_group(world, call.ids["group"])["id"])
    found = [_show_member(one) for one in rows if not roles or one["role"] in roles]
    return _page(call, "members", "members", found, 200, 200)


def _get_member(world: World, call: Call) -> Reply:
    return _shown(call, _show_member(_member(world, call)))


def _has_member(world: World, call: Call) -> Reply:
    key = _user(world, call.ids["member"])["id"]
    return _shown(call, {"isMember": f"{_group(world, call.ids['group'])['id']}/{key}" in world.state["members"]})


def _role(body: Record, default: str) -> str:
    role = str(body.get("role") or default).upper()
    if role not in ("MEMBER", "MANAGER", "OWNER"):
        raise Refusal(400, "Invalid Input: role")
    return role


def _post_member(world: World, call: Call) -> Reply:
    group, body = _group(world, call.ids["group"])["id"], _body(call)
    if not body.get("email") and not body.get("id"):
        raise Refusal(400, "Missing required field: email", "email")
    given = str(body.get("email") or body["id"])
    try:
        user = _user(world, given)
        own = {"id": user["id"], "email": user["primaryEmail"]}
    except Refusal:
        own = {"id": key_of(given), "email": given}
    if f"{group}/{own['id']}" in world.state["members"]:
        raise Refusal(409, "Member already exists.")
    new = {"group": group, **own, "role": _role(body, "MEMBER"), "type": "USER", "status": "ACTIVE"}
    world.state["members"][f"{group}/{own['id']}"] = new
    return _shown(call, _show_member(new))


def _put_member(world: World, call: Call) -> Reply:
    member = _member(world, call)
    member["role"] = _role(_body(call), member["role"])
    return _shown(call, _show_member(member))


def _delete_member(world: World, call: Call) -> Reply:
    member = _member(world, call)
    del world.state["members"][f"{member['group']}/{member['id']}"]
    return Reply(204)


def _unit(world: World, given: Any) -> Record:
    """A unit by its path, with or without the slash at its beginning, or by its id."""
    text = str(given)
    if text in ("", "/"):
        return {"orgUnitPath": "/", "orgUnitId": "id:root"}
    for one in world.rows("orgunits"):
        if text == one["orgUnitId"] or text.strip("/").casefold() == one["orgUnitPath"].strip("/").casefold():
            return one
    raise Refusal(400, "Invalid Input: INVALID_OU_ID")


def _units(world: World, call: Call) -> Reply:
    _customer(call)
    top = _unit(world, call.query.get("orgUnitPath", "/"))["orgUnitPath"].rstrip("/")
    rows = [one for one in world.rows("orgunits") if one["orgUnitPath"].startswith(f"{top}/")]
    if call.query.get("type") != "all":
        rows = [one for one in rows if one["parentOrgUnitPath"].rstrip("/") == top]
    return _shown(call, {"kind": "admin#directory#orgUnits"} | ({"organizationUnits": rows} if rows else {}))


def _path_unit(world: World, call: Call) -> Record:
    _customer(call)
    try:
        return _unit(world, "/".join(call.ids[name] for name in ("unit", "below") if name in call.ids))
    except Refusal as refusal:
        raise Refusal(404, "Org unit not found") from refusal


def _get_unit(world: World, call: Call) -> Reply:
    return _shown(call, _path_unit(world, call))


def _post_unit(world: World, call: Call) -> Reply:
    _customer(call)
    body = _body(call)
    _needed(body, "name")
    if not body.get("parentOrgUnitPath") and not body.get("parentOrgUnitId"):
        raise Refusal(400, "Missing required field: parentOrgUnitPath", "parentOrgUnitPath")
    above = _unit(world, body.get("parentOrgUnitPath") or body["parentOrgUnitId"])["orgUnitPath"]
    path = f"{above.rstrip('/')}/{body['name']}"
    if world.rows("orgunits", orgUnitPath=path):
        raise Refusal(409, "Entity already exists.")
    key, world.next_id = f"id:{world.next_id}", world.next_id + 1
    new = {"orgUnitId": key, "name": body["name"], "orgUnitPath": path, "parentOrgUnitPath": above}
    world.state["orgunits"][key] = new | {"description": body.get("description", ""), "blockInheritance": False}
    return _shown(call, world.state["orgunits"][key])


def _put_unit(world: World, call: Call) -> Reply:
    unit, body = _path_unit(world, call), _body(call)
    unit |= {name: body[name] for name in ("name", "description") if name in body}
    return _shown(call, unit)


def _delete_unit(world: World, call: Call) -> Reply:
    del world.state["orgunits"][_path_unit(world, call)["orgUnitId"]]
    return Reply(204)


def _chromebooks(world: World, call: Call) -> Reply:
    _customer(call)
    rows = _sought(world, call, "chromebooks")
    if call.query.get("orgUnitPath"):
        path = _unit(world, call.query["orgUnitPath"])["orgUnitPath"]
        below = f"{path.rstrip('/')}/" if call.query.get("includeChildOrgunits") == "true" else "\n"
        rows = [one for one in rows if one["orgUnitPath"] == path or one["orgUnitPath"].startswith(below)]
    columns = {name: _reader(name) for name in ("serialNumber", "status", "notes", "lastSync", "annotatedUser")}
    return _page(call, "chromeosdevices", "chromeosdevices", _sorted(call, rows, columns), 100, 300)


def _chromebook(world: World, call: Call) -> Record:
    _customer(call)
    return world.get("chromebooks", call.ids["device"])


def _get_chromebook(world: World, call: Call) -> Reply:
    return _shown(call, _chromebook(world, call))


def _put_chromebook(world: World, call: Call) -> Reply:
    device, body = _chromebook(world, call), _body(call)
    names = ("annotatedUser", "annotatedLocation", "annotatedAssetId", "notes")
    new = {name: body[name] for name in names if name in body}
    if "orgUnitPath" in body:
        new["orgUnitPath"] = _unit(world, body["orgUnitPath"])["orgUnitPath"]
    device |= new
    return _shown(call, device)


def _act_on_chromebook(world: World, call: Call) -> Reply:
    device, body = _chromebook(world, call), _body(call)
    actions = {"disable": "DISABLED", "reenable": "ACTIVE", "deprovision": "DEPROVISIONED"}
    if body.get("action") not in actions:
        raise Refusal(400, "Invalid Input: action")
    if body["action"] == "deprovision":
        _needed(body, "deprovisionReason")
    device["status"] = actions[body["action"]]
    return Reply(204)


def _move_chromebooks(world: World, call: Call) -> Reply:
    _customer(call)
    body, path = _body(call), _unit(world, call.query.get("orgUnitPath") or "-")["orgUnitPath"]
    _needed(body, "deviceIds")
    for device in [world.get("chromebooks", str(key)) for key in body["deviceIds"]]:
        device["orgUnitPath"] = path
    return Reply(204)


def _phones(world: World, call: Call) -> Reply:
    _customer(call)
    columns = {name: _reader(name) for name in ("email", "lastSync", "model", "name", "os", "status", "type")}
    rows = _sorted(call, _sought(world, call, "phones"), columns)
    return _page(call, "mobiledevices", "mobiledevices", rows, 100, 100)


def _get_phone(world: World, call: Call) -> Reply:
    return _shown(call, world.get("phones", call.ids["device"]))


def _act_on_phone(world: World, call: Call) -> Reply:
    phone = world.get("phones", call.ids["device"])
    world.add("actions", {"phone": phone["resourceId"], "action": _body(call).get("action")})
    return Reply(204)


def _room_order(name: str, room: Record) -> tuple[bool, Any]:
    value = room.get(name, "")
    return isinstance(value, str), value


def _rooms(world: World, call: Call) -> Reply:
    _customer(call)
    rows = _sought(world, call, "rooms")
    for part in reversed([part.split() for part in call.query.get("orderBy", "").split(",") if part.strip()]):
        rows.sort(key=partial(_room_order, part[0]), reverse=part[-1].lower() == "desc")
    return _page(call, "resources#calendars#calendarResourcesList", "items", rows, 100, 500)


def _get_room(world: World, call: Call) -> Reply:
    return _shown(call, world.get("rooms", call.ids["room"]))


def _room_fields(world: World, body: Record) -> Record:
    names = (
        "resourceName", "buildingId", "capacity", "floorName", "floorSection", "resourceCategory", "featureInstances",
        "resourceDescription", "userVisibleDescription", "resourceType",
    )  # fmt: skip
    if "buildingId" in body and body["buildingId"] not in world.state["buildings"]:
        raise Refusal(400, "Invalid Input: buildingId")
    floors = world.state["buildings"].get(str(body.get("buildingId")), {}).get("floorNames")
    if floors and body.get("floorName") not in (None, *floors):
        raise Refusal(400, "Invalid Input: floorName")
    return {name: body[name] for name in names if name in body}


def _post_room(world: World, call: Call) -> Reply:
    _customer(call)
    body = _body(call)
    # The document does not say that the id is the caller's to choose.
    _needed(body, "resourceId", "resourceName")
    if str(body["resourceId"]) in world.state["rooms"]:
        raise Refusal(409, "Entity already exists.")
    new = {"resourceId": str(body["resourceId"]), "featureInstances": [], **_room_fields(world, body)}
    world.state["rooms"][new["resourceId"]] = new
    return _shown(call, new)


def _put_room(world: World, call: Call) -> Reply:
    room = world.get("rooms", call.ids["room"])
    room |= _room_fields(world, _body(call))
    return _shown(call, room)


def _delete_room(world: World, call: Call) -> Reply:
    world.get("rooms", call.ids["room"])
    del world.state["rooms"][call.ids["room"]]
    return Reply(204)


def _buildings(world: World, call: Call) -> Reply:
    _customer(call)
    return _page(call, "resources#buildings#buildingsList", "buildings", world.rows("buildings"), 100, 500)


def _get_building(world: World, call: Call) -> Reply:
    return _shown(call, world.get("buildings", call.ids["building"]))


def _get_customer(world: World, call: Call) -> Reply:
    return _shown(call, {"kind": "admin#directory#customer", "id": CUSTOMER, "customerDomain": DOMAIN})


def _domains(world: World, call: Call) -> Reply:
    _customer(call)
    own = {"domainName": DOMAIN, "isPrimary": True, "verified": True}
    return _shown(call, {"kind": "admin#directory#domains", "domains": [own]})


_C = "/customer/{customer}"
_CHROME = f"{_C}/devices/chromeos"
_MEMBER = "/groups/{group}/members/{member}"

_ROUTES: dict[str, Route] = {
    "GET /users": _users,
    "POST /users": _post_user,
    "GET /users/{user}": _get_user,
    "PUT /users/{user}": _put_user,
    "PATCH /users/{user}": _put_user,
    "DELETE /users/{user}": _delete_user,
    "POST /users/{user}/signOut": _sign_out,
    "GET /users/{user}/aliases": _aliases,
    "POST /users/{user}/aliases": _post_alias,
    "DELETE /users/{user}/aliases/{alias}": _delete_alias,
    "GET /groups": _groups,
    "GET /groups/{group}": _get_group,
    "PUT /groups/{group}": _put_group,
    "PATCH /groups/{group}": _put_group,
    "DELETE /groups/{group}": _delete_group,
    "GET /groups/{group}/members": _members,
    "POST /groups/{group}/members": _post_member,
    "GET /groups/{group}/hasMember/{member}": _has_member,
    f"GET {_MEMBER}": _get_member,
    f"PUT {_MEMBER}": _put_member,
    f"PATCH {_MEMBER}": _put_member,
    f"DELETE {_MEMBER}": _delete_member,
    f"GET {_C}/orgunits": _units,
    f"POST {_C}/orgunits": _post_unit,
    **{
        f"{verb} {_C}/orgunits/{path}": route
        for verb, route in (("GET", _get_unit), ("PUT", _put_unit), ("PATCH", _put_unit), ("DELETE", _delete_unit))
        for path in ("{unit}", "{unit}/{below}")
    },
    f"GET {_CHROME}": _chromebooks,
    f"POST {_CHROME}/moveDevicesToOu": _move_chromebooks,
    f"GET {_CHROME}/{{device}}": _get_chromebook,
    f"PUT {_CHROME}/{{device}}": _put_chromebook,
    f"PATCH {_CHROME}/{{device}}": _put_chromebook,
    f"POST {_CHROME}/{{device}}/action": _act_on_chromebook,
    f"GET {_C}/devices/mobile": _phones,
    f"GET {_C}/devices/mobile/{{device}}": _get_phone,
    f"POST {_C}/devices/mobile/{{device}}/action": _act_on_phone,
    f"GET {_C}/resources/calendars": _rooms,
    f"POST {_C}/resources/calendars": _post_room,
    f"GET {_C}/resources/calendars/{{room}}": _get_room,
    f"PUT {_C}/resources/calendars/{{room}}": _put_room,
    f"PATCH {_C}/resources/calendars/{{room}}": _put_room,
    f"DELETE {_C}/resources/calendars/{{room}}": _delete_room,
    f"GET {_C}/resources/buildings": _buildings,
    f"GET {_C}/resources/buildings/{{building}}": _get_building,
    f"GET {_C}/domains": _domains,
    "GET /customers/{customer}": _get_customer,
}
ROUTES = {key.replace(" ", f" {ROOT}", 1): route for key, route in _ROUTES.items()}


def world() -> World:
    """Return the directory with its seeded records."""
    return World(seed(), ROUTES, _error, "", NEW)

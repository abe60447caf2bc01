"""Box: a company's folders, files, people and tasks, and five tasks on them.

Two of them cannot be done by the document alone, each by a departure of this world: `due` (dates are numbers in the
answers) and `review` (a field that the document calls optional is required). Each says why in its `surprise`.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import requests

from lab.readers.task import Suite, Task, Wanted
from lab.readers.world import Call, Record, Refusal, Reply, Route, State, World

NOW = "2026-03-02T01:00:00-08:00"
ME = "20101"
NEW = 9_000_001
"""The id of the first new record, whatever its kind."""

PEOPLE = (
    "Hanna Weiss", "Tomás Herrera", "Mei Lindqvist", "Priya Rao", "Priya Raman", "Owen Castell", "Sola Okafor",
    "Luca Ferri", "Ingrid Moe", "Jonas Weber", "Amara Diallo", "Felix Brandt", "Noor Haddad", "Ruth Keller",
    "Peter Novak", "Yuki Tanaka", "Clara Duval", "Samir Patel", "Elena Popa", "David Osei", "Marta Lind", "Ben Ashton",
    "Olga Ivanova", "Kofi Mensah",
)  # fmt: skip
FOLDERS = {
    "3001": ("Finance", "0"), "3002": ("Legal", "0"), "3003": ("People", "0"), "3004": ("Board papers", "0"),
    "3005": ("Marketing", "0"), "3006": ("Audit 2025", "0"), "3101": ("Invoices 2025", "3001"),
    "3102": ("Invoices 2024", "3001"), "3103": ("Payroll", "3001"), "3111": ("Disputed", "3101"),
    "3112": ("Foreign", "3101"), "3113": ("Reminders", "3101"), "3201": ("Contracts", "3002"),
    "3202": ("Leases", "3002"), "3301": ("Audit 2026 drafts", "3006"), "3401": ("Minutes", "3004"),
}  # fmt: skip
FILES = {
    "5001": ("Lease draft v2.docx", "3202", 81_220), "5002": ("Lease draft v3.docx", "3202", 84_907),
    "5003": ("Supplier contract Orlo.pdf", "3201", 412_006), "5004": ("Supplier contract Orlando.pdf", "3201", 398_411),
    "5005": ("Board minutes February.docx", "3401", 44_120), "5006": ("Board minutes March.docx", "3401", 46_781),
    "5007": ("Handbook.pdf", "3003", 2_209_114), "5008": ("Welcome.pdf", "0", 120_554),
    "5009": ("Disputed invoice 17.pdf", "3111", 9_900_001), "5010": ("Logo.svg", "3005", 9_024),
}  # fmt: skip
# Message, day and hour (UTC) when it is due, people, whether it is completed.
TASKS = (
    ("Check clause 7", "2026-04-10T15:00:00Z", ("Mei Lindqvist",), False),
    ("Confirm the deposit", "2026-09-18T09:00:00Z", ("Owen Castell",), False),
    ("Compare with the land register", "2026-04-24T12:00:00Z", ("Sola Okafor", "Luca Ferri"), False),
    ("Translate the annex", "2026-06-30T16:00:00Z", ("Yuki Tanaka",), False),
    ("Collect the signatures", "2027-01-15T11:00:00Z", ("Hanna Weiss", "Ruth Keller"), False),
)


def _instant(text: Any) -> int:
    """Read a date and time as milliseconds since 1970; raises `Refusal`."""
    try:
        when = datetime.fromisoformat(str(text))
    except ValueError as error:
        raise Refusal(400, f"'{text}' is not a date and time by RFC 3339", "due_at") from error
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def _seed() -> State:
    users = {
        str(20101 + number): {
            "id": str(20101 + number),
            "name": name,
            "login": f"{name.lower().replace(' ', '.').replace('á', 'a')}@fennmoor.example",
        }
        for number, name in enumerate(PEOPLE)
    }
    ids = {user["name"]: key for key, user in users.items()}
    folders: dict[str, Record] = {
        key: {"id": key, "name": name, "parent_id": parent} for key, (name, parent) in FOLDERS.items()
    }
    folders["0"] = {"id": "0", "name": "All Files", "parent_id": None}
    files = {key: {"id": key, "name": name, "parent_id": at, "size": size} for key, (name, at, size) in FILES.items()}
    for number in range(1, 132):
        ending = "xlsx" if number % 11 == 0 else "csv" if number % 29 == 0 else "pdf"
        size = 40_000 + number * 7919 % 60_013 + (9_000_000 if number == 121 else 700_000 if number == 118 else 0)
        key, name = str(6000 + number), f"Invoice 2025-{number:04}.{ending}"
        files[key] = {"id": key, "name": name, "parent_id": "3101", "size": size}
    tasks: dict[str, Record] = {}
    assignments: dict[str, Record] = {}
    for number, (message, due, people, done) in enumerate(TASKS):
        key = str(7001 + number)
        tasks[key] = {
            "id": key, "file_id": "5002", "action": "review", "message": message, "due_at": _instant(due),
            "completion_rule": "all_assignees", "is_completed": done,
        }  # fmt: skip
        for name in people:
            one = str(7501 + len(assignments))
            assignments[one] = {"id": one, "task_id": key, "user_id": ids[name], "resolution_state": "incomplete"}
    collaborations = {
        str(8001 + number): {
            "id": str(8001 + number), "item_type": "folder", "item_id": f"300{number % 6 + 1}",
            "user_id": str(20102 + number), "role": ("editor", "viewer", "co-owner")[number % 3],
        }
        for number in range(18)
    }  # fmt: skip
    comments = {
        str(8501 + number): {
            "id": str(8501 + number), "item_id": f"500{number % 6 + 1}", "user_id": str(20103 + number),
            "message": text, "tagged_message": "",
        }
        for number, text in enumerate(("Looks good.", "See page 3.", "Who has the original?", "Done.", "Too late."))
    }  # fmt: skip
    webhooks = {
        "8901": {
            "id": "8901", "target": {"id": "3101", "type": "folder"}, "address": "https://hooks.fennmoor.example/in",
            "triggers": ["FILE.UPLOADED"],
        }
    }  # fmt: skip
    return {
        "folders": folders, "files": files, "users": users, "collaborations": collaborations, "comments": comments,
        "tasks": tasks, "task_assignments": assignments, "webhooks": webhooks,
    }  # fmt: skip


def _error(refusal: Refusal) -> Record:
    names = {400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict"}
    title = names[refusal.status]
    fault = {"reason": "invalid_parameter", "name": refusal.name or "item", "message": refusal.message}
    return {
        "type": "error", "status": refusal.status, "code": title.lower().replace(" ", "_"), "message": title,
        "context_info": {"errors": [fault]}, "request_id": "c9k3ph7wq0dd1m2x",
        "help_url": "https://developer.box.com/guides/api-calls/permissions-and-errors/common-errors/",
    }  # fmt: skip


def _user(world: World, key: str) -> Record:
    return {"type": "user", **world.get("users", key)}


def _item(world: World, kind: str, record: Record, fields: str | None = "") -> Record:
    """Write a file or folder: its mini form (no fields), that with the asked fields, or the standard one (None)."""
    mini = {"type": kind, "id": record["id"], "etag": "1", "sequence_id": "1", "name": record["name"]}
    if fields == "":
        return mini
    parent = world.state["folders"].get(record["parent_id"] or "")
    full = mini | {
        "description": record.get("description", ""),
        "size": record["size"]
        if kind == "file"
        else sum(x["size"] for x in world.rows("files", parent_id=record["id"])),
        "created_at": "2025-11-03T02:10:00-08:00",
        "modified_at": NOW,
        "created_by": _user(world, ME),
        "modified_by": _user(world, ME),
        "owned_by": _user(world, ME),
        "parent": _item(world, "folder", parent) if parent else None,
        "item_status": "active",
    }
    if kind == "folder" and fields is None:
        full["item_collection"] = _by_offset(_children(world, record["id"]), {}, 100)
    if fields is None:
        return full
    return mini | {name: full.get(name) for name in fields.split(",")}


def _children(world: World, key: str, fields: str = "") -> list[Record]:
    found = []
    for kind in ("folder", "file"):
        rows = sorted(world.rows(f"{kind}s", parent_id=key), key=lambda one: str(one["name"]))
        found += [_item(world, kind, one, fields) for one in rows]
    return found


def _number(query: Any, name: str, default: int) -> int:
    text = query.get(name, str(default))
    if not text.isdigit():
        raise Refusal(400, f"'{name}' must be a whole number", name)
    return int(text)


def _by_offset(rows: Sequence[Record], query: Any, default: int, most: int = 1000) -> Record:
    offset, limit = _number(query, "offset", 0), min(_number(query, "limit", default), most)
    page = list(rows[offset : offset + limit])
    return {"total_count": len(rows), "entries": page, "offset": offset, "limit": limit}


def _by_marker(rows: Sequence[Record], query: Any, default: int = 100) -> Record:
    start, limit = _number({"m": query.get("marker") or "0"}, "m", 0), min(_number(query, "limit", default), 1000)
    following = str(start + limit) if start + limit < len(rows) else None
    return {"entries": list(rows[start : start + limit]), "limit": limit, "next_marker": following}


def _paged(rows: Sequence[Record], call: Call) -> Reply:
    marked = call.query.get("usemarker") == "true"
    return Reply(200, _by_marker(rows, call.query) if marked else _by_offset(rows, call.query, 100))


def _given(call: Call, *names: str) -> Record:
    """Return the body; raises `Refusal` unless it has these fields (`item.id` for one in another)."""
    body = call.body if isinstance(call.body, dict) else {}
    for name in names:
        value: Any = body
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value in (None, ""):
            raise Refusal(400, f"'{name}' is required", name)
    return body


def _show(world: World, collection: str, record: Record, fields: str | None = None) -> Record:
    """Write a record in the API's form."""
    kind = collection.removesuffix("s")
    if kind in ("file", "folder"):
        return _item(world, kind, record, fields)
    shown = {"type": kind} | {name: value for name, value in record.items() if not name.endswith("_id")}
    if kind == "collaboration":
        item = _item(world, record["item_type"], world.get(f"{record['item_type']}s", record["item_id"]))
        shown |= {"item": item, "accessible_by": _user(world, record["user_id"]), "status": "accepted"}
    elif kind == "comment":
        item = {"type": "file", "id": record["item_id"]}
        shown |= {"item": item, "created_by": _user(world, record["user_id"]), "created_at": NOW}
    elif kind == "task":
        rows = world.rows("task_assignments", task_id=record["id"])
        made = [_show(world, "task_assignments", one) for one in rows]
        shown |= {
            "item": _item(world, "file", world.get("files", record["file_id"])), "created_by": _user(world, ME),
            "task_assignment_collection": {"total_count": len(made), "entries": made},
        }  # fmt: skip
    elif kind == "task_assignment":
        file = world.get("files", world.get("tasks", record["task_id"])["file_id"])
        shown |= {"item": _item(world, "file", file), "assigned_to": _user(world, record["user_id"])}
    return shown


def _one(collection: str) -> Route:
    def route(world: World, call: Call) -> Reply:
        record = world.get(collection, call.ids["id"])
        return Reply(200, _show(world, collection, record, call.query.get("fields")))

    return route


def _deleted(collection: str) -> Route:
    def route(world: World, call: Call) -> Reply:
        del world.state[collection][world.get(collection, call.ids["id"])["id"]]
        return Reply(204)

    return route


def _updated(collection: str, *names: str) -> Route:
    def route(world: World, call: Call) -> Reply:
        record, body = world.get(collection, call.ids["id"]), _given(call)
        record |= {name: _instant(body[name]) if name == "due_at" else body[name] for name in names if name in body}
        if isinstance(body.get("parent"), dict):
            record["parent_id"] = world.get("folders", str(body["parent"].get("id")))["id"]
        return Reply(200, _show(world, collection, record))

    return route


def _made(collection: str, build: Callable[[World, Call], Record]) -> Route:
    def route(world: World, call: Call) -> Reply:
        record = world.add(collection, build(world, call), text=True)
        return Reply(201, _show(world, collection, record))

    return route


def _items(world: World, call: Call) -> Reply:
    world.get("folders", call.ids["id"])
    rows = _children(world, call.ids["id"], call.query.get("fields", ""))
    column, turned = call.query.get("sort", "name"), call.query.get("direction") == "DESC"
    if column == "size":
        sizes = {one["id"]: one["size"] for one in _children(world, call.ids["id"], "size")}
        rows.sort(key=lambda one: sizes[one["id"]], reverse=turned)
    else:
        rows.sort(key=lambda one: one["id" if column == "id" else "name"], reverse=turned)
    # Folders stay before files.
    rows.sort(key=lambda one: one["type"], reverse=True)
    return _paged(rows, call)


def _below(collection: str, owner: str, column: str) -> Route:
    """List the records of a collection that belong to a file, a folder or a task."""

    def route(world: World, call: Call) -> Reply:
        key = world.get(owner, call.ids["id"])["id"]
        more = {"item_type": owner.removesuffix("s")} if collection == "collaborations" else {}
        rows = [_show(world, collection, one) for one in world.rows(collection, **{column: key}, **more)]
        if collection.startswith("task"):
            return Reply(200, {"total_count": len(rows), "entries": rows})
        return _paged(rows, call)

    return route


def _users(world: World, call: Call) -> Reply:
    term = call.query.get("filter_term", "").casefold()
    rows = [_user(world, one["id"]) for one in world.rows("users")]
    return _paged([one for one in rows if _starts(one, term)], call)


def _starts(user: Record, term: str) -> bool:
    name, login = str(user["name"]).casefold(), str(user["login"])
    return name.startswith(term) or login.startswith(term)


def _search(world: World, call: Call) -> Reply:
    query = call.query.get("query", "")
    if not query:
        raise Refusal(400, "'query' is required", "query")
    exact = query.startswith('"')
    words = [query.strip('"').casefold()] if exact else query.casefold().split()
    found = []
    for kind in ("folder", "file"):
        for one in world.rows(f"{kind}s"):
            hits = sum(word in one["name"].casefold() for word in words)
            ending = call.query.get("file_extensions", "").split(",")
            wanted = call.query.get("type", kind) == kind and (
                not ending[0] or one["name"].rpartition(".")[2] in ending
            )
            if hits and wanted and _lies(world, one, call.query.get("ancestor_folder_ids", "0").split(",")):
                found.append((-hits, _item(world, kind, one, call.query.get("fields"))))
    found.sort(key=lambda one: one[0])
    rows = [one for _, one in found]
    return Reply(200, {"type": "search_results_items", **_by_offset(rows, call.query, 30, 200)})


def _lies(world: World, item: Record, above: Sequence[str]) -> bool:
    at = item["parent_id"]
    while at is not None:
        if at in above:
            return True
        at = world.get("folders", at)["parent_id"]
    return False


def _new_folder(world: World, call: Call) -> Record:
    body = _given(call, "name", "parent.id")
    parent = world.get("folders", str(body["parent"]["id"]))["id"]
    if any(one["name"].casefold() == body["name"].casefold() for one in world.rows("folders", parent_id=parent)):
        raise Refusal(409, "Item with the same name already exists", "name")
    return {"name": body["name"], "parent_id": parent}


def _person(world: World, given: Any) -> str:
    """The id of a user who is named by id or login; raises `Refusal`."""
    given = given if isinstance(given, dict) else {}
    if given.get("login"):
        found = world.rows("users", login=given["login"])
        if not found:
            raise Refusal(400, f"no user {given['login']}", "login")
        return str(found[0]["id"])
    return str(world.get("users", str(given.get("id")))["id"])


def _new_collaboration(world: World, call: Call) -> Record:
    body = _given(call, "item.type", "item.id", "accessible_by.type", "role")
    roles = ("editor", "viewer", "previewer", "uploader", "previewer uploader", "viewer uploader", "co-owner")
    if body["role"] not in roles:
        raise Refusal(400, f"'role' must be one of {', '.join(roles)}", "role")
    kind = "file" if body["item"]["type"] == "file" else "folder"
    key = world.get(f"{kind}s", str(body["item"]["id"]))["id"]
    person = _person(world, body["accessible_by"])
    return {"item_type": kind, "item_id": key, "user_id": person, "role": body["role"]}


def _new_comment(world: World, call: Call) -> Record:
    body = _given(call, "item.type", "item.id")
    if not body.get("message") and not body.get("tagged_message"):
        raise Refusal(400, "'message' is required", "message")
    key = world.get(f"{body['item']['type']}s", str(body["item"]["id"]))["id"]
    texts = {name: body.get(name, "") for name in ("message", "tagged_message")}
    return {"item_id": key, "user_id": ME, **texts}


def _new_task(world: World, call: Call) -> Record:
    body = _given(call, "item.id")
    # The document calls this optional, with `all_assignees` as the default.
    if body.get("completion_rule") not in ("all_assignees", "any_assignee"):
        raise Refusal(400, "'completion_rule' is required: all_assignees or any_assignee", "completion_rule")
    return {
        "file_id": world.get("files", str(body["item"]["id"]))["id"],
        "action": body.get("action", "review"),
        "message": body.get("message", ""),
        "due_at": _instant(body["due_at"]) if body.get("due_at") else None,
        "completion_rule": body["completion_rule"],
        "is_completed": False,
    }


def _new_assignment(world: World, call: Call) -> Record:
    body = _given(call, "task.id", "assign_to")
    task, person = world.get("tasks", str(body["task"]["id"]))["id"], _person(world, body["assign_to"])
    if world.rows("task_assignments", task_id=task, user_id=person):
        raise Refusal(409, "The task is assigned to this user already", "assign_to")
    return {"task_id": task, "user_id": person, "resolution_state": "incomplete"}


def _new_webhook(world: World, call: Call) -> Record:
    body = _given(call, "target.id", "target.type", "address", "triggers")
    world.get(f"{body['target']['type']}s", str(body["target"]["id"]))
    return {name: body[name] for name in ("target", "address", "triggers")}


def _webhooks(world: World, call: Call) -> Reply:
    rows = [{"id": one["id"], "type": "webhook", "target": one["target"]} for one in world.rows("webhooks")]
    return Reply(200, _by_marker(rows, call.query))


def _me(world: World, call: Call) -> Reply:
    return Reply(200, _user(world, ME))


_CHANGED: dict[str, tuple[str, ...]] = {
    "folders": ("name", "description"),
    "files": ("name", "description"),
    "collaborations": ("role",),
    "comments": ("message",),
    "tasks": ("action", "message", "due_at", "completion_rule"),
    "task_assignments": ("message", "resolution_state"),
    "webhooks": ("target", "address", "triggers"),
}
"""The fields of the records that a PUT may change."""

ROUTES: dict[str, Route] = {
    "GET /folders/{id}/items": _items,
    "GET /folders/{id}/collaborations": _below("collaborations", "folders", "item_id"),
    "GET /files/{id}/collaborations": _below("collaborations", "files", "item_id"),
    "GET /files/{id}/comments": _below("comments", "files", "item_id"),
    "GET /files/{id}/tasks": _below("tasks", "files", "file_id"),
    "GET /tasks/{id}/assignments": _below("task_assignments", "tasks", "task_id"),
    "GET /users": _users,
    "GET /users/me": _me,
    "GET /users/{id}": _one("users"),
    "GET /webhooks": _webhooks,
    "GET /search": _search,
    "POST /folders": _made("folders", _new_folder),
    "POST /collaborations": _made("collaborations", _new_collaboration),
    "POST /comments": _made("comments", _new_comment),
    "POST /tasks": _made("tasks", _new_task),
    "POST /task_assignments": _made("task_assignments", _new_assignment),
    "POST /webhooks": _made("webhooks", _new_webhook),
    **{f"GET /{name}/{{id}}": _one(name) for name in _CHANGED},
    **{f"PUT /{name}/{{id}}": _updated(name, *fields) for name, fields in _CHANGED.items()},
    **{f"DELETE /{name}/{{id}}": _deleted(name) for name in _CHANGED},
}


def world() -> World:
    """Return Box with its seeded records."""
    return World(_seed(), ROUTES, _error, "/2.0", NEW)


def _call(method: str, url: str, **given: Any) -> Any:
    reply = requests.request(method, url, timeout=30, **given)
    reply.raise_for_status()
    return reply.json()


def _child(url: str, folder: str, name: str) -> str:
    """The id of what has this name in a folder."""
    rows = _call("GET", f"{url}/folders/{folder}/items", params={"limit": 1000})["entries"]
    return next(str(one["id"]) for one in rows if one["name"] == name)


def _named(url: str, name: str) -> str:
    rows = _call("GET", f"{url}/users", params={"filter_term": name})["entries"]
    return next(str(one["id"]) for one in rows if one["name"] == name)


def _gold_invoices(url: str) -> str:
    folder = _child(url, _child(url, "0", "Finance"), "Invoices 2025")
    found: list[Record] = []
    while True:
        query = {"fields": "name,size", "offset": len(found)}
        page = _call("GET", f"{url}/folders/{folder}/items", params=query)
        found += page["entries"]
        if len(found) >= page["total_count"]:
            break
    own = [one for one in found if one["type"] == "file" and one["name"].endswith(".pdf")]
    return f"{len(own)} PDF files; the largest is {max(own, key=lambda one: one['size'])['name']}."


def _gold_due(url: str) -> str:
    file = _child(url, _child(url, _child(url, "0", "Legal"), "Leases"), "Lease draft v3.docx")
    until = datetime(2026, 5, 1, tzinfo=UTC).timestamp() * 1000
    rows = _call("GET", f"{url}/files/{file}/tasks")["entries"]
    lines = []
    for one in rows:
        if one["due_at"] < until:
            people = [made["assigned_to"]["name"] for made in one["task_assignment_collection"]["entries"]]
            lines.append(f"{one['message']}: {', '.join(people)}")
    return "\n".join(lines)


def _gold_audit(url: str) -> str:
    folder = _call("POST", f"{url}/folders", json={"name": "Audit 2026", "parent": {"id": "0"}})["id"]
    body = {
        "item": {"type": "folder", "id": folder},
        "accessible_by": {"type": "user", "id": _named(url, "Priya Raman")},
        "role": "viewer uploader",
    }
    _call("POST", f"{url}/collaborations", json=body)
    return "The folder is there, and Priya Raman may view and upload."


def _gold_review(url: str) -> str:
    file = _child(url, _child(url, _child(url, "0", "Legal"), "Contracts"), "Supplier contract Orlo.pdf")
    body = {
        "item": {"type": "file", "id": file}, "action": "review", "message": "Check clause 12",
        "due_at": "2026-12-15T17:00:00Z", "completion_rule": "all_assignees",
    }  # fmt: skip
    task = _call("POST", f"{url}/tasks", json=body)["id"]
    for name in ("Tomás Herrera", "Mei Lindqvist"):
        given = {"task": {"id": task, "type": "task"}, "assign_to": {"id": _named(url, name)}}
        _call("POST", f"{url}/task_assignments", json=given)
    return "Both are asked to review the contract."


def _gold_mention(url: str) -> str:
    file = _child(url, _child(url, _child(url, "0", "Board papers"), "Minutes"), "Board minutes March.docx")
    text = f"@[{_named(url, 'Priya Raman')}:Priya Raman] please countersign by Friday"
    body = {"message": text, "tagged_message": text, "item": {"type": "file", "id": file}}
    _call("POST", f"{url}/comments", json=body)
    return "The comment is there, and Priya Raman is mentioned."


_PRIYA, _TOMAS, _MEI = "20105", "20102", "20103"

TASKS_ON_BOX = (
    # More than one page, unless the largest page is asked for; sizes come only if they are asked for, as documented.
    Task(
        "invoices",
        "How many PDF files lie directly in the folder 'Invoices 2025', which is in the folder 'Finance'? And what is "
        "the name of the largest of these PDF files?",
        _gold_invoices,
        says=("116", "Invoice 2025-0118.pdf|Invoice 2025-0118"),
    ),
    Task(
        "due",
        "Which tasks on the file 'Lease draft v3.docx' are due before 1 May 2026? Give the message of each of these, "
        "and the names of the people it is assigned to; leave the other tasks out.",
        _gold_due,
        says=("Check clause 7", "Mei Lindqvist", "Compare with the land register", "Sola Okafor", "Luca Ferri"),
        never=("Confirm the deposit", "Translate the annex", "Collect the signatures"),
        surprise="`due_at` is a number, the milliseconds since 1970, where the document promises a text like "
        "2012-12-12T10:53:43-08:00: to compare or cut it as a text fails.",
    ),
    # The root folder has the id 0, in words of the document only; the role is one of its words, too.
    Task(
        "audit",
        "Make a folder 'Audit 2026' at the top level of our Box, beside 'Finance' and 'Legal', and invite Priya Raman "
        "to it as somebody who may view and upload.",
        _gold_audit,
        wanted=(
            Wanted("folders", {"name": "Audit 2026", "parent_id": "0"}),
            Wanted(
                "collaborations",
                {"item_type": "folder", "item_id": str(NEW), "user_id": _PRIYA, "role": "viewer uploader"},
            ),
        ),
    ),
    Task(
        "review",
        "Ask Tomás Herrera and Mei Lindqvist to review the file 'Supplier contract Orlo.pdf' by 15 December 2026, "
        "17:00 UTC, in one task with the message 'Check clause 12'.",
        _gold_review,
        wanted=(
            Wanted(
                "tasks",
                {
                    "file_id": "5003",
                    "action": "review",
                    "message": "Check clause 12",
                    "due_at": _instant("2026-12-15T17:00:00Z"),
                    "completion_rule": "all_assignees",
                },
            ),
            Wanted("task_assignments", {"task_id": str(NEW), "user_id": _TOMAS}),
            Wanted("task_assignments", {"task_id": str(NEW), "user_id": _MEI}),
        ),
        surprise="The document calls `completion_rule` optional, with `all_assignees` as its default; without it the "
        "API answers 400 and says that it is required.",
    ),
    # The text of a mention is composed by a form that the document gives: @[user_id:name].
    Task(
        "mention",
        "Write the comment '@Priya Raman please countersign by Friday' on the file 'Board minutes March.docx', as a "
        "real mention, so that Priya Raman is notified.",
        _gold_mention,
        wanted=(
            Wanted(
                "comments",
                {"item_id": "5006", "tagged_message": f"@[{_PRIYA}:Priya Raman] please countersign by Friday"},
            ),
        ),
    ),
)
"""The five tasks."""

BOX = Suite(
    "box",
    "box_openapi.json",
    "70adf696ed3955729f9c75d11f34658477c0ee143d9ff6252928f5bc0fa6d499",
    world,
    TASKS_ON_BOX,
)
"""Box's API of 296 operations, and the tasks on it."""

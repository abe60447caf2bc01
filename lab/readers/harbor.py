"""Harbor: a company's container registry, and five tasks on it.

One of them cannot be done by the document alone: `robot` (the names and the list of robot accounts are others than the
document lets one think). It says why in its `surprise`.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, unquote

import requests

from lab.readers.task import Suite, Task, Wanted
from lab.readers.world import Call, Record, Refusal, Reply, Route, State, World

NOW = "2026-03-02T09:00:00.000Z"
NEVER = "0001-01-01T00:00:00.000Z"
PREFIX = "/api/v2.0"
NEW = 9001
"""The id of the first new record, whatever its kind."""

ROLES = {1: "projectAdmin", 2: "developer", 3: "guest", 4: "maintainer", 5: "limitedGuest"}
PROJECTS = (
    "library", "mirror", "orion", "vega", "lyra", "cetus", "atlas", "draco", "corvus", "hydra", "pavo", "norma",
)  # fmt: skip
PEOPLE = (
    "hweiss", "therrera", "mlindqvist", "prao", "praman", "ocastell", "sokafor", "lferri", "imoe", "jweber", "adiallo",
    "fbrandt", "nhaddad", "rkeller", "pnovak", "ytanaka", "cduval", "spatel", "isolberg", "epopa", "dosei", "mlind",
)  # fmt: skip
ATLAS, MIRROR = "7", "2"
REPOSITORIES = ("payments/gateway", "payments/ledger", "web", "web/assets", "search", "mailer", "gateway")
MIRRORED = (
    "alpine", "busybox", "caddy", "debian", "envoy", "fluentd", "golang", "haproxy", "influxdb", "jetty", "kafka",
)  # fmt: skip


def _digest(name: str) -> str:
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def _seed() -> State:
    projects = {
        str(number): {
            "project_id": number, "name": name, "owner_id": 1, "owner_name": "admin", "creation_time": NOW,
            "metadata": {"public": "true" if name == "library" else "false"},
        }
        for number, name in enumerate(PROJECTS, 1)
    }  # fmt: skip
    users = {
        str(100 + number): {
            "user_id": 100 + number, "username": name, "realname": name.capitalize(), "sysadmin_flag": False,
            "email": f"{name}@fennmoor.example",
        }
        for number, name in enumerate(PEOPLE)
    }  # fmt: skip
    users["118"]["realname"] = "Ingrid Solberg"
    names = [(MIRROR, f"mirror/{MIRRORED[one % 11]}-{one // 11 + 1}") for one in range(143)]
    names += [(ATLAS, f"atlas/{name}") for name in REPOSITORIES] + [
        ("3", "orion/payments/gateway"),
        ("1", "library/cli"),
    ]
    repositories: dict[str, Record] = {
        str(number): {
            "id": number, "project_id": int(project), "name": name, "description": "", "artifact_count": 3,
            "pull_count": number * 37 % 101 + (5000 if number == 628 else 0), "update_time": NOW,
        }
        for number, (project, name) in enumerate(names, 501)
    }  # fmt: skip
    artifacts: dict[str, Record] = {}
    for repository in repositories.values():
        if repository["name"].startswith("mirror/"):
            continue
        for number, tags in enumerate((("2.4.1", "stable"), ("2.4.0",), ())):
            key = 2000 + len(artifacts)
            digest = _digest(f"{repository['name']}/{number}")
            artifacts[str(key)] = {
                "id": key, "type": "IMAGE", "project_id": repository["project_id"], "repository_id": repository["id"],
                "repository_name": repository["name"], "digest": digest, "size": 31_400_000 + key * 7919 % 900_001,
                "push_time": NOW, "pull_time": NEVER, "labels": [],
                "media_type": "application/vnd.oci.image.config.v1+json",
                "tags": [
                    {"id": key * 10 + place, "artifact_id": key, "repository_id": repository["id"], "name": tag,
                     "push_time": NOW, "pull_time": NEVER, "immutable": False}
                    for place, tag in enumerate(tags)
                ],
            }  # fmt: skip
    members: dict[str, Record] = {}
    for number, user in enumerate(users.values()):
        role = 3 if user["username"] == "isolberg" else (2, 3, 4)[number % 3]
        for project in (ATLAS, "3"):
            own = str(300 + len(members))
            members[own] = {
                "id": int(own), "project_id": int(project), "entity_id": user["user_id"], "entity_type": "u",
                "entity_name": user["username"], "role_id": role, "role_name": ROLES[role],
            }  # fmt: skip
    quotas = {
        str(40 + number): {
            "id": 40 + number, "ref": {"id": number, "name": name, "owner_name": "admin"},
            "hard": {"storage": 10 * 1024**3}, "used": {"storage": number * 104_857_600},
        }
        for number, name in enumerate(PROJECTS, 1)
    }  # fmt: skip
    labels = {
        str(60 + number): {
            "id": 60 + number, "name": name, "description": "", "color": color, "scope": scope, "project_id": project,
        }
        for number, (name, color, scope, project) in enumerate(
            (("reviewed", "#0065AB", "g", 0), ("deprecated", "#C92100", "g", 0), ("nightly", "#61717D", "p", 7),
             ("golden", "#FFDC0B", "p", 3), ("hotfix", "#E57200", "p", 7))
        )
    }  # fmt: skip
    robots = {}
    for number, (name, project) in enumerate(
        (("deployer", ""), ("backup", ""), ("scanner", ATLAS), ("deployer", ATLAS), ("deployer", "3"), ("ci", ATLAS))
    ):
        owner = PROJECTS[int(project) - 1] if project else ""
        access = [{"resource": "repository", "action": "pull"}, {"resource": "repository", "action": "push"}]
        robots[str(80 + number)] = {
            "id": 80 + number, "name": f"robot${owner}+{name}" if owner else f"robot${name}",
            "description": f"{name} of {owner or 'all'}", "level": "project" if owner else "system", "duration": 90,
            "editable": True, "disable": False, "expires_at": 1780000000 + number, "creation_time": NOW,
            "permissions": [{"kind": "project", "namespace": owner or "*", "access": access}],
        }  # fmt: skip
    registries = {
        str(90 + number): {"id": 90 + number, "name": name, "type": kind, "url": url, "status": "healthy"}
        for number, (name, kind, url) in enumerate(
            (("Docker Hub", "docker-hub", "https://hub.docker.com"), ("Quay", "quay", "https://quay.io"))
        )
    }  # fmt: skip
    return {
        "projects": projects, "repositories": repositories, "artifacts": artifacts, "members": members, "users": users,
        "quotas": quotas, "labels": labels, "robots": robots, "registries": registries,
    }  # fmt: skip


def _error(refusal: Refusal) -> Record:
    codes = {
        400: "BAD_REQUEST",
        404: "NOT_FOUND",
        405: "METHOD_NOT_ALLOWED",
        409: "CONFLICT",
        422: "UNPROCESSABLE_ENTITY",
    }
    return {"errors": [{"code": codes[refusal.status], "message": refusal.message}]}


def _number(call: Call, name: str, default: int) -> int:
    text = call.query.get(name, str(default))
    if not text.isdigit() or int(text) < 1:
        raise Refusal(422, f"{name} in query must be of type int64: {text!r}")
    return int(text)


def _paged(rows: Sequence[Record], call: Call) -> Reply:
    """Filter by `q`, sort and cut a page, with the total and the links in headers."""
    rows = [one for one in rows if _fits(one, call.query.get("q", ""))]
    for name in reversed([part for part in call.query.get("sort", "").split(",") if part]):
        column = name.lstrip("-+")
        rows.sort(key=lambda one: (str(type(one.get(column))), one.get(column)), reverse=name.startswith("-"))
    page, size = _number(call, "page", 1), _number(call, "page_size", 10)
    if size > 100:
        raise Refusal(422, "page_size in query should be less than or equal to 100")
    ends = {"prev": page - 1 if page > 1 else 0, "next": page + 1 if page * size < len(rows) else 0}
    links = [f'<{call.path}?page={to}&page_size={size}>; rel="{rel}"' for rel, to in ends.items() if to]
    headers = {"X-Total-Count": str(len(rows))} | ({"Link": ", ".join(links)} if links else {})
    return Reply(200, rows[(page - 1) * size : page * size], headers)


def _fits(record: Record, query: str) -> bool:
    for part in filter(None, query.split(",")):
        name, sign, value = part.partition("=")
        if not sign:
            raise Refusal(400, f"invalid query string value: {query}")
        actual = record.get(name)
        bounds = re.fullmatch(r"\[(.*)~(.*)\]", value)
        if bounds:
            low, high = (float(one) if one.strip("-").isdigit() else None for one in bounds.groups())
            if not isinstance(actual, int) or (low or 0) > actual or (high is not None and actual > high):
                return False
        elif value.startswith("{"):
            if str(actual) not in value.strip("{}").split():
                return False
        elif value.startswith("~"):
            if value[1:].casefold() not in str(actual).casefold():
                return False
        elif str(actual) != value.strip("'\""):
            return False
    return True


def _body(call: Call, *names: str) -> Record:
    body = call.body if isinstance(call.body, dict) else {}
    for name in names:
        if body.get(name) in (None, ""):
            raise Refusal(422, f"{name} in body is required")
    return body


def _created(kind: str, key: object) -> Reply:
    """Answer as Harbor does: the address of what was created in a header, and no body."""
    return Reply(201, None, {"Location": f"{PREFIX}/{kind}/{key}"})


def _project(world: World, call: Call) -> Record:
    given = call.ids["project"]
    by_name = call.headers.get("X-Is-Resource-Name") == "true" or not given.isdigit()
    found = world.rows("projects", name=given) if by_name else world.rows("projects", project_id=int(given))
    if not found:
        raise Refusal(404, f"project {given} not found")
    return found[0]


def _repository(world: World, call: Call) -> Record:
    """The repository in the path: one decoding is done already, and a slash has to be encoded twice."""
    project, given = _project(world, call), call.ids["repository"]
    found = world.rows("repositories", name=f"{project['name']}/{unquote(given)}")
    if "/" in given or not found:
        raise Refusal(404, f"repository {project['name']}/{given} not found")
    return found[0]


def _artifact(world: World, call: Call) -> Record:
    repository, reference = _repository(world, call), call.ids["reference"]
    for one in world.rows("artifacts", repository_id=repository["id"]):
        if one["digest"] == reference or any(tag["name"] == reference for tag in one["tags"]):
            return one
    raise Refusal(404, f"artifact {repository['name']}:{reference} not found")


def _shown(world: World, artifact: Record, call: Call) -> Record:
    shown = {**artifact, "tags": artifact["tags"] or None, "labels": None}
    if call.query.get("with_tag") == "false":
        shown["tags"] = None
    if call.query.get("with_label") == "true":
        shown["labels"] = [world.get("labels", str(key)) for key in artifact["labels"]] or None
    return shown


def _projects(world: World, call: Call) -> Reply:
    rows = [one for one in world.rows("projects") if call.query.get("name", "") in one["name"]]
    return _paged([_with_count(world, one) for one in rows], call)


def _with_count(world: World, project: Record) -> Record:
    return project | {"repo_count": len(world.rows("repositories", project_id=project["project_id"]))}


def _get_project(world: World, call: Call) -> Reply:
    return Reply(200, _with_count(world, _project(world, call)))


def _summary(world: World, call: Call) -> Reply:
    project = _project(world, call)
    quota = next((one for one in world.rows("quotas") if one["ref"]["id"] == project["project_id"]), {})
    shown = {
        "repo_count": _with_count(world, project)["repo_count"],
        "quota": {x: quota.get(x) for x in ("hard", "used")},
    }
    return Reply(200, shown)


def _post_project(world: World, call: Call) -> Reply:
    body = _body(call, "project_name")
    if world.rows("projects", name=body["project_name"]):
        raise Refusal(409, f"The project named {body['project_name']} already exists")
    record = {
        "name": body["project_name"],
        "owner_name": "admin",
        "metadata": body.get("metadata") or {"public": "false"},
    }
    made = world.add("projects", record, "project_id")
    return _created("projects", made["project_id"])


def _put_project(world: World, call: Call) -> Reply:
    project, body = _project(world, call), _body(call)
    project["metadata"] = {**project["metadata"], **(body.get("metadata") or {})}
    return Reply(200)


def _members(world: World, call: Call) -> Reply:
    rows = world.rows("members", project_id=_project(world, call)["project_id"])
    return _paged([one for one in rows if call.query.get("entityname", "") in one["entity_name"]], call)


def _member(world: World, call: Call) -> Record:
    found = world.get("members", call.ids["id"])
    if found["project_id"] != _project(world, call)["project_id"]:
        raise Refusal(404, f"member {call.ids['id']} not found")
    return found


def _role(body: Record) -> Record:
    role = body.get("role_id")
    if role not in ROLES:
        raise Refusal(400, f"invalid role_id: {role}")
    return {"role_id": role, "role_name": ROLES[role]}


def _post_member(world: World, call: Call) -> Reply:
    project, body = _project(world, call)["project_id"], _body(call, "member_user")
    given = body["member_user"]
    wanted = {name: given[name] for name in ("user_id", "username") if given.get(name)}
    users = world.rows("users", **wanted) if wanted else []
    if not users:
        raise Refusal(404, f"user {given} not found")
    if world.rows("members", project_id=project, entity_id=users[0]["user_id"]):
        raise Refusal(409, f"the user {users[0]['username']} is a member already")
    person = {"entity_id": users[0]["user_id"], "entity_type": "u", "entity_name": users[0]["username"]}
    made = world.add("members", {"project_id": project, **person, **_role(body)})
    return _created(f"projects/{project}/members", made["id"])


def _put_member(world: World, call: Call) -> Reply:
    _member(world, call).update(_role(_body(call)))
    return Reply(200)


def _delete_member(world: World, call: Call) -> Reply:
    del world.state["members"][str(_member(world, call)["id"])]
    return Reply(200)


def _repositories(world: World, call: Call) -> Reply:
    return _paged(world.rows("repositories", project_id=_project(world, call)["project_id"]), call)


def _put_repository(world: World, call: Call) -> Reply:
    _repository(world, call)["description"] = _body(call).get("description", "")
    return Reply(200)


def _artifacts(world: World, call: Call) -> Reply:
    rows = world.rows("artifacts", repository_id=_repository(world, call)["id"])
    tag = re.search(r"(?:^|,)tags=(~?)([^,]+)", call.query.get("q", ""))
    if tag:
        rows = [one for one in rows if _tagged(one, tag[2], fuzzy=bool(tag[1]))]
        others = ",".join(part for part in call.query["q"].split(",") if not part.startswith("tags="))
        call = Call(call.method, call.path, {**call.query, "q": others}, None, call.headers, call.ids)
    return _paged([_shown(world, one, call) for one in rows], call)


def _tagged(artifact: Record, name: str, *, fuzzy: bool) -> bool:
    if name == "*":
        return bool(artifact["tags"])
    return any(name in tag["name"] if fuzzy else name == tag["name"] for tag in artifact["tags"])


def _get_artifact(world: World, call: Call) -> Reply:
    return Reply(200, _shown(world, _artifact(world, call), call))


def _tags(world: World, call: Call) -> Reply:
    return _paged(_artifact(world, call)["tags"], call)


def _post_tag(world: World, call: Call) -> Reply:
    artifact, name = _artifact(world, call), _body(call, "name")["name"]
    artifact["tags"] = [*artifact["tags"], {"name": name, "artifact_id": artifact["id"], "push_time": NOW}]
    return Reply(201, None, {"Location": f"{call.path}/{name}"})


def _delete_tag(world: World, call: Call) -> Reply:
    artifact = _artifact(world, call)
    artifact["tags"] = [tag for tag in artifact["tags"] if tag["name"] != call.ids["tag"]]
    return Reply(200)


def _post_label_on(world: World, call: Call) -> Reply:
    artifact, label = _artifact(world, call), world.get("labels", str(_body(call, "id")["id"]))
    if label["id"] in artifact["labels"]:
        raise Refusal(409, f"label {label['id']} is on the artifact already")
    if label["scope"] == "p" and label["project_id"] != artifact["project_id"]:
        raise Refusal(400, f"label {label['id']} is of another project")
    artifact["labels"] = [*artifact["labels"], label["id"]]
    return Reply(200)


def _delete_label_from(world: World, call: Call) -> Reply:
    artifact = _artifact(world, call)
    artifact["labels"] = [key for key in artifact["labels"] if str(key) != call.ids["label"]]
    return Reply(200)


def _labels(world: World, call: Call) -> Reply:
    scope, project = call.query.get("scope"), call.query.get("project_id", "0")
    if scope not in ("g", "p"):
        raise Refusal(400, f"invalid scope: {scope or ''}")
    rows = world.rows("labels", scope=scope)
    rows = [one for one in rows if call.query.get("name", "") in one["name"]]
    return _paged([one for one in rows if scope == "g" or str(one["project_id"]) == project], call)


def _post_label(world: World, call: Call) -> Reply:
    body = _body(call, "name")
    scope, project = body.get("scope"), body.get("project_id") or 0
    if scope not in ("g", "p"):
        raise Refusal(400, f"invalid scope: {scope}")
    if scope == "p":
        world.get("projects", str(project))
    if world.rows("labels", name=body["name"], scope=scope, project_id=project):
        raise Refusal(409, f"label {body['name']} already exists")
    record = {"name": body["name"], "description": body.get("description", ""), "color": body.get("color", "")}
    return _created("labels", world.add("labels", {**record, "scope": scope, "project_id": project})["id"])


def _put_label(world: World, call: Call) -> Reply:
    label, body = world.get("labels", call.ids["id"]), _body(call)
    label |= {name: body[name] for name in ("name", "description", "color") if name in body}
    return Reply(200)


def _quotas(world: World, call: Call) -> Reply:
    wanted = call.query.get("reference_id", "")
    kind = call.query.get("reference", "project") == "project"
    rows = [one for one in world.rows("quotas") if kind and wanted in ("", str(one["ref"]["id"]))]
    return _paged(rows, call)


def _put_quota(world: World, call: Call) -> Reply:
    quota, hard = world.get("quotas", call.ids["id"]), _body(call, "hard")["hard"]
    if not isinstance(hard, dict) or not isinstance(hard.get("storage"), int):
        raise Refusal(400, "invalid hard limits: storage must be a number of bytes")
    quota["hard"] = dict(hard)
    return Reply(200)


def _robots(world: World, call: Call) -> Reply:
    """List robots: those of the system, unless the query names level and project."""
    given = dict(part.partition("=")[::2] for part in call.query.get("q", "").split(",") if part)
    level, project = given.pop("Level", "system"), given.pop("ProjectID", "")
    if level == "project" and not project:
        raise Refusal(400, "must with project ID when to query project robots")
    owner = world.get("projects", project)["name"] if level == "project" else "*"
    rows = [one for one in world.rows("robots", level=level) if one["permissions"][0]["namespace"] == owner]
    query = {**call.query, "q": ",".join(f"{name}={value}" for name, value in given.items())}
    return _paged(rows, Call(call.method, call.path, query, None, call.headers, call.ids))


def _post_robot(world: World, call: Call) -> Reply:
    body = _body(call, "name", "level", "duration", "permissions")
    owner = body["permissions"][0].get("namespace", "") if body["level"] == "project" else ""
    record = {name: body[name] for name in ("level", "duration", "permissions")}
    record |= {"name": f"robot${owner}+{body['name']}" if owner else f"robot${body['name']}"}
    record |= {"description": body.get("description", ""), "disable": body.get("disable", False), "editable": True}
    made = world.add("robots", record)
    shown = {"id": made["id"], "name": made["name"], "secret": "Yk2uQ0x8PzRr7Dd1", "creation_time": NOW}
    return Reply(201, shown, {"Location": f"{PREFIX}/robots/{made['id']}"})


def _put_robot(world: World, call: Call) -> Reply:
    """Replace a robot's settings by those of the body, which has to name it as the API does."""
    robot, body = world.get("robots", call.ids["id"]), _body(call)
    if (body.get("name"), body.get("level")) != (robot["name"], robot["level"]):
        raise Refusal(400, "cannot update the level or name of robot")
    if not body.get("permissions"):
        raise Refusal(400, "bad request empty permission")
    if not isinstance(body.get("duration"), int) or not (body["duration"] == -1 or body["duration"] > 0):
        raise Refusal(400, "bad request error duration input")
    robot |= {"description": body.get("description", ""), "disable": body.get("disable", False)}
    robot |= {"duration": body["duration"], "permissions": body["permissions"]}
    return Reply(200)


def _search(world: World, call: Call) -> Reply:
    term = call.query.get("q", "")
    shown = [
        {"repository_name": one["name"], "project_id": one["project_id"], "pull_count": one["pull_count"]}
        for one in world.rows("repositories")
        if term in one["name"]
    ]
    projects = [_with_count(world, one) for one in world.rows("projects") if term in one["name"]]
    return Reply(200, {"project": projects, "repository": shown})


def _found_users(world: World, call: Call) -> Reply:
    rows = [one for one in world.rows("users") if _needed(call, "username") in one["username"]]
    return _paged([{name: one[name] for name in ("user_id", "username")} for one in rows], call)


def _needed(call: Call, name: str) -> str:
    if not call.query.get(name):
        raise Refusal(422, f"{name} in query is required")
    return call.query[name]


def _me(world: World, call: Call) -> Reply:
    return Reply(200, {"user_id": 1, "username": "admin", "realname": "system admin", "sysadmin_flag": True})


def _all(collection: str) -> Route:
    return lambda world, call: _paged(world.rows(collection), call)


def _one(collection: str) -> Route:
    return lambda world, call: Reply(200, world.get(collection, call.ids["id"]))


def _deleted(collection: str) -> Route:
    def route(world: World, call: Call) -> Reply:
        world.get(collection, call.ids["id"])
        del world.state[collection][call.ids["id"]]
        return Reply(200)

    return route


def _of(find: Callable[[World, Call], Record]) -> Route:
    return lambda world, call: Reply(200, find(world, call))


_P = "/projects/{project}"
_R = f"{_P}/repositories/{{repository}}"
_A = f"{_R}/artifacts/{{reference}}"

ROUTES: dict[str, Route] = {
    "GET /search": _search,
    "GET /projects": _projects,
    "POST /projects": _post_project,
    f"GET {_P}": _get_project,
    f"PUT {_P}": _put_project,
    f"GET {_P}/summary": _summary,
    f"GET {_P}/members": _members,
    f"POST {_P}/members": _post_member,
    f"GET {_P}/members/{{id}}": _of(_member),
    f"PUT {_P}/members/{{id}}": _put_member,
    f"DELETE {_P}/members/{{id}}": _delete_member,
    "GET /repositories": _all("repositories"),
    f"GET {_P}/repositories": _repositories,
    f"GET {_R}": _of(_repository),
    f"PUT {_R}": _put_repository,
    f"GET {_R}/artifacts": _artifacts,
    f"GET {_A}": _get_artifact,
    f"GET {_A}/tags": _tags,
    f"POST {_A}/tags": _post_tag,
    f"DELETE {_A}/tags/{{tag}}": _delete_tag,
    f"POST {_A}/labels": _post_label_on,
    f"DELETE {_A}/labels/{{label}}": _delete_label_from,
    "GET /labels": _labels,
    "POST /labels": _post_label,
    "PUT /labels/{id}": _put_label,
    "GET /quotas": _quotas,
    "PUT /quotas/{id}": _put_quota,
    "GET /robots": _robots,
    "POST /robots": _post_robot,
    "PUT /robots/{id}": _put_robot,
    "GET /registries": _all("registries"),
    "GET /users": _all("users"),
    "GET /users/search": _found_users,
    "GET /users/current": _me,
    **{f"GET /{name}/{{id}}": _one(name) for name in ("labels", "quotas", "robots", "registries", "users")},
    **{f"DELETE /{name}/{{id}}": _deleted(name) for name in ("labels", "robots", "registries")},
}


def world() -> World:
    """Return Harbor with its seeded records."""
    return World(_seed(), ROUTES, _error, PREFIX, NEW)


def _call(method: str, url: str, **given: Any) -> requests.Response:
    reply = requests.request(method, url, timeout=30, **given)
    reply.raise_for_status()
    return reply


def _path(url: str) -> str:
    return f"{url}/projects/atlas/repositories/{quote(quote('payments/gateway', safe=''), safe='')}/artifacts/2.4.1"


def _gold_pulls(url: str) -> str:
    found: list[Record] = []
    while True:
        query = {"page": len(found) // 100 + 1, "page_size": 100}
        reply = _call("GET", f"{url}/projects/mirror/repositories", params=query)
        found += reply.json()
        if len(found) >= int(reply.headers["X-Total-Count"]):
            break
    most = max(found, key=lambda one: int(one["pull_count"]))
    return f"{most['name']}; {sum(one['pull_count'] for one in found)} pulls together"


def _gold_artifact(url: str) -> str:
    found = _call("GET", _path(url)).json()
    others = [tag["name"] for tag in found["tags"] if tag["name"] != "2.4.1"]
    return f"{found['digest']}, {found['size']} bytes, also {', '.join(others)}"


def _gold_label(url: str) -> str:
    project = _call("GET", f"{url}/projects/atlas").json()["project_id"]
    body = {"name": "golden", "color": "#2E7D32", "scope": "p", "project_id": project}
    key = _call("POST", f"{url}/labels", json=body).headers["Location"].rpartition("/")[2]
    _call("POST", f"{_path(url)}/labels", json={"id": int(key)})
    return f"The label has the id {key}."


def _gold_maintainer(url: str) -> str:
    project = _call("GET", f"{url}/projects/atlas").json()["project_id"]
    (member,) = _call("GET", f"{url}/projects/atlas/members", params={"entityname": "isolberg"}).json()
    _call("PUT", f"{url}/projects/atlas/members/{member['id']}", json={"role_id": 4})
    query = {"reference": "project", "reference_id": project}
    (quota,) = _call("GET", f"{url}/quotas", params=query).json()
    _call("PUT", f"{url}/quotas/{quota['id']}", json={"hard": {"storage": 50 * 1024**3}})
    return "Ingrid Solberg is a maintainer, and atlas may use 50 GiB."


def _gold_robot(url: str) -> str:
    project = _call("GET", f"{url}/projects/atlas").json()["project_id"]
    rows = _call("GET", f"{url}/robots", params={"q": f"Level=project,ProjectID={project}"}).json()
    robot = next(one for one in rows if one["name"].endswith("+deployer"))
    _call("PUT", f"{url}/robots/{robot['id']}", json=robot | {"disable": True})
    return "The robot account deployer of atlas is disabled."


def _pulls() -> tuple[str, str]:
    rows = [one for one in _seed()["repositories"].values() if one["project_id"] == int(MIRROR)]
    most = max(rows, key=lambda one: int(one["pull_count"]))
    return str(most["name"]).rpartition("/")[2], str(sum(one["pull_count"] for one in rows))


def _tagged_artifact() -> Record:
    rows = _seed()["artifacts"].values()
    return next(one for one in rows if one["repository_name"] == "atlas/payments/gateway" and one["tags"])


_ARTIFACT = _tagged_artifact()

TASKS_ON_HARBOR = (
    # 143 repositories: a page holds 100 at most, and 10 by default.
    Task(
        "pulls",
        "Which repository of the project 'mirror' has been pulled most often, and how many pulls do all repositories "
        "of that project have together?",
        _gold_pulls,
        says=_pulls(),
    ),
    # The path is composed by a form that the document gives: a slash in the name is encoded twice.
    Task(
        "artifact",
        "What are the full digest and the size in bytes of the artifact tagged 2.4.1 in the repository "
        "'payments/gateway' of the project 'atlas', and which other tag does it have?",
        _gold_artifact,
        says=(_ARTIFACT["digest"], str(_ARTIFACT["size"]), "stable"),
    ),
    # The id of the label comes in the header `Location` of an answer without a body.
    Task(
        "label",
        "Create the label 'golden' with the colour #2E7D32 for the project 'atlas', put it on the artifact tagged "
        "2.4.1 of that project's repository 'payments/gateway', and tell me the id of the new label.",
        _gold_label,
        says=(str(NEW),),
        wanted=(
            Wanted("labels", {"name": "golden", "color": "#2E7D32", "scope": "p", "project_id": int(ATLAS)}),
            Wanted("artifacts", {"labels": [NEW]}, str(_ARTIFACT["id"])),
        ),
    ),
    # The number of the role stands in words of the document only; the limit is in bytes.
    Task(
        "maintainer",
        "Ingrid Solberg (isolberg) is a guest of the project 'atlas' so far: make her a maintainer there. And raise "
        "the storage quota of this project to 50 GiB.",
        _gold_maintainer,
        wanted=(
            Wanted(
                "members",
                {"role_id": 4, "role_name": "maintainer"},
                next(
                    key
                    for key, one in _seed()["members"].items()
                    if one["entity_name"] == "isolberg" and one["project_id"] == int(ATLAS)
                ),
            ),
            Wanted("quotas", {"hard": {"storage": 50 * 1024**3}}, "47"),
        ),
    ),
    Task(
        "robot",
        "Disable the robot account 'deployer' of the project 'atlas'; leave everything else about it as it is.",
        _gold_robot,
        wanted=(Wanted("robots", {"disable": True}, "83"),),
        surprise="The list has the robots of the system only, unless `q` names Level and ProjectID, and the API keeps "
        "the name as robot$atlas+deployer: who looks for the name 'deployer' finds none, or one that is not of atlas.",
    ),
)
"""The five tasks."""

HARBOR = Suite(
    "harbor",
    "harbor_v2.yaml",
    "dea3b3f6cfc225acb569019904218f30032a6fdf4331c86e372bc53198fab840",
    world,
    TASKS_ON_HARBOR,
)
"""Harbor's API of 203 operations, and the tasks on it."""

"""Arguments that handlers share: ids and URIs from the query or the body, checked as Spotify checks them."""

import re
from collections.abc import Mapping
from typing import Any

from restgpt_bench.worlds.exchange import Call, RefusalError

ID = re.compile(r"[0-9A-Za-z]{22}")
URI = re.compile(r"spotify:(track|episode|album|artist|playlist|show):[0-9A-Za-z]{22}")


def one_id(call: Call, name: str = "id") -> str:
    """The id in the path; RefusalError 400 if it is not 22 letters and digits."""
    return checked_id(str(call.path[name]))


def checked_id(value: str) -> str:
    """`value` if it looks like an id, else RefusalError 400."""
    if not ID.fullmatch(value):
        raise RefusalError(400, "Invalid base62 id")
    return value


def some_ids(call: Call, *, most: int = 50) -> list[str]:
    """The texts under `ids` in the query, else in the body; RefusalError 400 if they are missing or too many."""
    given = call.query.get("ids")
    if given is None:
        given = call.body if isinstance(call.body, list) else fields(call).get("ids")
    found = texts(given, "ids")
    if not found:
        raise RefusalError(400, "Missing required field: ids")
    if len(found) > most:
        raise RefusalError(400, f"Too many ids requested, at most {most}")
    return list(dict.fromkeys(found))


def some_uris(call: Call, *, most: int = 100) -> list[str]:
    """The URIs under `uris` in the query, else in the body; RefusalError 400 if they are missing or malformed."""
    found = texts(call.query.get("uris") or fields(call).get("uris"), "uris")
    if not found:
        raise RefusalError(400, "No uris provided")
    if len(found) > most:
        raise RefusalError(400, f"You can add a maximum of {most} tracks per request.")
    return [checked_uri(item) for item in found]


def checked_uri(value: Any) -> str:
    """`value` if it is a Spotify URI, else RefusalError 400."""
    if not isinstance(value, str) or not URI.fullmatch(value):
        raise RefusalError(400, f"Invalid uri: {value}")
    return value


def fields(call: Call) -> Mapping[str, Any]:
    """The JSON object in the body, empty if there is no body; RefusalError 400 if it is something else."""
    if call.body is None:
        return {}
    if not isinstance(call.body, dict):
        raise RefusalError(400, "Error parsing JSON: an object is needed.")
    return call.body


def typed(given: Mapping[str, Any], name: str, kind: type) -> Any:
    """The value under `name`, or None if it is missing; RefusalError 400 if it is not of type `kind`."""
    value = given.get(name)
    if value is not None and type(value) is not kind:
        raise RefusalError(400, f"Field {name} must be of type {kind.__name__}")
    return value


def texts(value: Any, name: str) -> list[str]:
    """A list of texts, [] for None; RefusalError 400 if it is something else."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RefusalError(400, f"Field {name} must be a list of strings")
    return [item.strip() for item in value if item.strip()]

"""The check for invented ids: an id must come from the instruction or from a result (paper, Table 9)."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from restgpt.specs import Operation
from restgpt.tools.evidence import Evidence

_ID_NAME = re.compile(r"(^|[_\-.])(id|ids|uuid|guid|uri|uris|sha)$|[a-z](Id|Ids|ID|IDs|Uri|Uris|Uuid)$")


def ungrounded(operation: Operation, arguments: Mapping[str, Any], evidence: Evidence) -> list[str]:
    """The id-like arguments that neither the texts say nor the document fixes, as `place.name = value`."""
    fixed = {(parameter.location, parameter.name): parameter.schema for parameter in operation.parameters}
    found = []
    for place, name, value in _ids(arguments):
        schema = fixed.get((place, name), {})
        documented = [*schema.get("enum", ()), schema.get("default")] if isinstance(schema, Mapping) else []
        if value not in documented and not evidence.has_id(value):
            found.append(f"{place}.{name} = {json.dumps(value, ensure_ascii=False)}")
    return found


def _ids(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Every scalar argument with an id-like name, at any depth; a body may be given as JSON text."""
    for place, group in arguments.items():
        for name, value in _named(_read(group) if place == "body" else group):
            if _ID_NAME.search(name):
                yield place, name, value


def _read(body: Any) -> Any:
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except ValueError:
        return body


def _named(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _named(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner, name)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield name, value

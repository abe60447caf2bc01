"""Ids must come from somewhere: the check that stops invented ones (the paper's failure of Table 9)."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from restgpt.specs import Operation

_ID_NAME = re.compile(r"(^|[_\-.])(id|ids|uuid|guid|uri|uris|sha)$|[a-z](Id|Ids|ID|IDs|Uri|Uris|Uuid)$")


@dataclass(frozen=True, slots=True)
class Grounds:
    """What was really said: by the user, and by the APIs. What a model wrote in between does not count."""

    words: frozenset[str]
    text: str

    @classmethod
    def of(cls, *texts: str) -> "Grounds":
        """The grounds that some texts give."""
        text = "\n".join(texts)
        return cls(frozenset(re.findall(r"[\w\-]+", text)), text)

    def hold(self, value: object) -> bool:
        """Whether a value, or each part of a list of values, was shown."""
        text = value if isinstance(value, str) else json.dumps(value)
        if text in self.text and (text in self.words or not re.fullmatch(r"[\w\-]+", text)):
            return True
        parts = [part for part in re.split(r"[,\s]+", text) if part]
        if len(parts) > 1:
            return all(self.hold(part) for part in parts)
        return re.split(r"[:/]", text)[-1] in self.words


def ungrounded(operation: Operation, arguments: Mapping[str, Any], grounds: Grounds) -> list[str]:
    """The id-like arguments whose value stands nowhere, as `place.name value`."""
    fixed = {(parameter.location, parameter.name): parameter.schema for parameter in operation.parameters}
    found = []
    for place, name, value in _ids(arguments):
        schema = fixed.get((place, name), {})
        documented = [*schema.get("enum", ()), schema.get("default")] if isinstance(schema, Mapping) else []
        if value not in documented and not grounds.hold(value):
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

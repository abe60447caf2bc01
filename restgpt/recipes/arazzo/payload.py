"""Request bodies of steps as templates: objects, and texts of JSON or forms, which are parsed before values come in.

A value that is put into a template can so not change its structure.
"""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from restgpt.recipes.arazzo.document import Body
from restgpt.recipes.arazzo.expression import is_expression
from restgpt.recipes.arazzo.fault import Fault, unsupported
from restgpt.recipes.arazzo.values import type_of
from restgpt.specs import Operation
from restgpt.tools.request.body import essence

_STRING_OR_EXPRESSION = re.compile(r'"(?:[^"\\]|\\.)*"|\{(\$[^{}"]*)\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Payload:
    """A template, and its replacements: place, type of the place, value."""

    template: Any
    replacements: tuple[tuple[str, str, Any], ...] = ()


def payload_of(body: Body, operation: Operation) -> Payload | Fault:
    """Return the template of a body, or the fault with the rest of its place."""
    if operation.body is None:
        return Fault("", "the operation takes no body: remove it")
    preferred = operation.body.preferred.media_type
    wanted = essence(body.content_type) or essence(preferred)
    if wanted != essence(preferred):
        known = ", ".join(operation.body.content)
        text = unsupported(f"the content type {wanted}", f"The operation takes {known}; RestGPT sends {preferred}")
        return Fault("/contentType", text)
    replacements = []
    for number, item in enumerate(body.replacements):
        kind = type_of(item.kind)
        if kind not in ("jsonpointer", "jsonpath") or "xml" in wanted:
            text = unsupported("replacements in XML", "Write the whole payload")
            return Fault(f"/replacements/{number}", text)
        replacements.append((item.target, kind, item.value))
    try:
        template = _template(body.payload, wanted)
    except ValueError as error:
        return Fault("/payload", f"the text is no {wanted}: {error}")
    return Payload(template, tuple(replacements))


def _template(payload: Any, media: str) -> Any:
    if not isinstance(payload, str) or is_expression(payload):
        return payload
    if media == "application/json" or media.endswith("+json"):
        return json.loads(_STRING_OR_EXPRESSION.sub(_quoted, payload), strict=False)
    if media == "application/x-www-form-urlencoded":
        return _form(payload)
    return payload


def _quoted(found: re.Match[str]) -> str:
    """Return an expression outside of quotes as a JSON text that is the expression, so that its type is kept."""
    return json.dumps(found[1]) if found[1] else found[0]


def _form(payload: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for part in payload.strip().split("&"):
        name, sign, value = part.partition("=")
        if not sign:
            raise ValueError(f"{part[:80]!r} has no =")
        if name in fields:
            raise ValueError(f"the field {name[:80]!r} stands twice")
        fields[unquote_plus(name)] = value if "{$" in value else unquote_plus(value)
    return fields

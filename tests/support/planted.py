"""Text that becomes an element, a script or a request wherever a page takes it for more than text, and its document."""

from pathlib import Path
from typing import Any

import yaml

PLANTED = (
    "{{7*7}} ${7*7} <%=7*7%> <svg onload=alert(1)><script>alert(2)</script></svg>"
    '<img src=https://evil.test/x onerror=alert(3)>"><iframe src=https://evil.test></iframe>'
    "<a href=javascript:alert(4)>x</a> [x](javascript:alert(5)) javascript:alert(6)"
)
START = PLANTED[: PLANTED.index("</svg>")]
"""As much as is shown where a text is cut."""
ALLOWED = "a[href^='#'], script[src='/debug/page.js']"
"""Elements of kinds that could do harm, which are the page's own."""
MADE = "img, iframe, object, embed, script, svg script, a, base, form[action], [onerror], [onload], style, template"


def planted_document(original: Path) -> str:
    """Return a document with the text in every place that the page may show; server and access are the original's."""
    known: dict[str, Any] = yaml.safe_load(original.read_text(encoding="utf-8"))
    name = {"type": "string", "title": PLANTED, "description": PLANTED}
    owner = {"type": "string", "enum": ["Ada", PLANTED], "description": PLANTED}
    schema = {"type": "object", "properties": {"name": name, "owner": owner, PLANTED: name}, "required": ["name"]}
    operation = {
        "operationId": "plant_project",
        "summary": PLANTED,
        "description": PLANTED,
        "tags": [PLANTED],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {"201": {"description": PLANTED, "content": {"application/json": {"schema": {"type": "object"}}}}},
    }
    document = {
        "openapi": known["openapi"],
        "info": {"title": PLANTED, "description": PLANTED, "version": "1"},
        "security": known.get("security", []),
        "components": {"securitySchemes": known["components"]["securitySchemes"]},
        "paths": {"/projects": {"post": operation}},
    }
    return yaml.safe_dump(document)

"""Bodies of answers as the response store gives them."""

import json
from typing import Any

from restgpt.tools.response.content import read_content
from restgpt.tools.response.store import Body


def body(value: Any, media_type: str = "application/json") -> Body:
    """Return a body that holds these bytes, or this value as JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    content = read_content(data, media_type)
    return Body(content.data, media_type, content.kind)

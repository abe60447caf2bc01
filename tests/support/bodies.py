"""Bodies of answers as the response store gives them."""

import json
from dataclasses import replace
from typing import Any

from restgpt.tools.response.content import UNREAD, Body, read_content


def body(value: Any, media_type: str = "application/json") -> Body:
    """Return a body that holds these bytes, or this value as JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return replace(read_content(data, media_type), parsed=UNREAD)

"""A text of the state: kept by every checkpointer, whatever characters it came with."""

from typing import Annotated

from restgpt.tools.storable import storable_text


def newer(before: str, after: str) -> str:
    """The newer text, without what PostgreSQL refuses: it keeps a text as JSON, unlike one that is inside a list."""
    return storable_text(after) if isinstance(after, str) else ""


Text = Annotated[str, newer]


class Given(str):
    """A text that a caller has just given, unlike one that an earlier turn left in the state."""

"""The type of texts in the state: removes characters that a checkpointer cannot save."""

from typing import Annotated, Any
from uuid import NAMESPACE_OID, uuid5

from restgpt.tools.text.storable import storable_text


def newer(before: str, after: str) -> str:
    """Return the newer text, without characters such as NUL: PostgreSQL rejects them in a state value."""
    return storable_text(after) if isinstance(after, str) else ""


Text = Annotated[str, newer]


class Given(str):
    """A text from the current input, unlike a text that an earlier turn left in the state."""


def placed_id(place: int, kind: str, content: Any) -> str:
    """Return the id of a message that came without one: it gets it again whenever the state is read."""
    return str(uuid5(NAMESPACE_OID, f"{place} {kind} {content}"))

"""The type of texts in the state: removes characters that a checkpointer cannot save."""

from typing import Annotated

from restgpt.tools.text.storable import storable_text


def newer(before: str, after: str) -> str:
    """Return the newer text, without characters such as NUL: PostgreSQL rejects them in a state value."""
    return storable_text(after) if isinstance(after, str) else ""


Text = Annotated[str, newer]


class Given(str):
    """A text from the current input, unlike a text that an earlier turn left in the state."""

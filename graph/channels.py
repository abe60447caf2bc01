"""The channels of the state: how a key takes in what is written to it, and what it refuses."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.last_value import LastValue
from langgraph.types import Overwrite
from pydantic import TypeAdapter, ValidationError

from restgpt.nodes.records import FORMAT
from restgpt.nodes.text import Given
from restgpt.tools.errors import StoppingError


class NewerThreadError(StoppingError):
    """A checkpoint was written by a newer version."""

    def __init__(self, found: int) -> None:
        super().__init__(
            f"This thread was written by a newer version of RestGPT: its checkpoints have format {found}, and this "
            f"version reads formats up to {FORMAT}. Open it with that version or a newer one. Nothing was changed."
        )


class StateError(ValueError):
    """Something was written to a key of the state that does not belong there; nothing of it was kept."""

    def __init__(self, key: str, error: ValidationError) -> None:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = "".join(f"[{part!r}]" for part in first["loc"])
        super().__init__(
            f"The state's {key!r} was not changed: at {key}{place}: {first['msg']}. Read its present value with "
            "get_state, and write one of the same form."
        )


class FormatChannel(LastValue[int]):
    """The format number of a thread's checkpoints; raises `NewerThreadError` when a newer one is opened."""

    def from_checkpoint(self, checkpoint: Any) -> "FormatChannel":
        """The channel as it was kept."""
        if isinstance(checkpoint, int) and checkpoint > FORMAT:
            raise NewerThreadError(checkpoint)
        return super().from_checkpoint(checkpoint)


class Checked(LastValue[Any]):
    """A key that keeps its newest value, which must be of its type; raises `StateError`."""

    def update(self, values: Sequence[Any]) -> bool:
        """Take in what was written."""
        check(self.key, self.typ, values)
        return super().update(values)


class Aggregate(BinaryOperatorAggregate[Any]):
    """A key whose value a reducer makes of everything that is written, each of its type; raises `StateError`."""

    def update(self, values: Sequence[Any]) -> bool:
        """Take in what was written."""
        check(self.key, self.typ, values)
        return super().update(values)


class Instruction(BinaryOperatorAggregate[str]):
    """The channel of the instruction: its newest text, which is `Given` for the one step after it was written."""

    def update(self, values: Sequence[str]) -> bool:
        """Take in what was written; nothing, when a step went by without."""
        was_given = isinstance(self.value, Given)
        is_given = super().update(values)
        self.value = Given(self.value) if is_given else str(self.value)
        return is_given or was_given

    def checkpoint(self) -> Any:
        """The text as JSON, in a list while it is `Given`."""
        return [str(self.value)] if isinstance(self.value, Given) else self.value

    def from_checkpoint(self, checkpoint: Any) -> "Instruction":
        """The channel as it was kept."""
        return super().from_checkpoint(Given(checkpoint[0]) if isinstance(checkpoint, list) else checkpoint)


def check(key: str, kind: Any, values: Sequence[object]) -> None:
    """Raise `StateError` unless all values written to a key are of its type."""
    for value in values:
        try:
            _adapter(kind).validate_python(value.value if isinstance(value, Overwrite) else value)
        except ValidationError as error:
            raise StateError(key, error) from None


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """The validator of a type, made once."""
    return TypeAdapter(kind)

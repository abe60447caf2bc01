"""The last wall in front of secrets: what errors say where they leave a node, a tool of a host, or this process's log.

Every place that knows a secret keeps it out of its own errors. An error of a library, or of a seam that a host brings,
may quote one all the same; a checkpoint, a client's model or a log would keep it.
"""

import logging
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

from restgpt.tools.errors import RestgptError, UnforeseenError, name_and_place
from restgpt.tools.text.redaction import Redactor, registered
from restgpt.tools.tracing.span import is_interrupt

Result = TypeVar("Result")


def without_secrets(error: Exception, redactor: Redactor | None = None) -> Exception:
    """Return the error if it holds no secret; else one of ours without it, and without the causes, in its place.

    Looks for the secrets of `redactor`, of this process (`registered`) and of the environment.
    """
    hide = _everything(redactor).message
    told = "\n".join(_texts(error))
    if hide(told) == told:
        return error
    if isinstance(error, RestgptError):
        error.args = tuple(hide(item) if isinstance(item, str) else item for item in error.args)
        error.__cause__ = error.__context__ = None
        error.__notes__ = []
        return error
    return UnforeseenError(f"An error that restgpt did not foresee, {name_and_place(error)}: {hide(str(error))}")


_SENT = "Before this error: "


def note_sent(error: BaseException, sentence: str) -> None:
    """Note on an error what was sent before it, or was approved and not sent, for `sent_before`."""
    error.add_note(f"{_SENT}{sentence}")


def sent_before(error: BaseException) -> str:
    """Return a sentence for each request that an error says was sent before it; empty if it names none."""
    notes = [note.removeprefix(_SENT) for note in getattr(error, "__notes__", ()) if note.startswith(_SENT)]
    return " ".join(notes)


def sentence(text: str, error: BaseException) -> str:
    """Return the text of an error as a sentence, and after it what the error says was sent before it."""
    if text.partition(" ")[0].isalpha():
        text = text[0].upper() + text[1:]
    end = "" if text.endswith((".", "!", "?", "…")) else "."
    return f"{text}{end} {sent_before(error)}".rstrip()


def text_without_secrets(text: str) -> str:
    """Return a text without the secrets of this process and of the environment."""
    return _everything(None).message(text)


def withholding(node: Callable[..., Result], redactor: Callable[[], Redactor]) -> Callable[..., Result]:
    """Wrap a node so that no error leaves it with a secret: a checkpoint keeps the error, and a host shows it."""

    @wraps(node)
    def withheld(*args: Any, **kwargs: Any) -> Result:
        try:
            return node(*args, **kwargs)
        except Exception as error:
            shown = error if is_interrupt(error) else without_secrets(error, redactor())
            if shown is error:
                raise
        # Outside of the handler, so that the error with the secret is no context of this one.
        raise shown

    return withheld


class RedactingFormatter(logging.Formatter):
    """Formats log records, with their tracebacks, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as `logging.Formatter` does, and hide the secrets in the text."""
        return text_without_secrets(super().format(record))


def _everything(redactor: Redactor | None) -> Redactor:
    # Late, because settings know API documents, and every command formats a log.
    from restgpt.tools.settings.environment import environment_secrets

    return (redactor or Redactor()).extended(registered().secrets).extended(environment_secrets())


def _texts(error: BaseException) -> Iterator[str]:
    """Yield all that a traceback, a checkpoint or a client could show of an error and its causes."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        item = queue.pop()
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        yield from (str(item), repr(item), *getattr(item, "__notes__", ()))
        queue += [item.__cause__, item.__context__, *getattr(item, "exceptions", ())]

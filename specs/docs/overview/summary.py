"""The summary line of an operation, for lists of operations in prompts."""

from restgpt.specs.docs.arguments import argument_names
from restgpt.specs.docs.words.sentences import IDLE, says_more
from restgpt.specs.operation import Operation
from restgpt.specs.reading.text.hidden import marks
from restgpt.specs.search.stemmer import stems

LONGEST = 120
# The maximum number of arguments, and of fields of the body, that the line of a function names.
ARGUMENTS_MOST = 8


@marks
def summary_line(operation: Operation) -> str:
    """Return method, path and summary of an operation, or the first sentence of its description, on one line."""
    return f"{operation.method} {operation.path}  {_title(operation)}".rstrip()


@marks
def function_line(operation: Operation, name: str) -> str:
    """Return a function with the names of its arguments on one line, and the summary if it says more than the name."""
    names = argument_names(operation, ARGUMENTS_MOST, operation.api.common_arguments)
    title = _title(operation)
    return f"{name}({names})" + (f"  {title}" if says_more(title, frozenset(stems(name))) else "")


def _title(operation: Operation) -> str:
    return " ".join((operation.summary or first_sentence(operation.description)).split())[:LONGEST]


def first_sentence(text: str) -> str:
    """Return the first sentence or line of a description."""
    line = text.strip().split("\n", 1)[0].split(". ", 1)[0]
    return "" if IDLE.fullmatch(line) else line

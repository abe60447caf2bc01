"""The summary line of an operation, for lists of operations in prompts."""

from restgpt.specs.operation import Operation
from restgpt.specs.reading.text.hidden import marks

LONGEST = 120


@marks
def summary_line(operation: Operation) -> str:
    """Return method, path and summary of an operation, or the first sentence of its description, on one line."""
    text = " ".join((operation.summary or first_sentence(operation.description)).split())
    return f"{operation.method} {operation.path}  {text[:LONGEST]}".rstrip()


def first_sentence(text: str) -> str:
    """Return the first sentence or line of a description."""
    line = text.strip().split("\n", 1)[0]
    return line.split(". ", 1)[0]

"""What is said to the model: one Markdown file per prompt, rendered strictly.

A prompt is a `string.Template`: `$name` is a variable, so the braces of JSON and of `/users/{id}` need no escaping,
and a substituted value is never rendered again.
"""

from collections.abc import Iterator
from datetime import date
from functools import cache
from hashlib import sha256
from importlib.resources import files
from string import Template

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class PromptError(ValueError):
    """A prompt does not exist, or was given too few or too many variables: a fault of the program, not of the user."""


@cache
def _template(name: str) -> Template:
    source = files("restgpt.prompts").joinpath(f"{name}.md")
    try:
        return Template(source.read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        raise PromptError(f"there is no prompt {name}.md") from None


def render(name: str, **variables: str) -> str:
    """Fill the prompt `name` with `variables`; raises `PromptError` unless they are exactly those it names."""
    template = _template(name)
    wanted = set(template.get_identifiers())
    if missing := wanted - variables.keys():
        raise PromptError(f"the prompt {name}.md needs {', '.join(sorted(missing))}")
    if unused := variables.keys() - wanted:
        raise PromptError(f"the prompt {name}.md does not use {', '.join(sorted(unused))}")
    return template.substitute(variables)


def names() -> Iterator[str]:
    """All prompts by name, in alphabetical order."""
    folder = files("restgpt.prompts")
    yield from sorted(entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md"))


def fingerprints() -> dict[str, str]:
    """The SHA-256 of each prompt file, for the record of a benchmark run."""
    return {name: sha256(_template(name).template.encode()).hexdigest() for name in names()}


def dated(day: date) -> str:
    """A day as prompts name it, such as `2023-12-01, a Friday`: models are weak at telling the weekday."""
    return f"{day.isoformat()}, a {WEEKDAYS[day.weekday()]}"


def fenced(label: str, text: str) -> str:
    """Mark `text` as data from outside.

    The mark carries 64 bits of a hash of the text, so that no text can be made to hold its own closing mark.
    """
    mark = f"{label}-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return f"<{mark}>\n{text}\n</{mark}>"

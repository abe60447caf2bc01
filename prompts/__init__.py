"""The prompts for the models: one Markdown file each, and a strict renderer.

A prompt is a `string.Template`: `$name` is a variable, so the braces of JSON and of `/users/{id}` need no escaping,
and a substituted value is never rendered again.
"""

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from string import Template


class PromptError(ValueError):
    """A prompt file is missing, or a variable is missing or unused: a bug in the program, not a mistake of the user."""


@cache
def _template(name: str) -> Template:
    source = files("restgpt.prompts").joinpath(f"{name}.md")
    try:
        return Template(source.read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        raise PromptError(f"there is no prompt file {name}.md") from None


def text_of(name: str) -> str:
    """Return the text of the prompt `name`, in which `$` begins a variable."""
    return _template(name).template


def checked(name: str, text: str) -> str:
    """Return another text of the prompt `name`; raises `ValueError` unless it has the same variables."""
    template, wanted = Template(text), set(_template(name).get_identifiers())
    if not template.is_valid() or set(template.get_identifiers()) != wanted:
        listed = ", ".join(f"${variable}" for variable in sorted(wanted)) or "no variables"
        raise ValueError(f"it needs exactly the variables of the prompt {name}.md: {listed}; $$ is a dollar sign")
    return text


def render(name: str, /, text: str | None = None, **variables: str) -> str:
    """Render the prompt `name`, or another `text` of it.

    Raises `PromptError` unless `variables` are exactly the variables of the prompt.
    """
    template = _template(name) if text is None else Template(text.strip())
    wanted = set(template.get_identifiers())
    if missing := wanted - variables.keys():
        raise PromptError(f"the prompt {name}.md needs the variables {', '.join(sorted(missing))}")
    if unused := variables.keys() - wanted:
        raise PromptError(f"the prompt {name}.md does not use the variables {', '.join(sorted(unused))}")
    return template.substitute(variables)


def names() -> Iterator[str]:
    """Yield the names of all prompts, in alphabetical order."""
    folder = files("restgpt.prompts")
    yield from sorted(entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md"))


def fingerprints() -> dict[str, str]:
    """Return the SHA-256 of each prompt file, for the records of benchmark runs."""
    return {name: sha256(_template(name).template.encode()).hexdigest() for name in names()}


def fenced(label: str, text: str) -> str:
    """Put `text` between marks that declare it untrusted data.

    The marks contain 64 bits of a hash of the text, so that nobody can write a text with its own closing mark.
    """
    mark = f"{label}-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return f"<{mark}>\n{text}\n</{mark}>"

"""Other names for the inputs of a recipe, and another description; nothing else of it changes."""

import keyword
import re
from collections.abc import Mapping
from typing import Any

from restgpt.recipes.recipe import Recipe

MOST_DESCRIPTION = 300
"""The maximum number of characters of a description that is not the user's own."""

_INPUT = re.compile(r"[a-z][a-z0-9_]{0,39}")
_READ = re.compile(r"""\binputs\[(["'])(\w+)\1\]""")
_SLOT = re.compile(r"\{([^{}]*)\}")


def name_problem(recipe: Recipe, names: Mapping[str, str], description: str) -> str:
    """Return why names and description cannot be those of the recipe's inputs; an empty text if they can."""
    known = list(recipe.properties)
    if unknown := [name for name in names if name not in known]:
        return f"{unknown[0]!r} is no input; the inputs are {', '.join(known) or 'none'}"
    if wrong := [name for name in names.values() if not _INPUT.fullmatch(name) or keyword.iskeyword(name)]:
        return f"{wrong[0]!r} is no name of an input: use lower-case letters, digits and underscores, at most 40"
    new = [names.get(name, name) for name in known]
    if double := [name for name in new if new.count(name) > 1]:
        return f"two inputs would be called {double[0]!r}"
    if not description.strip() or len(description) > MOST_DESCRIPTION or "\n" in description.strip():
        return f"the description has to be one line of at most {MOST_DESCRIPTION} characters"
    if strange := [slot for slot in _SLOT.findall(description) if slot not in new]:
        return f"the description has {{{strange[0]}}}, which is no input; the inputs are {', '.join(new)}"
    return ""


def renamed(recipe: Recipe, names: Mapping[str, str], description: str) -> Recipe:
    """Return the recipe with other names of its inputs, everywhere it uses them; raises `ValueError` for a problem."""
    if problem := name_problem(recipe, names, description):
        raise ValueError(problem)
    values = recipe.to_json()
    inputs = {**values["inputs"]}
    inputs["properties"] = {names.get(key, key): part for key, part in inputs.get("properties", {}).items()}
    if "required" in inputs:
        inputs["required"] = [names.get(name, name) for name in inputs["required"]]
    return Recipe.model_validate(
        {
            **values,
            "description": description.strip(),
            "inputs": inputs,
            "program": _READ.sub(lambda found: _read(found, names), recipe.program),
            "links": [_link(link, names) for link in values.get("links", ())],
            "calls": [_call(call, names) for call in values.get("calls", ())],
        }
    )


def _read(found: re.Match[str], names: Mapping[str, str]) -> str:
    quote, name = found.groups()
    return f"inputs[{quote}{names.get(name, name)}{quote}]"


def _link(link: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    echo = link.get("echo")
    return {**link, "echo": {**echo, "input": names.get(echo["input"], echo["input"])}} if echo else {**link}


def _call(call: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    arguments = {key: _source(source, names) for key, source in call.get("arguments", {}).items()}
    return {**call, "arguments": arguments}


def _source(source: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    changed = {**source}
    if "input" in changed:
        changed["input"] = names.get(changed["input"], changed["input"])
    if "text" in changed:
        changed["text"] = _SLOT.sub(lambda found: f"{{{names.get(found[1], found[1])}}}", changed["text"])
    return changed

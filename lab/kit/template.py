"""Templates of large texts and JSON values: a piece that is written once stands for thousands of them.

`n` is the size. In a text, `«ab»` is `ab` repeated n times. `{"$each": item}` is a list of n items, and a key with `$k`
stands, with its value, for n of them. There `$k` is the number of the item, key or piece, from 0 on, and `$next` is the
number after it; `$n` is the size. A text that is `$k` or `$n` alone becomes a number, and `${k}` a text.
"""

import re
from collections.abc import Iterator
from typing import Any

_REPEATED = re.compile("«(.*?)»", re.DOTALL)
_MARKED = re.compile(r"\$(?:k|n|next|each)\b|\$\{k\}|«")


def filled(template: Any, size: int, number: int | None = None) -> Any:
    """Return the value of a template of a JSON value; `number` is that of the item around it."""
    match template:
        case str():
            return size if template == "$n" else number if template == "$k" else filled_text(template, size, number)
        case {"$each": item}:
            return [filled(item, size, each) for each in range(size)]
        case dict() if not _is_fixed(template):
            return dict(_entries(template, size, number))
        case list() if not _is_fixed(template):
            return [filled(item, size, number) for item in template]
    return template


def filled_text(template: str, size: int, number: int | None = None) -> str:
    """Return the text of a template."""
    if "«" in template:
        template = _REPEATED.sub(lambda found: _repeated(found[1], size), template)
    return _numbered(template, number) if number is not None else template.replace("$n", str(size))


def _entries(template: dict[str, Any], size: int, number: int | None) -> Iterator[tuple[str, Any]]:
    for key, value in template.items():
        for each in range(size) if number is None and "$k" in key else [number]:
            yield filled_text(key, size, each), filled(value, size, each)


def _is_fixed(template: Any) -> bool:
    """Whether a part of a template is as it is for every number, so that all of them can share it."""
    if isinstance(template, dict):
        return all(_is_fixed(key) and _is_fixed(value) for key, value in template.items())
    if isinstance(template, list):
        return all(map(_is_fixed, template))
    return not isinstance(template, str) or _MARKED.search(template) is None


def _repeated(piece: str, size: int) -> str:
    return "".join(_numbered(piece, each) for each in range(size)) if "$" in piece else piece * size


def _numbered(text: str, number: int) -> str:
    return text.replace("$next", str(number + 1)).replace("${k}", str(number)).replace("$k", str(number))

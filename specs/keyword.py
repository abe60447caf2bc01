"""Keywords: the parameters of an operation as the keyword arguments of a Python function."""

import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from restgpt.specs.parameter import RESERVED_HEADERS, Parameter
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.references import follow_safely
from restgpt.specs.reading.unique_names import UniqueNames
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.schemas.types import only_value

# Arguments that every function has or may have: the request body, and how many pages to read.
BODY, PAGES = "body", "pages"
# Headers that let a change meet only the version that was read, in lower case.
VERSIONS = frozenset({"if-match", "if-unmodified-since"})
GROUPS = {"path": "path", "query": "query", "querystring": "query", "header": "header", "cookie": "cookie"}


@dataclass(frozen=True, slots=True)
class Keyword:
    """One parameter as a keyword argument; `field` is its name in the API, `location` its group in the arguments.

    A parameter is not `required` if it has a default, or one value only, which the request is filled in with. One that
    the document requires and that has one value only is `settled`: nobody has to give or to see it. One is `idle` that
    repeats the sign-in, or is a condition on the version of what is only read: it is taken, and not shown.
    """

    name: str
    location: str
    field: str
    required: bool
    settled: bool
    idle: bool
    parameter: Parameter
    document: Document

    @property
    def shape(self) -> Shape:
        """The schema of its value, as a request has it; new each time, since each reading has its own limits."""
        return Shape(self.document, self.parameter.described, request=True)


def identifier(text: str, *, taken: Collection[str] = (), fallback: str = "value") -> str:
    """Return a text as a Python identifier that is no keyword and not in `taken`; an underscore is appended then."""
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", text)).strip("_") or fallback
    if not name.isidentifier():
        # It starts with a digit or with a sign that may only follow a letter.
        name = f"{fallback}_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in taken else name


def keywords_of(document: Document, parameters: Iterable[Parameter], *, is_safe: bool) -> tuple[Keyword, ...]:
    """Return parameters as keyword arguments, required ones first, then in document order.

    Of two parameters with the same name the later one has its location appended. Headers that the program sets itself
    are left out. `is_safe` says that the operation only reads.
    """
    free = [item for item in parameters if item.location in GROUPS and not _is_reserved(item)]
    fixed = {id(item): _fixed(document, item) for item in free}
    needed = {id(item): item.required and fixed[id(item)] == (None, None) for item in free}
    found: list[Keyword] = []
    names = UniqueNames()
    for item in sorted(free, key=lambda item: (item.repeats_sign_in, not needed[id(item)])):
        location = GROUPS[item.location]
        name = identifier(item.name, fallback=location)
        name = names.claim(f"{name}_{location}" if name in names or name in (BODY, PAGES) else name)
        settled = item.required and fixed[id(item)][1] is not None
        is_version = location == "header" and item.name.lower() in VERSIONS
        idle = item.repeats_sign_in or (is_safe and is_version and not item.required)
        found.append(Keyword(name, location, item.name, needed[id(item)], settled, idle, item, document))
    return tuple(found)


def _is_reserved(parameter: Parameter) -> bool:
    return parameter.location == "header" and parameter.name.lower() in RESERVED_HEADERS


def _fixed(document: Document, parameter: Parameter) -> tuple[Any, Any]:
    """Return the default of a parameter, and the only value that it may have."""
    node = follow_safely(document, parameter.schema)
    return node.get("default") if isinstance(node, dict) else None, only_value(node)

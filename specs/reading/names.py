"""Names of operations: unique in their document and legal as names of tools."""

import re
from collections import Counter
from hashlib import sha256

from restgpt.specs.problem import Problem
from restgpt.specs.reading.path_template import VARIABLE, variable
from restgpt.specs.reading.unique_names import UniqueNames

NAME_LENGTH = 64
ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
NOT_WORD = re.compile(r"\W")


class Names:
    """Names the operations of one document, in document order; repeated operationIds become problems."""

    def __init__(self, problems: list[Problem]) -> None:
        self._names = UniqueNames(longest=NAME_LENGTH)
        self._identifiers: set[str] = set()
        self._claimed: list[tuple[str, str]] = []
        self._problems = problems

    def claim(self, identifier: str, method: str, path: str, pointer: str) -> str:
        """Return an unused name for the operation with this operationId, which may be empty."""
        if identifier in self._identifiers:
            self._problems.append(Problem(f"{pointer}/operationId", f"the operationId {identifier} is used twice"))
        elif identifier:
            self._identifiers.add(identifier)
        name = legal_name(identifier) if ILLEGAL.sub("", identifier) else derived_name(method, path)
        name = self._names.claim(name)
        self._claimed.append((name, short_name(identifier, method, path) or name))
        return name

    def short(self) -> list[str]:
        """Return the names of all operations in the order of their claims, without the path and method at their ends.

        Operations that would share a name, also with the operationId of another one, keep the names that they claimed.
        """
        count = Counter(short for _, short in self._claimed)
        taken = {*self._identifiers, *(name for name, _ in self._claimed)}
        return [name if short in taken or count[short] > 1 else short for name, short in self._claimed]


def legal_name(identifier: str) -> str:
    """Return an identifier that matches [A-Za-z0-9_-]{1,64}; a hash replaces the part of a long one that is cut."""
    name = ILLEGAL.sub("_", identifier).strip("_") or "operation"
    if len(name) <= NAME_LENGTH:
        return name
    digest = sha256(identifier.encode()).hexdigest()[:6]
    return f"{name[: NAME_LENGTH - 28].rstrip('_-')}_{name[-20:].lstrip('_-')}_{digest}"


def short_name(identifier: str, method: str, path: str) -> str:
    """Return what an operationId says before its path and method; empty if it does not end with both.

    FastAPI's `generate_unique_id` joins function, path and method: `get_pet_pets__id__get` for GET /pets/{id}.
    """
    before = identifier.removesuffix(f"{NOT_WORD.sub('_', path)}_{method.lower()}")
    return legal_name(before) if before != identifier and before.strip("_") else ""


def derived_name(method: str, path: str) -> str:
    """Name an operation without an operationId by its method and path: `GET /pets/{id}` is `get_pets_by_id`."""
    words = VARIABLE.sub(lambda match: "by_" + variable(match.group(1)).name, path)
    return legal_name("_".join((method.lower(), *(part for part in ILLEGAL.split(words) if part))))

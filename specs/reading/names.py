"""Names of operations: unique in their document and legal as names of tools."""

import re
from hashlib import sha256

from restgpt.specs.problem import Problem
from restgpt.specs.reading.path_template import VARIABLE, variable
from restgpt.specs.reading.unique_names import UniqueNames

NAME_LENGTH = 64
ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")


class Names:
    """Names the operations of one document, in document order; repeated operationIds become problems."""

    def __init__(self, problems: list[Problem]) -> None:
        self._names = UniqueNames(longest=NAME_LENGTH)
        self._identifiers: set[str] = set()
        self._problems = problems

    def claim(self, identifier: str, method: str, path: str, pointer: str) -> str:
        """Return an unused name for the operation with this operationId, which may be empty."""
        if identifier in self._identifiers:
            self._problems.append(Problem(f"{pointer}/operationId", f"the operationId {identifier} is used twice"))
        elif identifier:
            self._identifiers.add(identifier)
        name = legal_name(identifier) if ILLEGAL.sub("", identifier) else derived_name(method, path)
        return self._names.claim(name)


def legal_name(identifier: str) -> str:
    """Return an identifier that matches [A-Za-z0-9_-]{1,64}; a hash replaces the part of a long one that is cut."""
    name = ILLEGAL.sub("_", identifier).strip("_") or "operation"
    if len(name) <= NAME_LENGTH:
        return name
    digest = sha256(identifier.encode()).hexdigest()[:6]
    return f"{name[: NAME_LENGTH - 28].rstrip('_-')}_{name[-20:].lstrip('_-')}_{digest}"


def derived_name(method: str, path: str) -> str:
    """Name an operation without an operationId by its method and path: `GET /pets/{id}` is `get_pets_by_id`."""
    words = VARIABLE.sub(lambda match: "by_" + variable(match.group(1)).name, path)
    return legal_name("_".join((method.lower(), *(part for part in ILLEGAL.split(words) if part))))

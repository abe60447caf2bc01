"""The operations that workflows name: found by operationId or by JSON pointer."""

from collections.abc import Iterable

from restgpt.specs import Operation
from restgpt.specs.reading.pointer import parse_fragment, parse_pointer


def with_id(operation_id: str, operations: Iterable[Operation]) -> list[Operation]:
    """Return the operations with an operationId; a correct document has one at most."""
    return [item for item in operations if item.operation_id == operation_id]


def at_pointer(fragment: str, operations: Iterable[Operation]) -> Operation | None:
    """Return the operation at a URI fragment; None if there is none.

    The pointer of a path item stands for its only operation.
    """
    for read in (parse_pointer, parse_fragment):
        wanted = read(fragment)
        listed = [(parse_pointer(item.pointer), item) for item in operations]
        found = [item for pointer, item in listed if wanted in (pointer, pointer[:-1])]
        exact = [item for pointer, item in listed if pointer == wanted]
        if exact or len(found) == 1:
            return (exact or found)[0]
    return None

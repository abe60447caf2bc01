"""Provisional."""

from collections.abc import Iterable

from restgpt.calling.recipes.recipe import UsedOperation
from restgpt.calling.recipes.shift import Shift
from restgpt.specs import Operation


def find_operation(used: UsedOperation, operations: Iterable[Operation]) -> Operation | None:
    for operation in operations:
        if (operation.api.name, operation.method, operation.path) == (used.api, used.method, used.path):
            return operation
    return None


def document_shifts(used: UsedOperation, operation: Operation | None) -> list[Shift]:
    return [] if operation else [Shift(used.function, f"{used.method} {used.path}", "no such operation")]

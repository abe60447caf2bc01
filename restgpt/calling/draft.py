"""Drafting a call: arguments are checked, settled and traced once, and the request is built from them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from restgpt.calling.call import Call, Problems
from restgpt.calling.idempotency import given_key, with_key, without_key
from restgpt.calling.origin.flow import AnsweredApis, flow_of
from restgpt.calling.origin.provenance import is_traceable, owned, trace, with_operations
from restgpt.calling.record import Provenance
from restgpt.specs import Operation
from restgpt.specs.effect import Effect, effect_of
from restgpt.tools.errors import ArgumentError, ArgumentProblem
from restgpt.tools.request.arguments import by_place
from restgpt.tools.request.build import settle
from restgpt.tools.request.files import FilePolicy
from restgpt.tools.text.redaction import MARK
from restgpt.tools.text.storable import storable_value

UNTRACEABLE = "names hold control characters, or values are nested too deeply, to say where they come from"

HIDDEN = f"a value contains {MARK}, which stands for a secret that no program gets: such a request is not sent"


def draft(
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    id: str,
    name: str | None = None,
    said: str | None = None,
    is_own: bool = False,
    found: Iterable[tuple[str, Any]] = (),
    operations: Mapping[str, str] = {},
    code: str | None = None,
    line: int = 0,
    answered: AnsweredApis | None = None,
    pages: int = 1,
    description: str = "",
    confirm: bool = False,
    files: FilePolicy | None = None,
    effect: Effect | None = None,
) -> Call | Problems:
    """Draft a call of `operation` from `{"path", "query", "header", "cookie", "body"}` groups, or from named arguments.

    `id` names the call in the write journal; an idempotency key is made from it where the document has a header for
    one. `said` is what the user said and `found` gives kept responses by handle, the newest first: every argument is
    traced to one of them, unless `said` is None. `operations` names the operations that answered by handle. `code` is
    the program that makes the call in `line`, `answered` the APIs that
    gave the responses, if there are several. With `is_own` all arguments are the user's own. `effect` is that of the
    rules, where they were asked, else that of the document. Only an operation that reads, or seems to, has more than
    one of its `pages` read. Raises `SpecError` if the document names no host.
    """
    effect = effect or effect_of(operation)
    try:
        given = with_key(operation, by_place(operation, arguments), id, said=None if is_own else said or "")
        settled = settle(operation, given, files=files)
    except ArgumentError as error:
        return Problems(error)
    if MARK in repr(settled.arguments):
        return Problems(ArgumentError([ArgumentProblem("", HIDDEN)], operation=operation.name))
    operation = operation.acting_as(settled.request.acts_as)
    if operation.acts_as != operation.method:
        effect = effect_of(operation)
    traced: list[Provenance] = owned(settled.arguments) if is_own else []
    pages, flow = pages if effect.kind == "read" else 1, None
    if said is not None:
        if not is_traceable(settled.arguments):
            return Problems(ArgumentError([ArgumentProblem("", UNTRACEABLE)], operation=operation.name))
        traced = trace(operation, settled.arguments, said=said, responses=found, code=code, line=line)
        if answered is not None:
            flow = flow_of(operation, settled.arguments, answered, said=said, code=code)
        traced = with_operations(traced, operations, answered.by_handle if answered is not None else {})
    return Call(
        id=id,
        operation=operation,
        effect=effect,
        name=name or operation.name,
        arguments=storable_value(given),
        settled=settled.arguments,
        request=settled.request,
        # An answer may name its fields as no store takes it.
        provenance=tuple(storable_value(traced)),
        pages=pages,
        description=description,
        line=line,
        confirm=confirm,
        flow=flow,
    )


def edited(before: Call, arguments: Mapping[str, Any]) -> Call | Problems:
    """The same call with other arguments, all of them a person's own.

    Its idempotency key is another one, unless a person typed it: in a fork of its thread, the request as it was may
    have been sent.
    """
    operation = before.operation
    try:
        given = by_place(operation, arguments)
    except ArgumentError as error:
        return Problems(error)
    named, id = (_edit_id(before, item) for item in (before.arguments, storable_value(given)))
    if given_key(operation, given) in [
        given_key(operation, with_key(operation, {}, item)) for item in (before.id, named)
    ]:
        given = without_key(operation, given)
    made = draft(
        operation,
        given,
        id=id,
        name=before.name,
        is_own=True,
        pages=before.pages,
        effect=before.effect,
        description=before.description,
        confirm=before.confirm,
    )
    return made if isinstance(made, Problems) else replace(made, id=before.id, line=before.line)


def _edit_id(before: Call, arguments: Mapping[str, Any]) -> str:
    """What the idempotency key of an edited call is made from."""
    return f"{before.id} {json.dumps(without_key(before.operation, arguments), ensure_ascii=False, default=str)}"

"""Imports workflows: a document becomes a recipe, whose program runs like that of any other.

The steps, expressions and conditions of the workflow are written as the Python code of that program.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from restgpt.recipes.arazzo.document import Arazzo, Workflow, read_document
from restgpt.recipes.arazzo.exporting import CONSTANTS, LINKS, NOT_PROVED, OPERATIONS, PROGRAM, WRITES
from restgpt.recipes.arazzo.fault import ArazzoError, Fault
from restgpt.recipes.arazzo.inputs import InputsError, inputs_of, joined
from restgpt.recipes.arazzo.program import Compiled, compiled
from restgpt.recipes.arazzo.sources import Sources
from restgpt.recipes.guards.closure import template_of, used_operation
from restgpt.recipes.input_schema import schema_fault
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api, Operation
from restgpt.specs.api import slug


def from_arazzo(
    document: Any,
    *,
    workflow: str = "",
    apis: Sequence[Api] | Mapping[str, Api],
    documents: Mapping[str, Any] | None = None,
    at: str = "",
) -> Recipe:
    """Return a workflow of a decoded Arazzo document as a recipe.

    `workflow` names it if there are several. `apis` are the APIs of the OpenAPI sources, by the name of the source or
    in any order. `documents` are the decoded documents of the Arazzo sources by their names. `at` is the time of the
    import. Raises ArazzoError with the faults, what is not supported, and the places.
    """
    read = read_document(document)
    number, chosen = _chosen(read, workflow)
    sources = Sources(read, apis, {name: read_document(other) for name, other in (documents or {}).items()})
    if sources.faults:
        raise ArazzoError("The Arazzo document cannot be imported.", sources.faults)
    extra = chosen.model_extra or {}
    fields = {
        "name": slug(chosen.workflow_id),
        "saved": {"at": at, "by": f"Arazzo: {read.info.title} {read.info.version}"},
        "writes": extra.get(WRITES, "ask"),
    }
    try:
        parts = _with_program(read, chosen, sources) if PROGRAM in extra else _with_steps(read, chosen, sources)
        recipe = Recipe.model_validate({**fields, **parts})
    except ValidationError as error:
        faults = [
            Fault(f"/workflows/{number}", f"{'/'.join(map(str, item['loc']))}: {item['msg']}".removeprefix(": "))
            for item in error.errors(include_url=False)
        ]
        raise ArazzoError(f"The workflow {chosen.workflow_id} makes no recipe.", faults) from None
    if fault := schema_fault(recipe.inputs):
        place, what = fault
        where = f"/workflows/{number}/{'/'.join(map(str, place))}"
        raise ArazzoError(f"The workflow {chosen.workflow_id} makes no recipe.", [Fault(where, what)])
    return recipe


def _chosen(document: Arazzo, name: str) -> tuple[int, Workflow]:
    """Return the workflow of a name, or the only one."""
    names = ", ".join(workflow.workflow_id for workflow in document.workflows)
    if not name and len(document.workflows) > 1:
        raise ArazzoError(f"The Arazzo document has several workflows: name one of {names}.")
    found = document.workflow(name) if name else (0, document.workflows[0])
    if found is None:
        raise ArazzoError(f"The Arazzo document has no workflow {name!r}; it has {names}.")
    return found


def _with_steps(document: Arazzo, workflow: Workflow, sources: Sources) -> dict[str, Any]:
    """Return the fields of a recipe whose program carries out the steps."""
    made = compiled(document, workflow.workflow_id, sources)
    if made.faults:
        raise ArazzoError(f"The workflow {workflow.workflow_id} cannot be imported.", made.faults)
    extra = workflow.model_extra or {}
    operations, functions = _operations(made, extra)
    return {
        "description": _described(document, workflow, made.notes),
        "apis": _apis({item.api.name: item.api for item in made.operations.values()}),
        "inputs": joined(list(made.inputs.values())),
        "program": made.code,
        "operations": operations,
        "links": [_renamed(link, functions) for link in _listed(extra, LINKS)],
        "constants": made.constants,
    }


def _with_program(document: Arazzo, workflow: Workflow, sources: Sources) -> dict[str, Any]:
    """Return the fields of a recipe that this program exported with its program."""
    extra = workflow.model_extra or {}
    used = _listed(extra, OPERATIONS)
    named = {str(item.get("api")) for item in used if isinstance(item, Mapping)}
    try:
        inputs = inputs_of(document, workflow)
    except InputsError as error:
        raise ArazzoError("The Arazzo document cannot be imported.", [Fault("/workflows", str(error))]) from None
    return {
        "description": _described(document, workflow, ()),
        "apis": _apis({api.name: api for api in sources.apis.values() if api.name in named}),
        "inputs": inputs,
        "program": extra[PROGRAM],
        "operations": used,
        "links": _listed(extra, LINKS),
        "constants": _listed(extra, CONSTANTS),
    }


def _apis(apis: Mapping[str, Api]) -> list[dict[str, str]]:
    return [{"name": name, "title": api.title, "version": api.version} for name, api in apis.items()]


def _described(document: Arazzo, workflow: Workflow, notes: Sequence[str]) -> str:
    said = (workflow.summary or workflow.description or document.info.title).replace(NOT_PROVED, "").strip()
    return "\n".join([said, *notes])


def _listed(extra: Mapping[str, Any], key: str) -> list[Any]:
    found = extra.get(key, [])
    return found if isinstance(found, list) else [found]


def _operations(made: Compiled, extra: Mapping[str, Any]) -> tuple[list[Any], dict[str, str]]:
    """Return the operations of the program and the new names of functions.

    The guards are those of the export; where it has none, they are made from the document of today.
    """
    kept = [item for item in _listed(extra, OPERATIONS) if isinstance(item, Mapping)]
    found: list[Any] = []
    names: dict[str, str] = {}
    for function, operation in made.operations.items():
        own = used_operation(function, operation, made.sent, api=operation.api.name).model_dump()
        guards = next((item for item in kept if _is_same(item, operation)), {})
        names[str(guards.get("function", function))] = function
        named = {key: own[key] for key in ("function", "api", "method", "path")}
        found.append({**own, **guards, **named})
    return found, names


def _is_same(item: Mapping[str, Any], operation: Operation) -> bool:
    wanted = (operation.api.name, operation.method, template_of(operation.path))
    return (item.get("api"), item.get("method"), template_of(str(item.get("path", "")))) == wanted


def _renamed(link: Any, functions: Mapping[str, str]) -> Any:
    """Return a link of an export with the names of the functions in the new program."""
    if not isinstance(link, Mapping):
        return link
    ends = {key: functions.get(str(link.get(key)), link.get(key)) for key in ("answer_of", "call")}
    return {**link, **ends}

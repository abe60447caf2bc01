"""`restgpt api`: show or search the operations of an OpenAPI document, without a model."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.entries import add, list_entries, remove
from restgpt.commands.terminal import Apis, MoreSettings, Terminal, UsageError, command, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from restgpt.specs import Api, Catalogue, Operation, Problem
    from restgpt.tools.settings import Settings

api = typer.Typer(name="api", help="Show or search the operations of APIs, or list APIs.", no_args_is_help=True)
api.command()(add)
api.command(name="list")(list_entries)
api.command()(remove)


@api.command()
@command
def show(
    terminal: Terminal,
    source: Annotated[
        str, typer.Argument(help="Path or URL of an OpenAPI document, or a name in apis.yaml.", metavar="SOURCE")
    ],
    place: Annotated[
        str | None, typer.Argument(help="Show the documentation of one operation.", metavar="[OPERATION]")
    ] = None,
    operation: Annotated[
        str | None, typer.Option("--operation", "-o", help="The same as OPERATION.", metavar="NAME")
    ] = None,
    lint: Annotated[
        bool,
        typer.Option(
            "--lint", help="Also validate the document against the OpenAPI schema, and check every operation."
        ),
    ] = False,
    effects: Annotated[
        bool,
        typer.Option("--effects", help="List instead which operations read and which change something, and why."),
    ] = False,
) -> None:
    """List the operations and the problems of a document."""
    from restgpt.sources import find_operation, load_source
    from restgpt.tools.settings import Settings

    settings, operation = Settings.from_env(), operation or place
    found = load_source(source, settings)
    if effects:
        chosen = found.operations if operation is None else [find_operation(operation, [found])]
        _show_effects(terminal, chosen, settings)
        return
    if operation is not None:
        _show_operation(terminal, find_operation(operation, [found]))
        return
    problems = [*found.problems, *(_lint(found, terminal) if lint else ())]
    terminal.document(_api_document(found, problems))
    terminal.answer(_api_text(found, problems))


@api.command()
@command
def find(
    terminal: Terminal,
    text: Annotated[str, typer.Argument(help="What the operation should do.", metavar="TEXT")],
    apis: Apis,
    k: Annotated[
        int, typer.Option("-k", min=1, max=1000, metavar="N", help="Maximum number of operations to show.")
    ] = 10,
) -> None:
    """Search the operations of one or several documents, best match first."""
    catalogue = _catalogue(apis)
    found = catalogue.search(text, k)
    terminal.document({"query": text, "operations": _listed(found, catalogue)})
    terminal.answer("\n".join(catalogue.line(item) for item in found) or "No operation matches.")


@api.command(name="map")
@command
def show_map(
    terminal: Terminal,
    apis: Apis,
    part: Annotated[
        str, typer.Argument(help="Part of the map, such as /users/{id} or /users/ab*.", metavar="PART")
    ] = "/",
    budget: Annotated[int, typer.Option(min=50, metavar="TOKENS", help="Maximum tokens of the map.")] = 6000,
) -> None:
    """Show the paths of one or several documents, or the operations of one part of them."""
    catalogue = _catalogue(apis)
    found = catalogue.map.open(part)
    terminal.document(
        {
            "part": found.path,
            "count": len(found),
            "operations": _listed(found.operations, catalogue),
            "parts": [
                {
                    "part": below.path,
                    "methods": [item.method for item in below.operations],
                    "count": len(below),
                }
                for below in found.parts
            ],
        }
    )
    terminal.answer(found.text(budget))


@api.command()
@command
def functions(
    terminal: Terminal,
    apis: Apis,
    text: Annotated[
        str, typer.Argument(help="The instruction, which selects functions and fields.", metavar="[TEXT]")
    ] = "",
    operation: Annotated[
        str | None, typer.Option("--operation", "-o", help="Show the function of one operation.", metavar="NAME")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            min=200,
            metavar="TOKENS",
            help="Maximum tokens. Default: the setting functions_budget; for one operation documentation_budget.",
        ),
    ] = None,
    more: MoreSettings = None,
) -> None:
    """Show the typed Python functions that programs call, as a model sees them, with learned shapes."""
    from restgpt.graph.persistence import open_persistence
    from restgpt.nodes.argument_writer import functions_of
    from restgpt.nodes.dialogue.functions import functions_text, select
    from restgpt.nodes.run.run import Run
    from restgpt.nodes.run.services import Context, Services
    from restgpt.sources import find_operation
    from restgpt.tools.settings import Settings
    from restgpt.tools.settings.settings import checked_settings

    settings = Settings.from_env()
    loaded = apis().or_all(settings).load(settings)
    budgets = settings_of(more, functions_budget=budget, documentation_budget=budget)
    context = checked_settings(Context, budgets)
    with open_persistence(settings) as persistence:
        run = Run(Services(loaded, settings=settings), context, persistence.store, thread="", started=0)
        if operation is None:
            shown = functions_text(run, select(run, text), text)
        else:
            shown = functions_of(run, [find_operation(operation, loaded)], text)
    terminal.document({"instruction": text, "functions": shown})
    terminal.answer(shown)
    terminal.note("* required, ? not always there; pages=20 reads up to 20 pages of a list as one response")


@api.command()
@command
def permit(
    terminal: Terminal,
    operation: Annotated[
        str, typer.Argument(help="Name, operationId or `METHOD /path` of the operation.", metavar="OPERATION")
    ],
    apis: Apis,
    pairs: Annotated[
        list[str] | None,
        typer.Argument(help="The arguments of such a request, as `restgpt call` has them.", metavar="[NAME=VALUE]..."),
    ] = None,
    arguments: Annotated[str, typer.Option("--args", help="The arguments as JSON.", metavar="JSON")] = "{}",
    free: Annotated[
        list[str] | None,
        typer.Option(
            help="A given argument, which may have any value that you say; a number, from 0 to the given one.",
            metavar="NAME",
        ),
    ] = None,
    times: Annotated[int | None, typer.Option(help="How many requests.", metavar="N", show_default="10")] = None,
    hours: Annotated[float | None, typer.Option(help="For how long.", metavar="HOURS", show_default="24")] = None,
    wish: Annotated[
        str,
        typer.Option(
            help='How else they may differ: {"one_of": {"/path/id": [1, 2]}, "most": {"/body/seats": 4}, '
            '"from": {"/body/trip": "get_trips /data/*/id"}}, each optional.',
            metavar="JSON",
        ),
    ] = "{}",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether the shown permission is to be given.")] = False,
) -> None:
    """Let changes that look like one go out unasked; `restgpt memory` lists what you permitted, and takes it back."""
    from restgpt.client import Client
    from restgpt.commands.pairs import arguments_of, given_arguments, pointer_to
    from restgpt.graph.persistence import open_persistence
    from restgpt.nodes.run.services import Services
    from restgpt.tools.settings import Settings

    settings = Settings.from_env()
    loaded = apis().or_all(settings).load(settings)
    with open_persistence(settings) as persistence:
        client = Client(services=Services(loaded, settings=settings, store=persistence.store), **persistence.saved)
        found = client.operation(operation)
        given = {"free": [pointer_to(found, name) for name in free or ()], "times": times, "hours": hours}
        wanted = arguments_of(wish, "--wish") | {name: value for name, value in given.items() if value}
        try:
            made = client.permit(operation, given_arguments(found, pairs, arguments), wanted, keep=False)
        except ValueError as error:
            raise UsageError(str(error)) from None
        narrowed = client.permissions.narrowed(made)
        terminal.say(f"{made}" + "".join(f"\nin place of: {item}" for item in narrowed))
        # What narrows a permission applies at once.
        if not (yes or narrowed) and not (terminal.is_interactive and terminal.ask("Permit this? [y/N] ") == "y"):
            raise UsageError("Nothing was permitted. Confirm at a terminal, or with --yes.")
        client.permissions.permit(made)
    terminal.document(made.to_json())
    terminal.answer("Permitted.")


def _catalogue(apis: Apis) -> "Catalogue":
    from restgpt.specs import Catalogue
    from restgpt.tools.settings import Settings

    settings = Settings.from_env()
    return Catalogue(apis().or_all(settings).load(settings))


def _listed(operations: "Iterable[Operation]", catalogue: "Catalogue") -> list[dict[str, Any]]:
    return [{**operation_document(item), "name": catalogue.name_of(item)} for item in operations]


ORIGINS = {
    "method": "by its method",
    "document": "by the document",
    "proposed": "proposed, not confirmed",
    "confirmed": "confirmed",
    "settings": "by apis.yaml",
}


def _show_effects(terminal: Terminal, operations: "Sequence[Operation]", settings: "Settings") -> None:
    from restgpt.calling.decision import Rules
    from restgpt.calling.permissions import Permissions
    from restgpt.graph.persistence import open_persistence

    with open_persistence(settings) as persistence:
        rules = Rules(settings, permissions=Permissions(persistence.store))
        # Each operation is decoded afresh, so that a large document is not kept in memory.
        found = [(item, rules.effect(item.fresh())) for item in operations]
    terminal.document(
        {
            "operations": [
                {**operation_document(item), "effect": effect.kind, "origin": effect.origin, "reason": effect.reason}
                for item, effect in found
            ]
        }
    )
    terminal.answer(
        "\n".join(
            f"{effect.kind:6}  {item.name}: {item.method} {item.path}  ({ORIGINS[effect.origin]}"
            + (")" if effect.origin in ("method", "document", "settings") else f": {effect.reason})")
            for item, effect in found
        )
    )


def _show_operation(terminal: Terminal, operation: "Operation") -> None:
    from restgpt.specs.docs.documentation import documentation, response_documentation
    from restgpt.specs.docs.example import minimal_arguments

    example, problems = minimal_arguments(operation), _operation_problems(operation)
    text, response = documentation(operation), response_documentation(operation)
    terminal.document(
        {
            **operation_document(operation),
            "documentation": text,
            "response": response,
            "example": example,
            "problems": list(map(asdict, problems)),
        }
    )
    # A part of the response stands at the end of the text too.
    shown = f"{text.rpartition(chr(10) + 'answers ')[0] or text}\n\n{response}"
    valid = f"\nMinimal valid arguments:\n{json.dumps(example, ensure_ascii=False)}"
    terminal.answer("\n".join([shown, *_problem_lines(problems), valid]))


def _operation_problems(operation: "Operation") -> "list[Problem]":
    """Return the problems of an operation, and of its schemas for which no valid example was found."""
    from restgpt.specs.docs.example import example_problems, minimal_arguments

    return [*operation.problems, *example_problems(operation, minimal_arguments(operation))]


def _lint(found: "Api", terminal: Terminal) -> "list[Problem]":
    """Return the problems of every operation, and the schema errors if the extra `lint` is installed."""
    from restgpt.specs import Problem

    problems = [problem for operation in found.operations for problem in _operation_problems(operation)]
    try:
        from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator, OpenAPIV31SpecValidator
    except ImportError:
        from restgpt.tools.errors import extra_command

        terminal.say(f"The document was not validated. Install the validator: {extra_command('lint')}")
        return problems
    version = str(found.document.get(("openapi",)) or found.document.get(("swagger",)) or "")
    validators = {"2.": OpenAPIV2SpecValidator, "3.0": OpenAPIV30SpecValidator, "3.1": OpenAPIV31SpecValidator}
    validator = next((kind for prefix, kind in validators.items() if version.startswith(prefix)), None)
    if validator is None:
        missing = f"The document was not validated: there is no validator for OpenAPI version {version or '(none)'}"
        return [*problems, Problem("", missing)]
    # Validate against the OpenAPI schema only: the package's other checks would fetch external references.
    errors = validator.schema_validator.iter_errors(found.document.get(()))
    return [
        *problems,
        *(Problem(_pointer(error.absolute_path), error.message.split("\n", 1)[0][:300]) for error in errors),
    ]


def _pointer(path: "Iterable[str | int]") -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _api_document(found: "Api", problems: "Sequence[Problem]") -> dict[str, Any]:
    return {
        "name": found.name,
        "title": found.title,
        "version": found.version,
        "source": found.source,
        "servers": [server.url for server in found.servers],
        "security": sorted(found.security_schemes),
        "operations": [operation_document(item) for item in found.operations],
        "problems": list(map(asdict, problems)),
    }


def operation_document(operation: "Operation") -> dict[str, Any]:
    """Return what lists of operations say of one, as JSON."""
    return {
        "name": operation.name,
        "method": operation.method,
        "path": operation.path,
        "summary": operation.summary,
        "tags": list(operation.tags),
        "deprecated": operation.deprecated,
    }


def _api_text(found: "Api", problems: "Sequence[Problem]") -> str:
    from restgpt.specs.docs.map import summary_line

    barred = [rule for item in found.whole.operations if (rule := found.bars(item))]
    more = f", {len(barred)} more are barred by {'; '.join(dict.fromkeys(barred))}" if barred else ""
    lines = [
        f"{found.title or found.name} {found.version}".strip() + f" ({len(found.operations)} operations{more})",
        "",
    ]
    lines += [f"{item.name}: {summary_line(item)}" for item in found.operations]
    if schemes := ", ".join(found.needed_schemes):
        lines += ["", f"Credentials: {schemes}; one for all clients of `restgpt mcp` or another server."]
    return "\n".join([*lines, *(_problem_lines(problems) or ["", "No problems were found."])])


def _problem_lines(problems: "Sequence[Problem]") -> list[str]:
    return ["", f"Problems ({len(problems)}):", *(f"  {problem}" for problem in problems)] if problems else []

"""The options that several commands share."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from restgpt.commands.failure import UsageError
from restgpt.tools.model.role import ROLES

ApiNames = Annotated[
    list[str] | None, typer.Option("--api", help="Name of an API in apis.yaml. May be repeated.", metavar="NAME")
]
Specs = Annotated[
    list[str] | None,
    typer.Option("--spec", help="Path or URL of an OpenAPI document. May be repeated.", metavar="SOURCE"),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", help="The base URL of the API, instead of the document's server.", metavar="URL"),
]
Writes = Annotated[
    Literal["ask", "allow", "deny", "dry-run"] | None,
    typer.Option(help="Whether requests that change data are asked about, sent, denied, or only shown. Default: ask."),
]
Thread = Annotated[
    str | None,
    typer.Option(help="Continue the conversation of this thread; a new ID starts a thread.", metavar="ID"),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="The chat model of all roles, such as openai:gpt-5-mini, or of one, such as planner=openai:gpt-5. May be "
        "repeated. Default: RESTGPT_MODEL.",
        metavar="[ROLE=]PROVIDER:NAME",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not print the trace on stderr.")]
MoreSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Another setting of the run, such as max_steps=5. May be repeated.", metavar="NAME=VALUE"
    ),
]


def settings_of(texts: Sequence[str] | None, *, models: Sequence[str] | None = None, **named: Any) -> dict[str, Any]:
    """Return the settings of NAME=VALUE texts, where `null` means None, of `models`, and of options of their own."""
    found: dict[str, Any] = {}
    for text in models or ():
        role, equals, name = text.partition("=")
        if not equals or ":" in role:
            found["model"] = text
        elif role in ROLES:
            found[f"{role}_model"] = name
        else:
            raise UsageError(f"--model {text} names no role. The roles are: {', '.join(ROLES)}.")
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or name.strip() == "apis":
            raise UsageError(f"--set {text} is invalid. Write NAME=VALUE, such as max_steps=5. Name APIs with --api.")
        found[name.strip().replace("-", "_")] = None if value == "null" else value
    return found | {name: value for name, value in named.items() if value is not None}

"""The options that several commands share."""

from typing import Annotated, Literal

import typer

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
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not print the trace on stderr.")]

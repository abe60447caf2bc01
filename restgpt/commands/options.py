"""The options that several commands share, said once."""

from typing import Annotated

import typer

ApiNames = Annotated[
    list[str] | None, typer.Option("--api", help="Name of an API in apis.yaml. May be repeated.", metavar="NAME")
]
Specs = Annotated[
    list[str] | None,
    typer.Option("--spec", help="Path or URL of an OpenAPI document. May be repeated.", metavar="SOURCE"),
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", help="Where the API is, if not at the document's server.", metavar="URL")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No trace on stderr.")]

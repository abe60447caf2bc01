"""`restgpt api add`, `list` and `remove`: the entries of `apis.yaml`, whose other lines and comments stay."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.terminal import Terminal, UsageError, command

if TYPE_CHECKING:
    from restgpt.specs import Api


@command
def add(
    terminal: Terminal,
    name: Annotated[str, typer.Argument(help="The name of the entry, for --api NAME.", metavar="NAME")],
    spec: Annotated[str, typer.Argument(help="Path or URL of its OpenAPI document.", metavar="SOURCE")],
    base_url: Annotated[str | None, typer.Option(help="The base URL of the API.", metavar="URL")] = None,
    auth: Annotated[
        list[str] | None,
        typer.Option(help="The variable with the credential of a security scheme.", metavar="SCHEME=VARIABLE"),
    ] = None,
    include: Annotated[list[str] | None, typer.Option(help="Use only such operations.", metavar="RULE")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Never use such operations.", metavar="RULE")] = None,
    external: Annotated[bool, typer.Option("--external", help="Read files beside the document.")] = False,
) -> None:
    """Add an API to apis.yaml; of one in this folder, the folder is allowed: its .env and recipes count too."""
    from restgpt.sources import Sources
    from restgpt.specs.api import slug
    from restgpt.tools.http.addresses import closed_server
    from restgpt.tools.settings import Settings
    from restgpt.tools.settings.environment import APIS_FILE, RECIPES, AllowedFolders, check_folder

    # Allowing the folder would allow recipes that came with it too.
    check_folder(RECIPES)
    settings = Settings.from_env()
    if slug(name) in map(slug, settings.apis):
        raise UsageError(f"apis.yaml has an entry {name}. Remove it first with `restgpt api remove {name}`.")
    sources = Sources.given(specs=[spec], base_url=base_url, include=include, exclude=exclude, external=external)
    [found] = sources.load(settings)
    if not base_url and (server := closed_server(found)):
        raise UsageError(
            f"The document names {server}, on this machine or in a private network, which it may not decide alone. "
            f"If you mean that server, add --base-url {server}."
        )
    file, [source] = settings.apis_file or APIS_FILE, sources.specs
    if Path(source).is_relative_to(file.absolute().parent):
        source = Path(source).relative_to(file.absolute().parent).as_posix()
    given = {"base_url": base_url, "include": include, "exclude": exclude, "allow_external": external}
    entry: dict[str, Any] = {"spec": source} | {key: value for key, value in given.items() if value}
    variables = _variables(terminal, name, found, auth or ())
    own = {scheme: f"${{{given}}}" for scheme, (given, usual) in variables.items() if given != usual}
    _write(file, {name: entry | ({"auth": own} if own else {})})
    if file == APIS_FILE:
        AllowedFolders(settings.home).allow(Path.cwd())
    needed = {scheme: given for scheme, (given, _) in variables.items()}
    terminal.document({"name": name, "file": str(file), "operations": len(found.operations), "variables": needed})
    lines = [f"{file} has the API {name} with {len(found.operations)} operations."]
    known = {scheme for scheme, variable in needed.items() if os.environ.get(variable)}
    if not all(any(known.issuperset(one) for one in item.security or ({},)) for item in found.operations):
        lines += [f"Set {given} to the credential of {name}." for name, given in needed.items() if name not in known]
    terminal.answer("\n".join(lines))


def _variables(terminal: Terminal, name: str, api: "Api", given: Any) -> dict[str, tuple[str, str]]:
    """Return the variable of each security scheme that operations need, as given or as asked for, and the usual one."""
    from restgpt.tools.settings.environment import auth_variable

    named = {scheme: variable for scheme, _, variable in (pair.partition("=") for pair in given)}
    schemes = api.needed_schemes
    if unknown := [scheme for scheme in named if scheme not in schemes]:
        raise UsageError(f"--auth names {unknown[0]}, but the schemes are: {', '.join(schemes) or 'none'}.")
    found = {}
    for scheme in schemes:
        usual = auth_variable(f"{name}_{scheme}")
        asked = scheme not in named and terminal.is_interactive
        said = terminal.ask(f"The variable with the credential of {scheme} [{usual}]: ") if asked else ""
        found[scheme] = (named.get(scheme) or said or usual, usual)
        if not found[scheme][0].isidentifier():
            raise UsageError(f"What is given for {scheme} is no name of a variable. Give its name, not the credential.")
    return found


@command
def list_entries(terminal: Terminal) -> None:
    """List the APIs of apis.yaml."""
    from restgpt.tools.settings import Settings

    settings = Settings.from_env()
    listed = {name: entry.base_url or entry.spec for name, entry in settings.apis.items()}
    terminal.document({"file": str(settings.apis_file or ""), "apis": listed})
    kinds = ("include", "exclude")
    rules = {
        name: "".join(f"  {kind}: {'; '.join(map(str, found))}" for kind in kinds if (found := getattr(entry, kind)))
        for name, entry in settings.apis.items()
    }
    if settings.apis_file:
        terminal.note(f"{settings.apis_file}:")
    terminal.answer("\n".join(f"{name}  {place}{rules[name]}" for name, place in listed.items()) or settings.entries)


@command
def remove(
    terminal: Terminal, name: Annotated[str, typer.Argument(help="The name of the entry.", metavar="NAME")]
) -> None:
    """Remove an API from apis.yaml."""
    from restgpt.tools.settings import Settings

    settings = Settings.from_env()
    if settings.apis_file is None or name not in settings.apis:
        raise UsageError(f"apis.yaml has no entry {name}. {settings.entries}")
    _write(settings.apis_file, {name: None})
    terminal.document({"name": name, "file": str(settings.apis_file)})
    terminal.answer(f"{settings.apis_file} has no API {name} any more.")


def _write(file: Path, change: dict[str, Any]) -> None:
    """Add an entry after the last line of the file, or cut out the lines of one that is None.

    Raises `UsageError` if the file is written in another way than in lines of entries.
    """
    import yaml

    text = file.read_text(encoding="utf-8-sig") if file.exists() else ""
    [(name, entry)] = change.items()
    before = yaml.safe_load(text) or {}
    if entry is not None:
        more = yaml.safe_dump(change, sort_keys=False, allow_unicode=True)
        text, wanted = f"{text.rstrip()}\n\n{more}".lstrip(), {**before, **change}
    else:
        root: Any = yaml.compose(text)
        [(key, value)] = [pair for pair in root.value if pair[0].value == name]
        lines, end = text.splitlines(keepends=True), max(value.end_mark.line, key.start_mark.line + 1)
        # What stands between the entry and the next one is not the entry's.
        while end > key.start_mark.line + 1 and lines[end - 1][:1] in ("#", "\n", "\r"):
            end -= 1
        text = "".join([*lines[: key.start_mark.line], *lines[end:]])
        wanted = {other: value for other, value in before.items() if str(other) != name}
    try:
        is_same = (yaml.safe_load(text) or {}) == wanted
    except yaml.YAMLError:
        is_same = False
    if not is_same:
        raise UsageError(f"{file} has its entries in another form than in lines of their own. Change it by hand.")
    file.write_text(text, encoding="utf-8")

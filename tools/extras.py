"""The command that installs an extra of this package, from where the package itself was installed (PEP 610)."""

import json
from importlib.metadata import distributions
from urllib.parse import unquote, urlsplit

PACKAGE = "restgpt"


def extra_command(extra: str) -> str:
    """Return the command that installs an extra."""
    # A folder on the path, such as that of the sources, may have metadata too, which record no installation.
    origins = (found.read_text("direct_url.json") for found in distributions(name=PACKAGE))
    return command_of(next(filter(None, origins), None), extra)


def command_of(origin: str | None, extra: str) -> str:
    """Return the command for a package with the record `origin` of its installation, None for one from an index."""
    found = json.loads(origin) if origin else {}
    url, wanted = str(found.get("url", "")), f"{PACKAGE}[{extra}]"
    if "vcs_info" in found:
        vcs = found["vcs_info"]
        return f"pip install '{wanted} @ {vcs['vcs']}+{url}@{vcs['commit_id']}'"
    if "dir_info" in found:
        editable = "--editable " if found["dir_info"].get("editable") else ""
        return f"pip install {editable}'{unquote(urlsplit(url).path)}[{extra}]'"
    return f"pip install '{wanted} @ {url}'" if url else f"pip install '{wanted}'"

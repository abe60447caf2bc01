"""The command that installs an extra, or a distribution beside RestGPT, from where RestGPT was installed (PEP 610)."""

import json
from importlib.metadata import distributions
from urllib.parse import urlsplit
from urllib.request import url2pathname

PACKAGE, BENCH, FUNCTIONS = "restgpt", "restgpt-bench", "restgpt-functions"


def extra_command(extra: str, package: str = PACKAGE) -> str:
    """Return the command that installs an extra of a package, or the package alone."""
    # A folder on the path, such as that of the sources, may have metadata too, which record no installation.
    origins = (found.read_text("direct_url.json") for found in distributions(name=PACKAGE))
    return command_of(next(filter(None, origins), None), extra, package)


def command_of(origin: str | None, extra: str, package: str = PACKAGE) -> str:
    """Return the command for the record `origin` of the installation of RestGPT, None for one from an index.

    Another distribution is a folder of the sources, and has a wheel beside that of RestGPT.
    """
    found = json.loads(origin) if origin else {}
    url, wanted = str(found.get("url", "")), package + (f"[{extra}]" if extra else "")
    folder = "" if package == PACKAGE else package
    if "dir_info" in found:
        editable = "--editable " if found["dir_info"].get("editable") else ""
        path = url2pathname(urlsplit(url).path + (folder and f"/{folder}"))
        return f"pip install {editable}'{path}{wanted.removeprefix(package)}'"
    if "vcs_info" in found:
        url = f"{found['vcs_info']['vcs']}+{url}@{found['vcs_info']['commit_id']}"
    if url.endswith(".whl"):
        url = f"{package.replace('-', '_')}-".join(url.rsplit(f"{PACKAGE}-", 1))
    elif folder:
        url += url and f"#subdirectory={folder}"
    return f"pip install '{wanted} @ {url}'" if url else f"pip install '{wanted}'"

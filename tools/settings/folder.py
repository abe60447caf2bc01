"""The files of the working directory that change what RestGPT does; they count only in a folder that a person allowed.

Such a file may have come with somebody else's sources. `.env` can send requests to a proxy and prompts to a collector,
`apis.yaml` can send variables of the environment to a host and change which requests are asked about, and the texts of
`recipes` reach prompts and clients, which may run their programs.
"""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from restgpt.tools.errors import FolderError

DOTENV = Path(".env")
APIS_FILE = Path("apis.yaml")
RECIPES = Path("recipes")
"""The folder of the recipes, beside the `apis.yaml` in use, unless `RESTGPT_RECIPES` is set."""
SERVED = "LANGSERVE_GRAPHS"
"""The variable that LangGraph's server sets. The `langgraph.json` of such a server names the code that it runs, too."""


def home_of(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the user's own files: `RESTGPT_HOME`, else `~/.restgpt`."""
    given = environ.get("RESTGPT_HOME")
    return Path(given).expanduser() if given else Path.home() / ".restgpt"


class AllowedFolders:
    """The folders that a person allowed by `restgpt allow` or at its question, by path, each in a file of the home."""

    def __init__(self, home: Path) -> None:
        self._kept = home / "allowed"

    def listed(self) -> list[Path]:
        """The folders, by path; raises OSError."""
        return sorted(Path(file.read_text(encoding="utf-8", errors="surrogateescape")) for file in self._files())

    def includes(self, folder: Path) -> bool:
        """Whether a folder counts: it was allowed, or the root of the Git repository that it is in."""
        root = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)
        return any(self._file(each).is_file() for each in (folder, root))

    def allow(self, folder: Path) -> None:
        """Keep that a folder is allowed; raises OSError."""
        self._kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file(folder).write_text(str(folder), encoding="utf-8", errors="surrogateescape")

    def revoke(self, folder: Path) -> bool:
        """Take an allowance back, and return whether there was one."""
        was_allowed = self._file(folder).is_file()
        self._file(folder).unlink(missing_ok=True)
        return was_allowed

    def _files(self) -> list[Path]:
        return list(self._kept.iterdir()) if self._kept.is_dir() else []

    def _file(self, folder: Path) -> Path:
        return self._kept / sha256(os.fsencode(folder)).hexdigest()


def check_folder(*files: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Raise FolderError if the working directory has one of these files and was not allowed.

    The home may be named by a `.env` that was allowed in the usual one, so the folder may be allowed in either.
    """
    found = [str(file) for file in files if file.is_file() or (file.is_dir() and any(file.iterdir()))]
    if not found or SERVED in environ:
        return
    folder, homes = Path.cwd(), {home_of(environ), home_of({})}
    if folder.resolve() not in {home.resolve() for home in homes} and not any(
        AllowedFolders(home).includes(folder) for home in homes
    ):
        raise FolderError(folder, " and ".join(found))

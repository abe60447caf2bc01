"""A secret of the user.

The files of the working directory that change what RestGPT does; they count only in a folder that a person allowed.

Such a file may have come with somebody else's sources. `.env` can send requests to a proxy and prompts to a collector,
`apis.yaml` can send variables of the environment to a host and change which requests are asked about, and the texts of
`recipes` reach prompts and clients, which may run their programs.

The environment: the names of its variables, those read without all other settings, and the `.env` file below it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from restgpt.specs.reading.download import public_url
from restgpt.tools.errors import FolderError, SettingsError


class Secret:
    """A value that `str`, `repr`, logs and pickles never contain; only `reveal` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not stored")


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


AUTH_PREFIX = "RESTGPT_AUTH_"
CONCURRENCY = 256
"""The most nodes of one process that run at once under asyncio, unless `RESTGPT_CONCURRENCY` is set."""
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable with which the user asks for the content of prompts, replies and calls in spans."""
COLLECTOR = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""The variables with which the user names the collector that gets traces."""
_SUBJECT = re.compile(r"[A-Za-z0-9-]{1,64}=[^=]")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9]")
_SECRET_ENDS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
MODEL_ADDRESSES = {
    "OPENAI_BASE_URL": "OPENAI_API_KEY",
    "OPENAI_API_BASE": "OPENAI_API_KEY",
    "AZURE_OPENAI_ENDPOINT": "AZURE_OPENAI_API_KEY",
    "ANTHROPIC_BASE_URL": "ANTHROPIC_API_KEY",
    "ANTHROPIC_API_URL": "ANTHROPIC_API_KEY",
    "MISTRAL_BASE_URL": "MISTRAL_API_KEY",
    "GROQ_API_BASE": "GROQ_API_KEY",
    "GROQ_BASE_URL": "GROQ_API_KEY",
    "DEEPSEEK_API_BASE": "DEEPSEEK_API_KEY",
    "CO_API_URL": "COHERE_API_KEY",
    "OLLAMA_HOST": "OLLAMA_API_KEY",
}
"""The variables with which providers' packages read the address of a model's server, and that of its key."""


def read_dotenv(path: Path | None) -> dict[str, str]:
    """The variables of a `.env` file; none without a file. Raises SettingsError."""
    if path is None or not path.is_file():
        return {}
    from dotenv import dotenv_values

    try:
        values = dotenv_values(path, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {reason(error)}.") from None
    return {name: value for name, value in values.items() if value is not None}


def load_dotenv(path: Path) -> None:
    """Add the variables of a `.env` file to the environment of the process; existing variables are kept.

    Only entry points call it, because model libraries read their keys from the environment.
    """
    for name, value in read_dotenv(path).items():
        os.environ.setdefault(name, value)


def addresses_of_dotenv(path: Path = DOTENV, environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The addresses of models' servers in effect that a `.env` file sets, each in a sentence; raises SettingsError.

    The sentence names the variable of the provider's key too, if the environment has it from elsewhere.
    """
    values = read_dotenv(path)
    for variable, key in MODEL_ADDRESSES.items():
        url = values.get(variable)
        if not url or environ.get(variable) != url:
            continue
        try:
            shown = public_url(url)
        except ValueError:
            shown = "an address that cannot be read"
        is_outer = environ.get(key) and environ.get(key) != values.get(key)
        whose = f", with your {key}, which is not from that file" if is_outer else ""
        yield f"The file .env of this folder sets {variable}: requests to the model go to {shown}{whose}."


def reason(error: Exception) -> str:
    """The reason why a file cannot be read, without any of its content."""
    if isinstance(error, OSError):
        return str(error.strerror)
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    import yaml

    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return "it is not YAML" + (f"; see line {mark.line + 1}, column {mark.column + 1}" if mark else "")


def environment_secrets(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the values of environment variables that hold secrets by their name, such as OPENAI_API_KEY."""
    return [value for name, value in environ.items() if name.startswith(AUTH_PREFIX) or name.endswith(_SECRET_ENDS)]


def concurrency_from_env(environ: Mapping[str, str] = os.environ) -> int:
    """The most nodes of this process that run at once under asyncio; raises SettingsError.

    Not a part of `Settings.from_env`, because it is called on an event loop, which must not block on a file.
    """
    given = environ.get("RESTGPT_CONCURRENCY") or str(CONCURRENCY)
    if not given.isdecimal() or int(given) < 1:
        raise SettingsError(f"RESTGPT_CONCURRENCY must be a whole number above zero, not {given!r}.")
    return int(given)


def captures_content(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether spans may hold content: if the variable of OpenTelemetry's GenAI conventions says so for spans.

    Not a part of `Settings.from_env`, because spans exist in processes that have no settings.
    """
    given = environ.get(CAPTURE, "").strip().upper()
    return given in ("SPAN_ONLY", "SPAN_AND_EVENT")


def exports_traces(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a variable of OpenTelemetry names a collector for traces, and none turns traces off."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    return any(environ.get(name) for name in COLLECTOR)


def bearer_tokens(text: str) -> dict[str, Secret]:
    """Read `RESTGPT_MCP_TOKEN`: one token, whose subject is `client`, or `SUBJECT=TOKEN` pairs with commas between.

    Raises SettingsError, with the number of the pair but no part of a token.
    """
    pairs = [pair.strip() for pair in text.split(",") if pair.strip()]
    if len(pairs) == 1 and not _SUBJECT.match(pairs[0]):
        return {"client": Secret(pairs[0])}
    found: dict[str, Secret] = {}
    for number, pair in enumerate(pairs, 1):
        subject, _, token = pair.partition("=")
        if not _SUBJECT.match(pair) or subject in found or not token:
            raise SettingsError(
                f"RESTGPT_MCP_TOKEN: pair {number} must be SUBJECT=TOKEN. The subject has letters, digits and "
                "hyphens, and no other pair has it."
            )
        found[subject] = Secret(token)
    return found


def variable_part(name: str) -> str:
    """Spell the name of an API or a security scheme as a part of an environment variable."""
    return _NOT_IN_NAME.sub("_", name).upper()


def variable_with(value: str | None) -> str:
    """Name the environment variable that holds a credential; empty if none does."""
    return next((variable for variable, held in os.environ.items() if value and held == value), "")


def auth_variable(scheme: str, part: str = "") -> str:
    """Name the environment variable that holds the credential of a scheme, or one part of it (`CLIENT_ID`, …)."""
    return f"{AUTH_PREFIX}{variable_part(scheme)}" + (f"_{part}" if part else "")

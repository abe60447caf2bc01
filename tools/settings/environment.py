"""The environment: the names of its variables, those read without all other settings, and the `.env` file below it."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from restgpt.specs.reading.download import public_url
from restgpt.tools.errors import SettingsError
from restgpt.tools.settings.folder import DOTENV
from restgpt.tools.settings.secret import Secret

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


def auth_variable(scheme: str, part: str = "") -> str:
    """Name the environment variable that holds the credential of a scheme, or one part of it (`CLIENT_ID`, …)."""
    return f"{AUTH_PREFIX}{variable_part(scheme)}" + (f"_{part}" if part else "")

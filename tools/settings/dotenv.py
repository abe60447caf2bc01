"""The `.env` file, which lies below the environment; and why a file of settings cannot be read."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from restgpt.tools.errors import SettingsError

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


def load_dotenv(path: Path = Path(".env")) -> None:
    """Add the variables of a `.env` file to the environment of the process; existing variables are kept.

    Only entry points call it, because model libraries read their keys from the environment.
    """
    for name, value in read_dotenv(path).items():
        os.environ.setdefault(name, value)


@dataclass(frozen=True, slots=True)
class DotenvAddress:
    """The address of a model's server that a `.env` file set.

    `outer_key` is the variable of the provider's key if the environment has it from elsewhere; empty otherwise.
    """

    variable: str
    url: str = field(repr=False)
    outer_key: str = ""


def addresses_of_dotenv(
    path: Path = Path(".env"), environ: Mapping[str, str] | None = None
) -> tuple[DotenvAddress, ...]:
    """The addresses of models' servers that are in effect and that a `.env` file sets; raises SettingsError."""
    given, values = os.environ if environ is None else environ, read_dotenv(path)
    found = []
    for variable, key in MODEL_ADDRESSES.items():
        url = values.get(variable)
        if url and given.get(variable) == url:
            is_outer = bool(given.get(key)) and given.get(key) != values.get(key)
            found.append(DotenvAddress(variable, url, key if is_outer else ""))
    return tuple(found)


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

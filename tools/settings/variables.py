"""Variables of the environment: their names, and those that are read without all other settings."""

import os
import re
from collections.abc import Mapping

from restgpt.tools.errors import SettingsError
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


def environment_secrets(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the values of environment variables that hold secrets by their name, such as OPENAI_API_KEY."""
    values = os.environ if environ is None else environ
    return [value for name, value in values.items() if name.startswith(AUTH_PREFIX) or name.endswith(_SECRET_ENDS)]


def concurrency_from_env(environ: Mapping[str, str] | None = None) -> int:
    """The most nodes of this process that run at once under asyncio; raises SettingsError.

    Not a part of `Settings.from_env`, because it is called on an event loop, which must not block on a file.
    """
    given = (os.environ if environ is None else environ).get("RESTGPT_CONCURRENCY") or str(CONCURRENCY)
    if not given.isdecimal() or int(given) < 1:
        raise SettingsError(f"RESTGPT_CONCURRENCY must be a whole number above zero, not {given!r}.")
    return int(given)


def captures_content(environ: Mapping[str, str] | None = None) -> bool:
    """Whether spans may hold content: if the variable of OpenTelemetry's GenAI conventions says so for spans.

    Not a part of `Settings.from_env`, because spans exist in processes that have no settings.
    """
    given = (os.environ if environ is None else environ).get(CAPTURE, "").strip().upper()
    return given in ("SPAN_ONLY", "SPAN_AND_EVENT")


def exports_traces(environ: Mapping[str, str] | None = None) -> bool:
    """Whether a variable of OpenTelemetry names a collector for traces, and none turns traces off."""
    given = os.environ if environ is None else environ
    if given.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or given.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    return any(given.get(name) for name in COLLECTOR)


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

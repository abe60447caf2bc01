"""Reads `apis.yaml`; every error names the file and the place in it, never a value."""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from restgpt.specs.api import slug
from restgpt.tools.errors import SettingsError
from restgpt.tools.settings.dotenv import reason
from restgpt.tools.settings.entry import MODEL, ApiEntry
from restgpt.tools.settings.rule import EffectRule, PolicyRule

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRETS = ("auth", "headers", "query", "cookies")
_OWN_SOURCES = ("user", "document", "self")
_SENTENCES = {
    "string_type": "must be text",
    "path_type": "must be text",
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping",
    "dataclass_type": "must be a mapping",
    "tuple_type": "must be a list of rules",
    "float_type": "must be a number above zero",
    "greater_than": "must be a number above zero",
}
"""What is wrong by the types of pydantic's errors, whose own sentences show values."""


def load_apis(path: Path | None, environ: Mapping[str, str]) -> Mapping[str, ApiEntry]:
    """Read `apis.yaml`: names of APIs with their spec, base URL, credentials and policy.

    `${NAME}` and `${NAME:-default}` stand for environment variables. A relative spec is looked up beside the file.
    Raises SettingsError with the place of the error, never with a value.
    """
    if path is None:
        return {}
    # Late, because most programs have no such file and the import takes long.
    import yaml

    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
        return {} if raw is None else _ApisFile(path, environ).entries(raw)
    except (yaml.YAMLError, ValueError, OSError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be read: {reason(error)}") from None


class _ApisFile:
    """The entries of one apis.yaml."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self._path = path
        self._environ = environ

    def entries(self, raw: Any) -> dict[str, ApiEntry]:
        """All entries by name."""
        if not isinstance(raw, dict):
            raise self._error("the file", "must be a mapping")
        self._refuse_duplicates([str(name) for name in raw])
        found = {str(name): self._entry(str(name), item) for name, item in raw.items()}
        return {name: replace(entry, sources=self._sources(entry, found)) for name, entry in found.items()}

    def _error(self, place: str, message: str) -> SettingsError:
        return SettingsError(f"{self._path}: {place} {message}")

    def _refuse_duplicates(self, names: list[str]) -> None:
        """Raise SettingsError if two names have the same slug: the policy of one API would also apply to the other."""
        seen: dict[str, str] = {}
        for name in names:
            if (other := seen.setdefault(slug(name), name)) != name:
                raise self._error(
                    name, f"is the same name as {other}, because case and punctuation do not count; rename one of them"
                )

    def _entry(self, name: str, raw: Any) -> ApiEntry:
        """One API; a plain string is its spec."""
        given = {"spec": raw} if isinstance(raw, str) else raw
        if not isinstance(given, dict):
            raise self._error(name, "must be a mapping")
        if unknown := [key for key in given if key not in _keys_of(ApiEntry)]:
            raise self._error(f"{name}.{unknown[0]}", _unknown(ApiEntry))
        missing: list[str] = []
        values: dict[str, Any] = {"name": name}
        for key, value in given.items():
            place = f"{name}.{key}"
            values[key] = self._secrets(value, place, missing) if key in _SECRETS else self._filled(value, place)
        try:
            entry = _reader().validate_python(values, context=self._path.parent)
        except ValidationError as error:
            raise self._error(*_told(name, error)) from None
        return replace(entry, missing=tuple(dict.fromkeys(missing)))

    def _filled(self, raw: Any, place: str) -> Any:
        """A value with `${NAME}` replaced wherever it occurs."""
        if isinstance(raw, dict):
            return {key: self._filled(value, f"{place}.{key}") for key, value in raw.items()}
        if isinstance(raw, list):
            return [self._filled(value, f"{place}[{number}]") for number, value in enumerate(raw)]

        def variable(match: re.Match[str]) -> str:
            value = self._environ.get(match.group(1), match.group(2))
            if value is None:
                raise self._error(place, f"needs the environment variable {match.group(1)}, which is not set")
            return value

        return _REFERENCE.sub(variable, raw) if isinstance(raw, str) else raw

    def _secrets(self, raw: Any, place: str, missing: list[str]) -> Any:
        """Named secrets; a nested mapping (`client_id`, `client_secret`, …) is flattened to `SCHEME.client_id`.

        Those whose variables are not set are left out, and the variables added to `missing`.
        """
        if not isinstance(raw or {}, dict):
            return raw
        found: dict[str, Any] = {}
        for name, value in (raw or {}).items():
            if isinstance(value, dict):
                inner = self._secrets(value, f"{place}.{name}", missing)
                found |= {f"{name}.{key}": secret for key, secret in inner.items()}
            elif unset := self._unset_variables(value):
                missing += unset
            else:
                found[str(name)] = self._filled(value, f"{place}.{name}")
        return found

    def _unset_variables(self, raw: Any) -> list[str]:
        """The unset environment variables in a text that have no default there."""
        named = _REFERENCE.finditer(raw) if isinstance(raw, str) else ()
        return [item.group(1) for item in named if item.group(2) is None and item.group(1) not in self._environ]

    def _sources(self, entry: ApiEntry, entries: Mapping[str, ApiEntry]) -> tuple[str, ...]:
        """The entries in `from` as the file spells them, and `MODEL`; values of the API's own sources always pass."""
        place, spelled = f"{entry.name}.from", {slug(name): name for name in entries}
        words = (*_OWN_SOURCES, MODEL)
        found: list[str] = []
        for source in entry.sources:
            if source in words and slug(source) in spelled:
                raise self._error(place, f"names {source}, which is a word of its own here; rename the API {source}")
            if source not in words and slug(source) not in spelled:
                known = ", ".join([*words, *entries])
                raise self._error(place, f"names {source}, which is no API of this file; the known names are {known}")
            if source not in _OWN_SOURCES:
                found.append(source if source == MODEL else spelled[slug(source)])
        return tuple(found)


@lru_cache(maxsize=1)
def _reader() -> TypeAdapter[ApiEntry]:
    return TypeAdapter(ApiEntry)


def _keys_of(kind: type[Any]) -> list[str]:
    """The keys that a mapping of the file may have, as errors list them."""
    listed = sorted(fields(kind), key=lambda item: item.kw_only is True)
    return [item.metadata.get("alias", item.name) for item in listed if item.name not in ("name", "missing")]


def _unknown(kind: type[Any]) -> str:
    return f"is unknown; the known keys are {', '.join(_keys_of(kind))}"


def _told(name: str, error: ValidationError) -> tuple[str, str]:
    """The place of the first error, and our sentence about it."""
    first = error.errors(include_url=False, include_input=False)[0]
    kind, at = first["type"], list(first["loc"])
    if kind == "missing" and at == ["spec"]:
        return name, "needs a spec: the path or URL of its OpenAPI document"
    if kind == "string_type" and isinstance(at[-1], int) and at[0] != "auth_servers":
        # One text stands for a list of one.
        at.pop()
    place = name + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
    if kind == "value_error":
        return place, str(first["ctx"]["error"])
    if kind == "literal_error":
        return place, f"must be {first['ctx']['expected']}".replace("'", "")
    if kind == "missing":
        return place, "must be read or change"
    rule = PolicyRule if at[0] == "policy" else EffectRule
    return place, _SENTENCES.get(kind) or _unknown(rule)

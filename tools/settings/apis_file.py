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
from restgpt.tools.settings.entry import MODEL, ApiEntry, EffectRule, PolicyRule, TimeoutRule
from restgpt.tools.settings.environment import reason

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRETS = ("auth", "headers", "query", "cookies")
_OWN_SOURCES = ("user", "document", "self")
_UNSET = object()
"""The value of a secret whose variable is not set."""
_SENTENCES = {
    "missing": "must be read or change",
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


def references(path: Path | None) -> frozenset[str]:
    """Return the names of the environment variables that a file refers to, which `load_apis` can read."""
    text = "" if path is None else path.read_text(encoding="utf-8-sig")
    return frozenset(match[1] for match in _REFERENCE.finditer(text))


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
        names = self._names([str(name) for name in raw])
        found = {str(name): self._entry(str(name), item) for name, item in raw.items()}
        return {name: replace(entry, sources=self._sources(entry, names)) for name, entry in found.items()}

    def _error(self, place: str, message: str) -> SettingsError:
        return SettingsError(f"{self._path}: {place} {message}")

    def _names(self, names: list[str]) -> dict[str, str]:
        """The names by slug.

        Raises SettingsError if two names have the same slug: the policy of one API would also apply to the other.
        """
        found: dict[str, str] = {}
        for name in names:
            if (other := found.setdefault(slug(name), name)) != name:
                raise self._error(
                    name, f"is the same name as {other}, because case and punctuation do not count; rename one of them"
                )
        return found

    def _entry(self, name: str, raw: Any) -> ApiEntry:
        """One API; a plain string is its spec."""
        given = {"spec": raw} if isinstance(raw, str) else raw
        if not isinstance(given, dict):
            raise self._error(name, "must be a mapping")
        if unknown := [key for key in given if key not in _keys_of(ApiEntry)]:
            raise self._error(f"{name}.{unknown[0]}", _unknown(ApiEntry))
        missing: dict[str, None] = {}
        values: dict[str, Any] = {"name": name}
        for key, value in given.items():
            values[key] = self._filled(value, f"{name}.{key}", missing if key in _SECRETS else None)
        try:
            entry = _reader().validate_python(values, context=self._path.parent)
        except ValidationError as error:
            raise self._error(*_told(name, error)) from None
        return replace(entry, missing=tuple(missing))

    def _filled(self, raw: Any, place: str, missing: dict[str, None] | None = None) -> Any:
        """A value with `${NAME}` replaced wherever it occurs.

        Secrets have a place for `missing` variables: a secret with one that is not set is left out of its mapping.
        """
        if isinstance(raw, dict):
            found = {key: self._filled(value, f"{place}.{key}", missing) for key, value in raw.items()}
            return {key: value for key, value in found.items() if value is not _UNSET}
        if isinstance(raw, list):
            return [self._filled(value, f"{place}[{number}]", missing) for number, value in enumerate(raw)]
        if not isinstance(raw, str):
            return raw
        unset = [item[1] for item in _REFERENCE.finditer(raw) if self._environ.get(item[1], item[2]) is None]
        if not unset:
            return _REFERENCE.sub(lambda item: self._environ.get(item[1], item[2]), raw)
        if missing is None:
            raise self._error(place, f"needs the environment variable {unset[0]}, which is not set")
        missing |= dict.fromkeys(unset)
        return _UNSET

    def _sources(self, entry: ApiEntry, names: Mapping[str, str]) -> tuple[str, ...]:
        """The entries in `from` as the file spells them, and `MODEL`; values of the API's own sources always pass."""
        place, words = f"{entry.name}.from", (*_OWN_SOURCES, MODEL)
        for source in entry.sources:
            is_word, is_name = source in words, slug(source) in names
            if is_word and is_name:
                raise self._error(place, f"names {source}, which is a word of its own here; rename the API {source}")
            if not is_word and not is_name:
                known = ", ".join([*words, *names.values()])
                raise self._error(place, f"names {source}, which is no API of this file; the known names are {known}")
        return tuple(names.get(slug(source), MODEL) for source in entry.sources if source not in _OWN_SOURCES)


@lru_cache(maxsize=1)
def _reader() -> TypeAdapter[ApiEntry]:
    return TypeAdapter(ApiEntry)


def _keys_of(kind: type[Any]) -> list[str]:
    """The keys that a mapping of the file may have, as errors list them."""
    listed = sorted(fields(kind), key=lambda item: item.kw_only is True)
    return [item.metadata.get("alias", item.name) for item in listed if item.name not in ("name", "missing", "hidden")]


def _unknown(kind: type[Any]) -> str:
    return f"is unknown; the known keys are {', '.join(_keys_of(kind))}"


def _told(name: str, error: ValidationError) -> tuple[str, str]:
    """The place of the first error, and our sentence about it."""
    first = error.errors(include_url=False, include_input=False)[0]
    kind, at = first["type"], first["loc"]
    if kind == "missing" and at == ("spec",):
        return name, "needs a spec: the path or URL of its OpenAPI document"
    place = name + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
    if kind == "value_error":
        return place, str(first["ctx"]["error"])
    if kind == "literal_error":
        return place, f"must be {first['ctx']['expected']}".replace("'", "")
    rules = {"policy": PolicyRule, "timeouts": TimeoutRule}
    return place, _SENTENCES.get(kind) or _unknown(rules.get(str(at[0]), EffectRule))

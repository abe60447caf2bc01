"""The source of a document: a path, a URL, text, bytes or a mapping, read as bytes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from restgpt.specs.problem import SpecError
from restgpt.specs.reading.download import DOCUMENT_MOST, fetch_url
from restgpt.specs.reading.text.json_text import encode_json


@dataclass(frozen=True)
class Source:
    """The bytes of a document and the place that they were read from.

    Messages show `label`: for a URL, without user, password, query and fragment. `location` is the absolute URL or
    file URI that relative servers and references are resolved against, None for text and mappings.
    """

    label: str
    location: str | None
    data: bytes = field(repr=False)
    path: Path | None = None

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the bytes in hexadecimal, the key of the index on disk."""
        return hashlib.sha256(self.data).hexdigest()


def read_source(source: "str | Path | bytes | Mapping[str, Any]") -> Source:
    """Read the bytes of a document; raises SpecError if they cannot be read, or are too many."""
    found = _read(source)
    if len(found.data) > DOCUMENT_MOST:
        raise SpecError(f"the document {found.label} has {len(found.data):,} bytes, of {DOCUMENT_MOST:,} that are read")
    return found


def _read(source: "str | Path | bytes | Mapping[str, Any]") -> Source:
    if isinstance(source, Mapping):
        return Source("mapping", None, encode_json(source))
    if isinstance(source, bytes):
        return Source("text", None, source)
    if isinstance(source, Path):
        return _read_file(source)
    if not isinstance(source, str):
        raise SpecError(f"a document is a path, a URL, text, bytes or a mapping, not {type(source).__name__}")
    if source.lower().startswith(("http://", "https://")):
        download = fetch_url(source)
        return Source(download.label, download.location, download.data)
    if source.startswith("file://"):
        return _read_file(Path(urlsplit(source).path))
    if "\n" in source or source.lstrip().startswith(("{", "[", "<")) or ": " in source:
        return Source("text", None, source.encode())
    return _read_file(Path(source))


def _read_file(path: Path) -> Source:
    try:
        with path.expanduser().open("rb") as file:
            data = file.read(DOCUMENT_MOST + 1)
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RuntimeError) as error:
        raise SpecError(f"cannot read {str(path)[:200]!r}: {error}") from None
    place = path.expanduser().resolve()
    return Source(str(path), place.as_uri(), data, path=place)

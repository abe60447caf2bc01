"""Files in arguments: `{"@file": PATH}` under an allowed folder, or `{"@bytes": BASE64, "filename": NAME}`."""

import base64
import binascii
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from restgpt.tools.errors import ArgumentProblem

OCTETS = "application/octet-stream"

CONTENT_KEYS = ("@file", "@bytes")
"""The keys of a file argument that give its content."""

FILE_KEYS = (*CONTENT_KEYS, "filename", "content_type")
"""All keys of a file argument."""


@cache
def _types() -> mimetypes.MimeTypes:
    """Return the built-in table only, so that the Content-Type does not depend on the MIME types of the machine."""
    # The first table of a process reads the MIME types of the machine all the same, so none is made at import.
    return mimetypes.MimeTypes(filenames=())


@dataclass(frozen=True, slots=True)
class FilePolicy:
    """The files that arguments may name: inside `roots` after symbolic links are resolved, up to `largest` bytes each.

    A relative path is resolved against the first root. Without roots no file may be read.
    """

    roots: tuple[Path, ...] = ()
    largest: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Blob:
    """The content of a file for a request body; its type `is_guessed` from its name unless the argument names it."""

    content: bytes
    filename: str | None = None
    media_type: str = OCTETS
    is_guessed: bool = True


class FileArgumentError(Exception):
    """A file argument cannot be used; the model gets the message."""


class BlobText(str):
    """A placeholder for a file during validation: a string whose content is not validated."""

    __slots__ = ()


def is_file_argument(value: Any) -> bool:
    """Whether a value is a file argument: a path or Base64 content."""
    return isinstance(value, Mapping) and any(key in value for key in CONTENT_KEYS)


def read_files(value: Any, policy: FilePolicy | None, pointer: str, problems: list[ArgumentProblem]) -> Any:
    """Replace the file arguments inside a value by blobs; a file that cannot be read adds to `problems`."""
    if is_file_argument(value):
        try:
            return _read_file(value, policy)
        except FileArgumentError as error:
            problems.append(ArgumentProblem(pointer, str(error)))
            return BlobText("")
    if isinstance(value, Mapping):
        return {key: read_files(item, policy, f"{pointer}/{key}", problems) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [read_files(item, policy, f"{pointer}/{number}", problems) for number, item in enumerate(value)]
    return value


def with_contents(value: Any) -> Any:
    """Replace the blobs inside a value by file arguments that hold their contents."""
    if isinstance(value, Blob):
        named = {"filename": value.filename} if value.filename is not None else {}
        typed = {} if value.is_guessed else {"content_type": value.media_type}
        return {"@bytes": base64.b64encode(value.content).decode("ascii"), **named, **typed}
    if isinstance(value, Mapping):
        return {key: with_contents(item) for key, item in value.items()}
    return list(map(with_contents, value)) if isinstance(value, list) else value


def _read_file(value: Mapping[str, Any], policy: FilePolicy | None) -> Blob:
    unknown = sorted(set(value) - {"@file", "@bytes", "filename", "content_type"})
    if unknown or ("@file" in value and "@bytes" in value):
        raise FileArgumentError(
            'a file is {"@file": PATH} or {"@bytes": BASE64, "filename": NAME}, "content_type" optional'
        )
    name = value.get("filename")
    kind = value.get("content_type")
    if not isinstance(name, str | None) or not isinstance(kind, str | None):
        raise FileArgumentError("filename and content_type of a file are strings")
    if "@bytes" in value:
        content = _decode(value["@bytes"])
    else:
        path = _allowed(value["@file"], policy)
        content = _content(path, policy or FilePolicy())
        name = name or path.name
    return Blob(content, name, kind or guess_type(name), is_guessed=not kind)


def guess_type(filename: str | None) -> str:
    """Guess a media type from a file name; the result is the same on every machine."""
    return (filename and _types().guess_type(filename)[0]) or OCTETS


def _decode(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise FileArgumentError("@bytes is not Base64 text") from None


def _allowed(name: Any, policy: FilePolicy | None) -> Path:
    if not isinstance(name, str) or not name or "\0" in name:
        raise FileArgumentError("@file is the path of a file")
    if policy is None or not policy.roots:
        raise FileArgumentError("no file may be sent: the user has allowed no folder")
    roots = [root.expanduser().resolve() for root in policy.roots]
    path = (roots[0] / name).resolve()
    if not any(path.is_relative_to(root) for root in roots):
        raise FileArgumentError(f"{name!r} is outside the folders that the user allowed")
    if not path.is_file():
        raise FileArgumentError(f"{name!r} is not a file")
    return path


def _content(path: Path, policy: FilePolicy) -> bytes:
    try:
        with path.open("rb") as stream:
            content = stream.read(policy.largest + 1)
    except OSError as error:
        raise FileArgumentError(f"{path.name!r} cannot be read: {error.strerror}") from None
    if len(content) > policy.largest:
        raise FileArgumentError(f"{path.name!r} is larger than {policy.largest:,} bytes")
    return content

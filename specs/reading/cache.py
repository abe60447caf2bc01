"""The index of a document on disk: one SQLite file per content hash, with its slices, operations and search index."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from restgpt.specs.reading.document import DEPTHS, Document, Tokens
from restgpt.specs.reading.index import Index, build_index
from restgpt.specs.reading.kind import slice_document
from restgpt.specs.reading.pointer import format_pointer
from restgpt.specs.reading.source import Source

if TYPE_CHECKING:
    from restgpt.specs.api import Api
    from restgpt.specs.search.ranking import SearchIndex

# Part of every file name: raise it when the layout, or what an index holds, changes.
LAYOUT = 2
# A smaller JSON document is read as fast as its index.
WORTH_BYTES = 400_000

SCHEMA = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB);
CREATE TABLE part (parent TEXT, name TEXT, body BLOB);
"""
INDEX = "CREATE UNIQUE INDEX part_address ON part (parent, name)"


class DiskParts:
    """Slices in a SQLite file; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open a complete file; raises sqlite3.Error where it is not one."""
        self.path = path
        self.lock = threading.RLock()
        self.base = sqlite3.connect(path, check_same_thread=False)
        self.stringly = self.meta("stringly") == b"1"

    def meta(self, key: str) -> bytes | None:
        """Return one stored value."""
        with self.lock:
            row = self.base.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def part(self, address: Tokens) -> bytes | None:
        """Return the JSON text of the slice at exactly this address."""
        with self.lock:
            row = self.base.execute(
                "SELECT body FROM part WHERE parent = ? AND name = ?", (format_pointer(address[:-1]), address[-1])
            ).fetchone()
        return None if row is None else row[0]

    def names(self, prefix: Tokens) -> list[str]:
        """List the keys below a prefix in document order."""
        with self.lock:
            rows = self.base.execute(
                "SELECT name FROM part WHERE parent = ? ORDER BY rowid", (format_pointer(prefix),)
            ).fetchall()
        return [row[0] for row in rows]

    def level(self, prefix: Tokens) -> dict[str, bytes]:
        """Return the slices directly below a prefix that is one token shorter than an address."""
        with self.lock:
            rows = self.base.execute(
                "SELECT name, body FROM part WHERE parent = ? AND body IS NOT NULL ORDER BY rowid",
                (format_pointer(prefix),),
            ).fetchall()
        return dict(rows)


def open_cached(source: "str | Path", folder: Path, *, allow_external: bool) -> tuple[Source, Document, Index] | None:
    """Open the index of an unchanged file without reading the file; None where there is none."""
    path = Path(source).expanduser() if isinstance(source, Path) or _looks_like_path(source) else None
    if path is None:
        return None
    try:
        stamp, digest = _stamp_file(path, folder).read_text().split("\n")
        if stamp != _stamp(path):
            return None
    except (OSError, ValueError):
        return None
    found = _open(folder, digest, allow_external)
    if found is None:
        return None
    parts, index = found
    place = path.resolve()
    label = Source(str(source), place.as_uri(), b"", path=place)
    return label, _document(parts, label, allow_external), index


def load_cached(source: Source, folder: Path, *, allow_external: bool) -> tuple[Document, Index]:
    """Open the index of a document by its content, or build and keep it; raises SpecError where it is no document.

    A folder that cannot be written is no reason to fail: the document is then read in memory.
    """
    digest = source.digest
    found = _open(folder, digest, allow_external)
    if found is None:
        document = slice_document(source, allow_external=allow_external)
        index = build_index(document)
        if not _is_worth(source.data) or not _write(folder, digest, document, index):
            return document, index
        found = _open(folder, digest, allow_external)
        if found is None:
            return document, index
    if source.path is not None:
        _remember(source.path, folder, digest)
    parts, index = found
    return _document(parts, source, allow_external), index


def cached_search_index(api: "Api") -> "SearchIndex":
    """Return the search index that is kept in the file of a document, built and added where it is missing."""
    from restgpt.specs.search.ranking import SearchIndex, build_search_index

    parts = api.document.parts
    if not isinstance(parts, DiskParts):
        return build_search_index(api.operations)
    try:
        packed = parts.meta("search")
        if packed is not None:
            return msgspec.msgpack.decode(packed, type=SearchIndex)
    except (sqlite3.Error, msgspec.DecodeError):
        pass
    built = build_search_index(api.operations)
    with contextlib.suppress(sqlite3.Error), parts.lock, parts.base:
        parts.base.execute("INSERT OR REPLACE INTO meta VALUES ('search', ?)", (msgspec.msgpack.encode(built),))
    return built


def _is_worth(data: bytes) -> bool:
    return len(data) > WORTH_BYTES or data[:1] not in (b"{", b"[")


def _document(parts: DiskParts, source: Source, allow_external: bool) -> Document:
    return Document(parts, location=source.location, stringly=parts.stringly, allow_external=allow_external)


def _looks_like_path(source: str) -> bool:
    return "\n" not in source and ": " not in source and not source.startswith(("http://", "https://", "file://", "{"))


def _file(folder: Path, digest: str, allow_external: bool) -> Path:
    return folder / f"{digest[:40]}-{LAYOUT}{'x' if allow_external else ''}.sqlite"


def _stamp_file(path: Path, folder: Path) -> Path:
    from hashlib import sha256

    return folder / f"{sha256(str(path.resolve()).encode()).hexdigest()[:40]}.stamp"


def _stamp(path: Path) -> str:
    """Write what changes whenever a file does: size, both times in nanoseconds, and its inode."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _remember(path: Path, folder: Path, digest: str) -> None:
    try:
        _stamp_file(path, folder).write_text(f"{_stamp(path)}\n{digest}")
    except OSError:
        return


def _open(folder: Path, digest: str, allow_external: bool) -> tuple[DiskParts, Index] | None:
    path = _file(folder, digest, allow_external)
    if not path.is_file():
        return None
    try:
        parts = DiskParts(path)
        packed = parts.meta("index")
        if packed is None:
            return None
        return parts, msgspec.msgpack.decode(packed, type=Index)
    except (sqlite3.Error, msgspec.DecodeError):
        return None


def _write(folder: Path, digest: str, document: Document, index: Index) -> bool:
    """Write the file under a name of its own, then move it into place, so that no reader sees half of it."""
    target = _file(folder, digest, document.allow_external)
    partial = target.with_name(f"{target.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return False
    try:
        base = sqlite3.connect(partial, isolation_level=None)
        try:
            base.executescript(SCHEMA)
            base.execute("BEGIN")
            base.executemany("INSERT INTO part VALUES (?, ?, ?)", _rows(document))
            base.execute("INSERT INTO meta VALUES ('index', ?)", (msgspec.msgpack.encode(index),))
            base.execute("INSERT INTO meta VALUES ('stringly', ?)", (b"1" if document.stringly else b"0",))
            base.execute(INDEX)
            base.execute("COMMIT")
        finally:
            base.close()
        os.replace(partial, target)
    except (OSError, sqlite3.Error):
        partial.unlink(missing_ok=True)
        return False
    return True


def _rows(document: Document) -> Iterator[tuple[str, str, "memoryview | None"]]:
    """List every slice by parent and name; a parent whose own slices follow has no body."""
    parts = document.parts
    for key, raw in parts.level(()).items():
        depth = DEPTHS.get(key, 1)
        yield "", key, memoryview(raw) if depth == 1 else None
        if depth == 2:
            yield from _level_rows(document, (key,))
        elif depth == 3:
            for name in parts.names((key,)):
                yield f"/{key}", name, None
                yield from _level_rows(document, (key, name))


def _level_rows(document: Document, prefix: Tokens) -> Iterator[tuple[str, str, memoryview]]:
    parent = format_pointer(prefix)
    for name, raw in document.parts.level(prefix).items():
        yield parent, name, memoryview(raw)

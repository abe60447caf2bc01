"""The disk cache: the slices and the index of a document in one SQLite file per content hash, and its search index.

A complete file never changes and is opened as immutable, so processes that share the folder take no locks. With a
journal SQLite would find that of a file which another process has replaced, and put its pages into the new file.
"""

import contextlib
import hashlib
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec

from restgpt.specs.reading.document import DEPTHS, Document, Tokens
from restgpt.specs.reading.download import Source
from restgpt.specs.reading.format import open_document
from restgpt.specs.reading.index import Index, build_index
from restgpt.specs.reading.tree import format_pointer

# Part of every file name: raise it when the tables, the index or the search index change.
LAYOUT = 12
# A smaller JSON document is read as fast as its file in the cache.
WORTH_BYTES = 400_000

SCHEMA = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB);
CREATE TABLE part (parent TEXT, name TEXT, body BLOB);
"""
INDEX = "CREATE UNIQUE INDEX part_address ON part (parent, name)"


class DiskSlices:
    """Slices in a SQLite file; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open a complete file; raises sqlite3.Error if it is broken."""
        self.path = path
        self.lock = threading.RLock()
        address = quote(os.fsencode(path), safe="")
        self.base = sqlite3.connect(f"file:{address}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        self.has_string_booleans = self.meta("stringly") == b"1"

    def meta(self, key: str) -> bytes | None:
        """Return the value that belongs to a key, None if there is none; raises sqlite3.Error."""
        with self.lock:
            row = self.base.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def search_path(self, names: Iterable[str]) -> Path:
        """Return the file beside this one for the search index of the operations with these names."""
        return self.path.with_suffix(f".{hashlib.sha256(' '.join(names).encode()).hexdigest()[:16]}.search")

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
    """Open the index of an unchanged file without reading the file; None if the cache has no such index."""
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
    slices, index = found
    place = path.resolve()
    opened = Source(str(source), place.as_uri(), b"", path=place)
    return opened, _document(slices, opened, digest, allow_external), index


def load_cached(source: Source, folder: Path, *, allow_external: bool) -> tuple[Document, Index]:
    """Open the index of a document by its content hash, else build and keep it; raises SpecError if it is not OpenAPI.

    If the folder cannot be written, the document is read in memory.
    """
    digest = source.digest
    found = _open(folder, digest, allow_external)
    if found is None:
        document = open_document(source, allow_external=allow_external)
        index = build_index(document)
        if not _is_worth_keeping(source.data) or not _write(folder, digest, document, index):
            return document, index
        found = _open(folder, digest, allow_external)
        if found is None:
            return document, index
    if source.path is not None:
        _remember(source.path, folder, digest)
    slices, index = found
    return _document(slices, source, digest, allow_external), index


def _is_worth_keeping(data: bytes) -> bool:
    return len(data) > WORTH_BYTES or data[:1] not in (b"{", b"[")


def _document(slices: DiskSlices, source: Source, digest: str, allow_external: bool) -> Document:
    return Document(
        slices,
        location=source.location,
        digest=digest,
        has_string_booleans=slices.has_string_booleans,
        allow_external=allow_external,
    )


def _looks_like_path(source: str) -> bool:
    return "\n" not in source and ": " not in source and not source.startswith(("http://", "https://", "file://", "{"))


def _file(folder: Path, digest: str, allow_external: bool) -> Path:
    return folder / f"{digest[:40]}-{LAYOUT}{'x' if allow_external else ''}.sqlite"


def _stamp_file(path: Path, folder: Path) -> Path:
    return folder / f"{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:40]}.stamp"


def _stamp(path: Path) -> str:
    """Return size, modification and change time in nanoseconds, and inode: one of them changes when the file does."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _remember(path: Path, folder: Path, digest: str) -> None:
    try:
        _stamp_file(path, folder).write_text(f"{_stamp(path)}\n{digest}")
    except OSError:
        return


def _open(folder: Path, digest: str, allow_external: bool) -> tuple[DiskSlices, Index] | None:
    path = _file(folder, digest, allow_external)
    if not path.is_file():
        return None
    try:
        slices = DiskSlices(path)
        packed = slices.meta("index")
        if packed is None:
            return None
        return slices, msgspec.msgpack.decode(packed, type=Index)
    except (sqlite3.Error, msgspec.DecodeError):
        return None


def _write(folder: Path, digest: str, document: Document, index: Index) -> bool:
    meta = (msgspec.msgpack.encode(index), b"1" if document.has_string_booleans else b"0")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (
            replacing(_file(folder, digest, document.allow_external)) as partial,
            contextlib.closing(sqlite3.connect(partial, isolation_level=None)) as base,
        ):
            base.executescript(SCHEMA)
            base.execute("BEGIN")
            base.executemany("INSERT INTO part VALUES (?, ?, ?)", _rows(document))
            base.execute("INSERT INTO meta VALUES ('index', ?), ('stringly', ?)", meta)
            base.execute(INDEX)
            base.execute("COMMIT")
    except (OSError, sqlite3.Error):
        return False
    return True


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give the path of a new file and move it into place at the end, so that no reader sees half of it."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        partial = Path(folder) / target.name
        yield partial
        os.replace(partial, target)


def _rows(document: Document) -> Iterator[tuple[str, str, "memoryview | None"]]:
    """List every slice by parent and name; a parent whose own slices follow has no body."""
    slices = document.slices
    for key, raw in slices.level(()).items():
        depth = DEPTHS.get(key, 1)
        yield "", key, memoryview(raw) if depth == 1 else None
        if depth == 2:
            yield from _level_rows(document, (key,))
        elif depth == 3:
            for name in slices.names((key,)):
                yield f"/{key}", name, None
                yield from _level_rows(document, (key, name))


def _level_rows(document: Document, prefix: Tokens) -> Iterator[tuple[str, str, memoryview]]:
    parent = format_pointer(prefix)
    for name, raw in document.slices.level(prefix).items():
        yield parent, name, memoryview(raw)

"""Search by vectors: the texts of operations, embedded once by a model that the user names and kept on disk.

A provider that fails leaves the search to words: the failure is logged once, and the provider is asked again later.
"""

import contextlib
import hashlib
import logging
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

import msgspec

from restgpt.specs.operation import Operation
from restgpt.specs.reading.disk_cache import replacing
from restgpt.specs.reading.document import Document

log = logging.getLogger("restgpt.search")

# How many texts the provider embeds in one call.
BATCH = 256
# How many of the nearest operations count.
NEAREST = 100
# How many characters of an operation's text are embedded.
LENGTH = 800
# How long a failed provider is left alone, in seconds.
REST_S = 60.0
# Part of every file name: raise it when the text of an operation changes.
LAYOUT = 1


class EmbeddingError(RuntimeError):
    """The embedding model cannot be used; the message names the cause and the remedy and holds no secret."""


class Embedder(Protocol):
    """An embedding model; raises `EmbeddingError`."""

    @property
    def name(self) -> str:
        """The provider and the name of the model."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text."""

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""


class Described(Protocol):
    """An API with its document and operations."""

    @property
    def name(self) -> str:
        """The short name of the API."""

    @property
    def document(self) -> Document:
        """The document that describes it."""

    @property
    def operations(self) -> Sequence[Operation]:
        """Its operations, in the order of the document."""


class Stored(msgspec.Struct, array_like=True):
    """The unit vectors of the operations of one document, packed one after the other."""

    dimension: int
    count: int
    packed: bytes


class Unfinished:
    """The unit vectors of the first operations of a document, while the others are embedded."""

    def __init__(self) -> None:
        self.dimension = 0
        self.count = 0
        self.packed = array("f")

    def fits(self, vectors: Sequence[Sequence[float]]) -> bool:
        """Tell whether all vectors have the length of the earlier ones."""
        lengths = {len(vector) for vector in vectors} | ({self.dimension} if self.count else set())
        return len(lengths) == 1 and lengths != {0}

    def add(self, vectors: Sequence[Sequence[float]]) -> None:
        """Add the vectors of the next operations."""
        self.dimension = len(vectors[0])
        self.count += len(vectors)
        for vector in vectors:
            self.packed.extend(_unit(vector))


class VectorSearch:
    """Finds operations by the similarity of their texts to a query.

    The vectors of a document are kept in `folder` by the name of the model and the digest of the document.
    """

    def __init__(self, embedder: Embedder, folder: Path | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._embedder = embedder
        self._folder = folder
        self._clock = clock
        self._lock = Lock()
        self._stored: dict[str, Stored] = {}
        self._begun: dict[str, Unfinished] = {}
        self._resting_until = float("-inf")
        self._is_reported = False

    def similarities(self, apis: Sequence[Described], text: str) -> dict[tuple[int, int], float] | None:
        """Map the nearest operations, by numbers of API and operation, to their similarity from 0 to 1.

        Returns None if the provider fails: words alone decide then.
        """
        if not text.strip() or self._clock() < self._resting_until:
            return None
        try:
            with self._lock:
                stored = [self._vectors_of(api) for api in apis]
            return nearest(stored, self._embedder.embed_query(text))
        except EmbeddingError as error:
            self._resting_until = self._clock() + REST_S
            if not self._is_reported:
                self._is_reported = True
                log.warning("The embedding model is not used, and operations are found by words alone: %s", error)
            return None

    def _vectors_of(self, api: Described) -> Stored:
        """Return the vectors of an API from memory or disk, else embed its operations and keep them."""
        key = _key(self._embedder.name, api)
        if key not in self._stored:
            found = self._read(key, len(api.operations))
            if found is None:
                found = self._embed(key, api)
                self._write(key, found)
            self._stored[key] = found
        return self._stored[key]

    def _embed(self, key: str, api: Described) -> Stored:
        """Embed the texts in batches; after a failure the next attempt goes on with the batch that failed."""
        texts = [text_of(operation) for operation in api.operations]
        begun = self._begun.setdefault(key, Unfinished())
        if len(texts) > BATCH:
            log.warning("Embedding %d operations of %s with %s, once.", len(texts), api.name, self._embedder.name)
        while begun.count < len(texts):
            batch = texts[begun.count : begun.count + BATCH]
            found = self._embedder.embed_documents(batch)
            if len(found) != len(batch) or not begun.fits(found):
                raise EmbeddingError(
                    f"{self._embedder.name} returned {len(found)} vectors for {len(batch)} texts, or vectors of "
                    "different lengths. Name another model in RESTGPT_EMBEDDINGS."
                )
            begun.add(found)
            log.info("Embedded %d of %d operations of %s.", begun.count, len(texts), api.name)
        del self._begun[key]
        return Stored(begun.dimension, begun.count, begun.packed.tobytes())

    def _read(self, key: str, count: int) -> Stored | None:
        try:
            if self._folder is None:
                return None
            found = msgspec.msgpack.decode((self._folder / key).read_bytes(), type=Stored)
        except (OSError, msgspec.DecodeError):
            return None
        is_whole = found.count == count and len(found.packed) == found.count * found.dimension * array("f").itemsize
        return found if is_whole else None

    def _write(self, key: str, stored: Stored) -> None:
        """Keep the vectors; a folder that cannot be written is left as it is."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with replacing(self._folder / key) as partial:
                partial.write_bytes(msgspec.msgpack.encode(stored))


def nearest(stored: Sequence[Stored], query: Sequence[float]) -> dict[tuple[int, int], float]:
    """Return the nearest operations with their cosine similarities, spread from 0 to 1."""
    try:
        import numpy
    except ImportError:
        raise EmbeddingError("numpy is not installed. Run: pip install numpy") from None
    unit = numpy.asarray(_unit(query), dtype=numpy.float32)
    found: list[tuple[float, int, int]] = []
    for place, item in enumerate(stored):
        if not item.count:
            continue
        if item.dimension != len(query):
            raise EmbeddingError(
                f"The vectors of the operations have {item.dimension} numbers, but that of the query has {len(query)}. "
                "The model behind the name has changed: delete the files *.vectors in RESTGPT_HOME/index."
            )
        cosines = numpy.frombuffer(item.packed, dtype=numpy.float32).reshape(item.count, item.dimension) @ unit
        best = numpy.argsort(-cosines, kind="stable")[: NEAREST + 1]
        found += [(float(cosines[number]), place, int(number)) for number in best]
    found.sort(key=lambda item: (-item[0], item[1], item[2]))
    if not found:
        return {}
    most, least = found[0][0], found[min(NEAREST, len(found) - 1)][0]
    spread = (most - least) or 1.0
    return {(place, number): max(0.0, (cosine - least) / spread) for cosine, place, number in found[:NEAREST]}


def text_of(operation: Operation) -> str:
    """Return the text of an operation that is embedded: method, path, name, summary and description."""
    parts = (f"{operation.method} {operation.path}", operation.operation_id, operation.summary, operation.description)
    return "\n".join(part for part in parts if part)[:LENGTH]


def _unit(vector: Sequence[float]) -> list[float]:
    length = sum(value * value for value in vector) ** 0.5 or 1.0
    return [value / length for value in vector]


def _key(model: str, api: Described) -> str:
    digest = hashlib.sha256(f"{model}\n{api.document.digest}".encode()).hexdigest()
    return f"{digest[:40]}-{LAYOUT}.vectors"

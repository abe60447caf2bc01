"""Guards search by vectors: mixing, batches, the files on disk, and providers that fail."""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from restgpt.specs import Api, Catalogue, load_api
from restgpt.specs.search import vectors
from restgpt.specs.search.vectors import EmbeddingError, VectorSearch, text_of

pytest.importorskip("numpy", reason="numpy, of the extra `embeddings`, is not installed")

PATHS: dict[str, Any] = {
    "/dogs": {"get": {"summary": "Hunde"}},
    "/cats": {"get": {"summary": "Katzen"}},
    "/trees": {"get": {"summary": "Trees of the park"}},
}


class Meanings:
    """An embedder whose vectors are the notions of a text; it can be told to fail or to change its dimension."""

    NOTIONS = (("dog", "hund", "puppy"), ("cat", "katze", "kitten"), ("tree", "oak"))

    def __init__(self, *, name: str = "fake:meanings", dimension: int = 3) -> None:
        self.name = name
        self.dimension = dimension
        self.batches: list[int] = []
        self.queries: list[str] = []
        self.fails_after: int | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fails_after is not None and len(self.batches) >= self.fails_after:
            raise EmbeddingError("the server is down")
        self.batches.append(len(texts))
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if self.fails_after is not None and len(self.queries) >= self.fails_after:
            raise EmbeddingError("the server is down")
        self.queries.append(text)
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        found = [float(any(word in text.lower() for word in notion)) for notion in self.NOTIONS]
        return (found + [0.1] * self.dimension)[: self.dimension]


def load(paths: dict[str, Any] = PATHS) -> Api:
    return load_api(json.dumps({"openapi": "3.0.0", "info": {"title": "Park", "version": "1"}, "paths": paths}))


def first(catalogue: Catalogue, text: str) -> str:
    found = catalogue.search(text, 1)
    return found[0].path if found else ""


def test_an_operation_is_found_without_a_word_in_common(tmp_path: Path) -> None:
    model = Meanings()
    catalogue = Catalogue([load()], VectorSearch(model, tmp_path))
    assert first(catalogue, "puppies, a puppy") == "/dogs"
    assert first(Catalogue([load()]), "puppies, a puppy") == ""


def test_words_still_count_beside_vectors(tmp_path: Path) -> None:
    catalogue = Catalogue([load()], VectorSearch(Meanings(), tmp_path))
    assert first(catalogue, "park") == "/trees"


def test_a_query_is_embedded_once_and_operations_only_the_first_time(tmp_path: Path) -> None:
    model = Meanings()
    for _ in range(2):
        catalogue = Catalogue([load()], VectorSearch(model, tmp_path))
        catalogue.search("a kitten", 3)
        catalogue.search("an oak", 3)
    assert model.batches == [3]
    assert len(model.queries) == 4


def test_another_model_or_another_document_has_vectors_of_its_own(tmp_path: Path) -> None:
    model, other = Meanings(), Meanings(name="fake:other")
    Catalogue([load()], VectorSearch(model, tmp_path)).search("dog", 1)
    Catalogue([load()], VectorSearch(other, tmp_path)).search("dog", 1)
    Catalogue([load(PATHS | {"/oaks": {"get": {}}})], VectorSearch(model, tmp_path)).search("dog", 1)
    assert (model.batches, other.batches) == ([3, 4], [3])
    assert len(list(tmp_path.glob("*.vectors"))) == 3


def test_a_file_that_is_broken_is_made_again(tmp_path: Path) -> None:
    model = Meanings()
    Catalogue([load()], VectorSearch(model, tmp_path)).search("dog", 1)
    [kept] = tmp_path.glob("*.vectors")
    kept.write_bytes(kept.read_bytes()[:-3])
    assert first(Catalogue([load()], VectorSearch(model, tmp_path)), "puppy") == "/dogs"
    assert model.batches == [3, 3]


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert first(Catalogue([load()], VectorSearch(Meanings(), blocked)), "puppy") == "/dogs"


def test_a_provider_that_is_down_leaves_the_words_and_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = Meanings()
    model.fails_after = 0
    now = 0.0
    catalogue = Catalogue([load()], VectorSearch(model, tmp_path, clock=lambda: now))
    with caplog.at_level(logging.WARNING, "restgpt.search"):
        assert [first(catalogue, "trees"), first(catalogue, "trees")] == ["/trees", "/trees"]
        now += vectors.REST_S + 1
        assert first(catalogue, "trees") == "/trees"
    assert [record.message for record in caplog.records] == [
        "The embedding model is not used, and operations are found by words alone: the server is down"
    ]


def test_a_provider_that_is_back_is_used_again(tmp_path: Path) -> None:
    model = Meanings()
    model.fails_after = 0
    now = 0.0
    catalogue = Catalogue([load()], VectorSearch(model, tmp_path, clock=lambda: now))
    assert first(catalogue, "puppy") == ""
    model.fails_after = None
    assert first(catalogue, "puppy") == ""
    now += vectors.REST_S + 1
    assert first(catalogue, "puppy") == "/dogs"


def test_many_operations_are_embedded_in_batches_that_go_on_after_a_failure(tmp_path: Path) -> None:
    paths = {f"/things{number}": {"get": {"summary": "Thing"}} for number in range(2 * vectors.BATCH)}
    model = Meanings()
    model.fails_after = 2
    now = 0.0
    catalogue = Catalogue([load(PATHS | paths)], VectorSearch(model, tmp_path, clock=lambda: now))
    assert first(catalogue, "puppy") == ""
    assert model.batches == [vectors.BATCH, vectors.BATCH]
    model.fails_after = None
    now += vectors.REST_S + 1
    assert first(catalogue, "puppy") == "/dogs"
    assert model.batches == [vectors.BATCH, vectors.BATCH, 3]


def test_a_model_that_changed_its_dimension_is_named_with_the_remedy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Catalogue([load()], VectorSearch(Meanings(), tmp_path)).search("dog", 1)
    with caplog.at_level(logging.WARNING, "restgpt.search"):
        changed = Catalogue([load()], VectorSearch(Meanings(dimension=5), tmp_path))
        assert first(changed, "trees") == "/trees"
    assert "delete the files *.vectors" in caplog.text


def test_vectors_of_several_apis_are_compared_together(tmp_path: Path) -> None:
    one = load({"/dogs": {"get": {"summary": "Hunde"}}})
    two = load({"/cats": {"get": {"summary": "Katzen"}}})
    catalogue = Catalogue([one, two], VectorSearch(Meanings(), tmp_path))
    assert first(catalogue, "kitten") == "/cats"
    assert first(catalogue, "puppy") == "/dogs"


def test_the_text_of_an_operation_is_bounded_and_holds_no_values() -> None:
    paths = {"/dogs": {"get": {"summary": "Dogs", "description": "x" * 5000}}}
    text = text_of(load(paths).operations[0])
    assert text.startswith("GET /dogs\nDogs\nxxx")
    assert len(text) == vectors.LENGTH


def test_equal_texts_give_equal_files(tmp_path: Path) -> None:
    digests = set()
    for name in ("a", "b"):
        Catalogue([load()], VectorSearch(Meanings(), tmp_path / name)).search("dog", 1)
        [kept] = (tmp_path / name).glob("*.vectors")
        digests.add(hashlib.sha256(kept.read_bytes()).hexdigest())
    assert len(digests) == 1

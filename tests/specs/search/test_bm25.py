"""Guards BM25: rare stems count more, long fields and repetitions count less, and fields count by their weight."""

from collections import Counter

import pytest

from restgpt.specs.search.search_index import impacts, rarity


def texts(*documents: str) -> list[dict[str, Counter[str]]]:
    return [{"text": Counter(document.split())} for document in documents]


def test_a_rare_stem_counts_more_than_a_common_one() -> None:
    assert rarity(1, 100) > rarity(50, 100) > rarity(100, 100) > 0


def test_a_stem_counts_more_often_than_once_but_less_each_time() -> None:
    (once, twice, thrice) = (
        next(impacts(texts(text), {"text": 1.0}, length=0.0))["a"] for text in ("a", "a a", "a a a")
    )
    assert once == pytest.approx(1.0)
    assert 0 < thrice - twice < twice - once


def test_a_long_document_is_damped_unless_length_is_0() -> None:
    documents = texts("a", "a b c d e f g")
    short, long = (found["a"] for found in impacts(documents, {"text": 1.0}, length=0.75))
    assert short > long
    short, long = (found["a"] for found in impacts(documents, {"text": 1.0}, length=0.0))
    assert short == long


def test_a_field_counts_by_its_weight() -> None:
    document = {"name": Counter({"a": 1}), "text": Counter({"b": 1})}
    (found,) = impacts([document], {"name": 3.0, "text": 1.0}, length=0.5)
    assert found["a"] > found["b"]


def test_documents_without_words_have_no_impacts() -> None:
    assert list(impacts(texts("", ""), {"text": 1.0}, length=0.75)) == [{}, {}]

"""Guards embedding models: nothing is set up unless one is named, and failures hold no secret."""

import json
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings
from loopback import Handler, served

from restgpt.specs.search.vectors import EmbeddingError
from restgpt.tools.model.embeddings import NamedEmbedder, vector_search
from restgpt.tools.settings import Settings

KEY = "sk-very-secret"


class Broken(Embeddings):
    def __init__(self, error: Exception) -> None:
        self._error = error

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise self._error

    def embed_query(self, text: str) -> list[float]:
        raise self._error


class Answered(OSError):
    status_code = 401


def settings(tmp_path: Path, **values: str) -> Settings:
    return Settings.from_env({"RESTGPT_HOME": str(tmp_path), **values})


def test_no_embedding_model_is_used_unless_one_is_named(tmp_path: Path) -> None:
    assert vector_search(settings(tmp_path)) is None
    assert vector_search(settings(tmp_path, RESTGPT_EMBEDDINGS="openai:text-embedding-3-small")) is not None


@pytest.mark.parametrize(
    ("name", "remedy"), [("text-embedding-3-small", "PROVIDER:NAME"), ("nobody:model", "Check RESTGPT_EMBEDDINGS")]
)
def test_a_name_that_is_no_model_names_the_spelling(tmp_path: Path, name: str, remedy: str) -> None:
    with pytest.raises(EmbeddingError, match=remedy):
        NamedEmbedder(name, settings(tmp_path)).embed_query("x")


@pytest.mark.parametrize(
    ("error", "said"), [(Answered(f"bad key {KEY}"), "answered 401"), (ValueError(KEY), "cannot be used (ValueError)")]
)
def test_a_failure_is_named_without_the_providers_text(tmp_path: Path, error: Exception, said: str) -> None:
    embedder = NamedEmbedder("fake:model", settings(tmp_path), model=Broken(error))
    for ask in (lambda: embedder.embed_query("x"), lambda: embedder.embed_documents(["x"])):
        with pytest.raises(EmbeddingError) as raised:
            ask()
        assert said in str(raised.value)
        assert KEY not in str(raised.value)


class EmbeddingServer(Handler):
    """Answers with the length of each text as its vector, as local servers with OpenAI's HTTP API do."""

    def do_POST(self) -> None:
        asked = json.loads(self.body())
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        data = [{"index": at, "embedding": [float(len(text)), 1.0]} for at, text in enumerate(texts)]
        self.answer({"data": data, "model": asked["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def test_a_local_server_gets_texts_and_needs_no_key(tmp_path: Path) -> None:
    with served(EmbeddingServer) as url:
        found = settings(tmp_path, OPENAI_BASE_URL=f"{url}/v1")
        embedder = NamedEmbedder("openai:some-local-model", found)
        assert embedder.embed_documents(["ab", "abcd"]) == [[2.0, 1.0], [4.0, 1.0]]
        assert embedder.embed_query("abc") == [3.0, 1.0]

"""Embedding models by name: from `provider:name` to vectors of texts, by LangChain's classes."""

from collections.abc import Callable
from typing import Any, TypeVar

from langchain_core.embeddings import Embeddings

from restgpt.specs.search.vectors import EmbeddingError, VectorSearch
from restgpt.tools.model.exceptions import UNREADABLE, provider_errors, status_of
from restgpt.tools.model.provider import openai_options
from restgpt.tools.settings import Settings

Found = TypeVar("Found")


class NamedEmbedder:
    """The embedding model of a name, set up on first use, or the given one."""

    def __init__(self, name: str, settings: Settings, *, model: Embeddings | None = None) -> None:
        self.name = name
        self._settings = settings
        self._model = model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text; raises `EmbeddingError`."""
        return self._ask(lambda model: model.embed_documents(texts))

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query; raises `EmbeddingError`."""
        return self._ask(lambda model: model.embed_query(text))

    def _ask(self, question: Callable[[Embeddings], Found]) -> Found:
        if self._model is None:
            self._model = _open(self.name, self._settings)
        try:
            return question(self._model)
        except _failures() as error:
            raise EmbeddingError(_failure(self.name, error)) from None


def _open(name: str, settings: Settings) -> Embeddings:
    """Set up an embedding model; raises `EmbeddingError`."""
    from langchain.embeddings import init_embeddings

    provider, _, rest = name.partition(":")
    options: dict[str, Any] = openai_options(settings) if provider == "openai" else {}
    if provider == "openai" and settings.openai_base_url:
        # A local server takes texts, not the token numbers that the client sends to OpenAI.
        options["check_embedding_ctx_length"] = False
    if not rest:
        raise EmbeddingError(
            f"RESTGPT_EMBEDDINGS is {name!r}. Write PROVIDER:NAME, such as openai:text-embedding-3-small."
        )
    try:
        model = init_embeddings(name, **options)
    except ImportError as error:
        raise EmbeddingError(f"{name} needs a package that is not installed: {error}") from None
    except _failures() as error:
        raise EmbeddingError(_failure(name, error)) from None
    if not isinstance(model, Embeddings):
        raise EmbeddingError(f"{name} is not an embedding model. Name another one in RESTGPT_EMBEDDINGS.")
    return model


def _failures() -> tuple[type[BaseException], ...]:
    return (OSError, *UNREADABLE, *provider_errors())


def _failure(name: str, error: BaseException) -> str:
    """Describe a provider's exception without its text, which may quote the request or a key."""
    status = status_of(error)
    answered = f"answered {status}" if status is not None else f"cannot be used ({type(error).__name__})"
    return f"{name} {answered}. Check RESTGPT_EMBEDDINGS, the provider's key and the network."


def vector_search(settings: Settings) -> VectorSearch | None:
    """Return the search by the embedding model of the settings, None if they name none."""
    if not settings.embeddings:
        return None
    return VectorSearch(NamedEmbedder(settings.embeddings, settings), settings.home / "index")

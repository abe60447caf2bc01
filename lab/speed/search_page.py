"""The data on which the sandbox is measured: pages of search results of any size."""

import json
import random
from collections.abc import Sequence


def search_page(size: int, words: Sequence[str], *, count: int, beside: int) -> bytes:
    """Return JSON of about `size` bytes in the shape of a page of search results; the same for the same size.

    Each overview has `count` of the words; a row has about `beside` bytes beside them.
    """
    source = random.Random(size)
    rows: list[dict[str, object]] = []
    length = 0
    while length < size:
        text = " ".join(source.choices(words, k=count))
        rows.append({"id": len(rows), "title": text[:30], "vote_average": source.random() * 10, "overview": text})
        length += len(text.encode()) + beside
    return json.dumps({"page": 1, "results": rows}, ensure_ascii=False).encode()

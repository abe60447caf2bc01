"""Texts that worlds hold, and the plain form in which texts are searched and compared."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

# Letters that Unicode does not decompose into a base letter and a mark.
LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th"})


@dataclass(frozen=True, slots=True)
class Text:
    """A text by `author` at `url`, as one may quote it."""

    author: str
    content: str
    url: str


@lru_cache(maxsize=50_000)
def normal(text: str) -> str:
    """`text` in lower case without diacritics, apostrophes and punctuation, with single spaces."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(LETTERS))
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    plain = re.sub(r"['’`´]", "", plain).replace("&", " and ")
    return " ".join(re.findall(r"\w+", plain.replace("_", " ")))

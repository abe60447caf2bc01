"""Invented texts and image paths, made on demand: the same for the same seed and record."""

import random
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from restgpt_bench.worlds.text import Text
from restgpt_bench.worlds.tmdb import words
from restgpt_bench.worlds.tmdb.catalogue import digest

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
SITE = "https://films.example"
SIZES = {
    "poster": (2000, 3000),
    "backdrop": (3840, 2160),
    "still": (1920, 1080),
    "profile": (1000, 1500),
    "logo": (1200, 480),
}


@dataclass(frozen=True, slots=True)
class Synopsis:
    """A plot, and the words in it that other plots rarely share."""

    text: str
    marks: tuple[str, ...]


def _draw(seed: int, key: str) -> random.Random:
    return random.Random(f"{seed} {key}")


@lru_cache(maxsize=20_000)
def synopsis(seed: int, kind: str, number: int) -> Synopsis:
    """The plot of a film, show, season or episode."""
    draw = _draw(seed, f"plot {kind} {number}")
    hero, town = draw.choice(words.FIRST_NAMES), draw.choice(words.TOWNS)
    trade, thing, trouble = draw.choice(words.TRADES), draw.choice(words.OBJECTS), draw.choice(words.TROUBLES)
    text = draw.choice(
        (
            f"In {town}, the {trade} {hero} finds a {thing} in the attic and, with it, {trouble}.",
            f"{hero}, a {trade} who has never left {town}, must part with a {thing} to be rid of {trouble}.",
            f"When a {thing} goes missing in {town}, only {hero} the {trade} sees what it has to do with {trouble}.",
            f"Nobody in {town} trusts {hero}, least of all the {trade} who sold the {thing}. Then comes {trouble}.",
        )
    )
    return Synopsis(text, (hero, town, thing, trade))


def title_of(seed: int, number: int) -> str:
    """The name of the episode with this id."""
    draw = _draw(seed, f"episode {number}")
    return f"A {draw.choice(words.NOUNS)} for the {draw.choice(words.ADJECTIVES)} {draw.choice(words.TRADES).title()}"


def biography(seed: int, number: int, name: str) -> str:
    """The life of a person in two sentences."""
    draw = _draw(seed, f"life {number}")
    trade, town = draw.choice(words.TRADES), draw.choice(words.TOWNS)
    return f"{name} trained as a {trade} in {town} before turning to film. {name} collects every kind of old map."


def tagline(seed: int, number: int) -> str:
    """A line for the poster."""
    draw = _draw(seed, f"tagline {number}")
    return f"Beware the {draw.choice(words.ADJECTIVES).lower()} {draw.choice(words.OBJECTS)}."


@lru_cache(maxsize=4_000)
def reviews(seed: int, kind: str, number: int, count: int) -> tuple[tuple[str, Text], ...]:
    """The reviews of a film or show, each with its id; authors differ."""
    draw = _draw(seed, f"reviews {kind} {number}")
    authors = draw.sample(words.FIRST_NAMES, count)
    found = []
    for index, author in enumerate(authors):
        code = digest(f"{seed} {kind} {number} review {index}")
        thing, other = draw.sample(words.OBJECTS, 2)
        content = draw.choice(words.PRAISE).format(
            thing=thing,
            other=other,
            town=draw.choice(words.TOWNS),
            hero=draw.choice(words.FIRST_NAMES),
            trade=draw.choice(words.TRADES),
        )
        text = Text(f"{author.lower()}_{draw.randint(10, 99)}", content, f"{SITE}/review/{code}")
        found.append((code, text))
    return tuple(found)


def image_path(seed: int, what: str, kind: str, number: int, index: int = 0) -> str:
    """The file path of an image, for instance /aB3…x.jpg."""
    value = int.from_bytes(blake2b(f"{seed} {what} {kind} {number} {index}".encode(), digest_size=16).digest())
    letters = ""
    while len(letters) < 21:
        value, rest = divmod(value, len(LETTERS))
        letters += LETTERS[rest]
    return f"/{letters}.{'png' if what == 'logo' else 'jpg'}"


def images(seed: int, what: str, kind: str, number: int) -> list[dict[str, Any]]:
    """Two to five images of a kind, the first of which is the main one; logos have ids and a file type too."""
    draw = _draw(seed, f"images {what} {kind} {number}")
    width, height = SIZES[what]
    found: list[dict[str, Any]] = [
        {
            "aspect_ratio": round(width / height, 3),
            "file_path": image_path(seed, what, kind, number, index),
            "height": height,
            "iso_639_1": draw.choice(("en", None)),
            "vote_average": draw.randint(3_000, 6_500) / 1_000,
            "vote_count": draw.randint(1, 60),
            "width": width,
        }
        for index in range(draw.randint(2, 5))
    ]
    for index, image in enumerate(found if what == "logo" else ()):
        image.update(id=digest(f"{seed} logo {kind} {number} {index}"), file_type=".png")
    return found


def pick(seed: int, key: str, low: int, high: int) -> int:
    """A number that belongs to `key`, from `low` to `high`."""
    return _draw(seed, key).randint(low, high)

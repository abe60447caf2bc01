"""Prepares the documents of a run: the world's own or another in its place, cut and mixed with noise."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restgpt.specs import Api, load_api
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.restbench.judges.task import shape
from restgpt_bench.restbench.suite import SuiteError
from restgpt_bench.worlds import CREDENTIAL, NAMES

ELSEWHERE = "/noise"
"""The path below the served world for operations of noise documents; every request there gets a 404."""

METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"})


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a run as text: the world's own, and those that only add noise."""

    world: str
    main: bytes
    noise: Mapping[str, bytes]
    cache: Path | None = None

    def open(self, url: str) -> list[Api]:
        """The APIs, at a world that is served at `url`, with the credentials in place."""
        others = [
            self._load(data, url=f"{url}{ELSEWHERE}/{name}", name=name, credential="unused")
            for name, data in self.noise.items()
        ]
        return [self._load(self.main, url=url, name=self.world, credential=CREDENTIAL), *others]

    def _load(self, data: bytes, *, url: str, name: str, credential: str) -> Api:
        api = load_api(data, base_url=url, name=name, cache=self.cache)
        api.auth = dict.fromkeys(api.security_schemes, credential)
        return api


def gather(
    world: str,
    *,
    spec: str | None = None,
    noise: int | None = None,
    noise_specs: Sequence[str] = (),
    needed: Iterable[str] = (),
    seed: int = 0,
    cache: Path | None = None,
) -> Documents:
    """The documents for a world.

    `spec` stands in for the bundled document. With `noise`, the document keeps the `needed` operations ("METHOD
    /template"), and so many others come in: first from the rest of it, then from `noise_specs` and the other bundled
    documents, drawn by the seed. Raises `SpecError`, or `SuiteError` when there is not that much noise.
    """
    main = Path(spec).read_bytes() if spec is not None else bundled_document(world).read_bytes()
    if noise is None:
        return Documents(world, main, {}, cache)
    wanted = set(map(shape, needed))
    sources = {world: main, **{f"noise-{number}": Path(path).read_bytes() for number, path in enumerate(noise_specs)}}
    sources |= {name: bundled_document(name).read_bytes() for name in NAMES if name != world}
    drawn = _drawn(sources, wanted, world=world, count=noise, rng=random.Random(f"noise {seed}"))
    kept = {name: _cut(load_api(data, name=name), drawn[name]) for name, data in sources.items() if drawn[name]}
    return Documents(world, kept.pop(world, main), kept, cache)


def _drawn(
    sources: Mapping[str, bytes], wanted: set[str], *, world: str, count: int, rng: random.Random
) -> dict[str, set[str]]:
    """The operations to keep from each source, as "METHOD /path"."""
    drawn: dict[str, set[str]] = {}
    left = count
    for name, data in sources.items():
        keys = [f"{operation.method} {operation.path}" for operation in load_api(data, name=name).operations]
        drawn[name] = {key for key in keys if name == world and shape(key) in wanted}
        others = [key for key in keys if key not in drawn[name]]
        chosen = rng.sample(others, min(left, len(others)))
        drawn[name].update(chosen)
        left -= len(chosen)
    if left:
        raise SuiteError(
            f"{count} noise operations are wanted, but the documents hold {count - left}. Name more with --noise-spec."
        )
    return drawn


def _cut(api: Api, keys: set[str]) -> bytes:
    """The document with these operations only; components stay."""
    tree: dict[str, Any] = dict(api.document.get(()))
    paths = {
        path: {name: part for name, part in item.items() if name not in METHODS or f"{name.upper()} {path}" in keys}
        for path, item in tree["paths"].items()
        if isinstance(item, dict)
    }
    tree["paths"] = {path: item for path, item in paths.items() if METHODS & item.keys()}
    return json.dumps(tree).encode()

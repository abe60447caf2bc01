"""Guards the index on disk: the same answers as without it, rebuilt when the document changes, never required."""

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from restgpt.specs import Api, load_api
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.example import minimal_arguments
from restgpt.specs.docs.map import summary_line
from restgpt.specs.reading.disk_cache import DiskSlices

YAML = """
openapi: 3.0.0
info: {title: Stored, version: '1'}
servers: [{url: https://example.com}]
paths:
  /things/{id}:
    parameters: [{name: id, in: path, required: "true", schema: {type: integer}}]
    get:
      operationId: one
      summary: Get a thing
      responses: {200: {content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}}
  /things: {get: {operationId: all, summary: List things, responses: {}}}
  /linked: {$ref: '#/components/x-items/Linked'}
components:
  schemas: {Thing: {type: object, properties: {name: {type: string}, self: {$ref: '#/components/schemas/Thing'}}}}
  x-items: {Linked: {post: {operationId: linked, responses: {}}}}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "stored.yaml"
    path.write_text(YAML)
    return path


def everything(api: Api) -> list[Any]:
    told = [(it.name, summary_line(it), documentation(it), minimal_arguments(it), it.base_url) for it in api.operations]
    return [api.title, [*map(str, api.problems)], told, [item.name for item in api.search("list things")]]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_the_index_on_disk_answers_like_the_document(source: Path, cache: Path) -> None:
    plain = everything(load_api(source))
    for _ in range(3):
        api = load_api(source, cache=cache)
        assert isinstance(api.document.slices, DiskSlices)
        assert everything(api) == plain
    assert len(list(cache.glob("*.sqlite"))) == 1


def test_an_unchanged_file_is_not_read_again_and_a_changed_one_is(source: Path, cache: Path) -> None:
    load_api(source, cache=cache)
    (stamp,) = cache.glob("*.stamp")
    line, _ = stamp.read_text().split("\n")
    empty = json.dumps({"openapi": "3.0.0", "info": {"title": "Other"}, "paths": {}})
    other = load_api(empty + " " * 500_000, cache=cache)
    assert isinstance(other.document.slices, DiskSlices)
    stamp.write_text(f"{line}\n{other.document.slices.path.name.partition('-')[0]}")
    assert load_api(source, cache=cache).title == "Other"
    source.write_text(YAML.replace("Stored", "Change"))
    assert load_api(str(source), cache=cache).title == "Change"


def test_the_journal_of_a_file_that_was_replaced_is_not_read(source: Path, cache: Path, tmp_path: Path) -> None:
    """Two processes make the same fresh index at once: one replaces the file of the other, which writes its own."""
    plain, other = everything(load_api(source)), tmp_path / "other"
    load_api(source, cache=cache)
    (stored,) = cache.glob("*.sqlite")
    shutil.copy(stored, other)
    with contextlib.closing(sqlite3.connect(other)) as base:
        base.execute("PRAGMA synchronous = OFF")
        base.execute("UPDATE part SET body = '0'")
        base.commit()
        base.execute("UPDATE part SET body = '1'")
        shutil.copy(f"{other}-journal", f"{stored}-journal")
    api = load_api(source, cache=cache)
    assert everything(api) == plain
    assert isinstance(api.document.slices, DiskSlices)


def test_an_index_is_kept_and_built_again_if_it_is_damaged(source: Path, cache: Path) -> None:
    found = [item.name for item in load_api(source, cache=cache).search("list things")]
    (kept,), (stored,) = cache.glob("*.search"), cache.glob("*.sqlite")
    built = kept.read_bytes()
    kept.write_bytes(built[:-5])
    assert [item.name for item in load_api(source, cache=cache).search("list things")] == found
    assert kept.read_bytes() == built
    stored.write_bytes(b"damaged" * 100)
    assert load_api(source, cache=cache).title == "Stored"


def test_the_search_index_of_fewer_operations_is_another_one(source: Path, cache: Path) -> None:
    whole = load_api(source, cache=cache)
    found = [item.name for item in whole.search("linked")]
    for _ in range(2):
        part = load_api(source, cache=cache, exclude=["id=linked"])
        assert (found, part.search("linked")) == (["linked"], [])
    assert [item.name for item in load_api(source, cache=cache).search("linked")] == found
    assert len([*cache.glob("*.search")]) == 2


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert load_api(source, cache=tmp_path / "file" / "cache").title == "Stored"


def test_what_is_no_document_leaves_nothing_behind(cache: Path) -> None:
    with pytest.raises(ValueError, match="no OpenAPI document"):
        load_api("name: package\nversion: '1'\n", cache=cache)
    assert not list(cache.glob("*"))

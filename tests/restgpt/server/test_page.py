"""Guards the files of the page: a strict policy, and no file but the page's.

And the address of a running page is found by other processes of its home.
"""

from collections.abc import Mapping
from pathlib import Path

from asgi import requested
from httpx2 import Response
from starlette.applications import Starlette

from restgpt.server.page_routes import MEDIA_TYPES, findable, page_of, page_routes
from restgpt.tools.file_lock import file_lock


def fetched(folder: Path, path: str = "/debug", headers: Mapping[str, str] = {}) -> Response:
    app = Starlette(routes=page_routes(folder))
    return requested(app, "GET", path, headers={"Accept-Encoding": "identity", **headers})


def built(folder: Path) -> Path:
    for name in MEDIA_TYPES:
        (folder / name).write_text(f"the file {name}")
    return folder


def test_each_file_has_its_media_type_and_the_strict_policy(tmp_path: Path) -> None:
    for name, media_type in MEDIA_TYPES.items():
        told = fetched(built(tmp_path), f"/debug/{name}")
        assert (told.text, told.headers["content-type"]) == (f"the file {name}", media_type)
        policy = told.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert told.headers["x-content-type-options"] == "nosniff"


def test_a_file_is_compressed_and_sent_again_only_after_a_change(tmp_path: Path) -> None:
    told = fetched(built(tmp_path), headers={"Accept-Encoding": "gzip"})
    assert (told.headers["content-encoding"], told.text) == ("gzip", "the file index.html")
    same = fetched(tmp_path, headers={"If-None-Match": told.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    (tmp_path / "index.html").write_text("another page")
    assert fetched(tmp_path, headers={"If-None-Match": told.headers["etag"]}).text == "another page"


def test_no_other_file_is_served(tmp_path: Path) -> None:
    (built(tmp_path).parent / "secret.txt").write_text("secret")
    (tmp_path / "page.js.map").write_text("source")
    for path in ("/debug/page.js.map", "/debug/..%2Fsecret.txt", "/debug/%2e%2e/secret.txt", "/debug/x/page.js"):
        assert fetched(tmp_path, path).status_code == 404


def test_a_page_is_found_as_long_as_it_runs(tmp_path: Path) -> None:
    assert page_of(tmp_path, "mine") == ""
    with findable(tmp_path, 8300):
        assert page_of(tmp_path, "mine/undo") == "http://127.0.0.1:8300/debug#/thread/mine%2Fundo"
    assert page_of(tmp_path, "mine") == ""
    (tmp_path / "locks" / "page-1@evil.test:80.lock").touch()
    with file_lock(tmp_path / "locks" / "page-1@evil.test:80.lock", BlockingIOError(), is_kept=False):
        assert page_of(tmp_path, "mine") == ""
    (tmp_path / "locks" / "page-8301.lock").touch()
    assert page_of(tmp_path, "mine") == ""
    assert list((tmp_path / "locks").iterdir()) == []

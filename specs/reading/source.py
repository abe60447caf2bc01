"""Where a document comes from: a path, a URL, text, bytes or a mapping, brought to JSON bytes."""

import codecs
import hashlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

import msgspec

from restgpt.specs.problem import SpecError

if TYPE_CHECKING:
    import requests

FETCH_SECONDS = 30.0
DOWNLOAD_SECONDS = 300.0
FETCH_BYTES = 200_000_000
EXPANDED_NODES = 30_000_000
REDIRECTS = 5
PORTS = {"http": 80, "https": 443}
# Merge keys are of YAML 1.1, but documents that share parts by aliases rely on them.
MERGE = re.compile(r"<<[ \t]*:")

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a document with the place they came from.

    `label` is what messages show: a URL without its user, password, query and fragment. `location` is the
    absolute URL or file URI that relative servers and references are resolved against, None for text and mappings.
    """

    label: str
    location: str | None
    data: bytes = field(repr=False)
    path: Path | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes in hexadecimal, the key of the index on disk."""
        return hashlib.sha256(self.data).hexdigest()


def read_source(source: "str | Path | bytes | Mapping[str, Any]") -> Source:
    """Fetch the bytes of a document; raises SpecError where nothing can be read."""
    if isinstance(source, Mapping):
        return Source("mapping", None, encode_json(source))
    if isinstance(source, bytes):
        return Source("text", None, source)
    if isinstance(source, Path):
        return _read_file(source)
    if not isinstance(source, str):
        raise SpecError(f"a document is a path, a URL, text, bytes or a mapping, not {type(source).__name__}")
    if source.lower().startswith(("http://", "https://")):
        return fetch_url(source)
    if source.startswith("file://"):
        return _read_file(Path(urlsplit(source).path))
    if "\n" in source or source.lstrip().startswith(("{", "[", "<")) or ": " in source:
        return Source("text", None, source.encode())
    return _read_file(Path(source))


def _read_file(path: Path) -> Source:
    try:
        data = path.expanduser().read_bytes()
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RuntimeError) as error:
        raise SpecError(f"cannot read {str(path)[:200]!r}: {error}") from None
    place = path.expanduser().resolve()
    return Source(str(path), place.as_uri(), data, path=place)


def public_url(url: str) -> str:
    """Write a URL without user, password, query and fragment: these can hold secrets."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def fetch_url(url: str) -> Source:
    """Download a document with a time limit in seconds and a size bound; raises SpecError without the URL's secrets.

    Redirects stay on the host that was named: what an answer names instead may be inside a private network.
    """
    import requests

    try:
        label, address = public_url(url), url
    except ValueError:
        raise SpecError("cannot fetch the document: its URL cannot be read") from None
    try:
        with requests.Session() as session:
            user = requests.utils.get_auth_from_url(url)
            session.auth = user if any(user) else None
            for _ in range(REDIRECTS + 1):
                with session.get(address, timeout=FETCH_SECONDS, stream=True, allow_redirects=False) as reply:
                    if not reply.is_redirect:
                        return Source(label, public_url(address), _download(reply, label))
                    address = _redirected(address, reply.headers["location"], label)
    except requests.ConnectionError as error:
        raise SpecError(
            f"cannot fetch {label}: no connection ({type(error).__name__}); check the address and the network"
        ) from None
    except requests.RequestException as error:
        raise SpecError(f"cannot fetch {label}: {type(error).__name__}") from None
    raise SpecError(f"cannot fetch {label}: it redirects more than {REDIRECTS} times")


def _redirected(address: str, location: str, label: str) -> str:
    """Return where a redirect leads; raises SpecError where that is another host."""
    try:
        target = urljoin(address, location)
        if _is_same_host(address, target):
            return target
        shown = public_url(target)
    except ValueError:
        raise SpecError(f"cannot fetch {label}: it redirects to an address that cannot be read") from None
    raise SpecError(f"cannot fetch {label}: it redirects to {shown}, another host; give that address if it is meant")


def _download(reply: "requests.Response", label: str) -> bytes:
    if not reply.ok:
        raise SpecError(f"cannot fetch {label}: the server answered {reply.status_code}")
    chunks, size, end = [], 0, time.monotonic() + DOWNLOAD_SECONDS
    for chunk in reply.iter_content(1 << 16):
        if time.monotonic() > end:
            raise SpecError(f"cannot fetch {label}: it took more than {DOWNLOAD_SECONDS:.0f} seconds")
        chunks.append(chunk)
        size += len(chunk)
        if size > FETCH_BYTES:
            raise SpecError(f"cannot fetch {label}: it is larger than {FETCH_BYTES:,} bytes")
    return b"".join(chunks)


def _is_same_host(url: str, target: str) -> bool:
    """Tell whether a redirect stays on the same origin, or only changes it from http to https."""
    here, there = urlsplit(url), urlsplit(target)
    if here.hostname != there.hostname:
        return False
    ports = here.port or PORTS.get(here.scheme), there.port or PORTS.get(there.scheme)
    is_upgrade = (here.scheme, there.scheme, *ports) == ("http", "https", 80, 443)
    return is_upgrade or (here.scheme == there.scheme and ports[0] == ports[1])


def encode_json(document: Any) -> bytes:
    """Write decoded JSON or YAML as JSON, every key as a string; raises SpecError on what JSON cannot hold."""
    try:
        return msgspec.json.encode(document)
    except (TypeError, ValueError, OverflowError, RecursionError, AttributeError):
        return _encode_odd_json(document)


def _encode_odd_json(document: Any) -> bytes:
    """Encode what the fast encoder refuses: keys that are null or lists, integers beyond 64 bits."""
    import json

    try:
        return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False, default=str).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"the document is not plain data: {error}") from None


def _plain(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {_plain_key(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple | set):
        return [_plain(item) for item in node]
    if isinstance(node, float) and (node != node or node in (float("inf"), float("-inf"))):
        return None
    return node


def _plain_key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def json_bytes(data: bytes) -> bytes:
    """Bring JSON or YAML text in any Unicode encoding to UTF-8 JSON; raises SpecError naming line and column."""
    text = _utf8(data)
    if text[:1] in (b"{", b"["):
        try:
            msgspec.json.decode(text, type=dict[str, msgspec.Raw])
            return text
        except msgspec.ValidationError:
            return text
        except RecursionError:
            raise SpecError("the document is nested too deeply") from None
        except msgspec.DecodeError as error:
            try:
                return encode_json(decode_yaml(text))
            except SpecError:
                raise SpecError(f"the document is not valid JSON: {_json_fault(text) or error}") from None
    return encode_json(decode_yaml(text))


def _json_fault(text: bytes) -> str:
    """What is wrong with JSON, by line and column, which the fast reader does not count; empty if it is read."""
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def _utf8(data: bytes) -> bytes:
    for mark, encoding in BOMS:
        if data.startswith(mark):
            data = data[len(mark) :]
            return (data if encoding == "utf-8" else data.decode(encoding, "replace").encode()).strip()
    if b"\x00" in data[:4]:
        data = data.decode("utf-16-le" if data[1:2] == b"\x00" else "utf-16-be", "replace").encode()
    return data.strip()


def decode_yaml(text: bytes) -> Any:
    """Decode YAML with the scalars of YAML 1.2: a date and `no` stay strings; raises SpecError with the place."""
    import ryaml

    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        decoded = text.decode("cp1252", "replace")
    if MERGE.search(decoded):
        return _decode_yaml_slowly(decoded)
    try:
        return ryaml.loads(decoded)  # type: ignore[attr-defined]
    except (ValueError, RecursionError):
        return _decode_yaml_slowly(decoded)


def _decode_yaml_slowly(text: str) -> Any:
    """Decode what the fast reader refuses or lacks: integers beyond 64 bits, doubled keys, odd tags, merge keys."""
    import yaml

    from restgpt.specs.reading.scalars import ScalarLoader

    try:
        document = yaml.load(text, Loader=ScalarLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SpecError(f"the document is neither JSON nor YAML: {_yaml_fault(error)[:300]}") from None
    _check_expansion(document)
    return document


def _yaml_fault(error: Exception) -> str:
    """What is wrong with YAML, by line and column where that is known."""
    import yaml

    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark):
        return f"{error.problem} in line {mark.line + 1}, column {mark.column + 1}"
    return " ".join(str(error).split())


def _check_expansion(document: Any) -> None:
    """Refuse a document whose aliases would expand without bound, or contain themselves."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size_of(node: Any) -> int:
        if not isinstance(node, dict | list):
            return 1
        known = sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in open_nodes:
            raise SpecError("the document has a YAML alias that contains itself")
        open_nodes.add(id(node))
        children = node.values() if isinstance(node, dict) else node
        sizes[id(node)] = total = 1 + sum(size_of(child) for child in children)
        open_nodes.discard(id(node))
        if total > EXPANDED_NODES:
            raise SpecError(f"the aliases of the document expand to more than {EXPANDED_NODES:,} nodes")
        return total

    try:
        size_of(document)
    except RecursionError:
        raise SpecError("the document is nested too deeply") from None

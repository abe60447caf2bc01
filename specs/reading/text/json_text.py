"""The JSON text of a document: JSON or YAML in any Unicode encoding becomes UTF-8 JSON."""

import codecs
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from restgpt.specs.problem import SpecError
from restgpt.specs.reading.text.nesting import is_too_deep
from restgpt.specs.reading.text.yaml_text import decode_yaml

# A longer text that is almost JSON, such as one with a comma at its end, is not tried as YAML.
FAULTY_MOST = 10_000_000
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def json_bytes(data: bytes) -> bytes:
    """Convert JSON or YAML in any Unicode encoding to UTF-8 JSON; raises SpecError with line and column."""
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
            if len(text) > FAULTY_MOST:
                raise SpecError(f"the document is not valid JSON: {error}") from None
            try:
                return encode_json(decode_yaml(text))
            except SpecError:
                raise SpecError(f"the document is not valid JSON: {_json_fault(text) or error}") from None
    return encode_json(decode_yaml(text))


def _json_fault(text: bytes) -> str:
    """Return the syntax error with line and column, which msgspec does not count; empty if `json` finds none."""
    if is_too_deep(text):
        return ""
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return ""


def _utf8(data: bytes) -> bytes:
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            data = data[len(mark) :]
            return (data if encoding == "utf-8" else data.decode(encoding, "replace").encode()).strip()
    if b"\x00" in data[:4]:
        data = data.decode("utf-16-le" if data[1:2] == b"\x00" else "utf-16-be", "replace").encode()
    return data.strip()


def encode_json(document: Any) -> bytes:
    """Encode decoded JSON or YAML as JSON, with every key as a string; raises SpecError for values that JSON lacks."""
    try:
        return msgspec.json.encode(document)
    except (TypeError, ValueError, OverflowError, RecursionError, AttributeError):
        return _encode_odd_json(document)


def _encode_odd_json(document: Any) -> bytes:
    """Encode values that msgspec refuses: keys that are null or lists, integers beyond 64 bits."""
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

"""YAML text decoded with the scalars of YAML 1.2: a date and `no` stay strings."""

import re
from typing import Any

from restgpt.specs.problem import SpecError

EXPANDED_NODES = 30_000_000
# Merge keys belong to YAML 1.1, but documents that share parts by aliases rely on them.
MERGE = re.compile(r"<<[ \t]*:")


def decode_yaml(text: bytes) -> Any:
    """Decode YAML with the scalars of YAML 1.2; raises SpecError with line and column."""
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
    """Decode by PyYAML what ryaml refuses or lacks: integers beyond 64 bits, repeated keys, odd tags, merge keys."""
    import yaml

    from restgpt.specs.reading.yaml_scalars import ScalarLoader

    try:
        document = yaml.load(text, Loader=ScalarLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SpecError(f"the document is neither JSON nor YAML: {_yaml_fault(error)[:300]}") from None
    _check_expansion(document)
    return document


def _yaml_fault(error: Exception) -> str:
    """Return the syntax error, with line and column if they are known."""
    import yaml

    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark):
        return f"{error.problem} in line {mark.line + 1}, column {mark.column + 1}"
    return " ".join(str(error).split())


def _check_expansion(document: Any) -> None:
    """Raise SpecError if the aliases of a document contain themselves or expand to too many nodes."""
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

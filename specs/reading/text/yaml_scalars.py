"""A PyYAML loader with the scalars of YAML 1.2, which accepts repeated keys and unknown tags."""

import re
from typing import Any

import yaml
from yaml.constructor import ConstructorError

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:
    from yaml import SafeLoader  # type: ignore[assignment]

# How many pairs the mappings of a document have together, counted again wherever they are merged.
MERGED_MOST = 500_000
RESOLVERS = tuple(
    (f"tag:yaml.org,2002:{kind}", re.compile(pattern), first)
    for kind, pattern, first in (
        ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
        ("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789"),
        (
            "float",
            r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
            "-+0123456789.",
        ),
        ("null", r"^(?:~|null|Null|NULL|)$", "~nN"),
        ("merge", r"^(?:<<)$", "<"),
    )
)


class ScalarLoader(SafeLoader):
    """A safe loader without the dates, sexagesimal numbers, octals and yes/no booleans of YAML 1.1."""

    merged = 0
    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put the pairs of merge keys into a mapping; raises ConstructorError if they are too many in the document."""
        super().flatten_mapping(node)
        self.merged += len(node.value)
        if self.merged > MERGED_MOST:
            raise ConstructorError(None, None, "the merge keys expand to too many pairs", node.start_mark)

    def construct_undefined(self, node: yaml.Node) -> Any:
        """Ignore the tag of a value if it is unknown."""
        if isinstance(node, yaml.MappingNode):
            return self.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return self.construct_sequence(node, deep=True)
        return self.construct_scalar(node)  # type: ignore[arg-type]


def integer(text: str) -> int:
    """Read an integer of YAML 1.2; raises `ValueError` if it has more digits than Python reads."""
    return int(text, 0 if text.startswith(("0o", "0x")) else 10)


def _integer(loader: ScalarLoader, node: yaml.ScalarNode) -> int:
    return integer(str(loader.construct_scalar(node)))


for _tag, _pattern, _first in RESOLVERS:
    ScalarLoader.add_implicit_resolver(_tag, _pattern, list(_first) + ([""] if "null" in _tag else []))
ScalarLoader.add_constructor("tag:yaml.org,2002:int", _integer)
ScalarLoader.add_constructor(None, ScalarLoader.construct_undefined)

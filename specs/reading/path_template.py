"""Variables of path templates, in the spellings that documents use besides the one of OpenAPI.

A value may reach over several segments where the template says so: `{name=projects/*/keys/*}` (google.api.http),
`{+name}` (RFC 6570, section 3.2.3), `{proxy+}` (Amazon API Gateway), `{*rest}` and `{rest:path}` of web frameworks.
"""

import re
from dataclasses import dataclass

VARIABLE = re.compile(r"\{((?:[^{}]|\{[^{}]*\})+)\}")
ONE, ALL = "*", "**"
"""The patterns of one segment, and of any number of them."""

# After a colon a route converter, or a regular expression.
_CONVERTER = r":\s*(?:path|str|string|int|float|uuid|guid|.*[\[\](){}\\+*?.^$|].*)"
_SPELLING = re.compile(rf"(?P<sign>\+|\*{{0,2}})(?P<name>[\w.$-]+)(?P<rest>\+|\*|=.+|{_CONVERTER})?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a path template: the name of its parameter, and which segments its value may be, with `*` for one.

    A spelling that is not known is a name as it stands.
    """

    name: str
    pattern: str = ONE

    def fits(self, value: str) -> bool:
        """Return whether a value is made of the segments of the pattern."""
        wanted, given = self.pattern.split("/"), value.split("/")
        if wanted[-1] == ALL:
            wanted, given = wanted[:-1], given[: len(wanted) - 1]
        pairs = zip(wanted, given, strict=False)
        return len(wanted) == len(given) and all(
            part == segment or (part == ONE and segment) for part, segment in pairs
        )


def variable(text: str) -> Variable:
    """Read the text between the braces of a variable, or the name of a parameter that repeats it."""
    found = _SPELLING.fullmatch(text)
    if found is None:
        return Variable(text)
    rest = found["rest"] or ""
    if rest.startswith("="):
        return Variable(found["name"], rest[1:])
    is_open = found["sign"] or rest in ("+", "*") or rest.replace(" ", "") in (":path", ":.*", ":.+")
    return Variable(found["name"], ALL if is_open else ONE)


def variables(template: str) -> dict[str, Variable]:
    """Return the variables of a template by name, in their order."""
    return {found.name: found for found in map(variable, VARIABLE.findall(template))}

"""Functions as prompts write them, read back: the arguments, the fields by their paths, and the notes on each."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<=\ )/.+?/(?=[ ,)}\]?]|$)|[\[\](){},]|[^\[\](){},'"\s/]+|.""",
    re.DOTALL | re.VERBOSE,
)
_ENTRY = re.compile(r"\s*(?:… \d+ more: )?(.+?)(\*)?(\??: .*|=.*|\?)?\Z", re.DOTALL)
_HEAD = r"(?:->)?[^\s,:]+(?:, (?:->)?[^\s,:]+)*"
_NOTE = re.compile(rf"(?:In any function, )?({_HEAD}): (.*)\Z", re.DOTALL)
_NEXT = re.compile(rf"(?<=[.…])\s+(?={_HEAD}: )|\n\s*")
_WORD = re.compile(r"(?<!['\w])[A-Za-z_]\w*(?!['\w])")
UNNAMED = "…"
"""The name that stands for more fields in a note."""


class Entry(NamedTuple):
    """An argument or a field: whether it has a star, and the text after its name, empty if it is only named."""

    is_starred: bool
    text: str


class FunctionText(NamedTuple):
    """One function of a prompt, the types of the prompt, and the notes on fields, each with their names or paths.

    The names in the notes below a type begin with that of the type and a dot. `prose` is on no field.
    """

    text: str
    arguments: dict[str, Entry]
    result: Entry
    types: Mapping[str, str]
    notes: list[tuple[list[str], str]]
    prose: str

    def fields(self, text: str) -> tuple[str, dict[str, Entry]]:
        """Return the name of the type that a text is, empty if it is written in place, and the fields of the text."""
        name = next((word for word in _WORD.findall(text) if word in self.types), "") if "{" not in text else ""
        text = self.types[name] if name else text
        start = next((token.end() for token in _TOKEN.finditer(text) if token[0] == "{"), 0)
        return name, _entries(text, start) if start else {}

    def told(self, *names: str) -> str:
        """Return the notes on a field, which has these names, and those on more fields than they name."""
        return " ".join(text for heads, text in self.notes if not {*names, UNNAMED}.isdisjoint(heads))

    def excerpt(self) -> str:
        """Return the text of the function with the types that it uses itself."""
        used = [name for name in dict.fromkeys(_WORD.findall(self.text)) if name in self.types]
        return "\n".join([self.text, *(f"{name} = {self.types[name]}" for name in used)])


def read_function(prompt: str, name: str) -> FunctionText | None:
    """Read the function of that name from the functions of a prompt; None if it has no signature there."""
    blocks = re.split(r"\n(?!  )", prompt)
    own = next((block for block in blocks if block.startswith(f"{name}(")), None)
    if own is None:
        return None
    head, _, below = own.partition("\n")
    types, notes, prose = {}, [], []
    for block in blocks:
        line, _, rest = block.partition("\n")
        key, sign, text = line.partition(" = ")
        if sign and key.isidentifier():
            types[key] = text
            notes += [([f"{key}.{one}" for one in heads], note) for heads, note in _notes(rest)]
        elif line.startswith("In any function"):
            notes += _notes(line)
    for heads, note in _notes(below):
        notes.append((heads, note))
        prose += [] if heads else [note]
    arguments = _entries(head, len(name) + 1)
    return FunctionText(own, arguments, Entry(False, head.rpartition(") -> ")[2]), types, notes, " ".join(prose))


def _notes(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield the sentences on fields with the names of these, and the others without any."""
    for part in _NEXT.split(text):
        note = _NOTE.match(part.strip())
        yield (note[1].replace("->", "").split(", "), note[2]) if note else ([], part)


def _entries(text: str, start: int) -> dict[str, Entry]:
    """Return the entries inside the bracket that opens before `start`, by name."""
    parts, depth, begin = [], 0, start
    for token in _TOKEN.finditer(f"{text})", start):
        depth += (token[0] in ("(", "[", "{")) - (token[0] in (")", "]", "}"))
        if depth < 0 or (token[0] == "," and not depth):
            parts.append(text[begin : token.start()])
            begin = token.end()
        if depth < 0:
            break
    found = (match for match in map(_ENTRY.match, parts) if match)
    return {match[1]: Entry(bool(match[2]), match[3] or "") for match in found}

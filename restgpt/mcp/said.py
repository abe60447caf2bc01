"""The result of a tool, without the protocol: as a text, and as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from restgpt.host.preview import Preview
from restgpt.host.reading import result_uri
from restgpt.tools.request.arguments import validate


@dataclass(frozen=True, slots=True)
class Said:
    """The result of a tool: a text, whether it is an error, and facts for programs.

    `seen` is the preview that the text was made of, if it was: it has the result as data, its image, and where it goes
    on.
    """

    text: str
    is_error: bool = False
    seen: Preview | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def link(self) -> str:
        """The URI at which a result goes on that its preview does not show whole; empty without one."""
        seen = self.seen
        return (
            "" if seen is None or seen.is_whole or not seen.handle else result_uri(seen.handle, seen.pointer, seen.page)
        )

    def structured(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result as data; the body is in it only if it is whole and fits the schema, else the text."""
        found = {"status": "done", **(self.seen.structured if self.seen else {}), **self.facts}
        if "body" in found and not validate(found["body"], answer, ""):
            return found
        return {**{name: item for name, item in found.items() if name != "body"}, "text": self.text}

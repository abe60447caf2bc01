"""The sources of an Arazzo document: which API or document each one stands for, and the operations that steps name."""

import difflib
import re
from collections.abc import Mapping, Sequence

from restgpt.recipes.arazzo.document import Arazzo, SourceDescription, Step
from restgpt.recipes.arazzo.fault import Fault, unsupported
from restgpt.recipes.arazzo.operations import at_pointer, with_id
from restgpt.specs import Api, Operation
from restgpt.specs.api import slug

_PATH = re.compile(r"\{?\$sourceDescriptions\.([A-Za-z0-9_-]+)\.url\}?#(.*)", re.DOTALL)
_NAMED = re.compile(r"\$sourceDescriptions\.([A-Za-z0-9_-]+)\.(.+)", re.DOTALL)


class Sources:
    """The sources of one document; `faults` are those for which nothing was given."""

    def __init__(
        self, document: Arazzo, apis: Sequence[Api] | Mapping[str, Api], documents: Mapping[str, Arazzo] | None = None
    ) -> None:
        self.document = document
        self.documents = dict(documents or {})
        self.apis: dict[str, Api] = {}
        self.faults: list[Fault] = []
        self._given = apis
        openapi = [source for source in document.sources if source.type == "openapi"]
        for number, source in enumerate(document.sources):
            if source.type != "openapi":
                continue
            found = self._api(source, is_only=len(openapi) == 1)
            if found is None:
                text = (
                    f"no API is given for the source {source.name!r} ({source.url}): add it to apis.yaml with this name"
                )
                self.faults.append(Fault(f"/sourceDescriptions/{number}", text))
            else:
                self.apis[source.name] = found

    def _api(self, source: SourceDescription, *, is_only: bool) -> Api | None:
        """Return the API of a source: by its name, its address, the name of its file, or because it is the only one."""
        if isinstance(self._given, Mapping):
            return self._given.get(source.name)
        listed = list(self._given)
        tests = (
            lambda api: source.name in (api.name, api.entry) or slug(source.name) == api.name,
            lambda api: source.url in (api.source, api.location),
            lambda api: bool(api.location) and _file(source.url) == _file(str(api.location)),
            lambda api: is_only and len(listed) == 1,
        )
        for test in tests:
            if len(found := [api for api in listed if test(api)]) == 1:
                return found[0]
        return None

    def within(self, document: Arazzo) -> "Sources":
        """Return the sources of another document, with the same APIs."""
        return Sources(document, self._given, self.documents)

    def operation(self, step: Step) -> Operation | Fault:
        """Return the operation that a step names, or the fault with the field's name as its place."""
        if step.channel_path or step.action or step.correlation_id:
            return Fault("", unsupported("steps that send or receive messages (AsyncAPI)", "Remove the step"))
        if step.operation_path:
            return self._at_path(step.operation_path)
        return self._with_id(step.operation_id)

    def _at_path(self, text: str) -> Operation | Fault:
        place = "/operationPath"
        match = _PATH.fullmatch(text)
        if match is None:
            return Fault(place, "it does not have the form {$sourceDescriptions.<name>.url}#/paths/~1<path>/<method>")
        name, pointer = match.groups()
        if (kind := self._wrong_kind(name)) is not None:
            return Fault(place, kind)
        found = at_pointer(pointer, self.apis[name].operations)
        return found or Fault(place, f"the document of {name!r} has no operation at {pointer[:120]}")

    def _with_id(self, text: str) -> Operation | Fault:
        place = "/operationId"
        match = _NAMED.fullmatch(text)
        if match is None and text.startswith("$"):
            return Fault(place, "it does not have the form $sourceDescriptions.<name>.<operationId>")
        if match is not None and (kind := self._wrong_kind(match[1])) is not None:
            return Fault(place, kind)
        wanted = match[2] if match else text
        apis = [self.apis[match[1]]] if match else list(dict.fromkeys(self.apis.values()))
        found = [item for api in apis for item in with_id(wanted, api.operations)]
        if len(found) == 1:
            return found[0]
        if found:
            return Fault(
                place, f"{len(found)} operations have the id {wanted!r}: write $sourceDescriptions.<name>.{wanted}"
            )
        ids = [item.operation_id for api in apis for item in api.operations if item.operation_id]
        near = difflib.get_close_matches(wanted[:200], ids[:2000], 1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        return Fault(place, f"no operation has the id {wanted[:120]!r}{hint}")

    def _wrong_kind(self, name: str) -> str | None:
        """Return why the operations of a source cannot be called, if they cannot."""
        if name in self.apis:
            return None
        kinds = {source.name: source.type for source in self.document.sources}
        if kinds.get(name) == "asyncapi":
            return unsupported("steps that send or receive messages (AsyncAPI)", "Remove the step")
        if name in kinds:
            return f"the source {name!r} is no OpenAPI document"
        return f"there is no source {name!r}; there are {', '.join(kinds)}"


def _file(address: str) -> str:
    return address.partition("#")[0].partition("?")[0].rstrip("/").rpartition("/")[2]

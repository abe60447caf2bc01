"""An API: its operations, servers, security and search; and `load_api`, the only way to load one."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from restgpt.specs.docs.prose import common_sentences
from restgpt.specs.operation import Operation
from restgpt.specs.problem import BarredOperationError, Problem, SpecError, UnknownOperationError
from restgpt.specs.reach import Reach, Rules
from restgpt.specs.reading.disk_cache import load_cached, open_cached
from restgpt.specs.reading.document import Document, follow_safely
from restgpt.specs.reading.download import read_source
from restgpt.specs.reading.faults import slice_problems
from restgpt.specs.reading.format import open_document, server_entries, type_problems
from restgpt.specs.reading.index import Index, build_index
from restgpt.specs.reading.tree import format_pointer
from restgpt.specs.search.ranking import Search
from restgpt.specs.search.search_index import SearchIndex, load_search_index
from restgpt.specs.security import (
    KINDS,
    Requirement,
    SecurityScheme,
    flat_credentials,
    read_requirements,
    read_scheme,
    requirement_problems,
)
from restgpt.specs.servers import ROOT, Server, absolute_url, no_host, read_servers, server_problems, with_path

MOST_NOTES = 4000
"""The maximum number of characters of the user's notes on an API, which prompts contain unchanged."""

COMMON_SHARE, COMMON_LEAST, SAMPLE = 0.8, 8, 40
"""The part of a sample of operations, and how many at least, that have a common argument, and about its size."""

MOST_COMPARED = 200
"""The maximum number of operations whose descriptions are searched for common sentences."""

SLUG = re.compile(r"[^a-z0-9]+")
TEMPLATE = re.compile(r"\{[^{}]*\}")


class Api:
    """One API: its operations, servers and security, read from the document on demand.

    `auth` maps security schemes to credentials; `repr` never shows it. `notes` is the user's own text about the API.
    `entry` is the name of the entry of `apis.yaml` that the API was loaded from, None if it was loaded from elsewhere.
    `given` are the places and names of what the entry sends with every request; names of headers are in lower case.
    Operations that `reaches` bar are none of the API's: no prompt, search or tool has them, and no lookup finds them.
    """

    def __init__(
        self,
        document: Document,
        index: Index,
        *,
        source: str,
        base_url: str | None = None,
        auth: Mapping[str, Any] | None = None,
        name: str | None = None,
        notes: str = "",
        entry: str | None = None,
        given: Collection[tuple[str, str]] = (),
        reaches: tuple[Reach, ...] = (),
    ) -> None:
        self.document = document
        self._index = index
        self.source = source
        self.entry = entry
        self.given = frozenset(given)
        self.notes = notes.strip()
        if len(self.notes) > MOST_NOTES:
            raise SpecError(f"the notes have {len(self.notes):,} characters: shorten them to at most {MOST_NOTES:,}")
        if base_url and ("?" in base_url or "#" in base_url):
            raise SpecError(
                "the base URL has a query or a fragment: leave it out, or put the query under `query` in apis.yaml"
            )
        if base_url and "@" in base_url.partition("://")[2].partition("/")[0]:
            # It would not be sent, but be kept with every request.
            raise SpecError(
                "the base URL holds a user name: leave it out, and give credentials as RESTGPT_AUTH_<SCHEME>"
            )
        self.base_url = with_path(base_url, self.servers) if base_url else None
        self.auth: Mapping[str, str] = flat_credentials(auth or {})
        self.reaches = reaches
        every = (Operation(self, entry) for entry in index.entries)
        self.operations: Sequence[Operation] = tuple(item for item in every if not reaches or not self.bars(item))
        self._index_problems = [Problem(pointer, message) for pointer, message in index.problems]
        info = document.get(("info",))
        self._info: dict[str, Any] = info if isinstance(info, dict) else {}
        self.name = slug(name or self.title or Path(source).stem)

    def __repr__(self) -> str:
        return f"Api({self.name}: {len(self.operations)} operations from {self.source})"

    @property
    def identity(self) -> str:
        """The key that tells the API from others, which its document cannot choose.

        It is the entry, else the location of the document, else the digest of a document that was given as text.
        """
        if self.entry is not None:
            return entry_identity(self.entry)
        return self.location or f"{self.source}:{self.document.digest}"

    def bars(self, operation: Operation) -> str:
        """Return the rule that bars an operation, as requests of it act; empty if it may be used."""
        return next((rule for reach in self.reaches if (rule := reach.bars(operation))), "")

    def within(self, *reaches: Reach) -> "Api":
        """Return the API without the operations that further reaches bar too; the same if they have no rules."""
        new = [reach for reach in reaches if reach not in (*self.reaches, Reach())]
        return self._with((*self.reaches, *new)) if new else self

    @cached_property
    def whole(self) -> "Api":
        """The API without reaches, to find the rule that bars an operation."""
        return self._with(()) if self.reaches else self

    def _with(self, reaches: tuple[Reach, ...]) -> "Api":
        options: dict[str, Any] = {"base_url": self.base_url, "auth": self.auth, "name": self.name, "notes": self.notes}
        options |= {"entry": self.entry, "given": self.given, "reaches": reaches}
        return Api(self.document, self._index, source=self.source, **options)

    @property
    def title(self) -> str:
        """The title of the API."""
        return str(self._info.get("title") or "").strip()

    @property
    def version(self) -> str:
        """The version of the API, not of OpenAPI."""
        return str(self._info.get("version") or "")

    @property
    def description(self) -> str:
        """The description of the API."""
        return str(self._info.get("description") or "").strip()

    @property
    def tag_descriptions(self) -> dict[str, str]:
        """The descriptions of the declared tags, by their names."""
        tags = self.document.get(("tags",))
        listed = [tag for tag in tags if isinstance(tag, dict)] if isinstance(tags, list) else []
        described = [tag for tag in listed if isinstance(tag.get("description"), str)]
        found = {" ".join(str(tag.get("name") or "").split()): tag["description"] for tag in described}
        gone = self._gone(lambda item: item.tags)
        return {tag: text for tag, text in found.items() if tag not in gone}

    @property
    def path_descriptions(self) -> dict[str, str]:
        """The descriptions of path items, which hold for all operations of a path (OpenAPI 3.1, section 4.8.9)."""
        found = {path: self.document.get(("paths", path, "description")) for path in self.document.names("paths")}
        gone = self._gone(lambda item: (item.path,))
        return {path: text for path, text in found.items() if isinstance(text, str) and path not in gone}

    def _gone(self, places: Callable[[Operation], Iterable[str]]) -> set[str]:
        """Return the tags or paths that only barred operations have."""
        every, left = ({place for item in api.operations for place in places(item)} for api in (self.whole, self))
        return every - left

    @cached_property
    def common_sentences(self) -> tuple[str, ...]:
        """The sentences that stand in the descriptions of most operations, by at most `MOST_COMPARED` of them."""
        step = len(self.operations) // MOST_COMPARED + 1
        return common_sentences([operation.description for operation in self.operations[::step]])

    @cached_property
    def common_arguments(self) -> frozenset[str]:
        """The optional arguments of the query that nearly all operations have, by a sample."""
        sample = self.operations[:: max(1, len(self.operations) // SAMPLE)]
        items = (item for one in sample for item in one.keywords if item.location == "query" and not item.required)
        least = max(COMMON_LEAST, COMMON_SHARE * len(sample))
        return frozenset(name for name, count in Counter(item.name for item in items).items() if count >= least)

    @property
    def location(self) -> str | None:
        """The URL or file URI of the document, None if it was given as text."""
        return self.document.location

    @cached_property
    def problems(self) -> list[Problem]:
        """The problems of the document, each with its JSON pointer; the document is searched on first use."""
        found = [*self._index_problems, *self._server_problems(), *self._security_problems()]
        if self.document.is_swagger2:
            found += type_problems({key: self.document.get((key,)) for key in ("consumes", "produces")}, "")
        return [*found, *slice_problems(self.document)]

    def _server_problems(self) -> list[Problem]:
        if self.base_url is not None:
            return []
        if any(absolute_url(server, self.location) for server in self.servers):
            return server_problems(self.servers, "/servers")
        return [Problem("/servers", f"{no_host(self.servers)}; give one with --base-url or base_url=")]

    def _security_problems(self) -> list[Problem]:
        """List the schemes that cannot be used, and the required ones that the document does not declare."""
        home = ("securityDefinitions",) if self.document.is_swagger2 else ("components", "securitySchemes")
        found = []
        for key in self.document.names(*home):
            scheme = self.security_schemes.get(key)
            if scheme is None or scheme.type not in KINDS:
                kind = "no type" if scheme is None else f"the unknown type {scheme.type!r}"
                found.append(Problem(format_pointer((*home, key)), f"the security scheme has {kind}"))
            elif scheme.fault:
                found.append(Problem(format_pointer((*home, key)), scheme.fault))
        found += requirement_problems(self.document.get(("security",)), "/security")
        missing = {name for requirement in self.security for name in requirement} - self.security_schemes.keys()
        return [
            *found,
            *(Problem("/security", f"nothing declares the security scheme {name}") for name in sorted(missing)),
        ]

    @cached_property
    def servers(self) -> tuple[Server, ...]:
        """The servers of the document; for Swagger 2.0, built from host, basePath and schemes."""
        if self.document.is_swagger2:
            root = {key: self.document.get((key,)) for key in ("host", "basePath", "schemes")}
            return read_servers(server_entries(root)) or (ROOT,)
        return read_servers(self.document.get(("servers",))) or (ROOT,)

    @cached_property
    def security(self) -> tuple[Requirement, ...]:
        """The security requirements of every operation that declares none itself."""
        return read_requirements(self.document.get(("security",)))

    @cached_property
    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """The declared security schemes, by name."""
        home = ("securityDefinitions",) if self.document.is_swagger2 else ("components", "securitySchemes")
        found = {}
        for key in self.document.names(*home):
            scheme = read_scheme(key, follow_safely(self.document, self.document.get((*home, key))))
            if scheme is not None:
                found[key] = scheme
        return found

    @property
    def needed_schemes(self) -> list[str]:
        """The names of the security schemes of which its operations need one or several."""
        return list(dict.fromkeys(name for item in self.operations for one in item.security for name in one))

    @cached_property
    def _by_key(self) -> dict[str, Operation]:
        keys: dict[str, Operation] = {}
        for form in ("name", "long_name", "operation_id", "signature", "shape"):
            for operation in self.operations:
                key = _key(operation, form)
                if key:
                    keys.setdefault(key, operation)
        return keys

    @cached_property
    def _by_path(self) -> dict[str, list[Operation]]:
        found: dict[str, list[Operation]] = {}
        for operation in self.operations:
            for path in {operation.path, operation.path.rpartition("/")[0]}:
                found.setdefault(path, []).append(operation)
        return found

    def near_path(self, path: str) -> Sequence[Operation]:
        """Return the operations on a path and those one segment below it, in the order of the document."""
        return self._by_path.get(path, ())

    def lookup(self, key: str) -> Operation | None:
        """Find an operation by name, operationId or `METHOD /path`; the names of path variables may differ."""
        wanted = " ".join(key.split())
        method, _, path = wanted.partition(" ")
        signature = f"{method.upper()} {path}"
        return (
            self._by_key.get(wanted)
            or self._by_key.get(signature)
            or (self._by_key.get(TEMPLATE.sub("{}", signature)) if path else None)
        )

    def operation(self, key: str) -> Operation:
        """Find an operation by name, operationId or `METHOD /path`; raises UnknownOperationError with similar ones."""
        found = self.lookup(key)
        if found is None:
            if barred := self.whole.lookup(key):
                raise BarredOperationError(key, self.bars(barred))
            near = [f"{item.name} ({item.method} {item.path})" for item in self.search(key, 3)]
            raise UnknownOperationError(key, near)
        return found

    def search(self, text: str, k: int = 10) -> list[Operation]:
        """Return the `k` operations that fit a text best."""
        return [self.operations[number] for _, number in self._search.find(text, k)]

    @cached_property
    def _search(self) -> Search:
        return Search((self.search_index,))

    @cached_property
    def search_index(self) -> SearchIndex:
        """The search index of the operations, built on first use and kept in the disk cache."""
        return load_search_index(self.document, self.operations)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {operation.name: number for number, operation in enumerate(self.operations)}

    def producers(self, operation: Operation) -> Mapping[str, tuple[Operation, ...]]:
        """Map each identifier that an operation takes to the operations that yield it, best first."""
        found = self.search_index.producers_of(self._numbers[operation.name])
        return {name: tuple(self.operations[number] for number in numbers) for name, numbers in found.items()}


def _key(operation: Operation, form: str) -> str:
    if form in ("name", "long_name", "operation_id"):
        return str(getattr(operation, form))
    path = operation.path if form == "signature" else TEMPLATE.sub("{}", operation.path)
    return f"{operation.method} {path}"


def slug(text: str) -> str:
    """Turn a title into a short name of lower-case letters, digits and hyphens."""
    return SLUG.sub("-", text.lower()).strip("-")[:40].strip("-") or "api"


def entry_identity(entry: str) -> str:
    """Return the `identity` of the API that an entry of `apis.yaml` stands for."""
    return f"apis.yaml:{slug(entry)}"


def load_api(
    source: "str | Path | bytes | Mapping[str, Any]",
    *,
    base_url: str | None = None,
    auth: Mapping[str, Any] | None = None,
    name: str | None = None,
    notes: str = "",
    entry: str | None = None,
    cache: Path | None = None,
    allow_external: bool = False,
    given: Collection[tuple[str, str]] = (),
    include: Rules | None = None,
    exclude: Rules = (),
) -> Api:
    """Load an API from a path, URL, text, bytes or mapping; raises SpecError if it is not OpenAPI.

    `base_url` overrides the servers of the document, `auth` maps security schemes to credentials, `notes` is the
    user's own text about the API, which models read, `entry` is the entry of `apis.yaml` that names the source, `cache`
    is a folder for the disk cache, and external references are read only with `allow_external`. `given` are the places
    and names of the parameters that the entry sends with every request, so that nobody is asked for them. Only the
    operations that a rule of `include` fits may be used, or all without one, and none that a rule of `exclude` fits: a
    rule is a mapping as in `apis.yaml`, or a text such as `method=DELETE path=/trips/**`.
    """
    label, document, index = _read(source, cache, allow_external)
    options: dict[str, Any] = {"base_url": base_url, "auth": auth, "name": name, "notes": notes, "entry": entry}
    return reached([Api(document, index, source=label, given=given, **options)], Reach.of(include, exclude))[0]


def reached(apis: Sequence[Api], *reaches: Reach) -> list[Api]:
    """Return APIs without the operations that reaches bar; raises SpecError for a rule to exclude what no API has."""
    for rule in (reach.unfit([item for api in apis for item in api.whole.operations]) for reach in reaches):
        if rule is not None:
            raise SpecError(f"The rule `exclude: {rule}` fits no operation. Correct it, or remove it")
    return [api.within(*reaches) for api in apis]


def _read(
    source: "str | Path | bytes | Mapping[str, Any]", cache: Path | None, allow_external: bool
) -> tuple[str, Document, Index]:
    """Read a document, from the disk cache if it has not changed."""
    if cache is not None:
        if isinstance(source, str | Path):
            opened = open_cached(source, cache, allow_external=allow_external)
            if opened is not None:
                return opened[0].label, opened[1], opened[2]
        found = read_source(source)
        document, index = load_cached(found, cache, allow_external=allow_external)
        return found.label, document, index
    found = read_source(source)
    document = open_document(found, allow_external=allow_external)
    return found.label, document, build_index(document)

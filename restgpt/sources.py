"""The APIs that a user names: entries of apis.yaml, and documents by path or URL."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from restgpt.tools.errors import SettingsError

if TYPE_CHECKING:
    from restgpt.specs import Api, Operation
    from restgpt.specs.reach import Reach
    from restgpt.tools.settings import Settings


@dataclass(frozen=True, slots=True)
class Sources:
    """The named APIs, with absolute paths, so that they mean the same in every working directory.

    `reaches` bar operations of them, beside those of `apis.yaml`. With `external`, documents may refer to other files.
    """

    names: tuple[str, ...] = ()
    specs: tuple[str, ...] = ()
    base_url: str | None = None
    reaches: "tuple[Reach, ...]" = ()
    external: bool = False

    @classmethod
    def given(
        cls,
        names: Sequence[str] | None = None,
        specs: Sequence[str] | None = None,
        base_url: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        external: bool | None = None,
    ) -> "Sources":
        """Make sources from the options.

        Raises `SettingsError` for an invalid base URL or a URL with a password, and `SpecError` for an invalid rule.
        """
        from restgpt.specs.reach import Reach
        from restgpt.tools.settings.entry import is_http_address

        if base_url is not None and not is_http_address(base_url):
            raise SettingsError(
                f"--base-url {base_url} is not an HTTP URL. Write a URL such as https://api.example.com/v1"
            )
        reaches = (Reach.of(include or None, exclude or ()),) if include or exclude else ()
        own = tuple(_absolute(spec) for spec in specs or ())
        sources = cls(tuple(names or ()), own, base_url, reaches, bool(external))
        for url in (*sources.specs, *([base_url] if base_url else [])):
            if urlsplit(url).scheme in ("http", "https") and "@" in urlsplit(url).netloc:
                raise SettingsError(
                    "A URL contains a user name or password, which would be saved with the thread. Remove it. Set the "
                    "credentials of the API as RESTGPT_AUTH_SCHEME. Download a protected document, and give its path."
                )
        if base_url is not None and len(sources.names) + len(sources.specs) != 1:
            raise SettingsError("--base-url is the base URL of one API. Give exactly one --spec or --api with it.")
        return sources

    @classmethod
    def of(cls, apis: "Sequence[Api]") -> "Sources":
        """Return from where APIs can be loaded again; one that was given as text is left out."""
        own = [api for api in apis if api.entry is None and api.location is not None]
        base_url = apis[0].base_url if len(apis) == 1 else None
        reaches = tuple(replace(reach, identity=api.identity) for api in apis for reach in api.reaches)
        entries, external = (
            tuple(api.entry for api in apis if api.entry),
            any(one.document.allow_external for one in own),
        )
        return cls(entries, tuple(str(api.location) for api in own), base_url, reaches, external)

    @property
    def is_empty(self) -> bool:
        """Whether no API is named."""
        return not self.names and not self.specs

    def or_all(self, settings: "Settings") -> "Sources":
        """Return these sources, or all entries of apis.yaml if none is named; raises `SettingsError` without one."""
        if not self.is_empty:
            return self
        if not settings.apis:
            raise SettingsError(
                "No API was given. Give a document with --spec openapi.yaml, or an entry of apis.yaml with --api NAME."
            )
        return replace(self, names=tuple(settings.apis))

    def instead_of(self, earlier: "Sources") -> "Sources":
        """Return the sources of a further turn: these, or the earlier ones if none is named, in the reaches of both."""
        return (earlier if self.is_empty else self).within(*(self if self.is_empty else earlier).reaches)

    def within(self, *reaches: "Reach") -> "Sources":
        """Return the same sources in further reaches."""
        return replace(self, reaches=(*self.reaches, *reaches))

    def load(self, settings: "Settings") -> "list[Api]":
        """Load the named APIs; raises `SettingsError`, `SpecError`."""
        from restgpt.specs.api import reached

        apis = [load_named(name, settings, base_url=self.base_url) for name in self.names]
        apis += [_load(spec, settings, base_url=self.base_url, external=self.external) for spec in self.specs]
        return reached(apis, *self.reaches)


def load_named(name: str, settings: "Settings", *, base_url: str | None = None) -> "Api":
    """Load an entry of apis.yaml; raises `SettingsError` if no entry has this name."""
    if name not in settings.apis:
        raise SettingsError(
            f"apis.yaml has no entry {name}. {settings.entries} Add an entry, or give a document with --spec."
        )
    return settings.load(name, base_url=base_url)


def load_source(source: str, settings: "Settings") -> "Api":
    """Load a document by path or URL, or an entry of apis.yaml by its name; raises `SettingsError`, `SpecError`."""
    if not Path(source).exists():
        if source in settings.apis:
            return load_named(source, settings)
        if source.isidentifier():
            raise SettingsError(f"There is no file {source}, and no entry of that name. {settings.entries}")
    return _load(_absolute(source), settings)


def _load(spec: str, settings: "Settings", *, base_url: str | None = None, external: bool = False) -> "Api":
    from restgpt.specs import load_api

    cache, allow_external = settings.home / "index", settings.allow_external or external
    return settings.reached(load_api(spec, base_url=base_url, cache=cache, allow_external=allow_external))


def find_operation(key: str, apis: "Sequence[Api]") -> "Operation":
    """Find an operation by name, operationId or `METHOD /path`; raises `UnknownOperationError` with similar names."""
    from restgpt.specs import Catalogue

    return Catalogue(apis).operation(key)


def _absolute(spec: str) -> str:
    if urlsplit(spec).scheme in ("http", "https", "file"):
        return spec
    return str(Path(spec).expanduser().absolute())

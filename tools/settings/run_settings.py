"""The settings that one run brings: validated by the pydantic model of a graph's context, and offered by its schema."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from restgpt.tools.errors import SettingsError

RunSettings = TypeVar("RunSettings", bound=BaseModel)


def checked_settings(schema: type[RunSettings], given: Mapping[str, Any]) -> RunSettings:
    """Validate the settings of a run; raises `SettingsError` that names each invalid setting and all settings."""
    try:
        return schema(**given)
    except ValidationError as error:
        known = ", ".join(name for name in schema.model_fields if name != "apis")
        raise SettingsError(f"Invalid settings: {problems_of(error)}. The settings of a run are: {known}.") from None


def problems_of(error: ValidationError) -> str:
    """Return each problem that pydantic found, with its place."""
    return "; ".join(map(_problem, error.errors(include_url=False)))


def _problem(item: ErrorDetails) -> str:
    place, what = ".".join(map(str, item["loc"])), item["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{place}: {what}" if place else what


def offering_apis(schema: type[RunSettings], names: Sequence[str]) -> type[RunSettings]:
    """Return a model with the same settings whose JSON schema lists `names` as the values that `apis` can have.

    A run is still validated by `schema` and by the APIs that it finds, whose names may be spelled in several ways.
    """
    given = schema.model_fields.get("apis")
    if given is None or not names:
        return schema
    name = Annotated[str, Field(json_schema_extra={"enum": list(names)})]
    about = f"{given.description} The configured APIs are: {', '.join(names)}."
    apis: Any = (list[name], Field(default_factory=list, description=about))
    return create_model(schema.__name__, __base__=schema, __doc__=schema.__doc__, apis=apis)

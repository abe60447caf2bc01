"""The settings that one run brings: validated by the pydantic model of a graph's context."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from restgpt.tools.errors import SettingsError

RunSettings = TypeVar("RunSettings", bound=BaseModel)


def checked_settings(schema: type[RunSettings], given: Mapping[str, Any]) -> RunSettings:
    """Validate the settings of a run; raises `SettingsError` that names each invalid setting and all settings."""
    try:
        return schema(**given)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False)]
        known = ", ".join(name for name in schema.model_fields if name != "apis")
        raise SettingsError(f"Invalid settings: {'; '.join(problems)}. The settings of a run are: {known}.") from None

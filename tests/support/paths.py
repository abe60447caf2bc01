"""APIs of tests that are written as the paths of a document, in YAML."""

from typing import Any

import yaml

from restgpt.specs import Api, load_api


def read_paths(text: str, *, title: str = "t", **schemas: Any) -> Api:
    """Load an OpenAPI document that has these paths and named schemas."""
    info = {"title": title, "version": "1"}
    paths = yaml.safe_load(text)
    return load_api({"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}})

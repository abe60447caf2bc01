"""Gorilla OpenFunctions: a prompt and function documentation in, function calls out, none of them executed."""

from restgpt.functions.calls.parsing import parse_calls
from restgpt.functions.calls.rendering import render_calls
from restgpt.functions.docs.loading import load_functions

__all__ = ["load_functions", "parse_calls", "render_calls"]

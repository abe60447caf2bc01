"""Gorilla OpenFunctions: a prompt and function documentation in, function calls out, none of them executed."""

from restgpt.functions.calls.parsing import parse_calls, render_calls

__all__ = ["parse_calls", "render_calls"]

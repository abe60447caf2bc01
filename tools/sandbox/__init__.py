"""A sandbox for generated Python."""

from restgpt.tools.sandbox.result import Limits, SandboxResult
from restgpt.tools.sandbox.runner import run_python

__all__ = ["Limits", "SandboxResult", "run_python"]

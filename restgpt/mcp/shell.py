"""Commands of `restgpt` for the shell of a person, which has neither the folder nor the environment of the server."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from restgpt.tools.settings import Settings


@dataclass(frozen=True, slots=True)
class Shell:
    """The words before each command, and the names of the variables that the shell must have: never their values."""

    words: tuple[str, ...] = ("restgpt",)
    variables: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> "Shell":
        """Return the commands that use the home and the `apis.yaml` of these settings."""
        own = Path(sys.executable).with_name("restgpt")
        program = [str(own)] if own.exists() else [sys.executable, "-m", "restgpt"]
        file = settings.apis_file
        paths = {"RESTGPT_HOME": settings.home, **({"RESTGPT_APIS": file} if file else {})}
        return cls(
            ("env", *(f"{name}={path.absolute()}" for name, path in paths.items()), *program), settings.variables
        )

    @property
    def needs(self) -> str:
        """The sentence about the variables."""
        return f"Their shell must have the variables {', '.join(self.variables)}. " if self.variables else ""

    def line(self, *words: str) -> str:
        """Return a command, to be pasted into a shell."""
        return shlex.join([*self.words, *words])

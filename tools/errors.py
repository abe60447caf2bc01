"""The error tree of the project: errors that the model may repair, and errors that only the user can.

    RestgptError
    ├── RepairableError            the model gets it as an observation and may choose differently
    │   ├── ArgumentError          the arguments do not fit the operation: the caller repairs them
    │   └── HttpFault              no usable answer came back: the planner gets the reason
    │       ├── AddressFault       the address is not one that this API may be reached at
    │       ├── ResolveFault       the host name has no address
    │       ├── ConnectFault       no server accepts connections there
    │       ├── TlsFault           the certificate or the handshake failed
    │       ├── TimeoutFault       too slow, or the time budget is used up
    │       ├── BrokenFault        the connection broke, or the answer is not HTTP
    │       ├── RedirectFault      the server redirects to an address that is not followed
    │       └── BoundFault         headers or data past their bounds, or an unknown compression
    └── StoppingError              the run cannot go on without the user
        ├── SettingsError          a value in the environment or apis.yaml is impossible
        │   └── FolderError        the working directory has such a file, but nobody allowed the folder
        ├── WaitingError           a program waits longer than a run does; the run goes on later
        ├── MissingCredentialError the operation needs a credential that nobody gave
        ├── RefusedCredentialError the API does not accept the credential of the operation
        ├── LoginError             the authorization server refused, or nobody finished logging in
        ├── OutdatedDecisionError  a person answered a question that is no longer open
        ├── UnfinishedProgramError a thread was given a program while another one waits
        └── UnforeseenError        takes the place of an error that nobody foresaw and whose text holds a secret

`tools/model/model_errors.py` draws the branch of chat models below StoppingError. `restgpt.specs` cannot import this
module, so SpecError and UnknownOperationError stand outside the tree.

The command that installs an extra, or a distribution beside RestGPT, from where RestGPT was installed (PEP 610).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

from restgpt.specs.reading.tree import marked


class RestgptError(RuntimeError):
    """Any failure that this project foresees; its message names cause and remedy and holds no secret.

    A built-in family, because LangGraph's server shows a client the messages of those only.
    """


class RepairableError(RestgptError):
    """A failure that the model gets as an observation."""


class StoppingError(RestgptError):
    """A failure that ends the run, since only the user can help."""


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """One argument that does not fit; `pointer` is a JSON pointer into the grouped arguments, as in `/query/page`.

    With `may_insist`, the document may be wrong in it: a model that read the refusal may give the same value again.
    """

    pointer: str
    message: str
    may_insist: bool = False

    def __str__(self) -> str:
        return marked(f"{self.pointer or '/'}: {self.message}")


INSIST = "If the document is wrong about its server there, make the same call again: then it is sent as it is."
"""What a model reads after a refusal in which the document may be wrong."""


def told(error: BaseException) -> str:
    """Return the text of an error for a model, which may insist where a document has refused a value."""
    return f"{error}\n{INSIST}" if isinstance(error, ArgumentError) and error.claims else str(error)


class ArgumentError(RepairableError):
    """The arguments do not fit the operation; `example` holds minimal valid ones.

    `claims` name the values on which a model may insist that reads this error: those of `PreparedRequest.claims`.
    """

    def __init__(
        self,
        problems: Sequence[ArgumentProblem],
        example: Mapping[str, Any] | None = None,
        *,
        operation: str = "",
        claims: Sequence[str] = (),
    ) -> None:
        self.problems = tuple(problems)
        self.claims = tuple(claims)
        self.example = dict(example or {})
        self.operation = operation
        subject = f"the arguments of {operation} do not fit" if operation else "the arguments do not fit"
        super().__init__(f"{subject}: {'; '.join(str(problem) for problem in self.problems)}")


class HttpFault(RepairableError):
    """A request that brought no usable answer.

    With `outcome_unknown` the server may have acted on the request. With `repairable` the same or another call may
    succeed without a change of the configuration.
    """

    repairable: ClassVar[bool] = True

    def __init__(self, message: str, *, outcome_unknown: bool = False) -> None:
        super().__init__(message)
        self.outcome_unknown = outcome_unknown


class AddressFault(HttpFault):
    """The address is not among those of the API, or is private without being configured."""

    repairable = False


class ResolveFault(HttpFault):
    """The host name has no address."""


class ConnectFault(HttpFault):
    """No server accepts connections at the address; no request was sent."""


class TlsFault(HttpFault):
    """The certificate or the TLS handshake failed; no request was sent."""

    repairable = False


class TimeoutFault(HttpFault):
    """The server was too slow, or the time budget is used up."""


class BrokenFault(HttpFault):
    """The connection broke before the whole answer was read, or the answer is not HTTP."""


class RedirectFault(HttpFault):
    """The server redirects to an address that is not followed."""

    repairable = False


class BoundFault(HttpFault):
    """The headers or the decompressed data are past their bounds."""

    repairable = False


class SettingsError(StoppingError):
    """A value in the environment or in apis.yaml is impossible; the message names the place."""


class FolderError(SettingsError):
    """The working directory has `files` that RestGPT does not use, because nobody allowed the folder."""

    def __init__(self, folder: Path, files: str) -> None:
        self.folder = folder
        self.files = files
        super().__init__(
            f"{folder} has {files}, which can send requests, prompts and credentials elsewhere, and change what is "
            "asked about. If you trust this folder, run `restgpt allow` there once. Else run the command in another "
            "folder, or name files of your own: restgpt --env-file FILE --apis FILE COMMAND."
        )


class MissingCredentialError(StoppingError):
    """An operation needs a credential that nobody gave; one of the environment variables in `variables` gives it.

    With `can_log_in`, so does an operation whose answer sets a session cookie.
    """

    def __init__(self, message: str, variables: Sequence[str] = (), *, can_log_in: bool = False) -> None:
        super().__init__(message)
        self.variables = tuple(variables)
        self.can_log_in = can_log_in


class RefusedCredentialError(StoppingError):
    """The API answered with `status` that it does not accept the credential, or misses one, of an operation."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class LoginError(StoppingError):
    """The authorization server refused, or nobody finished logging in."""


class UnforeseenError(StoppingError):
    """Takes the place of an error that nobody foresaw and whose text holds a secret."""


def name_and_place(error: BaseException) -> str:
    """Return the type of an error and where it was raised, as `KeyError at build.py:12`, without its text."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f" at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last is not None else ""
    return f"{type(error).__name__}{place}"


class OutdatedDecisionError(StoppingError):
    """The question is no longer open: it was answered already, or another question has replaced it."""

    def __init__(self, thread: str) -> None:
        super().__init__(
            f"This question of thread {thread} is no longer open: it was answered already, or another one has replaced "
            "it. Look at the state of the thread, and decide on that. This decision sent nothing."
        )


class WaitingError(StoppingError):
    """A program waits longer than a run does: the thread is saved, and goes on when it is resumed later."""

    def __init__(self, until: float, operation: str, thread: str) -> None:
        moment = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        after = f" before it goes on after {operation}" if operation else ""
        super().__init__(
            f"The program waits until {moment}{after}. Thread {thread} is saved and makes no request meanwhile. It "
            "goes on when it is resumed after that time; `restgpt resume --due` does so for all such threads."
        )


class UnfinishedProgramError(StoppingError):
    """A thread was given another program while one has not ended."""

    def __init__(self, thread: str) -> None:
        super().__init__(
            f"The program of thread {thread} has not ended: it waits for a person's decision, or its run was stopped. "
            "Decide it or resume the thread, or run the other program in a thread of its own. Nothing was sent."
        )


PACKAGE, BENCH, FUNCTIONS = "restgpt", "restgpt-bench", "restgpt-functions"


def extra_command(extra: str, package: str = PACKAGE) -> str:
    """Return the command that installs an extra of a package, or the package alone."""
    # A folder on the path, such as that of the sources, may have metadata too, which record no installation.
    origins = (found.read_text("direct_url.json") for found in distributions(name=PACKAGE))
    return command_of(next(filter(None, origins), None), extra, package)


def command_of(origin: str | None, extra: str, package: str = PACKAGE) -> str:
    """Return the command for the record `origin` of the installation of RestGPT, None for one from an index.

    Another distribution is a folder of the sources, and has a wheel beside that of RestGPT.
    """
    found = json.loads(origin) if origin else {}
    url, wanted = str(found.get("url", "")), package + (f"[{extra}]" if extra else "")
    folder = "" if package == PACKAGE else package
    if "dir_info" in found:
        editable = "--editable " if found["dir_info"].get("editable") else ""
        path = url2pathname(urlsplit(url).path + (folder and f"/{folder}"))
        return f"pip install {editable}'{path}{wanted.removeprefix(package)}'"
    if "vcs_info" in found:
        url = f"{found['vcs_info']['vcs']}+{url}@{found['vcs_info']['commit_id']}"
    if url.endswith(".whl"):
        url = f"{package.replace('-', '_')}-".join(url.rsplit(f"{PACKAGE}-", 1))
    elif folder:
        url += url and f"#subdirectory={folder}"
    return f"pip install '{wanted} @ {url}'" if url else f"pip install '{wanted}'"

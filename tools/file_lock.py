"""A lock of a file, between processes and between threads: the system releases it when its process ends for any reason.

It is advisory. If somebody deletes the file meanwhile, another process can lock the next file of that name.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PAUSE_S = 0.02
"""The seconds between two tries to lock a file."""


@contextmanager
def file_lock(path: Path, busy: Exception, *, seconds: float = 0.0, is_kept: bool = True) -> Iterator[None]:
    """Lock a file, which is made for it, and is deleted afterwards unless `is_kept`.

    Raises `busy` if another process or thread holds the lock for longer than `seconds`.
    """
    until = time.monotonic() + seconds
    while True:
        with path.open("a") as file:
            try:
                _set_lock(file, is_locked=True)
            except (BlockingIOError, PermissionError):
                if time.monotonic() >= until:
                    raise busy from None
                time.sleep(PAUSE_S)
                continue
            if _is_open_file(path, file):
                try:
                    yield
                finally:
                    if not is_kept:
                        # Windows keeps a file that is open.
                        with suppress(PermissionError):
                            path.unlink(missing_ok=True)
                    # Closing is not enough: a process that another thread is starting has the file open until it runs.
                    _set_lock(file, is_locked=False)
                return
            # The file was deleted before it was locked: another process may have locked the next one.


def _set_lock(file: IO[str], *, is_locked: bool) -> None:
    """Lock or unlock an open file; raises `BlockingIOError`, on Windows `PermissionError`, if another has it."""
    try:
        import fcntl
    except ModuleNotFoundError:
        import msvcrt

        mode = msvcrt.LK_NBLCK if is_locked else msvcrt.LK_UNLCK  # type: ignore[attr-defined,unused-ignore]
        msvcrt.locking(file.fileno(), mode, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB if is_locked else fcntl.LOCK_UN)


def _is_open_file(path: Path, file: IO[str]) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False

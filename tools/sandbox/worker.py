"""The program inside the sandbox: it waits for one job, locks itself, runs the code, writes a record and exits.

The host starts it as `python -s -P -S -B -X utf8 worker.py STATUS_FD FILTER CORE` with an empty environment, or has a
nursery clone itself: the same interpreter with `nursery` in place of STATUS_FD, which has loaded its modules and reads
nothing but descriptors. Standard input contains the header (its length in ten digits, then JSON), modules of the host
for a program, the code and the data. The process reads no byte of code or data before it
is locked, and the lock cannot be removed. Records on the status descriptor are netstrings; the
host does not trust them, because the code runs in this process.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import gc
import importlib
import io
import json
import marshal
import math
import os
import sys
import time
from itertools import islice
from types import ModuleType

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any

FILENAME = "<code>"
MESSAGE, SOURCE, SHAPE = 2048, 300, 800  # the most characters of a message, a source line, a description of the data

_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 4, 22, 38, 2
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # Landlock's calls have the same numbers on every architecture
_CAPABILITY_VERSION_3 = 0x2008_0522
_CLONE = {"x86_64": 56}  # the number of `clone`; the other architecture has 220
_CLONE_PARENT, _SIGCHLD = 0x8000, 17
_BALLAST = 4 << 20  # bytes that are freed when memory runs out, so that the error can be reported

# References from before the generated code runs, so that patched builtins cannot change the record.
_str, _type, _slice = str, type, slice
_Anything, _MemoryError, _SystemExit, _ImportError = BaseException, MemoryError, SystemExit, ImportError
_write, _leave = os.write, os._exit
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__
_trace_of: Callable[[BaseException], TracebackType | None] = BaseException.__dict__["__traceback__"].__get__

Record = tuple[bytes, ...]  # kind, type of the exception, message, line, source line, shape of the data


class LockError(Exception):
    """The process cannot be locked, so no code may run."""


def main(arguments: list[str]) -> None:
    """Serve one job; `arguments` are the status descriptor, the seccomp program in hex, the modules to load at once."""
    place, program, core = arguments[1], bytes.fromhex(arguments[2]), arguments[3]
    load(core.split(",") if core else [])
    compile("", FILENAME, "exec")  # the first call sets up the compiler, which takes milliseconds
    serve(_low(nurse() if place == "nursery" else int(place)), program)


def nurse() -> int:
    """Clone this process for each group of four descriptors that comes in; return the last of them in a clone.

    The first three become the standard streams, which are the channel to the host in this process. A clone is a child
    of the host, which alone waits for it and ends it. This process ends with the host.
    """
    import _socket
    import ctypes

    libc, number = ctypes.PyDLL(None, use_errno=True), _CLONE.get(os.uname().machine, 220)
    # Else each collection in a clone would copy the pages of all that is loaded.
    gc.freeze()
    channel = _socket.socket(fileno=os.dup(0))
    while True:
        message, ancillary, _, _ = channel.recvmsg(1, 64)
        if not message:
            _leave(0)
        raw = b"".join(part for *_, part in ancillary)
        given = [int.from_bytes(raw[at : at + 4], sys.byteorder) for at in range(0, len(raw), 4)]
        # Not `os.fork`, whose child would be ours. Nothing of it is needed in a process with one thread and no lock.
        pid = libc.syscall(number, _CLONE_PARENT | _SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            break
        for descriptor in given:
            os.close(descriptor)
        channel.send(b"%010d" % (pid if pid > 0 else 0))
    channel.close()
    del sys.modules["_socket"]
    os.setsid()
    for target, descriptor in enumerate(given[:3]):
        os.dup2(descriptor, target)
        os.close(descriptor)
    return given[3]


def serve(status: int, program: bytes) -> None:
    """Read the job, lock this process, and run it; `status` is the descriptor of the records."""
    stream = io.FileIO(0, closefd=False)
    size = received(stream, 10)
    if not size:
        _leave(0)
    job = json.loads(received(stream, int(size)))
    try:
        prepare(job)
        for name, size in job.get("given", {}).items():
            define(name, received(stream, size), is_compiled=job["compiled"])
        arm(job)
        lock(program)
    except (LockError, OSError, ValueError) as error:
        send(status, b"unlocked", str(error).encode())
        _leave(71)
    send(status, b"locked")
    code, raw = received(stream, job["code"]), [received(stream, job["data"])]
    if len(code) == job["code"] and len(raw[0]) == job["data"]:
        source = code.decode("utf-8", "surrogatepass")
        if job["runner"]:
            # The functions of this module, because the program gets a `__main__` of its own.
            runner = sys.modules[job["runner"]]
            send(status, *runner.run(sys.modules[__name__], status, source, raw))
        else:
            send(status, *run(source, raw, job["media"]))
    _leave(0)


def _low(descriptor: int) -> int:
    """Move the descriptor to the lowest free number: how many descriptors the host has open shows nowhere."""
    low, high = sorted((descriptor, os.dup(descriptor)))
    os.close(high)
    return low


def received(stream: io.FileIO, size: int) -> bytearray:
    """Return exactly the next `size` bytes; fewer if the host has closed the pipe."""
    buffer = bytearray(size)
    filled = 0
    with memoryview(buffer) as view:
        while filled < size:
            count = stream.readinto(view[filled:])
            if not count:
                break
            filled += count
    return buffer[:filled] if filled < size else buffer


def prepare(job: Mapping[str, Any]) -> None:
    """Load the modules and time zones of the job from disk, and set up the environment of a script, in UTC."""
    load(job["modules"])
    if job["zones"]:
        keep_zones()
    os.environ.clear()
    os.environ["TZ"] = "UTC0"
    if hasattr(time, "tzset"):
        time.tzset()
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "the end"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    sys.path = []
    sys.argv, sys.orig_argv = [""], []


def load(names: list[str]) -> None:
    """Import the named modules; skip modules that this interpreter was built without."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            continue


def define(name: str, raw: bytearray, *, is_compiled: bool) -> None:
    """Define a module of the host from its compiled code, or from its source for another version of Python."""
    module = sys.modules[name] = ModuleType(name)
    exec(marshal.loads(raw) if is_compiled else compile(bytes(raw), name, "exec", dont_inherit=True), module.__dict__)


def keep_zones() -> None:
    """Read the time zone files into memory for `zoneinfo`, because no file can be read after the lock."""
    import zoneinfo
    from zoneinfo import _common

    zones: dict[str, bytes] = {}
    for root in zoneinfo.TZPATH:
        for folder, below, names in os.walk(root):
            below[:] = [name for name in below if name not in ("posix", "right")]
            for name in names:
                path = f"{folder}/{name}"
                try:
                    with open(path, "rb") as file:
                        zones.setdefault(path[len(root) + 1 :], file.read())
                except OSError:
                    continue

    def stored(key: str) -> Any:
        if not zones.get(key, b"").startswith(b"TZif"):
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(zones[key])

    zoneinfo.reset_tzpath([])
    _common.load_tzdata = stored
    zoneinfo.available_timezones = lambda: {name for name, data in zones.items() if data.startswith(b"TZif")}


def arm(job: Mapping[str, Any]) -> None:
    """Set the timers and resource limits of the job; their signals end the process even if the host ignores them."""
    import resource
    import signal

    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGALRM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass  # without /proc the OOM killer chooses by size only
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = math.ceil(used.ru_utime + used.ru_stime + job["cpu"])
    limit(resource.RLIMIT_CPU, cpu, cpu + 1)
    limit(resource.RLIMIT_AS, job["memory"], job["memory"])
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_MEMLOCK):
        limit(kind, 0, 0)
    signal.setitimer(signal.ITIMER_REAL, job["wall"])


def limit(kind: int, soft: int, hard: int) -> None:
    """Lower one resource limit; a lower limit from the host is kept."""
    import resource

    _, present = resource.getrlimit(kind)
    if present != resource.RLIM_INFINITY:
        soft, hard = min(soft, present), min(hard, present)
    resource.setrlimit(kind, (soft, hard))


def lock(program: bytes) -> None:
    """Give up privileges, files and all system calls but those in `program` permanently, and verify it.

    Raises LockError if the kernel refuses seccomp; Landlock is the second layer and may be missing.
    """
    import ctypes
    import resource

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.capset((ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)())
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise LockError(f"no_new_privs was refused: {os.strerror(ctypes.get_errno())}")
    deny_files(libc)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    instructions = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: a 16-bit count, padding, and the address of the instructions.
    described = (ctypes.c_uint64 * 2)(len(program) // 8, ctypes.addressof(instructions))
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, described, 0, 0):
        raise LockError(f"seccomp was refused: {os.strerror(ctypes.get_errno())}")
    verify(libc)


def deny_files(libc: ctypes.CDLL) -> None:
    """Deny by Landlock all file, TCP, abstract socket and signal rights that its version in this kernel supports."""
    import ctypes

    version = libc.syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return
    rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    words = [(1 << rights) - 1, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0]
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = libc.syscall(_CREATE_RULESET, (ctypes.c_uint64 * 3)(*words), size, 0)
    if ruleset < 0 or libc.syscall(_RESTRICT_SELF, ruleset, 0):
        raise LockError(f"Landlock was refused: {os.strerror(ctypes.get_errno())}")
    os.close(ruleset)


def verify(libc: ctypes.CDLL) -> None:
    """Raise LockError if files, sockets or `prctl` are still accessible."""
    if libc.socket(1, 1, 0) != -1 or libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != -1:
        raise LockError("a system call that the lock denies went through")
    try:
        os.open("/", os.O_RDONLY)
    except PermissionError:
        return
    raise LockError("a file could be opened in spite of the lock")


def run(code: str, raw: list[bytearray], media: str) -> Record:
    """Run the code in a new `__main__` over the data taken from `raw`, and return the record of its outcome."""
    ballast = bytes(_BALLAST)
    try:
        data = parsed(raw.pop(), media)
        described = shape(data)
        program = compile(code, FILENAME, "exec", dont_inherit=True)
    except Refused as refused:
        return refused.record
    except SyntaxError as error:
        line = error.lineno or 0
        return (b"syntax_error", type_of(error), text_of(error.msg), b"%d" % line, source_line(code, line), described)
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        return (b"syntax_error", type_of(error), message_of(error) or b"the code is too complex to be compiled")
    module = ModuleType("__main__")
    module.__dict__["data"] = data
    sys.modules["__main__"] = module
    remember_source(code)
    del data
    try:
        exec(program, module.__dict__)
        record = done(described)
    except _Anything as error:
        del ballast
        record = report(error, code, described, module.__dict__)
    flush()
    return record


class Refused(Exception):
    """The data cannot be parsed; `record` holds the error."""

    def __init__(self, *record: bytes) -> None:
        super().__init__()
        self.record: Record = record


def parsed(raw: bytearray, media: str) -> object:
    """Return the parsed data, frozen for the garbage collector. Raises Refused."""
    if media == "text":
        return raw.decode("utf-8", "replace")
    gc.disable()
    try:
        value: object = json.loads(raw)
    except RecursionError:
        raise Refused(b"input_too_deep") from None
    except MemoryError:
        raise Refused(b"memory_limit") from None
    except ValueError as error:
        raise Refused(b"input_invalid", type_of(error), message_of(error)) from None
    gc.freeze()
    gc.enable()
    return value


def remember_source(code: str) -> None:
    """Store the source in `linecache`, so that tracebacks that the code prints show its lines."""
    cache = getattr(sys.modules.get("linecache"), "cache", None)
    if cache is not None:
        cache[FILENAME] = (len(code), None, code.splitlines(keepends=True), FILENAME)


def flush() -> None:
    """Flush `sys.stdout` and `sys.__stdout__`; the code may have replaced them by any object."""
    for name in ("stdout", "__stdout__"):
        try:
            getattr(sys, name).flush()
        except _Anything:
            continue


def done(described: bytes) -> Record:
    """Return the record of a successful run."""
    return (b"done", b"", b"", b"", b"", described)


def report(error: BaseException, code: str, described: bytes, names: dict[str, object]) -> Record:
    """Return the record of an exception; it is built with methods of exact built-in types, after memory is freed."""
    found = innermost(error)
    line = (found.tb_lineno or 0) if found is not None else 0
    kinds = _type(error).__mro__
    if _MemoryError in kinds:
        names.clear()
        return (b"memory_limit", b"MemoryError", b"", b"%d" % line, source_line(code, line), described)
    if _SystemExit in kinds and ended_quietly(error):
        return done(described)
    kind = b"import_error" if _ImportError in kinds else b"runtime_error"
    return (kind, type_of(error), message_of(error), b"%d" % line, source_line(code, line), described)


def ended_quietly(error: BaseException) -> bool:
    """Return whether a SystemExit has no argument or an exit code, but no message."""
    reason = error.args[0] if error.args else None
    return reason is None or _type(reason) is int or _type(reason) is bool


def type_of(error: BaseException) -> bytes:
    """Return the name of the class of an exception; its metaclass cannot change the result."""
    return text_of(_name_of(_type(error)))[:200]


def message_of(error: BaseException) -> bytes:
    """Return the text of an exception; its `__str__` may be defined by the code and may raise anything."""
    try:
        return text_of(_str.__getitem__(_str(error), _slice(0, MESSAGE)))
    except _Anything:
        return b""


def text_of(text: str) -> bytes:
    """Return `text` as UTF-8; lone surrogates are escaped."""
    return _str.encode(text, "utf-8", "backslashreplace")[: 4 * MESSAGE]


def innermost(error: BaseException) -> TracebackType | None:
    """Return the traceback of an exception from its innermost frame that is in the code; None if there is none."""
    trace, found = _trace_of(error), None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            found = trace
        trace = trace.tb_next
    return found


def source_line(code: str, line: int) -> bytes:
    """Return one line of the code, stripped and bounded."""
    lines = code.split("\n")
    return text_of(lines[line - 1].strip()[:SOURCE]) if 0 < line <= lines.__len__() else b""


def shape(data: object) -> bytes:
    """Return a short description of the top level of the data, for hints: its type, its keys, its length."""
    text = f"of type {type(data).__name__}"
    if isinstance(data, dict):
        names = ", ".join(repr(str(key)[:40]) for key in islice(data, 40))
        more = ", ..." if len(data) > 40 else ""
        text = f"a dict with the keys {names}{more}" if data else "an empty dict"
    elif isinstance(data, list):
        text = f"a list of {len(data)}"
        if data and isinstance(data[0], dict):
            text += "; its first item is " + shape(data[0]).decode()
    return text_of(text[:SHAPE])


def send(status: int, *fields: bytes) -> None:
    """Write one record, a netstring of netstrings, to the status descriptor."""
    body = b"".join([b"%d:%b," % (field.__len__(), field) for field in fields])
    _write(status, b"%d:%b," % (body.__len__(), body))


if __name__ == "__main__":
    main(sys.argv)

#: read an environment variable | leak
import os
print(os.environ[data["name"]])
#: print the whole environment | leak
import os
print(dict(os.environ), os.environb)
#: read the environment through libc | leak
import ctypes
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
print(libc.getenv(data["name"].encode()))
#: walk the environ array of libc | leak
import ctypes
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
i = 0
while environ and environ[i]:
    print(environ[i])
    i += 1
#: read the process's own environment file | leak
print(open("/proc/self/environ").read())
#: read another process's environment file | closed
print(open(f"/proc/{data['pid']}/environ").read())
#: read another process's command line | leak
print(open(f"/proc/{data['pid']}/cmdline").read())
#: an inherited descriptor with a secret | leak
import os
print(os.pread(data["fd"], 200, 0))
#: every descriptor | leak
import os
for fd in range(3, data["fd"] + 1):
    try:
        print(fd, os.pread(fd, 200, 0))
    except OSError:
        pass
#: every descriptor as a stream | leak
import os
for fd in range(3, data["fd"] + 1):
    try:
        os.lseek(fd, 0, 0)
        print(fd, os.read(fd, 200))
    except OSError:
        pass
#: list the open descriptors | leak
import os
for name in os.listdir("/proc/self/fd"):
    try:
        if os.path.isfile("/proc/self/fd/" + name):
            print(os.readlink("/proc/self/fd/" + name), open("/proc/self/fd/" + name).read(200))
    except OSError:
        pass
#: the memory of another process through proc | closed
import re
pid = data["pid"]
for line in open(f"/proc/{pid}/maps"):
    if "[heap]" in line:
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        with open(f"/proc/{pid}/mem", "rb") as memory:
            memory.seek(start)
            found = re.findall(rb"memory-[0-9a-f]{32}", memory.read(end - start))
            print(found[:1])
#: the memory of another process through process_vm_readv | closed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(64)
here = Vector(ctypes.addressof(buffer), 64)
there = Vector(data["address"], 64)
if libc.process_vm_readv(data["pid"], ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
    print("BREACH read", buffer.raw)
#: trace another process | closed
import ctypes, os
libc = ctypes.CDLL(None)
if libc.ptrace(16, data["pid"], 0, 0) == 0:
    libc.ptrace(17, data["pid"], 0, 0)
    print("BREACH traced")
#: take a descriptor from another process | closed
import ctypes
libc = ctypes.CDLL(None)
handle = libc.syscall(434, data["pid"], 0)
if handle >= 0:
    print("BREACH pidfd", libc.syscall(438, handle, 0, 0))
#: the host's memory through the collector | contained
import gc
for thing in gc.get_objects():
    text = repr(thing)
    if "memory-" in text or "environment-" in text:
        print(text)
#: the host's memory by scanning own memory | contained
import ctypes
start = id(object()) & ~0xFFF
for page in range(64):
    block = ctypes.string_at(start + page * 4096, 4096)
    for mark in (b"memory-", b"environment-", b"file-", b"descriptor-"):
        at = block.find(mark)
        if at >= 0:
            print(block[at:at + 60])
#: frames up to the worker | contained
import sys
frame = sys._getframe()
while frame:
    print({k: str(v)[:2000] for k, v in frame.f_locals.items()}, list(frame.f_globals))
    frame = frame.f_back
#: users and passwords | leak
if "root" in open("/etc/passwd").read():
    print("BREACH passwd")
#: the host's name | leak
import os
if os.uname().nodename not in ("", "(none)"):
    print("BREACH", os.uname().nodename)

#: fork | leak
import os
if os.fork() == 0:
    os._exit(0)
print("BREACH forked")
#: fork through libc | leak
import ctypes, os
pid = ctypes.CDLL(None).fork()
if pid == 0:
    os._exit(0)
if pid > 0:
    print("BREACH forked")
#: vfork-like clone through subprocess internals | leak
import _posixsubprocess, os
out, into = os.pipe()
print("BREACH pipe")
#: posix_spawn | leak
import os
os.posix_spawn("/bin/sh", ["sh", "-c", "touch " + os.path.join(data["folder"], "spawned")], {})
os.wait()
#: os.system | leak
import os
os.system("touch " + os.path.join(data["folder"], "shell"))
#: libc system | leak
import ctypes
ctypes.CDLL(None).system(("touch " + data["folder"] + "/shell").encode())
#: popen | leak
import os
print(os.popen("cat " + data["file"]).read())
#: exec another program | leak
import os
os.execv("/bin/sh", ["sh", "-c", "cat " + data["file"]])
#: execve through libc | leak
import ctypes
argv = (ctypes.c_char_p * 4)(b"sh", b"-c", b"cat " + data["file"].encode(), None)
ctypes.CDLL(None).execv(b"/bin/sh", argv)
#: subprocess | leak
import subprocess
print(subprocess.run(["cat", data["file"]], capture_output=True).stdout)
#: multiprocessing | leak
import multiprocessing
p = multiprocessing.get_context("fork").Process(target=print)
p.start()
p.join()
print("BREACH process")
#: a thread | leak
import threading
t = threading.Thread(target=print)
t.start()
t.join()
print("BREACH thread")
#: kill another process | leak
import os, signal
os.kill(data["pid"], signal.SIGKILL)
#: kill through libc | leak
import ctypes
ctypes.CDLL(None).kill(data["pid"], 9)
#: kill through a pidfd | leak
import ctypes
libc = ctypes.CDLL(None)
handle = libc.syscall(434, data["pid"], 0)
libc.syscall(424, handle, 9, None, 0)
#: stop the process group | contained
import os, signal
os.killpg(os.getpgrp(), signal.SIGSTOP)
#: signal the parent | contained
import os
os.kill(os.getppid(), 0)
print("BREACH signalled")
#: new user namespace | closed
import ctypes
if ctypes.CDLL(None).unshare(0x10000000) == 0:
    print("BREACH unshare")
#: new network namespace | closed
import ctypes
if ctypes.CDLL(None).unshare(0x40000000) == 0:
    print("BREACH unshare")
#: join another process's namespaces | closed
import ctypes
libc = ctypes.CDLL(None)
handle = libc.syscall(434, data["pid"], 0)
if libc.setns(handle, 0x20000000) == 0:
    print("BREACH setns")
#: become another user | closed
import os
os.setuid(65534)
print("BREACH setuid")
#: change the priority of others | closed
import os
os.setpriority(os.PRIO_PROCESS, data["pid"], 5)
print("BREACH priority")
#: lift the limits again | contained
import resource
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
print("BREACH limits")
#: lift the limits through libc | contained
import ctypes
libc = ctypes.CDLL(None)
for kind in (0, 6, 7, 9):
    if libc.setrlimit(kind, (ctypes.c_ulong * 2)(2**63, 2**63)) == 0:
        print("BREACH limit", kind)
#: limits of another process | closed
import ctypes
libc = ctypes.CDLL(None)
if libc.prlimit(data["pid"], 7, (ctypes.c_ulong * 2)(10, 10), None) == 0:
    print("BREACH prlimit")
#: disarm the timer | contained
import ctypes, signal
libc = ctypes.CDLL(None)
if libc.setitimer(0, (ctypes.c_long * 4)(0, 0, 0, 0), None) == 0 or libc.alarm(0) > 0:
    print("BREACH timer")
#: a second seccomp filter | contained
import ctypes
libc = ctypes.CDLL(None)
if libc.prctl(22, 2, (ctypes.c_uint64 * 2)(0, 0), 0, 0) == 0 or libc.prctl(38, 1, 0, 0, 0) == 0:
    print("BREACH prctl")
#: load an eBPF program | closed
import ctypes
attributes = (ctypes.c_uint32 * 32)(2, 4, 4, 1)
if ctypes.CDLL(None).syscall(321, 0, attributes, 72) >= 0:
    print("BREACH bpf")
#: io_uring | closed
import ctypes
if ctypes.CDLL(None).syscall(425, 4, (ctypes.c_uint32 * 30)()) >= 0:
    print("BREACH io_uring")
#: userfaultfd | closed
import ctypes
if ctypes.CDLL(None).syscall(323, 0x80001) >= 0:
    print("BREACH userfaultfd")
#: perf events | closed
import ctypes
attributes = (ctypes.c_uint32 * 32)(1, 128)
if ctypes.CDLL(None).syscall(298, attributes, 0, -1, -1, 0) >= 0:
    print("BREACH perf")
#: keyrings | closed
import ctypes
if ctypes.CDLL(None).syscall(250, 0, -3, 1) >= 0:
    print("BREACH keyctl")
#: shared memory of System V | closed
import ctypes
libc = ctypes.CDLL(None)
handle = libc.shmget(0, 4096, 0o1600)
if handle >= 0:
    libc.shmctl(handle, 0, None)
    print("BREACH shm")
#: executable memory | leak
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
where = libc.mmap(None, 4096, 7, 0x22, -1, 0)
if where not in (None, ctypes.c_void_p(-1).value):
    print("BREACH executable")
#: memory made executable | leak
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
where = libc.mmap(None, 4096, 3, 0x22, -1, 0)
if libc.mprotect(ctypes.c_void_p(where), 4096, 5) == 0:
    print("BREACH executable")
#: poison a page of physical memory | contained
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
where = ctypes.c_void_p(libc.mmap(None, 4096, 3, 0x22, -1, 0))
if libc.madvise(where, 4096, 12) == 0 or libc.madvise(where, 4096, 9999) == 0:
    print("BREACH advice")
#: kernel modules | contained
import ctypes
if ctypes.CDLL(None).init_module(b"", 0, b"") == 0:
    print("BREACH kernel")
#: set the clock | contained
import time
time.clock_settime(time.CLOCK_REALTIME, time.time())
print("BREACH clock")
#: 32-bit kernel calls | contained
import ctypes
result = ctypes.CDLL(None).syscall(0x40000000 + 39)
print("BREACH x32" if result > 0 else result)

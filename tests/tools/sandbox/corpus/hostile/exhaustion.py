#: an endless loop | timeout
while True:
    pass
#: an endless loop that swallows everything | timeout
while True:
    try:
        while True:
            pass
    except BaseException:
        continue
#: ignoring the alarm | timeout
import signal
for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM):
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
while True:
    pass
#: blocking the alarm | timeout
import ctypes
libc = ctypes.CDLL(None)
everything = (ctypes.c_ubyte * 128)(*[255] * 128)
libc.sigfillset(everything)
libc.sigprocmask(0, everything, None)
while True:
    pass
#: sleeping for an hour | timeout
import time
time.sleep(3600)
#: sleeping in libc | timeout
import ctypes
ctypes.CDLL(None).sleep(3600)
#: waiting for a lock for ever | timeout
import threading
lock = threading.Lock()
lock.acquire()
lock.acquire()
#: one long step in C | timeout
print(sum(x for x in range(10**12)))
#: a huge power | timeout
print(len(str(7 ** (10 ** 8))))
#: a catastrophic regular expression | timeout
import re
re.match(r"(a+)+$", "a" * 60 + "b")
#: a huge range in a set | timeout, memory_limit
set(range(10**9))
#: an endless iterator in C | timeout
import itertools, collections
collections.deque(itertools.repeat(1), maxlen=0)
#: sorting with a lying comparison | timeout
class Odd:
    def __lt__(self, other):
        while True: pass
sorted([Odd(), Odd()])
#: the message of an exception that never ends | timeout
class Slow(Exception):
    def __str__(self):
        while True: pass
raise Slow()
#: a finaliser that never ends | timeout
class Slow:
    def __del__(self):
        while True: pass
s = Slow()
del s
#: flushing for ever | timeout
import sys
class Stream:
    def flush(self):
        while True: pass
    def write(self, text): pass
sys.stdout = Stream()
#: a large list | memory_limit
x = [0] * 10**10
#: growing without end | memory_limit, timeout
x = []
while True:
    x.append("x" * 10**6)
#: growing and swallowing MemoryError | memory_limit, timeout
x = []
while True:
    try:
        x.append(bytearray(10**7))
    except MemoryError:
        pass
#: doubling a string | memory_limit
s = "x"
while True:
    s += s
#: a large bytearray through ctypes | runtime_error, memory_limit
import ctypes
keep = [ctypes.create_string_buffer(10**8) for _ in range(100)]
#: memory mapped by hand | contained
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
total = 0
for _ in range(64):
    where = libc.mmap(None, 64 << 20, 3, 0x22, -1, 0)
    if where == ctypes.c_void_p(-1).value:
        break
    total += 64
if total > 2048:
    print("BREACH", total)
#: deep recursion | runtime_error
def f():
    return f()
f()
#: deep recursion without a limit | crashed, memory_limit, runtime_error, timeout
import sys
sys.setrecursionlimit(10**9)
def f(n):
    return [f(n + 1)]
f(0)
#: deep nesting of repr | crashed, runtime_error, memory_limit, timeout
import sys
sys.setrecursionlimit(10**8)
x = []
for _ in range(10**6):
    x = [x]
repr(x)
#: a decompression bomb | memory_limit, timeout
import zlib
bomb = zlib.compress(zlib.compress(b"0" * 10**7))
data = b""
while True:
    data += zlib.decompress(zlib.decompress(bomb))
#: an entity bomb in XML | runtime_error, memory_limit, timeout
import xml.etree.ElementTree as ET
entities = "<!ENTITY a0 'aaaaaaaaaa'>" + "".join(f"<!ENTITY a{i} '{('&a%d;' % (i - 1)) * 10}'>" for i in range(1, 12))
ET.fromstring(f"<!DOCTYPE x [{entities}]><x>&a11;</x>")
#: a format width of billions | memory_limit
print(f"{1:>{10**10}}")
#: json dumps that explodes | memory_limit, timeout
import json
x = ["lol"]
for _ in range(40):
    x = [x] * 10
json.dumps(x)
#: a deeply nested expression to compile | runtime_error, crashed
eval("(" * 100000 + ")" * 100000)
#: a long chain to compile | contained
eval("+".join(["1"] * 200000))
#: a flood on standard output | output_limit
while True:
    print("x" * 1000)
#: a flood on standard error | output_limit
import sys
while True:
    sys.stderr.write("x" * 1000)
#: a flood through the descriptor | output_limit
import os
while True:
    os.write(1, b"x" * 65536)
#: a flood on the status descriptor | crashed
import os
while True:
    for fd in range(3, 512):
        try:
            os.write(fd, b"x" * 65536)
        except OSError:
            pass
#: one line without end | output_limit
import sys
while True:
    sys.stdout.write("x" * 100)
#: a flood of warnings | output_limit
import warnings
warnings.simplefilter("always")
while True:
    warnings.warn("w" * 200)
#: a thousand children | contained
import os
for _ in range(1000):
    if os.fork() == 0:
        os._exit(0)
#: all descriptors used up | contained
import os
fds = [os.dup(1) for _ in range(100000)]
#: core dump by a fault | crashed
import ctypes
ctypes.string_at(0)
#: abort | crashed
import os
os.abort()

#: a second record beside the true one | crashed
import os
body = b"".join(b"%d:%b," % (len(f), f) for f in (b"done", b"", b"", b"", b"", b"forged"))
for fd in range(3, 512):
    try:
        os.write(fd, b"%d:%b," % (len(body), body))
    except OSError:
        pass
raise ValueError("this happened")
#: a record of its own in place of the true one | contained
import os
body = b"".join(b"%d:%b," % (len(f), f) for f in (b"runtime_error", b"Forged" * 999, b"\x1b[2J" + b"m" * 9999, b"-7", b"", b""))
for fd in range(3, 512):
    try:
        os.write(fd, b"%d:%b," % (len(body), body))
    except OSError:
        pass
os._exit(0)
#: a record with absurd lengths | contained
import os
for fd in range(3, 512):
    try:
        os.write(fd, b"999999:x,")
    except OSError:
        pass
os._exit(0)
#: a record of garbage | crashed
import os
for fd in range(3, 512):
    try:
        os.write(fd, bytes(range(256)))
    except OSError:
        pass
#: a record with an unknown kind | crashed
import os
for fd in range(3, 512):
    try:
        os.write(fd, b"16:6:rootme,3:yes,,")
    except OSError:
        pass
os._exit(0)
#: an unlocked record | crashed
import os
for fd in range(3, 512):
    try:
        os.write(fd, b"18:8:unlocked,4:boom,,")
    except OSError:
        pass
os._exit(0)
#: leaving early without a record | crashed
import os
print("partial")
os._exit(0)
#: leaving early with another code | crashed
import os
os._exit(42)
#: closing the status descriptor | crashed
import os
os.closerange(3, 512)
#: closing every descriptor and going on | crashed
import os
os.closerange(0, 512)
while True:
    pass
#: json and builtins patched | contained
import json, builtins
json.dumps = json.loads = lambda *a, **k: "patched"
for name in ("len", "str", "type", "isinstance", "repr", "print", "int", "bytes", "slice", "BaseException", "Exception"):
    setattr(builtins, name, lambda *a, **k: 0)
raise ValueError("told truly")
#: os functions patched | contained
import os
os.write = os._exit = lambda *a: None
#: an exception whose __str__ raises | runtime_error
class Bad(Exception):
    def __str__(self):
        raise RuntimeError("no")
raise Bad()
#: an exception whose __str__ raises SystemExit | runtime_error
class Bad(Exception):
    def __str__(self):
        raise SystemExit(0)
raise Bad()
#: an exception whose __str__ is no string | runtime_error
class Bad(Exception):
    def __str__(self):
        return 42
raise Bad()
#: an exception whose __str__ is huge | runtime_error, memory_limit
class Bad(Exception):
    def __str__(self):
        return "x" * 10**8
raise Bad()
#: an exception with a string subclass that lies | runtime_error
class Text(str):
    def __getitem__(self, key): return "forged"
    def encode(self, *a): return b"forged"
    def __len__(self): return 10**9
class Bad(Exception):
    def __str__(self):
        return Text("honest")
raise Bad()
#: a metaclass that lies about the name | runtime_error
class Meta(type):
    __name__ = property(lambda self: "Forged" * 10**6)
    def mro(cls): return super().mro()
class Bad(Exception, metaclass=Meta):
    pass
raise Bad("x")
#: an exception class with an endless name | runtime_error
raise type("N" * 10**6, (Exception,), {})("x")
#: an exception that claims another class | runtime_error
class Bad(Exception):
    @property
    def __class__(self):
        return MemoryError
    @property
    def __traceback__(self):
        while True: pass
raise Bad("x")
#: a traceback with a forged line | runtime_error
exec(compile("\n" * 99999 + "raise ValueError('far')", "<code>", "exec"))
#: an exception with control characters | runtime_error
raise ValueError("\x1b[31mred\x1b[0m \x07 \x00 \ud800 \u202e")
#: output with terminal sequences | ok
print("\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\x00\x08end\r\nnext\rline")
#: output that is not UTF-8 | ok
import sys
sys.stdout.buffer.write(b"\xff\xfe\x80 bytes\n")
#: output closed before the end | no_output
import sys
sys.stdout.close()
#: standard streams removed | no_output
import sys
sys.stdout = sys.__stdout__ = None
#: standard streams deleted | no_output
import sys
del sys.stdout, sys.__stdout__
#: BaseException of its own | runtime_error
class Out(BaseException):
    pass
raise Out("way")
#: a keyboard interrupt | runtime_error
raise KeyboardInterrupt
#: a SystemExit with a message | runtime_error
import sys
sys.exit("nothing found")
#: the interpreter's exit replaced | contained
import sys
sys.exit = lambda *a: None
sys.modules.clear()
#: the next run's modules patched | contained
import json, collections, datetime
json.loads = lambda *a: {"canonical": "forged"}
collections.Counter = datetime.datetime = None
#: builtins deleted | contained
import builtins
for name in list(vars(builtins)):
    if name not in ("__import__", "vars", "list"):
        try:
            delattr(builtins, name)
        except BaseException:
            pass
#: a trace function that never lets go | contained
import sys
def trace(frame, event, arg):
    raise ValueError("from the trace")
sys.settrace(trace)
sys.setprofile(trace)
#: reading what standard input still holds | contained
import sys
print(repr(sys.stdin.read()[:100]), repr(open(0, "rb", closefd=False).read()[:100]))

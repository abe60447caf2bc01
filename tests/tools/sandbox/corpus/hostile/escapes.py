#: builtins through a class hierarchy | leak
import os
found = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == "_wrap_close"][0]
print(found.__init__.__globals__["popen"]("cat " + data["file"]).read())
#: an attribute walk in a format string | leak
import os
class Holder:
    def __init__(self): self.value = 1
print("{0.__init__.__globals__[os].environ}".format(Holder()))
#: code objects with forged bytecode | contained
def f(): return 1
code = f.__code__.replace(co_code=bytes([100, 200]) * 20, co_consts=())
f.__code__ = code
print(f())
#: a forged code object that reads beyond its constants | contained
def f(): return None
f.__code__ = f.__code__.replace(co_consts=(), co_code=bytes([151, 0, 100, 255, 83, 0]))
print(f())
#: rewrite an int in memory | contained
import ctypes
one = 1
ctypes.memset(id(one) + 24, 7, 1)
print(1 + 1)
#: rewrite a tuple in memory | contained
import ctypes
t = (1, 2)
ctypes.c_void_p.from_address(id(t) + 24).value = id("x")
print(t)
#: write to address zero | contained
import ctypes
ctypes.memset(0, 1, 8)
#: jump to a wild address | contained
import ctypes
ctypes.CFUNCTYPE(None)(0xDEADBEEF)()
#: native code in a data page | contained
import ctypes
code = ctypes.create_string_buffer(b"\x0f\x0b" + b"\x00" * 4094)
ctypes.CFUNCTYPE(None)(ctypes.addressof(code))()
#: a C callback | contained
import ctypes
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: 0)
ctypes.CDLL(None).qsort((ctypes.c_int * 4)(), 4, 4, compare)
#: load a shared library from memory | contained
import ctypes
fd = ctypes.CDLL(None).memfd_create(b"x", 0)
ctypes.CDLL(f"/proc/self/fd/{fd}")
print("BREACH library")
#: load a library from disk | leak
import ctypes, os
if ctypes.CDLL("libresolv.so.2"):
    print("BREACH library")
#: import a module from a folder of its choice | leak
import sys
sys.path.insert(0, data["folder"])
import planted
#: import through a finder of its own | leak
import sys, importlib.util
spec = importlib.util.spec_from_file_location("planted", data["folder"] + "/planted.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
#: pickle that runs a command | leak
import pickle
class Run:
    def __reduce__(self):
        import os
        return os.system, ("touch " + data["folder"] + "/pickled",)
pickle.loads(pickle.dumps(Run()))
#: marshalled code | leak
import marshal, types
code = compile("import os; os.mkdir(data['folder'] + '/marshalled')", "x", "exec")
types.FunctionType(marshal.loads(marshal.dumps(code)), globals())()
#: eval with fresh globals | leak
print(eval("__import__('os').popen('cat ' + path).read()", {"path": data["file"]}))
#: the debugger's and collector's hooks | leak
import sys
def hook(frame, event, arg):
    return hook
sys.settrace(hook)
sys.addaudithook(lambda *a: None)
print(open(data["file"]).read())
#: a finaliser that runs late | leak
class Late:
    def __del__(self):
        print(open(data["file"]).read())
late = Late()
del late
#: an exit handler | contained
import atexit
atexit.register(lambda: print(open(data["file"]).read()))
#: the packages of the host | contained
import sys, importlib
for name in ("restgpt", "langchain_core", "pydantic", "requests", "pytest"):
    try:
        importlib.import_module(name)
        print("BREACH", name)
    except ImportError:
        pass
#: a user site folder | contained
import sys
try:
    import site
    if any("site-packages" in p for p in sys.path):
        print("BREACH site")
except ImportError:
    pass
#: the worker's own reporter replaced | contained
import sys
frame = sys._getframe()
while frame.f_back:
    frame = frame.f_back
for name in ("report", "send", "run", "done", "shape", "flush"):
    if name in frame.f_globals:
        frame.f_globals[name] = lambda *a: print("replaced")

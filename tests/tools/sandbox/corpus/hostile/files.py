#: read a file with open | leak
print(open(data["file"]).read())
#: read a file with io.FileIO | leak
import io
print(io.FileIO(data["file"]).readall())
#: read a file with io.open_code | leak
import io
print(io.open_code(data["file"]).read())
#: read a file with os.open and os.read | leak
import os
print(os.read(os.open(data["file"], os.O_RDONLY), 200))
#: read a file with pathlib | leak
import pathlib
print(pathlib.Path(data["file"]).read_text())
#: read a file through libc open | leak
import ctypes
libc = ctypes.CDLL(None)
buffer = ctypes.create_string_buffer(200)
fd = libc.open(data["file"].encode(), 0)
print(libc.read(fd, buffer, 200), buffer.value)
#: read a file through libc fopen | leak
import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
buffer = ctypes.create_string_buffer(200)
stream = libc.fopen(data["file"].encode(), b"r")
if stream:
    libc.fgets(buffer, 200, ctypes.c_void_p(stream))
print(buffer.value)
#: read a file with openat2 | leak
import ctypes
libc = ctypes.CDLL(None)
how = (ctypes.c_uint64 * 3)(0, 0, 0)
fd = libc.syscall(437, -100, data["file"].encode(), how, 24)
buffer = ctypes.create_string_buffer(200)
print(libc.read(fd, buffer, 200), buffer.value)
#: read a file by mmap | leak
import mmap, os
fd = os.open(data["file"], os.O_RDONLY)
print(mmap.mmap(fd, 0, prot=mmap.PROT_READ)[:])
#: read a file through fileinput and linecache | leak
import linecache
print(linecache.getlines(data["file"]) or open(data["file"]).readlines())
#: read a file through builtins found in a frame | leak
import sys
print(sys._getframe().f_builtins["open"](data["file"]).read())
#: read a file through the import machinery | leak
import importlib.machinery
print(importlib.machinery.SourceFileLoader("x", data["file"]).get_data(data["file"]))
#: read a file through an object's subclasses | leak
import io
for kind in object.__subclasses__():
    if kind.__name__ == "_IOBase":
        for raw in kind.__subclasses__():
            for found in raw.__subclasses__():
                if found.__name__ == "FileIO":
                    print(found(data["file"]).read())
#: read a file with tokenize | leak
import tokenize
print(tokenize.open(data["file"]).read())
#: read a file with numpy if it were there, else codecs | leak
import codecs
print(codecs.open(data["file"], encoding="utf-8").read())
#: list a folder | leak
import os
print([open(os.path.join(data["folder"], n)).read() for n in os.listdir(data["folder"]) if n == "secret.txt"])
#: list a folder with scandir and glob | leak
import os, pathlib
print([p.read_text() for p in pathlib.Path(data["folder"]).glob("*.txt")])
#: see that a file exists | leak
import os
if os.path.exists(data["file"]):
    print("BREACH exists")
#: stat a file | leak
import os
print("BREACH", os.stat(data["file"]).st_size)
#: write a file | leak
import os
with open(os.path.join(data["folder"], "written"), "w") as f:
    f.write("x")
#: make a folder | leak
import os
os.mkdir(os.path.join(data["folder"], "made"))
#: append to the secret file | leak
with open(data["file"], "a") as f:
    f.write("tampered")
#: delete the secret file | leak
import os
os.unlink(data["file"])
#: rename the secret file | leak
import os
os.rename(data["file"], data["file"] + ".moved")
#: link to the secret file | leak
import os
os.symlink(data["file"], os.path.join(data["folder"], "link"))
os.link(data["file"], os.path.join(data["folder"], "hard"))
#: make the secret file executable | leak
import os
os.chmod(data["file"], 0o777)
print("BREACH", oct(os.stat(data["file"]).st_mode))
#: truncate the secret file | leak
import os
os.truncate(data["file"], 0)
#: make a named pipe | leak
import os
os.mkfifo(os.path.join(data["folder"], "fifo"))
#: change the working folder | leak
import os
os.chdir(data["folder"])
print(open("secret.txt").read())
#: a temporary file in memory | closed
import ctypes
if ctypes.CDLL(None).memfd_create(b"x", 0) >= 0:
    print("BREACH memfd")
#: open the root of another process | closed
import os
print(open(f"/proc/{data['pid']}/root{data['file']}").read())
#: watch the file system | closed
import ctypes
if ctypes.CDLL(None).inotify_init1(0) >= 0:
    print("BREACH inotify")
#: mount something | closed
import ctypes, os
if ctypes.CDLL(None).mount(b"none", data["folder"].encode(), b"tmpfs", 0, None) == 0:
    ctypes.CDLL(None).umount(data["folder"].encode())
    print("BREACH mount")
#: change the root | closed
import os
os.chroot(data["folder"])
print("BREACH chroot")
#: open by handle | closed
import ctypes
handle = (ctypes.c_ubyte * 144)(128)
mount = ctypes.c_int()
if ctypes.CDLL(None).name_to_handle_at(-100, data["file"].encode(), handle, ctypes.byref(mount), 0) == 0:
    print("BREACH handle")

#: a TCP connection | leak
import socket
socket.create_connection(("127.0.0.1", data["tcp"]), 2).sendall(b"out")
#: a TCP connection through _socket | leak
import _socket
s = _socket.socket(2, 1)
s.connect(("127.0.0.1", data["tcp"]))
s.send(b"out")
#: a TCP connection through libc | leak
import ctypes, struct
libc = ctypes.CDLL(None)
fd = libc.socket(2, 1, 0)
address = struct.pack("=HHI8x", 2, int.from_bytes(data["tcp"].to_bytes(2, "big"), "little"), int.from_bytes(bytes([127, 0, 0, 1]), "little"))
libc.connect(fd, address, 16)
libc.send(fd, b"out", 3, 0)
#: a UDP datagram | leak
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", data["udp"]))
#: a UDP datagram through libc | leak
import ctypes, struct
libc = ctypes.CDLL(None)
fd = libc.socket(2, 2, 0)
address = struct.pack("=HHI8x", 2, int.from_bytes(data["udp"].to_bytes(2, "big"), "little"), int.from_bytes(bytes([127, 0, 0, 1]), "little"))
libc.sendto(fd, b"out", 3, 0, address, 16)
#: a unix socket | leak
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(data["unix"])
s.sendall(b"out")
#: a unix socket through libc | leak
import ctypes, struct
libc = ctypes.CDLL(None)
fd = libc.socket(1, 1, 0)
libc.connect(fd, struct.pack("=H108s", 1, data["unix"].encode()), 110)
libc.send(fd, b"out", 3, 0)
#: a unix datagram | leak
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
print("BREACH socket")
#: a socket pair | leak
import socket
socket.socketpair()
print("BREACH pair")
#: listen for connections | leak
import socket
s = socket.create_server(("127.0.0.1", 0))
print("BREACH listening", s.getsockname())
#: http.client | leak
import http.client
http.client.HTTPConnection("127.0.0.1", data["tcp"], timeout=0.2).request("GET", "/")
#: urllib.request | leak
import urllib.request
try:
    urllib.request.urlopen(f"http://127.0.0.1:{data['tcp']}/", timeout=0.2)
except TimeoutError:
    pass
#: asyncio streams | leak
import asyncio
async def go():
    reader, writer = await asyncio.open_connection("127.0.0.1", data["tcp"])
    writer.write(b"out")
    await writer.drain()
asyncio.run(go())
#: a packet socket | closed
import ctypes
if ctypes.CDLL(None).socket(17, 3, 0x0300) >= 0:
    print("BREACH packet socket")
#: a netlink socket | leak
import ctypes
if ctypes.CDLL(None).socket(16, 3, 0) >= 0:
    print("BREACH netlink socket")
#: a vsock | closed
import ctypes
if ctypes.CDLL(None).socket(40, 1, 0) >= 0:
    print("BREACH vsock")
#: a kernel crypto socket | closed
import ctypes
if ctypes.CDLL(None).socket(38, 5, 0) >= 0:
    print("BREACH crypto socket")
#: name resolution | leak
import socket
if socket.getaddrinfo("localhost", 80):
    print("BREACH resolved")
#: requests, as models like it | contained
import requests
print(requests.get(f"http://127.0.0.1:{data['tcp']}/").text)

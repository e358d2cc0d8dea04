"""A crowd of connections that each leave something undone, and what a service has of memory meanwhile and afterwards.

Knows nothing of what a service must make of it.
"""

import re
import socket
import ssl
import time

from http_wire import DATA, END_HEADERS, block, frame, headers, hello, request_fields

# Of each kind so many at once, and streams on each that speaks HTTP/2.
CONNECTIONS, STREAMS = 1000, 100
# The beginning of a handshake: a record of 512 bytes, of which 50 come.
HALF_A_HANDSHAKE = bytes.fromhex("1603010200010001fc0303") + b"a" * 50


def kinds(target):
    """(name, protocol or None for no TLS, bytes, whether each connection has another source)"""
    post = block(request_fields("POST", target.decode()) + [("content-type", "application/json")])
    numbers = [2 * number + 1 for number in range(STREAMS)]
    waiting = hello() + b"".join(headers(number, post, END_HEADERS) for number in numbers)
    begun = hello() + b"".join(
        headers(number, post, END_HEADERS) + frame(DATA, 0, number, b"{") for number in numbers
    )
    # The window of streams is closed, so that no reply can be sent.
    unread = hello((4, 0)) + b"".join(headers(number, block(request_fields())) for number in numbers)
    head = b"POST " + target + b" HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/json\r\n"
    yield "requests of HTTP/2 that wait for their bodies", "h2", waiting, False
    yield "the same from many sources", "h2", waiting, True
    yield "bodies of HTTP/2 that have begun, from many sources", "h2", begun, True
    yield "replies by HTTP/2 that nobody takes", "h2", unread, False
    yield "half heads", "http/1.1", head + b"X: " + b"y" * 4000, True
    yield "half bodies", "http/1.1", head + b"Content-Length: 100\r\n\r\n{", True
    yield "half handshakes", None, HALF_A_HANDSHAKE, True
    yield "connections on which nothing is said", None, b"", True


class Crowd:
    """Connections to a port of a service, until they are closed."""

    def __init__(self, service, port, protocol, data, many):
        self.sockets = []
        self.refused = 0
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if protocol:
            context.set_alpn_protocols([protocol])
        for number in range(CONNECTIONS):
            wire = socket.socket()
            wire.settimeout(20)
            if many:
                wire.bind((f"127.{1 + number // 250}.{number % 250}.1", 0))
            try:
                wire.connect(("127.0.0.1", port))
                if protocol:
                    wire = context.wrap_socket(wire)
                if data:
                    wire.sendall(data)
                self.sockets.append(wire)
            except OSError:
                self.refused += 1
                wire.close()

    def close(self):
        for wire in self.sockets:
            wire.close()


class Peak:
    """The most memory that a process has had since, as the kernel has noted it."""

    def __init__(self, pid):
        self.pid = pid
        with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")

    def read(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) << 10


def returns(memory, most, seconds):
    """After how many seconds a process has no more memory than that; None when not within the time."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if memory() <= most:
            return time.monotonic() - began
        time.sleep(0.5)
    return None

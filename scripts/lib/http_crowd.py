"""A crowd of connections that each leave something undone, and what a service has of memory meanwhile and afterwards.

Knows nothing of what a service must make of it.
"""

import concurrent.futures
import http.client
import json
import re
import socket
import ssl
import threading
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
    # Data of no stream is an error of the connection (RFC 9113 §6.1).
    wrong = waiting + frame(DATA, 0, 0, b"{")
    # The window of streams is closed, so that no reply can be sent.
    unread = hello((4, 0)) + b"".join(headers(number, block(request_fields())) for number in numbers)
    head = b"POST " + target + b" HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/json\r\n"
    yield "requests of HTTP/2 that wait for their bodies", "h2", waiting, False
    yield "the same from many sources", "h2", waiting, True
    yield "bodies of HTTP/2 that have begun, from many sources", "h2", begun, True
    yield "requests of HTTP/2 that wait, and a frame that is wrong", "h2", wrong, False
    yield "replies by HTTP/2 that nobody takes", "h2", unread, False
    yield "half heads", "http/1.1", head + b"X: " + b"y" * 4000, True
    yield "half bodies", "http/1.1", head + b"Content-Length: 100\r\n\r\n{", True
    yield "half handshakes", None, HALF_A_HANDSHAKE, True
    yield "connections on which nothing is said", None, b"", True


class Crowd:
    """Connections to a port of a service, until they are closed."""

    def __init__(self, port, protocol, data, many):
        self.sockets = []
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if protocol:
            context.set_alpn_protocols([protocol])

        def connect(number):
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
                wire.close()

        # Some at once, as the service works on some at once.
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(connect, range(CONNECTIONS)))
        self.refused = CONNECTIONS - len(self.sockets)

    def close(self):
        for wire in self.sockets:
            wire.close()


class Visitor:
    """Somebody who logs in once a second, each time by a new connection, from a source that no crowd comes from."""

    def __init__(self, port, target, token, seconds):
        self.port, self.target, self.seconds = port, target, seconds
        self.body = json.dumps({"accessToken": token})
        self.count, self.longest, self.problems = 0, 0, []
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.is_set():
            began = time.monotonic()
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=self.seconds, context=self.context, source_address=("127.200.0.1", 0)
            )
            try:
                connection.request("POST", self.target, self.body, {"Content-Type": "application/json"})
                reply = connection.getresponse()
                text = reply.read()
                if reply.status != 200:
                    self.problems.append(f"{reply.status} {text[:300]}")
            except (OSError, http.client.HTTPException) as error:
                self.problems.append(repr(error))
            finally:
                connection.close()
            self.count += 1
            self.longest = max(self.longest, time.monotonic() - began)
            self.over.wait(max(0, began + 1 - time.monotonic()))

    def end(self):
        self.over.set()
        self.thread.join()


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

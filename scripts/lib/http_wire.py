"""Connections on which anything can be said, and what comes back: HTTP/1.1 replies and HTTP/2 frames.

Knows nothing of what is an attack.
"""

import select
import socket
import ssl
import threading
import time

WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Held:
    """The connections of this machine that a process has open, each by the ports of both ends.

    Who asks within a tenth of a second gets the same: read by hundreds of threads, each for itself, the table of the
    kernel would take all of this process's time, and each of them would be late.
    """

    _lock = threading.Lock()
    _read = (0.0, frozenset())

    @classmethod
    def after(cls, moment):
        """(when it was read, what was there), read after that moment."""
        with cls._lock:
            if cls._read[0] <= max(moment, time.monotonic() - 0.1):
                now = time.monotonic()
                with open("/proc/net/tcp", encoding="ascii") as file:
                    rows = [line.split() for line in file]
                # The inode is 0 when no process has it open.
                held = frozenset((row[1][-4:], row[2][-4:]) for row in rows[1:] if row[9] != "0")
                cls._read = (now, held)
            return cls._read


class Wire:
    """A connection that sends and receives at the same time, so that neither side waits for the other."""

    def __init__(self, port, protocol=None, authority=None, certificate=None, seconds=20, window=None):
        self.received = bytearray()
        self.is_closed = False
        self.socket = socket.socket()
        self.socket.settimeout(seconds)
        if window:
            # Small segments keep the other end's buffer small as well.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        self.socket.connect(("127.0.0.1", port))
        self.ports = self.socket.getsockname()[1], port
        if protocol:
            context = ssl.create_default_context(cafile=authority)
            if certificate:
                context.load_cert_chain(*certificate)
            context.set_alpn_protocols([protocol])
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.socket.setblocking(False)

    def send(self, data, seconds=20):
        """Sends all of it, receiving meanwhile; false when the other end does not take it."""
        rest = memoryview(bytes(data))
        end = time.monotonic() + seconds
        while rest and not self.is_closed and time.monotonic() < end:
            try:
                rest = rest[self.socket.send(rest[:65_536]) :]
            except WOULD_BLOCK:
                self._wait(writing=True)
            except OSError:
                self._drain()
                self.is_closed = True
            self._drain()
        return not rest

    def receive(self, until=lambda: False, seconds=20):
        """Receives until the other end closes, the condition holds or the time is up; whether one of the former."""
        end = time.monotonic() + seconds
        while not self._drain() and not until():
            if time.monotonic() >= end:
                return False
            self._wait(writing=False)
        return True

    def is_left(self):
        """Whether the other end has let it go, which who receives nothing is not told: as the kernel of both has it."""
        ours, theirs = (f"{port:04X}" for port in self.ports)
        seen = 0.0
        # Its table does not come in one piece, so a row may be missed once.
        for _ in range(3):
            seen, held = Held.after(seen)
            if (theirs, ours) in held:
                return False
        return True

    def _wait(self, writing):
        select.select([self.socket], [self.socket] if writing else [], [], 0.05)

    def _drain(self):
        """Receives what is there; whether the other end has closed."""
        while not self.is_closed:
            try:
                chunk = self.socket.recv(65_536)
            except WOULD_BLOCK:
                break
            except OSError:
                chunk = b""
            self.is_closed = not chunk
            self.received += chunk
        return self.is_closed

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def statuses(received):
    """The statuses of the replies that are whole, and whatever else came as `rubbish`."""
    found, start = [], 0
    while start < len(received):
        end = received.find(b"\r\n\r\n", start)
        lines = bytes(received[start:end]).split(b"\r\n")
        if end < 0 or not lines[0].startswith(b"HTTP/1.1 "):
            return found + ["rubbish"]
        start = end + 4
        status = lines[0].split(b" ")[1].decode()
        found.append(status)
        fields = dict(line.lower().split(b": ", 1) for line in lines[1:])
        if status.startswith("1") or status in ("204", "304"):
            continue
        start += int(fields[b"content-length"])
        if start > len(received):
            return found + ["cut"]
    return found


# Types of frames (RFC 9113 § 6).
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 0x1
END_HEADERS, PADDED, WITH_PRIORITY = 0x4, 0x8, 0x20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def settings(*pairs):
    return frame(SETTINGS, payload=b"".join(key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in pairs))


def hello(*pairs):
    return PREFACE + settings(*pairs)


def integer(value, prefix, first=0):
    """A number as HPACK writes it (RFC 7541 § 5.1)."""
    most = (1 << prefix) - 1
    if value < most:
        return bytes([first | value])
    octets = [first | most]
    value -= most
    while value >= 128:
        octets.append(value % 128 + 128)
        value //= 128
    return bytes(octets + [value])


def field(name, value):
    """A literal without indexing (RFC 7541 § 6.2.2), not compressed."""
    name, value = (text.encode("latin-1") if isinstance(text, str) else text for text in (name, value))
    return b"\x00" + integer(len(name), 7) + name + integer(len(value), 7) + value


def block(fields):
    return b"".join(field(name, value) for name, value in fields)


def request_fields(method="GET", path="/nothing", authority="a.example", scheme="https"):
    return [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]


def headers(stream, fields, flags=END_STREAM | END_HEADERS):
    return frame(HEADERS, flags, stream, fields if isinstance(fields, bytes) else block(fields))


def frames(received):
    """(kind, flags, stream, payload) of the frames that are whole."""
    rest = memoryview(bytes(received))
    while len(rest) >= 9:
        size = int.from_bytes(rest[:3], "big")
        if len(rest) < 9 + size:
            return
        yield rest[3], rest[4], int.from_bytes(rest[5:9], "big") & 0x7FFF_FFFF, bytes(rest[9 : 9 + size])
        rest = rest[9 + size :]


def status_of(payload):
    """The status in a block of header fields: the first of them, an index of the static table or a literal."""
    index = payload[0] & 0x7F if payload[0] & 0x80 else None
    table = {8: "200", 9: "204", 10: "206", 11: "304", 12: "400", 13: "404", 14: "500"}
    if index is not None:
        return table.get(index, "?")
    # A literal, whose name is an index: a prefix of 6 or 4 bits, then the length and the value, perhaps compressed.
    digits = payload[2 : 2 + (payload[1] & 0x7F)]
    if payload[1] & 0x80:
        return huffman_digits(digits)
    return digits.decode("latin-1")


def huffman_digits(data):
    """Text of digits as the code of RFC 7541, appendix B, has them: five bits for 0 to 2, six for 3 to 9."""
    bits = "".join(f"{octet:08b}" for octet in data)
    codes = {"00000": "0", "00001": "1", "00010": "2"}
    codes |= {f"{0b011001 + digit - 3:06b}": str(digit) for digit in range(3, 10)}
    text = ""
    while len(text) < 3:
        size = next((size for size in (5, 6) if bits[:size] in codes), None)
        if size is None:
            return "?"
        text += codes[bits[:size]]
        bits = bits[size:]
    return text

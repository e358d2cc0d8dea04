"""What is no request, of every kind, at a fixed rate for a while, on both listeners of services.

Knows nothing of what a service must make of it; says how much was taken, and how much memory a service had meanwhile.
"""

import itertools
import os
import threading
import time

from http_wire import (
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Wire, field, frame, headers, hello, request_fields, statuses,
)

# Sent at once, and on one connection at most.
PIECE, MOST = 16_384, 4 << 20
WORKERS = 12
NOISE = os.urandom(1 << 20)


def noise(number, size=PIECE):
    start = number * 4_099 % (len(NOISE) - size)
    return NOISE[start : start + size]


def request(target, *lines):
    return b"\r\n".join([b"POST " + target + b" HTTP/1.1", b"Host: a.example", *lines]) + b"\r\n\r\n"


def broken_json(target):
    """Requests that are whole, and whose bodies are not: deep, cut off, with rubbish in them, of one endless text."""
    return [
        request(target, b"Content-Type: application/json", b"Content-Length: %d" % len(body)) + body for body in (
            b"[" * 60_000, b'{"accessToken": "' + b"a" * 60_000, b'{"accessToken": ' + NOISE[:60_000],
            b'{"a":1,' * 8_000,
        )
    ]


def kinds(target):
    """(name, whether a listener with TLS gets it, what is agreed upon there beginning, piece by number)"""
    broken = broken_json(target)
    for secure, protocol in ((False, None), (True, "http/1.1")):
        by = " by TLS" if secure else ""
        yield "random bytes" + by, secure, protocol, b"", noise
        yield "a field without end" + by, secure, protocol, request(target)[:-2] + b"X: ", lambda n: b"y" * PIECE
        yield "fields without end" + by, secure, protocol, request(target)[:-2], lambda n: b"X: y\r\n" * (PIECE // 6)
        yield "random chunks" + by, secure, protocol, request(target, b"Transfer-Encoding: chunked"), lambda n: (
            b"%x\r\n" % PIECE + noise(n) + (b"\r\n" if n % 8 else b"")
        )
        yield "broken JSON" + by, secure, protocol, b"", lambda n: broken[n % len(broken)]
    yield "random bytes in place of TLS", True, None, b"", noise
    yield "a request in place of TLS", True, None, b"", lambda n: broken[0]
    yield "random bytes of a handshake", True, None, bytes.fromhex("160301400001003ffc0303"), noise
    yield "random bytes in place of a preface", True, "h2", b"", noise
    yield "random bytes behind a preface", True, "h2", hello(), noise
    yield "random frames", True, "h2", hello(), lambda n: frame(n % 12, n % 64, n % 3, noise(n, PIECE - 9))
    yield "a head of HTTP/2 without end", True, "h2", hello() + headers(1, request_fields(), END_STREAM), lambda n: (
        frame(CONTINUATION, 0, 1, field(f"x-{n}", "y" * 8_000))
    )
    post = request_fields("POST", target.decode()) + [("content-type", "application/json")]
    yield "broken JSON by HTTP/2", True, "h2", hello(), lambda n: (
        headers(2 * n + 1, post, END_HEADERS) + frame(DATA, END_STREAM, 2 * n + 1, noise(n))
    )


class Pace:
    """Lets bytes pass at a rate. What was too slow is not made up for."""

    def __init__(self, rate):
        self.rate = rate
        self.due = time.monotonic()
        self.lock = threading.Lock()

    def wait(self, size):
        with self.lock:
            self.due = max(self.due, time.monotonic() - 0.5) + size / self.rate
            due = self.due
        time.sleep(max(0, due - time.monotonic()))


class Garbage:
    """Garbage for services, whose `public` and `management` are ports; `secure` of them have TLS."""

    def __init__(self, plain, secure, authority, target, rate):
        self.plain, self.secure, self.authority = plain, secure, authority
        self.pace = Pace(rate)
        self.turns = itertools.cycle([(kind, public) for kind in kinds(target) for public in (True, False)])
        self.lock = threading.Lock()
        self.taken = self.connections = 0
        # Statuses beyond 4xx, and what else went wrong.
        self.wrong = []

    def pour(self, seconds):
        """Sends it for so long."""
        self.end = time.monotonic() + seconds
        threads = [threading.Thread(target=self.work) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def work(self):
        while time.monotonic() < self.end:
            with self.lock:
                (name, secure, *kind), public = next(self.turns)
                self.connections += 1
            service = self.secure if secure else self.plain
            try:
                self.spoil(service.public if public else service.management, name, *kind)
            except OSError as error:
                self.wrong.append(f"{name}: {error!r}")

    def spoil(self, port, name, protocol, first, piece):
        with Wire(port, protocol, self.authority) as wire:
            sent = 0
            wire.send(first)
            for number in itertools.count():
                data = piece(number)
                if sent > MOST or time.monotonic() > self.end or not wire.send(data, seconds=5):
                    break
                sent += len(data)
                self.pace.wait(len(data))
            wire.receive(seconds=0.2)
            found = statuses(wire.received) if protocol != "h2" and wire.received.startswith(b"HTTP/") else []
        with self.lock:
            self.taken += sent
            self.wrong += [f"{name}: {status}" for status in found if status.startswith("5") and status != "501"]


class Memory:
    """Notes again and again how much memory services have."""

    def __init__(self, services):
        self.services = services
        self.samples = {service.name: [] for service in services}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.wait(0.5):
            for service in self.services:
                self.samples[service.name].append(service.memory())

    def end(self):
        self.over.set()
        self.thread.join()

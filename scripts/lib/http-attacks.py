"""Attacks a running service below its API: by what a request, a connection and a frame may be.

What must become of each attack stands beside it. Exit 1 when something else does, when the service is ever slow to say
that it lives, answers with 5xx, or keeps memory or descriptors afterwards.
"""

import argparse
import concurrent.futures
import json
import os
import re
import sys
import threading
import time

from http_crowd import CONNECTIONS, Crowd, Peak, Visitor, kinds, returns
from http_garbage import Garbage, Memory
from http_wire import (
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PREFACE, PRIORITY,
    PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, WITH_PRIORITY, Wire, block, field, frame,
    frames, headers, hello, integer, request_fields, settings, status_of, statuses,
)

# The limits of time that the service was started with, for a request and for a pause, and what a busy machine may take
# besides.
SECONDS, IDLE, PATIENCE = 1.5, 12, 20
# More memory than before, and the longest that health may take, while attacks are under way.
MOST_MEMORY, MOST_SECONDS = 96 << 20, 5
# Garbage: bytes a second, and how much more memory later on than in the first quarter.
GARBAGE_RATE, MOST_GROWTH = 24_000_000, 32 << 20
# A crowd that waits: the most memory beside that at its start, how much of it may stay, and when it is back.
MOST_OF_CROWD, MOST_KEPT, CROWD_SECONDS = 64 << 20, 16 << 20, 60
# An access token of a person whom the simulator has for the load.
TOKEN = "EAAload000000000000"
FLOOD = 20_000

# Behind each attack by HTTP/1.1: if the connection is still in order, it is answered with a status that nothing else
# has, 414, and ended; so what comes back always ends, and no time is waited for what does not come.
LAST = b"GET /" + b"a" * 8000 + b" HTTP/1.1\r\nHost: a.example\r\n\r\n"
# What is hidden in an attack, and must not be answered: there is no such path, which is 404.
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: a.example\r\n\r\n"


# Where there is nothing.
TARGET = b"/nothing"


def request(*lines, method=b"POST", target=TARGET, version=b"HTTP/1.1", body=b"", host=b"Host: a.example"):
    head = [method + b" " + target + b" " + version] + ([host] if host else []) + list(lines)
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def chunked(*parts, lines=(), **more):
    return request(b"Transfer-Encoding: chunked", *lines, body=b"".join(parts), **more)


# What is no length, though something in it may read as 5.
LENGTHS = (
    ("+5", b"+5"), ("-5", b"-5"), ("-0", b"-0"), ("+50", b"+50"), ("5 5", b"5 5"), ("5, 5", b"5, 5"), ("5, 6", b"5, 6"),
    ("5,", b"5,"), (",5", b",5"), ("0x5", b"0x5"), ("5e0", b"5e0"), ("5.0", b"5.0"), ("5;", b"5;"), ("empty", b""),
    ("a word", b"five"), ("a NUL behind", b"5\0"), ("a vertical tab before", b"\x0b5"), ("1_0", b"1_0"),
    ("digits of another script", "५".encode()), ("wide digits", "５".encode()),
    ("2^64 + 5", b"18446744073709551621"), ("10^40", b"1" + b"0" * 40), ("in quotes", b'"5"'),
)

REFUSED = "400"
SERVED = "404 414"
# What is lawful either way: the connection ends, so nothing is taken for another request.
ENDED = "400|404|404 400|"


def http1():
    """(name, bytes, statuses that must come back until the connection ends)."""
    yield from framing()
    yield from chunks()
    yield from heads()
    yield from controls()
    yield from sizes()
    yield from connections()


def framing():
    chunk = b"0\r\n\r\n"
    for name, lines in (
        ("CL.TE", (b"Content-Length: 6", b"Transfer-Encoding: chunked")),
        ("TE.CL", (b"Transfer-Encoding: chunked", b"Content-Length: 4")),
        ("CL.TE in other letters", (b"content-LENGTH: 6", b"tRANSFER-encoding: CHUNKED")),
        ("CL 0 and TE", (b"Content-Length: 0", b"Transfer-Encoding: chunked")),
        ("two TE", (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked")),
        ("TE, then identity", (b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity")),
        ("a list that ends in identity", (b"Transfer-Encoding: chunked, identity",)),
        ("a list that ends in chunked", (b"Transfer-Encoding: identity, chunked",)),
        ("gzip, chunked", (b"Transfer-Encoding: gzip, chunked",)),
        ("xchunked", (b"Transfer-Encoding: xchunked",)),
        ("chunked with a parameter", (b"Transfer-Encoding: chunked;q=1",)),
        ("chunked in quotes", (b'Transfer-Encoding: "chunked"',)),
        ("chunked and a NUL", (b"Transfer-Encoding: chunked\0",)),
        ("a vertical tab and chunked", (b"Transfer-Encoding:\x0bchunked",)),
        ("a letter that looks like one", (b"Transfer-Encoding: chun\xc4\xb8ed",)),
        ("an empty coding", (b"Transfer-Encoding:",)),
        ("a comma and chunked", (b"Transfer-Encoding: ,chunked",)),
        ("chunked and a comma", (b"Transfer-Encoding: chunked,",)),
        ("white space before the colon", (b"Transfer-Encoding : chunked",)),
        ("a tab before the colon", (b"Transfer-Encoding\t: chunked",)),
        ("a coding on a folded line", (b"Transfer-Encoding:\r\n chunked",)),
        ("a coding behind a fold", (b"X-Y: z\r\n Transfer-Encoding: chunked",)),
        ("a coding behind a bare CR", (b"X-Y: z\rTransfer-Encoding: chunked",)),
    ):
        yield f"framing: {name}", request(*lines, body=chunk + HIDDEN), REFUSED
    bare = request(b"X-Y: z\nTransfer-Encoding: chunked", body=chunk + HIDDEN)
    yield "framing: a bare LF before a coding", bare, ENDED
    yield "framing: a tab before chunked", request(b"Transfer-Encoding:\tchunked", body=chunk), SERVED
    # Another name is no framing: the chunk that follows is no request.
    for name in (b"Transfer_Encoding", b"TransferEncoding", b"X-Transfer-Encoding"):
        yield f"framing: {name.decode()}", request(name + b": chunked", body=chunk + HIDDEN), "404 400"
    yield "framing: TE by HTTP/1.0", chunked(chunk, HIDDEN, version=b"HTTP/1.0"), REFUSED
    five = b"hello"
    for name, value in LENGTHS:
        yield f"length: {name}", request(b"Content-Length: " + value, body=five + HIDDEN), REFUSED
    for name, lines in (
        ("two that agree", (b"Content-Length: 5", b"Content-Length: 5")),
        ("two that do not", (b"Content-Length: 5", b"Content-Length: 6")),
        ("one of nothing, and one", (b"Content-Length: 0", b"Content-Length: 5")),
        ("one, and +5", (b"Content-Length: 5", b"Content-Length: +5")),
        ("white space before the colon", (b"Content-Length : 5",)),
        ("behind a fold", (b"X-Y: z\r\n Content-Length: 5",)),
        ("on a folded line", (b"Content-Length:\r\n 5",)),
        ("behind a bare CR", (b"X-Y: z\rContent-Length: 5",)),
    ):
        yield f"length: {name}", request(*lines, body=five + HIDDEN), REFUSED
    yield "length: 2^63, which does not come", request(b"Content-Length: 9223372036854775808"), "400|404|413|"
    yield "length: zeros before", request(b"Content-Length: 005", body=five), f"{SERVED}|{REFUSED}"
    yield "length: white space around", request(b"Content-Length:  5 ", body=five), SERVED
    yield "length: a GET with a body", request(b"Content-Length: 5", method=b"GET", body=five), SERVED
    yield "length: a GET whose body is a request", request(
        b"Content-Length: %d" % len(HIDDEN), method=b"GET", body=HIDDEN
    ), SERVED
    yield "length: a body that is a request", request(b"Content-Length: %d" % len(HIDDEN), body=HIDDEN), SERVED
    yield "length: one less than comes", request(b"Content-Length: 4", body=five), "404 400"


def chunks():
    end = b"0\r\n\r\n"
    yield "chunks: an empty body", chunked(end), SERVED
    yield "chunks: one", chunked(b"5\r\nhello\r\n", end), SERVED
    yield "chunks: a body that is a request", chunked(b"%x\r\n%s\r\n" % (len(HIDDEN), HIDDEN), end), SERVED
    yield "chunks: large letters and zeros", chunked(b"0000A\r\nhellohello\r\n", end), SERVED
    yield "chunks: an extension", chunked(b"5;name=value\r\nhello\r\n", end), f"{SERVED}|{ENDED}"
    for name, part in (
        ("+5", b"+5\r\nhello\r\n"), ("-5", b"-5\r\nhello\r\n"), ("0x5", b"0x5\r\nhello\r\n"),
        ("nothing", b"\r\nhello\r\n"),
        ("a word", b"five\r\nhello\r\n"), ("2^64", b"10000000000000000\r\nhello\r\n"),
        ("2^64 - 1", b"f" * 16 + b"\r\nhello\r\n"),
        ("2^63", b"8" + b"0" * 15 + b"\r\nhello\r\n"), ("forty digits", b"f" * 40 + b"\r\nhello\r\n"),
        ("white space before", b" 5\r\nhello\r\n"), ("a tab before", b"\t5\r\nhello\r\n"),
        ("a NUL behind", b"5\0\r\nhello\r\n"),
        ("5_", b"5_\r\nhello\r\n"), ("a bare CR behind", b"5\rhello\r\n"),
        ("no end of the data", b"5\r\nhello0\r\n\r\n"),
        ("more data than said", b"5\r\nhelloworld\r\n"), ("less data than said", b"6\r\nhello\r\n"),
        ("a NUL in an extension", b"5;a=\0\r\nhello\r\n"), ("a bare CR in an extension", b"5;a=\rb\r\nhello\r\n"),
        ("a bare LF in an extension", b"5;a=\nb\r\nhello\r\n"), ("an end of the data of LF", b"5\r\nhello\n"),
    ):
        yield f"chunks: {name}", chunked(part, end, HIDDEN), ENDED
    for name, part in (("a bare LF behind", b"5\nhello\r\n"), ("white space behind", b"5 \r\nhello\r\n")):
        yield f"chunks: {name}", chunked(part, end), f"{SERVED}|{ENDED}"
    # Trailers change nothing of what has been read; behind those that would, nothing is read, and so nothing refused.
    for trailer in (
        b"Host: b.example", b"Upgrade: h2c", b"Authorization: b", b"Expect: 100-continue", b"Trailer: Host", b"X: y",
    ):
        yield f"trailers: {trailer.decode()}", chunked(end[:-2], trailer, b"\r\n\r\n"), SERVED
    for trailer in (
        b"Connection: close", b"Connection: keep-alive", b"Connection: Upgrade\r\nUpgrade: h2c",
        b"Proxy-Connection: close", b"Content-Length: 100", b"Content-Length: 0", b"Content-Length: +50",
        b"Transfer-Encoding: chunked",
    ):
        yield f"trailers: {trailer.decode()!r}", chunked(end[:-2], trailer, b"\r\n\r\n", HIDDEN), "404|"
    for name, trailer in (
        ("a NUL", b"X: \0"), ("no colon", b"X"), ("white space before the colon", b"X : y"),
        ("a bare CR", b"X: y\rZ: a"),
    ):
        yield f"trailers: {name}", chunked(end[:-2], trailer, b"\r\n\r\n", HIDDEN), ENDED
    yield "trailers: many", chunked(end[:-2], b"X: y\r\n" * 20_000, b"\r\n", HIDDEN), ENDED
    yield "trailers: a long one", chunked(end[:-2], b"X: " + b"y" * 200_000, b"\r\n\r\n", HIDDEN), ENDED
    yield "chunks: a long extension", chunked(b"5;a=", b"b" * 200_000, b"\r\nhello\r\n", end, HIDDEN), ENDED
    yield "chunks: many extensions", chunked(b"1;aaaaaaaaaaaaaaaaaaaa=b\r\nx\r\n" * 10_000, end, HIDDEN), ENDED + "|413"
    yield "chunks: zeros before", chunked(b"0" * 200_000, b"5\r\nhello\r\n", end, HIDDEN), ENDED
    yield "chunks: of one byte", chunked(b"1\r\nx\r\n" * 1000, end), SERVED


def heads():
    for name, line in (
        ("a fold", b"X-Y: z\r\n z"), ("a fold of a tab", b"X-Y: z\r\n\tz"), ("no colon", b"X-Y"), ("no name", b": z"),
        ("a name of white space", b" : z"), ("white space in a name", b"X Y: z"),
        ("white space before a colon", b"X-Y : z"),
        ("brackets in a name", b"X(Y): z"), ("a slash in a name", b"X/Y: z"),
        ("bytes beyond ASCII in a name", b"X-\xc3\xa4: z"),
        ("a bare CR in a value", b"X-Y: z\rz"), ("a bare CR at its end", b"X-Y: z\r"),
    ):
        yield f"head: {name}", request(line, method=b"GET") + HIDDEN, REFUSED
    yield "head: a first line that is folded", b"GET /nothing HTTP/1.1\r\n Host: a.example\r\n\r\n" + HIDDEN, REFUSED
    # Some take a bare LF for the end of a line; whatever is taken, nothing is between two views.
    yield "head: bare LF", b"GET /nothing HTTP/1.1\nHost: a.example\n\n", f"{SERVED}|{REFUSED}"
    yield "head: bytes beyond ASCII in a value", request(b"X-Y: \xc3\xa4\xff", method=b"GET"), f"{SERVED}|{REFUSED}"
    for name, first in (
        ("HTTP/1.2", b"GET /nothing HTTP/1.2"), ("HTTP/2.0", b"GET /nothing HTTP/2.0"),
        ("HTTP/0.9", b"GET /nothing HTTP/0.9"),
        ("HTTP/11.1", b"GET /nothing HTTP/11.1"), ("HTTP/1.10", b"GET /nothing HTTP/1.10"),
        ("http/1.1", b"GET /nothing http/1.1"),
        ("HTTP/1", b"GET /nothing HTTP/1"), ("HTTP 1.1", b"GET /nothing HTTP 1.1"),
        ("HTTPS/1.1", b"GET /nothing HTTPS/1.1"),
        ("a version of NULs", b"GET /nothing \0\0\0\0\0\0\0\0"), ("none", b"GET /nothing"),
        ("a third word", b"GET /nothing x HTTP/1.1"),
        ("no target", b"GET HTTP/1.1"), ("no method", b" /nothing HTTP/1.1"), ("nothing but white space", b"   "),
        ("a method in small letters", b"get /nothing HTTP/1.1"), ("a method of signs", b"G(T /nothing HTTP/1.1"),
        ("a method that nobody knows", b"FROB /nothing HTTP/1.1"),
        ("a long method", b"G" * 5000 + b" /nothing HTTP/1.1"),
        ("a preface of HTTP/2", b"PRI * HTTP/2.0"), ("a reply", b"HTTP/1.1 200 OK"),
        ("ICE", b"SOURCE /nothing ICE/1.0"),
        ("RTSP", b"PLAY rtsp://a.example/ RTSP/1.0"),
    ):
        yield f"first line: {name}", first + b"\r\nHost: a.example\r\n\r\n" + HIDDEN, "400|404|405|501"
    for name, target in (
        ("a word", b"nothing"), ("an authority", b"b.example:443"), ("another scheme", b"ftp://b.example/x"),
        ("no authority", b"http:///x"), ("a user", b"http://user@b.example/x"), ("a fragment", b"/x#y"),
        ("an asterisk", b"*"), ("javascript", b"javascript:alert(1)"),
        ("an authority with white space", b"http://b\te/x"),
        ("a port that is none", b"http://b.example:x y/x"), ("a question mark", b"?x"), ("a backslash", b"\\x"),
    ):
        yield f"target: {name}", request(method=b"GET", target=target) + HIDDEN, REFUSED
    for name, target in (
        ("absolute, of another host", b"http://b.example/nothing"),
        ("absolute by https", b"https://b.example:8443/nothing"),
        ("two slashes", b"//nothing"), ("dots", b"/../../etc/passwd"),
        ("dots that are encoded", b"/%2e%2e/%2e%2e/etc/passwd"),
        ("a NUL that is encoded", b"/%00"), ("a line break that is encoded", b"/%0d%0aX: y"),
        ("encoded wrong", b"/%zz%"),
        ("another URL in the path", b"/http://b.example/x"), ("many dots", b"/" + b"./" * 3000),
        ("backslashes", b"/..\\..\\x"),
        ("half a character", b"/%c3"), ("a slash too many ways", b"/%c0%af"),
        ("7 KB of query", b"/x?" + b"a=b&" * 1750),
    ):
        data = request(method=b"GET", target=target.replace(b" ", b"%20"))
        yield f"target: {name}", data, f"{SERVED}|400 414|{REFUSED}"
    for name, hosts in (
        ("none", ()), ("two", (b"Host: a.example", b"Host: b.example")), ("two that agree", (b"Host: a.example",) * 2),
        ("a list", (b"Host: a.example, b.example",)), ("with a user", (b"Host: user@a.example",)),
        ("with a path", (b"Host: a/b",)),
        ("with white space", (b"Host: a b",)), ("with a tab", (b"Host: a\tb",)), ("with a NUL", (b"Host: a\0b",)),
        ("beyond ASCII", (b"Host: \xc3\xa4.example",)), ("white space before the colon", (b"Host : a.example",)),
        ("none, and a forwarded one", (b"X-Forwarded-Host: a.example",)),
        ("a second one that is empty", (b"Host: a", b"Host:")),
    ):
        yield f"host: {name}", request(*hosts, method=b"GET", host=None) + HIDDEN, REFUSED
        absolute = request(*hosts, method=b"GET", host=None, target=b"http://b.example/nothing")
        yield f"host of an absolute target: {name}", absolute + HIDDEN, REFUSED


def controls():
    """Every character that must not be there, wherever it could be."""
    for octet in [*range(32), 127]:
        char, shown = bytes([octet]), f"{octet:#04x}"
        # HT is white space in a value; CR and LF have cases of their own.
        if octet not in (9, 10, 13):
            yield f"control {shown} in a value", request(b"X-Y: a" + char + b"b", method=b"GET") + HIDDEN, REFUSED
        if octet not in (10, 13):
            yield f"control {shown} in a name", request(b"X" + char + b"Y: z", method=b"GET") + HIDDEN, REFUSED
            yield f"control {shown} in a target", request(method=b"GET", target=b"/a" + char + b"b") + HIDDEN, REFUSED
            yield f"control {shown} in a method", request(method=b"G" + char + b"T") + HIDDEN, REFUSED
            yield f"control {shown} in a version", request(method=b"GET", version=b"HTTP/1.1" + char) + HIDDEN, REFUSED
            yield f"control {shown} before a request", char + request(method=b"GET") + HIDDEN, REFUSED
            yield f"control {shown} in a length", request(b"Content-Length: 5" + char + b"5", body=HIDDEN), REFUSED


def sizes():
    yield "sizes: 100 fields", request(*(b"X-%d: y" % n for n in range(99)), method=b"GET"), SERVED
    yield "sizes: 101 fields", request(*(b"X-%d: y" % n for n in range(100)), method=b"GET") + HIDDEN, "400|431"
    yield "sizes: 5,000 fields", request(*(b"X-%d: y" % n for n in range(5000)), method=b"GET") + HIDDEN, "400|431|"
    yield "sizes: 2,000 fields of a name", request(*[b"X: y"] * 2000, method=b"GET") + HIDDEN, "400|431"
    yield "sizes: a field of 16 KB", request(b"X: " + b"y" * 16_380, method=b"GET"), SERVED
    yield "sizes: a field of 17 KB", request(b"X: " + b"y" * 17_000, method=b"GET") + HIDDEN, "400|431"
    yield "sizes: a name of 17 KB", request(b"X" * 17_000 + b": y", method=b"GET") + HIDDEN, "400|431"
    yield "sizes: a field of 1 MB", request(b"X: " + b"y" * 1_000_000, method=b"GET") + HIDDEN, "400|431|"
    yield "sizes: fields of 40 KB", request(*[b"X: " + b"y" * 10_000] * 4, method=b"GET") + HIDDEN, "400|431"
    yield "sizes: cookies of 40 KB", request(*[b"Cookie: a=" + b"b" * 4000] * 10, method=b"GET") + HIDDEN, "400|431"
    yield "sizes: a target of 1 MB", request(method=b"GET", target=b"/" + b"a" * 1_000_000) + HIDDEN, "414|400|"
    yield "sizes: a line without an end", b"G" * 1_000_000, "414|400|"
    yield "sizes: line breaks without an end", b"\r\n" * 500_000, "400|"
    yield "sizes: white space behind a target", b"GET /nothing" + b" " * 200_000, "414|400|"
    spaces = request(b"X:" + b" " * 200_000 + b"y", method=b"GET")
    yield "sizes: white space before a value", spaces + HIDDEN, "400|431|"
    for size in (65_537, 10_000_000):
        yield f"sizes: a body of {size}", request(b"Content-Length: %d" % size, body=b"x" * size), "404|413|404 414|"
        parts = [b"1000\r\n" + b"x" * 4096 + b"\r\n"] * (size // 4096 + 1)
        yield f"sizes: a body of {size} in chunks", chunked(*parts, b"0\r\n\r\n"), "404|413|404 414|"
    yield "sizes: a body of 10^18 that does not come", request(b"Content-Length: 1" + b"0" * 18), "404|413|400|"


def connections():
    for value in (b"close", b"Close", b"keep-alive, close", b"close, x", b"x,close"):
        yield f"connection: {value.decode()}", request(b"Connection: " + value, method=b"GET") + HIDDEN, "404"
    for value in (b"Host", b"Content-Length, Host", b"Transfer-Encoding", b"X-Forwarded-For", b"\xff", b",,,"):
        name = value.decode("latin-1")
        yield f"connection: {name}", request(b"Connection: " + value, method=b"GET"), f"{SERVED}|{REFUSED}"
    yield "connection: HTTP/1.0", request(method=b"GET", version=b"HTTP/1.0") + HIDDEN, "404"
    kept = request(b"Connection: keep-alive", method=b"GET", version=b"HTTP/1.0")
    yield "connection: HTTP/1.0 and keep-alive", kept, SERVED
    # What follows a request to upgrade is never read as another request.
    for name, lines in (
        ("h2c", (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__")),
        ("websocket", (b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13")),
        ("TLS", (b"Connection: Upgrade", b"Upgrade: TLS/1.2")), ("without Connection", (b"Upgrade: h2c",)),
    ):
        yield f"upgrade: {name}", request(*lines, method=b"GET") + HIDDEN, "404"
    expect = b"Expect: 100-continue"
    for name, body in (("is there", b"hello"), ("is a request", HIDDEN)):
        data = request(expect, b"Content-Length: %d" % len(body), body=body)
        yield f"expect: a body that {name}", data, f"{SERVED}|100 {SERVED}|404"
    yield "expect: no body", request(expect, method=b"GET"), SERVED
    yield "expect: something else", request(b"Expect: 200-ok", method=b"GET"), f"{SERVED}|417 414|417"
    for method in (b"TRACE", b"TRACK", b"DEBUG", b"PROPFIND", b"PURGE", b"LINK"):
        # No reply repeats what was sent.
        yield f"method: {method.decode()}", request(b"X-Secret: abc", method=method), "404 414|405 414|400|501|405"
    yield "method: CONNECT", request(method=b"CONNECT", target=b"b.example:443") + HIDDEN, REFUSED
    yield "method: an override", request(b"X-HTTP-Method-Override: DELETE", method=b"GET"), SERVED
    yield "other: TLS", bytes.fromhex("16030100c8010000c40303") + os.urandom(200), "400|"
    yield "other: TLS and HTTP", bytes.fromhex("1603010005") + HIDDEN, "400|"
    yield "other: HTTP/2", hello() + headers(1, request_fields()), "400|"
    yield "other: PROXY, version 1", b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + HIDDEN, REFUSED
    yield "other: PROXY, version 2", b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + b"\1" * 12 + HIDDEN, "400|"
    yield "other: SMTP", b"EHLO a.example\r\nMAIL FROM:<a@a.example>\r\n" + HIDDEN, REFUSED
    yield "other: PostgreSQL", bytes.fromhex("0000000804d2162f") + HIDDEN, "400|"
    yield "other: a first byte of each kind", bytes(range(256)) * 20, "400|"


# What must become of an attack by HTTP/2.
STREAM = "reset|4xx"
CONNECTION = "goaway|closed"
ANY = "reset|4xx|goaway|closed"


def http2():
    """(name, bytes, what must become of it, settings): on stream 1, and stream 101 asks afterwards."""
    good = request_fields()

    def replaced(name, *values):
        return [pair for pair in good if pair[0] != name] + [(name, value) for value in values]

    yield "a request", headers(1, good), "served", ()
    # § 4 to 6: frames.
    for name, data in (
        ("a frame that is too long", frame(DATA, stream=1, length=1 << 20)),
        ("a head that is too long", frame(HEADERS, 5, 1, b"\0" * 16_385)),
        ("DATA of the connection", frame(DATA, stream=0, payload=b"x")),
        ("HEADERS of the connection", headers(0, good)),
        ("a stream of the server's", headers(2, good)),
        ("a stream behind a later one", headers(5, good) + headers(3, good)),
        ("DATA of a stream that is not there", frame(DATA, stream=9, payload=b"x")),
        ("RST_STREAM of a stream that is not there", frame(RST_STREAM, stream=9, payload=b"\0" * 4)),
        ("RST_STREAM of the connection", frame(RST_STREAM, stream=0, payload=b"\0" * 4)),
        ("RST_STREAM of five bytes", headers(1, good, END_HEADERS) + frame(RST_STREAM, stream=1, payload=b"\0" * 5)),
        ("WINDOW_UPDATE of a stream that is not there", frame(WINDOW_UPDATE, stream=9, payload=b"\0\0\0\1")),
        ("WINDOW_UPDATE of three bytes", frame(WINDOW_UPDATE, payload=b"\0\0\1")),
        ("WINDOW_UPDATE of nothing", frame(WINDOW_UPDATE, payload=b"\0" * 4)),
        ("a window beyond 2^31", frame(WINDOW_UPDATE, payload=b"\x7f\xff\xff\xff") * 2),
        ("SETTINGS of five bytes", frame(SETTINGS, payload=b"\0" * 5)),
        ("SETTINGS of a stream", frame(SETTINGS, stream=1)),
        ("an answer to SETTINGS with something in it", frame(SETTINGS, ACK, payload=b"\0" * 6)),
        ("ENABLE_PUSH of 2", settings((2, 2))), ("a window of 2^31", settings((4, 1 << 31))),
        ("frames of 16383 bytes", settings((5, 16_383))), ("frames of 2^24 bytes", settings((5, 1 << 24))),
        ("PING of seven bytes", frame(PING, payload=b"\0" * 7)),
        ("PING of a stream", frame(PING, stream=1, payload=b"\0" * 8)),
        ("GOAWAY of a stream", frame(GOAWAY, stream=1, payload=b"\0" * 8)),
        ("PUSH_PROMISE", frame(PUSH_PROMISE, 4, 1, b"\0\0\0\2" + block(good))),
        ("CONTINUATION of nothing", frame(CONTINUATION, 4, 1, block(good))),
        ("a frame inside a head", headers(1, good, END_STREAM) + frame(PING, payload=b"\0" * 8)),
        ("another stream inside a head", headers(1, good, END_STREAM) + headers(3, good)),
        ("another stream's CONTINUATION", headers(1, good, END_STREAM) + frame(CONTINUATION, 4, 3, b"")),
        ("more padding than frame", frame(HEADERS, 5 | PADDED, 1, b"\xff" + block(good))),
        ("more padding than data", headers(1, replaced(":method", "POST"), 4) + frame(DATA, 1 | PADDED, 1, b"\xffx")),
        ("an unknown preface", b""),
    ):
        yield f"frames: {name}", data, CONNECTION, () if data else None
    for name, data in (
        ("PRIORITY of four bytes", frame(PRIORITY, stream=1, payload=b"\0" * 4)),
        ("PRIORITY on itself", frame(PRIORITY, stream=1, payload=b"\0\0\0\1\0")),
        ("a head that depends on itself", frame(HEADERS, 5 | WITH_PRIORITY, 1, b"\0\0\0\1\0" + block(good))),
        ("a window of a stream of nothing", headers(1, good, 4) + frame(WINDOW_UPDATE, 0, 1, b"\0" * 4)),
        ("a window of a stream beyond 2^31", headers(1, good, 4) + frame(WINDOW_UPDATE, 0, 1, b"\x7f\xff\xff\xff") * 2),
        ("DATA behind the end", headers(1, good) + frame(DATA, 1, 1, b"x")),
        ("HEADERS behind the end", headers(1, good) + headers(1, good)),
    ):
        yield f"frames: {name}", data, ANY + "|served", ()
    yield "frames: an unknown kind", frame(0xFA, 0xFF, 1, b"x" * 100) + headers(1, good), "served", ()
    yield "frames: unknown settings", settings((0xFFFF, 1), (0, 5)) + headers(1, good), "served", ()
    yield "frames: flags that nobody knows", frame(HEADERS, 0xD2 | 5, 1, block(good)), "served", ()
    # RFC 7541: compression.
    for name, data in (
        ("index 0", b"\x80"), ("an index beyond the tables", b"\xff\x80\x01"),
        ("an index that overflows", b"\xff" * 12),
        ("a text longer than the block", b"\0\x7f\x80\x80\x80\x01a"),
        ("a code that is none", b"\0\x84\xff\xff\xff\xff\x01a"),
        ("a code that ends in the middle", b"\0\x81\xfe\x01a"),
        ("a table beyond the setting", b"\x3f\xe2\xff\x03" + block(good)),
        ("a table that changes in the middle", block(good) + b"\x20"), ("half a number", block(good) + b"\x7f"),
        ("a text of 2^63", b"\0\x7f" + b"\xff" * 9 + b"\x7f"),
    ):
        yield f"compression: {name}", headers(1, data), CONNECTION, ()
    # § 8: requests.
    for name, fields in (
        ("no method", [pair for pair in good if pair[0] != ":method"]),
        ("no path", [p for p in good if p[0] != ":path"]),
        ("no scheme", [pair for pair in good if pair[0] != ":scheme"]), ("nothing", []),
        ("two methods", good + [(":method", "POST")]), ("two paths", good + [(":path", "/hidden")]),
        ("two authorities", good + [(":authority", "b.example")]), ("a status", good + [(":status", "200")]),
        ("an unknown one", good + [(":frob", "x")]), ("one behind a field", good[:3] + [("x", "y")] + good[3:]),
        ("an empty path", replaced(":path", "")), ("a path without a slash", replaced(":path", "nothing")),
        ("white space in a path", replaced(":path", "/a b")),
        ("a request in a path", replaced(":path", "/ HTTP/1.1\r\nX: y")),
        ("a NUL in a path", replaced(":path", "/a\0")), ("a fragment", replaced(":path", "/a#b")),
        ("an asterisk", replaced(":path", "*")),
        ("a URL for a path", replaced(":path", "http://b.example/")),
        ("a scheme of script", replaced(":scheme", "javascript")),
        ("white space in a method", replaced(":method", "GET /hidden HTTP/1.1\r\nX: y\r\n\r\nGET")),
        ("an empty method", replaced(":method", "")), ("CONNECT", [(":method", "CONNECT"),
        (":authority", "b.example:443")]),
        ("CONNECT with a path", replaced(":method", "CONNECT")), ("a user", replaced(":authority", "user@a.example")),
        ("an authority with white space", replaced(":authority", "a b")),
        ("an authority with a path", replaced(":authority", "a/b")),
        ("an authority with a NUL", replaced(":authority", "a\0")),
        ("an authority with a line break", replaced(":authority", "a\r\nX: y")),
        ("another host", good + [("host", "b.example")]),
        ("no authority and no host", [p for p in good if p[0] != ":authority"]),
        ("two hosts", [p for p in good if p[0] != ":authority"] + [("host", "a"), ("host", "b")]),
        ("capitals in one", [(":Method", "GET")] + good[1:]),
        ("white space before one", [(" :method", "GET")] + good[1:]),
        ("a path of 8,001 bytes", replaced(":path", "/" + "a" * 8000)),
    ):
        yield f"pseudo-header: {name}", headers(1, fields), STREAM, ()
    for name, pair in (
        ("connection", ("connection", "close")), ("connection: host", ("connection", "host")),
        ("upgrade", ("upgrade", "h2c")),
        ("transfer-encoding", ("transfer-encoding", "chunked")), ("keep-alive", ("keep-alive", "x")),
        ("proxy-connection", ("proxy-connection", "x")), ("te: gzip", ("te", "gzip")), ("capitals", ("X-Y", "z")),
        ("an empty name", ("", "z")), ("white space in a name", ("x y", "z")), ("a colon in a name", ("x:", "z")),
        ("a name of a colon", (":", "z")), ("a line break in a name", ("x\r\ny", "z")),
        ("a NUL in a name", ("x\0", "z")),
        ("beyond ASCII in a name", ("x\xe4", "z")), ("a line break in a value", ("x", "y\r\nz: a")),
        ("a CR in a value", ("x", "y\rz")),
        ("an LF in a value", ("x", "y\nz")), ("a NUL in a value", ("x", "y\0z")),
        ("length +50", ("content-length", "+50")),
        ("length -1", ("content-length", "-1")), ("length of a list", ("content-length", "0, 0")),
        ("no length", ("content-length", "")),
        ("length 0x0", ("content-length", "0x0")), ("length 10^30", ("content-length", "1" + "0" * 30)),
        ("a length and no body", ("content-length", "5")), ("17 KB", ("x", "y" * 17_000)),
    ):
        fields = block(good + [pair])
        data = headers(1, fields[:16_000], END_STREAM | (END_HEADERS if len(fields) <= 16_000 else 0))
        if len(fields) > 16_000:
            data += frame(CONTINUATION, END_HEADERS, 1, fields[16_000:])
        # What the library takes for an error of the connection, though of one stream it would do (RFC 9113 § 5.4.1).
        yield f"field: {name}", data, ANY if name in ("an empty name", "17 KB") else STREAM, ()
    yield "field: 101 of them", headers(1, good + [(f"x-{n}", "y") for n in range(101)]), STREAM, ()
    yield "field: 2,000 empty ones", headers(1, good + [("x", "")] * 2000), ANY, ()
    post = replaced(":method", "POST")
    for name, data in (
        ("less than said", headers(1, post + [("content-length", "9")], 4) + frame(DATA, 1, 1, b"hello")),
        ("more than said", headers(1, post + [("content-length", "1")], 4) + frame(DATA, 1, 1, b"hello")),
        ("more, in two frames", (
            headers(1, post + [("content-length", "5")], 4) + frame(DATA, 0, 1, b"hello") + frame(DATA, 1, 1, b"x")
        )),
        *((f"a length: {name}", (
            headers(1, block(post) + field("content-length", value), 4) + frame(DATA, 1, 1, b"hello")
        )) for name, value in LENGTHS),
        *((f"lengths {first} and {second}", (
            headers(1, post + [("content-length", first), ("content-length", second)], 4) + frame(DATA, 1, 1, b"hello")
        )) for first, second in (("5", "5"), ("5", "6"), ("6", "5"))),
    ):
        yield f"body: {name}", data, STREAM, ()
    begun = headers(1, post, END_HEADERS)
    for name, fields in (
        ("host", [("host", "b.example")]), ("content-length", [("content-length", "100")]),
        ("content-length +50", [("content-length", "+50")]), ("authorization", [("authorization", "b")]),
        ("expect", [("expect", "100-continue")]), ("a usual one", [("x", "y")]),
    ):
        yield f"trailers: {name}", begun + headers(1, fields), "served", ()
    for name, fields in (
        ("a pseudo-header", [(":path", "/hidden")]), ("connection", [("connection", "close")]),
        ("transfer-encoding", [("transfer-encoding", "chunked")]), ("upgrade", [("upgrade", "h2c")]),
        ("capitals", [("X", "y")]), ("a line break", [("x", "y\r\nz: a")]),
    ):
        yield f"trailers: {name}", begun + headers(1, fields), ANY, ()
    yield "trailers: connection, without an end", begun + headers(1, [("connection", "close")], END_HEADERS), ANY, ()
    yield "trailers: without an end", begun + headers(1, [("x", "y")], END_HEADERS), ANY, ()
    yield "trailers: behind an end", begun + frame(DATA, 1, 1, b"x") + headers(1, [("x", "y")]), ANY, ()
    # A field of the table that is 4 KB, and 4,000 mentions of it: 16 MB of a head in 8 KB.
    bomb = b"\x40" + integer(1, 7) + b"x" + integer(4000, 7) + b"y" * 4000
    yield "bomb: a field of the table", headers(1, block(good) + bomb + b"\xbe" * 4000), ANY, ()
    yield "bomb: fields of a static table", headers(1, block(good) + b"\x90" * 16_000), ANY, ()
    for size, fate in ((10_000, "served"), (16_000, ANY)):
        huffman = b"\0" + integer(1, 7) + b"x" + integer(size, 7, 0x80) + b"\0" * size
        yield f"bomb: a text that grows to {size * 8 // 5}", headers(1, block(good) + huffman), fate, ()


def floods():
    """(name, what is sent first, a function of the number of a round); each must end its connection, or be answered."""
    good = block(request_fields())
    post = block(request_fields("POST"))
    begun = headers(1, post, END_HEADERS)
    cancel = b"\0\0\0\x08"

    def stream(number):
        return 2 * number + 1

    yield "PING", b"", lambda n: frame(PING, payload=n.to_bytes(8, "big"))
    yield "answers to PING", b"", lambda n: frame(PING, ACK, payload=b"\0" * 8)
    yield "SETTINGS", b"", lambda n: frame(SETTINGS)
    yield "answers to SETTINGS", b"", lambda n: frame(SETTINGS, ACK)
    yield "SETTINGS of the table", b"", lambda n: settings((1, n % 2 * 4096))
    yield "SETTINGS of the window", begun, lambda n: settings((4, n % 2 * 65_535))
    yield "PRIORITY", b"", lambda n: frame(PRIORITY, stream=stream(n), payload=b"\0\0\0\0\x10")
    yield "WINDOW_UPDATE", b"", lambda n: frame(WINDOW_UPDATE, payload=b"\0\0\0\1")
    yield "WINDOW_UPDATE of a stream", begun, lambda n: frame(WINDOW_UPDATE, stream=1, payload=b"\0\0\0\1")
    yield "an unknown kind", b"", lambda n: frame(0xF0, 0, 0, b"x")
    yield "empty DATA", begun, lambda n: frame(DATA, stream=1)
    yield "DATA of padding", begun, lambda n: frame(DATA, PADDED, 1, b"\x05" + b"\0" * 5)
    yield "DATA of one byte", begun, lambda n: frame(DATA, stream=1, payload=b"x")
    yield "CONTINUATION", headers(1, good, END_STREAM), lambda n: frame(CONTINUATION, 0, 1, field(f"x-{n}", "y"))
    yield "empty CONTINUATION", headers(1, good, END_STREAM), lambda n: frame(CONTINUATION, 0, 1)
    yield "trailers", begun, lambda n: headers(1, [("x", "y")], END_HEADERS)
    yield "trailers with connection", begun, lambda n: headers(1, [("connection", "close")], END_HEADERS)
    yield "rapid reset", b"", lambda n: headers(stream(n), good) + frame(RST_STREAM, 0, stream(n), cancel)
    yield "rapid reset of bodies", b"", lambda n: headers(stream(n), post, 4) + frame(RST_STREAM, 0, stream(n), cancel)
    yield "resets that the server makes: a window", b"", lambda n: (
        headers(stream(n), post, 4) + frame(WINDOW_UPDATE, 0, stream(n), b"\0" * 4)
    )
    yield "resets that the server makes: a priority", b"", lambda n: (
        headers(stream(n), post, 4) + frame(PRIORITY, 0, stream(n), stream(n).to_bytes(4, "big") + b"\0")
    )
    yield "resets that the server makes: a field", b"", lambda n: headers(stream(n), good + field("connection", "x"))
    yield "resets that the server makes: a length", b"", lambda n: (
        headers(stream(n), post + field("content-length", "1"), 4) + frame(DATA, 1, stream(n), b"hello")
    )
    yield "RST_STREAM of one stream", headers(1, good), lambda n: frame(RST_STREAM, 0, 1, cancel)
    yield "requests without an end", b"", lambda n: headers(stream(n), post, 4)
    yield "requests that nobody reads", b"", lambda n: headers(stream(n), good)
    yield "GOAWAY", b"", lambda n: frame(GOAWAY, payload=b"\0" * 8 + b"x" * 100)
    yield "heads of 8 KB in the table", b"", lambda n: (
        headers(stream(n), good + b"\x40\x04" + b"%04x" % n + integer(3900, 7) + b"y" * 3900 + b"\xbe" * 60)
    )


# What has the time of an idle connection: what has come together with the end of a request before it, until more
# comes; and a connection on which nothing is asked for, whatever it was asked before.
BEHIND = "a request, and half the head of another"
QUIET = "nothing further behind"


def slow():
    """(name, protocol, bytes): clients that begin something and leave it so; each must be ended in its time."""
    begun = b"POST /nothing HTTP/1.1\r\nHost: a.example\r\n"
    for name, data in (
        ("nothing", b""), ("half a method", b"GE"), ("half a target", b"GET /noth"),
        ("half a head", begun + b"X: y\r\n"),
        ("half a body", begun + b"Content-Length: 10\r\n\r\nhello"), ("no body", begun + b"Content-Length: 10\r\n\r\n"),
        ("half a chunk", begun + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel"),
        ("half the size of a chunk", begun + b"Transfer-Encoding: chunked\r\n\r\n5"),
        ("half a trailer", begun + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: "), 
        ("a body that was expected", begun + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"),
        ("line breaks", b"\r\n\r\n"), (BEHIND, HIDDEN + begun),
        ("a request, and half the body of another", HIDDEN + begun + b"Content-Length: 10\r\n\r\nhello"),
    ):
        yield f"{name}", None, data
        yield f"{name}, by TLS", "http/1.1", data
    good, post = block(request_fields()), block(request_fields("POST"))
    for name, data in (
        ("half a preface", PREFACE[:10]), ("no request", hello()), ("half a frame", hello() + headers(1, good)[:20]),
        ("half a head", hello() + headers(1, good, END_STREAM)),
        ("half a second frame", hello() + headers(1, good) + frame(PING, length=8)),
        ("half a body", hello() + headers(1, post, 4) + frame(DATA, stream=1, payload=b"x")),
    ):
        yield f"{name}, by HTTP/2", "h2", data

    def reset(stream):
        return frame(RST_STREAM, 0, stream, b"\0\0\0\x08")

    malformed = good + field("connection", "close")
    last = request(b"Connection: close", method=b"GET")
    for name, data in (
        ("a last request", last), ("a last request and three more", last + HIDDEN * 3),
        ("a last request and 20,000 more", last + HIDDEN * 20_000),
        ("a last request and rubbish", last + b"\xaa" * 1000),
        ("a request of HTTP/1.0 and three more", request(method=b"GET", version=b"HTTP/1.0") + HIDDEN * 3),
        ("a fault and three requests", request(method=b"GET", host=None) + HIDDEN * 3),
    ):
        yield f"{QUIET} {name}", None, data
        yield f"{QUIET} {name}, by TLS", "http/1.1", data
    for name, data in (
        ("a request", headers(1, good)), ("a request that is malformed", headers(1, malformed)),
        ("150 of those", b"".join(headers(2 * n + 1, malformed) for n in range(150))),
        ("a request that is reset", headers(1, good) + reset(1)),
        ("a body that is reset", headers(1, post, END_HEADERS) + reset(1)),
        ("150 that are reset", b"".join(headers(2 * n + 1, good) + reset(2 * n + 1) for n in range(150))),
    ):
        yield f"{QUIET} {name}, by HTTP/2", "h2", hello() + data


class Service:
    """The process under attack, by its id and listeners."""

    def __init__(self, text):
        facts = json.loads(text)
        self.name, self.pid = facts["name"], facts["pid"]
        self.public, self.management = facts["public"], facts["management"]

    def listeners(self):
        return ("public", self.public), ("management", self.management)

    def memory(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) << 10

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Attacks:
    def __init__(self, options):
        self.options = options
        self.plain, self.secure = Service(options.plain), Service(options.secure)
        self.patient = Service(options.patient) if options.patient else None
        self.problems = []
        self.count = 0
        self.lock = threading.Lock()

    def note(self, name, expected, what):
        with self.lock:
            self.count += 1
            if self.options.all:
                print(f"{name}: {what}")
        if what not in expected.split("|"):
            self.fail(f"{name}: {what or 'closed'}, and not {expected.replace('|', ' or ')}")

    def fail(self, text):
        with self.lock:
            self.problems.append(text)
            print(f"NOT SO  {text}", flush=True)

    def together(self, what, attacks, workers=16):
        """All of them, some at a time; then the memory that is left, and whether everything is let go."""
        services = (self.plain, self.secure)
        before = [(service.memory(), service.descriptors()) for service in services]
        began, count = time.monotonic(), self.count
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for future in [pool.submit(attack, *values) for attack, *values in attacks]:
                future.result()
        grown = []
        for service, (memory, descriptors) in zip(services, before):
            end = time.monotonic() + PATIENCE
            while service.descriptors() > descriptors + 5 and time.monotonic() < end:
                time.sleep(0.1)
            if service.descriptors() > descriptors + 5:
                self.fail(f"{what}: {service.name} keeps {service.descriptors() - descriptors} descriptors")
            grown.append((service.memory() - memory) >> 20)
            if service.memory() - memory > MOST_MEMORY:
                self.fail(f"{what}: {service.name} has {grown[-1]} MiB more than before")
        took = time.monotonic() - began
        print(f"{what}: {self.count - count} attacks, {took:.1f} s, {grown[0]:+} and {grown[1]:+} MiB", flush=True)

    def wire(self, port, protocol, **more):
        return Wire(port, protocol, f"{self.options.certificates}/ca.pem", **more)

    def body(self, name, data, expected):
        """By a route that reads the body: what is whole is not what it takes, 400, and so is what is broken."""
        data = data.replace(b" " + TARGET + b" ", b" " + self.options.target.encode() + b" ")
        data = data.replace(b"Host: a.example\r\n", b"Host: a.example\r\nContent-Type: application/json\r\n", 1)
        self.http1("public, a body that is read", self.plain.public, None, name, data, expected.replace("404", "400"))

    def http1(self, listener, port, protocol, name, data, expected):
        with self.wire(port, protocol) as wire:
            wire.send(data + LAST)
            ended = wire.receive()
            what = " ".join(statuses(wire.received)) + ("" if ended else " and goes on")
        if re.search(r"\b5(?!01)\d\d", what):
            self.fail(f"{listener}: {name}: {what}")
        if b"X-Secret" in wire.received:
            self.fail(f"{listener}: {name}: the reply repeats the request")
        self.note(f"{listener}: {name}", expected, what)

    def http2(self, listener, port, name, data, expected, pairs):
        with self.wire(port, "h2") as wire:
            # The server's table stays empty, so that its heads can be read by themselves.
            wire.send(b"NOT * HTTP/2.0\r\n\r\nSM\r\n\r\n" if pairs is None else hello((1, 0), *pairs))
            wire.send(data)
            ended = wire.receive(lambda: self.fate(wire.received, 1))
            what = self.fate(wire.received, 1) or ("closed" if ended else "goes on")
            if what != "goaway" and not wire.is_closed:
                # Whatever became of the stream, others are served, or the connection ends.
                wire.send(headers(101, request_fields()))
                wire.receive(lambda: self.fate(wire.received, 101))
                after = self.fate(wire.received, 101) or ("closed" if wire.is_closed else "nothing")
                if after == "nothing" or after == "reset":
                    self.fail(f"{listener}: {name}: the next request has {after}")
            elif what == "goaway" and not wire.receive():
                self.fail(f"{listener}: {name}: the connection goes on behind its end")
        if what.startswith("5"):
            self.fail(f"{listener}: {name}: {what}")
        self.note(f"{listener}: {name}", expected, what)

    @staticmethod
    def fate(received, stream):
        """What has become of a stream: nothing yet, `reset`, `served`, `4xx`, another status; or `goaway`."""
        found = None
        for kind, _, of, payload in frames(received):
            if kind == HEADERS and of == stream and found is None:
                status = status_of(payload[1:] if payload[:1] == b"\x20" else payload)
                # There is no such path, which is 404, as with HTTP/1.1.
                found = "served" if status in ("200", "404") else "4xx" if status.startswith("4") else status
            elif kind == RST_STREAM and of == stream and found is None:
                # NO_ERROR is how a reply says that it needs no more of the request.
                found = "reset"
            elif kind == GOAWAY and payload[4:8] != b"\0" * 4:
                return "goaway"
        return found

    def flood(self, listener, port, name, first, round_of):
        memory = self.secure.memory()
        with self.wire(port, "h2") as wire:
            wire.send(hello() + first)
            taken, number = True, 0
            while taken and number < FLOOD:
                taken = wire.send(b"".join(round_of(number + n) for n in range(100)))
                number += 100
            ended = wire.receive(seconds=PATIENCE)
            what = "closed" if ended else f"goes on after {number} rounds"
        grown = (self.secure.memory() - memory) >> 20
        if grown > MOST_MEMORY >> 20:
            self.fail(f"{listener}: flood of {name}: {grown} MiB more while it lasts")
        self.note(f"{listener}: flood of {name}", "closed", what)

    def pipeline(self, listener, port):
        """A few requests in a row are answered; of thousands in a row the event loop would see nobody else meanwhile."""
        few = 31
        with self.wire(port, None) as wire:
            wire.send(HIDDEN * few + LAST)
            wire.receive(seconds=PATIENCE)
            found = statuses(wire.received)
        what = "all" if found == ["404"] * few + ["414"] else f"{len(found)} of them"
        self.note(f"{listener}: answers to a pipeline", "all", what)
        with self.wire(port, None) as wire:
            wire.send(HIDDEN * FLOOD)
            what = "closed" if wire.receive(seconds=PATIENCE) else "goes on"
        self.note(f"{listener}: {FLOOD} requests in a row", "closed", what)

    def stalled(self, listener, port, protocol):
        """Replies that fill what the kernel keeps, none of which is taken from the socket: the connection ends."""
        path = "/openapi.json" if listener == "public" else "/metrics"
        with self.wire(port, protocol, window=2048) as wire:
            # In one piece, and each of them whole: nothing else has a limit of time.
            if protocol == "h2":
                windows = hello((4, 0x7FFF_FFFF)) + frame(WINDOW_UPDATE, payload=b"\x7f\xf0\0\0")
                head = request_fields(path=path)
                wire.socket.send(windows + b"".join(headers(2 * number + 1, head) for number in range(20)))
            else:
                wire.socket.send(request(method=b"GET", target=path.encode()) * 20)
            # Before a connection without requests has its end.
            end = time.monotonic() + IDLE - 1
            while not wire.is_left() and time.monotonic() < end:
                time.sleep(0.1)
            what = "closed" if wire.is_left() else "goes on"
        self.note(f"{listener}: replies that nobody reads, by {protocol or 'http/1.1'}", "closed", what)

    def rubbish(self, listener, port, name, data):
        """What comes behind an error of the connection is not kept, and the connection ends."""
        memory = self.secure.memory()
        with self.wire(port, "h2") as wire:
            wire.send(data)
            number, junk = 0, b"\xaa" * (1 << 20)
            while number < 300 and wire.send(junk, seconds=PATIENCE):
                number += 1
            what = "closed" if wire.receive(seconds=PATIENCE) else "goes on"
        grown = (self.secure.memory() - memory) >> 20
        if grown > MOST_MEMORY >> 20:
            self.fail(f"{listener}: {name}: {grown} MiB more while it lasts")
        self.note(f"{listener}: rubbish behind {name}", "closed", what)

    def drip(self, listener, port):
        """A reply that is taken a byte at a time goes on; when nothing more of it is taken, its stream ends."""
        with self.wire(port, "h2") as wire:
            wire.send(hello((4, 1)) + headers(1, request_fields(path="/openapi.json")))
            taken = 0
            for _ in range(200):
                if not wire.receive(lambda: self.octets(wire.received, 1) > taken, seconds=PATIENCE) or wire.is_closed:
                    break
                taken = self.octets(wire.received, 1)
                wire.send(frame(WINDOW_UPDATE, stream=1, payload=b"\0\0\0\1"))
            ended = wire.receive(lambda: self.is_over(wire.received, 1), seconds=PATIENCE)
            what = "ended" if ended else "goes on"
        self.note(f"{listener}: a window of one byte", "ended", what)

    @staticmethod
    def octets(received, stream):
        return sum(len(payload) for kind, _, of, payload in frames(received) if kind == DATA and of == stream)

    @staticmethod
    def is_over(received, stream):
        """Whether the stream has ended, in whatever way."""
        return any(
            of == stream and (kind == RST_STREAM or kind == DATA and flags & END_STREAM) or kind == GOAWAY
            for kind, flags, of, _ in frames(received)
        )

    @staticmethod
    def is_cut(received):
        return any(kind in (RST_STREAM, GOAWAY) for kind, _, _, _ in frames(received))

    def slow(self, listener, port, protocol, name, data):
        with self.wire(port, protocol) as wire:
            began = time.monotonic()
            wire.send(data)

            def is_over():
                return protocol == "h2" and self.is_cut(wire.received)

            limit = IDLE if name.startswith((BEHIND, QUIET)) else SECONDS
            if name.startswith(QUIET):
                # An end that is heard is not enough.
                while not wire.is_left() and time.monotonic() < began + limit + PATIENCE:
                    wire.receive(lambda: True)
                    time.sleep(0.2)
                what = "ended" if wire.is_left() else "goes on"
            else:
                what = "ended" if wire.receive(is_over, seconds=limit + PATIENCE) else "goes on"
            took = time.monotonic() - began
        self.note(f"{listener}: slow: {name}", "ended", what)
        if took > limit + MOST_SECONDS:
            self.fail(f"{listener}: slow: {name}: ends after {took:.1f} s")

    def trickle(self, listener, port, data):
        """A byte every tenth of a second: the time of a request is for all of it."""
        with self.wire(port, None) as wire:
            began = time.monotonic()
            for octet in data:
                if wire.is_closed or time.monotonic() - began > SECONDS + PATIENCE:
                    break
                wire.send(bytes([octet]))
                wire.receive(seconds=0.1)
            took = time.monotonic() - began
            what = "ended" if wire.is_closed else "goes on"
        self.note(f"{listener}: a byte at a time", "ended", what)
        if took > SECONDS + MOST_SECONDS:
            self.fail(f"{listener}: a byte at a time: ends after {took:.1f} s")


def crowds(attacks):
    """Crowds that leave undone what they begin: whatever it is, the service keeps little for them, and that not for long."""
    service = attacks.patient
    # What the service makes once is made now, and what that has freed goes back to the system within the 25 seconds.
    Crowd(service.public, "h2", b"", False).close()
    visitor = Visitor(service.public, attacks.options.target, TOKEN, MOST_SECONDS)
    time.sleep(25)
    for name, protocol, data, many in kinds(attacks.options.target.encode()):
        before, peak, began = service.memory(), Peak(service.pid), time.monotonic()
        crowd = Crowd(service.public, protocol, data, many)
        time.sleep(3)
        most, took = peak.read() - before, time.monotonic() - began
        crowd.close()
        back = returns(service.memory, before + MOST_KEPT, CROWD_SECONDS)
        rest = service.memory() - before
        print(f"crowd: {name}: {CONNECTIONS} connections in {took:.1f} s, {crowd.refused} refused; at most "
              f"{most / 2**20:+.1f} MiB, {rest / 2**20:+.1f} after {back or CROWD_SECONDS:.1f} s", flush=True)
        attacks.note(f"crowd: {name}", "bounded", "bounded" if most <= MOST_OF_CROWD else f"{most >> 20} MiB more")
        attacks.note(f"crowd: {name}, afterwards", "back", "back" if back is not None else f"{rest >> 20} MiB kept")
    visitor.end()
    print(f"beside the crowds {visitor.count} logins, {visitor.longest:.2f} s at most", flush=True)
    for problem in visitor.problems[:10]:
        attacks.fail(f"a login beside the crowds: {problem}")


class Watch:
    """Asks both services again and again whether they live, and notes how long the answer took."""

    def __init__(self, attacks):
        self.attacks = attacks
        self.longest = 0
        self.asked = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.is_set():
            for service, protocol in ((self.attacks.plain, None), (self.attacks.secure, "http/1.1")):
                began = time.monotonic()
                try:
                    with self.attacks.wire(service.management, protocol) as wire:
                        wire.send(b"GET /health/ready HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
                        wire.receive(seconds=MOST_SECONDS)
                        found = statuses(wire.received)
                except OSError as error:
                    found = [str(error)]
                took = time.monotonic() - began
                self.longest = max(self.longest, took)
                self.asked += 1
                if found != ["200"] or took > MOST_SECONDS:
                    self.attacks.fail(f"{service.name} is not well: {found} after {took:.1f} s")
            self.over.wait(0.2)

    def end(self):
        self.over.set()
        self.thread.join()


def garbage(attacks, seconds):
    """Garbage for so long: it is taken at that rate, nothing of it is answered by 5xx, and memory stays what it is."""
    services = attacks.plain, attacks.secure
    memory = Memory(services)
    heap = Garbage(*services, f"{attacks.options.certificates}/ca.pem", attacks.options.target.encode(), GARBAGE_RATE)
    heap.pour(seconds)
    memory.end()
    for problem in heap.wrong[:10]:
        attacks.fail(problem)
    rate = heap.taken / seconds
    if rate < 0.9 * GARBAGE_RATE:
        attacks.fail(f"{rate / 1e6:.1f} MB/s of garbage were taken, and not {GARBAGE_RATE / 1e6:.0f}")
    print(f"{heap.connections} connections, {heap.taken >> 20} MiB of garbage in {seconds} s: {rate / 1e6:.1f} MB/s")
    for name, samples in memory.samples.items():
        early, late = max(samples[: len(samples) // 4]), max(samples[len(samples) // 4 :])
        print(f"{name}: {samples[0] >> 20} MiB at first, {early >> 20} at most in the first quarter, "
              f"{late >> 20} later, {samples[-1] >> 20} at last")
        if late - early > MOST_GROWTH:
            attacks.fail(f"{name} grows under garbage")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain", required=True)
    parser.add_argument("--secure", required=True)
    parser.add_argument("--patient", help="as --secure, with limits of time that give a crowd the time to come together")
    parser.add_argument("--crowds", action="store_true", help="crowds that wait in place of the attacks")
    parser.add_argument("--certificates", required=True)
    parser.add_argument("--target", required=True, help="a path that reads a body")
    parser.add_argument("--all", action="store_true", help="print what becomes of each attack")
    parser.add_argument("--garbage", type=int, metavar="SECONDS", help="garbage for so long in place of the attacks")
    options = parser.parse_args()
    attacks = Attacks(options)
    # What is made once, is made now.
    for listener, port in attacks.plain.listeners():
        attacks.http1(listener, port, None, "a request", HIDDEN, SERVED)
    watch = Watch(attacks)
    if options.garbage:
        garbage(attacks, options.garbage)
    elif options.crowds:
        crowds(attacks)
    else:
        attack(attacks)
        crowds(attacks)
    watch.end()
    print(f"{attacks.count} attacks, {len(attacks.problems)} problems; health was asked for {watch.asked} times, "
          f"and took {watch.longest:.2f} s at most")
    sys.exit(1 if attacks.problems else 0)


def attack(attacks):
    """All attacks, on both listeners of both services."""
    plain_listeners, secure_listeners = attacks.plain.listeners(), attacks.secure.listeners()
    secure = attacks.secure
    attacks.together("HTTP/1.1", [
        (attacks.http1, listener, port, None, *attack) for listener, port in plain_listeners for attack in http1()
    ])
    attacks.together("bodies", [
        (attacks.body, *attack) for attack in (*framing(), *chunks()) if not attack[1].startswith(b"GET")
    ])
    attacks.together("HTTP/1.1 by TLS", [
        (attacks.http1, "public by TLS", secure.public, "http/1.1", *attack) for attack in (*framing(), *chunks())
    ])
    attacks.together("HTTP/2", [
        (attacks.http2, listener, port, *attack) for listener, port in secure_listeners for attack in http2()
    ])
    attacks.together("floods of frames", [
        (attacks.flood, listener, port, *attack) for listener, port in secure_listeners for attack in floods()
    ], workers=4)
    errors = {
        "a frame that is too long": hello() + frame(DATA, stream=1, length=1 << 20),
        "an unknown preface": HIDDEN, "DATA without a stream": hello() + frame(DATA, stream=9, payload=b"x"),
        "a head that is no HPACK": hello() + headers(1, b"\xff\xff\xff\xff"),
        "a stream of the server's": hello() + headers(2, []),
    }
    attacks.together("rubbish behind an error", [
        (attacks.rubbish, "public", secure.public, name, data) for name, data in errors.items()
    ], workers=3)
    attacks.together("readers who take nothing", [
        *((attacks.stalled, listener, port, None) for listener, port in plain_listeners),
        *((attacks.stalled, listener, port, "h2") for listener, port in secure_listeners),
    ])
    attacks.together("readers of much, and of little", [
        *((attacks.pipeline, listener, port) for listener, port in plain_listeners),
        *((attacks.drip, listener, port) for listener, port in secure_listeners),
    ])
    lazy = [
        (attacks.slow, listener, secure_port if protocol else port, protocol, name, data)
        for (listener, port), (_, secure_port) in zip(plain_listeners, secure_listeners)
        for name, protocol, data in slow()
    ]
    lazy += [(attacks.trickle, listener, port, LAST[:-2]) for listener, port in plain_listeners]
    attacks.together("slow clients", lazy * 3, workers=300)


main()

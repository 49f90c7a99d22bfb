"""Servers that are slow, talkative, confused or hostile, and what an oracle makes of them."""

from __future__ import annotations

import gzip
import json
import logging
import random
import socket
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .runner import SECRETS, Findings, folder_of, forked, judge

TIMEOUT, ATTEMPTS = 0.6, 2
SLACK = 5.0  # seconds beside the deadlines: starting, waiting between attempts, a busy machine
X = np.random.default_rng(0).standard_normal((12, 2))


def right(rows: Any) -> list[float]:
    return np.tanh(np.asarray(rows) @ [1.0, 2.0]).tolist()


Handler = Callable[[socket.socket, list[list[float]]], None]


def reply(body: bytes, status: str = "200 OK", headers: str = "", length: int | None = None) -> bytes:
    n = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {n}\r\n{headers}\r\n".encode() + body


def body_of(rows: list[list[float]]) -> bytes:
    return json.dumps({"predictions": right(rows)}).encode()


def says(make: Callable[[list[list[float]]], bytes]) -> Handler:
    return lambda wire, rows: wire.sendall(make(rows))


def drips(before: bytes, piece: bytes, pause: float) -> Handler:
    def handle(wire: socket.socket, rows: list[list[float]]) -> None:
        wire.sendall(before)
        for _ in range(400):
            time.sleep(pause)
            wire.sendall(piece)

    return handle


def floods(before: bytes, piece: bytes, n: int) -> Handler:
    def handle(wire: socket.socket, rows: list[list[float]]) -> None:
        wire.sendall(before)
        for _ in range(n):
            wire.sendall(piece)

    return handle


def _predictions(text: str) -> Handler:
    return says(lambda rows: reply(b'{"predictions": ' + text.encode() + b"}"))


def _packed(pack: Callable[[bytes], bytes], name: str) -> Handler:
    return says(lambda rows: reply(pack(body_of(rows)), headers=f"Content-Encoding: {name}\r\n"))


def _chunked(body: bytes) -> bytes:
    return _HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"


def _until_close(wire: socket.socket, rows: list[list[float]]) -> None:
    wire.sendall(_HEAD + b"Connection: close\r\n\r\n" + body_of(rows))
    wire.close()


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


_BOMB = gzip.compress(b" " * 300_000_000, 1)
_HEAD = b"HTTP/1.1 200 OK\r\n"
_ECHO = f"user {SECRETS[3]} password {SECRETS[0]} token {SECRETS[1]} key {SECRETS[2]}"

GOOD: dict[str, Handler] = {
    "plain": says(lambda rows: reply(body_of(rows))),
    "gzip": _packed(gzip.compress, "gzip"),
    "deflate": _packed(zlib.compress, "deflate"),
    "raw deflate": _packed(_raw_deflate, "deflate"),
    "until close": _until_close,
    "chunked": says(lambda rows: _chunked(body_of(rows))),
    "a list": says(lambda rows: reply(json.dumps(right(rows)).encode())),
    "slow but in time": lambda wire, rows: (time.sleep(0.2), wire.sendall(reply(body_of(rows)))),
    "informational first": says(lambda rows: b"HTTP/1.1 100 Continue\r\n\r\n" + reply(body_of(rows))),
    "pretty": says(lambda rows: reply(json.dumps({"predictions": right(rows)}, indent=8).encode())),
}  # fmt: skip

BAD: dict[str, Handler] = {
    # slow
    "silent": lambda wire, rows: time.sleep(8),
    "drips a body until close": drips(_HEAD + b"\r\n", b" ", 0.2),
    "drips a body of known length": drips(_HEAD + b"Content-Length: 900\r\n\r\n", b" ", 0.2),
    "drips chunks": drips(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", 0.2),
    "drips a chunk's size": drips(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0", 0.2),
    "drips headers": drips(_HEAD, b"X-A: b\r\n", 0.2),
    "drips a header": drips(_HEAD + b"X-A: ", b"b", 0.2),
    "drips the status": drips(b"HTTP/1.1 200 ", b"O", 0.2),
    "drips informational replies": drips(b"", b"HTTP/1.1 102 Processing\r\n\r\n", 0.2),
    "drips gzip": drips(_HEAD + b"Content-Encoding: gzip\r\n\r\n", _BOMB[:1], 0.2),
    "slow with half a body": lambda wire, rows: (wire.sendall(reply(body_of(rows))[:60]), time.sleep(8)),
    # talkative
    "endless body": floods(_HEAD + b"\r\n", b" " * 65536, 4000),
    "endless list": floods(_HEAD + b"\r\n[0", b",0" * 32768, 4000),
    "endless empty lists": floods(_HEAD + b"\r\n[[]", b",[]" * 21845, 4000),
    "endless chunks of a byte": floods(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 10000, 4000),
    "endless headers": floods(_HEAD, b"X-A: " + b"b" * 1000 + b"\r\n", 20000),
    "a header of megabytes": floods(_HEAD + b"X-A: ", b"b" * 65536, 400),
    "endless informational": floods(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 1000, 4000),
    "gzip bomb": says(lambda rows: reply(_BOMB, headers="Content-Encoding: gzip\r\n")),
    "gzip bomb, refused": says(lambda rows: reply(_BOMB, "500 No", "Content-Encoding: gzip\r\n")),
    "deflate bomb": says(lambda rows: reply(zlib.compress(bytes(1 << 26), 1), headers="Content-Encoding: deflate\r\n")),
    "gzip in gzip": says(lambda rows: reply(gzip.compress(_BOMB), headers="Content-Encoding: gzip, gzip\r\n")),
    "endless error page": floods(b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\n\r\n", b"<p>" * 20000, 4000),
    # confused
    "not JSON": says(lambda rows: reply(b"<html>" + _ECHO.encode())),
    "not text": says(lambda rows: reply(bytes(range(256)))),
    "empty": says(lambda rows: reply(b"")),
    "no HTTP": says(lambda rows: b"hello\r\n\r\n"),
    "nothing": lambda wire, rows: wire.close(),
    "cut": lambda wire, rows: (wire.sendall(reply(body_of(rows))[:-20]), wire.close()),
    "longer than said": says(lambda rows: reply(body_of(rows), length=3)),
    "negative length": says(lambda rows: reply(body_of(rows), length=-1)),
    "two lengths": says(lambda rows: reply(body_of(rows), headers="Content-Length: 3\r\n")),
    "bad chunk": says(lambda rows: _HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
    "huge chunk": says(lambda rows: _HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
    "damaged gzip": _packed(lambda body: gzip.compress(body)[:20] + b"xxxx", "gzip"),
    "brotli unasked": says(lambda rows: reply(b"\x0b\x02\x80", headers="Content-Encoding: br\r\n")),
    "unknown encoding": says(lambda rows: reply(b"x", headers=f"Content-Encoding: {SECRETS[1]}\r\n")),
    "nested JSON": says(lambda rows: reply(b"[" * 100_000 + b"]" * 100_000)),
    "nested predictions": _predictions("[" * 60 + "1" + "]" * 60),
    "10^400": _predictions("[" + ", ".join(["1" + "0" * 400] * 12) + "]"),
    "10^5000": _predictions("[" + ", ".join(["1" + "0" * 5000] * 12) + "]"),
    "1e400": _predictions("[" + ", ".join(["1e400"] * 12) + "]"),
    "NaN": _predictions("[" + ", ".join(["NaN"] * 12) + "]"),
    "words": _predictions(json.dumps([_ECHO] * 12)),
    "null and words": _predictions(json.dumps([None, _ECHO] * 6)),
    "objects": _predictions(json.dumps([{"x": _ECHO}] * 12)),
    "ragged": _predictions(json.dumps([[1], [1, 2]] * 6)),
    "too few": _predictions("[1, 2]"),
    "too many": _predictions("[" + "1," * 5000 + "1]"),
    "other keys": says(lambda rows: reply(json.dumps({_ECHO: 1}).encode())),
    "an error": says(lambda rows: reply(_ECHO.encode(), "400 Bad")),
    "an error that echoes": says(lambda rows: reply(f"http://x:{SECRETS[0]}@h/?token={SECRETS[1]}".encode(), "401 No")),
    "moved": says(lambda rows: reply(b"", "302 Found", f"Location: http://{SECRETS[3]}:{SECRETS[0]}@127.0.0.1:1/\r\n")),
    "moved in a circle": says(lambda rows: reply(b"", "301 Moved", "Location: /\r\n")),
    "busy": says(lambda rows: reply(b"busy", "503 Busy")),
    "wait nan": says(lambda rows: reply(b"busy", "429 Wait", "Retry-After: nan\r\n")),
    "wait -inf": says(lambda rows: reply(b"busy", "429 Wait", "Retry-After: -inf\r\n")),
    "wait words": says(lambda rows: reply(b"busy", "503 Wait", "Retry-After: Mon, 99 Foo 9999999 99:99:99\r\n")),
    "status 999": says(lambda rows: reply(b"", "999 What")),
    "status abc": says(lambda rows: reply(b"", "abc What")),
    "no content": says(lambda rows: reply(b"", "204 No Content")),
    "teapot of bytes": says(lambda rows: reply(bytes(range(256)) * 50, "418 I'm a teapot")),
    "cookies": says(lambda rows: reply(b"x", headers=f"Set-Cookie: a={SECRETS[1]}\r\n" * 50)),
    "switches protocols": says(lambda rows: b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"),
    "old HTTP": says(lambda rows: b"HTTP/0.9 200 OK\r\n\r\n"),
}  # fmt: skip


@contextmanager
def served(handle: Handler) -> Iterator[int]:
    """Serve each connection with `handle`, once per request."""
    server = socket.create_server(("127.0.0.1", 0))

    def connection(wire: socket.socket) -> None:
        try:
            with wire:
                while True:
                    rows = _request(wire)
                    if rows is None:
                        return
                    handle(wire, rows)
        except (OSError, ValueError):
            pass

    def accept() -> None:
        while True:
            try:
                wire, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=connection, args=(wire,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()


def _request(wire: socket.socket) -> list[list[float]] | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = wire.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += wire.recv(65536)
    rows: list[list[float]] = json.loads(body)["instances"]
    return rows


def servers(n: int, seed: int) -> Findings:
    """Ask `n` kinds of servers (all of them where n is at least their number)."""
    found = Findings("kinds of servers")
    kinds = [(name, handle, True) for name, handle in GOOD.items()] + [(name, h, False) for name, h in BAD.items()]
    if n < len(kinds):
        kinds = random.Random(seed).sample(kinds, n)
    for name, handle, good in kinds:
        with folder_of() as folder:
            run = forked(lambda handle=handle, good=good: _ask(handle, good), folder, limit=60)
            judge(found, run, name, folder)
            if run.code == 3:
                found.defect("wrong or no answer", name, run.text)
            deadline = ATTEMPTS * TIMEOUT + SLACK
            if f"seconds {deadline:.3f}" not in run.text:
                found.defect("no end", name, run.text)
            elif "over the deadline" in run.text:
                found.defect("deadline passed", name, run.text)
    return found


class _Heartbeat:
    """Measures how long this process was kept from running: on a busy machine that is nobody's deadline."""

    def __init__(self, beat: float = 0.02) -> None:
        self.beat, self.lag, self.running = beat, 0.0, True
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while self.running:
            start = time.monotonic()
            time.sleep(self.beat)
            self.lag += max(0.0, time.monotonic() - start - 2 * self.beat)


def _ask(handle: Handler, good: bool) -> None:
    """Serve and ask, in a fork; print all that anybody could see of it, and leave with a code that says how it went."""
    import gradsift as gs
    from gradsift.oracle import Retry, from_url

    logging.basicConfig(level=logging.DEBUG)  # to stderr, which is looked at
    user, password, token, key = SECRETS[3], SECRETS[0], SECRETS[1], SECRETS[2]
    with served(handle) as port:
        url = f"http://{user}:{password}@127.0.0.1:{port}/predict?token={token}"
        start, heart = time.monotonic(), _Heartbeat()
        code = 2
        try:
            how: dict[str, Any] = {"headers": {"X-Key": f"Bearer {key}"}, "timeout": TIMEOUT, "journal": Path("out.db")}
            with from_url(url, 2, retry=Retry(ATTEMPTS, 0.05), **how) as oracle:
                answers = oracle(X)
            code = 0 if good and np.array_equal(answers, right(X)) else 3
        except (gs.errors.GradsiftError, ValueError, TypeError) as problem:
            shown = "".join(traceback.format_exception(problem)).replace("Traceback", "traceback")
            print(shown, repr(problem), flush=True)
            code = 3 if good else 2
        seconds, heart.running = time.monotonic() - start - heart.lag, False
    deadline = ATTEMPTS * TIMEOUT + SLACK
    print(
        f"seconds {deadline:.3f} {'over the deadline' if seconds > deadline else 'in time'} {seconds:.2f}", flush=True
    )
    raise SystemExit(code)

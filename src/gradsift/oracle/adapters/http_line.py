"""One connection to a server that may be slow, talkative or hostile: a deadline, a limit on bytes, and no logs."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import zlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

_SHOWN_OF_A_REFUSAL = 2_000  # bytes read of a reply that is an error page
_LOGGERS = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy", "httpcore.socks")
_asking: ContextVar[bool] = ContextVar("gradsift_asking", default=False)


class Failed(Exception):
    """An attempt that failed, in words without secrets: libraries log the exceptions that they meet.

    Attributes
    ----------
    cause : str
        The same in a word or two.
    passing : bool
        Whether another attempt may do better.
    answered : bool
        Whether the server said anything that could be read.
    pause : float or None
        Seconds that the server asks to wait.
    """

    def __init__(
        self, words: str, cause: str = "", passing: bool = False, answered: bool = False, pause: float | None = None
    ) -> None:
        super().__init__(words)
        self.cause, self.passing, self.answered, self.pause = cause or words, passing, answered, pause


class LineAnswer(NamedTuple):
    """A status, the body after unpacking, and the pause that the server asks for."""

    status: int
    body: bytes
    retry_after: str | None


class Line:
    """One connection, used by one thread at a time.

    Parameters
    ----------
    httpx : module
    client : httpx.Client
        With one connection at most.
    url : str
    timeout : float
        Seconds for one whole attempt: connecting, sending, waiting and reading.

    Notes
    -----
    Time-outs of a client hold per read, so that a server which sends a byte now and then is never late. Here a timer
    cuts the connection itself when the time is over, whatever it is doing: sending, shaking hands, reading headers or a
    body. Looking up the host's name is the operating system's, and is not cut.
    """

    def __init__(self, httpx: Any, client: Any, url: str, timeout: float) -> None:
        self._httpx, self._client, self._url, self._timeout = httpx, client, url, timeout
        self._wire: socket.socket | None = None  # a second handle on the connection, which survives TLS's rewrapping
        self._lock, self._late = threading.Lock(), False

    def post(self, body: bytes, limit: int) -> LineAnswer:
        """Send a JSON text and return the reply, of at most `limit` bytes after unpacking."""
        late = Failed(f"no complete reply within {self._timeout:g} s", "no reply in time", passing=True)
        with self._with_limit(), _without_log():
            try:
                with self._client.stream(
                    "POST", self._url, content=body, headers=_JSON, extensions={"trace": self._take}
                ) as response:
                    reply = self._read(response, limit)
                    if response.is_error:
                        self._cut_off()  # what is still coming is of no interest
            except self._httpx.TimeoutException:
                raise late from None
            except self._httpx.TransportError:
                if not self._late:
                    raise
            if self._late:  # also where a body seems complete: many end with the connection
                raise late
        return reply

    def close(self) -> None:
        """Hang up."""
        self._cut_off()
        self._client.close()

    def _read(self, response: Any, limit: int) -> LineAnswer:
        pause = response.headers.get("retry-after")
        if response.is_success:
            return LineAnswer(response.status_code, self._unpacked(response, limit), pause)
        try:
            return LineAnswer(response.status_code, self._unpacked(response, _SHOWN_OF_A_REFUSAL, cut=True), pause)
        except Failed:
            return LineAnswer(response.status_code, b"", pause)

    def _unpacked(self, response: Any, limit: int, cut: bool = False) -> bytes:
        """Return the body, unpacked as it comes and never beyond `limit`: there, cut it or refuse it."""
        unpack = _Unpack(response.headers.get("content-encoding", ""))
        body = bytearray()
        for raw in response.iter_raw():
            if self._late:  # the connection is cut, but what has come before is still being handed out
                break
            body += unpack(raw, limit + 1 - len(body))
            if len(body) > limit:
                if cut:
                    return bytes(body[:limit])
                raise Failed(
                    f"sent more than {limit:,} bytes, more than what was asked for can take; if it is right, raise "
                    "max_reply or lower batch_size",
                    answered=True,
                )
        return bytes(body)

    @contextlib.contextmanager
    def _with_limit(self) -> Iterator[None]:
        self._late = False
        # Time-outs of the client hold for each read; this timer shuts the socket itself, whatever is under way.
        timer = threading.Timer(self._timeout, self._cut_late)
        timer.daemon = True
        timer.start()
        completed = False
        try:
            yield
            completed = True
        finally:
            timer.cancel()
            timer.join()  # at once, or when it has done its work: the next attempt must not meet it
            if not completed:
                self._cut_off()

    def _cut_late(self) -> None:
        with self._lock:
            self._late = True
            _end(self._wire)

    def _cut_off(self) -> None:
        with self._lock:
            wire, self._wire = self._wire, None
        _end(wire)
        if wire is not None:
            wire.close()

    def _take(self, event: str, info: dict[str, Any]) -> None:
        """Take hold of every new connection."""
        if event != "connection.connect_tcp.complete":
            return
        self._cut_off()
        with self._lock:
            self._wire = info["return_value"].get_extra_info("socket").dup()
            if self._late:
                _end(self._wire)


_JSON = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "gzip, deflate"}


def _end(wire: socket.socket | None) -> None:
    if wire is not None:
        with contextlib.suppress(OSError):  # the other side was quicker
            wire.shutdown(socket.SHUT_RDWR)


class _Unpack:
    """Unpacks pieces of a body, each to a limited size."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            said = f"it came packed as {self._encoding[:40]!r}, which was not asked for"
            raise Failed(f"sent a reply that cannot be read: {said}", answered=True)
        self._stream: Any = None

    def __call__(self, raw: bytes, room: int) -> bytes:
        if self._encoding in ("", "identity"):
            return raw[:room]
        try:
            if self._stream is None:
                # Some servers send deflate without its two header bytes.
                bare = self._encoding == "deflate" and raw[:1] != b"\x78"
                self._stream = zlib.decompressobj(-15 if bare else 47)
            return bytes(self._stream.decompress(raw, room))
        except zlib.error:
            said = f"it came packed as {self._encoding} and is damaged"
            raise Failed(f"sent a reply that cannot be read: {said}", answered=True) from None


def _is_other(record: logging.LogRecord) -> bool:
    """Drop what the HTTP libraries log about our requests: whole addresses and headers, with what opens them."""
    return not _asking.get()


@contextlib.contextmanager
def _without_log() -> Iterator[None]:
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_is_other)  # again each time: a program may have set its logs up anew
    token = _asking.set(True)
    try:
        yield
    finally:
        _asking.reset(token)

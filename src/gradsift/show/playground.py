"""A page to play with: drag units in the plane and watch gradients, candidates and clusters follow.

Everything is computed in the browser; the server below hands out one file, to this machine only.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

HOST = "127.0.0.1"  # never another: the page is for the person at this machine
_MOST_CONNECTIONS = 32
_LONGEST = 10.0  # seconds that a connection may last: the page goes out in one piece


def html() -> str:
    """Return the page: one HTML document without any address in it."""
    return (files(__package__) / "playground.html").read_text(encoding="utf-8")


class _OneFile(BaseHTTPRequestHandler):
    """Answers ``GET /`` and nothing else."""

    timeout = _LONGEST

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").rpartition(":")[0]
        if self.path != "/" or host not in (HOST, "localhost"):  # another name for this address is somebody's trick
            self.send_error(404)
            return
        body = html().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal belongs to the person."""


class _Server(ThreadingHTTPServer):
    """Keeps few connections, none for long: whoever connects and says nothing, or little, is sent away."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: Any) -> None:
        self._since: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            room = len(self._since) < _MOST_CONNECTIONS
            if room:
                self._since[request] = time.monotonic()
        if room:
            super().process_request(request, client_address)
        else:
            super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called about twice a second: cut connections that have lasted too long."""
        with self._lock:
            late = [request for request, since in self._since.items() if time.monotonic() - since > _LONGEST]
        for request in late:
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._since.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about a browser that left in the middle."""


def make_server(port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the page on loopback; port 0 takes a free one (see ``server_address``)."""
    if not 0 <= port <= 65_535:
        raise ValueError(f"port must be between 0 and 65535, got {port}.")
    return _Server((HOST, port), _OneFile)

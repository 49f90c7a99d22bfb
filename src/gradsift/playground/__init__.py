"""A page to play with: drag units in the plane and watch gradients, candidates and clusters follow.

Everything is computed in the browser; the server below hands out one file, to this machine only.
"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files

__all__ = ["HOST", "make_server", "page"]

HOST = "127.0.0.1"  # never another: the page is for the person at this machine


def page() -> str:
    """Return the page: one HTML document without any address in it."""
    return (files(__package__) / "page.html").read_text(encoding="utf-8")


class _OnePage(BaseHTTPRequestHandler):
    """Answers ``GET /`` and nothing else."""

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").rpartition(":")[0]
        if self.path != "/" or host not in (HOST, "localhost"):  # another name for this address is somebody's trick
            self.send_error(404)
            return
        body = page().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal belongs to the person."""


def make_server(port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the page on loopback; port 0 takes a free one (see ``server_address``)."""
    return ThreadingHTTPServer((HOST, port), _OnePage)

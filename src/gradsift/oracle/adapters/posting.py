"""Posting JSON patiently: when to ask again, when to give up, and what to say without giving a secret away."""

from __future__ import annotations

import email.utils
import json
import math
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from ...addresses import Secrets, place, shown
from ...checking import Floats
from ...errors import OracleFailure
from ...extras import load_extra
from ..retry import Retry
from .line import Line, Reply, TooLate, TooMuch, Unreadable

__all__ = ["Pace", "Post"]

_PASSING = (408, 425, 429, 500, 502, 503, 504)  # states that may be gone at the next attempt
_LONGEST_PAUSE = 120.0  # seconds of Retry-After that are obeyed


class _Failed(Exception):
    """An attempt that failed, in words without secrets: libraries log the exceptions that they retry."""

    def __init__(self, words: str, again: bool | float) -> None:
        super().__init__(words)
        self.again = again  # whether to try again, or after how many seconds


class Post:
    """Posts one JSON body, patiently, over as many connections as there are threads.

    Attributes
    ----------
    place : str
        The address as it may be shown.
    hide : callable
        Takes the address's secrets out of a text.
    """

    def __init__(self, url: str, headers: dict[str, str] | None, timeout: float, pace: Pace, retry: Retry) -> None:
        self._stamina = load_extra("stamina", "http")
        self._httpx = load_extra("httpx", "http")
        self.place, self.hide = _checked_place(url), Secrets(url, headers).hide
        self._pace, self._retry, self._timeout = pace, retry, timeout
        self._lines = _Lines(self._httpx, url, headers, timeout, self.hide)
        self.close = weakref.finalize(self, self._lines.close)

    def __call__(self, body: Any, row: Floats, limit: int) -> Any:
        """Return what the JSON in the reply says; `row` is the input that a failure names."""
        text, waits = json.dumps(body).encode(), self._retry
        try:
            for attempt in self._stamina.retry_context(
                on=_worth_another_try,
                attempts=waits.attempts,
                timeout=None,
                wait_initial=waits.first_wait,
                wait_max=waits.longest_wait,
                wait_jitter=waits.first_wait,
                wait_exp_base=waits.factor,
            ):
                with attempt:
                    self._pace.wait()
                    reply = self._attempt(text, limit)
        except _Failed as problem:
            raise OracleFailure(f"{self.place} {problem}.", row) from None
        try:
            return json.loads(reply.body)
        except RecursionError:
            raise OracleFailure(f"{self.place} answered with JSON in too many levels.", row) from None
        except ValueError:  # neither JSON nor, perhaps, text
            words = self.hide(reply.body[:60].decode(errors="replace"))
            raise OracleFailure(f"{self.place} did not answer with JSON but with {words!r}.", row) from None

    def _attempt(self, text: bytes, limit: int) -> Reply:
        attempts = f"did not answer in {self._retry.attempts} attempts"
        try:
            with self._lines.one() as line:
                reply = line.post(text, limit)
        except TooLate:
            raise _Failed(f"{attempts}: no complete reply within {self._timeout:g} s", True) from None
        except TooMuch:
            raise _Failed(
                f"sent more than {limit:,} bytes, more than what was asked for can take; if it is right, raise "
                "max_reply or lower batch_size",
                False,
            ) from None
        except Unreadable as problem:
            raise _Failed(f"sent a reply that cannot be read: {self.hide(str(problem))}", False) from None
        except (self._httpx.RequestError, self._httpx.InvalidURL) as problem:
            again = isinstance(problem, self._httpx.TransportError)
            raise _Failed(f"{attempts}: {type(problem).__name__} ({self.hide(str(problem))})", again) from None
        if 200 <= reply.status < 300:
            return reply
        pause = _retry_after(reply.retry_after)
        said = " ".join(self.hide(reply.body.decode(errors="replace"))[:200].split())
        worth = reply.status in _PASSING and (True if pause is None else pause)
        raise _Failed(f"refused with status {reply.status}: {said or 'no text'}", worth)


def _worth_another_try(problem: Exception) -> bool | float:
    """Tell stamina whether to go on, or after how many seconds."""
    return problem.again if isinstance(problem, _Failed) else False


class _Lines:
    """Connections that are free, newest first, and the way to make more."""

    def __init__(self, httpx: Any, url: str, headers: dict[str, str] | None, timeout: float, hide: Any) -> None:
        self._httpx, self._url, self._headers, self._timeout = httpx, url, headers, timeout
        self._free: list[Line] = []
        self._verify = httpx.create_ssl_context() if url.startswith("https") else True
        try:
            self._free.append(self._new())
        except (TypeError, ValueError) as problem:  # a header that is no text
            raise type(problem)(f"headers must be a dict of ASCII texts: {hide(str(problem))}.") from None

    @contextmanager
    def one(self) -> Iterator[Line]:
        try:
            line = self._free.pop()
        except IndexError:
            line = self._new()
        try:
            yield line
        finally:
            self._free.append(line)

    def _new(self) -> Line:
        client = self._httpx.Client(
            headers=self._headers,
            timeout=self._timeout,
            verify=self._verify,
            limits=self._httpx.Limits(max_connections=1, max_keepalive_connections=1),
        )
        return Line(self._httpx, client, self._url, self._timeout)

    def close(self) -> None:
        while self._free:
            self._free.pop().close()


class Pace:
    """Keeps requests apart in time."""

    def __init__(self, per_second: float | None) -> None:
        self._gap = 0.0 if per_second is None else 1 / per_second
        self._next, self._lock = 0.0, threading.Lock()

    def wait(self) -> None:
        """Sleep until it is this request's turn."""
        with self._lock:
            now = time.monotonic()
            slot = max(now, self._next)
            self._next = slot + self._gap
        if slot > now:
            time.sleep(slot - now)


def _checked_place(url: str) -> str:
    """Return the address as it may be shown, or refuse it."""
    httpx = load_extra("httpx", "http")
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            httpx.URL(url)
            return place(url)
    except (ValueError, httpx.InvalidURL):  # their words quote parts of the address
        pass
    raise ValueError(f"url must begin with http:// or https:// and name a host, got {shown(url)!r}.")


def _retry_after(header: str | None) -> float | None:
    """Read seconds or a date; None where there is neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError, OSError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), _LONGEST_PAUSE)

"""Models behind an HTTP address: when to ask again, when to give up, and what to say without giving a secret away."""

from __future__ import annotations

import email.utils
import hashlib
import json
import logging
import math
import re
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from ...arguments import Floats, at_least, whole
from ...errors import OracleFailure
from ...files import Secrets, place, shown
from ...runtime import load_extra
from ..oracle import Oracle
from ..retry import Retry
from .http_line import Failed, Line, LineAnswer

_PASSING = (408, 425, 429, 500, 502, 503, 504)  # states that may be gone at the next attempt
_TOO_LARGE, _BAD_REQUEST = 413, (400, 422)  # states
_A_RANGE = re.compile(r"\b(range|bounds?|between|outside|(less|greater|at (least|most)) .*\d)", re.IGNORECASE)
_LONGEST_PAUSE = 120.0  # seconds of Retry-After that are obeyed

# The command line shows what is logged here; a library that nobody has set up logs for stays silent.
_LOG = logging.getLogger("gradsift.http")
_LOG.addHandler(logging.NullHandler())


class Post:
    """Posts one JSON body, patiently, over as many connections as there are threads.

    Attributes
    ----------
    place : str
        The address as it may be shown.
    shown : callable
        Takes the address's secrets out of a text.
    """

    def __init__(
        self, url: str, headers: dict[str, str] | None, timeout: float, per_second: float | None, retry: Retry
    ) -> None:
        self._httpx = load_extra("httpx", "http")
        texts = [text for pair in (headers or {}).items() for text in pair]
        if not all(isinstance(text, str) and text.isascii() and text.isprintable() for text in texts):
            raise ValueError("headers must be a dict of ASCII texts.")
        self.place, self.shown = _checked_place(url), Secrets(url, headers).shown
        self._retry, self._lines = retry, _Lines(self._httpx, url, headers, timeout)
        self._gap = 0.0 if per_second is None else 1 / per_second
        self._next, self._lock = 0.0, threading.Lock()
        self.close = weakref.finalize(self, self._lines.close)

    def __call__(self, body: Any, row: Floats, limit: int) -> Any:
        """Return what the JSON in the reply says; `row` is the input that a failure names."""
        return self._ask(json.dumps(body).encode(), row, limit)

    def _ask(self, text: bytes, row: Floats, limit: int) -> Any:
        """Return the JSON in the reply to one request, made again where a failure may pass."""
        failed: Failed | None = None
        for wait in self._retry.waits():
            if failed is not None:
                # What the server asks for goes before our own pauses, which grow from one attempt to the next.
                pause = wait if failed.pause is None else failed.pause
                _LOG.warning("a request got no answer (%s); asking again in %g s.", failed.cause, pause)
                time.sleep(pause)
            self._take_turn()
            try:
                return self._attempt(text, limit)
            except Failed as problem:
                failed = problem
                if not problem.passing:
                    break
        said = "" if failed is None else self.shown(str(failed))
        if failed is not None and not failed.answered:
            said = f"did not answer in {self._retry.attempts} attempts: {said}"
        raise OracleFailure(f"{self.place} {said}.", row) from None

    def _attempt(self, text: bytes, limit: int) -> Any:
        try:
            with self._lines.one() as line:
                reply = line.post(text, limit)
        except (self._httpx.RequestError, self._httpx.InvalidURL) as problem:
            name = type(problem).__name__
            passing = isinstance(problem, self._httpx.TransportError)
            raise Failed(f"{name} ({self.shown(str(problem))})", name, passing) from None
        if 200 <= reply.status < 300:
            return self._read(reply)
        said = " ".join(self.shown(reply.body.decode(errors="replace"))[:200].split())
        raise Failed(
            f"refused with status {reply.status}: {said or 'no text'}{_advice(reply.status, said)}",
            f"status {reply.status}",
            reply.status in _PASSING,
            answered=True,
            pause=_retry_after(reply.retry_after),
        )

    def _read(self, reply: LineAnswer) -> Any:
        """Return what the JSON says; a page of a gateway in its place may be gone at the next attempt."""
        try:
            return json.loads(reply.body)
        except RecursionError:
            raise Failed("answered with JSON in too many levels", answered=True) from None
        except ValueError:  # neither JSON nor, perhaps, text
            words = self.shown(reply.body[:60].decode(errors="replace"))
            raise Failed(
                f"did not answer with JSON but with {words!r}", "no JSON in the reply", passing=True, answered=True
            ) from None

    def _take_turn(self) -> None:
        """Sleep until the next request may be made: they are kept apart in time, over all threads."""
        # Each request books the next slot under the lock and sleeps outside of it, so that threads wait side by side.
        with self._lock:
            now = time.monotonic()
            slot = max(now, self._next)
            self._next = slot + self._gap
        if slot > now:
            time.sleep(slot - now)


class _Lines:
    """Connections that are free, newest first, and the way to make more."""

    def __init__(self, httpx: Any, url: str, headers: dict[str, str] | None, timeout: float) -> None:
        self._httpx, self._url, self._headers, self._timeout = httpx, url, headers, timeout
        self._free: list[Line] = []
        self._verify = httpx.create_ssl_context() if url.lower().startswith("https") else True

    @contextmanager
    def one(self) -> Iterator[Line]:
        try:
            line = self._free.pop()
        except IndexError:
            client = self._httpx.Client(
                headers=self._headers,
                timeout=self._timeout,
                verify=self._verify,
                limits=self._httpx.Limits(max_connections=1, max_keepalive_connections=1),
            )
            line = Line(self._httpx, client, self._url, self._timeout)
        try:
            yield line
        finally:
            self._free.append(line)

    def close(self) -> None:
        while self._free:
            self._free.pop().close()


def _advice(status: int, said: str) -> str:
    """Return which option a refusal asks for, by its status or by what it says."""
    if status == _TOO_LARGE:
        return ". Ask for fewer rows at a time: lower batch_size"
    if status in _BAD_REQUEST and _A_RANGE.search(said):
        return ". If it only answers in a range, say so with bounds=(low, high)"
    return ""


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


# How long a reply may be: whatever stands around the numbers, and each number with its digits, comma and indentation.
_FRAME, _PER_NUMBER = 1 << 20, 64
_UNKNOWN = 16 << 20  # while the number of outputs is not known: 600,000 numbers, or 0.4 GB of the worst JSON


def from_url(
    url: str,
    n_features: int,
    *,
    body: Any = None,
    answer: str | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = 30.0,
    max_reply: int | None = None,
    per_second: float | None = None,
    retry: Retry | None = None,
    **options: Any,
) -> Oracle:
    """Return an oracle that posts rows as JSON and reads numbers from the reply.

    Parameters
    ----------
    url : str
    n_features : int
    body : JSON text, or dicts and lists
        What to post. The texts ``"{rows}"``, ``"{n}"`` and ``"{d}"`` in it stand for the rows (a list of lists), their
        number and their length; ``"{row}"`` for a single row, and then each row is a request of its own. By default
        ``{"instances": "{rows}"}``, which TensorFlow Serving, KServe, Vertex AI and MLflow understand.
    answer : str, optional
        Where the numbers are in the reply: keys and list positions with dots between, like "outputs.0.data"; "[]" goes
        into every entry of a list, like "predictions[].score". By default the reply itself if it is a list or a number,
        else its "predictions".
    headers : dict, optional
        For instance an authorization; neither stored nor shown, as little as user, password and query of the address.
    timeout : float
        Seconds for one attempt, from connecting to the last byte of the reply.
    max_reply : int, optional
        Most bytes of a reply, after unpacking; what is longer is refused unread. By default 64 per number asked for and
        1 MiB around them; 16 MiB while the number of outputs is not known.
    per_second : float, optional
        Most requests per second, retries included, over all threads.
    retry : Retry, optional
        Attempts per request after time-outs, lost connections and states like 429 or 503, whose Retry-After is
        obeyed; and per row after a null or NaN.
    **options
        For :class:`~gradsift.Oracle`; `batch_size` is the number of rows per request.

    Notes
    -----
    JSON carries every float64 exactly in both directions, provided that the server prints all digits.

    Examples
    --------
    A server that speaks the Open Inference Protocol, asked for at most 64 rows at a time and twice per second::

        from_url(
            "https://host/v2/models/net/infer",
            n_features=10,
            body={"inputs": [{"name": "x", "shape": ["{n}", "{d}"], "datatype": "FP64", "data": "{rows}"}]},
            answer="outputs.0.data",
            headers={"Authorization": "Bearer ..."},
            per_second=2,
            batch_size=64,
            journal="campaign.db",
        )
    """
    template = json.loads(body) if isinstance(body, str) else body if body is not None else {"instances": "{rows}"}
    if not any(mark in json.dumps(template) for mark in ('"{rows}"', '"{row}"')):
        raise ValueError('body must contain the text "{rows}" or "{row}", and it contains neither.')
    at_least("timeout", timeout, 0, strict=True)
    if max_reply is not None:
        whole("max_reply", max_reply)
    if per_second is not None:
        at_least("per_second", per_second, 0, strict=True)
    retry = retry or Retry()
    post = Post(url, headers, timeout, per_second, retry)
    return Oracle(_RowsByPost(post, template, answer, max_reply), n_features, retry=retry, **options)


class _RowsByPost:
    """Turns rows into requests and replies into values."""

    def __init__(self, post: Post, template: Any, answer: str | None, max_reply: int | None) -> None:
        self._post, self._template, self._answer, self._max_reply = post, template, answer, max_reply
        self._n_outputs: int | None = None
        self._row_by_row = '"{row}"' in json.dumps(template)

    @cached_property
    def identity(self) -> str:
        """The address without its secrets, and a hash of how it is asked."""
        how = json.dumps([self._template, self._answer]).encode()
        return f"{self._post.place} {hashlib.blake2b(how, digest_size=8).hexdigest()}"

    def close(self) -> None:
        """Close the connections."""
        self._post.close()

    def __call__(self, rows: Floats) -> Any:
        if self._row_by_row:
            return [self._values(row[None]) for row in rows]
        return self._values(rows)

    def _values(self, rows: Floats) -> Any:
        marks = {"{rows}": rows.tolist(), "{row}": rows[0].tolist(), "{n}": len(rows), "{d}": rows.shape[1]}
        reply = self._post(_filled(self._template, marks), rows[0], self._limit(len(rows)))
        path = self._answer
        if path is None:
            path = "predictions" if isinstance(reply, dict) else ""
        try:
            reply = _at(reply, path)
        except LookupError as missing:
            key, at = missing.args
            has = str(list(at)[:8]) if isinstance(at, dict) else f"a {type(at).__name__}"
            raise OracleFailure(
                f"The reply of {self._post.place} has no {key!r} on the way to answer={path!r}, but "
                f"{self._post.shown(has[:200])}.",
                rows[0],
            ) from None
        if isinstance(reply, list) and len(reply) == len(rows):
            self._n_outputs = len(reply[0]) if isinstance(reply[0], list) else 1
        return reply

    def _limit(self, n_rows: int) -> int:
        """Return how many bytes a reply to so many rows may have."""
        if self._max_reply is not None:
            return self._max_reply
        if self._n_outputs is None:
            return max(_UNKNOWN, _FRAME + _PER_NUMBER * n_rows)
        return _FRAME + _PER_NUMBER * n_rows * self._n_outputs


def _at(reply: Any, path: str) -> Any:
    """Return what stands at a path of keys and positions; ``[]`` behind a key takes the rest of it in each entry.

    Raises a LookupError of the key that is missing and what stands in its place.
    """
    key, _, rest = path.partition(".")
    if not path:
        return reply
    if key.endswith("[]"):
        entries = _at(reply, key[:-2])
        if not isinstance(entries, list):
            raise LookupError(key, entries)
        return [_at(entry, rest) for entry in entries]
    try:
        found = reply[int(key)] if isinstance(reply, list) else reply[key]
    except (KeyError, IndexError, TypeError, ValueError):
        raise LookupError(key, reply) from None
    return _at(found, rest)


def _filled(template: Any, marks: dict[str, Any]) -> Any:
    if isinstance(template, dict):
        return {key: _filled(value, marks) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, marks) for value in template]
    return marks.get(template, template) if isinstance(template, str) else template

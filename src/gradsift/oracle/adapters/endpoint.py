"""Models behind an HTTP address."""

from __future__ import annotations

import email.utils
import hashlib
import json
import threading
import time
import weakref
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from ...checking import Floats, at_least
from ...errors import OracleFailure
from ...extras import load_extra
from ..core import Oracle
from ..retry import Retry

__all__ = ["from_url"]

_PASSING = (408, 425, 429, 500, 502, 503, 504)  # states that may be gone at the next attempt
_LONGEST_PAUSE = 120.0  # seconds of Retry-After that are obeyed


def from_url(
    url: str,
    n_features: int,
    *,
    body: Any = None,
    answer: str | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = 30.0,
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
        Where the numbers are in the reply: keys and list positions with dots between, like "outputs.0.data". By
        default the reply itself if it is a list or a number, else its "predictions".
    headers : dict, optional
        For instance an authorization; neither stored nor shown.
    timeout : float
        Seconds to connect, and to wait for a reply.
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
        raise ValueError(f'body must contain the text "{{rows}}" or "{{row}}", got {json.dumps(template)}.')
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise ValueError(f"url must begin with http:// or https:// and name a host, got {url!r}.")
    at_least("timeout", timeout, 0, strict=True)
    if per_second is not None:
        at_least("per_second", per_second, 0, strict=True)
    httpx, stamina = load_extra("httpx", "http"), load_extra("stamina", "http")
    retry = retry or Retry()
    post = _Post(httpx, stamina, url, httpx.Client(headers=headers, timeout=timeout), _Pace(per_second), retry)
    return Oracle(_Endpoint(post, template, answer), n_features, retry=retry, **options)


class _Endpoint:
    """Turns rows into requests and replies into values."""

    def __init__(self, post: _Post, template: Any, answer: str | None) -> None:
        self._post, self._template, self._answer = post, template, answer
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
        reply = self._post(_filled(self._template, marks), rows)
        path = self._answer
        if path is None:
            path = "predictions" if isinstance(reply, dict) else ""
        for key in filter(None, path.split(".")):
            try:
                reply = reply[int(key)] if isinstance(reply, list) else reply[key]
            except (KeyError, IndexError, TypeError, ValueError):
                has = list(reply) if isinstance(reply, dict) else f"a {type(reply).__name__}"
                raise OracleFailure(
                    f"The reply of {self._post.place} has no {key!r} on the way to answer={path!r}, but {has}.", rows[0]
                ) from None
        return reply


class _Post:
    """Posts one JSON body, patiently."""

    def __init__(self, httpx: Any, stamina: Any, url: str, client: Any, pace: _Pace, retry: Retry) -> None:
        self._httpx, self._stamina, self._url, self._client = httpx, stamina, url, client
        self._pace, self._retry = pace, retry
        parts = urlsplit(url)  # without user, password and query, which may hold keys
        self.place = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        self.close = weakref.finalize(self, client.close)

    def __call__(self, body: Any, rows: Floats) -> Any:
        waits = self._retry
        try:
            for attempt in self._stamina.retry_context(
                on=self._worth_another_try,
                attempts=waits.attempts,
                timeout=None,
                wait_initial=waits.first_wait,
                wait_max=waits.longest_wait,
                wait_jitter=waits.first_wait,
                wait_exp_base=waits.factor,
            ):
                with attempt:
                    self._pace.wait()
                    response = self._client.post(self._url, json=body)
                    response.raise_for_status()
            return response.json()
        except self._httpx.HTTPStatusError as problem:
            said = " ".join(problem.response.text[:200].split())
            raise OracleFailure(
                f"{self.place} refused with status {problem.response.status_code}: {said or 'no text'}.", rows[0]
            ) from None
        except self._httpx.RequestError as problem:
            raise OracleFailure(
                f"{self.place} did not answer in {waits.attempts} attempts: {type(problem).__name__} ({problem}).",
                rows[0],
            ) from None
        except ValueError:  # neither JSON nor, perhaps, text
            raise OracleFailure(
                f"{self.place} did not answer with JSON but with {response.text[:60]!r}.", rows[0]
            ) from None

    def _worth_another_try(self, problem: Exception) -> bool | float:
        """Tell stamina whether to go on, or after how many seconds."""
        if not isinstance(problem, self._httpx.HTTPStatusError):
            return isinstance(problem, self._httpx.TransportError)
        if problem.response.status_code not in _PASSING:
            return False
        pause = _retry_after(problem.response.headers.get("retry-after"))
        return True if pause is None else pause


class _Pace:
    """Keeps requests apart in time."""

    def __init__(self, per_second: float | None) -> None:
        self._gap = 0.0 if per_second is None else 1 / per_second
        self._next, self._lock = 0.0, threading.Lock()

    def wait(self) -> None:
        with self._lock:
            now = time.monotonic()
            slot = max(now, self._next)
            self._next = slot + self._gap
        if slot > now:
            time.sleep(slot - now)


def _filled(template: Any, marks: dict[str, Any]) -> Any:
    if isinstance(template, dict):
        return {key: _filled(value, marks) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, marks) for value in template]
    return marks.get(template, template) if isinstance(template, str) else template


def _retry_after(header: str | None) -> float | None:
    """Read seconds or a date; None where there is neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), _LONGEST_PAUSE)

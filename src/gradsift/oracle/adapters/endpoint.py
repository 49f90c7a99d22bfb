"""Models behind an HTTP address."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any

from ...checking import Floats, at_least, whole
from ...errors import OracleFailure
from ..core import Oracle
from ..retry import Retry
from .posting import Pace, Post

__all__ = ["from_url"]

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
        Where the numbers are in the reply: keys and list positions with dots between, like "outputs.0.data". By
        default the reply itself if it is a list or a number, else its "predictions".
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
    post = Post(url, headers, timeout, Pace(per_second), retry)
    return Oracle(_Endpoint(post, template, answer, max_reply), n_features, retry=retry, **options)


class _Endpoint:
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
        for key in filter(None, path.split(".")):
            try:
                reply = reply[int(key)] if isinstance(reply, list) else reply[key]
            except (KeyError, IndexError, TypeError, ValueError):
                has = str(list(reply)[:8]) if isinstance(reply, dict) else f"a {type(reply).__name__}"
                raise OracleFailure(
                    f"The reply of {self._post.place} has no {key!r} on the way to answer={path!r}, but "
                    f"{self._post.hide(has[:200])}.",
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


def _filled(template: Any, marks: dict[str, Any]) -> Any:
    if isinstance(template, dict):
        return {key: _filled(value, marks) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, marks) for value in template]
    return marks.get(template, template) if isinstance(template, str) else template

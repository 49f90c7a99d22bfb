"""A statistic of the rows as a value: chunk, merge, finalize; and its state as a file.

Everything an algorithm wants to know about the rows is one of these, so that where the rows live (memory, files,
a cluster, a GPU) is nobody's business but the source's. A file carries the fields of the state and a fingerprint of the
statistic (its kind and every parameter, such as the points of a kernel summary), so that sites which cannot share rows
can merge states, but never those of different statistics.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

import numpy as np

from ..arguments import Floats
from ..errors import GradsiftError
from ..files import open_whole

# Multiplications: larger products are packed first by linear algebra, which takes longer than the product where one
# side is a few variables or units.
SMALL_PRODUCT = 1_000_000

State = TypeVar("State")
Result = TypeVar("Result")


class Rows(NamedTuple):
    """A block of rows: X (b, d), y (b,), weight (b,) or None where all weigh one."""

    X: Floats
    y: Floats
    weight: Floats | None = None

    def take(self, which: Any) -> Rows:
        """Return the rows of a slice, a mask or some numbers."""
        return Rows(self.X[which], self.y[which], None if self.weight is None else self.weight[which])


class Summary(ABC, Generic[State, Result]):
    """A mergeable statistic; merging in any order gives the same result up to rounding.

    Attributes
    ----------
    any_layout : bool
        False: ``chunk`` gets X row by row in memory. True: it may come column by column, as files hold it, and the
        result must not depend on that in any bit.
    """

    any_layout: bool = False

    @abstractmethod
    def chunk(self, rows: Rows) -> State:
        """Summarise one block of rows."""

    @abstractmethod
    def merge(self, left: State, right: State) -> State:
        """Combine the summaries of two disjoint sets of rows."""

    @abstractmethod
    def finalize(self, state: State) -> Result:
        """Turn the merged state into the answer."""

    def block_rows(self, n_features: int) -> int:
        """Return the number of rows a block should have; small enough that its temporaries stay in cache."""
        return max(256, 262_144 // max(1, n_features))

    def chunk_on_device(self, rows: Any) -> State:
        """Summarise a block whose arrays are torch tensors, where they are; by default they come to memory first."""
        step = self.block_rows(rows.X.shape[1])
        parts = (_to_memory(rows, slice(start, start + step)) for start in range(0, len(rows.y), step))
        state: State = merge_all(self, (self.chunk(part) for part in parts))
        return state

    def save(self, state: State, path: str | os.PathLike[str]) -> None:
        """Write a state as one ``.npz`` file without pickle, for a site that may share summaries but not rows."""
        save_state(self, state, path)

    def load(self, path: str | os.PathLike[str]) -> State:
        """Read a state of this very statistic (same kind, same points or parameters); others are refused."""
        state: State = load_state(self, path)
        return state


def merge_all(summary: Summary[Any, Any], parts: Iterable[Any]) -> Any:
    """Merge pairwise in a binary tree, so that rounding grows with the logarithm of the number of blocks.

    Replacing an aligned run of 2^j parts by their own merge changes no bit of the result: that is how sources with
    large pieces (Dask) agree exactly with those with small ones.
    """
    # A binary counter of merged runs: level l holds 2^l parts, and two of one level make one of the next.
    levels: list[Any] = []
    for part in parts:
        level = 0
        while level < len(levels) and levels[level] is not None:
            part = summary.merge(levels[level], part)
            levels[level] = None
            level += 1
        if level == len(levels):
            levels.append(None)
        levels[level] = part
    left_over = [part for part in levels if part is not None]
    if not left_over:
        raise ValueError("There are no rows to summarise.")
    state = left_over[0]
    for part in left_over[1:]:
        state = summary.merge(part, state)  # higher levels hold earlier rows
    return state


def _to_memory(rows: Any, some: slice) -> Rows:
    parts: list[Any] = [None if a is None else np.ascontiguousarray(a[some].double().cpu().numpy()) for a in rows]
    return Rows(*parts)


_STATE_FORMAT, _STATE_VERSION = "gradsift.Summary", 1
_STATE_HEADER = ("format", "version", "kind", "fingerprint")


def save_state(summary: Summary[Any, Any], state: Any, path: str | os.PathLike[str]) -> None:
    """Write the state; a reader never meets half a file."""
    if Path(path).suffix != ".npz":
        raise ValueError(f"A summary file must end in .npz, got {os.fspath(path)!r}.")
    header = dict(zip(_STATE_HEADER, (_STATE_FORMAT, _STATE_VERSION, type(summary).__name__, _digest(summary))))
    fields = {f"state_{name}": value for name, value in state._asdict().items() if value is not None}
    with open_whole(path, "wb") as stream:
        np.savez(stream, allow_pickle=False, **{name: np.asarray(v) for name, v in {**header, **fields}.items()})


def load_state(summary: Summary[Any, Any], path: str | os.PathLike[str]) -> Any:
    """Read a state that `save_state` wrote for an equal summary."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            stored = {name: archive[name] for name in archive.files}
    except (ValueError, OSError) as problem:
        if isinstance(problem, FileNotFoundError):
            raise
        raise ValueError(f"{path} is not a summary file: {problem}.") from None
    if str(stored.get("format")) != _STATE_FORMAT:
        raise ValueError(f"{path} does not hold a summary.")
    if int(stored["version"]) > _STATE_VERSION:
        raise GradsiftError(
            f"{path} has format version {int(stored['version'])}; this gradsift reads up to {_STATE_VERSION}: upgrade "
            "it."
        )
    if str(stored["kind"]) != type(summary).__name__:
        raise ValueError(f"{path} holds a {stored['kind']}, not a {type(summary).__name__}.")
    if str(stored["fingerprint"]) != _digest(summary):
        raise ValueError(f"{path} holds a {stored['kind']} with other parameters: both sites must use the same.")
    values = (stored.get(f"state_{name}") for name in _state_kind(summary)._fields)
    return _state_kind(summary)(*(v.item() if v is not None and v.ndim == 0 else v for v in values))


def _state_kind(summary: Any) -> Any:
    """Return the record that ``chunk`` returns; a summary of another summary returns the inner one's."""
    declared = get_type_hints(type(summary).chunk)["return"]
    return _state_kind(summary.inner) if isinstance(declared, TypeVar) else declared


def _digest(summary: Summary[Any, Any]) -> str:
    digest = hashlib.sha256()
    _add_to(digest, summary)
    return digest.hexdigest()


def _add_to(digest: Any, value: Any) -> None:
    """Hash a value by content: arrays by dtype, shape and bytes, functions by name, objects by their attributes."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list)):
        digest.update(f"[{len(value)}".encode())
        for item in value:
            _add_to(digest, item)
    elif isinstance(value, type) or callable(value):
        digest.update(value.__qualname__.encode())
    elif dataclasses.is_dataclass(value):
        _add_to(digest, [type(value).__name__, *(getattr(value, f.name) for f in dataclasses.fields(value))])
    elif hasattr(value, "__dict__"):
        said = [pair for pair in sorted(vars(value).items()) if not pair[0].startswith("_")]  # private: how, not what
        _add_to(digest, [type(value).__name__, *said])
    else:
        digest.update(f"{type(value).__name__}{value!r}".encode())

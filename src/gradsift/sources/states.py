"""States of summaries as files: what sites that cannot share rows send to each other.

A file carries the fields of the state and a fingerprint of the statistic (its kind and every parameter, such as the
points of a kernel summary), so that states of different statistics are never merged by mistake.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np

from ..errors import GradsiftError
from ..files import atomic_writer
from .summary import Summary

_STATE_FORMAT, _STATE_VERSION = "gradsift.Summary", 1
_STATE_HEADER = ("format", "version", "kind", "fingerprint")


def save_state(summary: Summary[Any, Any], state: Any, path: str | os.PathLike[str]) -> None:
    """Write the state; a reader never meets half a file."""
    if Path(path).suffix != ".npz":
        raise ValueError(f"A summary file must end in .npz, got {os.fspath(path)!r}.")
    header = dict(zip(_STATE_HEADER, (_STATE_FORMAT, _STATE_VERSION, type(summary).__name__, _fingerprint(summary))))
    fields = {f"state_{name}": value for name, value in state._asdict().items() if value is not None}
    with atomic_writer(path, "wb") as stream:
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
    if str(stored["fingerprint"]) != _fingerprint(summary):
        raise ValueError(f"{path} holds a {stored['kind']} with other parameters: both sites must use the same.")
    values = (stored.get(f"state_{name}") for name in _state_type(summary)._fields)
    return _state_type(summary)(*(v.item() if v is not None and v.ndim == 0 else v for v in values))


def _state_type(summary: Any) -> Any:
    """Return the record that ``chunk`` returns; a summary of another summary returns the inner one's."""
    declared = get_type_hints(type(summary).chunk)["return"]
    return _state_type(summary.inner) if isinstance(declared, TypeVar) else declared


def _fingerprint(summary: Summary[Any, Any]) -> str:
    digest = hashlib.sha256()
    _feed(digest, summary)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Hash a value by content: arrays by dtype, shape and bytes, functions by name, objects by their attributes."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list)):
        digest.update(f"[{len(value)}".encode())
        for item in value:
            _feed(digest, item)
    elif isinstance(value, type) or callable(value):
        digest.update(value.__qualname__.encode())
    elif dataclasses.is_dataclass(value):
        _feed(digest, [type(value).__name__, *(getattr(value, f.name) for f in dataclasses.fields(value))])
    elif hasattr(value, "__dict__"):
        said = [pair for pair in sorted(vars(value).items()) if not pair[0].startswith("_")]  # private: how, not what
        _feed(digest, [type(value).__name__, *said])
    else:
        digest.update(f"{type(value).__name__}{value!r}".encode())

"""Models as one ``.json`` or ``.npz`` file: no pickle, and either reads back to the same bits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .errors import GradsiftError
from .files import atomic_writer, read_json, read_npz

__all__ = ["kind_of_model", "read_model", "write_model"]


def write_model(
    path: str | os.PathLike[str], kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Any],
    notes: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write the fields of a model of this kind, by the suffix of the path; a ``.json`` file keeps notes beside them."""
    fields = {"format": f"gradsift.{kind}", "version": version, **header}
    if _suffix(path) == ".npz":
        with atomic_writer(path, "wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays, **{name: np.array(v) for name, v in fields.items()})
    else:
        with atomic_writer(path) as stream:
            lists = {name: values.tolist() for name, values in arrays.items()}
            json.dump({**fields, **lists, **(notes or {})}, stream, indent=1)


def kind_of_model(path: str | os.PathLike[str]) -> str:
    """Return which kind of model a file says it holds, or say in one sentence that it holds none."""
    try:
        kind = str(_fields(path, ["format"])["format"])
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"{path} does not hold a model ({type(problem).__name__}: {problem}).") from None
    return kind.removeprefix("gradsift.")[:40]


def read_model(path: str | os.PathLike[str], kind: str, newest: int, names: Iterable[str]) -> dict[str, Any]:
    """Read the fields of a model of this kind up to this version, or say in one sentence that the file holds none."""
    try:
        fields = _fields(path, names)
        if str(fields["format"]) != f"gradsift.{kind}":
            raise ValueError(f"its format is {str(fields['format'])[:40]!r}")
        version = int(fields["version"])
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"{path} does not hold a {kind} ({type(problem).__name__}: {problem}).") from None
    if version > newest:
        raise GradsiftError(f"{path} has format version {version}; this gradsift reads up to {newest}: upgrade it.")
    return {**fields, "version": version}


def _fields(path: str | os.PathLike[str], names: Iterable[str]) -> dict[str, Any]:
    return read_npz(Path(path), names) if _suffix(path) == ".npz" else read_json(Path(path))


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix
    if suffix not in (".json", ".npz"):
        raise ValueError(f"A model file must end in .json or .npz, got {os.fspath(path)!r}.")
    return suffix

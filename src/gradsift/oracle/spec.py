"""From a word on the command line to an oracle."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..files import shown
from .adapters.http import from_url
from .adapters.onnx_file import from_onnx
from .adapters.pytorch import from_torch
from .adapters.recorded import from_journal, from_table
from .adapters.scikit import from_sklearn
from .journal import with_source
from .oracle import Oracle


def from_spec(spec: str, n_features: int | None = None, trust: bool = False, **options: Any) -> Oracle:
    """Return the oracle that a word names.

    Parameters
    ----------
    spec : str
        ``module:function`` (or an estimator, a module of PyTorch or an Oracle, in place of the function; modules of the
        current directory are found too), ``model.onnx``, ``model.joblib``, ``http://...`` or ``https://...``,
        ``answers.csv`` or ``answers.parquet``, ``campaign.db`` (a journal, replayed).
    n_features : int, optional
        Needed for functions and addresses; elsewhere it must agree with what is found.
    trust : bool
        Whether unpickling is allowed: loading a ``.joblib`` file runs code that it contains.
    **options
        For the adapter or for :class:`~gradsift.Oracle`.
    """
    if "://" in spec and not spec.lower().startswith(("http://", "https://")):
        raise ValueError(f"An address must begin with http:// or https://, got {shown(spec)!r}.")
    if "://" in spec:
        oracle = from_url(spec, _needed(n_features, spec), **options)
    elif Path(spec).suffix == ".joblib":
        oracle = from_sklearn(_load_estimator(spec, trust), **options)
    elif Path(spec).suffix in _FILES:
        oracle = _FILES[Path(spec).suffix](spec, **options)
    elif ":" in spec and "@" not in spec:  # user:password@host is no module
        oracle = _oracle_of(_load(spec), spec, n_features, options)
    else:
        raise ValueError(
            "An oracle must be module:function, an http(s) address or a file ending in .onnx, .joblib, .csv, .parquet "
            f"or .db, got {shown(spec)!r}."
        )
    if n_features is not None and n_features != oracle.n_features:
        oracle.close()
        raise ValueError(f"{shown(spec)} has {oracle.n_features} inputs, not {n_features}.")
    return oracle


_FILES: dict[str, Callable[..., Oracle]] = {
    ".onnx": from_onnx,
    ".csv": from_table,
    ".parquet": from_table,
    ".db": from_journal,
}


def _needed(n_features: int | None, spec: str) -> int:
    if n_features is None:
        raise ValueError(f"The number of inputs of {shown(spec)} cannot be told from outside: give n_features.")
    return n_features


def _load_estimator(path: str, trust: bool) -> Any:
    if not trust:
        raise ValueError(f"Loading {path} runs code stored in it; do so only if you trust its origin, with trust=True.")
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    import joblib

    try:
        return joblib.load(path)
    except Exception as problem:  # a damaged or foreign file may fail in any way
        raise ValueError(f"{path} cannot be loaded: {_told(problem)}.") from problem


def _oracle_of(found: Any, spec: str, n_features: int | None, options: dict[str, Any]) -> Oracle:
    """Make an oracle of whatever a module holds under the name."""
    if isinstance(found, Oracle):
        if options:
            raise ValueError(f"{spec} is an Oracle already and takes no further settings, got {', '.join(options)}.")
        return found
    if hasattr(found, "n_features_in_"):
        return from_sklearn(found, **options)
    if "torch" in sys.modules and isinstance(found, sys.modules["torch"].nn.Module):
        return from_torch(found, n_features=n_features, **options)
    if not callable(found):
        raise TypeError(f"{spec} must be a function, got {type(found).__name__}.")
    if options.pop("output", None) is not None:
        raise ValueError(f"{spec} is a function, which says itself what it returns: output makes no sense there.")
    return Oracle(_WithSource(found, spec), _needed(n_features, spec), **options)


class _WithSource:
    """A function with the name, and the digest of its source, by which a journal tells it from others."""

    def __init__(self, function: Callable[[Any], Any], spec: str) -> None:
        self.function = function
        source = b"".join(Path(name).read_bytes() for name in _source_places(function, spec))
        self.identity = with_source(spec, source) if source else spec

    def __call__(self, rows: Any) -> Any:
        return self.function(rows)


def _source_places(function: Any, spec: str) -> list[str]:
    """Return the files of the module that was named and of the one that holds the function, where they have one."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    holder = getattr(function, "__module__", None) or type(function).__module__
    names = dict.fromkeys([spec.partition(":")[0], holder, type(function).__module__])
    files = [getattr(sys.modules.get(name), "__file__", None) for name in names]
    return [file for file in dict.fromkeys(files) if file is not None and os.path.isfile(file)]


def _load(spec: str) -> Any:
    module_name, _, path = spec.partition(":")
    if not (module_name and path):
        raise ValueError(f"module:function must name a module and a function, got {shown(spec)!r}.")
    # The current directory comes last: a file there must not take the place of an installed package.
    here = os.getcwd()
    added = [] if here in sys.path else [here]
    sys.path.extend(added)
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as problem:  # importing runs the user's code, which may fail in any way
        raise ValueError(f"{shown(spec)} cannot be loaded: {_told(problem)}.") from problem
    finally:
        for name in added:
            sys.path.remove(name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise ValueError(f"{shown(spec)} cannot be loaded: {module_name} has no {path!r}.")
        found = getattr(found, name)
    return found


def _told(problem: BaseException) -> str:
    """Return what went wrong in code that is not ours, in one line."""
    if isinstance(problem, ImportError):
        return str(problem)
    words = " ".join(str(problem).split()).rstrip(".")
    return f"{type(problem).__name__}{': ' if words else ''}{words}"

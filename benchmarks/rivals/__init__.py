"""Other ways to the hidden units, one file each: what a file says of itself, and how the files are found.

A peer is added by adding a file that holds ``PEER = Peer(...)``; the tables take it from there.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent


class Peer(NamedTuple):
    """A method, what it is given and what it returns.

    From rows, `run` is called as ``run(X, y, k, rng)``; from a box as ``run(ask, d, k, rng)``, where `ask` counts the
    queries. It returns unit rows (k, d), or rows that span the units' subspace.
    """

    name: str
    run: Callable[..., Any]
    takes: str = "rows"  # or "box"
    answers: tuple[str, ...] = ("labels", "values")
    returns: str = "units"  # or "span"
    needs: tuple[str, ...] = ()  # packages beside those of gradsift
    tries: tuple[dict[str, Any], ...] = ()  # options of `run` that are compared on tuning seeds

    @property
    def missing(self) -> list[str]:
        """Packages that are not installed here."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


def peers(takes: str, *more: Path) -> Iterator[Peer]:
    """Yield the peers of this folder, and of further ones, that take "rows" or a "box"; in the order of their files."""
    for folder in (FOLDER, *more):
        for path in sorted(folder.glob("[!_]*.py")):
            peer = getattr(_load(path), "PEER", None)
            if peer is not None and peer.takes == takes:
                yield peer


def _load(path: Path) -> Any:
    name = f"rivals.{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]

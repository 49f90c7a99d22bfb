"""Other ways to the hidden units, one file each: what a file says of itself, and how the files are found.

A peer is added by adding a file that holds ``PEER = Peer(...)``; the tables take it from there.
"""

from __future__ import annotations

import importlib.util
import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
SIGMOIDS = ("tanh", "logistic", "erf")


class Box(NamedTuple):
    """What a peer is told of a black box: everything but the numbers."""

    d: int
    widths: tuple[int, ...]
    activation: str = "tanh"

    @property
    def k(self) -> int:
        """Units of the first layer."""
        return self.widths[0]

    @property
    def unknowns(self) -> int:
        """Weights and offsets of all layers, one output."""
        sizes = (self.d, *self.widths, 1)
        return sum((before + 1) * after for before, after in itertools.pairwise(sizes))

    @property
    def name(self) -> str:
        """As in "tanh 10-3-1"."""
        return f"{self.activation} {'-'.join(map(str, (self.d, *self.widths, 1)))}"


class Peer(NamedTuple):
    """A method, what it is given and what it returns.

    From rows, `run` is called as ``run(X, y, k, rng)``; from a box as ``run(ask, box, rng)``, where `ask` counts the
    queries and `box` is a `Box`. It returns unit rows (k, d), of the first layer where there are several, or rows that
    span the units' subspace.
    """

    name: str
    run: Callable[..., Any]
    takes: str = "rows"  # or "box"
    answers: tuple[str, ...] = ("labels", "values")
    returns: str = "units"  # or "span"
    needs: tuple[str, ...] = ()  # packages beside those of gradsift; "R nnet" is a package of R
    tries: tuple[dict[str, Any], ...] = ()  # options of `run` that are compared on tuning seeds
    opens: Callable[[Box], bool] = lambda box: True  # whether a box is of the kind that the method is made for

    @property
    def missing(self) -> list[str]:
        """Packages that are not installed here."""
        return [name for name in self.needs if not _installed(name)]


@cache
def _installed(name: str) -> bool:
    if not name.startswith("R "):
        return importlib.util.find_spec(name) is not None
    if shutil.which("Rscript") is None:
        return False
    asked = f"quit(status = !requireNamespace('{name[2:]}', quietly = TRUE))"
    return subprocess.run(["Rscript", "-e", asked], capture_output=True, check=False).returncode == 0


def peers(takes: str, *more: Path) -> Iterator[Peer]:
    """Yield the peers of this folder, and of further ones, that take "rows" or a "box"; in the order of their files."""
    for folder in (FOLDER, *more):
        for path in sorted(folder.glob("[!_]*.py")):
            peer = getattr(_load(path), "PEER", None)
            if peer is not None and peer.takes == takes:
                yield peer


def _load(path: Path) -> Any:
    name = f"{__name__}.{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]

"""gradsift on this machine in half a minute: black boxes, and tables beside scikit-learn's network.

    python -m benchmarks.speed.quick [--seed 1] [--repeats 5]

What ``gradsift bench`` shows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from gradsift.geometry import match_units
from gradsift.oracle import Oracle
from gradsift.recovery import recover
from gradsift.simulate import random_combination

BOXES = ((5, 3), (10, 5), (20, 10))  # (inputs, units)
TABLES = ((10, 3, 5_000), (20, 5, 10_000))  # (inputs, units, rows)
NOISE = 0.2
RESTARTS = 5
FOUND = 0.2  # units count as found when each is this close to a true one (11 degrees)


@dataclass(frozen=True)
class BoxRow:
    """One random network behind a black box, and what finding it took.

    Attributes
    ----------
    inputs, units, unknowns : int
    queries : int
    queries_per_unknown : float
    units_found : int
    largest_error : float
        Largest difference from the box on fresh standard Gaussian inputs.
    certified : bool
    seconds : float
        Processor time.
    """

    inputs: int
    units: int
    unknowns: int
    queries: int
    queries_per_unknown: float
    units_found: int
    largest_error: float
    certified: bool
    seconds: float


@dataclass(frozen=True)
class TableRow:
    """One noisy table, fitted by gradsift and by scikit-learn's network (L-BFGS, best of five starts).

    Attributes
    ----------
    inputs, units, rows : int
    error, sklearn_error : float
        Largest distance between a true unit and the found one.
    misfit, sklearn_misfit : float
        Root mean square difference from the noiseless model on fresh rows.
    seconds, sklearn_seconds : float
        Processor time.
    """

    inputs: int
    units: int
    rows: int
    error: float
    sklearn_error: float
    misfit: float
    sklearn_misfit: float
    seconds: float
    sklearn_seconds: float


class Table(NamedTuple):
    """A printed table."""

    title: str
    columns: tuple[str, ...]
    rows: list[Any]


def measure_box(d: int, k: int, seed: int) -> BoxRow:
    teacher, fresh, algorithm = (np.random.default_rng([seed, d, k, i]) for i in range(3))
    truth = random_combination(d, k, slope=2.0, offsets=True, rng=teacher)
    start = time.process_time()
    found = recover(Oracle(truth.predict, d), random_state=algorithm)
    seconds = time.process_time() - start
    X = fresh.standard_normal((1000, d))
    return BoxRow(
        d, k, truth.n_parameters,
        queries=found.n_queries,
        queries_per_unknown=found.n_queries / truth.n_parameters,
        units_found=found.n_units,
        largest_error=float(np.abs(found.model.predict(X) - truth.predict(X)).max()),
        certified=found.certified,
        seconds=seconds,
    )  # fmt: skip


def measure_table(d: int, k: int, n: int, seed: int) -> TableRow:
    teacher, rows, fresh, algorithm = (np.random.default_rng([seed, d, k, n, i]) for i in range(4))
    truth = random_combination(d, k, slope=2.0, min_singular_value=0.5, rng=teacher)
    X, y = truth.sample(n, NOISE, rng=rows)
    new, value = truth.sample(10_000, None, rng=fresh)
    start = time.process_time()
    found = recover((X, y), k, random_state=algorithm).model
    between = time.process_time()
    network = _best_network(X, y, k, seed)
    end = time.process_time()
    return TableRow(
        d, k, n,
        error=match_units(found.units, truth.units).max_error,
        sklearn_error=match_units(network.coefs_[0].T, truth.units).max_error,
        misfit=float(np.sqrt(np.mean((found.predict(new) - value) ** 2))),
        sklearn_misfit=float(np.sqrt(np.mean((network.predict(new) - value) ** 2))),
        seconds=between - start,
        sklearn_seconds=end - between,
    )  # fmt: skip


def _best_network(X: Any, y: Any, k: int, seed: int) -> Any:
    """Return scikit-learn's network of least loss, out of five starts."""
    how: dict[str, Any] = {"hidden_layer_sizes": (k,), "activation": "tanh", "solver": "lbfgs", "alpha": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # such a start may still be the best
        starts = range(RESTARTS * seed, RESTARTS * (seed + 1))
        fits = [MLPRegressor(**how, max_iter=2000, random_state=start).fit(X, y) for start in starts]
    return min(fits, key=lambda network: network.loss_)


def box_table(boxes: list[BoxRow]) -> Table:
    cells = []
    for d, k in BOXES:
        runs = [b for b in boxes if (b.inputs, b.units) == (d, k)]
        certified = f"{sum(b.certified for b in runs)} of {len(runs)}"
        error, seconds = max(b.largest_error for b in runs), mean(b.seconds for b in runs)
        cells.append((d, k, certified, mean(b.queries_per_unknown for b in runs), error, seconds))
    columns = ("inputs", "units", "certified", "queries per unknown", "largest error", "CPU seconds")
    return Table("Black boxes: random tanh networks with offsets", columns, cells)


def fit_table(tables: list[TableRow]) -> Table:
    lines: list[tuple[Any, ...]] = []
    for size in TABLES:
        runs = [t for t in tables if (t.inputs, t.units, t.rows) == size]
        ours = _told([t.error for t in runs], [t.misfit for t in runs], [t.seconds for t in runs])
        theirs = _told(
            [t.sklearn_error for t in runs], [t.sklearn_misfit for t in runs], [t.sklearn_seconds for t in runs]
        )
        lines.append((*(f"{n:,}" for n in size), "gradsift", *ours))
        lines.append(("", "", "", "scikit-learn", *theirs))
        lines.append(("", "", "", "ratio", "", *(a / b for a, b in zip(theirs[1:], ours[1:]))))
    columns = ("inputs", "units", "rows", "", "units found", "misfit", "CPU seconds")
    return Table(f"Noisy tables; scikit-learn is the best of {RESTARTS} L-BFGS starts", columns, lines)


def _told(errors: list[float], misfits: list[float], seconds: list[float]) -> tuple[str, float, float]:
    n_found = sum(error < FOUND for error in errors)
    return f"{n_found} of {len(errors)}", mean(misfits), mean(seconds)


def measure(seed: int, repeats: int) -> Iterator[tuple[list[BoxRow], list[TableRow]]]:
    """Yield the boxes and the tables of each draw."""
    for draw in range(seed, seed + repeats):
        boxes = [measure_box(d, k, draw) for d, k in BOXES]
        yield boxes, [measure_table(d, k, n, draw) for d, k, n in TABLES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    draws = list(measure(options.seed, options.repeats))
    for table in (box_table([b for boxes, _ in draws for b in boxes]), fit_table([t for _, ts in draws for t in ts])):
        print(table.title, *(", ".join(map(str, row)) for row in (table.columns, *table.rows)), sep="\n")


if __name__ == "__main__":
    main()

"""Recovery of units from rows: success, error over the Cramer-Rao bound and CPU, next to scikit-learn and plain LM.

Every method sees the same rows and gets the same Gauss-Newton polish; peers keep the best of five starts. Success
means: largest direction error within 1.5 times that of a polish started at the truth. The two ratios divide the root
mean square direction error by the bound, pooled over tables (mean) and for the typical table (median).

Peers are slow, so they may get fewer tables (the first ones); the line "same tables" then gives gradsift's figures on
just those. ``OMP_NUM_THREADS=1 python -m benchmarks.tables.data_fit --seeds 50 --peer-seeds 10``: one BLAS thread.
With ``--cells`` only some cells are run anew, and the others stay in the file as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import numpy as np
import scipy
import sklearn
from sklearn.neural_network import MLPRegressor

import gradsift as gs
from benchmarks.record import COMMITTED, commit
from gradsift.fit import Family, Parameters, from_model
from gradsift.fit.covariance import cramer_rao
from gradsift.fit.moves import random_starts
from gradsift.sources import ArraySource
from gradsift.table import search
from gradsift.table.problem import TableProblem, prepare


@dataclass(frozen=True)
class Cell:
    """One setting: noise is half the signal's standard deviation, or labels."""

    name: str
    d: int
    k: int
    n: int
    kappa: float | None = 0.3  # smallest singular value of the units; None: orthonormal
    slope: float = 3.0
    labels: bool = False
    offsets: bool = False
    slope_range: float = 1.0  # slopes log-uniform in [slope, slope * slope_range]
    design: str = "gaussian"
    even: bool = False  # all weights equal, units the standard basis (the paper's figures)
    activation: str = "tanh"


CELLS = [
    Cell("5,3,1e3 correlated", 5, 3, 1000),
    Cell("10,5,1e3 orthogonal", 10, 5, 1000, None),
    Cell("10,3,1e4 correlated labels", 10, 3, 10_000, labels=True),
    Cell("10,5,1e4 correlated", 10, 5, 10_000),
    Cell("10,5,1e4 correlated slope 1", 10, 5, 10_000, slope=1.0),
    Cell("20,5,1e4 correlated", 20, 5, 10_000),
    Cell("20,10,1e4 orthogonal", 20, 10, 10_000, None),
    Cell("50,5,1e4 orthogonal", 50, 5, 10_000, None),
]
# Units that grow; scikit-learn has no softplus: its networks have ReLU units there, and the polish rounds them.
GROWING = [
    Cell(f"{d},5,1e4 {name}", d, 5, 10_000, slope=slope, activation=name)
    for d in (10, 20)
    for name, slope in (("relu", 1.0), ("softplus", 3.0))
]
OTHERS = [
    Cell("10,5,1e4 slopes 1 to 5", 10, 5, 10_000, slope=1.0, slope_range=5.0),
    Cell("10,3,5e3 offsets", 10, 3, 5000, offsets=True),
    Cell("figure 2 labels slope 2", 3, 3, 5000, None, slope=2.0, labels=True, even=True),
    Cell("figure 2 labels slope 5", 3, 3, 5000, None, slope=5.0, labels=True, even=True),
    *(
        Cell(f"20,3,2e4 {design}", 20, 3, 20_000, design=design)
        for design in ("uniform", "laplace", "t5", "signs", "shifted")
    ),
]


def draw_rows(cell: Cell, rng: np.random.Generator) -> np.ndarray:
    """Draw the covariates, of unit variance except for the shifted ones."""
    shape = (cell.n, cell.d)
    if cell.design == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)
    if cell.design == "laplace":
        return rng.laplace(0, np.sqrt(0.5), shape)
    if cell.design == "t5":
        return rng.standard_t(5, shape) / np.sqrt(5 / 3)
    if cell.design == "signs":
        return rng.choice([-1.0, 1.0], shape)
    X = rng.standard_normal(shape)
    if cell.design == "shifted":  # N(mu, S), condition number 10
        turn = np.linalg.qr(rng.standard_normal((cell.d, cell.d)))[0]
        X = (X * np.sqrt(np.geomspace(0.3, 3.0, cell.d))) @ turn + 0.3 * rng.standard_normal(cell.d)
    return X


def draw(cell: Cell, seed: int) -> tuple[gs.SigmoidCombination, np.ndarray, np.ndarray, float | str]:
    """Return truth, rows, targets and noise; teacher and data have streams of their own."""
    key = [seed, cell.d, cell.k, cell.n, int(10 * cell.slope), len(cell.name)]
    teacher, rows = np.random.default_rng([*key, 1]), np.random.default_rng([*key, 2])
    kappa = 1.0 if cell.kappa is None else cell.kappa
    units = gs.simulate.random_units(cell.d, cell.k, kappa, teacher)
    weights = teacher.uniform(0.5, 1, cell.k)
    if cell.even:
        units, weights = np.eye(cell.d)[: cell.k], np.ones(cell.k)
    weights = weights / weights.sum() if cell.labels else weights * (-1.0) ** np.arange(cell.k)
    slopes = cell.slope * cell.slope_range ** teacher.uniform(0, 1, cell.k)
    offsets = teacher.standard_normal(cell.k) if cell.offsets else np.zeros(cell.k)
    truth = gs.SigmoidCombination(units, weights, slopes, offsets, 0.5 if cell.offsets else 0.0, cell.activation)
    X = draw_rows(cell, rows)
    r = truth.predict(X)
    if cell.labels:
        return truth, X, np.where(rows.random(cell.n) < (1 + r) / 2, 1.0, -1.0), "labels"
    noise = 0.5 * float(r.std())
    return truth, X, r + noise * rows.standard_normal(cell.n), noise


def family_of(cell: Cell) -> Family:
    """Return what the peers are told to fit."""
    grows = cell.activation != "tanh"
    return Family.of(
        cell.activation,
        labels=cell.labels,
        slopes=1.0 if cell.activation == "relu" else "each",
        offsets=cell.offsets,
        intercept=(cell.offsets or grows) and not cell.labels,
    )


def fit_sklearn(problem: TableProblem, k: int, seed: int) -> list[Parameters]:
    """Fit L-BFGS MLPs from five starts (squared loss, as scikit-learn has it) and return the best."""
    best = None
    for start in range(5):
        mlp = MLPRegressor(
            hidden_layer_sizes=(k,),
            activation="tanh" if problem.family.activation.name == "tanh" else "relu",
            solver="lbfgs",
            max_iter=2000,
            alpha=0,
            random_state=5 * seed + start,
        )
        mlp.fit(problem.rows.X, problem.rows.y)
        if best is None or mlp.loss_ < best.loss_:
            best = mlp
    offsets = best.intercepts_[0] if problem.family.offsets else np.zeros(k)
    c = float(best.intercepts_[1][0]) if problem.family.intercept else 0.0
    return [Parameters(best.coefs_[0].T, best.coefs_[1][:, 0], offsets, c)]


def fit_small_starts(problem: TableProblem, k: int, seed: int) -> list[Parameters]:
    """Return five small random starts for Levenberg-Marquardt itself to climb down from."""
    return random_starts(problem.family, k, problem.n_features, 5, 0.5, np.random.default_rng([seed, 77]))


PEERS = {"scikit-learn": fit_sklearn, "small-start LM": fit_small_starts}


def angle(found: np.ndarray, truth: gs.SigmoidCombination) -> np.ndarray:
    """Return the direction errors of the matched units."""
    return gs.match_units(found, truth.units).errors


def run_cell(cell: Cell, seeds: range, n_peer: int) -> dict[str, object]:
    """Run gradsift on all tables and the peers on the first `n_peer`."""
    names = ["gradsift", *(PEERS if n_peer else ())]
    errors: dict[str, list[np.ndarray]] = {name: [] for name in names}
    cpu: dict[str, list[float]] = {name: [] for name in names}
    reached, bounds, certified = [], [], []
    for seed in seeds:
        truth, X, y, noise = draw(cell, seed)
        family = family_of(cell)
        bounds.append(cramer_rao(truth, X, noise=noise, family=family).angles)
        problem = prepare(ArraySource(X, y), family, np.random.default_rng([seed, 3]))
        at_truth = problem.polish(problem.frame.inside(from_model(truth)))
        reached.append(angle(problem.frame.outside(at_truth.theta).A, truth))
        start = time.process_time()
        fit = search(
            ArraySource(X, y),
            cell.k,
            activation=cell.activation,
            labels=cell.labels,
            rng=np.random.default_rng([seed, 4]),
        )
        cpu["gradsift"].append(time.process_time() - start)
        errors["gradsift"].append(angle(fit.model.units, truth))
        certified.append(fit.certified)
        for name in names[1:] if seed < seeds.start + n_peer else ():
            start = time.process_time()
            polished = [problem.polish(theta, max_iterations=100) for theta in PEERS[name](problem, cell.k, seed)]
            best = min(polished, key=lambda refined: refined.objective)
            cpu[name].append(time.process_time() - start)
            errors[name].append(angle(problem.frame.outside(best.theta).A, truth))
    bound = np.array(bounds)
    out: dict[str, object] = {**asdict(cell), "bound_rms": float(np.sqrt((bound**2).mean()))}
    limit = 1.5 * np.array([e.max() for e in reached])
    out["truth start over bound"] = _ratio(np.array(reached), bound)
    out["certified"] = float(np.mean(certified))
    for name in names:
        out[name] = score(np.array(errors[name]), bound, limit, cpu[name])
    if 0 < n_peer < len(seeds):
        out["same tables"] = score(np.array(errors["gradsift"][:n_peer]), bound, limit, cpu["gradsift"][:n_peer])
    return out


def score(found: np.ndarray, bound: np.ndarray, limit: np.ndarray, cpu: list[float]) -> dict[str, float]:
    """Return the figures of one method; tables beyond those it saw are ignored."""
    n = len(found)
    bound, limit = bound[:n], limit[:n]
    return {
        "tables": n,
        "success": float((found.max(axis=1) <= limit).mean()),
        "rmse_over_bound": _ratio(found, bound),
        "median_over_bound": float(np.median(np.sqrt((found**2).mean(axis=1) / (bound**2).mean(axis=1)))),
        "median_max_error": float(np.median(found.max(axis=1))),
        "max_error": float(found.max()),
        "cpu_mean": float(np.mean(cpu)),
    }


def _ratio(errors: np.ndarray, bound: np.ndarray) -> float:
    return float(np.sqrt((errors**2).mean() / (bound**2).mean()))


def machine() -> dict[str, str]:
    """Return what the figures were measured on."""
    return {
        "machine": f"{platform.machine()} {platform.system()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "gradsift": gs.__version__,
        "blas_threads": os.environ.get("OMP_NUM_THREADS", "unset"),
        "date": date.today().isoformat(),
    }


def report(row: dict[str, object]) -> None:
    """Print one line per method."""
    print(f"{row['name']} (bound {row['bound_rms']:.3f}, certified {row['certified']:.2f})")
    for name in ("gradsift", "same tables", *PEERS):
        if name in row:
            cell = row[name]
            print(
                f"   {name:15s} {cell['tables']:3d} tables  success {cell['success']:.3f}  "
                f"rmse/bound {cell['rmse_over_bound']:.2f} (median {cell['median_over_bound']:.2f})  "
                f"max error {cell['median_max_error']:.3f} (median) {cell['max_error']:.3f} (worst)  "
                f"cpu {cell['cpu_mean']:.3f} s",
                flush=True,
            )


def main(arguments: list[str] | None = None) -> None:
    """Run the cells and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="tables per cell")
    parser.add_argument(
        "--first-seed", type=int, default=10_000, help="tuning used others: below 10000, and from 20000 on"
    )
    parser.add_argument("--cells", default="", help="only cells whose name contains this")
    parser.add_argument("--peer-seeds", type=int, default=10, help="tables per cell for the peers")
    parser.add_argument("--out", type=Path, default=COMMITTED / "data_fit.json")
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=sklearn.exceptions.ConvergenceWarning)
    rows = json.loads(options.out.read_text())["cells"] if options.cells and options.out.exists() else []
    for cell in [*CELLS, *GROWING, *OTHERS]:
        if options.cells in cell.name:
            seeds = range(options.first_seed, options.first_seed + options.seeds)
            row = run_cell(cell, seeds, min(options.peer_seeds, options.seeds) if cell not in OTHERS else 0)
            rows = [old for old in rows if old["name"] != cell.name] + [row]
            report(row)
            order = [known.name for known in [*CELLS, *GROWING, *OTHERS]]
            rows.sort(key=lambda old: order.index(old["name"]))
            options.out.write_text(
                json.dumps({**machine(), "cells": [{"commit": commit()} | row for row in rows]}, indent=1) + "\n"
            )


if __name__ == "__main__":
    main()

"""What the data fit claims: number of units, coverage of its intervals, and its time on a million rows.

``OMP_NUM_THREADS=1 python -m benchmarks.tables.data_inference --units 30 --replications 100``: one BLAS thread.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from pathlib import Path

import numpy as np

import gradsift as gs
from benchmarks.record import COMMITTED, commit
from benchmarks.tables.data_fit import CELLS, Cell, draw, machine
from gradsift.sources import ArraySource
from gradsift.table import search

COUNTED = [CELLS[0], CELLS[3], Cell("5,2,1e4 labels", 5, 2, 10_000, labels=True)]
COVERED = [CELLS[3], Cell("5,2,1e4 labels", 5, 2, 10_000, labels=True)]


def count_units(cell: Cell, seeds: range) -> dict[str, object]:
    """Return how often BIC finds the right number of units, and the mean CPU time."""
    found, start = [], time.process_time()
    for seed in seeds:
        _, X, y, _ = draw(cell, seed)
        found.append(search(ArraySource(X, y), labels=cell.labels, rng=np.random.default_rng([seed, 4])).n_units)
    values, counts = np.unique(found, return_counts=True)
    return {
        "cell": cell.name,
        "tables": len(found),
        "right": float(np.mean(np.array(found) == cell.k)),
        "found": {int(k): int(c) for k, c in zip(values, counts)},
        "cpu_mean": (time.process_time() - start) / len(found),
    }


def cover(cell: Cell, replications: range) -> dict[str, object]:
    """Return how often 95% intervals hold the truth: one teacher, fresh rows each time."""
    inside: dict[str, list[np.ndarray]] = {"units": [], "slopes": [], "weights": []}
    truth, *_ = draw(cell, 1)
    truth = truth.canonical()
    for replication in replications:
        rng = np.random.default_rng([replication, 9])
        noise: float | str = "labels"
        if not cell.labels:
            noise = 0.5 * float(truth.predict(rng.standard_normal((20_000, cell.d))).std())
        X, y = truth.sample(cell.n, noise=noise, rng=rng)
        fit = search(ArraySource(X, y), cell.k, labels=cell.labels, rng=rng)
        match = gs.match_units(fit.model.units, truth.units)
        order, sign = match.order, match.signs[:, None]
        for name in inside:
            estimate, error = getattr(fit.model, name)[order], getattr(fit.standard_errors, name)[order]
            if name == "units":
                estimate = estimate * sign
            inside[name].append(np.abs(estimate - getattr(truth, name)) <= 1.96 * error)
    return {
        "cell": cell.name,
        "replications": len(replications),
        **{name: float(np.mean(hits)) for name, hits in inside.items()},
    }


def torch_seconds(X: np.ndarray, y: np.ndarray, k: int) -> float:
    """Return the CPU time of PyTorch's full-batch L-BFGS (float32, one start, 100 iterations at most)."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    start = time.process_time()
    inputs, target = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    net = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], k, bias=False), torch.nn.Tanh(), torch.nn.Linear(k, 1, bias=False)
    )
    solver = torch.optim.LBFGS(net.parameters(), max_iter=100, history_size=10, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        solver.zero_grad()
        loss = ((net(inputs)[:, 0] - target) ** 2).mean()
        loss.backward()
        return loss

    solver.step(closure)
    return time.process_time() - start


def million(n: int) -> dict[str, object]:
    """Return time, memory beside the rows, passes and errors at d=20, k=5."""
    truth, X, y, _ = draw(Cell("large", 20, 5, n), 1)
    source = ArraySource(X, y)
    start = time.process_time()
    fit = search(source, 5, rng=0)
    seconds = time.process_time() - start
    tracemalloc.start()
    search(ArraySource(X, y), 5, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "rows": n,
        "cpu": seconds,
        "torch_cpu": torch_seconds(X, y, 5),
        "extra_megabytes": peak / 2**20,
        "passes": source.n_passes,
        "max_error": gs.match_units(fit.model.units, truth.units).max_error,
        "largest_standard_error": float(fit.standard_errors.angles.max()),
    }


def main(arguments: list[str] | None = None) -> None:
    """Run what is asked for and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=10, help="tables per cell for the number of units")
    parser.add_argument("--replications", type=int, default=20, help="replications per cell for coverage")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large table (0: skip)")
    parser.add_argument("--first-seed", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=COMMITTED / "data_inference.json")
    options = parser.parse_args(arguments)
    results: dict[str, object] = {**machine(), "number_of_units": [], "coverage": [], "large": None}
    for key, cells, run, count in (
        ("number_of_units", COUNTED, count_units, options.units),
        ("coverage", COVERED, cover, options.replications),
    ):
        for cell in cells if count else ():
            row = run(cell, range(options.first_seed, options.first_seed + count))
            results[key].append(row)  # type: ignore[attr-defined]
            print(row, flush=True)
    if options.rows:
        results["large"] = million(options.rows)
        print(results["large"])
    options.out.write_text(json.dumps({"commit": commit(), **results}, indent=1) + "\n")


if __name__ == "__main__":
    main()

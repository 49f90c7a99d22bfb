"""Do intervals cover? 95% intervals of coefficients, of the mean response and of new observations, in three settings.

The settings: even noise (the noise model's errors), noise that grows with a column (sandwich errors; a band of constant
width cannot hold observations of uneven spread everywhere, and is right on average at best), and clustered rows
(cluster errors). Tuning used seeds below 10,000.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.tables.interval_coverage --replications 300 --jobs 8 --save``.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import gradsift as gs
from benchmarks.record import save

TRUTH = gs.SigmoidCombination([[0.8, 0.6, 0.0, 0.0], [0.0, -0.28, 0.96, 0.0]], [1.2, 0.8], [1.8, 2.4], [0.3, -0.5], 0.4)
SETTINGS = ("even", "uneven", "clustered")


def draw(setting: str, n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return rows, targets, clusters and the rows' means."""
    X = rng.standard_normal((n, 4))
    groups = np.arange(n) // 10
    if setting == "clustered":
        X = 0.6 * X + 0.8 * rng.standard_normal((groups.max() + 1, 4))[groups]
    mean = TRUTH.predict(X)
    noise = 0.3 * rng.standard_normal(n)
    if setting == "uneven":
        noise = noise * np.exp(0.5 * X[:, 0])
    if setting == "clustered":
        noise = 0.21 * rng.standard_normal(n) + 0.21 * rng.standard_normal(groups.max() + 1)[groups]
    return X, mean + noise, groups, mean


def run(setting: str, seed: int, n: int) -> dict[str, float]:
    """Fit one table and return the shares of intervals that hold the truth."""
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    X, y, groups, _ = draw(setting, n, rng)
    kind = {"even": "model", "uneven": "sandwich", "clustered": "cluster"}[setting]
    fit = gs.SigmoidCombinationRegressor(2, offsets=True, intercept=True, covariance=kind, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit.fit(X, y, groups=groups if kind == "cluster" else None)
    found, truth = fit.model_, TRUTH.canonical()
    match = gs.match_units(found.units, truth.units)
    table = fit.coefficients()
    wanted = []
    for unit in range(2):  # the truth in the order and with the signs of the fit
        i = int(np.flatnonzero(match.order == unit)[0])
        sign = match.signs[i]
        wanted += [truth.weights[i] * sign, truth.offsets[i] * sign, *(truth.units[i] * truth.slopes[i] * sign)]
    wanted.append(truth.intercept)
    low, high = table.conf_int(0.95).T
    fresh, observed, _, mean = draw(setting, 200, rng)
    bounds = {of: fit.predict(fresh, interval=0.95, of=of)[1] for of in ("mean", "observation")}
    return {
        "coefficients": float(np.mean((low <= wanted) & (wanted <= high))),
        "mean response": inside(bounds["mean"], mean),
        "new observation": inside(bounds["observation"], observed),
    }


def inside(bounds: np.ndarray, values: np.ndarray) -> float:
    """Return the share of values between their bounds."""
    return float(np.mean((bounds[:, 0] <= values) & (values <= bounds[:, 1])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.replications)
    summary = {}
    for setting in SETTINGS:
        rows = Parallel(n_jobs=options.jobs)(delayed(run)(setting, seed, options.rows) for seed in seeds)
        summary[setting] = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
        told = ", ".join(f"{name} {share:.3f}" for name, share in summary[setting].items())
        print(f"{setting:10s} {len(rows)} replications of {options.rows} rows: 95% intervals cover {told}", flush=True)
    if options.save:
        save("interval_coverage", {"replications": options.replications, "rows": options.rows, "coverage": summary})


if __name__ == "__main__":
    main()

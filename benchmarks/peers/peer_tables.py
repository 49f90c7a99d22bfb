"""Methods that the paper cites, on the same data as ours, each checked first where it must work.

    python -m benchmarks.peers.peer_tables [--rows 20000] [--seeds 3] [--outside 500000] [--part NAME] [--only TEXT]
                                      [--more FOLDER] [--tune] [--jobs 1] [--save]

Peers are the files of peers/methods that take rows, and those of --more. --tune compares the options that a peer
names (step sizes, start scales, bandwidths) on seeds from 1000 on and keeps all angles in the result; the table, seeds
from 0, then takes for each peer the options with the smallest ones.

Two units of slope 2 (smallest singular value 0.7) in dimension 5: labels of a mixture and values with noise 0.1. Angles
in degrees of the worst unit, or of the span where a method returns no units, medians. The outside check repeats two
rows of table 1 of Chaganty and Liang: features (1, t, t^4, t^7) and (1, t1, t2, t1 t2^3, t1^2 t2^2, t1^3 t2), t uniform
on [-1, 1], Gaussian coefficients, noise variance 0.1; errors are Frobenius norms over experts and shares.
"""

from __future__ import annotations

import argparse
import itertools
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

import gradsift as gs
from benchmarks.peers.methods import Peer, peers
from benchmarks.peers.methods.alternating import alternating_minimisation
from benchmarks.peers.methods.em import mixture_of_classifiers, mixture_of_regressions
from benchmarks.peers.methods.gradient_descent import gradient_descent
from benchmarks.peers.methods.spectral_experts import spectral_experts
from benchmarks.peers.methods.tensor import tensor_method
from benchmarks.record import COMMITTED, RESULTS, load, save_parts
from gradsift.errors import UncertifiedWarning
from gradsift.geometry import subspace_angle
from gradsift.simulate import random_combination

OUTSIDE = {(1, 4, 2): (1.52, 0.28, 0.13), (2, 6, 5): (6.78, 2.29, 1.77)}  # spectral, EM, both: their table 1

LEFT_OUT = [
    {"package": "pyrenn 0.1", "why": "its Levenberg-Marquardt repeats a step for ever once noise keeps the error up"},
    {"package": "neurolab 0.3.5", "why": "does not import with numpy 2 (np.Inf)"},
    {"package": "stepmix 3.0.0", "why": "its classes depend on covariates, but within a class no answer does"},
    {"package": "R mixtools", "why": "where it is not installed; flexmix fits the same mixture"},
]


def angle(units: np.ndarray, truth: np.ndarray) -> float:
    """Return the largest angle of a matched pair, in degrees, up to signs."""
    return float(np.degrees(2 * np.arcsin(min(1.0, gs.match_units(units, truth).max_error / 2))))


def ours(X, y, k, rng):
    """Return the default method's units."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        return gs.recover((X, y), k, random_state=rng).model.units


def must_work(rng: np.random.Generator) -> list[dict[str, object]]:
    """Run each rival in its own setting, where it has to succeed; return what it reached."""
    X = rng.standard_normal((40_000, 4))
    B = np.array([[1.0, 0.5, 0.0, -0.5], [-0.5, 1.0, 1.0, 0.0]])
    first = rng.random(len(X)) < 0.5
    lines = np.where(first, X @ B[0], X @ B[1])
    noisy = lines + np.sqrt(0.1) * rng.standard_normal(len(X))
    found: dict[str, float] = {
        "EM, mixture of regressions": min(_distance(mixture_of_regressions(X, noisy, 2, rng)[0], B) for _ in range(4)),
        "spectral experts": _distance(spectral_experts(X, noisy, 2, rng)[0], B),
        "alternating minimisation": _distance(alternating_minimisation(X, lines, rng), B),
    }
    model = random_combination(4, 2, slope=1.5, min_singular_value=0.8, mixture=True, min_weight=1.0, rng=rng)
    labels = model.sample(40_000, "labels", rng=rng)
    values = model.sample(200_000, None, rng=rng)
    units = {
        "EM, mixture of classifiers": mixture_of_classifiers(*labels, 2, rng),
        "tensor method": tensor_method(*values, 2, rng),
        "gradient descent": gradient_descent(*values, 2, rng),
    }
    rows: list[dict[str, object]] = [
        {"method": name, "distance": round(error, 4), "works": error < 0.3} for name, error in found.items()
    ]
    angles = {name: angle(w, model.units) for name, w in units.items()}
    rows += [{"method": name, "degrees": round(a, 2), "works": a < 15} for name, a in angles.items()]
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return rows


def _distance(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the Frobenius distance under the best order of the experts."""
    orders = itertools.permutations(range(len(truth)))
    return min(float(np.linalg.norm(found[list(order)] - truth)) for order in orders)


class Run(NamedTuple):
    """A method on one table of the comparison."""

    degrees: float
    seconds: float


def cpu_seconds() -> float:
    """Return the processor time of this process and of those that it waited for, such as R."""
    return sum(os.times()[:4])


def run_one(peer: Peer, answers: str, seed: int, n: int, options: dict[str, Any] | None = None) -> Run:
    """Run a method on the table of one seed: model, data and algorithm have streams of their own."""
    model = random_combination(5, 2, slope=2.0, min_singular_value=0.7, mixture=True, min_weight=0.7,
                               rng=np.random.default_rng([seed, 1]))  # fmt: skip
    X, y = model.sample(n, "labels" if answers == "labels" else 0.1, rng=np.random.default_rng([seed, 2]))
    start = cpu_seconds()
    found = peer.run(X, y, 2, np.random.default_rng([seed, 3]), **(options or {}))
    seconds = cpu_seconds() - start
    if peer.returns == "span":
        return Run(float(np.degrees(subspace_angle(found, model.units))), seconds)
    return Run(angle(found, model.units), seconds)


def table(seeds: range, n: int, methods: list[Peer], jobs: int, keep: bool = False) -> list[dict[str, object]]:
    """Return the angle and time of every method on the same data, with the options that tuning preferred.

    With `keep`, each row is saved as it is measured, in the place of an old one of the same method.
    """
    rows = []
    chosen = tuned()
    for peer in methods:
        row: dict[str, object] = {"method": peer.name, "measured on": peer.returns}
        if peer.missing:
            row["not installed"] = ", ".join(peer.missing)
        for answers in () if peer.missing else ("labels", "values"):
            if answers not in peer.answers:
                row[answers] = "not its setting"
                continue
            options = chosen.get(peer.name, {})
            runs = Parallel(jobs)(delayed(run_one)(peer, answers, seed, n, options) for seed in seeds)
            row[answers] = round(float(np.median([run.degrees for run in runs])), 2)
            row[f"{answers}, worst"] = round(max(run.degrees for run in runs), 2)
            row[f"{answers}, CPU seconds"] = round(float(np.median([run.seconds for run in runs])), 2)
        rows.append(row)
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        if keep:
            save_parts("peer_tables", {"same_data": with_kept(rows)})
    return with_kept(rows) if keep else rows


def with_kept(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Put rows in the place of old ones of the same method; ours stays last, peers that are gone are left out."""
    path = RESULTS / "peer_tables.json"
    old = load(path).get("same_data", []) if path.exists() else []
    known = {peer.name for peer in peers("rows")} | {row["method"] for row in rows} | {"ours"}
    held = {row["method"]: row for row in (*old, *rows) if row["method"] in known}
    return sorted(held.values(), key=lambda row: row["method"] == "ours")


def tune(seeds: range, n: int, methods: list[Peer], jobs: int) -> list[dict[str, Any]]:
    """Return the median angles of every set of options that a peer names."""
    rows = []
    for peer in methods:
        for options in () if peer.missing else peer.tries:
            row: dict[str, Any] = {"method": peer.name, "options": options}
            for answers in peer.answers:
                runs = Parallel(jobs)(delayed(run_one)(peer, answers, seed, n, options) for seed in seeds)
                row[answers] = round(float(np.median([run.degrees for run in runs])), 2)
            rows.append(row)
            print(row, flush=True)
    return rows


def choices(tuning: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the options of each peer whose angles have the smallest sum."""

    def angles(row: dict[str, Any]) -> float:
        return sum(row[answers] for answers in ("labels", "values") if answers in row)

    names = dict.fromkeys(row["method"] for row in tuning)
    return {name: min((row for row in tuning if row["method"] == name), key=angles)["options"] for name in names}


def tuned() -> dict[str, dict[str, Any]]:
    """Return the options of a tuning run, of this one or the committed one; none where nothing was tuned."""
    for folder in (RESULTS, COMMITTED):
        path = folder / "peer_tables.json"
        if path.exists() and (tuning := load(path).get("tuning")):
            return choices(tuning)
    return {}


def features(b: int, d: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the features of the outside check."""
    t = rng.uniform(-1, 1, (n, b)).T
    if (b, d) == (1, 4):
        return np.stack([np.ones(n), t[0], t[0] ** 4, t[0] ** 7], axis=1)
    s, r = t
    return np.stack([np.ones(n), s, r, s * r**3, s**2 * r**2, s**3 * r], axis=1)


def outside_run(b: int, d: int, k: int, n: int, i: int) -> dict[str, float]:
    """Return the three errors on one instance of their table."""
    rng = np.random.default_rng([i, b, d, k])
    X, B = features(b, d, n, rng), rng.standard_normal((k, d))
    y = (X * B[rng.integers(k, size=n)]).sum(axis=1) + np.sqrt(0.1) * rng.standard_normal(n)
    truth = np.column_stack((np.full(k, 1 / k), B))
    start, share = spectral_experts(X, y, k, rng)
    errors = {"spectral": _distance(np.column_stack((share, start)), truth)}
    for name, begin in (("EM", None), ("both", start)):
        found, _ = mixture_of_regressions(X[:20_000], y[:20_000], k, rng, start=begin, iterations=400)
        found, share = mixture_of_regressions(X, y, k, rng, start=found, iterations=15)
        errors[name] = _distance(np.column_stack((share, found)), truth)
    return errors


def outside(n: int, instances: int, jobs: int) -> list[dict[str, object]]:
    """Repeat two rows of their table."""
    rows = []
    for (b, d, k), theirs in OUTSIDE.items():
        runs = Parallel(jobs)(delayed(outside_run)(b, d, k, n, i) for i in range(instances))
        row: dict[str, object] = {"b": b, "d": d, "k": k, "n": n, "instances": instances}
        for name, published in zip(runs[0], theirs):
            row |= {name: round(float(np.mean([run[name] for run in runs])), 2), f"{name}, published": published}
        rows.append(row)
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--outside", type=int, default=500_000, metavar="ROWS")
    parser.add_argument("--instances", type=int, default=5)
    parser.add_argument("--part", choices=("must_work", "same_data", "outside_check"), help="only this table")
    parser.add_argument("--only", default="", help="methods of the common table whose name contains this")
    parser.add_argument("--more", type=Path, nargs="*", default=[], metavar="FOLDER", help="further peers")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    if options.more and options.jobs > 1:
        parser.error("--more goes with one job: other processes do not know the folder.")
    methods = [peer for peer in (*peers("rows", *options.more), Peer("ours", ours)) if options.only in peer.name]
    if options.tune:
        tried = tune(range(1000, 1000 + options.seeds), options.rows, methods, options.jobs)
        if options.save:
            path, anew = RESULTS / "peer_tables.json", {row["method"] for row in tried}
            old = load(path).get("tuning", []) if path.exists() else []
            kept = [row for row in old if row["method"] not in anew]
            print(save_parts("peer_tables", {"tuning": kept + tried}))
        return
    parts = {
        "must_work": lambda: must_work(np.random.default_rng(7)),
        "same_data": lambda: table(range(options.seeds), options.rows, methods, options.jobs, options.save),
        "outside_check": lambda: outside(options.outside, options.instances, options.jobs),
        "left_out": lambda: LEFT_OUT,
    }
    chosen = [name for name in parts if options.part in (None, name)] + ["left_out"]
    result = {name: parts[name]() for name in dict.fromkeys(chosen)}
    if options.save:
        print(save_parts("peer_tables", result))


if __name__ == "__main__":
    main()

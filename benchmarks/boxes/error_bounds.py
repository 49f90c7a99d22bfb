"""Do error bounds hold? True errors of certified networks over the bounds that their certificates state, by reader.

python -m benchmarks.boxes.error_bounds [--runs 150] [--rows tanh relu ...] [--tuning] [--jobs 1] [--save]

A box is a network of one of four families: plain (weights .2 to 1, slopes 1 to 3, standard normal offsets), with two
units 1 to 8 degrees apart, with weights over two decades, and with offsets up to 3. An error is measured in the sense
of the bound: for sigmoids the largest relative error of a unit's direction and slope, of its weight, and of its offset
over one plus it; for kinks of its jump of the gradient and of its offset; for layers of a row. `ratio` is the largest
error of a network over the largest bound, as the certificate states it (median, 99.9% quantile and largest over the
networks), `beyond` counts certified networks in which it is above one, `wrong` those certified with another number of
units (beyond any bound, and left out of the ratios), `units beyond` units whose error is above their own bound.
Networks and method draw from separate streams; the number of standard errors in a bound was chosen with --tuning.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

import gradsift as gs
from benchmarks.record import save
from gradsift.activations import get_activation
from gradsift.certificate import BOUND

_NETWORKS, _METHOD = 2711, 2712  # separate random streams; tuning adds 50
_TUNING = 50
FAMILIES = ("plain", "parallel", "two decades", "offsets")
LEAST = 1e-15  # relative: what is above is no rounding of the comparison itself


class Box(NamedTuple):
    """A function, its network, where it may be asked, and the activation as it is told."""

    function: Callable[[np.ndarray], np.ndarray]
    truth: Any
    bounds: tuple[float, float] | None = None
    activation: str | None = None


def one_layer(rng: np.random.Generator, family: str, activation: str) -> gs.SigmoidCombination:
    d, k = int(rng.integers(4, 9)), int(rng.integers(2, 6))
    units = rng.standard_normal((k, d))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    if family == "parallel":
        aside = rng.standard_normal(d)
        aside -= (aside @ units[0]) * units[0]
        angle = np.radians(np.exp(rng.uniform(0, np.log(8))))
        units[1] = np.cos(angle) * units[0] + np.sin(angle) * aside / np.linalg.norm(aside)
    weights = np.exp(rng.uniform(-np.log(100), 0, k)) if family == "two decades" else rng.uniform(0.2, 1, k)
    offsets = rng.uniform(-3, 3, k) if family == "offsets" else rng.standard_normal(k)
    return gs.SigmoidCombination(
        units, rng.choice([-1.0, 1.0], k) * weights, np.exp(rng.uniform(0, np.log(3), k)), offsets,
        float(rng.standard_normal()), activation,
    )  # fmt: skip


def single(net: gs.SigmoidCombination) -> Callable[[np.ndarray], np.ndarray]:
    """Return ReLU units that calculate in float32 throughout, parameters rounded beforehand."""
    a, b, u, c = (np.float32(v) for v in (net.units * net.slopes[:, None], net.offsets, net.weights, net.intercept))
    return lambda X: np.maximum(X.astype(np.float32) @ a.T + b, 0) @ u + c


def rounded(net: gs.SigmoidCombination) -> gs.SigmoidCombination:
    """Return the network with the parameters that float32 leaves."""
    a, b, u = (
        np.float32(v).astype(np.float64) for v in (net.units * net.slopes[:, None], net.offsets, net.weights)
    )  # fmt: skip
    return gs.SigmoidCombination(a, u, 1.0, b, float(np.float32(net.intercept)), net.activation)


def trained(rng: np.random.Generator) -> Box:
    """Return a scikit-learn network of tanh units, trained on rows of another one."""
    from sklearn.neural_network import MLPRegressor

    X = rng.standard_normal((300, 5))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(300)
    net = MLPRegressor(
        hidden_layer_sizes=5, activation="tanh", solver="lbfgs", max_iter=60, random_state=int(rng.integers(2**31))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # any network will do
        net.fit(X, y)
    (W, v), (b, c) = net.coefs_, net.intercepts_
    return Box(net.predict, gs.SigmoidCombination(W.T, v[:, 0], 1.0, b, float(c[0]), "tanh"))


def two_layers(rng: np.random.Generator, family: str) -> gs.Network:
    wide = family == "two decades"
    norms = [(0.3, 3.0) if wide else (1.0, 3.0), (0.5, 2.0) if wide else 1.5]
    offsets = [2.0 if family == "offsets" else 1.0, 0.5]
    d, widths = int(rng.integers(4, 6)), (int(rng.integers(3, 5)), int(rng.integers(2, 4)))
    net = gs.simulate.random_network(d, widths, row_norms=norms, offsets=offsets, rng=rng)
    if family == "parallel":
        (W, b), *above = net.layers
        W = W.copy()
        W[1] = W[0] + np.radians(10) * np.linalg.norm(W[0]) * rng.standard_normal(d) / np.sqrt(d)
        net = gs.Network([(W, b), *above])
    return net.canonical()


def make(row: str, family: str, rng: np.random.Generator) -> Box:
    """Draw a box of one of the rows."""
    if row == "scikit-learn":
        return trained(rng)
    if row == "two layers":
        net = two_layers(rng, family)
        return Box(net.predict, net)
    activation, _, kind = row.partition(" ")
    truth = one_layer(rng, family, activation)
    if kind == "float32" and activation == "relu":
        truth = rounded(truth)
        return Box(single(truth), truth, None, activation)
    answer = {
        "float32": lambda X: truth.predict(X).astype(np.float32),
        "decimals": lambda X: np.round(truth.predict(X), 7),
    }.get(kind, truth.predict)
    return Box(answer, truth, (-3.0, 3.0) if kind == "box" else None, activation)


ROWS = (
    "tanh", "erf", "scikit-learn", "tanh float32", "tanh decimals", "relu", "softplus", "relu float32", "tanh box",
    "softplus box", "relu box", "two layers",
)  # fmt: skip
JUMPS = ("relu", "softplus", "relu float32", "relu box")  # rows of readers whose bounds are on jumps


def sigmoid_errors(found: gs.SigmoidCombination, truth: gs.SigmoidCombination) -> np.ndarray:
    """Return the largest relative error of each found unit's (a, b, u), (k,)."""
    errors, match = np.full(found.n_units, np.inf), gs.match_units(found.units, truth.units)
    turns = get_activation(truth.activation).odd_form is not None  # a unit turned round has the other weight
    for i, (j, sign) in enumerate(zip(match.order, match.signs)):  # true unit i is found unit j
        off_a = np.linalg.norm(sign * found.slopes[j] * found.units[j] - truth.slopes[i] * truth.units[i])
        off_b = abs(sign * found.offsets[j] - truth.offsets[i]) / (1 + abs(truth.offsets[i]))
        off_u = abs((sign if turns else 1.0) * found.weights[j] - truth.weights[i]) / abs(truth.weights[i])
        errors[j] = max(off_a / truth.slopes[i], off_b, off_u)
    return errors


def jump_errors(found: gs.SigmoidCombination, truth: gs.SigmoidCombination, box: Box, coarse: bool) -> np.ndarray:
    """Return the relative error of each found unit's jump and, unless answers are coarse, offset and weight, (k,)."""
    errors, match = np.full(found.n_units, np.inf), gs.match_units(found.units, truth.units)
    jumps = (truth.weights * truth.slopes)[:, None] * truth.units
    lengths, q = np.linalg.norm(jumps, axis=1), truth.weights * truth.offsets
    reach = float(np.median(np.abs(q) / lengths)) if box.bounds is None else box.bounds[1]
    sizes = np.maximum(np.abs(q), lengths * reach)
    for i, (j, sign) in enumerate(zip(match.order, match.signs)):
        weight = found.weights[j]
        off = [np.linalg.norm(sign * weight * found.slopes[j] * found.units[j] - jumps[i]) / lengths[i]]
        if not coarse:
            off.append(abs(sign * weight * found.offsets[j] - q[i]) / sizes[i])
            if truth.activation == "softplus":  # of a sharp unit weight and slope are one number
                off.append(abs(weight - truth.weights[i]) / abs(truth.weights[i]))
        errors[j] = max(off)
    return errors


def errors_of(row: str, found: gs.recovery.Recovery, box: Box) -> np.ndarray:
    """Return the errors of all units in the order of the bounds; infinite where the number of units is wrong."""
    if found.deep is not None or row == "two layers":
        if found.deep is None or found.deep.widths != box.truth.widths:
            return np.array([np.inf])
        match = gs.match_networks(found.deep, box.truth)
        rows = [np.concatenate([layer.weights, layer.offsets[:, None]], axis=1) for layer in box.truth.layers]
        lengths = [np.linalg.norm(part, axis=1) for part in rows]
        back = [e * np.maximum(size, 1.0) / size for e, size in zip(match.errors, lengths)]
        ordered = []
        for part, unit in zip(back, [*match.layers, None]):
            placed = part.copy()
            if unit is not None:
                placed[unit.order] = part
            ordered.append(placed)
        return np.concatenate(ordered)
    if found.n_units != box.truth.n_units:
        return np.array([np.inf])
    if row in JUMPS:
        return jump_errors(found.model, box.truth, box, coarse=row.endswith("float32"))
    return sigmoid_errors(found.model, box.truth)


class Outcome(NamedTuple):
    """One box: certified or not, largest error over largest bound (infinite if units are missing), that error, units,
    units beyond their own bound, and seconds."""

    certified: bool
    ratio: float = np.nan
    error: float = np.nan
    units: int = 0
    beyond: int = 0
    seconds: float = 0.0


def run_one(task: tuple[str, int, bool]) -> Outcome:
    row, number, tuning = task
    family, shift = FAMILIES[number % len(FAMILIES)], _TUNING * tuning
    box = make(row, family, np.random.default_rng([_NETWORKS + shift, ROWS.index(row), number]))
    oracle, began = gs.Oracle(box.function, box.truth.n_features, bounds=box.bounds), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)  # refusals are counted
            rng = np.random.default_rng([_METHOD + shift, number])
            found = gs.recover(oracle, activation=box.activation, random_state=rng)
    except gs.errors.GradsiftError:
        return Outcome(False, seconds=time.process_time() - began)
    seconds = time.process_time() - began
    if not found.certified:
        return Outcome(False, seconds=seconds)
    errors, bounds = errors_of(row, found, box), np.asarray(found.diagnostics["error_bounds"])
    if len(errors) == len(bounds):
        known = np.isfinite(bounds)  # a unit at rest has no bound
        errors, bounds = errors[known], bounds[known]
    largest, stated = float(errors.max()), stated_bound(found)
    beyond = int((errors > np.maximum(bounds, LEAST)).sum()) if len(errors) == len(bounds) else 1
    return Outcome(True, largest / max(stated, LEAST), largest, len(errors), beyond, seconds)


def stated_bound(found: gs.recovery.Recovery) -> float:
    """Return the bound that the certificate states."""
    return next(check.number for check in found.checks if check.name == "error bound")


@dataclass
class Row:
    """One line of the table."""

    reader: str
    runs: int
    certified: int
    median: float
    quantile: float
    largest: float
    beyond: int
    wrong: int
    units: int
    units_beyond: int
    error: float
    seconds: float


def summed(reader: str, done: list[Outcome]) -> Row:
    good = [one for one in done if one.certified]
    right = [one for one in good if np.isfinite(one.ratio)]
    ratios = np.array([one.ratio for one in right]) if right else np.array([np.nan])
    wrong = len(good) - len(right)
    return Row(
        reader, len(done), len(good), float(np.median(ratios)), float(np.quantile(ratios, 0.999)), float(ratios.max()),
        int((ratios > 1).sum()) + wrong, wrong, sum(one.units for one in right), sum(one.beyond for one in right),
        max((one.error for one in right), default=np.nan), float(np.median([one.seconds for one in done])),
    )  # fmt: skip


def show(row: Row) -> None:
    print(
        f"{row.reader:16} {row.certified:5}/{row.runs:<5} {row.median:8.3f} {row.quantile:8.3f} {row.largest:8.3f} "
        f"{row.beyond:6} {row.wrong:5} {row.units_beyond:6}/{row.units:<6} {row.error:8.1e} {row.seconds:7.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=150, help="networks per row; a third of them for two layers")
    parser.add_argument("--rows", nargs="*", default=ROWS, choices=ROWS, metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--tuning", action="store_true", help="other seeds than those reported")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--save", action="store_true", help="write results/error_bounds.json")
    options = parser.parse_args()
    print(
        f"{'reader':16} {'certified':>11} {'median':>8} {'99.9%':>8} {'largest':>8} {'beyond':>6} {'wrong':>5} "
        f"{'units beyond':>13} {'error':>8} {'seconds':>7}"
    )
    rows = []
    with multiprocessing.get_context("spawn").Pool(options.jobs) if options.jobs > 1 else nullcontext() as pool:
        for name in options.rows:
            n = max(1, options.runs // 3) if name == "two layers" else options.runs
            done = list((pool.imap if pool else map)(run_one, [(name, i, options.tuning) for i in range(n)]))
            rows.append(summed(name, done))
            show(rows[-1])
    certified, beyond, wrong = (sum(getattr(row, name) for row in rows) for name in ("certified", "beyond", "wrong"))
    print(
        f"{certified} certified networks, {beyond} beyond the stated bound of {BOUND:g} standard errors, {wrong} of "
        "them with another number of units"
    )
    if options.save:
        save("error_bounds", {"bound": BOUND, "families": FAMILIES, "rows": [asdict(row) for row in rows]})


if __name__ == "__main__":
    main()

"""Whether to certify a network with several layers, and the points that tell."""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...certificate import BOUND, DeepLimits, Evidence, Fresh, Verdict, certify, n_of
from ...fit.jacobian import Layers, layer_values
from ...geometry import normalize_rows
from ..ledger import Ledger
from .layer_fit import LayerFit, roundings, standard_errors_at
from .settings import POLICY


def near_points(layers: Layers, n: int, spread: float, rng: np.random.Generator) -> Floats:
    """Return points (n, d) at which the arguments of the first layer are about `spread`, in random directions.

    Around the point where they are smallest together; directions in which nothing changes get the typical width.
    """
    weights, offsets = layers[0]
    # Arguments W x + b are smallest together at the least squares solution; the singular vectors of W then scale
    # directions so that all arguments have about the same spread.
    middle = -np.linalg.lstsq(weights, offsets, rcond=1e-8)[0]
    _, sizes, ways = np.linalg.svd(weights, full_matrices=True)
    typical = float(np.median(np.linalg.norm(weights, axis=1)))
    scales = np.full(weights.shape[1], typical)
    scales[: len(sizes)] = np.maximum(sizes / np.sqrt(max(1.0, len(offsets) / weights.shape[1])), 0.1 * typical)
    return np.asarray(middle + spread * (rng.standard_normal((n, weights.shape[1])) / scales) @ ways)


_ROUNDINGS = 10.0  # that a fresh answer may be off, beside the error bound of its prediction


def fresh_points(layers: Layers, radius: float, n: int, rng: np.random.Generator) -> Floats:
    """Return points near the origin, at 4 and 30 times that distance, far out, and standard Gaussian ones; (5 n, d)."""
    near = [near_points(layers, n, spread, rng) for spread in (1.5, 6.0, 45.0)]
    d = layers[0][0].shape[1]
    far = radius * normalize_rows(rng.standard_normal((n, d)))
    return np.concatenate([*near, far, rng.standard_normal((n, d))])


def how_far_off(fit: LayerFit, X: Floats, answers: Floats, g: Activation, eps: float) -> float:
    """Return the largest miss over what rounding and the standard errors of the fit allow."""
    passed = layer_values(fit.layers, X, g)
    allowed = _ROUNDINGS * roundings(passed, fit.layers, eps) + BOUND * standard_errors_at(fit, X, g)
    return float((np.abs(passed.values - answers) / allowed).max())


def judge(fit: LayerFit, off: float, n_fresh: int, ledger: Ledger, g: Activation, limits: DeepLimits) -> Verdict:
    """Check a fitted network against all answers, fresh ones, and its own conditioning."""
    missed = float(np.abs(layer_values(fit.layers, ledger.X, g).values - ledger.y).max())
    aside = fit.open_units(limits.error_bound / BOUND)
    worst, where = _worst_unit(fit, aside)
    widths = [len(b) for _, b in fit.layers[:-1]]
    n = sum(W.size + b.size for W, b in fit.layers)
    return certify(
        Evidence(
            f"{n_of(len(widths), 'hidden layer')} of {' and '.join(map(str, widths))} units", ledger.n_stored,
            fit.worst, Fresh(n_fresh, off, where=" near and far"), worst,
            f"{where}: it is nearly a copy of others, or at rest almost everywhere", spare=ledger.n_stored - n,
            cause=cause_of(missed / max(float(ledger.y.std()), 1e-300)), kept="in any unit a relative error",
            rest=_but_for(aside, len(widths)),
        ),
        limits,
    )  # fmt: skip


def cause_of(share: float) -> str:
    """Say what may leave misses as large as this share of the spread of the answers."""
    if share < POLICY.faint_left:
        return f"by {share:.1g} of their spread: a further unit that is at rest almost everywhere, or nearly a copy"
    return "another activation, another number of layers, or units that were not separated"


def _but_for(aside: list[int], layer: int) -> str:
    """Name the units of the last hidden layer that are at rest."""
    if not aside:
        return ""
    several = len(aside) > 1
    units = ("units " if several else "unit ") + ", ".join(str(unit + 1) for unit in aside)
    adds = "they add" if several else "it adds"
    return (
        f", but for {units} of hidden layer {layer}, at rest at all answers: only what {adds} to them is determined in "
        "double precision, neither parameters nor how many such units there are"
    )


def _worst_unit(fit: LayerFit, aside: list[int]) -> tuple[float, str]:
    """Return the largest error bound of a unit, and which unit it is; those set aside do not count."""
    worst, where = 0.0, ""
    for number, errors in enumerate(fit.errors_beside(aside)):
        if np.isnan(errors).any() or errors.max() > worst:
            unit = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
            worst = float(np.inf if np.isnan(errors).any() else errors.max())
            last = number == len(fit.layers) - 1
            where = "the output" if last else f"unit {unit + 1} of hidden layer {number + 1}"
    return BOUND * worst, where

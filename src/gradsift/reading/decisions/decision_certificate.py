"""What may be claimed of a network that was read from decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from ...activations import Activation
from ...arguments import Floats
from ...certificate import BOUND, DECIDED, Evidence, Verdict, certify, n_of
from ...certificate.exact_rules import crossings_as_foretold, decided_alike, determined
from ...network import Network
from ..ledger import n_affordable
from ..result import Verification
from .boundary import Crossings, Decider
from .decision_fit import FittedLayer, differences, foretold_crossings
from .small_fit import pair_rows

_NEAR_LINES, _FAR_LINES = 20, 10  # fresh lines


class FreshCrossings(NamedTuple):
    """How many fresh crossings were asked, how many were not where they were foretold, and within which distance."""

    n: int
    n_missed: int
    within: float


def test_crossings(
    fit: FittedLayer, f: Activation, decider: Decider, rng: np.random.Generator, scale: float
) -> FreshCrossings:
    """Ask on both sides of where fresh lines should cross the boundary, near the origin and far out; 60 queries."""
    decider.step = "certificate"
    n = n_missed = 0
    widest = 0.0
    for wanted, radii in ((_NEAR_LINES, (1.0,)), (_FAR_LINES, (64.0, 1e4))):
        pool = foretold_crossings(fit, f, 4 * wanted, rng, scale, radii).take(slice(wanted))
        if not len(pool.points):
            continue
        size = np.abs(pool.points).max(axis=1)
        within = BOUND * (pool.errors + decider.rounding(pool.points))
        beside = within[:, None] * pool.ways
        seen = decider.ask(np.concatenate([pool.points - beside, pool.points + beside])).reshape(2, -1)
        n, n_missed = n + len(size), n_missed + int(((seen[0] != pool.below) | (seen[1] != pool.above)).sum())
        widest = max(widest, float(within[: len(size)].max())) if radii == (1.0,) else widest
    return FreshCrossings(n, n_missed, widest)


def typical_inputs(
    fit: FittedLayer, f: Activation, decider: Decider, n: int, rng: np.random.Generator, scale: float
) -> Verification | None:
    """Ask typical inputs, and count those that the network decides otherwise though they are not at its boundary."""
    n = n_affordable(decider.ledger.oracle, n)
    if not n:
        return None
    decider.step, oracle = "verify", decider.ledger.oracle
    X = scale * rng.standard_normal((n, decider.n_features))
    if oracle.inputs is not None:
        X = oracle.inputs[rng.integers(len(oracle.inputs), size=n)]
    seen, told = decider.ask(X), fit.layer.classes(X, f)
    other = np.flatnonzero(seen != told)
    known = seen < max(len(fit.layer.c), 2)
    off = [int(i) for i in other if not known[i] or not _is_near(fit, f, X[i : i + 1], int(told[i]), int(seen[i]))]
    share = 1.0 if len(off) == n else float(betaincinv(len(off) + 1, n - len(off), 0.95))
    return Verification(n, len(off), float(bool(off)), X[off[0] if off else 0].copy(), share, 0.0)


def _is_near(fit: FittedLayer, f: Activation, x: np.ndarray, told: int, seen: int) -> bool:
    """Say whether errors of the parameters explain that an input, (1, d), is of another class."""
    Q = pair_rows(np.array([seen]), np.array([told]), len(fit.layer.c))
    there = differences(fit.layer, f, x, np.zeros_like(x), Q)
    return bool(abs(there.values[0]) < BOUND * float(np.linalg.norm(there.rows @ fit.root)))


def _told(network: Network, is_linear: bool) -> str:
    """Return what was found, in words."""
    if is_linear:
        faces = "a hyperplane" if network.n_outputs == 1 else f"{network.n_outputs} linear outputs"
        return f"{faces} (no hidden unit that bends the boundary)"
    linear = " and a linear term" if network.has_linear_term else ""
    return n_of(network.n_units, f"{network.activation} unit") + linear


def _errors(fit: FittedLayer) -> dict[str, Floats]:
    """Return the errors of a hyperplane as those of the one unit that decides alike."""
    told = fit.errors
    slope = float(np.sqrt((told["linear"] ** 2).sum()))
    none = np.zeros(1)
    return {"units": np.array([slope]), "slopes": none, "offsets": told["intercept"][:1], "weights": none,
            "intercept": none}  # fmt: skip


def certificate_of(
    fit: FittedLayer, at: Crossings, tested: FreshCrossings, checked: Verification | None, accuracy: float,
    network: Network, spent: dict[str, int], unit_rows: bool, is_double: bool = True,
) -> tuple[Evidence, Verdict]:  # fmt: skip
    """Return the evidence, and the verdict on it."""
    k, p = len(fit.layer.A), len(fit.root)
    limit = "bracket width" if is_double else "single precision"
    is_linear = k == 0
    skip = fit.layer.linear
    n_common = k + 1 + (0 if skip is None else skip.shape[1]) if len(fit.layer.c) > 1 else 0
    n_fixed = 1 + n_common + k * unit_rows
    singular = not np.isfinite(fit.root).all()
    own = [
        crossings_as_foretold(tested.n_missed, tested.n, _NEAR_LINES, tested.within),
        determined(singular, p - n_fixed),
    ]
    if checked is not None:
        own.append(decided_alike(checked.n, checked.n_different, checked.share))
    evidence = Evidence(
        _told(network, is_linear),
        len(at), fit.worst, bound=fit.bound if not singular else np.inf,
        spare=len(at) - (p - n_fixed) - k, own=tuple(own), limit=limit,
        cause="another activation, a further unit or layer, or decisions that change", where=" by their boundary",
        kept="an error of every direction, slope, offset and weight",
        rest="" if checked is None else f"; {own[-1].says}",
        errors=_errors(fit) if is_linear else fit.errors,
        bounds=np.array([fit.bound]) if is_linear else fit.bounds, spent=spent,
        notes={"up_to_scale": True, "classes": list(network.classes or ()), "chi": fit.worst},
    )  # fmt: skip
    return evidence, certify(evidence, replace(DECIDED, error_bound=accuracy))

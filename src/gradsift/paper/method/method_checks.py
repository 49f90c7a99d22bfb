"""The paper's algorithms against plain loops, and the main theorem run with its own estimator: rows of paper verify."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ...arguments import Floats
from ...oracle import Oracle
from ..theory import Problem
from ..theory.inequality import at_most, equal
from ..theory.verify import Check, Comparison
from .candidates import generate_candidates
from .gradients import KernelGradients, OracleGradients, ProjectedGradients
from .theorem_run import run_theorem


def checks() -> Mapping[str, tuple[Check, ...]]:
    """Return the checks of the labels that algorithms carry; each runs when called."""
    return {
        "voestimate": (check_oracle_estimate,),
        "eq:Slope": (check_kernel_estimate,),
        "algo:Candidates": (check_candidates,),
        "projectedestimate": (check_projected_estimate,),
        "maintheorem": (check_theorem_run,),
    }


def _pairs(claimed: Floats, measured: Floats) -> Iterator[tuple[float, float]]:
    for a, b in zip(claimed.ravel(), measured.ravel()):
        yield math.log(abs(a)), math.log(abs(b)) if a * b > 0 else -math.inf


def _rows() -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(90)
    X = rng.standard_normal((60, 3))
    return X, np.tanh(X @ [1.0, -0.5, 0.2]) + 0.1 * rng.standard_normal(60), rng.standard_normal((4, 3))


def _slope(X: Floats, y: Floats, xi: Floats) -> Floats:
    """eq:Slope by a loop: barycentre first, then the correlation with it taken off."""
    kernel = [math.exp(float(xi @ x)) for x in X]
    total = math.fsum(kernel)
    barycentre = sum(w * x for w, x in zip(kernel, X)) / total
    return np.asarray(sum(w * t * (x - barycentre) for w, t, x in zip(kernel, y, X)) / total)


def check_kernel_estimate() -> Comparison:
    """eq:Slope of 60 rows at 4 points."""
    X, y, points = _rows()
    claimed = np.stack([_slope(X, y, xi) for xi in points])
    pairs = _pairs(claimed, KernelGradients().estimate((X, y), points).values)
    return equal("eq:Slope", "kernel estimate", pairs, "loop over rows", 1e-10)


def check_projected_estimate() -> Comparison:
    """projectedestimate: rows and points projected by hand, then the same loop."""
    X, y, points = _rows()
    basis = np.linalg.qr(np.random.default_rng(91).standard_normal((3, 2)))[0].T
    flat = X @ basis.T @ basis
    claimed = np.stack([_slope(flat, y, xi) for xi in points])
    pairs = _pairs(claimed, ProjectedGradients(basis).estimate((X, y), points).values)
    return equal("projectedestimate", "projected kernel estimate", pairs, "loop over projected rows", 1e-10)


def check_oracle_estimate() -> Comparison:
    """voestimate: queries kept by the box, summed by hand."""
    asked: list[Floats] = []

    def box(X: Floats) -> Floats:
        asked.append(X.copy())
        return np.asarray(np.tanh(X @ np.array([1.0, -0.5, 0.2])))

    point = np.array([[0.3, -0.2, 0.9]])
    found = OracleGradients(50).estimate(Oracle(box, 3), point, rng=92).values
    X = np.concatenate(asked)
    claimed = sum((x - point[0]) * math.tanh(x[0] - 0.5 * x[1] + 0.2 * x[2]) for x in X) / 50
    return equal(
        "voestimate", "value-oracle estimate", _pairs(np.asarray(claimed), found[0]), "loop over queries", 1e-10
    )


def check_candidates() -> Comparison:
    """algo:Candidates: the same points in a loop, norms held against w0 one at a time, lengths divided out."""
    X, y, _ = _rows()
    kept = generate_candidates(KernelGradients(), (X, y), n_points=40, point_scale=1.5, min_norm=0.4, rng=93)
    claimed = []
    for xi in 1.5 * np.random.default_rng(93).standard_normal((40, 3)):
        gradient = _slope(X, y, xi)
        if math.hypot(*gradient) >= 0.4:
            claimed.append(gradient / math.hypot(*gradient))
    pairs = list(_pairs(np.stack(claimed), kept.directions)) if len(claimed) == len(kept) else [(0.0, -math.inf)]
    return equal("algo:Candidates", "directions of the candidates", pairs, "loop over points", 1e-9)


def check_theorem_run() -> Comparison:
    """maintheorem with its own estimator and sizes (exact form, C = C' = 1), labels: promises over what was found."""
    run = run_theorem(Problem(2, 2, 5.0, 1.0, 0.5), delta=0.3, rho=0.9, labels=True)
    pairs = []
    for claim in run.report.claims:
        ends = (claim.claimed, claim.measured) if "most" in claim.what else (claim.measured, claim.claimed)
        pairs.append((math.log(max(ends[0], 1e-300)), math.log(max(ends[1], 1e-300))))
    return at_most("maintheorem", f"promises of a run of {run.n_queries:.2g} queries", pairs, "gradsift paper run")

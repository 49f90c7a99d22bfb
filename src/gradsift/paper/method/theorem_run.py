"""maintheorem run from end to end under the value oracle, and the paper's algorithms against plain loops.

The run has the theorem's own sizes and its own estimator, and every promise is measured. The checks are rows of
`gradsift paper verify`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...geometry import match_units, orthonormal_rows
from ...model import SigmoidCombination
from ...oracle import Oracle
from .. import implements
from ..theory import Problem, SamplePlan, plan
from ..theory.inequality import at_most, equal
from ..theory.partition import CandidateRun, TheoremReport, check_theorem
from ..theory.planning import units_at_equal_angles
from ..theory.verify import Check, Comparison
from .candidates import generate_candidates
from .clustering import DirectionalKMeans
from .gradients import KernelGradients, OracleGradients, ProjectedGradients

_MOST_QUERIES = 1e10  # hours; beyond it the plan is a number to read, not to run


@dataclass(frozen=True)
class TheoremRun:
    """One run of the theorem.

    Attributes
    ----------
    plan : SamplePlan
        What was asked for: m0, n0, w0, xi0.
    report : TheoremReport
        What was promised against what was found.
    angles : (k,) array
        Degrees between the k-means centres of the candidates and the units; the theorem promises no clustering.
    n_queries : int
    n_candidates : int
    seconds : float
    """

    plan: SamplePlan
    report: TheoremReport
    angles: Floats
    n_queries: int
    n_candidates: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return self.report.holds


def teacher_of(problem: Problem, rng: np.random.Generator) -> SigmoidCombination:
    """Return a model with exactly these constants: smallest singular value kappa, weights +-u0, slope beta."""
    units = units_at_equal_angles(problem.k, problem.kappa) @ orthonormal_rows(problem.k, problem.d, rng)
    weights = problem.u0 * rng.choice([-1.0, 1.0], problem.k)
    return SigmoidCombination(units, weights, problem.beta)


@implements("maintheorem")
def run_theorem(
    problem: Problem, *, delta: float, rho: float = 0.5, form: str = "exact", labels: bool = False, seed: int = 1
) -> TheoremRun:
    """Ask the theorem for its sizes, run CandidateGeneration with them, and hold the candidates against the promises.

    Parameters
    ----------
    problem : Problem
    delta, rho : float
        Accuracy and share of spurious candidates.
    form : {"exact", "tight"}
        Sizes with the exact mean derivative and C = C' = 1, or the tight plan with nothing left open. The sizes of the
        printed form are out of reach.
    labels : bool
        Answers are -M or M with mean r(x) instead of r(x) itself.
    seed : int
        Of teacher, answers and algorithm (separate streams).

    Notes
    -----
    m0 n0 queries, streamed: 130 MB at a time, or one point's queries. O(m0 n0 d) flops; about 5 million queries a
    second and core in dimension 3.
    """
    sizes = plan(problem, delta=delta, rho=rho, form=form)
    assert sizes.n0 is not None
    if not sizes.fits(_MOST_QUERIES):
        raise NotIdentifiable(
            f"The plan asks for 10^{sizes.n.log10:.3g} queries and a run stops at 10^{math.log10(_MOST_QUERIES):g}: "
            "raise delta or rho, or take form='exact'."
        )
    started = time.perf_counter()
    model = teacher_of(problem, np.random.default_rng([seed, 1]))
    box = Oracle(_answers(model, problem.M, labels, np.random.default_rng([seed, 2])), problem.d)
    estimator = OracleGradients(max(2, math.ceil(float(sizes.n0))))
    params = sizes.parameters
    found = generate_candidates(
        estimator, box, n_points=math.ceil(float(sizes.m0)), point_scale=params.xi0, min_norm=params.w0,
        min_candidates=problem.k, rng=np.random.default_rng([seed, 3]),
    )  # fmt: skip
    accuracy = delta if sizes.tight is None else sizes.tight.split.error
    run = CandidateRun(
        model.units, model.weights, problem.beta, found.all_points, found.estimates.values, params, accuracy, rho,
        radius=None if sizes.tight is None else sizes.tight.split.radius,
    )  # fmt: skip
    centers = DirectionalKMeans(problem.k, random_state=seed).fit(found.directions).cluster_centers_
    errors = match_units(centers, model.units).errors
    angles = np.degrees(2 * np.arcsin(np.minimum(errors / 2, 1.0)))
    return TheoremRun(sizes, check_theorem(run), angles, box.n_queries, len(found), time.perf_counter() - started)


def _answers(model: SigmoidCombination, M: float, labels: bool, rng: np.random.Generator) -> Any:
    if not labels:
        return model.predict

    def draw(X: Floats) -> Floats:
        return np.where(rng.random(len(X)) < 0.5 * (1 + model.predict(X) / M), M, -M)

    return draw


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

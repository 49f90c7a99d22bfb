"""maintheorem, run from end to end under the value oracle: its own sizes, its own estimator, every promise measured."""

from __future__ import annotations

import math
import time
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
from ..theory.partition import CandidateRun, TheoremReport, check_theorem
from ..theory.planning import units_at_equal_angles
from .candidates import generate_candidates
from .clustering import DirectionalKMeans
from .gradients import OracleGradients

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

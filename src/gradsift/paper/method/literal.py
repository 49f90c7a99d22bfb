"""The paper's method from end to end: (subspace,) gradients, candidates, clusters, weights, doubts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf

from ...activations import get_activation
from ...arguments import Floats, as_generator, at_least, whole
from ...certificate import Verdict, n_of
from ...certificate import shared_rules as shared
from ...model import SigmoidCombination
from ...oracle import Oracle
from ...sources import ArraySource, Source, as_source
from .. import implements
from .candidates import Candidates, generate_candidates
from .clustering import DirectionalKMeans
from .gradients import KernelGradients, OracleGradients, ProjectedGradients, split_rows
from .kernel import GradientEstimator
from .subspace import SpectralMirror
from .weights import WeightFit, fit_weights


@dataclass(frozen=True)
class RowPolicy:
    """What was tuned; paper/paper_defaults.py prints the figures on other seeds."""

    reach: float  # distance of a typical point over that of the furthest row
    active: float  # a unit counts as active within this distance of its hyperplane
    points_per_unit: int


ROW_POLICY = RowPolicy(
    reach=2.0,  # paper/paper_defaults.py --tune: best of 0.75, 1, 1.5, 2
    active=1.5,  # the same: best of 1, 1.5, 2 and keeping all
    points_per_unit=500,  # paper/paper_defaults.py --tune: 1000 points gain 1 to 5 degrees on 400 for two units
)


class RowOptions(NamedTuple):
    """Parameters of CandidateGeneration for rows."""

    n_points: int
    point_scale: float
    share: float  # of the points, those with the longest gradients


def row_options(n_rows: int, dimension: int, n_units: int, policy: RowPolicy = ROW_POLICY) -> RowOptions:
    """Return the defaults for `n_rows` rows, `dimension` d (or k after projection) and k = `n_units`."""
    # The largest of n standard Gaussians is near sqrt(2 log n): beyond it a point has no rows. A unit is idle at points
    # further than `active` from its hyperplane, and a gradient is worth keeping where some unit is not.
    rows_reach = math.sqrt(2 * math.log(max(n_rows, 2)))
    spread = rows_reach / math.sqrt(dimension)  # standard deviation of <w, xi> for a unit w, as far as rows reach
    idle = 1 - float(erf(policy.active / spread / math.sqrt(2)))
    return RowOptions(policy.points_per_unit * n_units, policy.reach * spread, 1 - idle**n_units)


@dataclass(frozen=True)
class PaperRun:
    """What one run of the paper's method found.

    Attributes
    ----------
    model : SigmoidCombination
    candidates : Candidates
    labels : (m,) int array
        Cluster of each candidate, -1 where it was left out.
    weight_errors : (k,) array
        Standard errors of the weights for given units.
    diagnostics : dict
        Plain numbers about the run.
    """

    model: SigmoidCombination
    candidates: Candidates
    labels: Any
    weight_errors: Floats
    diagnostics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Reach:
    """How the regression function can be reached: an estimator, what it reads, and where the points should lie."""

    name: str
    estimator: GradientEstimator
    source: Any
    n_points: int
    point_scale: float
    share: float  # of the points, those with the longest gradients
    diagnostics: dict[str, Any]


@implements("maintheorem", "dimredtheorem")
def run_paper(
    source: Oracle | Source | Any,
    n_units: int | None,
    *,
    access: str | None = None,
    activation: str = "tanh",
    slope: float | None = None,
    mixture: bool = False,
    n_points: int | None = None,
    point_scale: float | None = None,
    min_norm: float | None = None,
    top: int | None = None,
    n_queries_per_point: int = 1000,
    design: str = "gaussian",
    subspace_share: float = 0.5,
    min_support: float = 0.0,
    min_purity: float | None = None,
    slide: float = 2.0,
    trim: float = 0.0,
    rng: Any = None,
) -> PaperRun:
    """Run the paper's algorithm under one of its three access models.

    Parameters
    ----------
    source : Oracle or rows
    n_units : int
        k; the paper takes it as known.
    access : {"oracle", "gaussian", "projected"}, optional
        Value oracle, Gaussian covariates, or Gaussian covariates projected by SpectralMirror.
        None: "oracle" for an Oracle, "gaussian" for rows.
    slope : float, optional
        The common slope beta; None estimates it with the weights.
    mixture : bool
        Weights on the simplex.
    n_points, point_scale, min_norm, top
        m0, xi0, w0 or the number of largest norms; see :func:`gradsift.generate_candidates`. By default, for an
        oracle 150 k points at scale 40 k / 3 and the longest 5%; for n rows in D dimensions (d, or k after projection)
        500 k points at scale ``2 sqrt(2 log(n) / D)`` and the longest share
        ``1 - (1 - P(|Z| < 1.5 sqrt(D / (2 log n))))^k``; see :func:`row_options`.
    n_queries_per_point, design
        See :class:`gradsift.OracleGradients`.
    subspace_share : float
        Share of the rows that find the subspace.
    min_support, min_purity, slide, trim
        Filters beside the paper's; off by default.
    rng : Generator
    """
    if n_units is None:
        raise ValueError("method='paper' needs n_units: the paper takes the number of units as known.")
    _check(n_units, activation, slope, trim, mixture)
    rng = as_generator(rng)
    way = _reach(source, n_units, access, n_queries_per_point, design, subspace_share)
    m0 = n_points if n_points is not None else way.n_points
    if min_norm is None and top is None:
        top = max(4 * n_units, round(way.share * m0))
    candidates = generate_candidates(
        way.estimator,
        way.source,
        n_points=m0,
        point_scale=point_scale if point_scale is not None else way.point_scale,
        min_norm=min_norm,
        top=top,
        min_support=min_support,
        min_purity=min_purity,
        slide=slide,
        min_candidates=n_units,
        rng=rng,
    )
    clusters = DirectionalKMeans(n_units, trim=trim, random_state=int(rng.integers(2**31))).fit(candidates.directions)
    units = clusters.cluster_centers_
    fit = _weigh(units, source, slope, mixture, activation, rng)
    model = SigmoidCombination(units, fit.weights, fit.slope, activation=activation)
    diagnostics = {
        "access": way.name,
        "n_points": m0,
        "point_scale": point_scale if point_scale is not None else way.point_scale,
        "min_norm": candidates.min_norm,
        "n_candidates": len(candidates),
        "cluster_sizes": np.bincount(clusters.labels_[clusters.labels_ >= 0], minlength=n_units).tolist(),
        "mean_cosine": float(clusters.score_),
        "median_support": float(np.median(candidates.support)),
        # Gradients point along sign(weight) times unit, so a negative weight contradicts its own candidates.
        "n_contradicted": int(np.sum(fit.weights < 0)),
        "residual_sd": fit.residual_sd,
        "slope_at_edge": slope is None and fit.at_edge,
        **way.diagnostics,
    }
    return PaperRun(model, candidates, clusters.labels_, fit.standard_errors, diagnostics)


def _check(n_units: int, activation: str, slope: float | None, trim: float, mixture: bool) -> None:
    """Refuse bad settings before anything is asked: queries may cost money."""
    whole("n_units", n_units)
    get_activation(activation)
    if slope is not None:
        at_least("slope", slope, 0, strict=True)
    if not 0 <= trim < 1:
        raise ValueError(f"trim must lie in [0, 1), got {trim!r}.")
    if not isinstance(mixture, bool):
        raise TypeError(f"mixture must be True or False, got {mixture!r}.")


def _reach(source: Any, k: int, access: str | None, n_queries: int, design: str, share: float) -> _Reach:
    if isinstance(source, Oracle):
        if access not in (None, "oracle"):
            raise ValueError(f"access={access!r} needs rows (X, y), got an Oracle.")
        return _Reach("oracle", OracleGradients(n_queries, design), source, 150 * k, 40.0 * k / 3, 0.05, {})
    if access not in (None, "gaussian", "projected"):
        raise ValueError(f"access must be 'gaussian' or 'projected' for rows, got {access!r}.")
    rows = as_source(source)
    moments = rows.require_spread()
    facts: dict[str, Any] = {
        # The kernel assumes standard Gaussian rows; these two say how far off they are.
        "largest_mean": float(np.abs(moments.mean).max()),
        "covariance_off": float(np.abs(moments.covariance - np.eye(rows.n_features)).max()),
    }
    if access != "projected":
        return _Reach("gaussian", KernelGradients(), rows, *row_options(rows.n_rows, rows.n_features, k), facts)
    if k > rows.n_features:
        raise ValueError(f"access='projected' needs n_units <= {rows.n_features} features, got {k}.")
    first, rest = split_rows(rows, share)
    mirror = SpectralMirror(k).fit_source(first)
    facts |= {"mirror_eigenvalues": mirror.eigenvalues_.tolist(), "mirror_noise_edge": mirror.noise_edge_}
    estimator = ProjectedGradients(mirror.components_)
    return _Reach("projected", estimator, rest, *row_options(rest.n_rows, k, k), facts)


def _weigh(
    units: Floats, source: Any, slope: float | None, mixture: bool, activation: str, rng: np.random.Generator
) -> WeightFit:
    if isinstance(source, Oracle):
        # The units are fixed by now: a few hundred fresh queries determine k weights and a slope.
        X = rng.standard_normal((max(500, 50 * len(units)), source.n_features))
        rows: Source = ArraySource(X, source(X))
    else:
        rows = as_source(source)
    return fit_weights(units, rows, slope=slope, mixture=mixture, activation=activation)


def judge_paper(run: PaperRun) -> Verdict:
    """Weigh the numbers of a run; it is never certified."""
    facts, model = run.diagnostics, run.model
    checks = [
        shared.not_certified(),
        shared.support(facts["median_support"]),
        shared.scatter(facts["mean_cosine"]),
        shared.weight_signs(facts["n_contradicted"]),
        shared.slope_in_range(facts["slope_at_edge"], float(model.slopes[0])),
    ]
    if "covariance_off" in facts:  # rows, not an oracle
        checks.append(shared.gaussian_rows(facts["covariance_off"], facts["largest_mean"]))
    parts = f"{n_of(model.n_units, 'unit')} from {n_of(facts['n_candidates'], 'candidate')}"
    return Verdict(tuple(checks), f"the paper's method ({facts['access']} access) returns {parts}", claim="")

"""Algorithm CandidateGeneration: gradients at random points, small ones dropped, the rest normalised."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checking import Floats, as_generator, at_least
from .errors import CandidateShortage, LowSupportWarning
from .geometry import normalize_rows
from .gradients import GradientEstimates, GradientEstimator
from .paper import implements

__all__ = ["Candidates", "generate_candidates"]


@dataclass(frozen=True)
class Candidates:
    """Directions that survived the filters, and everything they were chosen from.

    Attributes
    ----------
    directions : (m, d) array of unit rows
    points : (m, d) array
        Where each was estimated.
    norms, support : (m,) arrays
    kept : (m,) int array
        Their places among the points drawn.
    all_points : (n_points, d) array
    estimates : GradientEstimates
        At all points.
    min_norm : float
        The norm threshold that was applied (with `top`, the smallest norm kept).
    """

    directions: Floats
    points: Floats
    norms: Floats
    support: Floats
    kept: NDArray[np.intp]
    all_points: Floats
    estimates: GradientEstimates
    min_norm: float

    def __len__(self) -> int:
        return len(self.directions)


@implements("algo:Candidates")
def generate_candidates(
    estimator: GradientEstimator,
    source: Any,
    *,
    n_points: int,
    point_scale: float,
    min_norm: float | None = None,
    top: int | None = None,
    min_support: float = 0.0,
    min_purity: float | None = None,
    slide: float = 2.0,
    min_candidates: int = 1,
    rng: Any = None,
) -> Candidates:
    """Estimate gradients at random points and keep the large ones.

    Parameters
    ----------
    estimator : GradientEstimator
    source : Oracle, or anything :func:`gradsift.sources.as_source` takes
    n_points : int
        The paper's m0.
    point_scale : float
        The paper's xi0: points are N(0, point_scale^2 I).
    min_norm : float
        The paper's w0; give either this or `top`.
    top : int
        Keep this many with the largest norms, as the paper's figure does.
    min_support : float
        Drop estimates that rest on fewer effective samples. Not in the paper.
    min_purity : float in (0, 1), optional
        Keep only candidates whose gradient stays the same, up to a relative change of ``1 - min_purity``, when the
        point slides by `slide` across the candidate's direction: the gradient of one unit alone is constant along
        its hyperplane, while two active units, which make the longest gradients, part. Costs one more estimate per
        candidate. Not in the paper.
    slide : float
        Length of that step.
    min_candidates : int
        Fewer survivors raise :class:`~gradsift.errors.CandidateShortage`, which carries them.
    rng : None, int or Generator
    """
    at_least("n_points", n_points, 1)
    at_least("point_scale", point_scale, 0, strict=True)
    if (min_norm is None) == (top is None):
        raise ValueError(f"Give exactly one of min_norm and top, got min_norm={min_norm!r} and top={top!r}.")
    if min_norm is not None:
        at_least("min_norm", min_norm, 0)
    if top is not None:
        at_least("top", top, 1)
    if min_purity is not None and not 0 < min_purity < 1:
        raise ValueError(f"min_purity must lie in (0, 1), got {min_purity!r}.")
    rng = as_generator(rng)
    d = _n_features(source)
    # CandidateGeneration, lines 2 and 3: draw the points, estimate the gradients.
    points = point_scale * rng.standard_normal((n_points, d))
    estimates = estimator.estimate(source, points, rng)
    # Line 4: keep the large ones.
    supported = estimates.support >= min_support
    if top is not None:
        ranked = np.argsort(-np.where(supported, estimates.norms, -1.0), kind="stable")[
            : min(top, int(supported.sum()))
        ]
        kept = np.sort(ranked)
        threshold = float(estimates.norms[kept].min()) if len(kept) else np.inf
    else:
        threshold = float(min_norm or 0.0)
        kept = np.flatnonzero(supported & (estimates.norms >= threshold))
    kept = kept[estimates.norms[kept] > 0]  # a zero gradient has no direction
    # Line 5: normalise.
    directions = normalize_rows(estimates.values[kept])
    if min_purity is not None and len(kept):
        moved = estimator.estimate(source, _slid(points[kept], directions, slide, rng), rng)
        change = np.linalg.norm(moved.values - estimates.values[kept], axis=1) / estimates.norms[kept]
        kept, directions = kept[change <= 1 - min_purity], directions[change <= 1 - min_purity]
    found = Candidates(
        directions, points[kept], estimates.norms[kept], estimates.support[kept], kept, points, estimates, threshold
    )
    _check(found, min_candidates, min_support, point_scale)
    return found


def _slid(points: Floats, directions: Floats, length: float, rng: np.random.Generator) -> Floats:
    """Move each point by `length` across its direction, outwards: other units are further away there."""
    if points.shape[1] < 2:
        raise ValueError("min_purity needs at least 2 features: in one dimension there is no way across a unit.")
    steps = rng.standard_normal(points.shape)
    steps -= np.sum(steps * directions, axis=1, keepdims=True) * directions
    steps *= np.where(np.sum(steps * points, axis=1, keepdims=True) < 0, -1.0, 1.0)
    return np.asarray(points + length * normalize_rows(steps))


def _n_features(source: Any) -> int:
    if hasattr(source, "n_features"):
        return int(source.n_features)
    return int(np.shape(source[0])[1])


def _check(found: Candidates, min_candidates: int, min_support: float, point_scale: float) -> None:
    support = found.estimates.support
    if len(found) < min_candidates:
        norms = found.estimates.norms
        raise CandidateShortage(
            f"{len(found)} of {len(norms)} gradient estimates survived and {min_candidates} are needed: norms reach "
            f"{norms.max():.3g} against a threshold of {found.min_norm:.3g}, the median support is "
            f"{np.median(support):.3g} samples against {min_support:.3g}. With point_scale={point_scale:g} the points "
            "may lie too far out: lower point_scale or min_norm, or use more points, queries or rows.",
            found,
        )
    if np.median(found.support) < 10:
        warnings.warn(
            f"Half of the {len(found)} candidates rest on fewer than {np.median(found.support):.3g} effective samples: "
            "they are mostly noise. Lower point_scale or use more rows.",
            LowSupportWarning,
            stacklevel=3,
        )

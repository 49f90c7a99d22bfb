"""Algorithm CandidateGeneration: gradients at random points, small ones dropped, the rest normalised."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats, as_generator, at_least, whole
from ...errors import CandidateShortage, LowSupportWarning
from ...geometry import normalize_rows, row_lengths
from ...oracle import Oracle
from ...sources import as_source
from .. import implements
from .kernel import GradientEstimates, GradientEstimator

_FEW_ROWS = 10  # guess: below it a single gradient is mostly noise
_FEW_CANDIDATES = 200  # guess: from here on the centres of clusters average the noise away


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
    whole("n_points", n_points)
    at_least("point_scale", point_scale, 0, strict=True)
    if (min_norm is None) == (top is None):
        raise ValueError(f"Give exactly one of min_norm and top, got min_norm={min_norm!r} and top={top!r}.")
    if min_norm is not None:
        at_least("min_norm", min_norm, 0)
    if top is not None:
        whole("top", top)
    if min_purity is not None and not 0 < min_purity < 1:
        raise ValueError(f"min_purity must lie in (0, 1), got {min_purity!r}.")
    whole("min_candidates", min_candidates)
    rng = as_generator(rng)
    source = source if isinstance(source, Oracle) else as_source(source)
    # CandidateGeneration, lines 2 and 3: draw the points, estimate the gradients.
    points = point_scale * rng.standard_normal((n_points, source.n_features))
    estimates = estimator.estimate(source, points, rng)
    # Line 4: keep the large ones.
    supported = estimates.support >= min_support
    if top is not None:
        ranked = np.argsort(-np.where(supported, estimates.norms, -1.0), kind="stable")
        kept = np.sort(ranked[: min(top, int(supported.sum()))])
        threshold = float(estimates.norms[kept].min()) if len(kept) else 0.0
    else:
        threshold = float(min_norm or 0.0)
        kept = np.flatnonzero(supported & (estimates.norms >= threshold))
    kept = kept[estimates.norms[kept] > 0]  # a zero gradient has no direction
    survivors = {"supported": int(supported.sum()), "long enough": len(kept)}
    # Line 5: normalise.
    directions = normalize_rows(estimates.values[kept])
    if min_purity is not None and len(kept):
        moved = estimator.estimate(source, _moved(points[kept], directions, estimates.values, slide, rng), rng)
        change = row_lengths(moved.values - estimates.values[kept]) / estimates.norms[kept]
        kept, directions = kept[change <= 1 - min_purity], directions[change <= 1 - min_purity]
        survivors["pure"] = len(kept)
    found = Candidates(
        directions, points[kept], estimates.norms[kept], estimates.support[kept], kept, points, estimates, threshold
    )
    if len(found) < min_candidates:
        raise CandidateShortage(_shortage(found, min_candidates, survivors, min_support, point_scale), found)
    if np.median(found.support) < _FEW_ROWS and len(found) < _FEW_CANDIDATES:
        warnings.warn(
            f"Half of the {len(found)} candidates rest on fewer than {np.median(found.support):.3g} effective samples: "
            "one by one they are noise, and so few do not average out. Raise n_points, and lower min_norm or raise "
            "top; a smaller point_scale has more support, but there several units are active at once.",
            LowSupportWarning,
            stacklevel=2,
        )
    return found


def _moved(points: Floats, directions: Floats, gradients: Floats, length: float, rng: np.random.Generator) -> Floats:
    """Move each point by `length` across its direction, outwards: other units are further away there.

    The step stays in the span of the gradients, because a projected estimator sees nothing outside of its subspace.
    """
    # Step across the direction and away from the origin: there other units are further from their hyperplanes.
    _, sizes, axes = np.linalg.svd(gradients, full_matrices=False)
    axes = axes[sizes > 1e-8 * sizes[0]]
    if len(axes) < 2:
        raise ValueError("min_purity needs gradients in at least 2 dimensions: in one there is no way across a unit.")
    steps = rng.standard_normal((len(points), len(axes))) @ axes
    steps -= np.sum(steps * directions, axis=1, keepdims=True) * directions
    steps *= np.where(np.sum(steps * points, axis=1, keepdims=True) < 0, -1.0, 1.0)
    return np.asarray(points + length * normalize_rows(steps))


def _shortage(found: Candidates, needed: int, survivors: dict[str, int], min_support: float, point_scale: float) -> str:
    """What happened in numbers, what was needed, likely cause, what to change."""
    estimates = found.estimates
    counts = ", ".join(f"{count} {name}" for name, count in survivors.items())
    if survivors["supported"] < needed:
        cause = f"the median support is {np.median(estimates.support):.3g} samples and min_support={min_support:g}"
        remedy = "lower min_support or point_scale, or use more rows"
    elif survivors["long enough"] < needed:
        cause = f"norms reach {estimates.norms.max():.3g} and the threshold is {found.min_norm:.3g}"
        remedy = f"point_scale={point_scale:g} may be too far out: lower point_scale or min_norm, or use more points"
    else:
        cause, remedy = "the others change when their point slides", "lower min_purity or slide, or use more samples"
    return (
        f"{len(found)} of {len(estimates.norms)} gradient estimates survived and {needed} are needed ({counts}): "
        f"{cause}; {remedy}."
    )

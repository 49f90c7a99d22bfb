"""What may be claimed about a fit, in one sentence and one bit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..inference import StandardErrors, confidence_cones

__all__ = ["LARGEST_ANGLE", "Evidence", "judge"]

LARGEST_ANGLE = 0.4  # radians: units less certain than this are not units anyone should name
_LEVEL = 0.01
_NOTICE = 3.0  # nats: another optimum this close fits practically as well


class Evidence(NamedTuple):
    """The numbers a verdict rests on.

    over_constant, over_linear, over_one, over_fewer : as in Gains
    n_flat : directions of X without spread (constant or collinear columns)
    p_better : p-value of the test that a better unit exists; hits, gap : as in Fit
    """

    over_constant: float
    over_linear: float
    over_one: float
    over_fewer: float
    p_better: float
    hits: int
    gap: float
    converged: bool
    n_flat: int


def judge(errors: StandardErrors, evidence: Evidence) -> tuple[bool, str]:
    """Return whether the units can be relied on, and a sentence that says why or why not (with the numbers)."""
    doubts = [*_simpler_models(evidence), *_weak_units(errors), *_overlaps(errors), *_search_doubts(evidence)]
    k = errors.model.n_units
    noun = f"{k} unit" + ("s" if k > 1 else "")
    if doubts:
        return False, f"{noun} fitted, not certified: {'; '.join(doubts)}."
    worst = float(errors.angles.max())
    return True, (
        f"{noun} certified: standard error of the directions at most {worst:.2g} rad, "
        f"no further unit at level {_LEVEL:.0%} (p = {evidence.p_better:.2g})."
    )


def _simpler_models(evidence: Evidence) -> list[str]:
    for gain, doubt in (
        (evidence.over_constant, "no signal: BIC prefers a constant"),
        (evidence.over_linear, "a linear function does as well: BIC prefers it"),
        (evidence.over_one, "information-limited: BIC prefers a single unit"),
        (evidence.over_fewer, "information-limited or too many units: BIC prefers one fewer"),
    ):
        if gain <= 0:
            return [f"{doubt} by {-gain:.1f}"]
    return []


def _weak_units(errors: StandardErrors) -> list[str]:
    doubts = []
    angles = errors.angles
    if angles.max() > LARGEST_ANGLE:
        blurred = int((angles > LARGEST_ANGLE).sum())
        worst = float(min(angles.max(), np.pi / 2))
        doubts.append(
            f"information-limited: rms direction error at least {worst:.2g} rad with these rows "
            f"({blurred} of {len(angles)} units above {LARGEST_ANGLE:g})"
        )
    weights = np.abs(errors.model.weights)
    faint = np.flatnonzero(weights < 2.5 * errors.weights)
    if faint.size:
        doubts.append(f"weight of unit {_named(faint)} not distinguishable from zero (too many units?)")
    return doubts


def _overlaps(errors: StandardErrors) -> list[str]:
    units, offsets = errors.model.units, errors.model.offsets
    cones = confidence_cones(errors)
    doubts = []
    for i in range(len(units)):
        for j in range(i + 1, len(units)):
            cosine = float(units[i] @ units[j])
            angle = float(np.arccos(np.clip(abs(cosine), -1, 1)))
            apart = abs(offsets[i] - np.sign(cosine) * offsets[j])
            same_place = apart <= 2 * np.hypot(errors.offsets[i], errors.offsets[j]) + 1e-12
            if angle < max(cones[i], cones[j]) and same_place:
                doubts.append(f"units {i + 1} and {j + 1} overlap ({angle:.2g} rad apart)")
    return doubts


def _search_doubts(evidence: Evidence) -> list[str]:
    doubts = []
    if evidence.n_flat:
        doubts.append(
            f"X has {evidence.n_flat} direction(s) without spread (constant or collinear columns), "
            "in which nothing is known about the units"
        )
    if np.isnan(evidence.p_better):
        doubts.append("too few rows to test for a further unit")
    if evidence.p_better < _LEVEL:
        doubts.append(f"a better or further unit exists (p = {evidence.p_better:.1g})")
    if evidence.gap < _NOTICE and evidence.hits < 3:
        doubts.append(f"another optimum is only {evidence.gap:.1f} nats behind")
    if not evidence.converged:
        doubts.append("the polish did not converge")
    return doubts


def _named(indices: np.ndarray) -> str:
    return ", ".join(str(int(i) + 1) for i in indices)

"""What may be claimed about a fit to rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..checks import TABLE, Check, Verdict, n_of, rows
from ..inference import StandardErrors, confidence_cones

__all__ = ["FitEvidence", "judge_fit"]


class FitEvidence(NamedTuple):
    """The numbers a verdict rests on; None where the question does not arise.

    over_constant, over_linear, over_one, over_fewer : as in Gains
    n_flat : directions of X without spread, flat : the columns (from zero) that are constant or repeat others
    p_better : p-value of the test that a better unit exists; hits, gap : as in Fit
    separated : of labels, the share of rows whose class a plane decides
    bounded : whether the likelihood has a maximum near the fit
    least_cost : nats that the unit which minds least loses when it is made steeper, where slopes are parameters
    pull : standard errors by which a ridge, where there is one, moves the worst coefficient
    lines : whether a criterion chose the number of units that grow, which look like lines where rows miss their kinks
    log_odds : whether a criterion chose the number of units of log-odds
    most_units : where a criterion chose, the number of units at which the search ended though the criterion still fell;
        0: it did not
    over_more : by how much a criterion milder than BIC prefers this number of units to larger ones; infinite: to none
    over_more_weighted : the same, with rows weighted by the size of their noise
    p_single : p-value of the test that every unit is a single one
    half_as_strong : what a unit of half the strength would explain, over its price
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
    flat: tuple[int, ...] = ()
    separated: float | None = None
    bounded: bool = True
    least_cost: float | None = None
    rows_per_parameter: float = np.inf
    pull: float | None = None
    most_units: int | None = None
    lines: bool = False
    log_odds: bool = False
    over_more: float = np.inf
    over_more_weighted: float = np.inf
    p_single: float | None = None
    half_as_strong: float | None = None


def judge_fit(errors: StandardErrors, evidence: FitEvidence) -> Verdict:
    """Return whether the units can be relied on, and why or why not."""
    over_more = evidence.over_more, evidence.over_more_weighted
    noun = n_of(errors.model.n_units, "unit")
    return Verdict(
        (
            rows.enough_rows(evidence.rows_per_parameter),
            *_asked(rows.separation, evidence.separated),
            *_asked(rows.maximum, evidence.least_cost if evidence.bounded else -np.inf),
            rows.simpler_models(evidence.over_constant, evidence.over_linear, evidence.over_one, evidence.over_fewer),
            rows.directions(errors.angles),
            rows.faint_weights(np.abs(errors.model.weights) / np.maximum(errors.weights, 1e-300)),
            *([rows.overlaps(_at_the_same_place(errors))] if errors.model.n_units > 1 else []),
            rows.flat_inputs(evidence.n_flat, evidence.flat),
            rows.further_unit(evidence.p_better),
            *([rows.more_units(*over_more)] if min(over_more) < np.inf else []),
            *_asked(rows.single_units, evidence.p_single),
            *_asked(rows.half_as_strong, evidence.half_as_strong),
            *_asked(rows.most_units, evidence.most_units),
            *([rows.lines(True)] if evidence.lines else []),
            *([rows.log_odds(True)] if evidence.log_odds else []),
            *_asked(rows.shrinkage, evidence.pull),
            rows.rival_optimum(evidence.gap, evidence.hits),
            rows.converged(evidence.converged),
        ),
        found=f"{noun} fitted",
        claim=f"{noun}, standard error of the directions (columns in standard deviations) at most "
        f"{float(errors.angles.max()):.2g} rad, "
        f"no further unit at level {TABLE.further_unit:.0%} (p = {evidence.p_better:.2g})",
    )


def _asked(rule: Callable[..., Check], number: float | None) -> list[Check]:
    """Return the check of a number; none where the question does not arise."""
    return [] if number is None else [rule(number)]


def _at_the_same_place(errors: StandardErrors) -> list[rows.Overlap]:
    """Return the pairs of units whose offsets, turned to one side, may be the same."""
    units, offsets = errors.model.units, errors.model.offsets
    cones = confidence_cones(errors)
    pairs = []
    for i in range(len(units)):
        for j in range(i + 1, len(units)):
            cosine = float(units[i] @ units[j])
            apart = abs(offsets[i] - np.sign(cosine) * offsets[j])
            if apart <= TABLE.same_place * np.hypot(errors.offsets[i], errors.offsets[j]) + 1e-12:
                angle = float(np.arccos(np.clip(abs(cosine), -1, 1)))
                pairs.append(rows.Overlap(i, j, angle, float(max(cones[i], cones[j]))))
    return pairs

"""Checks of a fit to rows. Whoever judges a fit leaves out the rules that it does not raise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arguments import Floats
from .check import Check, make, n_of
from .limits import TABLE


def simpler_models(over_constant: float, over_linear: float, over_one: float, over_fewer: float) -> Check:
    """Whether BIC prefers the fit to something simpler; the gains are differences of BIC, infinite if not asked."""
    rivals = (
        (over_constant, "no signal: BIC prefers a constant", "Check the target column, or collect more rows."),
        (over_linear, "a linear function does as well: BIC prefers it", "Use linear regression, or more rows."),
        (over_one, "information-limited: BIC prefers a single unit", "Ask for fewer units, or use more rows."),
        (
            over_fewer,
            "information-limited or too many units: BIC prefers one fewer",
            "Ask for fewer units, or use more rows.",
        ),
    )
    least = min(gain for gain, _, _ in rivals)
    gain, doubt, advice = next((rival for rival in rivals if not rival[0] > TABLE.gain), (least, "", ""))
    return make(
        "simpler models", gain, ">", TABLE.gain,
        f"BIC prefers these units to anything simpler, by {least:,.1f}", f"{doubt} by {-gain:,.1f}", advice,
    )  # fmt: skip


def directions(angles: Floats) -> Check:
    """Whether every direction is known well enough to be named; (k,) standard errors in radians."""
    worst = float(np.max(angles))
    blurred = int(np.sum(~(angles <= TABLE.directions)))
    return make(
        "directions", worst, "<=", TABLE.directions,
        f"the standard error of the directions, columns in standard deviations, is at most {worst:.2g} rad",
        f"information-limited: rms direction error at least {min(worst, math.pi / 2):.2g} rad with these rows "
        f"({blurred} of {n_of(len(angles), 'unit')} above {TABLE.directions:g})",
        "Use more rows, or ask for fewer units.",
    )  # fmt: skip


def faint_weights(ratios: Floats) -> Check:
    """Whether every weight differs from zero; (k,) weights over their standard errors."""
    faint = np.flatnonzero(~(ratios >= TABLE.faint_weights))
    return make(
        "faint weights", float(np.min(ratios)), ">=", TABLE.faint_weights,
        f"every weight is at least {float(np.min(ratios)):.2g} standard errors away from zero",
        f"weight of unit {', '.join(str(i + 1) for i in faint)} not distinguishable from zero (too many units?)",
        "Ask for fewer units, or use more rows.",
    )  # fmt: skip


class Overlap(NamedTuple):
    """Two units (numbered from zero) at the same place: their angle, and the wider of their confidence cones."""

    first: int
    second: int
    angle: float
    cone: float


def overlap(pairs: Sequence[Overlap]) -> Check:
    """Whether units at the same place differ by more than their cones."""
    shares = [pair.angle / max(pair.cone, 1e-300) for pair in pairs]
    said = ", ".join(
        f"units {pair.first + 1} and {pair.second + 1} overlap ({pair.angle:.2g} rad apart)"
        for pair, share in zip(pairs, shares)
        if not share >= 1
    )
    return make(
        "overlap", min(shares, default=math.inf), ">=", 1, "no two units overlap", said,
        "Ask for fewer units, or use more rows.",
    )  # fmt: skip


def flat_inputs(n: int, columns: Sequence[int] = ()) -> Check:
    """Whether the rows vary in every direction; `columns`, numbered from zero, are constant or repeat others."""
    shown = ", ".join(str(j + 1) for j in columns[:8]) + (", ..." if len(columns) > 8 else "")
    named = (
        f"columns {shown}" if len(columns) > 1 else f"column {shown}" if columns else "constant or collinear columns"
    )
    return make(
        "flat inputs", n, "<=", 0,
        "the rows vary in every direction",
        f"X has {n} direction(s) without spread ({named}), in which nothing is known about the units",
        "Drop the columns that are constant or repeat others.",
    )  # fmt: skip


def enough_rows(per_parameter: float) -> Check:
    """Whether there are rows enough for the parameters; fewer are fitted with a ridge."""
    return make(
        "rows per parameter", per_parameter, ">=", TABLE.rows_per_parameter,
        f"there are {per_parameter:.3g} rows per parameter",
        f"too few rows: {per_parameter:.2g} per parameter, so that the fit was regularised and nothing is tested",
        "Use more rows, fewer columns or fewer units.",
    )  # fmt: skip


def split_by_plane(share: float) -> Check:
    """Whether the classes overlap; the share of rows whose class a plane decides without error."""
    what = "a plane parts the two classes" if share == 1 else f"a plane decides the class of {share:.2%} of the rows"
    return make(
        "separation", share, "<=", 0,
        "no plane parts the two classes",
        f"{what}, so that the likelihood (with offsets) has no maximum: slopes and their errors mean nothing",
        "Set alpha above 0 (or 'auto') to predict; to interpret, leave out the columns that give the class away.",
    )  # fmt: skip


def finite_slopes(least_cost: float) -> Check:
    """Whether slopes have an upper end: making a unit steeper must cost likelihood (nats, minus infinity if it never
    does)."""
    return make(
        "finite slopes", least_cost, ">=", TABLE.steeper_costs,
        f"no unit can be {TABLE.steeper:g} times as steep without a loss of {least_cost:.2g} nats",
        f"a unit may be {TABLE.steeper:g} times as steep or more: its slope has no upper end",
        "Use more rows, fewer units, or alpha above 0.",
    )  # fmt: skip


def more_units(plain: float, weighted: float) -> Check:
    """Whether a criterion milder than BIC wants no more units either, as rows are and weighted by the size of their
    noise; how much worse it calls the best larger number, infinite if only the other one was asked."""
    least = min(plain, weighted)
    rows = "with rows weighted by the size of their noise, " if weighted < plain else ""
    return make(
        "more units", least, ">", TABLE.gain,
        f"{rows}a criterion milder than BIC wants no more units, by {least:,.1f}",
        f"{rows}a criterion milder than BIC wants more units, by {-least:,.1f}",
        "Use more rows, or one unit more"
        + ("; weights='precision' with one over the variance of each row's noise." if rows else "."),
    )  # fmt: skip


def single_units(p_value: float) -> Check:
    """Whether all rows together show no unit that is two."""
    return make(
        "single units", p_value, ">=", TABLE.pairs,
        f"no unit looks like two close ones (p = {p_value:.2g})",
        f"a unit looks like two close ones (p = {p_value:.2g}), which the rows are too few to tell apart",
        "Use more rows, or one unit more.",
    )  # fmt: skip


def half_weight(explained: float) -> Check:
    """Whether a unit half as strong as a typical one would have shown, had a criterion to choose their number."""
    return make(
        "half as strong", explained, ">=", TABLE.half_as_strong,
        f"a unit half as strong as these would explain {explained:.2g} times what it costs",
        f"the rows are too few to tell how many units there are: one half as strong as these would explain only "
        f"{explained:.2g} times what it costs",
        "Use more rows, or give the number of units.",
    )  # fmt: skip


def most_units(reached: int) -> Check:
    """Whether the number of units was chosen before the search had to end; `reached` is 0 if it was."""
    return make(
        "most units", reached, "<=", 0,
        "the number of units was chosen before the search had to end",
        f"the criterion still fell at {n_of(reached, 'unit')}, where max_units (three times it) or the rows ended the "
        "search",
        "Raise max_units, or use more rows.",
    )  # fmt: skip


def lines(chosen: bool) -> Check:
    """Whether a criterion could see all units: those that grow look like lines where rows miss their kinks."""
    return make(
        "units seen", int(chosen), "<=", 0,
        "units saturate, or their number was given",
        "the number of units that grow was chosen by a criterion, which does not see those whose kinks few rows reach",
        "Give n_units if it is known.",
    )  # fmt: skip


def log_odds(chosen: bool) -> Check:
    """Whether a criterion could see all units: labels seldom tell a unit behind their log-odds from two close ones."""
    return make(
        "units of log-odds", int(chosen), "<=", 0,
        "no log-odds were fitted, or the number of their units was given",
        "the number of units of the log-odds was chosen by a criterion, which seldom tells one from two close ones",
        "Give the number of units if it is known.",
    )  # fmt: skip


def shrinkage(pull: float) -> Check:
    """Whether a ridge leaves the coefficients where the rows put them; in standard errors."""
    return make(
        "shrinkage", pull, "<=", TABLE.shrinkage,
        f"the ridge moves no coefficient by more than {pull:.2g} standard errors",
        f"the ridge moves a coefficient by {pull:.2g} standard errors, which their errors do not count",
        "Predict with it; set alpha=0 to interpret.",
    )  # fmt: skip


def further_unit(p_value: float) -> Check:
    """Whether the cross-fitted test finds no better or further unit; not a number with too few rows for it."""
    exists = f"a better or further unit exists (p = {p_value:.1g})"
    few = math.isnan(p_value)
    return make(
        "another unit", p_value, ">=", TABLE.further_unit,
        f"a test on held-out halves finds no further unit (p = {p_value:.2g})",
        "too few rows to test for a further unit" if few else exists,
        "Use more rows." if few else "Allow more units, or raise max_rounds.",
    )  # fmt: skip


def rival_optimum(gap: float, hits: int) -> Check:
    """Whether no other optimum fits as well; gap in nats, infinite if none was seen, to the next one."""
    often = hits >= TABLE.rival_hits
    reached = f"this solution was reached {n_of(hits, 'time')}"
    return make(
        "rival optimum", gap, ">=", -math.inf if often else TABLE.rival_gap,
        reached if often or math.isinf(gap) else f"{reached}, and the next one is {gap:.1f} nats behind",
        f"another optimum is only {gap:.1f} nats behind",
        "Use more rows, or compare both by what they mean.",
    )  # fmt: skip


def finished_polish(done: bool) -> Check:
    """Whether the last polish came to its end."""
    return make(
        "converged", int(not done), "<=", 0, "the polish converged", "the polish did not converge",
        "Raise n_starts or max_rounds, or run again with another random_state or fewer units.",
    )  # fmt: skip

"""Checks of every method, and of the paper's, which has no certificate but may look doubtful."""

from __future__ import annotations

import numpy as np

from ..arguments import Floats
from .check import Check, make, n_of
from .limits import PAPER


def number_of_units(found: int, given: int) -> Check:
    """Whether there are as many units as the user said."""
    return make(
        "number of units", abs(found - given), "<=", 0,
        f"it has {n_of(found, 'unit')}, as given",
        f"it has {n_of(found, 'unit')} where n_units={given} was given",
        "Leave n_units out.",
    )  # fmt: skip


def finished(shortage: str = "") -> Check:
    """Whether the search came to its end; `shortage` says what it lacked."""
    budget = "max_queries" in shortage  # every budget names the option that raises it
    return make(
        "finished", int(bool(shortage)), "<=", 0, "the search came to its end", shortage.rstrip("."),
        f"{'Allow more queries (max_queries)' if budget else 'Try another seed'}, or ask for a lower accuracy.",
    )  # fmt: skip


def fresh_inputs(n: int, n_different: int, worst: float, share: float, where: Floats, labels: bool = False) -> Check:
    """Whether answers to inputs that were used for nothing else are as foretold; single labels tell no share."""
    return make(
        "verified on fresh inputs", n_different, "<=", 0,
        f"none of {n_of(n, 'fresh label')} contradicts it" if labels
        else f"verified on {n} fresh inputs: differs on less than {100 * share:.2g}% of such inputs (95%)",
        f"{n_different} of {n} fresh inputs are answered otherwise than foretold, by up to {worst:.2g} (at "
        f"{np.array2string(where, precision=3, threshold=6, edgeitems=2, max_line_width=200)})",
        "The box has something beside these units: look at the input in .verification.where, or give typical rows "
        "(inputs=) where columns differ much in size.",
    )  # fmt: skip


def nothing_left(size: float) -> Check:
    """Whether the units are all there is; `size` is that of what was taken for noise though it is none."""
    return make(
        "nothing else", size, "<=", 0,
        "the box is nothing but units",
        f"the box is close to these units, but something of size {size:.2g} that is no noise is left over everywhere "
        "(a wave, another kind of units, a further layer)",
        "Subtract what is known of it inside the oracle, or use the network as an approximation.",
    )  # fmt: skip


def not_certified() -> Check:
    """The paper's method never has one."""
    return Check("certificate", 0, 1, "it carries no certificate", 'Use method="auto", which can be certified.', ">=")


def support(median: float) -> Check:
    """Whether candidates rest on enough samples."""
    return make(
        "support", median, ">=", PAPER.support,
        f"the median candidate rests on {median:,.0f} effective samples",
        f"the median candidate rests on {median:.3g} effective samples: one by one they are noise",
        "Use more points, which average out, and more rows or queries.",
    )  # fmt: skip


def scatter(mean_cosine: float) -> Check:
    """Whether candidates lie close to their centres."""
    return make(
        "scatter", mean_cosine, ">=", PAPER.scatter,
        f"candidates lie tightly around their centres (mean cosine {mean_cosine:.3f})",
        f"candidates scatter around their centres (mean cosine {mean_cosine:.2f})",
        "Ask for purer candidates (min_purity), more queries per point, or check the number of units.",
    )  # fmt: skip


def weight_signs(n: int) -> Check:
    """Whether weights have the signs of their candidates."""
    return make(
        "contradicted weights", n, "<=", 0,
        "all weights have the sign of their candidates",
        f"{n_of(n, 'weight')} contradict the sign of their candidates",
        "Such units are probably spurious: ask for fewer units or purer candidates.",
    )  # fmt: skip


def gaussian_rows(covariance_off: float, largest_mean: float) -> Check:
    """Whether rows are standard Gaussian, as far as their first two moments tell."""
    sizes = f"(covariance off by {covariance_off:.2g}, mean by {largest_mean:.2g})"
    return make(
        "Gaussian rows", max(covariance_off, largest_mean), "<=", PAPER.gaussian,
        f"the first two moments of the rows are those of a standard Gaussian {sizes}",
        f"the rows are not standard Gaussian, which the kernel assumes {sizes}",
        'Standardise the columns, or use method="auto".',
    )  # fmt: skip


def slope_in_range(at_edge: bool, slope: float) -> Check:
    """Whether the slope was found inside its range."""
    return make(
        "slope", int(at_edge), "<=", 0,
        f"the slope {slope:.3g} is inside its range",
        f"the slope stopped at the edge of its range ({slope:.3g})",
        "Give the slope, if it is known.",
    )  # fmt: skip

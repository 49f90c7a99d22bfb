"""What looks doubtful about a run of the paper's method, which has no certificate."""

from __future__ import annotations

from .check import Check, make, n_of
from .limits import PAPER


def certificate() -> Check:
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


def contradicted_weights(n: int) -> Check:
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

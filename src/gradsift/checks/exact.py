"""Checks of a network found through exact answers."""

from __future__ import annotations

from .limits import OUTPUTS, ExactLimits
from .record import Check, make, n_of

__all__ = [
    "close_to", "error_bound", "foretold", "fresh_answers", "fresh_kinks", "linear_term_error", "negligible_weight",
    "output", "residuals",
    "spare_answers",
]  # fmt: skip


def residuals(chi: float, n_answers: int, limits: ExactLimits, limit: str = "rounding") -> Check:
    """Whether all answers agree with the network; chi is the worst residual over its error, which `limit` makes."""
    error = f"the {limit} error" if limit == "rounding" else f"their {limit}"
    return make(
        "residuals", chi, "<", limits.residuals,
        f"all {n_answers} answers agree within {chi:.2g} times {error}",
        f"the worst of {n_answers} answers misses the network by {chi:.3g} times {error} "
        "(another activation, or a unit that was not separated)",
        "Try activation='auto' or another seed; if answers are noisy or rounded, say so with noise=.",
    )  # fmt: skip


def output(number: int, chi: float, n_answers: int) -> Check:
    """Whether one output is a sum of the units that were found; chi is its worst residual over its rounding error."""
    return make(
        f"output {number}", chi, "<", OUTPUTS.residuals,
        f"{n_answers} answers of output {number} agree within {chi:.2g} times their rounding error",
        f"the worst of {n_answers} answers of output {number} misses the network by {chi:.3g} times its rounding error "
        "(a unit that this output alone has, or another kind of output)",
        f"Recover this output alone: oracle.projected with a one in place {number}.",
    )  # fmt: skip


def close_to(n_missed: int, n_answers: int, worst: float) -> Check:
    """Whether no answers had to be set aside, near the origin, where units alone do not explain them."""
    return make(
        "nothing left over", n_missed, "<=", 0,
        "the units explain all answers",
        f"something else is left over near the origin, of size {worst:.2g}: {n_missed} of {n_answers} answers "
        "(a bump, a rule, or parallel units that cancel elsewhere)",
        "Look at the input named in .verification, and stay away from such inputs or subtract what is there.",
    )  # fmt: skip


def fresh_answers(worst: float, n: int, limits: ExactLimits) -> Check:
    """Whether answers that were not fitted yet are as foretold; `worst` is relative."""
    return make(
        "fresh points", worst, "<=", limits.fresh_points,
        f"{n_of(n, 'fresh point')} are met to a relative {worst:.1g}",
        f"fresh points are missed by a relative {worst:.2g}",
        "Try another seed.",
    )  # fmt: skip


def foretold(worst: float, n: int, limits: ExactLimits) -> Check:
    """Whether answers that were not fitted yet are as foretold; `worst` is over what all rounding explains."""
    return make(
        "fresh points", worst, "<=", limits.fresh_points,
        f"{n_of(n, 'fresh point')} are met within {worst:.2g} times what rounding explains",
        f"fresh points are missed by {worst:.3g} times what rounding explains",
        "Try another seed.",
    )  # fmt: skip


def fresh_kinks(chi: float, n: int, limits: ExactLimits, limit: str = "rounding") -> Check:
    """The same near and far; chi is the worst miss over what `limit` and the errors of all parameters explain."""
    return make(
        "fresh points", chi, "<", limits.fresh_points,
        f"{n_of(n, 'fresh point')} near and far are met within {chi:.2g} times what {limit} explains",
        f"fresh points are missed by {chi:.3g} times what {limit} explains (another activation, a deeper network, or "
        "a unit that was not found)",
        "Try activation='auto' or another seed.",
    )  # fmt: skip


def error_bound(worst: float, limits: ExactLimits, why: str = "") -> Check:
    """Whether rounding leaves enough digits of every parameter; `worst` is the largest relative error, and `why` says
    what is special about that unit."""
    return make(
        "error bound", worst, "<=", limits.error_bound,
        f"rounding explains a relative error of at most {worst:.1g}",
        f"rounding in the answers leaves a relative error of up to {worst:.2g} in a unit (precision limit{why})",
        "Rescale the inputs, or accept the standard errors.",
    )  # fmt: skip


def linear_term_error(relative_error: float, limits: ExactLimits) -> Check:
    """The same for the linear term."""
    return make(
        "linear term", relative_error, "<=", limits.error_bound,
        f"rounding explains a relative error of {relative_error:.1g} in the linear term",
        f"rounding in the answers leaves a relative error of {relative_error:.2g} in the linear term",
        "Rescale the inputs, or subtract the linear term inside the oracle.",
    )  # fmt: skip


def spare_answers(n_spare: int, n_units: int, limits: ExactLimits) -> Check:
    """Whether there are more answers than unknowns, so that agreement means something."""
    needed = limits.spare_answers + n_units
    return make(
        "spare answers", n_spare, ">=", needed,
        f"{n_of(n_spare, 'answer')} are left over for checking",
        f"only {n_of(n_spare, 'answer')} are left over for checking, {needed} are needed",
        "Allow more queries (max_queries).",
    )  # fmt: skip


def negligible_weight(smallest: float, largest: float, limits: ExactLimits) -> Check:
    """Whether every unit has a weight that counts."""
    return make(
        "negligible weight", smallest, ">=", limits.negligible_weight * largest,
        f"the smallest weight is {smallest:.2g}",
        f"a unit has the negligible weight {smallest:.2g}",
        "Such a unit may be made of rounding errors: try another seed, and see whether it stays.",
    )  # fmt: skip

"""Checks of a network with several hidden layers."""

from __future__ import annotations

from .limits import DeepLimits
from .record import Check, make, n_of

__all__ = ["answers_met", "every_row", "foretold", "spare_answers"]


_ONLY_AT_REST = 1e-6  # of the spread of the answers: misses that no kind of unit but one at rest leaves


def answers_met(chi: float, worst: float, share: float, n_answers: int, limit: float) -> Check:
    """Whether all answers agree with the network; `worst` is the largest residual over its rounding error, `share` the
    largest over the spread of the answers."""
    cause = "another activation, another number of layers, or units that were not separated"
    if share < _ONLY_AT_REST:
        cause = f"by {share:.1g} of their spread: a further unit that is at rest almost everywhere, or nearly a copy"
    return make(
        "residuals", worst, "<", limit,
        f"all {n_answers} answers agree within {worst:.2g} times the rounding error ({chi:.2g} in the mean square)",
        f"the worst of {n_answers} answers misses the network by {worst:.3g} times the rounding error ({cause})",
        "Try another seed or activation; if answers are noisy or rounded, say so with noise=.",
    )  # fmt: skip


def foretold(worst: float, n: int, limits: DeepLimits) -> Check:
    """Whether fresh answers are as foretold; `worst` is the largest miss over what rounding and the fit's own standard
    error allow."""
    return make(
        "fresh answers", worst, "<", limits.fresh,
        f"{n_of(n, 'fresh answer')} near and far are met within {worst:.2g} times what rounding explains",
        f"fresh answers are missed by {worst:.3g} times what rounding explains",
        "Try another seed.",
    )  # fmt: skip


def every_row(worst: float, where: str, limits: DeepLimits) -> Check:
    """Whether the answers determine every unit; `worst` is the largest standard error of a row over its length."""
    return make(
        "error bound", worst, "<=", limits.error_bound,
        f"rounding explains a relative error of at most {worst:.1g} in any unit",
        f"the answers leave a relative error of {worst:.2g} in {where}: it is nearly a copy of others, or at rest "
        "almost everywhere",
        "Its parameters are not determined in double precision; the function is.",
    )  # fmt: skip


def spare_answers(n_spare: int, limits: DeepLimits) -> Check:
    """Whether there are more answers than unknowns, so that agreement means something."""
    return make(
        "spare answers", n_spare, ">=", limits.spare_answers,
        f"{n_of(n_spare, 'answer')} are left over for checking",
        f"only {n_of(n_spare, 'answer')} are left over for checking, {limits.spare_answers} are needed",
        "Allow more queries (max_queries).",
    )  # fmt: skip

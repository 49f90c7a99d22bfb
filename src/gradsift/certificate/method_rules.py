"""Checks of every method."""

from __future__ import annotations

import numpy as np

from ..arguments import Floats
from .check import Check, make, n_of


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


def remainder(size: float) -> Check:
    """Whether the units are all there is; `size` is that of what was taken for noise though it is none."""
    return make(
        "nothing else", size, "<=", 0,
        "the box is nothing but units",
        f"the box is close to these units, but something of size {size:.2g} that is no noise is left over everywhere "
        "(a wave, another kind of units, a further layer)",
        "Subtract what is known of it inside the oracle, or use the network as an approximation.",
    )  # fmt: skip

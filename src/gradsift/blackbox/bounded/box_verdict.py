"""What may be claimed about a network found inside a box with exact answers."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...checking import Floats
from ..asking import EPS
from ..links import Link
from ..noisy.local_fit import Fitted
from ..result import Identification
from .box import Box

__all__ = ["box_errors", "exact_result"]

_CHI = 8.0  # residuals over the rounding of answers
_ERROR = 1e-7  # largest relative error of a parameter that is vouched for


class BoxErrors(NamedTuple):
    """Largest residual over the rounding; standard errors of each unit, relative for a; and bounds on all of it."""

    chi: float
    across: Floats
    along: Floats
    offset: Floats
    weight: Floats
    intercept: float
    bounds: Floats


def box_errors(fitted: Fitted, largest: float) -> BoxErrors:
    """Return what rounding of the answers does to a joint fit that had it for its noise."""
    theta = fitted.theta
    layout = theta.layout
    chi = float(np.abs(fitted.residuals).max() / (16 * EPS * largest))
    C = np.diag(fitted.covariance) * max(1.0, chi) ** 2
    lengths = np.linalg.norm(theta.A, axis=1)
    across = np.sqrt(np.array([C[layout.a(unit)].sum() for unit in range(layout.n_units)])) / lengths
    offset, weight = np.sqrt(C[layout.b]), np.sqrt(C[layout.weights])
    bounds = 4 * np.maximum(across, np.maximum(offset / (1 + np.abs(theta.b)), weight / np.abs(theta.u)))
    return BoxErrors(
        chi, across, np.sqrt(C[layout.first]) / lengths, offset, weight, float(np.sqrt(C[layout.c][0])), bounds
    )


def exact_result(fitted: Fitted, box: Box, link: Link, fresh: Floats, n_queries: int) -> Identification:
    """Check a joint fit against its own conditioning and fresh points, and return the public record.

    Parameters
    ----------
    fitted : Fitted
        In the box's coordinates, with the rounding of answers as its noise.
    fresh : (n,) array
        Residuals at points that were not fitted yet.
    """
    theta = box.outside(fitted.theta)
    k = len(theta.u)
    largest = box.ledger.largest
    chi, across, along, offset, weight, intercept, bounds = box_errors(fitted, largest)
    order = np.argsort(-np.abs(theta.u), kind="stable")
    doubts = []
    if chi > _CHI:
        doubts.append(f"the worst answer is missed by {chi:.2g} times the rounding error")
    if bounds.max() > _ERROR:
        doubts.append(f"rounding leaves a relative error of up to {bounds.max():.2g} in a unit")
    if np.abs(fresh).max() > 1e-5 * largest:
        doubts.append("fresh points disagree")
    sentence = (
        f"Not certified: {k} units fitted inside the box, but {'; '.join(doubts)}."
        if doubts
        else f"Certified inside the box: {len(fitted.residuals)} answers agree with {k} units within {chi:.2g} times "
        f"the rounding error, {len(fresh)} of them fresh, and rounding explains a relative error of at most "
        f"{bounds.max():.1g}; units that are flat inside the box cannot be seen."
    )
    errors = {
        "units": across[order],
        "slopes": (along * np.linalg.norm(theta.A, axis=1))[order] / link.stretch,
        "offsets": offset[order] / link.stretch,
        "weights": weight[order] / link.gain,
        "intercept": np.array([intercept]),
    }
    model = link.to_model(theta.A, theta.b, theta.u, theta.c)
    facts = {"chi": chi, "spent": dict(box.ledger.spent), "floor": "exact"}
    return replace(Identification(model, not doubts, sentence, n_queries, errors, bounds[order]), diagnostics=facts)

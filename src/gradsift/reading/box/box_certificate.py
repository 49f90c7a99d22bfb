"""What may be claimed about a network found inside a box with exact answers."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...certificate import BOUND, EXACT_IN_A_BOX, Evidence, Fresh, certify, n_of
from ...fit import Fitted
from ...network import Network
from ..ledger import EPS, Place
from ..odd_form import Link
from ..result import Reading


class BoxErrors(NamedTuple):
    """Largest residual over the rounding; standard errors of each unit, relative for a; and error bounds.

    linear : error bound of the linear term, where there is one
    """

    chi: float
    across: Floats
    along: Floats
    offset: Floats
    weight: Floats
    intercept: float
    bounds: Floats
    linear: float | None = None


def box_errors(fitted: Fitted, largest: float) -> BoxErrors:
    """Return what rounding of the answers does to a joint fit that had it for its noise."""
    theta = fitted.theta
    layout = theta.layout
    chi = float(np.abs(fitted.residuals).max() / (16 * EPS * largest))
    # Residuals larger than rounding explains enlarge all errors alike.
    C = np.diag(fitted.covariance) * max(1.0, chi) ** 2
    lengths = np.linalg.norm(theta.A, axis=1)
    across = np.sqrt(np.array([C[layout.a(unit)].sum() for unit in range(layout.n_units)])) / lengths
    offset, weight = np.sqrt(C[layout.b]), np.sqrt(C[layout.weights])
    bounds = BOUND * np.maximum(across, np.maximum(offset / (1 + np.abs(theta.b)), weight / np.abs(theta.u)))
    linear = None
    if theta.linear is not None:
        linear = BOUND * float(np.sqrt(C[layout.linear_term].sum()) / max(np.linalg.norm(theta.linear), 1e-300))
    return BoxErrors(
        chi, across, np.sqrt(C[layout.first]) / lengths, offset, weight, float(np.sqrt(C[layout.c][0])), bounds, linear
    )


def exact_result(fitted: Fitted, box: Place, link: Link, fresh: Floats, n_queries: int) -> Reading:
    """Check a joint fit against its own conditioning and fresh points, and return the public record.

    Parameters
    ----------
    fitted : Fitted
        In the box's coordinates, with the rounding of answers as its noise.
    fresh : (n,) array
        Residuals at points that were not fitted yet.
    """
    theta = box.outside(fitted.theta)
    largest = box.ledger.largest
    found = box_errors(fitted, largest)
    _, across, along, offset, weight, intercept, bounds, _ = found
    order = np.argsort(-np.abs(theta.u), kind="stable")
    errors = {
        "units": across[order],
        "slopes": (along * np.linalg.norm(theta.A, axis=1))[order] / link.stretch,
        "offsets": offset[order] / link.stretch,
        "weights": weight[order] / link.gain,
        "intercept": np.array([intercept]),
    }
    if theta.linear is not None:
        layout, C, widened = fitted.theta.layout, fitted.covariance, max(1.0, found.chi)
        errors["linear"] = widened * np.sqrt(np.diag(C)[layout.linear_term]) / box.region.half
        # The intercept in the oracle's coordinates is c - <l, middle / half>: its variance takes all of their
        # covariance.
        moved = np.zeros(layout.size)  # the intercept outside, by the parameters inside
        moved[layout.c], moved[layout.linear_term] = 1.0, -box.region.middle / box.region.half
        errors["intercept"] = np.array([widened * np.sqrt(max(float(moved @ C @ moved), 0.0))])
    model = link.to_model(theta.A, theta.b, theta.u, theta.c, 0.0 if theta.linear is None else theta.linear)
    unseen = "flat" if link.activation.saturates else "flat or straight"
    evidence = replace(
        _evidence(found, fitted, np.abs(fresh) / max(largest, 1e-300), unseen), errors=errors, bounds=bounds[order],
        spent=dict(box.ledger.spent), notes={"chi": found.chi, "floor": "exact"},
    )  # fmt: skip
    return Reading(Network.of(model), certify(evidence, EXACT_IN_A_BOX), evidence).of_all(n_queries)


def _evidence(found: BoxErrors, fitted: Fitted, fresh: Floats, unseen: str) -> Evidence:
    """Return what speaks for the units; `fresh` is relative to the largest answer, `unseen` says how a unit hides."""
    what = n_of(len(fitted.theta.u), "unit") + ("" if found.linear is None else " and a linear term")
    return Evidence(
        what, len(fitted.residuals), found.chi, Fresh(len(fresh), float(fresh.max()), relative=True),
        float(found.bounds.max()), linear=found.linear, where=" inside the box",
        rest=f"; units that are {unseen} inside the box cannot be seen",
    )  # fmt: skip

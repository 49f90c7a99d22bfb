"""What may be claimed about a network found inside a box with exact answers."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...certificate import BOUND, EXACT_IN_A_BOX, Evidence, Fresh, certify, n_of
from ...fit import Fitted
from ...geometry import mirror_slope
from ...network import Network
from ..ledger import EPS, Place
from ..odd_form import Link
from ..result import Reading


class BoxErrors(NamedTuple):
    """Largest residual over the rounding; standard errors of each unit in the fit, relative for a; and error bounds.

    linear : error bound of the linear term, where there is one
    """

    chi: float
    across: Floats
    offset: Floats
    weight: Floats
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
    return BoxErrors(chi, across, offset, weight, bounds, linear)


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
    model = link.to_model(theta.A, theta.b, theta.u, theta.c, 0.0 if theta.linear is None else theta.linear)
    model = model.plain() or model  # units that may be turned leave no linear term where there is none
    order = np.argsort(-np.abs(theta.u), kind="stable")
    one = _errors_outside(fitted, box, link, model.units, order)
    errors = {name: max(1.0, found.chi) * values for name, values in one.items()}
    if not model.has_linear_term:
        errors.pop("linear")
    unseen = "flat" if link.activation.saturates else "flat or straight"
    evidence = replace(
        _evidence(found, fitted, np.abs(fresh) / max(largest, 1e-300), unseen),
        errors=errors, bounds=found.bounds[order],
        spent=dict(box.ledger.spent), notes={"chi": found.chi, "floor": "exact"},
    )  # fmt: skip
    return Reading(Network.of(model), certify(evidence, EXACT_IN_A_BOX), evidence).of_all(n_queries)


def _errors_outside(
    fitted: Fitted, box: Place, link: Link, units: Floats, order: NDArray[np.intp]
) -> dict[str, Floats]:
    """Return standard errors of the public model's parameters; its `units`, (k, d), are those of the fit in an order.

    They are errors in the oracle's coordinates: where bounds lie far from the origin an offset errs by what its unit's
    slopes err, that far out.
    """
    theta, layout, C = box.outside(fitted.theta), fitted.theta.layout, fitted.covariance
    d, slope = layout.n_features, mirror_slope(link.activation) or 0.0
    # u = (x - middle) / half: slopes in u are divided by half, and constants lose middle / half times them.
    outwards = np.vstack([np.diag(1 / box.region.half), -box.region.middle / box.region.half])
    moved = np.zeros((d + 1, layout.size))  # linear term and intercept of the model, by the parameters of the fit
    moved[d, layout.c] = 1.0
    if theta.linear is not None:
        moved[:, layout.linear_term] = outwards
    rows = np.empty((len(order), 3))
    for place, unit in enumerate(order):
        v, a, w = fitted.mirrors[unit], theta.A[unit], theta.u[unit] / link.gain
        length, at = float(np.linalg.norm(a)), layout.weights.start + unit
        # Vectors of the fit are reflected: H = I - 2 v v' takes them back.
        J = np.zeros((d + 1, d + 1))
        J[:, :d], J[d, d] = outwards - 2 * np.outer(outwards @ v, v), 1.0
        block = J @ fitted.block(unit) @ J.T
        across = np.eye(d) - np.outer(a, a) / length**2
        variances = np.array([np.trace(across @ block[:d, :d]), a @ block[:d, :d] @ a / length**2, block[d, d]])
        rows[place] = np.sqrt(np.maximum(variances, 0.0)) / [length, link.stretch, link.stretch]
        # u g = w (f - center), and f(z) = 2 center - f(-z) or f(z) = f(-z) + slope z: what is left over where a unit
        # is turned moves into the intercept and the linear term.
        turned = bool(units[place] @ a < 0)
        moved[d, at] += (1.0 if turned else -1.0) * link.form.center / link.gain
        if turned:
            moved[:, layout.own(unit)] += slope * w * J
            moved[:, at] += slope / link.gain * np.append(a, theta.b[unit])
    ends = np.sqrt(np.maximum(((moved @ C) * moved).sum(axis=1), 0.0))
    return {
        "units": rows[:, 0],
        "slopes": rows[:, 1],
        "offsets": rows[:, 2],
        "weights": np.sqrt(C.diagonal()[layout.weights])[order] / link.gain,
        "intercept": ends[d:],
        "linear": ends[:d],
    }


def _evidence(found: BoxErrors, fitted: Fitted, fresh: Floats, unseen: str) -> Evidence:
    """Return what speaks for the units; `fresh` is relative to the largest answer, `unseen` says how a unit hides."""
    what = n_of(len(fitted.theta.u), "unit") + ("" if found.linear is None else " and a linear term")
    return Evidence(
        what, len(fitted.residuals), found.chi, Fresh(len(fresh), float(fresh.max()), relative=True),
        float(found.bounds.max()), linear=found.linear, where=" inside the box",
        rest=f"; units that are {unseen} inside the box cannot be seen",
    )  # fmt: skip

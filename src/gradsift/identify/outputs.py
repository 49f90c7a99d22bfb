"""Several outputs over the same hidden units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq

from ..activations import get_activation
from ..checking import Floats, finite_matrix, matching_rows
from ..model import SigmoidCombination

__all__ = ["OutputLayer", "solve_outputs"]


class OutputLayer(NamedTuple):
    """Weights and intercepts of all outputs over a model's units.

    Attributes
    ----------
    weights : (k, m) array
    intercepts : (m,) array
    misfits : (m,) array
        Largest absolute residual of each output.
    """

    weights: Floats
    intercepts: Floats
    misfits: Floats


def solve_outputs(model: SigmoidCombination, X: ArrayLike, Y: ArrayLike) -> OutputLayer:
    """Find every output's weights, given the units recovered from one projection of the outputs.

    Parameters
    ----------
    model : SigmoidCombination
        Recovered from ``Y @ direction`` for one random direction.
    X, Y : (n, d) and (n, m) arrays
        Stored queries and answers, at least k + 1 of them.

    Notes
    -----
    Linear least squares on the activations; O(n k (d + k + m)) flops.
    """
    rows = finite_matrix("X", X, model.n_features)
    answers = finite_matrix("Y", Y)
    matching_rows(rows, answers)
    if len(rows) <= model.n_units:
        raise ValueError(
            f"X must have more than {model.n_units} rows to settle {model.n_units} units, got {len(rows)}."
        )
    values = get_activation(model.activation).value(model.arguments(rows))
    design = np.concatenate([values, np.ones((len(rows), 1))], axis=1)
    found = lstsq(design, answers)[0]
    return OutputLayer(found[:-1], found[-1], np.abs(design @ found - answers).max(axis=0))

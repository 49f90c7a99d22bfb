"""The numbers being fitted, and the family of models they may range over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..activations import Activation, get_activation
from ..checking import Floats
from ..model import SigmoidCombination

__all__ = ["Family", "Parameters", "from_model"]


class Parameters(NamedTuple):
    """One model in the coordinates of a fit: A (k, d) with rows slope times unit, u (k,), b (k,), and c."""

    A: Floats
    u: Floats
    b: Floats
    c: float

    def to_model(self, activation: Activation | str) -> SigmoidCombination:
        """Return the model; a unit of zero length keeps an arbitrary direction and the smallest slope."""
        rows = self.A.copy()
        rows[~rows.any(axis=1), 0] = np.finfo(np.float64).tiny
        return SigmoidCombination(rows, self.u, 1.0, self.b, self.c, activation)


def from_model(model: SigmoidCombination) -> Parameters:
    """Return the parameters of a model, which must have no linear term."""
    if model.has_linear_term:
        raise ValueError("model must have no linear term beside its sigmoids: fits to samples have none.")
    return Parameters(model.units * model.slopes[:, None], model.weights.copy(), model.offsets.copy(), model.intercept)


@dataclass(frozen=True)
class Family:
    """Which members of the general model a fit may use.

    Attributes
    ----------
    activation : Activation
    labels : bool
        y is -1 or +1 with mean r(x), and the weights lie on the simplex; otherwise noise is additive.
    slopes : {"each", "common"} or float
        Per unit, one for all, or known.
    offsets, intercept : bool
        Whether b and c are fitted or zero.
    """

    activation: Activation
    labels: bool = False
    slopes: str | float = "each"
    offsets: bool = False
    intercept: bool = False

    @classmethod
    def of(
        cls,
        activation: str | Activation = "tanh",
        *,
        labels: bool = False,
        slopes: str | float = "each",
        offsets: bool = False,
        intercept: bool = False,
    ) -> Family:
        """Check the options and return the family."""
        known = get_activation(activation)
        if isinstance(slopes, str):
            if slopes not in ("each", "common"):
                raise ValueError(f"slopes must be 'each', 'common' or a number above 0, got {slopes!r}.")
        elif not (np.isfinite(slopes) and slopes > 0):
            raise ValueError(f"slopes must be 'each', 'common' or a number above 0, got {slopes!r}.")
        if labels and ((known.low, known.high) != (-1.0, 1.0) or known.odd_form is None):
            raise ValueError(f"labels need an odd activation between -1 and 1, got {known.name!r}; use 'tanh'.")
        if labels and intercept:
            raise ValueError("labels are a mixture without an intercept: use offsets instead.")
        return cls(known, labels, slopes, offsets, intercept)

    def n_parameters(self, n_units: int, n_features: int) -> int:
        """Return the number of free parameters of a model with `n_units` units."""
        per_unit = n_features + 1 + int(self.offsets)
        total = n_units * per_unit + int(self.intercept) - int(self.labels)
        if self.slopes == "common":
            return total - n_units + 1
        return total if self.slopes == "each" else total - n_units

    def size(self, n_units: int, n_features: int) -> int:
        """Return the length of the flat vector of :meth:`pack`."""
        return n_units * (n_features + 1 + int(self.offsets)) + int(self.intercept)

    def pack(self, theta: Parameters) -> Floats:
        """Flatten to [A, u, b?, c?]."""
        parts = [theta.A.ravel(), theta.u]
        if self.offsets:
            parts.append(theta.b)
        if self.intercept:
            parts.append(np.array([theta.c]))
        return np.concatenate(parts)

    def unpack(self, flat: Floats, n_units: int, n_features: int) -> Parameters:
        """Invert :meth:`pack`."""
        k, kd = n_units, n_units * n_features
        b = flat[kd + k : kd + 2 * k].copy() if self.offsets else np.zeros(k)
        c = float(flat[-1]) if self.intercept else 0.0
        return Parameters(flat[:kd].reshape(k, n_features).copy(), flat[kd : kd + k].copy(), b, c)

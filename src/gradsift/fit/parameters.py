"""The numbers being fitted, and where each of them sits in a flat vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..activations import Activation
from ..arguments import Floats
from ..model import SigmoidCombination


@dataclass(frozen=True)
class Layout:
    """Where the parameters of a layer sit in a flat vector, in one of two orders.

    By unit: ``[a_1 b_1 ... a_k b_k | weights | intercept | linear]``, so that what a unit owns is one block. By kind:
    ``[A | weights | offsets | intercept | linear]``. What is not fitted is left out.

    Attributes
    ----------
    n_units, n_features : int
    offsets, intercept, linear : bool
        Whether they are fitted.
    by_unit : bool
        The order.
    """

    n_units: int
    n_features: int
    offsets: bool = True
    intercept: bool = True
    linear: bool = False
    by_unit: bool = True

    @property
    def row_length(self) -> int:
        """Numbers from one unit's vector to the next one's."""
        return self.n_features + (self.by_unit and self.offsets)

    @property
    def per_unit(self) -> int:
        """Unknowns that a unit brings: vector, weight and, if it is fitted, offset."""
        return self.n_features + 1 + self.offsets

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        return self.n_units * self.per_unit + self.intercept + self.linear * self.n_features

    def a(self, unit: int) -> slice:
        """One unit's vector."""
        return slice(unit * self.row_length, unit * self.row_length + self.n_features)

    def own(self, unit: int) -> slice:
        """One unit's vector and offset, by unit."""
        if not self.by_unit:
            raise ValueError("A layout by kind has no block for a unit: use its slices a, b and weights.")
        return slice(unit * self.row_length, (unit + 1) * self.row_length)

    @property
    def first(self) -> slice:
        """The first coordinates of all vectors."""
        return slice(0, self.n_units * self.row_length, self.row_length)

    @property
    def units(self) -> slice:
        """All vectors and, by unit, offsets; to be reshaped to ``(n_units, row_length)``."""
        return slice(0, self.n_units * self.row_length)

    @property
    def weights(self) -> slice:
        """All weights."""
        return slice(self.n_units * self.row_length, self.n_units * (self.row_length + 1))

    @property
    def b(self) -> slice:
        """All offsets."""
        if not self.offsets:
            return slice(0, 0)
        if self.by_unit:
            return slice(self.n_features, self.n_units * self.row_length, self.row_length)
        return slice(self.weights.stop, self.weights.stop + self.n_units)

    @property
    def c(self) -> slice:
        """The intercept."""
        start = self.n_units * self.per_unit
        return slice(start, start + self.intercept)

    @property
    def linear_term(self) -> slice:
        """The linear term."""
        return slice(self.c.stop, self.size)

    def pack(self, theta: Parameters) -> Floats:
        """Return parameters as a flat vector."""
        flat = np.empty(self.size)
        self.rows(flat)[:, : self.n_features] = theta.A
        flat[self.weights] = theta.u
        if self.offsets:
            flat[self.b] = theta.b
        flat[self.c] = theta.c
        flat[self.linear_term] = 0.0 if theta.linear is None else theta.linear
        return flat

    def unpack(self, flat: Floats) -> Parameters:
        """Invert :meth:`pack`; what is not fitted is zero."""
        return Parameters(
            self.rows(flat)[:, : self.n_features].copy(),
            flat[self.weights].copy(),
            flat[self.b].copy() if self.offsets else np.zeros(self.n_units),
            float(flat[self.c][0]) if self.intercept else 0.0,
            flat[self.linear_term].copy() if self.linear else None,
        )

    def rows(self, flat: Any) -> Any:
        """Return what belongs to the units, one row each: vectors and, by unit, offsets; a view."""
        return flat[self.units].reshape(self.n_units, self.row_length)


class Parameters(NamedTuple):
    """One model in the coordinates of a fit: A (k, d) with rows slope times unit, u (k,), b (k,), c, linear (d,)."""

    A: Floats
    u: Floats
    b: Floats
    c: float
    linear: Floats | None = None

    @property
    def layout(self) -> Layout:
        """Where all these numbers sit in a flat vector by unit."""
        k, d = self.A.shape
        return Layout(k, d, linear=self.linear is not None)

    def to_model(self, activation: Activation | str) -> SigmoidCombination:
        """Return the model; a unit of zero length keeps an arbitrary direction and the smallest slope."""
        rows = self.A.copy()
        rows[~rows.any(axis=1), 0] = np.finfo(np.float64).tiny
        linear = 0.0 if self.linear is None else self.linear
        return SigmoidCombination(rows, self.u, 1.0, self.b, self.c, activation, linear)


def from_model(model: SigmoidCombination) -> Parameters:
    """Return the parameters of a model, which must have no linear term."""
    if model.has_linear_term:
        raise ValueError("model must have no linear term beside its sigmoids: fits to samples have none.")
    return Parameters(model.units * model.slopes[:, None], model.weights.copy(), model.offsets.copy(), model.intercept)

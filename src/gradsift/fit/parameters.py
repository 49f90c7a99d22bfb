"""The numbers being fitted, where each of them sits in a flat vector, and the family of models they may range over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..activations import Activation, get_activation
from ..arguments import Floats
from ..likelihood import CERTAINTY, Gaussian, Labels, Likelihood, LogOdds
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


@dataclass(frozen=True)
class Family:
    """Which members of the general model a fit may use.

    Attributes
    ----------
    activation : Activation
    labels : bool
        y is -1 or +1; otherwise noise is additive.
    slopes : {"each", "common"} or float
        Per unit, one for all, or known.
    offsets, intercept : bool
        Whether b and c are fitted or zero.
    link : {"identity", "logit"}
        Of labels: r(x) is their mean, and the weights lie on the simplex, or their log-odds, and weights are free.
    """

    activation: Activation
    labels: bool = False
    slopes: str | float = "each"
    offsets: bool = False
    intercept: bool = False
    link: str = "identity"

    @classmethod
    def of(
        cls,
        activation: str | Activation = "tanh",
        *,
        labels: bool = False,
        slopes: str | float = "each",
        offsets: bool = False,
        intercept: bool = False,
        link: str = "identity",
    ) -> Family:
        """Check the options and return the family."""
        known = get_activation(activation)
        if isinstance(slopes, str):
            if slopes not in ("each", "common"):
                raise ValueError(f"slopes must be 'each', 'common' or a number above 0, got {slopes!r}.")
        elif not (np.isfinite(slopes) and slopes > 0):
            raise ValueError(f"slopes must be 'each', 'common' or a number above 0, got {slopes!r}.")
        if link not in ("identity", "logit") or (link == "logit" and not labels):
            raise ValueError(f"link must be 'identity', or 'logit' for labels, got {link!r}.")
        mixture = labels and link == "identity"
        if mixture and ((known.low, known.high) != (-1.0, 1.0) or known.odd_form is None):
            raise ValueError(f"labels need an odd activation between -1 and 1, got {known.name!r}; use 'tanh'.")
        if mixture and intercept:
            raise ValueError("labels are a mixture without an intercept: use offsets instead.")
        return cls(known, labels, slopes, offsets, intercept, link)

    @property
    def simplex(self) -> bool:
        """Whether weights lie on the simplex: labels whose mean is r."""
        return self.labels and self.link == "identity"

    @property
    def likelihood(self) -> Likelihood:
        """What rows say: labels, or noise whose size is taken from the residuals."""
        if self.labels:
            return Labels() if self.simplex else LogOdds()
        return Gaussian()

    @property
    def rough(self) -> Likelihood:
        """The same for scores of units to be added or dropped, which few certain labels must not decide."""
        if self.labels:
            return Labels(CERTAINTY.statistic) if self.simplex else LogOdds(CERTAINTY.statistic)
        return Gaussian()

    def n_parameters(self, n_units: int, n_features: int) -> int:
        """Return the number of free parameters of a model with `n_units` units."""
        per_unit = n_features + 1 + int(self.offsets)
        total = n_units * per_unit + int(self.intercept) - int(self.simplex)
        if self.slopes == "common":
            return total - n_units + 1
        return total if self.slopes == "each" else total - n_units

    def layout(self, n_units: int, n_features: int) -> Layout:
        """Return where the parameters sit in the flat vector of a fit: by kind, [A, weights, offsets?, intercept?]."""
        return Layout(n_units, n_features, self.offsets, self.intercept, by_unit=False)

    def size(self, n_units: int, n_features: int) -> int:
        """Return the length of the flat vector of :meth:`pack`."""
        return self.layout(n_units, n_features).size

    def pack(self, theta: Parameters) -> Floats:
        """Return the parameters as a flat vector."""
        return self.layout(*theta.A.shape).pack(theta)

    def unpack(self, flat: Floats, n_units: int, n_features: int) -> Parameters:
        """Invert :meth:`pack`."""
        return self.layout(n_units, n_features).unpack(flat)

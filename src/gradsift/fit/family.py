"""The family of models that a fit to rows may range over, and how answers scatter about them: a class of tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..activations import Activation, get_activation
from ..arguments import Floats
from ..likelihood import CERTAINTY, Gaussian, Labels, Likelihood, LogOdds
from .parameters import Layout, Parameters


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

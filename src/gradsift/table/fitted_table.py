"""What a search hands back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Floats
from ..certificate import Judged, Verdict
from ..fit import Family, Refined
from ..inference import StandardErrors
from ..model import SigmoidCombination
from .frame import Frame
from .options import Choices


class Null(NamedTuple):
    """What a constant leaves: its log-likelihood, the variance of y, and half the summed logs of precision weights."""

    log_likelihood: float
    y_variance: float
    log_weights: float = 0.0


@dataclass(frozen=True)
class Fit(Judged):
    """A fitted model and what the search saw on the way.

    Attributes
    ----------
    model : SigmoidCombination
        In the user's coordinates, in canonical form where the family allows it.
    family : Family
    frame : Frame
        The coordinates of `refined`.
    refined : Refined
        The optimum over all rows.
    n_rows : int
    hits : int
        How many survivors of the races ended in this optimum.
    gap : float
        Nats to the next best optimum that was seen (inf: none).
    p_better : float
        p-value of the cross-fitted test that a better unit exists.
    standard_errors : StandardErrors
        From the sandwich covariance, in the user's coordinates.
    judgement : Verdict
        The checks, and what they add up to; `certified`, `verdict` and `checks` are read from it.
    choices : Choices
    null : Null
    diagnostics : dict
        Plain numbers and strings.
    """

    model: SigmoidCombination
    family: Family
    frame: Frame
    refined: Refined
    n_rows: int
    hits: int
    gap: float
    p_better: float
    standard_errors: StandardErrors
    judgement: Verdict
    choices: Choices
    null: Null
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @property
    def n_units(self) -> int:
        """k."""
        return self.model.n_units

    @property
    def n_parameters(self) -> int:
        """Free parameters of the model, without the noise variance."""
        return self.family.n_parameters(self.model.n_units, self.frame.basis.shape[1])

    @property
    def log_likelihood(self) -> float:
        """Maximised log-likelihood of y given X (Gaussian noise of fitted variance, or labels)."""
        if self.family.labels:
            return -self.refined.loss
        mass = self.refined.mass
        variance = max(self.refined.noise_variance * self.frame.y_scale**2, np.finfo(np.float64).tiny)
        return -0.5 * mass * (float(np.log(2 * np.pi * variance)) + 1) + self.null.log_weights

    @property
    def directions(self) -> Floats:
        """(k, d) unit vectors of the slopes per standard deviation of each column."""
        rows = self.model.units * self.frame.spread
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300))

    @property
    def angles(self) -> Floats:
        """(k,) root mean square errors of the directions, in radians; columns in units of their standard deviations."""
        return self.standard_errors.per_deviation(self.frame.spread).angles

    @property
    def r_squared(self) -> float:
        """Share of the target's variance that the fit explains; for labels McFadden's pseudo-R2."""
        if self.family.labels:
            return 1 - self.log_likelihood / min(self.null.log_likelihood, -1e-300)
        return 1 - self.refined.noise_variance * self.frame.y_scale**2 / max(self.null.y_variance, 1e-300)

    @property
    def degrees_of_freedom(self) -> float:
        """Weight of the rows less the number of parameters."""
        return max(self.refined.mass - self.n_parameters, 1.0)

    @property
    def noise(self) -> float:
        """Standard deviation of the residuals, degrees of freedom taken off; nan for labels."""
        if self.family.labels:
            return float("nan")
        return float(np.sqrt(2 * self.refined.loss / self.degrees_of_freedom)) * self.frame.y_scale

    @property
    def bic(self) -> float:
        """Schwarz's criterion; smaller is better."""
        return -2 * self.log_likelihood + self._n_estimated * float(np.log(self.refined.mass))

    @property
    def aic(self) -> float:
        """Akaike's criterion; smaller is better."""
        return -2 * self.log_likelihood + 2 * self._n_estimated

    @property
    def _n_estimated(self) -> int:
        return self.n_parameters + (0 if self.family.labels else 1)

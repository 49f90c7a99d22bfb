"""What a user decides about a fit beside the family: regularisation, the meaning of weights, how errors are had."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import at_least
from ..fit import NO_PRIOR, Prior
from ..sources import Source
from .frame import Frame

_WEIGHTS = ("sampling", "frequency", "precision")
_COVARIANCES = ("sandwich", "model", "cluster")
_CRITERIA = ("bic", "aic", "cv")
# Precision of slopes, weights and offsets beside a ridge: a product alone says nothing about its factors, and a unit
# whose offset runs away is lost along the path of ridges (birthwt in real_tables.py, splits 12 and 13).
_TAME = 1e-2
_LEAST_VARIANCE = 0.03  # share of the target's variance below which a ridge does not believe in less noise (guess)


@dataclass(frozen=True)
class TableOptions:
    """Options of a fit.

    Attributes
    ----------
    alpha : float or "auto"
        Precision of a Gaussian prior on the slopes per standard deviation of a column, in nats; see
        :func:`gradsift.table.search`.
    weights : {"sampling", "frequency", "precision"}
    covariance : {"sandwich", "model", "cluster"}
    groups : (n,) array, optional
        Cluster of each row.
    criterion : {"bic", "aic", "cv"}
        What decides the number of units.
    """

    alpha: float | str = 0.0
    weights: str = "sampling"
    covariance: str = "sandwich"
    groups: Any = None
    criterion: str = "bic"

    def checked(self, n_rows: int) -> TableOptions:
        """Return the choices with groups as numbers, or say in one sentence what is wrong with them."""
        if self.alpha != "auto":
            if isinstance(self.alpha, str):
                raise ValueError(f"alpha must be 'auto' or a number of at least 0, got {self.alpha!r}.")
            at_least("alpha", self.alpha, 0)
        for name, value, allowed in (
            ("weights", self.weights, _WEIGHTS),
            ("covariance", self.covariance, _COVARIANCES),
            ("n_units", self.criterion, ("a whole number", *_CRITERIA)),
        ):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
        if self.covariance == "cluster" and self.groups is None:
            raise ValueError("covariance='cluster' needs groups, one entry per row.")
        if self.groups is None:
            return self
        groups = np.asarray(self.groups)
        if groups.shape != (n_rows,):
            raise ValueError(f"groups must have one entry for each of the {n_rows} rows, got shape {groups.shape}.")
        numbers = np.unique(groups, return_inverse=True)[1]
        if numbers.max() == 0:
            raise ValueError("groups must name at least two clusters.")
        return replace(self, groups=numbers)


def weight_scale(source: Source, weights: str) -> float:
    """Return the factor that makes weights of mean one over the rows that have any; one where they count rows."""
    moments = source.moments
    if weights == "frequency":
        return 1.0
    held = getattr(source, "weight", None)
    n = source.n_rows if not isinstance(held, np.ndarray) else int(np.count_nonzero(held))
    scale = n / moments.mass
    return 1.0 if abs(scale - 1) < 1e-12 else scale


def search_prior(alpha: float, frame: Frame) -> Prior:
    """Return the prior under which optima are sought: the ridge, or a weak one that keeps spikes away."""
    return Prior() if alpha == 0 else _ridge(alpha, frame)


def final_prior(alpha: float, frame: Frame) -> Prior:
    """Return the prior of the fit that is handed back: none for maximum likelihood."""
    return NO_PRIOR if alpha == 0 else _ridge(alpha, frame)


def _ridge(alpha: float, frame: Frame) -> Prior:
    """Return Gaussians of precision alpha for the slopes of each unit's contribution per standard deviation."""
    return Prior(_TAME, _TAME, _TAME, 0.0, products=alpha * frame.ridge, least_variance=_LEAST_VARIANCE)

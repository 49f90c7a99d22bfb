"""How much the rows can tell: information, bounds, standard errors, bootstrap.

Everything here is a function of a model and of rows; nothing depends on how the model was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from .arguments import Floats, as_generator, at_least, finite_matrix, whole
from .fit import (
    NO_PRIOR,
    Chart,
    Equations,
    Family,
    Layout,
    NormalEquations,
    Parameters,
    covariance_of,
    from_model,
    half_angles,
    refine,
)
from .geometry import match_units
from .model import SigmoidCombination
from .sources import ArraySource, Rows, as_source


@dataclass(frozen=True)
class StandardErrors:
    """Standard errors of a fitted model, from the covariance of its flat parameters [A, weights, offsets?, intercept?].

    Attributes
    ----------
    model : SigmoidCombination
    family : Family
    covariance : (size, size) array
        A has rows slope times unit.
    """

    model: SigmoidCombination
    family: Family
    covariance: Floats

    @cached_property
    def _blocks(self) -> Floats:
        blocks = [self._layout.a(unit) for unit in range(self.model.n_units)]
        return np.array([self.covariance[block, block] for block in blocks])  # (k, d, d)

    @cached_property
    def _tangent(self) -> Floats:
        """(k, d, d) covariances of the unit vectors: the part across the unit, over the slope."""
        units = self.model.units
        across = np.eye(units.shape[1]) - units[:, :, None] * units[:, None, :]
        scaled = across @ self._blocks @ across
        return np.asarray(scaled / (self.model.slopes**2)[:, None, None])

    def per_deviation(self, spread: Floats) -> StandardErrors:
        """Return the errors for columns in units of their standard deviations (d,), in which angles mean the same
        whatever the columns were measured in."""
        model, layout = self.model, self._layout
        turn = np.ones(layout.size)
        for unit in range(model.n_units):
            turn[layout.a(unit)] = spread
        theta = from_model(model)
        scaled = theta._replace(A=theta.A * spread).to_model(self.family.activation)
        return StandardErrors(scaled, self.family, self.covariance * turn[:, None] * turn)

    @property
    def units(self) -> Floats:
        """(k, d): of each coordinate of each unit vector."""
        return np.asarray(np.sqrt(np.maximum(np.einsum("kii->ki", self._tangent), 0)))

    @property
    def angles(self) -> Floats:
        """(k,): root mean square angle, in radians, between each unit and the truth (to first order)."""
        return np.asarray(np.sqrt(np.maximum(np.einsum("kii->k", self._tangent), 0)))

    @property
    def slopes(self) -> Floats:
        """(k,) of the slopes."""
        units = self.model.units
        return np.asarray(np.sqrt(np.maximum(np.einsum("ki,kij,kj->k", units, self._blocks, units), 0)))

    @property
    def weights(self) -> Floats:
        """(k,) of the weights."""
        return self._of(self._layout.weights)

    @property
    def offsets(self) -> Floats:
        """(k,) of the offsets; zero where they were not fitted."""
        return self._of(self._layout.b) if self.family.offsets else np.zeros(self.model.n_units)

    @property
    def intercept(self) -> float:
        """Of the intercept; zero where it was not fitted."""
        return float(self._of(self._layout.c)[0]) if self.family.intercept else 0.0

    def as_dict(self) -> dict[str, Floats]:
        """Return the standard errors by parameter name."""
        return {
            "units": self.units,
            "slopes": self.slopes,
            "weights": self.weights,
            "offsets": self.offsets,
            "intercept": np.array([self.intercept]),
        }

    @property
    def _layout(self) -> Layout:
        return self.family.layout(*self.model.units.shape)

    def _of(self, part: slice) -> Floats:
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance)[part], 0)))


def fisher_information(
    model: SigmoidCombination, X: ArrayLike, *, noise: float | str, family: Family | None = None
) -> Floats:
    """Return the Fisher information of the rows X about the flat parameters, shape (size, size).

    Parameters
    ----------
    noise : float or "labels"
        Standard deviation of additive Gaussian noise, or -1/+1 labels with mean r(x).
    family : Family, optional
        Which parameters are unknown; by default those of the paper, with one slope per unit.
    """
    rows = finite_matrix("X", X, model.n_features)
    family = family or default_family(model, labels=noise == "labels")
    summary = NormalEquations(family, from_model(model), single=False)
    r = model.predict(rows)
    information = ArraySource(rows, r).reduce(summary).curvature  # the curvature does not depend on y
    assert information is not None  # asked for by default
    if noise == "labels":
        return information
    if isinstance(noise, str):
        raise ValueError(f"noise must be a number above 0 or 'labels', got {noise!r}.")
    at_least("noise", noise, 0, strict=True)
    return information / noise**2


def cramer_rao(
    model: SigmoidCombination, X: ArrayLike, *, noise: float | str, family: Family | None = None
) -> StandardErrors:
    """Return the smallest standard errors that any unbiased estimate from rows X can have."""
    family = family or default_family(model, labels=noise == "labels")
    information = fisher_information(model, X, noise=noise, family=family)
    return standard_errors(model, family, information)


def default_family(model: SigmoidCombination, *, labels: bool) -> Family:
    """Return the family whose unknowns are the parameters that the model uses."""
    return Family.of(
        model.activation,
        labels=labels,
        offsets=bool(model.offsets.any()),
        intercept=model.intercept != 0 and not labels,
    )


def standard_errors(model: SigmoidCombination, family: Family, information: Floats) -> StandardErrors:
    """Return the standard errors that an information matrix allows, on the family's constraint surface."""
    G = Chart(family).tangent(from_model(model))
    return StandardErrors(model, family, G @ covariance_of(G.T @ information @ G) @ G.T)


def sandwich(equations: Equations, family: Family, theta: Parameters, metric: Floats | None = None) -> Floats:
    """Return the covariance of the flat parameters that stays right when the noise model is wrong.

    Bread is the curvature, filling the sum of squared scores; corrected for the number of parameters (HC1).
    """
    if equations.curvature is None or equations.scatter is None:
        raise ValueError("equations must hold curvature and scatter: sum them with scatter=True.")
    G = Chart(family, metric).tangent(theta)
    bread = covariance_of(G.T @ equations.curvature @ G)
    left = G @ bread
    correction = equations.mass / max(equations.mass - G.shape[1], 1.0)
    return np.asarray(correction * left @ (G.T @ equations.scatter @ G) @ left.T)


def confidence_cones(errors: StandardErrors, level: float = 0.95) -> Floats:
    """Return (k,) half-angles, in radians, of cones that each hold the true unit with probability `level`."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level!r}.")
    spectra = np.maximum(np.linalg.eigvalsh(errors._tangent), 0)
    return np.asarray(np.minimum(half_angles(spectra, level), np.pi / 2))


@dataclass(frozen=True)
class Bootstrap:
    """Refits to resampled rows, aligned unit by unit with the fit.

    Attributes
    ----------
    models : tuple of SigmoidCombination
        Units in the order and with the signs of the original fit.
    errors : (n_resamples, k) array
        Distance of each refitted unit from the original one.
    """

    models: tuple[SigmoidCombination, ...]
    errors: Floats

    def interval(self, name: str, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the percentile interval of ``units``, ``weights``, ``slopes`` or ``offsets``."""
        draws = np.array([getattr(model, name) for model in self.models])
        tail = 50 * (1 - level)
        low, high = np.percentile(draws, [tail, 100 - tail], axis=0)
        return low, high


def bootstrap(
    model: SigmoidCombination,
    source: Any,
    family: Family | None = None,
    *,
    groups: Any = None,
    n_resamples: int = 100,
    rng: Any = None,
) -> Bootstrap:
    """Refit to resamples of the rows, or of whole clusters, each from the fit itself, and align the units (Hungarian).

    Rows are drawn into memory. About five passes per resample.

    Parameters
    ----------
    source : Source, or (X, y), or (X, y, weight)
    family : Family, optional
        Which parameters are fitted; by default those that the model uses, by least squares (labels where y holds only
        -1 and +1 and the weights are those of a mixture).
    groups : (n,) array, optional
        Clusters, which are drawn as wholes.
    """
    whole("n_resamples", n_resamples)
    rng, source = as_generator(rng), as_source(source)
    rows = source.take(np.arange(source.n_rows))
    if family is None:
        mixture = bool((model.weights > 0).all()) and abs(float(model.weights.sum()) - 1) < 1e-6
        family = default_family(model, labels=mixture and bool((np.abs(rows.y) == 1).all()))
    clusters = np.arange(source.n_rows) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if len(clusters) != source.n_rows:
        raise ValueError(f"groups must have one entry for each of the {source.n_rows} rows, got {len(clusters)}.")
    n_clusters = int(clusters.max()) + 1
    base = np.ones(source.n_rows) if rows.weight is None else rows.weight
    models, errors = [], []
    for _ in range(n_resamples):
        weight = base * rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters))[clusters]
        refitted = _refit(model, family, Rows(rows.X, rows.y, weight))
        match = match_units(refitted.units, model.units)
        order, signs = match.order, match.signs
        models.append(
            SigmoidCombination(
                refitted.units[order] * signs[:, None],
                refitted.weights[order] * signs,
                refitted.slopes[order],
                refitted.offsets[order] * signs,
                refitted.intercept,
                model.activation,
            )
        )
        errors.append(match.errors)
    return Bootstrap(tuple(models), np.array(errors))


def _refit(model: SigmoidCombination, family: Family, rows: Rows) -> SigmoidCombination:
    source = ArraySource(*rows)
    refined = refine(
        lambda theta, curvature: source.reduce(NormalEquations(family, theta, curvature=curvature)),
        family,
        from_model(model),
        prior=NO_PRIOR,
    )
    return refined.theta.to_model(family.activation)


def p_value(statistic: float, n_tests: int = 1) -> float:
    """Return the two-sided p-value of the largest of `n_tests` standard Gaussian statistics (Bonferroni)."""
    return float(min(1.0, 2 * n_tests * ndtr(-abs(statistic))))

"""How sure are the parameters? Covariance, confidence cones, standard errors, the Cramer-Rao bound, the bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.special import gammaincinv, ndtr, ndtri

from ..activations import Activation
from ..arguments import Floats, as_generator, at_least, finite_matrix, whole
from ..geometry import match_units
from ..likelihood import Noise
from ..model import SigmoidCombination
from ..sources import ArraySource, Rows, as_source
from .constraints import NO_PRIOR, Coordinates
from .family import Family
from .jacobian import value_jacobian
from .normal_equations import NormalEquations, polish
from .parameters import Layout, Parameters, from_model


@dataclass(frozen=True)
class Fitted:
    """The most likely parameters and how sure they are.

    Attributes
    ----------
    theta : Parameters
    mirrors : (k, d) array
        Reflection vectors: ``x - 2 (x v) v`` has the unit along its first axis.
    information : (P, P) array
        Of the local coordinates: the layout by unit with all vectors reflected.
    loss : float
    residuals : (n,) array
    """

    theta: Parameters
    mirrors: Floats
    information: Floats
    loss: float
    residuals: Floats

    @cached_property
    def covariance(self) -> Floats:
        """(P, P) of the local coordinates."""
        return covariance_of(self.information)

    def block(self, unit: int) -> Floats:
        """(d + 1, d + 1) covariance of one unit's reflected a and its offset."""
        part = self.theta.layout.own(unit)
        return self.covariance[part, part]

    def tangent(self, unit: int) -> Floats:
        """(d - 1, d - 1) covariance of one unit's direction."""
        d = self.theta.A.shape[1]
        return np.asarray(self.block(unit)[1:d, 1:d] / (self.theta.A[unit] @ self.theta.A[unit]))

    @property
    def angles(self) -> Floats:
        """(k,) root mean square errors of the directions, in radians."""
        return np.array([np.sqrt(np.trace(self.tangent(unit))) for unit in range(len(self.theta.u))])

    def standardised_residuals(self, X: Floats, noise: Noise, g: Activation) -> Floats:
        """(n,) residuals at the rows X of the fit over their standard deviations: fitting makes residuals smaller."""
        J = value_jacobian(self.theta, X, g, self.mirrors)
        sd = noise.sd * noise.relative
        # Var(residual_i) = sd_i^2 (1 - h_i), h_i = j_i' C j_i / sd_i^2 being the leverage of answer i on its own fit.
        leverage = np.einsum("np,np->n", J @ self.covariance, J) / sd**2
        return np.asarray(self.residuals / (sd * np.sqrt(np.maximum(1 - leverage, 0.05))))


def covariance_of(information: Floats) -> Floats:
    """Invert an information matrix in its own scale: by its Cholesky factor, or by its eigenvectors where it is nearly
    singular; directions without information get a variance that looks infinite."""
    scale, factor = _factor(information)
    if factor is not None:
        return np.asarray(cho_solve((factor, True), np.eye(len(factor))) * scale[:, None] * scale)
    # Nearly singular: cut the eigenvalues below rounding, so that their directions get a variance that looks infinite.
    values, vectors = np.linalg.eigh(information * scale[:, None] * scale)
    inverse = (vectors / np.maximum(values, 1e-15)) @ vectors.T
    return np.asarray(inverse * scale[:, None] * scale)


def covariance_factor(information: Floats) -> Floats:
    """Return a matrix that, times its transpose, is :func:`covariance_of` the same information."""
    scale, factor = _factor(information)
    if factor is not None:
        return np.asarray(solve_triangular(factor, np.diag(scale), lower=True, check_finite=False).T)
    values, vectors = np.linalg.eigh(information * scale[:, None] * scale)
    return np.asarray(scale[:, None] * vectors / np.sqrt(np.maximum(values, 1e-15)))


def _factor(information: Floats) -> tuple[Floats, Floats | None]:
    """Return what scales a matrix to a diagonal of ones, and the lower Cholesky factor of that; None if it is nearly
    singular."""
    # Invert D H D with unit diagonal instead of H: units of parameters then cost no digits.
    scale = 1 / np.sqrt(np.maximum(np.diag(information), 1e-30))  # what no row tells stays finite
    try:
        factor = cho_factor(information * scale[:, None] * scale, lower=True, check_finite=False)[0]
    except (LinAlgError, ValueError):
        return scale, None
    return scale, factor if float(np.diag(factor).min(initial=1.0)) > 1e-5 else None


def half_angles(spectra: Floats, level: Any) -> Floats:
    """Return (k,) half-angles, in radians, that hold a direction with probability `level`.

    A squared angle is a weighted sum of chi-squares, whose quantile is taken from the scaled chi-square of equal mean
    and variance (Satterthwaite).

    Parameters
    ----------
    spectra : (k, m) array
        Eigenvalues of the covariance of each direction, at least zero.
    """
    # Match sum_i lambda_i chi2_1 by c chi2_f of the same mean c f and variance 2 c^2 f (Satterthwaite).
    total, squares = spectra.sum(axis=1), np.maximum((spectra**2).sum(axis=1), 1e-300)
    freedom = np.maximum(total**2 / squares, 1e-3)
    return np.asarray(np.sqrt(squares / np.maximum(total, 1e-300) * 2 * gammaincinv(0.5 * freedom, level)))


LEVELS = (0.99, 0.95, 0.999)  # of the cones that end a campaign, of the error bounds, and of the surest claim


def cones(fitted: Fitted, level: float = LEVELS[0]) -> Floats:
    """Return (k,) half-angles that hold all true directions at once with probability `level`.

    The scale of an angle goes like 1 / (u sqrt(|a|)): the replies on a unit's slope are a share 1 / |a| of all, and
    each tells u |a| times the angle. Where u sqrt(|a|) is overestimated the cone is too narrow, so that it is widened
    by the quantile of its own error.
    """
    k, d = fitted.theta.A.shape
    if d < 2:
        return np.zeros(k)
    # All k cones hold together if each holds with 1 - (1 - level) / k (Bonferroni).
    tail = 1 - (1 - level) / k
    spectra = np.array([np.maximum(np.linalg.eigvalsh(fitted.tangent(unit)), 0) for unit in range(k)])
    return np.asarray(half_angles(spectra, tail) * np.exp(ndtri(tail) * _scale_errors(fitted)))


def _scale_errors(fitted: Fitted) -> Floats:
    """Return the standard error of ``log u + log|a| / 2`` for each unit."""
    theta, C = fitted.theta, fitted.covariance
    layout = theta.layout
    errors = np.empty(layout.n_units)
    for unit in range(layout.n_units):
        at = [layout.a(unit).start, layout.weights.start + unit]
        # The first reflected coordinate is the signed length of a: d log|a| / 2 = 0.5 / a_1 times its change.
        along = theta.A[unit] - 2 * (theta.A[unit] @ fitted.mirrors[unit]) * fitted.mirrors[unit]
        weights = np.array([0.5 / along[0], 1 / theta.u[unit]])
        errors[unit] = np.sqrt(max(float(weights @ C[np.ix_(at, at)] @ weights), 0.0))
    return np.asarray(np.minimum(errors, 2.0))


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
        # Errors of a direction w = a / |a| are those of a across w, over |a|: (I - w w') C (I - w w') / |a|^2.
        across = np.eye(units.shape[1]) - units[:, :, None] * units[:, None, :]
        scaled = across @ self._blocks @ across
        return np.asarray(scaled / (self.model.slopes**2)[:, None, None])

    def standardised(self, spread: Floats) -> StandardErrors:
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

    @property
    def _layout(self) -> Layout:
        return self.family.layout(*self.model.units.shape)

    def _of(self, part: slice) -> Floats:
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance)[part], 0)))


def information(model: SigmoidCombination, X: ArrayLike, *, noise: float | str, family: Family | None = None) -> Floats:
    """Return the Fisher information of the rows X about the flat parameters, shape (size, size).

    Parameters
    ----------
    noise : float or "labels"
        Standard deviation of additive Gaussian noise, or -1/+1 labels with mean r(x).
    family : Family, optional
        Which parameters are unknown; by default those of the paper, with one slope per unit.
    """
    rows = finite_matrix("X", X, model.n_features)
    family = family or family_of(model, labels=noise == "labels")
    summary = NormalEquations(family, from_model(model), single=False)
    # The Fisher information needs no answers: with y = r the curvature of the normal equations is the information.
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
    family = family or family_of(model, labels=noise == "labels")
    return standard_errors(model, family, information(model, X, noise=noise, family=family))


def family_of(model: SigmoidCombination, *, labels: bool) -> Family:
    """Return the family whose unknowns are the parameters that the model uses."""
    return Family.of(
        model.activation,
        labels=labels,
        offsets=bool(model.offsets.any()),
        intercept=model.intercept != 0 and not labels,
    )


def standard_errors(model: SigmoidCombination, family: Family, information: Floats) -> StandardErrors:
    """Return the standard errors that an information matrix allows, on the family's constraint surface."""
    # On a constraint surface only the tangent G moves: Cov = G (G' I G)^-1 G'.
    G = Coordinates(family).tangent(from_model(model))
    return StandardErrors(model, family, G @ covariance_of(G.T @ information @ G) @ G.T)


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

    def bounds(self, name: str, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the percentile interval of ``units``, ``weights``, ``slopes`` or ``offsets``."""
        draws = np.array([getattr(model, name) for model in self.models])
        tail = 50 * (1 - level)
        low, high = np.percentile(draws, [tail, 100 - tail], axis=0)
        return low, high


def _as_labels(model: SigmoidCombination, y: Floats) -> bool:
    """Say whether y, (n,), are labels of a mixture; two classes of another model do not say how it was fitted."""
    classes = np.unique(y)
    if len(classes) != 2 or classes[1] != 1 or classes[0] not in (-1, 0):
        return False
    if (model.weights > 0).all() and abs(float(model.weights.sum()) - 1) < 1e-6:
        return True
    raise ValueError(
        f"y holds only {classes[0]:g} and 1, and the model is no mixture of classes: give family=recovery.fit.family, "
        "so that they are refitted as they were fitted."
    )


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
        Which parameters are fitted, and how; by default those that the model uses, by least squares, or as labels where
        y holds two classes, -1 or 0 and +1, and the weights are those of a mixture. Required where y holds two classes
        and the model is no mixture: ``recovery.fit.family`` of the fit.
    groups : (n,) array, optional
        Clusters, which are drawn as wholes.
    """
    whole("n_resamples", n_resamples)
    rng, source = as_generator(rng), as_source(source)
    rows = source.take(np.arange(source.n_rows))
    if family is None:
        family = family_of(model, labels=_as_labels(model, rows.y))
    if family.labels:
        rows = rows._replace(y=np.where(rows.y > 0, 1.0, -1.0))
    clusters = np.arange(source.n_rows) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if len(clusters) != source.n_rows:
        raise ValueError(f"groups must have one entry for each of the {source.n_rows} rows, got {len(clusters)}.")
    n_clusters = int(clusters.max()) + 1
    base = np.ones(source.n_rows) if rows.weight is None else rows.weight
    models, errors = [], []
    for _ in range(n_resamples):
        # A resample is the same rows with multinomial weights, so that no row is copied.
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
    refined = polish(
        lambda theta, curvature: source.reduce(NormalEquations(family, theta, curvature=curvature)),
        family,
        from_model(model),
        prior=NO_PRIOR,
    )
    return refined.theta.to_model(family.activation)


def p_value(statistic: float, n_tests: int = 1) -> float:
    """Return the two-sided p-value of the largest of `n_tests` standard Gaussian statistics (Bonferroni)."""
    return float(min(1.0, 2 * n_tests * ndtr(-abs(statistic))))

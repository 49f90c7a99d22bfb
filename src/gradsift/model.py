"""The model: a constant plus a weighted sum of sigmoids of linear forms (eq:Model, with slopes and offsets)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .activations import Activation, get_activation
from .arguments import Floats, as_generator, at_least, finite_matrix, finite_vector, whole
from .files import read_model, write_model
from .geometry import choose_terms, mirror_slope, normalize_rows, row_lengths
from .implements import implements

_MODEL_VERSION = 2  # 2: with a linear term; without one, files stay at 1
_ARRAYS = ("units", "weights", "slopes", "offsets")
_MODEL_FIELDS = (*_ARRAYS, "linear", "intercept", "activation", "format", "version")


class SigmoidCombination:
    """``r(x) = intercept + <linear, x> + sum_l weights[l] f(slopes[l] <units[l], x> + offsets[l])``.

    Parameters
    ----------
    units : (k, d) array
        Directions; a row of another length than one is normalised and its length moves into the slope,
        so that the function stays the same.
    weights : (k,) array
    slopes, offsets : float or (k,) array
    intercept : float
    activation : {"tanh", "logistic", "erf", "arctan", "softsign", "relu", "leaky_relu", "softplus", "silu", "gelu",
            "gelu_tanh", "elu", "mish"}
    linear : float or (d,) array
        A linear term beside the sigmoids (a skip connection); zero by default.

    Notes
    -----
    The paper's model (eq:Model) has a common slope, no offsets, no intercept, no linear term, and tanh.
    The object is immutable: its arrays are read-only.
    """

    def __init__(
        self,
        units: ArrayLike,
        weights: ArrayLike,
        slopes: ArrayLike = 1.0,
        offsets: ArrayLike = 0.0,
        intercept: float = 0.0,
        activation: str | Activation = "tanh",
        linear: ArrayLike = 0.0,
    ) -> None:
        rows = finite_matrix("units", units)
        k = len(rows)
        lengths = row_lengths(rows)
        if (lengths == 0).any():
            raise ValueError(f"units must have a direction, but row {int(np.argmin(lengths))} is zero.")
        steep = finite_vector("slopes", slopes, k)
        unit_length = np.abs(lengths - 1) < 1e-12  # leave rows alone that are unit up to rounding
        self.units: Floats = np.where(unit_length[:, None], rows, normalize_rows(rows))
        with np.errstate(over="ignore"):  # refused below
            self.slopes: Floats = np.where(unit_length, steep, steep * lengths)
        if not ((self.slopes > 0) & np.isfinite(self.slopes)).all():
            off = float(self.slopes[~((self.slopes > 0) & np.isfinite(self.slopes))][0])
            raise ValueError(f"slopes (times the length of the unit) must be finite and above 0, got {off:g}.")
        self.weights: Floats = finite_vector("weights", weights, k).copy()
        self.offsets: Floats = finite_vector("offsets", offsets, k).copy()
        self.intercept = float(finite_vector("intercept", intercept, 1)[0])
        self.linear: Floats = finite_vector("linear", linear, rows.shape[1]).copy()
        self._activation = get_activation(activation)
        for name in (*_ARRAYS, "linear"):
            getattr(self, name).setflags(write=False)

    # What it is

    @property
    def activation(self) -> str:
        """Name of the sigmoid."""
        return self._activation.name

    @property
    def n_units(self) -> int:
        """k, the number of hidden units."""
        return int(self.units.shape[0])

    @property
    def n_features(self) -> int:
        """d, the number of inputs."""
        return int(self.units.shape[1])

    @property
    def has_linear_term(self) -> bool:
        """Whether there is a linear term beside the sigmoids."""
        return bool(self.linear.any())

    @property
    def n_parameters(self) -> int:
        """k (d + 2) + 1: direction with slope, offset, weight of each unit, and the intercept; d more if there is a
        linear term."""
        return self.n_units * (self.n_features + 2) + 1 + self.n_features * self.has_linear_term

    def __repr__(self) -> str:
        return f"SigmoidCombination({self.n_units} {self.activation} units in dimension {self.n_features})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SigmoidCombination):
            return NotImplemented
        same = all(np.array_equal(getattr(self, a), getattr(other, a)) for a in (*_ARRAYS, "linear"))
        return same and self.intercept == other.intercept and self.activation == other.activation

    __hash__ = None  # type: ignore[assignment]

    # What it computes

    def arguments(self, X: ArrayLike) -> Floats:
        """Return the (n, k) arguments of the sigmoids at the rows of X."""
        rows = finite_matrix("X", X, self.n_features)
        return np.asarray(rows @ (self.units * self.slopes[:, None]).T + self.offsets)

    @implements("eq:Model")
    def predict(self, X: ArrayLike) -> Floats:
        """Return r at the rows of X, shape (n,). O(n k d) flops."""
        rows = finite_matrix("X", X, self.n_features)
        values = self._activation.value(self.arguments(rows)) @ self.weights + self.intercept
        return np.asarray(values + rows @ self.linear if self.has_linear_term else values)

    @implements("gradient")
    def gradient(self, X: ArrayLike) -> Floats:
        """Return the gradient of r at the rows of X, shape (n, d)."""
        active = self._activation.derivative(self.arguments(X)) * (self.weights * self.slopes)  # (n, k)
        return np.asarray(active @ self.units + self.linear)

    @implements("population")
    def smoothed_gradient(self, points: ArrayLike) -> Floats:
        """Return the mean gradient around each point, ``E grad r(X)`` for ``X ~ N(point, I)``, shape (m, d).

        The expectation is one-dimensional per unit and is taken by quadrature, 256 nodes each.
        """
        coefficients = self._activation.smoothed_derivative(self.arguments(points), self.slopes)  # (m, k)
        return np.asarray((coefficients * (self.weights * self.slopes)) @ self.units + self.linear)

    def sample(
        self,
        n: int,
        noise: float | str | None = 0.1,
        rng: Any = None,
        *,
        mean: ArrayLike = 0.0,
        covariance: ArrayLike | None = None,
    ) -> tuple[Floats, Floats]:
        """Draw rows and answers.

        Parameters
        ----------
        n : int
        noise : float, "labels" or None
            Standard deviation of additive Gaussian noise; "labels" draws y in {-1, +1} with mean r(x);
            None returns r(x) itself.
        rng : None, int or Generator
        mean, covariance : (d,) and (d, d) arrays
            Of the Gaussian rows; standard by default.

        Returns
        -------
        X : (n, d) array
        y : (n,) array
        """
        whole("n", n)
        rng = as_generator(rng)
        X = rng.standard_normal((n, self.n_features))
        if covariance is not None:
            X = X @ _factor(finite_matrix("covariance", covariance, self.n_features)).T
        X = X + finite_vector("mean", mean, self.n_features)
        r = self.predict(X)
        if noise is None:
            return X, r
        if noise == "labels":
            if np.abs(r).max() > 1 + 1e-12:
                raise ValueError(f"noise='labels' needs |r| <= 1, but |r| reaches {np.abs(r).max():.3g}.")
            return X, np.where(rng.random(n) < 0.5 * (1 + r), 1.0, -1.0)
        if isinstance(noise, str):
            raise ValueError(f"noise must be a number, 'labels' or None, got {noise!r}.")
        at_least("noise", noise, 0)
        return X, r + noise * rng.standard_normal(n)

    def canonical(self) -> SigmoidCombination:
        """Return the same function in the one form that all its equals share, units ordered by decreasing weight.

        A sigmoid that is odd about its centre makes (weight, unit, offset) and their negatives one unit: weights are
        positive, and what is left over moves into the intercept. Where f(z) - f(-z) is linear (ReLU, leaky ReLU,
        softplus, SiLU, GELU) a unit may point either way, and the difference moves into the linear term: the largest
        entry of every unit is positive. Slopes are one where f has no scale (ReLU, leaky ReLU). Units of other
        activations stay as they are.
        """
        if mirror_slope(self._activation) is not None:
            largest = np.abs(self.units).argmax(axis=1)
            turned = self._turned(self.units[np.arange(self.n_units), largest] < 0)
            return turned._without_scale()._ordered()
        turns = self._activation.odd_form is not None
        sign = np.where((self.weights < 0) & turns, -1.0, 1.0)
        left_over = 2 * self._activation.middle * float(self.weights[sign < 0].sum()) if turns else 0.0
        order = np.argsort(-np.abs(self.weights), kind="stable")
        return SigmoidCombination(
            (self.units * sign[:, None])[order],
            (self.weights * sign)[order],
            self.slopes[order],
            (self.offsets * sign)[order],
            self.intercept + left_over,
            self._activation,
            self.linear,
        )

    def plain(self, fits: float = 1e-6) -> SigmoidCombination | None:
        """Return the same function without a linear term; None if it needs one.

        Units of ReLU, leaky ReLU, softplus, SiLU and GELU can be turned, which adds to the linear term or takes from
        it (see :meth:`canonical`); the turns that leave nothing are found by :func:`gradsift.geometry.choose_terms`.
        What rounding leaves, up to a share `fits` of a unit's part, is set to zero.
        """
        slope = mirror_slope(self._activation)
        if slope is None or not self.has_linear_term:
            return None if self.has_linear_term else self._ordered()
        parts = (slope * self.weights * self.slopes)[:, None] * self.units
        turns = choose_terms(parts, -self.linear, fits)
        if turns is None:
            return None
        turned = self._turned(turns)._without_scale()
        return SigmoidCombination(
            turned.units, turned.weights, turned.slopes, turned.offsets, turned.intercept, self._activation
        )._ordered()

    def _turned(self, turns: NDArray[np.bool_]) -> SigmoidCombination:
        """Return the same function with some units pointing the other way; f(z) - f(-z) must be linear."""
        slope = mirror_slope(self._activation) or 0.0
        sign = np.where(turns, -1.0, 1.0)
        parts = np.where(turns, slope * self.weights, 0.0)
        return SigmoidCombination(
            self.units * sign[:, None],
            self.weights,
            self.slopes,
            self.offsets * sign,
            self.intercept + float(parts @ self.offsets),
            self._activation,
            self.linear + (parts * self.slopes) @ self.units,
        )

    def _without_scale(self) -> SigmoidCombination:
        """Return the same function with slopes of one where ``f(s z) = s f(z)``."""
        if not self._activation.homogeneous:
            return self
        return SigmoidCombination(
            self.units,
            self.weights * self.slopes,
            1.0,
            self.offsets / self.slopes,
            self.intercept,
            self._activation,
            self.linear,
        )

    def _ordered(self) -> SigmoidCombination:
        order = np.argsort(-np.abs(self.weights), kind="stable")
        units, weights, slopes, offsets = (a[order] for a in (self.units, self.weights, self.slopes, self.offsets))
        return SigmoidCombination(units, weights, slopes, offsets, self.intercept, self._activation, self.linear)

    # Other libraries

    def to_torch(self) -> Any:
        """Return a float64 ``torch.nn.Module`` from (n, d) to (n,); see :func:`gradsift.export.to_torch`."""
        from .export import to_torch

        return to_torch(self)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write an ONNX file with input ``X`` and output ``y``; see :func:`gradsift.export.to_onnx`."""
        from .export import to_onnx

        to_onnx(self, path)

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn ``MLPRegressor``; see :func:`gradsift.export.to_sklearn`."""
        from .export import to_sklearn

        return to_sklearn(self)

    # Files

    def save(self, path: str | os.PathLike[str], notes: Mapping[str, Any] | None = None) -> None:
        """Write one ``.json`` or ``.npz`` file (no pickle); either reads back to the same bits.

        A ``.json`` file keeps `notes` (plain values by name) beside the model, which :meth:`load` passes over.
        """
        arrays = {name: getattr(self, name) for name in (*_ARRAYS, *(["linear"] if self.has_linear_term else []))}
        header = {"activation": self.activation, "intercept": self.intercept}
        version = _MODEL_VERSION if self.has_linear_term else 1
        write_model(path, "SigmoidCombination", version, header, arrays, notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SigmoidCombination:
        """Read a file written by :meth:`save`, by this or an earlier version."""
        fields = read_model(path, "SigmoidCombination", _MODEL_VERSION, _MODEL_FIELDS)
        try:
            units, weights, slopes, offsets = (fields[name] for name in _ARRAYS)
            intercept, activation = float(fields["intercept"]), str(fields["activation"])
            return cls(units, weights, slopes, offsets, intercept, activation, fields.get("linear", 0.0))
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise ValueError(f"{path} holds a damaged SigmoidCombination: {problem}") from None


def _factor(covariance: Floats) -> Floats:
    """Return the Cholesky factor, which by itself would not notice an asymmetric matrix."""
    try:
        if np.allclose(covariance, covariance.T, rtol=1e-8, atol=0.0):
            return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    raise ValueError("covariance must be symmetric and positive definite, but it is not.")

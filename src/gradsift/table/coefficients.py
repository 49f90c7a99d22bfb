"""The coefficients of a fit as a statistician reads them: names, errors, tests, intervals, and the summary as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc

from ..arguments import Floats
from ..certificate import lines
from ..fit import NormalEquations, from_model
from ..runtime import load_extra
from .table_certificate import Fit


@dataclass(frozen=True)
class Coefficients:
    """Every fitted number by name, per original unit of the columns.

    Attributes
    ----------
    names : tuple of str
        "unit 1: weight", "unit 1: offset", "unit 1: COLUMN", ..., "intercept". What was not fitted is not here.
    estimates, errors : (p,) arrays
        A number that is fixed (the weight of a single component) has error zero.
    matrix : (p, p) array
        Covariance of the estimates.
    degrees_of_freedom : float
        Of Student's t: the fit's, or one less than the number of clusters; infinite for labels.
    """

    names: tuple[str, ...]
    estimates: Floats
    errors: Floats
    matrix: Floats
    degrees_of_freedom: float

    @property
    def z(self) -> Floats:
        """(p,) estimates over their errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.errors > 0, self.estimates / self.errors, np.nan))

    @property
    def p(self) -> Floats:
        """(p,) two-sided p-values of the hypothesis that a number is zero."""
        return np.asarray(2 * _reference(self.degrees_of_freedom).sf(np.abs(self.z)))

    def conf_int(self, level: float = 0.95) -> Floats:
        """Return (p, 2) confidence bounds."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie in (0, 1), got {level!r}.")
        half = _reference(self.degrees_of_freedom).ppf(0.5 + level / 2) * self.errors
        return np.column_stack((self.estimates - half, self.estimates + half))

    def covariance(self) -> Any:
        """Return the covariance as a pandas frame with names, (p, p)."""
        return load_extra("pandas", "report").DataFrame(self.matrix, index=list(self.names), columns=list(self.names))

    def as_frame(self, level: float = 0.95) -> Any:
        """Return a pandas frame, one row per coefficient."""
        return load_extra("pandas", "report").DataFrame(self.columns(level), index=list(self.names))

    def columns(self, level: float = 0.95) -> dict[str, Floats]:
        """Return what the frame, the summary and JSON show, column by column."""
        bounds = self.conf_int(level)
        return {
            "coef": self.estimates, "std err": self.errors, "z": self.z, "P>|z|": self.p, "low": bounds[:, 0],
            "high": bounds[:, 1],
        }  # fmt: skip

    def lines(self, level: float = 0.95) -> list[str]:
        """Return the table as text."""
        width = max(len(name) for name in self.names)
        low, high = f"[{50 * (1 - level):.3g}%", f"{50 * (1 + level):.4g}%]"
        rows = [f"{'':<{width}} {'coef':>11} {'std err':>10} {'z':>8} {'P>|z|':>7} {low:>11} {high:>11}"]
        for name, *numbers in zip(self.names, *self.columns(level).values()):
            coef, error, z, p, below, above = (float(v) for v in numbers)
            if error == 0:
                rows.append(f"{name:<{width}} {coef:11.5g} {'fixed':>10}")
                continue
            rows.append(f"{name:<{width}} {coef:11.5g} {error:10.3g} {z:8.2f} {p:7.3f} {below:11.5g} {above:11.5g}")
        return rows


def _reference(freedom: float) -> Any:
    """Return Student's t, or the normal distribution it becomes."""
    from scipy.stats import norm, t  # slow to import, and rarely needed

    return norm if np.isinf(freedom) else t(freedom)


def coefficients(fit: Fit, feature_names: Sequence[str] | None = None) -> Coefficients:
    """Return the coefficients of a fit, in the order of its units."""
    model, family = fit.model, fit.family
    layout = family.layout(*model.units.shape)
    columns = _columns(feature_names, model.n_features)
    names: list[str] = []
    where: list[int] = []
    places = np.arange(layout.size)
    for unit in range(model.n_units):
        names += [f"unit {unit + 1}: weight"]
        where += [int(places[layout.weights][unit])]
        if family.offsets:
            names += [f"unit {unit + 1}: offset"]
            where += [int(places[layout.b][unit])]
        names += [f"unit {unit + 1}: {column}" for column in columns]
        where += places[layout.a(unit)].tolist()
    if family.intercept:
        names += ["intercept"]
        where += places[layout.c].tolist()
    flat = family.pack(from_model(model))[where]
    matrix = fit.standard_errors.covariance[np.ix_(where, where)]
    errors = np.sqrt(np.maximum(np.diag(matrix), 0))
    if family.simplex and model.n_units == 1:
        errors[0] = 0.0  # one component has all the weight
    return Coefficients(tuple(names), flat, errors, matrix, _freedom(fit))


def _freedom(fit: Fit) -> float:
    """Return the degrees of freedom of Student's t: clusters count, where they are what is independent."""
    if fit.family.labels:
        return np.inf
    choices = fit.choices
    return float(choices.groups.max()) if choices.covariance == "cluster" else fit.degrees_of_freedom


def _columns(feature_names: Sequence[str] | None, d: int) -> list[str]:
    names = [f"x{j + 1}" for j in range(d)] if feature_names is None else [str(name) for name in feature_names]
    if len(names) != d:
        raise ValueError(f"feature_names must have {d} entries, got {len(names)}.")
    return names


class PredictionBounds(NamedTuple):
    """Predictions (n,) and their bounds (n, 2)."""

    prediction: Floats
    bounds: Floats


def prediction_bounds(fit: Fit, X: Floats, level: float, of: str = "observation") -> PredictionBounds:
    """Return predictions and bounds that hold a new observation, or the mean response, with probability `level`.

    To first order in the errors of the parameters. O(n size^2) flops.
    """
    if not 0 < level < 1:
        raise ValueError(f"interval must lie in (0, 1), got {level!r}.")
    if of not in ("observation", "mean"):
        raise ValueError(f"of must be 'observation' or 'mean', got {of!r}.")
    if fit.family.labels and of == "observation":
        raise ValueError("of must be 'mean' for labels: a label is one of two classes, for which there is no interval.")
    # Delta method: Var r(x) = j' C j, and the noise on top for a new observation.
    J = NormalEquations(fit.family, from_model(fit.model), single=False).jacobian(X)
    variance = np.maximum(np.einsum("np,np->n", J @ fit.standard_errors.covariance, J), 0)
    if of == "observation":
        variance = variance + fit.noise**2
    law = _reference(np.inf if fit.family.labels else _freedom(fit))
    r = np.asarray(fit.model.predict(X))
    half = law.ppf(0.5 + level / 2) * np.sqrt(variance)
    return PredictionBounds(r, np.column_stack((r - half, r + half)))


class LikelihoodRatio(NamedTuple):
    """Twice the gain of the larger model (over the inflation that uneven noise causes), degrees of freedom, p-value."""

    statistic: float
    degrees_of_freedom: int
    p_value: float


def likelihood_ratio(larger: Fit, smaller: Fit) -> LikelihoodRatio:
    """Test a fit against one that is nested in it: fewer columns, no offsets, common slopes.

    Models with different numbers of units are refused: a unit of weight zero has no direction, so that the ratio is not
    chi-square; ``p_better`` tests for a further unit.
    """
    if larger.n_units != smaller.n_units:
        raise ValueError(
            f"Both fits must have the same number of units, got {larger.n_units} and {smaller.n_units}: the likelihood "
            "ratio of different numbers is not chi-square. diagnostics['p_better'] tests for a further unit."
        )
    if larger.family.labels != smaller.family.labels or larger.n_rows != smaller.n_rows:
        raise ValueError("Both fits must be of one kind and to the same rows.")
    if larger.choices.alpha or smaller.choices.alpha:
        raise ValueError("Both fits must be by maximum likelihood (alpha=0): a ridge changes the law of the ratio.")
    extra = larger.n_parameters - smaller.n_parameters
    if extra <= 0:
        raise ValueError(
            f"The smaller fit must have fewer parameters, got {smaller.n_parameters} against {larger.n_parameters}."
        )
    # Uneven noise inflates the ratio by the same factor as the gain of a parameter in BIC.
    price = 1.0 if larger.choices.covariance == "model" else larger.inflation
    statistic = max(0.0, 2 * (larger.log_likelihood - smaller.log_likelihood) / price)
    return LikelihoodRatio(statistic, extra, float(chdtrc(extra, statistic)))


_MODELS = {"identity": "mixture of classifiers, labels", "logit": "log-odds of labels"}
_ERROR_KINDS = {
    "sandwich": "jackknife sandwich, HC3 (rows independent, noise of any size)",
    "model": "the noise model's",
    "cluster": "jackknife by cluster, CR3 (groups independent)",
}


def facts(fit: Fit) -> dict[str, Any]:
    """Return what describes the whole fit, by name; numbers that were not fitted are said so."""
    family = fit.family
    held: dict[str, Any] = {
        "model": _MODELS[family.link] if family.labels else "least squares",
        "units": fit.n_units,
        "rows": fit.n_rows,
        "parameters": fit.n_parameters,
        "degrees of freedom": fit.degrees_of_freedom,
        "log-likelihood": fit.log_likelihood,
        "AIC": fit.aic,
        "BIC": fit.bic,
        "pseudo-R2" if family.labels else "R2": fit.r_squared,
    }
    if not family.labels:
        held["noise sd"] = fit.noise
    held["offsets"] = "fitted" if family.offsets else "not fitted"
    if not family.simplex:
        held["intercept"] = "fitted" if family.intercept else "not fitted"
    held["errors"] = _ERROR_KINDS[fit.choices.covariance]
    held["weights"] = fit.choices.weights
    held["alpha"] = fit.choices.alpha
    return held


def summary(fit: Fit, feature_names: Sequence[str] | None = None, level: float = 0.95) -> str:
    """Return verdict, facts, coefficients per original unit, directions per standard deviation, and the checks."""
    shown = [f"{name}: {_text(value)}" for name, value in facts(fit).items()]
    width = max(len(text) for text in shown) + 2
    pairs = [f"{a:<{width}}{b}".rstrip() for a, b in zip(shown[::2], [*shown[1::2], ""])]
    table = coefficients(fit, feature_names)
    names = [name.partition(": ")[2] for name in table.names if name.startswith("unit 1: ")][-fit.model.n_features :]
    angles = fit.angles
    directions = [
        f"unit {unit + 1} (+- {np.degrees(angles[unit]):.2g} degrees): {_largest(fit.directions[unit], names)}"
        for unit in range(fit.n_units)
    ]
    notes = [f"Note: {note}." for note in fit.diagnostics.get("notes", ())]
    return "\n".join(
        [
            fit.verdict, "", *pairs, "", "Coefficients, per original unit of each column (slope times direction):",
            *table.lines(level), "", "Directions, per standard deviation of each column:", *directions, *notes, "",
            *lines(fit.checks),
        ]
    )  # fmt: skip


def _largest(direction: Any, names: Sequence[str]) -> str:
    order = np.argsort(-np.abs(direction), kind="stable")[:6]
    shown = ", ".join(f"{names[j]} {direction[j]:.3f}" for j in order)
    return shown + (", ..." if len(direction) > 6 else "")


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

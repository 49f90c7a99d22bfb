"""Does the noise behave? Variance from residuals, and tests for heavy tails, outliers, drift and uneven variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, kurtosistest, norm
from scipy.stats import f as f_distribution

from ...checking import Floats

__all__ = ["Variance", "complaints", "excess_kurtosis", "relative_spread"]

_LEVEL = 1e-3
_UNEVEN_LEVEL = 1e-4  # from which a variance function replaces one variance
_SCORINGS = 20
_LEAST_SPREAD = 0.4  # relative: a parabola of logarithms must not make a few answers all-important
_TAIL_LEVEL = 1e-2  # of the fourth moment: heavy tails are the likeliest fault, and hard to see


@dataclass(frozen=True)
class Variance:
    """An estimate of the noise variance from `freedom` degrees of freedom; infinitely many if it is known."""

    value: float
    freedom: float

    @property
    def sd(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.value))

    def pooled(self, squares: float, freedom: float) -> Variance:
        """Return the estimate with `freedom` more squares of the given sum."""
        if not np.isfinite(self.freedom) or freedom <= 0:
            return self
        total = self.freedom + freedom
        return Variance((self.value * self.freedom + squares) / total, total)

    def too_small(self, squares: float, freedom: float, level: float = _LEVEL) -> bool:
        """Tell whether residuals are larger than this noise explains."""
        if freedom <= 0:
            return True
        other = min(self.freedom, 1e6)
        return bool(squares / freedom / self.value > f_distribution.isf(level, freedom, other))


def excess_kurtosis(residuals: Floats) -> float:
    """Return the fourth moment over the squared second one, minus the Gaussian's three."""
    return float(np.mean(residuals**4) / max(float(np.mean(residuals**2)) ** 2, 1e-300) - 3)


def complaints(residuals: Floats, predictions: Floats) -> list[str]:
    """Return sentences about residuals, in the order of asking, that are not independent Gaussian noise of one size.

    The tests: the largest residual (Bonferroni) and the fourth moment, level 0.01; the drift of the mean over twenty
    stretches of the campaign and the rank correlation of size with prediction, level 0.001.
    """
    n = len(residuals)
    if n < 60:
        return []
    z = residuals / max(float(np.sqrt(np.mean(residuals**2))), 1e-300)
    found = []
    limit = norm.isf(_TAIL_LEVEL / (2 * n))
    outside = int((np.abs(z) > limit).sum())
    kurtosis = excess_kurtosis(z)
    if outside or kurtosistest(z, alternative="greater").pvalue < _TAIL_LEVEL:
        found.append(
            f"the noise has heavy tails or outliers ({outside} of {n} residuals beyond {limit:.1f} standard "
            f"deviations, excess kurtosis {kurtosis:.2f})"
        )
    stretches = np.array([part.sum() / np.sqrt(len(part)) for part in np.array_split(z, 20)])
    drift = float((stretches**2).sum())
    if drift > 45.3:  # chi-square with 20 degrees of freedom, level 0.001
        found.append(f"the answers drift during the campaign (chi-square {drift:.0f} over 20 stretches)")
    ranks = np.argsort(np.argsort(np.abs(z))), np.argsort(np.argsort(predictions))
    uneven = float(np.corrcoef(*ranks)[0, 1]) * np.sqrt(n - 1)
    if abs(uneven) > norm.isf(_LEVEL / 2):
        found.append(f"the noise is {'larger' if uneven > 0 else 'smaller'} where the function is larger")
    return found


def relative_spread(residuals: Floats, predictions: Floats) -> Floats | None:
    """Return each answer's standard deviation over that of all, (n,), where the noise depends on the function's value.

    The variance function is ``log v = a + b r + c r^2``, by maximum likelihood (Fisher scoring); None where the score
    test of b = c = 0 does not ask for it.
    """
    z = (predictions - predictions.mean()) / max(float(predictions.std()), 1e-300)
    basis = np.linalg.qr(np.column_stack([np.ones_like(z), z, z**2]))[0]  # (n, 3)
    squares = residuals**2 / max(float(np.mean(residuals**2)), 1e-300)
    if 0.5 * float(((basis[:, 1:].T @ squares) ** 2).sum()) < chi2.isf(_UNEVEN_LEVEL, 2):
        return None
    logs = np.zeros(len(z))
    for _ in range(_SCORINGS):
        step = basis.T @ (squares * np.exp(-logs) - 1)
        logs = np.clip(
            logs + basis @ step * min(1.0, np.sqrt(len(z)) / max(float(np.linalg.norm(step)), 1e-300)), -8, 8
        )
    spread = np.exp(0.5 * logs)
    return np.asarray(np.maximum(spread / np.sqrt(np.mean(spread**2)), _LEAST_SPREAD))

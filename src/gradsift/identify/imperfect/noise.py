"""Does the noise behave? Variance from residuals, and tests for heavy tails, outliers, drift and uneven variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import f as f_distribution
from scipy.stats import kurtosistest, norm

from ...checking import Floats

__all__ = ["Variance", "complaints", "excess_kurtosis"]

_LEVEL = 1e-3
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

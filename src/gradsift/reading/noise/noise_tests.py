"""Does the noise behave? Variance from residuals, and tests for heavy tails, outliers, drift and uneven variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, chdtri, fdtri, ndtr, ndtri

from ...arguments import Floats
from ...certificate import NOISY, Check
from ...certificate import noise_rules as imperfect
from .settings import DOUBT, NOISE


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

    def too_small(self, squares: float, freedom: float, level: float = DOUBT.level) -> bool:
        """Tell whether residuals are larger than this noise explains."""
        if freedom <= 0:
            return True
        other = min(self.freedom, 1e6)
        return bool(squares / freedom / self.value > fdtri(freedom, other, 1 - level))


def excess_kurtosis(residuals: Floats) -> float:
    """Return the fourth moment over the squared second one, minus the Gaussian's three."""
    return float(np.mean(residuals**4) / max(float(np.mean(residuals**2)) ** 2, 1e-300) - 3)


def noise_checks(residuals: Floats, predictions: Floats) -> list[Check]:
    """Return checks that residuals, in the order of asking, are independent Gaussian noise of one size; none of few.

    The tests: the largest residual (Bonferroni) and the fourth moment; the mean over stretches of the campaign and its
    trend; the correlation of neighbours; and the rank correlation of size with prediction.
    """
    n = len(residuals)
    if n < NOISY.few:
        return []
    z = residuals / max(float(np.sqrt(np.mean(residuals**2))), 1e-300)
    # Lag-one correlation is about normal with variance 1 / n; Spearman's with 1 / (n - 1).
    alike = float(np.mean(z[1:] * z[:-1]))
    ranks = np.argsort(np.argsort(np.abs(z))), np.argsort(np.argsort(predictions))
    uneven = float(np.corrcoef(*ranks)[0, 1]) * np.sqrt(n - 1)
    return [
        imperfect.tails(_tails(z), NOISY),
        imperfect.drift(_drift(z), NOISY),
        imperfect.alike_errors(alike, float(ndtr(-alike * np.sqrt(n))), NOISY),
        imperfect.uneven_noise(2 * float(ndtr(-abs(uneven))), uneven > 0, NOISY),
    ]


def _drift(z: Floats) -> imperfect.Drift:
    """Return what the tests for a drifting mean found in standardised residuals."""
    n = len(z)
    # Sums over stretches of independent residuals have variance one: chi-square. A linear trend is tested beside them.
    stretches = np.array([part.sum() / np.sqrt(len(part)) for part in np.array_split(z, NOISY.stretches)])
    chi_square = float((stretches**2).sum())
    times = np.arange(n) - 0.5 * (n - 1)
    trend = float(z @ times / np.linalg.norm(times))
    p_value = 2 * min(float(chdtrc(NOISY.stretches, chi_square)), 2 * float(ndtr(-abs(trend))))
    return imperfect.Drift(p_value, chi_square, trend)


def _tails(z: Floats) -> imperfect.Tails:
    """Return what the tests for heavy tails found in standardised residuals."""
    from scipy.stats import kurtosistest  # slow to import, and rarely needed

    n, sizes = len(z), np.abs(z)
    beyond = float(-ndtri(NOISY.tails / (2 * n)))
    largest = 2 * n * float(ndtr(-sizes.max()))  # p-values, the first after Bonferroni
    fourth = float(kurtosistest(z, alternative="greater").pvalue)
    return imperfect.Tails(min(largest, fourth), int((sizes > beyond).sum()), beyond, excess_kurtosis(z), n)


def relative_spread(residuals: Floats, predictions: Floats) -> Floats | None:
    """Return each answer's standard deviation over that of all, (n,), where the noise depends on the function's value.

    The variance function is ``log v = a + b r + c r^2``, by maximum likelihood (Fisher scoring); None where the score
    test of b = c = 0 does not ask for it.
    """
    z = (predictions - predictions.mean()) / max(float(predictions.std()), 1e-300)
    basis = np.linalg.qr(np.column_stack([np.ones_like(z), z, z**2]))[0]  # (n, 3)
    # Score test of b = c = 0: sums of squares along z and z^2, each of variance 2 in units of the noise.
    squares = residuals**2 / max(float(np.mean(residuals**2)), 1e-300)
    if 0.5 * float(((basis[:, 1:].T @ squares) ** 2).sum()) < chdtri(2, DOUBT.level):
        return None
    logs = np.zeros(len(z))
    for _ in range(DOUBT.most):
        # Fisher scoring for log v: with an orthonormal basis the information is I / 2, hence the plain step; its length
        # is limited so that the first steps do not overshoot.
        step = basis.T @ (squares * np.exp(-logs) - 1)
        logs = np.clip(
            logs + basis @ step * min(1.0, np.sqrt(len(z)) / max(float(np.linalg.norm(step)), 1e-300)), -8, 8
        )
    spread = np.exp(0.5 * logs)
    return np.asarray(np.maximum(spread / np.sqrt(np.mean(spread**2)), NOISE.least_spread))

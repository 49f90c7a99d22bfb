"""How far from the origin the units bend: compares answers at one radius with those far out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...likelihood import Noise
from ..ledger import Ledger
from ..question import SATURATING_KINDS, Narrowing, names_of
from .settings import SCALE


@dataclass(frozen=True)
class Scale:
    """Where to ask.

    Attributes
    ----------
    radius : float
        Standard deviation of the entries of random inputs at which typical arguments spread by about 3.
    intercept : float
    signal : float
        Root mean square of the far answers about the intercept.
    even : (n,) array
        Means of opposite answers far out: equal up to noise of half the variance.
    """

    radius: float
    intercept: float
    signal: float
    even: Floats


def find_scale(ledger: Ledger, noise: Noise, rng: np.random.Generator, guess: float = 2.0) -> Scale:
    """Find the radius of random inputs that suits a student; 24 queries if the first guess is right.

    Far out a unit is -u or +u, so that the mean of opposite answers is the intercept, and an answer nearer to the
    origin is a share of the far one that grows with the radius.
    """
    n, sd = 6, noise.sd
    directions = rng.standard_normal((n, ledger.n_features))
    far = ledger.ask(SCALE.far * np.concatenate([directions, -directions]), "scale").reshape(2, -1)
    odd, even = 0.5 * (far[0] - far[1]), 0.5 * (far[0] + far[1])
    sd = _at_least(sd, even)
    while odd @ odd < (8 + 0.5 * n) * sd**2 and n < 400:  # faint: labels, or noise as large as the signal
        more = rng.standard_normal((n, ledger.n_features))
        far = ledger.ask(SCALE.far * np.concatenate([more, -more]), "scale").reshape(2, -1)
        odd, even = np.append(odd, 0.5 * (far[0] - far[1])), np.append(even, 0.5 * (far[0] + far[1]))
        directions, n = np.concatenate([directions, more]), 2 * n
        sd = _at_least(noise.sd, even)
    square = float(np.mean(odd**2))
    # Labels have variance 1 - r^2: less noise where the signal is strong.
    signal = float(np.sqrt(max(2 * square - 1 if noise.labels else square - 0.5 * sd**2, 0.02 * square)))
    intercept = float(even.mean())
    if odd @ odd < (8 + 0.5 * n) * sd**2 or not odd.any():
        raise NotIdentifiable(
            f"Opposite answers far out agree within the noise of {sd:.2g} in {n} directions ({ledger.n_queries} "
            "queries): the function looks constant, or does not settle far out."
        )
    return Scale(_bracket(ledger, directions, odd, n * signal**2, guess, sd), intercept, signal, even)


def _at_least(sd: float, even: Floats) -> float:
    """Return the noise of one answer, or that of the means of opposite answers where it is larger."""
    return max(sd, float(np.sqrt(2 * np.var(even, ddof=1))))


def _bracket(ledger: Ledger, directions: Floats, odd: Floats, strength: float, radius: float, sd: float) -> float:
    doubt = 1.5 * sd * float(np.linalg.norm(odd)) / strength  # about two standard errors of a share
    low, high = 0.0, np.inf  # radii that are too small and too large
    for _ in range(SCALE.most_steps):
        near = ledger.ask(radius * np.concatenate([directions, -directions]), "scale").reshape(2, -1)
        share = float(0.5 * (near[0] - near[1]) @ odd / strength)
        if share < SCALE.grows and low == 0:
            _raise_if_growing(ledger, directions[0], odd[0])
        if SCALE.low <= share <= SCALE.high + doubt:
            return radius * float(np.clip(np.sqrt(SCALE.spread / _spread_of(share)), 0.6, 1.6))
        low, high = (radius, high) if share < SCALE.low else (low, radius)
        if low > 0 and np.isfinite(high):  # faint answers make shares uncertain: the range will do
            return float(np.sqrt(low * high))
        radius = 6 * radius if share < SCALE.low else radius / 6
    raise NotIdentifiable(
        f"No radius was found at which the function bends ({ledger.n_queries} queries): it is not a sum of sigmoids, "
        "or its inputs need another scale."
    )


def _raise_if_growing(ledger: Ledger, direction: Floats, odd: float) -> None:
    """Ask two answers four times as far out; where nothing grows, they are as large as before."""
    further = ledger.ask(4 * SCALE.far * np.stack([direction, -direction]), "scale")
    if abs(0.5 * (further[0] - further[1]) - 4 * odd) < abs(odd):
        raise NotIdentifiable(
            f"Far out the answers grow like the distance ({ledger.n_queries} queries): a linear term, or ReLU or "
            "similar units; name their activation.",
            rules_out=Narrowing(names_of(*SATURATING_KINDS)),
        )


def _spread_of(share: float) -> float:
    """Return the spread of arguments at which random answers are this share of the far ones (for tanh)."""
    return float(np.interp(share, (0.2, 0.36, 0.56, 0.74, 0.82, 0.89, 0.94), (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)))

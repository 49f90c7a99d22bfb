"""A box that is no exact sum of units: are its answers random, or is it close to one but for a small remainder?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..oracle import Oracle
from .answers import Floor
from .asking import EPS

__all__ = ["LOOK_COST", "SecondLook", "look_again"]

_REPEATED = 8  # inputs asked twice
_FAR_AGAIN = 1e3  # inputs this far out see sigmoids stand still; guess
_ON_RAY = 8
LOOK_COST = 2 * _REPEATED + _ON_RAY
_SMALL = 0.05  # of the answers' spread: a remainder up to this size is worth a network beside it; guess
_BITS = 64.0  # rounding errors by which equal questions may be answered differently


class SecondLook(NamedTuple):
    """What limits the answers after all, and whether that is noise or a remainder that does not settle far out."""

    floor: Floor
    is_noise: bool


def look_again(oracle: Oracle, rng: np.random.Generator) -> SecondLook | None:
    """Return the size of the noise or of a small remainder; None where there is neither. 16 or 24 queries."""
    points = rng.standard_normal((_REPEATED, oracle.n_features))
    first, again = oracle(points), oracle(points[::-1])[::-1]
    spread = float(np.std(first))
    if (np.abs(first - again) > _BITS * EPS * np.abs(first).max()).any():
        return SecondLook(Floor("noisy", float(np.sqrt(0.5 * np.mean((first - again) ** 2)))), is_noise=True)
    way = rng.standard_normal(oracle.n_features)
    far = oracle(_FAR_AGAIN * (1 + rng.random(_ON_RAY))[:, None] * way / np.linalg.norm(way))
    size = float(np.std(far))
    if not 0 < size < _SMALL * spread:
        return None
    return SecondLook(
        Floor("rounded", size, np.sqrt(12.0) * size), is_noise=False
    )  # the same wherever it is asked twice

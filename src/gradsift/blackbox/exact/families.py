"""Which sigmoid a step has, told from the samples on its slope; no queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checking import Floats
from ...errors import NotIdentifiable
from ..links import Link, with_plateaus
from .exact_policy import FAMILY

__all__ = [
    "Discontinuous",
    "Incomplete",
    "Slope",
    "family_misfits",
    "likely_family",
]


class Discontinuous(NotIdentifiable):
    """The function jumps between two inputs that are as near as rounding allows."""


class Incomplete(NotIdentifiable):
    """Units were found, but they do not explain all answers; others may have cancelled wherever it was looked."""


@dataclass(frozen=True)
class Slope:
    """Samples from one plateau (first) to the next (last).

    Attributes
    ----------
    angles, values : (n,) arrays
        Sorted by angle.
    """

    angles: Floats
    values: Floats


def family_misfits(slope: Slope) -> dict[str, float]:
    """Return for each family how far one unit of it misses the samples, over the step's height; inf if it cannot."""
    half = 0.5 * (slope.values[-1] - slope.values[0])
    if half == 0:
        return {link.odd.name: np.inf for link in with_plateaus()}
    ratios = (slope.values[1:-1] - slope.values[0]) / half - 1
    return {link.odd.name: _misfit(link, slope.angles[1:-1], ratios) for link in with_plateaus()}


def _misfit(link: Link, angles: Floats, ratios: Floats) -> float:
    arguments = link.invert(ratios)
    good = np.abs(arguments) < link.usable
    if good.sum() < 4:
        return np.inf
    weights = link.odd.derivative(arguments[good])
    middle, width = angles[good].mean(), np.ptp(angles[good])
    rate, constant = np.polyfit((angles[good] - middle) / width, arguments[good], 1, w=weights)
    fitted = link.odd.value(rate * (angles - middle) / width + constant)
    return float(np.abs(fitted - ratios).max())


def likely_family(slopes: tuple[Slope, ...]) -> str | None:
    """Return the family that fits one of the slopes, if any does."""
    best, name = FAMILY.fits, None
    for slope in slopes:
        for family, misfit in family_misfits(slope).items():
            if misfit < best:
                best, name = misfit, family
    return name

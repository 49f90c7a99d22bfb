"""How large the network is: the radius beyond which nothing changes along a ray."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checking import Floats
from ..errors import NotIdentifiable
from ..geometry import orthonormal_rows
from .ledger import Ledger
from .links import Link

__all__ = ["FAR", "Rays", "cast_rays"]

FAR = 2.0**30  # hyperplanes at a distance up to about 1e7 show up as a difference between here and nearby
_FACTOR = 8.0
_MOST = 16  # radii per ray: 8^16 is beyond FAR from any start


@dataclass(frozen=True)
class Rays:
    """Two orthonormal directions and the plateaus at their ends.

    Attributes
    ----------
    first, second : (d,) arrays
        `first` has the smaller scale.
    scale, second_scale : float
        Radius beyond which the ray is flat.
    plateaus : (3,) array
        Values far out along first, second and -first.
    """

    first: Floats
    second: Floats
    scale: float
    second_scale: float
    plateaus: Floats

    @property
    def intercept(self) -> float:
        """Far out along a line every odd unit takes opposite values, so that only the constant is left."""
        return 0.5 * float(self.plateaus[0] + self.plateaus[2])


def cast_rays(ledger: Ledger, link: Link, rng: np.random.Generator) -> Rays:
    """Ask far out and at growing radii along two random directions; about 10 queries.

    Raises
    ------
    NotIdentifiable
        Nothing changes anywhere, or the function does not settle far out.
    """
    directions = orthonormal_rows(2, ledger.n_features, rng)
    far = ledger.ask(FAR * directions, "rays")
    scales = _settling_radii(ledger, link, directions, far)
    nearer = int(np.argmin(scales))
    first, second = directions[nearer], directions[1 - nearer]
    back = ledger.ask(-FAR * first[None], "rays")
    plateaus = np.array([far[nearer], far[1 - nearer], back[0]])
    return Rays(first, second, float(scales[nearer]), float(scales[1 - nearer]), plateaus)


def _settling_radii(ledger: Ledger, link: Link, directions: Floats, far: Floats) -> Floats:
    """Return for each direction the radius from which the values equal those far out.

    Upwards from 1 while they differ, or downwards from 1 until they do.
    """
    radii = np.ones(2)
    values = ledger.ask(directions, "rays")
    settled = np.abs(values - far) <= ledger.tolerance
    going_up = ~settled
    last_change = np.where(going_up, 1.0, np.nan)
    change = np.abs(values - far)
    for _ in range(_MOST):
        open_rays = np.flatnonzero(np.where(going_up, ~settled, settled))
        if not len(open_rays):
            break
        radii[open_rays] *= np.where(going_up[open_rays], _FACTOR, 1 / _FACTOR)
        values = ledger.ask(radii[open_rays, None] * directions[open_rays], "rays")
        differs = np.abs(values - far[open_rays]) > ledger.tolerance
        settled[open_rays] = ~differs
        seen = open_rays[differs]
        last_change[seen] = radii[seen]
        change[seen] = np.abs(values - far[open_rays])[differs]
        if not going_up.any() and np.isfinite(last_change).any():
            break
    if np.isnan(last_change).all():
        raise NotIdentifiable(
            f"All {ledger.n_queries} answers are equal: the function looks constant, so there is no unit to find."
        )
    if (radii[going_up & ~settled] > FAR / _FACTOR).any():
        raise NotIdentifiable(
            "The function does not settle far out along a ray, so it is not a finite sum of saturating sigmoids."
        )
    # The size of the last change tells how close to saturation the slowest unit was.
    size = np.maximum(change / max(ledger.largest, 1e-300), 1e-16)
    argument = np.clip(link.invert(1 - np.minimum(size, 0.5)), link.flat / _FACTOR, link.flat)
    scales = last_change * link.flat / argument
    return np.asarray(np.where(np.isnan(scales), np.inf, scales))

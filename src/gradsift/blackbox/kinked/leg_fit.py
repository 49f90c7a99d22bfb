"""All kinks of a leg at once, to rounding: every answer on the leg is an equation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lstsq, qr, solve_triangular

from ...checking import Floats
from .kinked_policy import LEG_FIT
from .kinks import Kink
from .legs import LegScan, PathFailed
from .shape import Shape

__all__ = ["SettledLeg", "settle_leg"]


@dataclass(frozen=True)
class SettledLeg:
    """The function along a leg: a line from its start, and kinks.

    Attributes
    ----------
    level, slope : float
        At the start.
    kinks : tuple of Kink
        In order.
    root : (p, p) array
        ``root @ root.T`` is the covariance of level, slope and every kink's (place, change, width), in units of the
        rounding error of one answer, squared.
    chi : float
        Largest miss of an answer, in rounding errors.
    scatter : float
        Root mean square of the misses.
    """

    scan: LegScan
    level: float
    slope: float
    kinks: tuple[Kink, ...]
    root: Floats
    chi: float
    scatter: float

    def slopes(self) -> Floats:
        """Return the slopes of the straight pieces, shape (number of kinks + 1,)."""
        return self.slope + np.concatenate([[0.0], np.cumsum([kink.change for kink in self.kinks])])

    def slope_errors(self) -> Floats:
        """Return the errors of these slopes, in rounding errors of one answer."""
        changes = self.root[3 :: self._per_kink]
        return np.asarray(np.linalg.norm(np.cumsum(np.concatenate([self.root[1:2], changes]), axis=0), axis=1))

    def width_errors(self) -> Floats:
        """Return the relative errors of the widths, in rounding errors of one answer; 0 where kinks are sharp."""
        if self._per_kink == 2:
            return np.zeros(len(self.kinks))
        return np.asarray(np.linalg.norm(self.root[4::3], axis=1) / [kink.width for kink in self.kinks])

    @property
    def _per_kink(self) -> int:
        return 3 if self.kinks and self.kinks[0].width else 2

    def at(self, shape: Shape, t: Floats) -> tuple[Floats, Floats]:
        """Return the function at t, and its errors in rounding errors of one answer."""
        values, rows = _model(shape, np.array([self.level, self.slope]), self.kinks, np.asarray(t, dtype=np.float64))
        return values, np.asarray(np.linalg.norm(rows @ self.root, axis=1))


def settle_leg(shape: Shape, scan: LegScan, sigma: float) -> SettledLeg:
    """Fit line and kinks jointly to all answers on a leg by Gauss-Newton; O(n k^2) for n answers.

    Raises
    ------
    PathFailed
    """
    line = _first_line(shape, scan)
    kinks = scan.kinks
    for _ in range(LEG_FIT.rounds):
        values, jacobian = _model(shape, line, kinks, scan.times)
        scale = np.linalg.norm(jacobian, axis=0)
        scale[scale == 0] = 1.0
        step = lstsq(jacobian / scale, scan.values - values)[0] / scale
        line, kinks = line + step[:2], _moved(kinks, step[2:])
    values, jacobian = _model(shape, line, kinks, scan.times)
    misses = scan.values - values
    free = max(1, len(misses) - jacobian.shape[1])
    scale = np.linalg.norm(jacobian, axis=0)
    if not (np.isfinite(scale).all() and scale.all()):
        raise PathFailed("a kink leaves the leg when all answers on it are fitted")
    triangle = qr(jacobian / scale, mode="r")[0][: len(scale)]
    root = solve_triangular(triangle, np.eye(len(scale))) / scale[:, None]
    return SettledLeg(
        scan, float(line[0]), float(line[1]), kinks, root,
        float(np.abs(misses).max() / sigma), float(np.sqrt(misses @ misses / free)),
    )  # fmt: skip


def _first_line(shape: Shape, scan: LegScan) -> Floats:
    values, _ = _model(shape, np.zeros(2), scan.kinks, scan.times)
    slope, level = np.polyfit(scan.times / scan.leg.length, scan.values - values, 1)
    return np.array([level, slope / scan.leg.length])


def _model(shape: Shape, line: Floats, kinks: tuple[Kink, ...], t: Floats) -> tuple[Floats, Floats]:
    """Return values and derivatives in level, slope, and (place, change, width) of every kink."""
    values = line[0] + line[1] * t
    columns = [np.ones(len(t)), t]
    for kink in kinks:
        away = t - kink.place
        ramp, active = np.maximum(away, 0.0), (away > 0).astype(np.float64)
        if not kink.width:
            values = values + kink.change * ramp
            columns += [-kink.change * active, ramp]
            continue
        argument = kink.width * away
        rest, slope = shape.rest(kink.turn * argument), kink.turn * shape.rest_slope(kink.turn * argument)
        bump = ramp + rest / kink.width
        values = values + kink.change * bump
        columns += [
            -kink.change * (active + slope),
            bump,
            kink.change * (argument * slope - rest) / kink.width**2,
        ]
    return values, np.stack(columns, axis=1)


def _moved(kinks: tuple[Kink, ...], step: Floats) -> tuple[Kink, ...]:
    n = 3 if kinks and kinks[0].width else 2
    return tuple(
        Kink(k.place + s[0], k.change + s[1], k.width + (s[2] if n == 3 else 0.0), k.turn)
        for k, s in zip(kinks, step.reshape(-1, n))
    )

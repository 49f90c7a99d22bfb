"""The layers that are known, as a piecewise linear map from inputs to features of the layer above."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...fit.jacobian import Layers
from .line_scan import StraightLine


class LocalMap(NamedTuple):
    """The map about one input (d,).

    Arguments of all known units (K,), their gradients (K, d), the features (m,), their Jacobian (m, d), and in which
    direction of the features each unit bends them at its kink, columns of `bends` (m, K).
    """

    point: Floats
    arguments: Floats
    gradients: Floats
    features: Floats
    jacobian: Floats
    bends: Floats

    def room(self, x: Floats | None = None, beside: int | None = None) -> float:
        """Return the distance from x (the input itself) to the nearest kink of the known units, but for one of them."""
        lengths = np.linalg.norm(self.gradients, axis=1)
        moved = 0.0 if x is None else self.gradients @ (x - self.point)
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.where(lengths > 0, np.abs(self.arguments + moved) / lengths, np.inf)
        if beside is not None:
            away[beside] = np.inf
        return float(away.min(initial=np.inf))


class Breaks(NamedTuple):
    """Kinks of known units on a line: times in order (b,), and the number of the unit of each, (b,)."""

    times: Floats
    units: NDArray[np.intp]


@dataclass(frozen=True)
class FeatureMap:
    """What units of the next layer see.

    Attributes
    ----------
    layers : Layers
        Hidden layers that are known, from the inputs on; none for the inputs themselves.
    slope : float
        Of a unit below its kink; 0 for ReLU.
    signed : bool
        Whether it is known on which side the units of the last layer are active. If not, features are the absolute
        values of their arguments and the features below: a unit of either sign is a sum of the two.
    """

    layers: Layers
    slope: float = 0.0
    signed: bool = True

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of each layer."""
        return tuple(len(b) for _, b in self.layers)

    @property
    def n_units(self) -> int:
        """K, all units."""
        return sum(self.widths)

    def n_features_of(self, d: int) -> int:
        """Return m, the number of features of d inputs."""
        widths = (d, *self.widths)
        return widths[-1] if self.signed else widths[-1] + widths[-2]

    def below(self) -> FeatureMap:
        """Return the map without its last layer."""
        return FeatureMap(self.layers[:-1], self.slope)

    def with_layer(self, weights: Floats, offsets: Floats, signed: bool = True) -> FeatureMap:
        """Return the map with one layer more."""
        return replace(self, layers=[*self.layers, (weights, offsets)], signed=signed)

    def active(self, z: Floats) -> Floats:
        """Return the activation of arguments."""
        return np.maximum(z, self.slope * z)

    def arguments(self, X: Floats) -> Floats:
        """Return the arguments of all units, (n, K)."""
        return self._pass(X)[0]

    def features(self, X: Floats) -> Floats:
        """Return the features of the inputs X, (n, m)."""
        return self._pass(X)[1]

    def _pass(self, X: Floats) -> tuple[Floats, Floats]:
        here, found = X, [np.empty((len(X), 0))]
        for number, (weights, offsets) in enumerate(self.layers):
            z = here @ weights.T + offsets
            found.append(z)
            last = number == len(self.layers) - 1 and not self.signed
            here = np.concatenate([np.abs(z), here], axis=1) if last else self.active(z)
        return np.concatenate(found, axis=1), here

    def at(self, x: Floats) -> LocalMap:
        """Return the map about an input (d,)."""
        here, J = x, np.eye(len(x))
        arguments, gradients = [np.empty(0)], [np.empty((0, len(x)))]
        bends = np.empty((len(x), 0))
        for number, (weights, offsets) in enumerate(self.layers):
            z, P = weights @ here + offsets, weights @ J
            arguments.append(z)
            gradients.append(P)
            # A kink of a layer below bends the features here as far as their slopes let it pass.
            if number == len(self.layers) - 1 and not self.signed:
                signs = np.sign(z)[:, None]
                bends = np.block([[np.eye(len(z)), signs * (weights @ bends)], [np.zeros((len(here), len(z))), bends]])
                order = np.roll(np.arange(bends.shape[1]), -len(z))
                bends = bends[:, order]
                here, J = np.append(np.abs(z), here), np.concatenate([signs * P, J])
            else:
                slopes = np.where(z > 0, 1.0, self.slope)[:, None]
                bends = np.concatenate([slopes * (weights @ bends), np.eye(len(z))], axis=1)
                here, J = self.active(z), slopes * P
        return LocalMap(x, np.concatenate(arguments), np.concatenate(gradients), here, J, bends)

    def breaks(self, line: StraightLine, above: Layers | None = None) -> Breaks:
        """Return the kinks of known units on a line, exactly: each layer is linear between those of the layers below.

        `above` holds rows of a further layer that sees the features.
        """
        times, units = np.empty(0), np.empty(0, np.intp)
        first = 0
        stages = [FeatureMap(self.layers[: number + 1], self.slope) for number in range(len(self.layers))]
        for number in range(len(stages) + bool(above)):
            grid = np.concatenate([[0.0], times, [1.0]])
            if number < len(stages):
                z = stages[number].arguments(line.points(grid))[:, first:]  # (b + 2, k)
            else:
                z = self.features(line.points(grid)) @ above[0][0].T + above[0][1]  # type: ignore[index]
            low, high = z[:-1], z[1:]
            at, unit = np.nonzero((low > 0) != (high > 0))
            share = low[at, unit] / (low[at, unit] - high[at, unit])
            times = np.append(times, grid[at] + share * (grid[at + 1] - grid[at]))
            units = np.append(units, unit + first)
            order = np.argsort(times, kind="stable")
            times, units, first = times[order], units[order], first + z.shape[1]
        return Breaks(times, units)

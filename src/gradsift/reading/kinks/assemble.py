"""From cells and crossings to a network: jumps, offsets, and the errors they carry."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from .answer_precision import EXACT_ANSWERS, Grain
from .cell_gradients import CellGradients
from .cells import Base, Crossing, crossed_once
from .kink_network import KinkNet
from .path import Path
from .settings import ASSEMBLE
from .shape import Shape


@dataclass(frozen=True)
class Found:
    """A network and what is known about its errors.

    Attributes
    ----------
    net : KinkNet
    jump_errors : (k, d) array
        Standard errors of the jumps, in the frame's coordinates; within the plane only along the leg, since
        :func:`pulled_by_far_kinks` settles the other direction.
    linear_errors : (d,) array
        Of the linear term.
    aside_errors : (k + 1,) array
        Of the linear term and the jumps in the plane across the leg, before they are pulled.
    weight_errors : (k,) array
        Of the weights, as the path tells them.
    far_points : (k, d) array
        Where the path crosses each unit's hyperplane.
    asides : (k, d) array
        Direction in the plane across the leg on which it is crossed.
    sigma : float
        Rounding error of an answer on the path.
    placed : (k,) array
        Errors of offsets that were told by answers across single hyperplanes; infinite for all others.
    """

    net: KinkNet
    path: Path
    jump_errors: Floats
    linear_errors: Floats
    aside_errors: Floats
    weight_errors: Floats
    far_points: Floats
    asides: Floats
    sigma: float
    placed: Floats

    @property
    def jump_sizes(self) -> Floats:
        """Error of each jump as a share of its length, (k,)."""
        return np.asarray(np.linalg.norm(self.jump_errors, axis=1) / np.linalg.norm(self.net.jumps, axis=1))

    def argument_errors(self, X: Floats) -> Floats:
        """Return the errors of ``<g, x>`` and of ``<jumps, x>`` at the rows of X, shape (n, k + 1)."""
        squares = self.path.frame.coordinates(X) ** 2
        variances = np.concatenate([self.linear_errors[None], self.jump_errors]) ** 2
        return np.asarray(np.sqrt(squares @ variances.T))


def assemble(
    path: Path,
    bases: list[Base],
    crossings: list[Crossing],
    gradients: CellGradients,
    shape: Shape,
    sigma: float,
    grain: Grain = EXACT_ANSWERS,
) -> Found:
    """Return the network with all units inactive in the first cell, so that its gradient is the linear term."""
    frame = path.frame
    jumps = np.diff(gradients.values, axis=0)
    along = np.repeat(gradients.along[:, None], 2, axis=1)
    cells = np.concatenate([along, gradients.across], axis=1)
    errors = np.hypot(cells[1:], cells[:-1])
    asides = np.concatenate([gradients.aside[:1], np.hypot(gradients.aside[1:], gradients.aside[:-1])])
    linear_errors = np.concatenate([np.repeat(np.hypot(cells[0, 0], asides[0]), 2), cells[0, 2:]])
    places = np.array([crossing.place for crossing in crossings]).reshape(-1, 2)
    q = -(jumps[:, :2] * places).sum(axis=1)
    c = bases[0].value - float(gradients.values[0, :2] @ bases[0].place)
    net = KinkNet(
        shape,
        frame.from_coordinates(jumps),
        q,
        np.array([crossing.weight for crossing in crossings]),
        np.array([crossing.turn for crossing in crossings]),
        frame.from_coordinates(gradients.values[:1])[0],
        c,
        grain,
    )
    across = np.array([crossing.leg.aside for crossing in crossings]).reshape(-1, 2) @ frame.plane
    weight_errors = np.array([crossing.weight_error for crossing in crossings])
    found = Found(
        net, path, errors, linear_errors, asides, weight_errors, places @ frame.plane, across, sigma,
        np.full(len(q), np.inf),
    )  # fmt: skip
    lengths = np.linalg.norm(jumps, axis=1)
    return only(found, crossed_once(jumps, ASSEMBLE.same * lengths + 10 * np.linalg.norm(errors, axis=1)))


def only(found: Found, keep: NDArray[np.bool_]) -> Found:
    """Return what was found about the units selected by a mask."""
    return replace(
        found, net=found.net.only(keep), jump_errors=found.jump_errors[keep],
        aside_errors=found.aside_errors[np.concatenate([[True], keep])], weight_errors=found.weight_errors[keep],
        far_points=found.far_points[keep], asides=found.asides[keep], placed=found.placed[keep],
    )  # fmt: skip


def pulled_by_far_kinks(found: Found, net: KinkNet) -> KinkNet:
    """Return the network with jumps that vanish where the path was crossed: a lever as long as the path is far out.

    The offsets are known from near the origin; only the direction across the leg is corrected.
    """
    misses = (net.jumps * found.far_points).sum(axis=1) + net.q
    levers = (found.asides * found.far_points).sum(axis=1)
    return replace(net, jumps=net.jumps - (misses / levers)[:, None] * found.asides)

"""One layer of units with kinks behind decisions: a walk, the angles of its bends, and the unit that it cannot meet."""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...certificate import BOUND, DECIDED
from ...errors import NotIdentifiable
from ...geometry import choose_terms
from .bend_angles import Walk, gradient_lengths, missing_unit, of_length_one, walk_layer, without_kinks
from .boundary import Crossings, Decider, joined
from .decision_fit import DecisionLayer, FittedLayer, differences, foretold_crossings, joint_fit, sharpened
from .settings import DecisionPolicy
from .sigmoid_boundary import usual_crossings
from .small_fit import pair_rows
from .straight_walk import FlatPiece, walk

_LINE_SCALES = (1.0, 8.0, 64.0, 1e3)  # of boundary points that a unit not met should show at; guess


def read_kinks(
    decider: Decider, relu: Activation, policy: DecisionPolicy, accuracy: float, scale: float, rng: np.random.Generator
) -> tuple[FittedLayer, Crossings]:
    """Return the layer with a linear term, and all crossings; raises NotIdentifiable with the step that failed."""
    start = usual_crossings(decider, 1, 1e-7 * scale, rng, scale)
    if start is None:
        raise NotIdentifiable("All usual inputs are of one class.")
    pieces: list[FlatPiece] = []
    why = ""
    for number in range(policy.rounds):
        pieces = walk(decider, start, policy, rng, pieces)
        if not pieces:
            why = "it is not flat at a usual point"
            start = usual_crossings(decider, 1, 1e-7 * scale, rng, scale) or start
            if number < 2:
                continue
            break
        if len(pieces) < 3:
            why = "it bends along no way" if len(pieces) == 1 else (
                "it bends once, where the angle of the unit's hyperplane between the two pieces is free"
            )  # fmt: skip
            break
        chain = gradient_lengths(decider, pieces, policy)
        if chain is None:
            why = f"{len(pieces) - 1} bends are met, but not where each unit is crossed alone"
        else:
            found = _read_walk(chain, decider, relu, policy, scale, rng)
            if not isinstance(found, str):
                fit, at = sharpened(*found, relu, decider, policy, accuracy, rng, unit_rows=True, scale=scale)
                if fit.worst < DECIDED.residuals and np.isfinite(fit.root).all():
                    return fit, at
                found = f"{len(fit.layer.b)} units are found, but they do not foretell the boundary"
            why = found
        # The walk goes on from the piece before, another way; from elsewhere where that did not help.
        pieces = pieces[:-1] if number % 2 == 0 else []
        if not pieces:
            start = usual_crossings(decider, 1, 1e-7 * scale, rng, scale) or start
    raise NotIdentifiable(f"The boundary is walked along as that of units with kinks, and {why}.")


def _read_walk(
    chain: Walk, decider: Decider, relu: Activation, policy: DecisionPolicy, scale: float, rng: np.random.Generator
) -> tuple[FittedLayer, Crossings] | str:
    """Return the fit to a walk, completed by points near the origin; or why there is none."""
    layer, pieces = walk_layer(chain), chain.pieces
    if pieces[0].plane.above == 0:  # outputs are positive for the second class
        layer = DecisionLayer(layer.A, layer.b, -layer.U, -layer.c, -layer.linear)  # type: ignore[operator]
    at = without_kinks(layer, joined([*(piece.plane.at for piece in pieces), *chain.at]), policy.kink)
    fit = joint_fit(layer, at, relu, unit_rows=True)
    if fit.worst > DECIDED.residuals:
        return f"{len(pieces) - 1} bends are met, but no units explain the pieces between them"
    found = _with_missing_unit(fit, at, decider, relu, policy, scale, rng)
    return found or f"{len(pieces) - 1} units are found, but one more does not explain the boundary elsewhere"


def _with_missing_unit(
    fit: FittedLayer, at: Crossings, decider: Decider, relu: Activation, policy: DecisionPolicy, scale: float,
    rng: np.random.Generator,
) -> tuple[FittedLayer, Crossings] | None:  # fmt: skip
    """Return the fit with the unit that the walk could not meet, if fresh lines near and far out show one.

    A line that crosses where it was foretold costs two queries; only the others are bisected.
    """
    decider.step, n_lines = "last unit", 2 * len(fit.layer.b) + 12
    span = np.linalg.svd(np.concatenate([fit.layer.A, fit.layer.linear]), full_matrices=False)
    basis = span[2][span[1] > policy.kink * span[1][0]]
    missed: list[Crossings] = []
    plain = plain_form(fit.layer)
    for number in range(policy.rounds):
        pool = foretold_crossings(fit, relu, 2 * n_lines, rng, scale, _LINE_SCALES).take(slice(n_lines))
        within = BOUND * pool.errors + policy.first_width
        beside = within[:, None] * pool.ways
        seen = decider.ask(np.concatenate([pool.points - beside, pool.points + beside])).reshape(2, -1)
        off = (seen[0] != pool.below) | (seen[1] != pool.above)
        if off.any():
            lines = pool.take(off)
            near = policy.clear * np.maximum(1.0, np.linalg.norm(lines.points, axis=1))
            found, _ = decider.cross(lines.points, lines.ways, lines.below, lines.above, near, policy.first_width)
            missed.append(found)
        elif not missed and (plain is not None or number == 2):
            return (fit if plain is None else joint_fit(plain, at, relu, unit_rows=True)), at
        near = joined([at.take(slice(0)), *missed])
        if len(near) < len(basis) + 3:
            continue
        Q = pair_rows(near.below, near.above, 1)
        values = differences(fit.layer, relu, near.points, near.ways, Q).values * Q[:, 0]
        layer = missing_unit(fit.layer, near, values, basis)
        if layer is None:
            continue
        # Without a linear term the other units leave less of the last one open.
        layer = plain_form(layer) or layer
        if layer.linear is not None and len(near) < decider.n_features + 3:
            continue
        everything = without_kinks(layer, joined([at, near]), 10 * policy.first_width)
        whole = joint_fit(of_length_one(layer), everything, relu, unit_rows=True)
        if whole.worst < DECIDED.residuals:
            return whole, everything
    return None


def plain_form(layer: DecisionLayer, share: float = 0.0, fits: float = 1e-4) -> DecisionLayer | None:
    """Return the layer without a linear term, by turning some of its units round; None where none are to be turned.

    Parameters
    ----------
    share : float
        Slope of the activation left of its kink over that on its right: 0 for relu.
    fits : float
        What may be left of the linear term, as a share of a typical unit's.
    """
    # relu(z) = z + relu(-z): turning the units F adds their J = u a to the linear term g. A leaky unit of weight
    # u = U / (1 - share) leaves share u a in it, too. With q = share / (1 - share), the sum over F of J is
    # -(g - q sum J) / (1 + 2 q).
    if layer.linear is None:
        return layer
    q = share / (1 - share)
    J = (layer.U.T[:, :, None] * layer.A[:, None]).reshape(len(layer.A), -1)  # (k, m d)
    turned = choose_terms(J, -(layer.linear.ravel() - q * J.sum(axis=0)) / (1 + 2 * q), fits)
    if turned is None:
        return None
    signs = np.where(turned, -1.0, 1.0)
    constant = layer.c + (layer.U * layer.b)[:, turned].sum(axis=1)
    weights = layer.U / (1 - share)
    A, b = layer.A * signs[:, None], layer.b * signs
    return of_length_one(DecisionLayer(A, b, weights, constant - share * (weights * b).sum(axis=1)))


def with_slope(layer: DecisionLayer, share: float) -> DecisionLayer:
    """Return a layer of relu units with a linear term as one of units with this slope on their left."""
    weights = layer.U / (1 - share)
    linear: Floats = layer.linear - share * weights @ layer.A  # type: ignore[operator]
    return of_length_one(
        DecisionLayer(layer.A, layer.b, weights, layer.c - share * (weights * layer.b).sum(axis=1), linear)
    )

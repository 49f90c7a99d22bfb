"""Offsets and widths to the last digits, from answers near the origin, where rounding is small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...arguments import Floats
from ...certificate import BOUND, KINKED_UNITS
from ...fit.design import DesignState
from ...fit.last_digits import fit_to_rounding, with_prior
from ...tuned import FACTOR, LEAST_GAIN, PRIOR, SHARE, TRIES
from ..ledger import Ledger
from ..precision import FEW_ULPS
from .kink_network import KinkNet
from .path_network import Found, through_far_points
from .settings import GRAIN, NEAR_ORIGIN


@dataclass(frozen=True)
class NearFit:
    """The network after the polish.

    Attributes
    ----------
    found : Found
        With the new network.
    X, y : (n, d) and (n,) arrays
        The answers near the origin.
    noise : (n,) array
        Their errors: rounding, and what the jumps' errors make of them.
    errors : (p,) array
        Standard errors of offsets q, weights w (unless sharp) and c.
    """

    found: Found
    X: Floats
    y: Floats
    noise: Floats
    errors: Floats

    def half_chi(self, net: KinkNet) -> float:
        """Half the sum of squared misses of another network over the errors expected of them."""
        misses = (self.y - net.predict(self.X)) / self.noise
        return 0.5 * float(misses @ misses)

    @property
    def scatter(self) -> float:
        """Root mean square of the misses over the errors expected of them."""
        return float(np.sqrt(2 * self.half_chi(self.found.net) / max(1, len(self.y) - len(self.errors))))


def polish_near_origin(
    found: Found, ledger: Ledger, rng: np.random.Generator, earlier: NearFit | None = None
) -> NearFit:
    """Ask near the origin, where each answer does most for the worst-known parameter, and fit (q, w, c) to it.

    k + 2 queries for sharp kinks, two to three per unit for others; O(n p^2) flops for p = k + 1 or 2 k + 1 unknowns.

    Parameters
    ----------
    earlier : NearFit, optional
        A polish whose answers are to be used, too.
    """
    prior = _prior(found)
    polished = _next_fit(found, prior, ledger, rng, earlier)
    for _ in range(_more_rounds(found.net)):
        if (polished.errors <= _tolerances(polished.found.net)).all():
            break
        polished = _next_fit(found, prior, ledger, rng, polished)
    return polished


def _more_rounds(net: KinkNet) -> int:
    """Return how often points are designed again: where the start is rough, or noise needs many answers."""
    rough = net.shape.blur > 0 or net.grain.is_single
    return TRIES - 1 if net.grain.sd and not net.shape.blur else int(rough)


def _next_fit(
    found: Found, prior: Floats, ledger: Ledger, rng: np.random.Generator, earlier: NearFit | None
) -> NearFit:
    """Design points from what is known by now, ask, and fit all answers."""
    net, known = (found.net, prior) if earlier is None else (earlier.found.net, PRIOR * earlier.errors)
    seen = replace(found, net=net)
    X, y = _known_answers(seen, prior, ledger) if earlier is None else (earlier.X, earlier.y)
    points = _design(seen, np.minimum(known, prior), rng, X if earlier is None else X[:0])
    return _fit_near(found, net, prior, np.concatenate([X, points]), np.concatenate([y, ledger.ask(points, "polish")]))


def _known_answers(found: Found, prior: Floats, ledger: Ledger) -> tuple[Floats, Floats]:
    """Return exact answers from nearer the origin than the path, on rows where every unit's side is known."""
    net, X = found.net, ledger.X
    near = FACTOR**2 * np.linalg.norm(X, axis=1) < found.path.radius
    if not net.grain.is_exact or not near.any():
        return X[:0], ledger.y[:0]
    X, y = X[near], ledger.y[near]
    sure = _doubts(net, prior, X) < near_noise(found, X)
    return X[sure], y[sure]


def _fit_near(found: Found, net: KinkNet, prior: Floats, points: Floats, y: Floats) -> NearFit:
    noise = near_noise(found, points)
    errors = prior
    for _ in range(TRIES):
        net, errors = _fit(net, prior, points, y, noise)
        net = through_far_points(found, net)
    return NearFit(replace(found, net=net), points, y, noise, errors)


def refit(polished: NearFit, start: KinkNet) -> KinkNet:
    """Return another network of the same jumps after a fit of (q, w, c) to the answers of a polish, hardly tied."""
    loose, net = PRIOR * parameter_sizes(start), start
    for _ in range(TRIES):
        net, _ = _fit(net, loose, polished.X, polished.y, polished.noise)
    return net


def near_noise(found: Found, X: Floats) -> Floats:
    """Return the errors of predictions at the rows of X, offsets and weights apart; shape (n,)."""
    net = found.net
    errors = found.argument_errors(X)
    # An error of an argument reaches the answer times the slope of its unit there.
    errors[:, 1:] *= net.unit_slopes(net.arguments(X))
    return np.asarray(np.hypot(net.rounding(X), np.linalg.norm(errors, axis=1)))


def parameter_sizes(net: KinkNet) -> Floats:
    """Return what errors of q, w and c are compared with, shape (p,)."""
    lengths = np.linalg.norm(net.jumps, axis=1)
    distances = np.abs(net.q) / lengths
    typical = float(np.median(distances)) if net.k else 1.0
    offsets = lengths * np.maximum(distances, typical)
    level = max(abs(net.c), float(np.median(offsets))) if net.k else 1.0
    return np.concatenate([offsets, *([] if net.shape.sharp else [np.abs(net.w)]), [level]])


def prior_of_offsets(found: Found) -> tuple[Floats, float]:
    """Return standard errors of q and c before the polish."""
    # q = -<J, x> at a crossing x: the error of the jump in the plane is multiplied by the radius of the path.
    levers = np.linalg.norm(found.far_points, axis=1)
    plane = np.hypot(found.aside_errors[1:], found.jump_errors[:, 0])
    q = PRIOR * np.minimum(levers * plane + found.sigma, found.placed)
    c = PRIOR * (found.path.radius * float(np.linalg.norm(found.linear_errors[:2])) + found.sigma)
    return q, c


def _prior(found: Found) -> Floats:
    """Return standard errors of q, w and c before the polish."""
    net = found.net
    q, c = prior_of_offsets(found)
    w = [] if net.shape.sharp else [PRIOR * found.weight_errors]
    return np.concatenate([q, *w, [c]])


def _candidates(found: Found, rng: np.random.Generator) -> Floats:
    """Return candidates: the feet of the hyperplanes, moved to either side and along them, and points around."""
    net = found.net
    d = len(net.g)
    # The foot of a hyperplane, -q J / |J|^2, is its nearest point to the origin, where rounding is smallest.
    squares = (net.jumps**2).sum(axis=1)
    feet = -(net.q / squares)[:, None] * net.jumps
    distances = np.linalg.norm(feet, axis=1)
    typical = float(np.median(distances))
    n = NEAR_ORIGIN.pool[0] + NEAR_ORIGIN.pool[1] * net.k
    units = np.arange(n) % net.k  # every unit, from both sides
    beyond = net.shape.half_width
    widths = 0.5 * distances + 0.5 * typical + beyond if net.shape.sharp else np.abs(net.w) / np.sqrt(squares)
    shifts = np.where(np.arange(n) // net.k % 2, 1.0, -1.0) * rng.uniform(0.3, 3.0, n) * widths[units]
    normals = net.jumps[units] / np.sqrt(squares[units])[:, None]
    lengths = 10 ** rng.uniform(*NEAR_ORIGIN.along, n) * np.maximum(typical, widths[units])
    along = rng.standard_normal((n, d)) / np.sqrt(d) * lengths[:, None]
    return np.asarray(feet[units] + shifts[:, None] * normals + along)


def _design(found: Found, prior: Floats, rng: np.random.Generator, asked: Floats) -> Floats:
    """Choose points one by one for the parameter that is known worst, beside those asked already; shape (n, d)."""
    net = found.net
    pool = np.concatenate([asked, _candidates(found, rng)])
    derivatives = net.near_derivatives(pool)
    noise = np.hypot(near_noise(found, pool), _doubts(net, prior, pool))
    wanted = _tolerances(net)
    # Greedy design: the next point is the one that lowers the variance of the worst parameter most. In units of priors
    # and noise the information of a point is the outer product of its row, and a rank-one update gives the new root.
    scaled = derivatives * (prior / noise[:, None])  # unknowns in units of the prior, answers in units of their errors
    state = DesignState(np.eye(len(prior)), scaled.copy())
    chosen: list[int] = []
    least, per_unknown = _most(net)
    for number in range(len(asked) + least + per_unknown * len(prior)):
        pick = number
        if number >= len(asked):
            errors = np.linalg.norm(state.root, axis=1)
            worst = int(np.argmax(errors * prior / wanted))
            if errors[worst] * prior[worst] <= wanted[worst]:
                break
            gains = state.gains(state.root[worst])
            pick = int(np.argmax(gains))
            if gains[pick] < LEAST_GAIN * errors[worst] ** 2:
                break
        chosen.append(pick)
        state = state.after(pick)
    return np.asarray(pool[chosen[len(asked) :]])


def _most(net: KinkNet) -> tuple[int, int]:
    """Return how many points one round may have: at least, and per unknown."""
    if not net.grain.sd:
        return NEAR_ORIGIN.most
    return GRAIN.most if net.shape.sharp else GRAIN.most_smooth


def _tolerances(net: KinkNet) -> Floats:
    """Return the standard errors of q, w and c that are good enough."""
    # What is left to bounds by a certificate, as standard errors.
    digits = max(SHARE * KINKED_UNITS.error_bound / BOUND, FEW_ULPS * net.grain.eps)
    sizes = parameter_sizes(net)
    in_noise = np.maximum(
        GRAIN.offsets * net.grain.sd, np.minimum(GRAIN.enough[0] * net.grain.sd, GRAIN.enough[1] * sizes)
    )
    wanted = np.hypot(digits * sizes, in_noise)
    if net.shape.blur:
        lengths = np.linalg.norm(net.jumps, axis=1)
        # Before widths are known all units must stay straight: offsets need to be known to a share of the rounded
        # part only.
        straight = GRAIN.placed[1] * net.shape.half_width * np.append(lengths, lengths.max(initial=0.0))
        wanted = np.hypot(wanted, GRAIN.placed[0] * net.grain.sd) + straight
    return np.asarray(wanted)


def _doubts(net: KinkNet, prior: Floats, X: Floats) -> Floats:
    """Return what is lost where it is not known on which side of a sharp kink a point lies, shape (n,)."""
    if not net.shape.sharp:
        return np.zeros(len(X))
    offsets = prior[: net.k] / PRIOR
    rounded = net.shape.half_width * np.linalg.norm(net.jumps, axis=1)
    # On the wrong side of a sharp kink an answer misses by up to the error of the offset: that is counted as noise.
    near = np.abs(net.arguments(X)) < BOUND * offsets + rounded  # t = <jumps, x> + q up to its sign
    lost = np.where(near, offsets + rounded, 0.0)
    return np.asarray(np.linalg.norm(lost, axis=1))


def _fit(net: KinkNet, prior: Floats, X: Floats, y: Floats, noise: Floats) -> tuple[KinkNet, Floats]:
    """Return the network with (q, w, c) fitted to answers and prior, and their standard errors."""
    k = net.k

    def at(theta: Floats) -> KinkNet:
        return replace(net, q=theta[:k], w=net.w if net.shape.sharp else theta[k : 2 * k], c=float(theta[-1]))

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        here = at(theta)
        return (here.predict(X) - y) / noise, lambda: here.near_derivatives(X) / noise[:, None]

    def move(theta: Floats, step: Floats) -> Floats:
        # No width may change its sign, nor at once by more than a factor: a rest is far from linear in its width.
        after = theta + step
        if not net.shape.sharp:
            w = theta[k : 2 * k]
            after[k : 2 * k] = w * np.clip(after[k : 2 * k] / w, 1 / GRAIN.wider, GRAIN.wider)
        return np.asarray(after)

    start = np.concatenate([net.q, *([] if net.shape.sharp else [net.w]), [net.c]])
    fit = fit_to_rounding(with_prior(problem, start, prior), start, move)
    return at(fit.theta), np.asarray(np.linalg.norm(fit.root, axis=1))

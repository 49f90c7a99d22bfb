"""All parameters at once, far out or all over a region: given which units are active, the network is linear in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...certificate import BOUND
from ...fit.last_digits import fit_to_rounding, with_prior
from ...geometry import normalize_rows
from ...tuned import PRIOR, SCATTER, SHARE
from ..ledger import Ledger
from .kink_network import KinkNet
from .near_origin import prior_of_offsets
from .path_network import Found
from .region_ledger import Heard
from .segments import PathFailure
from .settings import FAR_FIT, WITHIN


def fit_far_out(found: Found, ledger: Ledger, rng: np.random.Generator, limit: float) -> Found | PathFailure:
    """Return the network after one linear fit of linear term, jumps and offsets to fresh answers far out; a failure
    where a unit was missed, or a step across the path crossed a kink.

    1.4 queries and O(p^2) flops for each of the p = (k + 1)(d + 1) unknowns; nothing where they are very many. In
    single precision errors grow with the answers: going further out does not help, but more answers do. They are asked
    where they can bring the bounds of all jumps below the limit of a certificate.
    """
    p = (found.net.k + 1) * (found.net.jumps.shape[1] + 1)
    if p > FAR_FIT.most:
        return found
    n = p + max(SCATTER, int((FAR_FIT.rows - 1) * p))
    X = _clear_points(found, n, rng)
    y = ledger.ask(X, "far")
    better = _fitted(found, X, y)
    if isinstance(better, PathFailure):
        return better
    lengths = np.linalg.norm(better.net.jumps, axis=1)
    worst = max(float(better.jump_sizes.max()), float(np.linalg.norm(better.linear_errors) / lengths.max()))
    # errors shrink as one over the root of the answers to spare
    # n answers leave n - p to spare; the number that brings the worst bound below the limit follows from that.
    enough = p + (n - p) * (BOUND * worst / (SHARE * limit)) ** 2
    if n < enough <= FAR_FIT.most_rows * p:
        more = _clear_points(better, int(enough) - n, rng)
        X, y = np.concatenate([X, more]), np.concatenate([y, ledger.ask(more, "far")])
        better = _fitted(found, X, y)
    return better


def _fitted(found: Found, X: Floats, y: Floats) -> Found | PathFailure:
    """Return the network fitted to these answers, with the units active at each as the fit itself says.

    It is tied to the start as closely as its errors say. The answers' scatter about a fit that is not tied, over their
    rounding, is the error that is believed.
    """
    net, frame, d = found.net, found.path.frame, X.shape[1]
    inputs = np.concatenate([frame.to_frame(X), np.ones((len(X), 1))], axis=1)  # (n, d + 1)
    noise, signs = net.rounding(X), np.sign(net.w)

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        heights = inputs @ theta.reshape(net.k + 1, -1).T  # (n, k + 1): of the linear term, and of all units
        rows = linear_rows(inputs, heights[:, 1:] * signs > 0)
        return (rows @ theta - y) / noise, lambda: rows / noise[:, None]

    lines = frame.to_frame(np.concatenate([net.g[None], net.jumps]))
    start = np.column_stack([lines, np.append(net.c, net.q)]).ravel()
    residuals = fit_to_rounding(problem, start).residuals
    scatter = float(np.linalg.norm(residuals)) / np.sqrt(len(y) - len(start))
    if scatter > SHARE:
        return PathFailure(f"far answers miss a linear fit by {scatter:.2g} times what rounding explains")
    noise = max(scatter, FAR_FIT.least) * noise  # of the problem, too, from here on
    fit = fit_to_rounding(with_prior(problem, start, _prior(found).ravel()), start)
    values = fit.theta.reshape(net.k + 1, -1)
    errors = np.linalg.norm(fit.root, axis=1).reshape(values.shape)
    lines = frame.from_frame(values[:, :d])
    better = replace(net, jumps=lines[1:], q=values[1:, d], g=lines[0], c=float(values[0, d]))
    return replace(
        found, net=better, jump_errors=errors[1:, :d], linear_errors=errors[0, :d],
        aside_errors=np.linalg.norm(errors[:, :2], axis=1),
        far_points=_projected(better.jumps, better.q, found.far_points),
    )  # fmt: skip


def linear_rows(inputs: Floats, active: NDArray[np.bool_]) -> Floats:
    """Return the derivatives in linear term and jumps, each with its constant, at inputs (n, d + 1) whose last column
    is one, where it is given which units are active, (n, k); shape (n, (k + 1)(d + 1))."""
    # f(x) = sum over l of a_l(x) <(J_l, q_l), (x, 1)> with a_0 = 1: each row is the outer product of activity and
    # input.
    ones = np.concatenate([np.ones((len(inputs), 1)), active], axis=1)  # the linear term first
    return np.asarray((ones[:, :, None] * inputs[:, None, :]).reshape(len(inputs), -1))


def _clear_points(found: Found, n: int, rng: np.random.Generator) -> Floats:
    """Return n points as far out as the path at which it is known which units are active, (n, d)."""
    net = found.net
    X = found.path.radius * normalize_rows(rng.standard_normal((FAR_FIT.candidates * n, len(net.g))))
    straight = net.shape.half_width * np.linalg.norm(net.jumps, axis=1)
    if not net.shape.sharp:
        straight = net.shape.flat(0.0) * np.abs(net.w)
    sure = BOUND * found.argument_errors(X)[:, 1:] + straight
    # A point helps only if the side of every hyperplane is known: its distance in units of what is uncertain about it.
    room = (np.abs(X @ net.jumps.T + net.q) / sure).min(axis=1)
    return np.asarray(X[np.argsort(-np.minimum(room, 1.0), kind="stable")[:n]])


def _prior(found: Found) -> Floats:
    """Return standard errors of linear term and jumps, each with its constant, before the fit; (k + 1, d + 1)."""
    errors = np.concatenate([found.linear_errors[None], found.jump_errors])
    errors[:, :2] = np.hypot(errors[:, :2], found.aside_errors[:, None])
    q, c = prior_of_offsets(found)
    return PRIOR * np.concatenate([errors, np.append(c, q)[:, None]], axis=1)


def _projected(jumps: Floats, q: Floats, points: Floats) -> Floats:
    """Return the feet of points on their hyperplanes, (k, d)."""
    # Orthogonal projection onto the hyperplane <J, x> + q = 0.
    heights = (jumps * points).sum(axis=1) + q
    return np.asarray(points - (heights / (jumps**2).sum(axis=1))[:, None] * jumps)


@dataclass(frozen=True)
class RegionFit:
    """A network and its errors.

    Attributes
    ----------
    root : (p, p) array
        ``root @ root.T`` is the covariance of linear term and jumps, each with its constant, p = (k + 1)(d + 1).
    scatter : float
        Of the answers over the rounding expected of them.
    chi : float
        Largest miss over its standard error.
    """

    net: KinkNet
    root: Floats
    scatter: float
    chi: float

    @property
    def errors(self) -> Floats:
        """Standard errors of linear term (first row) and jumps, the constants last; (k + 1, d + 1)."""
        return np.asarray(np.linalg.norm(self.root, axis=1)).reshape(self.net.k + 1, -1)

    def missed(self, heard: Heard) -> Floats:
        """Return the misses of answers over what their rounding and the parameters' errors explain; (n,)."""
        rows = _rows(self.net, heard.rows, self.net.arguments(heard.rows) > 0)
        # Errors of the parameters reach an answer through the same rows: var = row root root^T row^T.
        lost = np.linalg.norm(rows @ self.root, axis=1)
        noise = max(self.scatter, FAR_FIT.least) * _noise(self.net, heard)
        return np.asarray(np.abs(heard.answers - self.net.predict(heard.rows)) / np.hypot(noise, lost))


def informative_places(candidates: Floats, net: KinkNet, n: int, rng: np.random.Generator) -> Floats:
    """Return n of the candidates, (m, d), on the rarer side of a hyperplane, or between two, as often as can be."""
    active = net.arguments(candidates) > 0
    odds = _weights(active)
    if net.k > 1:
        units = normalize_rows(net.jumps)
        # Two nearly parallel units differ only between their hyperplanes: rows there are rare and tell most.
        nearest = np.argmax(np.abs(units @ units.T) - np.eye(net.k), axis=1)
        odds = np.maximum(odds, _weights(active != active[:, nearest]))
    return np.asarray(candidates[rng.choice(len(candidates), n, replace=False, p=odds / odds.sum())])


def _weights(yes: NDArray[np.bool_]) -> Floats:
    """Return one over the share of rows that are like each in its rarest column; yes is (m, k)."""
    # A row is drawn with a chance of one over the share of rows on its side: then both sides come up alike.
    share = np.clip(yes.mean(axis=0), 1 / len(yes), 1 - 1 / len(yes))
    return np.asarray((1 / np.where(yes, share, 1 - share)).max(axis=1, initial=1.0))


def mirrored(places: Floats, net: KinkNet, rng: np.random.Generator) -> Floats:
    """Return the same places, (m, d), each moved to the other side of one unit's hyperplane."""
    if not net.k:
        return places
    units = rng.integers(net.k, size=len(places))
    jumps = net.jumps[units]
    heights = (places * jumps).sum(axis=1) + net.q[units]
    # x - (1 + s) (<J, x> + q) / |J|^2 J lies s times as far from the hyperplane as x, on its other side.
    share = 1 + rng.uniform(*WITHIN.mirrored, len(places))
    return np.asarray(places - (share * heights / (jumps**2).sum(axis=1))[:, None] * jumps)


def fit_region(net: KinkNet, heard: Heard) -> RegionFit:
    """Fit all parameters to answers, the units active at each as the fit itself says; O(n p^2)."""

    def at(theta: Floats) -> KinkNet:
        values = theta.reshape(net.k + 1, -1)
        return replace(net, jumps=values[1:, :-1], q=values[1:, -1], g=values[0, :-1], c=float(values[0, -1]))

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        here, active = at(theta), at(theta).arguments(heard.rows) > 0
        noise = _noise(here, heard)
        # Given who is active the network is linear: one step solves it, and the next sees who is active then.
        return (
            here.predict(heard.rows) - heard.answers
        ) / noise, lambda: _rows(here, heard.rows, active) / noise[:, None]

    start = np.concatenate([np.append(net.g, net.c), np.column_stack([net.jumps, net.q]).ravel()])
    fit = fit_to_rounding(problem, start)
    if not np.isfinite(fit.root).all():
        return RegionFit(net, fit.root, np.inf, np.inf)
    scatter = float(np.linalg.norm(fit.residuals)) / np.sqrt(len(fit.residuals) - len(start))
    believed = max(scatter, FAR_FIT.least)
    return RegionFit(at(fit.theta), believed * fit.root, scatter, float(np.abs(fit.residuals).max()) / believed)


def _rows(net: KinkNet, places: Floats, active: NDArray[np.bool_]) -> Floats:
    return linear_rows(np.concatenate([places, np.ones((len(places), 1))], axis=1), active)


def _noise(net: KinkNet, heard: Heard) -> Floats:
    return np.asarray(np.hypot(net.rounding(heard.rows), heard.errors))

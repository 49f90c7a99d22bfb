"""All jumps at once: far out the network is linear in them, and every answer tells of many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...certificate import BOUND
from ...fit.last_digits import fit_to_rounding, with_prior
from ...geometry import normalize_rows
from ..ledger import Ledger
from .near_origin import offset_priors
from .path_network import Found
from .segments import PathFailure
from .settings import FAR_FIT, GRAIN


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
    n = p + max(FAR_FIT.spare, int((FAR_FIT.rows - 1) * p))
    X = _clear_points(found, n, rng)
    y = ledger.ask(X, "far")
    better = _fitted(found, X, y)
    if isinstance(better, PathFailure):
        return better
    lengths = np.linalg.norm(better.net.jumps, axis=1)
    worst = max(float(better.jump_sizes.max()), float(np.linalg.norm(better.linear_errors) / lengths.max()))
    # errors shrink as one over the root of the answers to spare
    enough = p + (n - p) * (BOUND * worst / (FAR_FIT.below * limit)) ** 2
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
    if scatter > FAR_FIT.misfit:
        return PathFailure(f"far answers miss a linear fit by {scatter:.2g} times what rounding explains")
    noise = max(scatter, FAR_FIT.least) * noise  # of the problem, too, from here on
    fit = fit_to_rounding(with_prior(problem, start, _prior(found).ravel()), start)
    values = fit.theta.reshape(net.k + 1, -1)
    errors = np.linalg.norm(fit.root, axis=1).reshape(values.shape)
    lines = frame.from_frame(values[:, :d])
    better = replace(net, jumps=lines[1:], q=values[1:, d], g=lines[0], c=float(values[0, d]))
    return replace(
        found, net=better, jump_errors=errors[1:, :d], linear_errors=errors[0, :d],
        aside_errors=np.linalg.norm(errors[:, :2], axis=1), far_points=_onto(better.jumps, better.q, found.far_points),
    )  # fmt: skip


def linear_rows(inputs: Floats, active: NDArray[np.bool_]) -> Floats:
    """Return the derivatives in linear term and jumps, each with its constant, at inputs (n, d + 1) whose last column
    is one, where it is given which units are active, (n, k); shape (n, (k + 1)(d + 1))."""
    ones = np.concatenate([np.ones((len(inputs), 1)), active], axis=1)  # the linear term first
    return np.asarray((ones[:, :, None] * inputs[:, None, :]).reshape(len(inputs), -1))


def _clear_points(found: Found, n: int, rng: np.random.Generator) -> Floats:
    """Return n points as far out as the path at which it is known which units are active, (n, d)."""
    net = found.net
    X = found.path.radius * normalize_rows(rng.standard_normal((FAR_FIT.candidates * n, len(net.g))))
    straight = GRAIN.near_blur * net.shape.blur * np.linalg.norm(net.jumps, axis=1)
    if not net.shape.sharp:
        straight = net.shape.flat(0.0) * np.abs(net.w)
    sure = FAR_FIT.sure * found.argument_errors(X)[:, 1:] + straight
    room = (np.abs(X @ net.jumps.T + net.q) / sure).min(axis=1)
    return np.asarray(X[np.argsort(-np.minimum(room, 1.0), kind="stable")[:n]])


def _prior(found: Found) -> Floats:
    """Return standard errors of linear term and jumps, each with its constant, before the fit; (k + 1, d + 1)."""
    errors = np.concatenate([found.linear_errors[None], found.jump_errors])
    errors[:, :2] = np.hypot(errors[:, :2], found.aside_errors[:, None])
    q, c = offset_priors(found)
    return FAR_FIT.prior * np.concatenate([errors, np.append(c, q)[:, None]], axis=1)


def _onto(jumps: Floats, q: Floats, points: Floats) -> Floats:
    """Return the feet of points on their hyperplanes, (k, d)."""
    heights = (jumps * points).sum(axis=1) + q
    return np.asarray(points - (heights / (jumps**2).sum(axis=1))[:, None] * jumps)

"""All jumps at once in single precision: far out the network is linear in them, and every answer tells of many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import qr, solve_triangular

from ...checking import Floats
from ...geometry import normalize_rows
from ..asking import Ledger
from .assemble import Found
from .kinked_policy import FAR_FIT, GRAIN
from .near_origin import offset_priors

__all__ = ["fit_far_out"]


def fit_far_out(found: Found, ledger: Ledger, rng: np.random.Generator) -> Found:
    """Return the network after one linear fit of linear term, jumps and offsets to fresh answers far out.

    1.5 queries and O(p^2) flops for each of the p = (k + 1)(d + 1) unknowns; nothing where they are very many. In
    single precision errors grow with the answers: going further out does not help, but more answers do.
    """
    net, k, d = found.net, found.net.k, len(found.net.g)
    p = (k + 1) * (d + 1)
    if p > FAR_FIT.most:
        return found
    X = _clear_points(found, int(FAR_FIT.rows * p), rng)
    y = ledger.ask(X, "far")
    noise = net.rounding(X)
    active = net.arguments(X) > 0
    ones = np.concatenate([np.ones((len(X), 1)), active], axis=1)  # (n, k + 1): the linear term first
    inputs = np.concatenate([found.path.frame.coordinates(X), np.ones((len(X), 1))], axis=1)  # (n, d + 1)
    rows = (ones[:, :, None] * inputs[:, None, :]).reshape(len(X), p)
    prior = _prior(found).ravel()
    scaled = np.concatenate([rows * prior / noise[:, None], np.eye(p)])
    misses = np.concatenate([(y - net.predict(X)) / noise, np.zeros(p)])
    q, r = qr(scaled, mode="economic", check_finite=False)
    step = (prior * solve_triangular(r, q.T @ misses)).reshape(k + 1, d + 1)
    errors = (prior * np.linalg.norm(solve_triangular(r, np.eye(p)), axis=1)).reshape(k + 1, d + 1)
    moved = found.path.frame.from_coordinates(step[:, :d])
    better = replace(net, jumps=net.jumps + moved[1:], q=net.q + step[1:, d], g=net.g + moved[0], c=net.c + step[0, d])
    return replace(
        found, net=better, jump_errors=errors[1:, :d], linear_errors=errors[0, :d],
        aside_errors=np.linalg.norm(errors[:, :2], axis=1), far_points=_onto(better.jumps, better.q, found.far_points),
    )  # fmt: skip


def _clear_points(found: Found, n: int, rng: np.random.Generator) -> Floats:
    """Return n points as far out as the path at which it is known which units are active, (n, d)."""
    net = found.net
    X = found.path.radius * normalize_rows(rng.standard_normal((FAR_FIT.candidates * n, len(net.g))))
    lengths = np.linalg.norm(net.jumps, axis=1)
    sure = FAR_FIT.sure * found.argument_errors(X)[:, 1:] + GRAIN.near_blur * net.shape.blur * lengths
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

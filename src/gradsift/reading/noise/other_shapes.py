"""Have the units the shape assumed? Other sigmoids fitted to the same answers, and a test that names none."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from ...activations import ACTIVATIONS, Activation, End
from ...activations.record import POINTS
from ...arguments import Floats
from ...certificate import NOISY
from ...certificate.noise_rules import OddBend
from ...fit import Fitted, fit_jointly, value_jacobian
from ...fit.moves import drop_or_merge
from ...likelihood import Noise
from ..odd_form import with_plateaus, with_tails
from .state import FitState, Session

_HEIGHTS = (
    0.5,
    0.8,
)  # shares of the limit at which shapes agree before they are fitted: kinks have several optima; guess
_SEEN = 1e-3  # of a column's length: what is left of it beside the Jacobian, and is more than rounding; guess
_PAIR_SHARES = (0.25, 0.4, 0.6, 0.75)  # weights of the second of two parallel units over their sum; guess
_PAIR_GAPS = (1.0, 1.5, 2.0, 3.0)  # between their offsets; black_box_pairs, "parallel tanh"

# A shape that boxes have and the library does not: its units have no tails, so that answers far out cannot tell it.
HARD_TANH = Activation(
    "hard tanh", lambda z: np.clip(z, -1.0, 1.0), lambda z: np.where(np.abs(z) < 1, 1.0, 0.0), np.zeros_like,
    End(-1.0), End(1.0), "exact", lambda v: v, (-1.0, 1.0),
)  # fmt: skip


class Rival(NamedTuple):
    """Another shape, by how many nats it explains the answers better than the one assumed, and what is as good.

    `beside` holds the names of all shapes that answers cannot tell from it, `untold` those of all shapes that they
    cannot tell from the one assumed.
    """

    name: str
    gain: float
    beside: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it, and all that may as well be meant, can be asked for as `activation`."""
        return all(name in ACTIVATIONS for name in (self.name, *self.beside))


class ComparedShape(NamedTuple):
    """The activation assumed, the best other one, the best with a parallel pair, and a test that names no other one."""

    name: str
    rival: Rival
    paired: Rival
    bend: OddBend


def shape_of(state: FitState, session: Session) -> ComparedShape:
    """Compare the shape of the units with others; no queries."""
    joint = state.known
    bend = odd_bend(joint.fitted, joint.replies.X, joint.noise, session.g)
    rival, paired = best_rivals(state, session)
    return ComparedShape(session.link.activation.name, rival, paired, bend)


def best_rivals(state: FitState, session: Session) -> tuple[Rival, Rival]:
    """Fit all rows in use with every other sigmoid; no queries. O(n P^2) flops for P unknowns each.

    Likelihoods are compared as they are where the numbers of unknowns are equal; a rival that needs fewer units, as
    slow tails do, is credited with BIC's price of what it saves. Returns the best other shape, and the best shape of
    all, the one assumed among them, with a parallel pair in the place of one unit.
    """
    joint = state.known
    X, y, noise, own = joint.replies.X, joint.replies.y, joint.noise, session.g
    here = noise.loss(y - joint.fitted.residuals, y)
    gains, pairs = {}, {session.link.activation.name: gain_of_pair(joint.fitted, X, noise, own)}
    for name, g in _other_activations(own):
        other = _fitted_from(joint.fitted, own, g, X, y, noise)
        n_unknowns = len(joint.fitted.information) - len(other.information)
        gains[name] = here - noise.loss(y - other.residuals, y) + 0.5 * noise.price(len(y)) * n_unknowns
        if name in {link.activation.name for link in with_plateaus()}:
            pairs[name] = gains[name] + gain_of_pair(other, X, noise, g)
    best, paired = (max(found, key=lambda name: found[name]) for found in (gains, pairs))
    beside = (name for name, gain in gains.items() if name != best and gain > gains[best] - NOISY.activation)
    untold = (name for name in sorted(gains, key=lambda name: -gains[name]) if gains[name] >= -NOISY.activation)
    return Rival(best, float(gains[best]), tuple(beside), tuple(untold)), Rival(paired, float(pairs[paired]))


def gain_of_pair(fitted: Fitted, X: Floats, noise: Noise, g: Activation) -> float:
    """Return the nats that two parallel units in the place of one gain, to first order, for the best such pair.

    A pair changes the values by D; what the Jacobian does not explain of it, d, lowers the loss by ``(d'r)^2 / 2 d'd``
    for residuals r in units of the noise. Shares and gaps are tried on a grid; steeper halves keep the height.
    """
    spread = noise.sd * noise.relative * np.ones(len(X))
    basis = _explained(fitted, X, spread, g)
    residuals = fitted.residuals / spread
    residuals = residuals - basis @ (basis.T @ residuals)
    best = 0.0
    for z, u in zip((X @ fitted.theta.A.T + fitted.theta.b).T, fitted.theta.u):
        for share, gap in product(_PAIR_SHARES, _PAIR_GAPS):
            # Two halves a gap apart have a slope less steep than one unit: to second order by share (1 - share) gap^2.
            steep = 1 + share * (1 - share) * gap**2
            pair = (1 - share) * g.value(steep * z + share * gap) + share * g.value(steep * z - (1 - share) * gap)
            change = u * (pair - g.value(z)) / spread
            left = change - basis @ (basis.T @ change)
            square = float(left @ left)
            if square > (_SEEN * float(np.linalg.norm(change))) ** 2:
                best = max(best, max(float(left @ residuals), 0.0) ** 2 / (2 * square))
    return best


def _other_activations(own: Activation) -> list[tuple[str, Activation]]:
    """Return names and odd forms of all other shapes."""
    links = [*with_plateaus(), *(link for link in with_tails() if link.odd.name == link.activation.name)]
    shapes = [*((link.activation.name, link.odd) for link in links), (HARD_TANH.name, HARD_TANH)]
    return [(name, g) for name, g in shapes if np.abs(g.value(POINTS) - own.value(POINTS)).max() > 1e-9]


def _fitted_from(fitted: Fitted, own: Activation, g: Activation, X: Floats, y: Floats, noise: Noise) -> Fitted:
    """Return the fit with units of another shape that begin as those do, less units that it does not need."""
    start = fitted.theta
    # Shapes are matched where both reach the same share of their limits, at two heights.
    ratios = [_argument_at(share, g) / _argument_at(share, own) for share in _HEIGHTS]
    starts = [start._replace(A=r * start.A, b=r * start.b, u=start.u * own.high / g.high) for r in ratios]
    other = min((fit_jointly(one, X, y, noise, g) for one in starts), key=lambda one: one.loss)
    saved = 0.5 * noise.price(len(y)) * start.layout.per_unit * (len(start.u) - 1)  # by all units but one
    if other.loss - fitted.loss < saved:
        smaller = drop_or_merge(other, X, y, noise, g)
        while smaller is not None:
            other, smaller = smaller, drop_or_merge(smaller, X, y, noise, g)
    return other


def _argument_at(share: float, g: Activation) -> float:
    """Return the argument at which g has this share of its limit."""
    return float(g.invert(np.array([share * g.high]))[0])


def _explained(fitted: Fitted, X: Floats, spread: Floats, g: Activation) -> Floats:
    """Return an orthonormal basis of what the parameters explain of answers in units of their noise, (n, P)."""
    # Columns of length one and a cutoff: a parameter that the answers hardly determine explains nothing.
    J = value_jacobian(fitted.theta, X, g) / spread[:, None]
    left, singular, _ = np.linalg.svd(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300), full_matrices=False)
    return np.asarray(left[:, singular > 1e-8 * singular[0]])


def odd_bend(fitted: Fitted, X: Floats, noise: Noise, g: Activation) -> OddBend:
    """Test whether residuals depend on the units' own arguments as no unit of this shape explains.

    A score test: a small change of a unit's shape adds to the values some ``(1 - v^2) (c_1 v + c_2 v^2 + c_3 v^3)`` of
    its own value v, of which the Jacobian explains a part; residuals must not correlate with the rest. Once with one
    change for all units, and once for each unit by itself (Bonferroni).
    """
    spread = noise.sd * noise.relative * np.ones(len(X))
    v = g.value(X @ fitted.theta.A.T + fitted.theta.b) / g.high  # (n, k)
    bumps = np.stack([(1 - v**2) * v**power for power in (1, 2, 3)])  # (3, n, k)
    explained = _explained(fitted, X, spread, g)
    residuals = fitted.residuals / spread
    residuals = residuals - explained @ (explained.T @ residuals)

    def p_value(columns: Floats) -> float:
        """F test of columns (n, m) beside the Jacobian's."""
        columns = columns / spread[:, None]
        lengths = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        # F test: variance of the residuals along what the columns add, over that along what is left.
        rest, sizes, _ = np.linalg.svd((columns - explained @ (explained.T @ columns)) / lengths, full_matrices=False)
        rest = rest[:, sizes > _SEEN]
        m, freedom = rest.shape[1], len(X) - explained.shape[1] - rest.shape[1]
        if m == 0 or freedom < 1:
            return 1.0
        seen = float(((rest.T @ residuals) ** 2).sum())
        left_over = max(float(residuals @ residuals) - seen, 1e-300)
        return float(fdtrc(m, freedom, seen / m / (left_over / freedom)))

    by_weight = np.argsort(-np.abs(fitted.theta.u), kind="stable")  # as units are numbered in the end
    own = [p_value(bumps[:, :, unit].T) for unit in by_weight]
    together, alone = 2 * p_value((bumps @ fitted.theta.u).T), 2 * len(own) * min(own)
    return OddBend(min(together, alone, 1.0), int(np.argmin(own)) if alone < together else None)

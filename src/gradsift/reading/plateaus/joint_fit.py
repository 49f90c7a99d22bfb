"""All replies at once: Gauss-Newton on every equation, weighted by the oracle's own rounding.

Near the solution the equations hardly change: large systems are factored once there, and residuals are measured anew
for every step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ...arguments import Floats
from ...certificate import EXACT
from ...fit import layer_jacobian
from ...runtime import all_threads
from ..ledger import EPS, Ledger
from ..odd_form import Net
from ..scan_settings import SCAN, UNITS
from .large.blocks import BlockEquations
from .large.equations import AllReplies, Changes, Errors, NetSeen, compare, errors_of, noise_level, replies_to
from .settings import JOINT


class _Factored(NamedTuple):
    """A network compared with all replies, and equations that hold near it."""

    system: BlockEquations
    seen: NetSeen


@dataclass(frozen=True)
class NetFit:
    """The network that fits all replies best.

    Attributes
    ----------
    net : Net
    chi : float
        Largest residual over its standard size, over all replies.
    row_chi : (m,) array
        The same for each stored row.
    probe_chi : (k,) array
        Largest over each unit's probes.
    factored : optional
        The equations there, where they were factored in blocks.
    out_of_reach : (k,) bool array, optional
        Units that the last step would have led off the rows on which they bend, where that had to be prevented.
    """

    net: Net
    chi: float
    row_chi: Floats
    probe_chi: Floats
    factored: _Factored | None = None
    out_of_reach: NDArray[np.bool_] | None = None

    @property
    def few_out_of_reach(self) -> bool:
        """Whether the last step was too long for some units, and so few of them that the others can be trusted."""
        missed = self.chi > EXACT.residuals
        return missed and self.out_of_reach is not None and bool(0 < self.out_of_reach.mean() < SCAN.by_chance)


def solve_jointly(net: Net, ledger: Ledger) -> NetFit:
    """Iterate Gauss-Newton from a good start until the residuals stop falling."""
    replies = replies_to(net, ledger)
    best, seen = _measured(net, replies)
    system: BlockEquations | None = None
    for _ in range(UNITS.most_tries):
        try:
            if _is_small(best.net, ledger):
                change = DenseEquations(best.net, ledger).step()
            else:
                if system is None or not system.holds_at(seen, JOINT.same):
                    system = None  # two at a time would take twice the memory
                    system = BlockEquations(seen, replies)
                best = replace(best, factored=_Factored(system, seen))
                change = system.step(seen)
        except np.linalg.LinAlgError:  # replies that cannot tell two units apart
            break
        if not (np.isfinite(change.own).all() and np.isfinite(change.shared).all()):
            break
        trial, looked = _measured(_moved(best.net, change), replies)
        if not trial.chi < best.chi and best.net.k >= UNITS.many:  # a few units may have gone too far
            change, out_of_reach = _within_reach(change, seen, replies)
            shorter, looked_then = _measured(_moved(best.net, change), replies)
            if _is_better(shorter, best) and shorter.chi < trial.chi:
                trial, looked = replace(shorter, out_of_reach=out_of_reach), looked_then
            best = replace(best, out_of_reach=out_of_reach)
        if not _is_better(trial, best):
            break
        settled = trial.chi > 0.5 * best.chi and (trial.chi < EXACT.residuals or trial.net.k < UNITS.many)
        best, seen = trial, looked
        if settled:
            break
    if system is not None and best.factored is None and system.holds_at(seen, JOINT.same):
        best = replace(best, factored=_Factored(system, seen))
    return best


def measure(net: Net, ledger: Ledger) -> NetFit:
    """Return how well a network meets all replies, as it is."""
    return _measured(net, replies_to(net, ledger))[0]


def parameter_errors(fit: NetFit, ledger: Ledger, rng: np.random.Generator) -> Errors:
    """Return what rounding of the answers does to the parameters; infinite where replies leave them open."""
    net = fit.net
    try:
        if _is_small(net, ledger):
            return DenseEquations(net, ledger).errors(rng)
        factored = _factored_at(fit, ledger)
        return factored.system.errors(factored.seen, rng)
    except np.linalg.LinAlgError:
        unknown = np.full(net.k, np.inf)
        return Errors(unknown, unknown, unknown, unknown, np.inf, unknown, unknown, np.full(net.a.shape[1], np.inf))


def prediction_errors(fit: NetFit, ledger: Ledger, X: Floats, rng: np.random.Generator, n_draws: int = 20) -> Floats:
    """Return what rounding of the answers does to the network's values at the rows of X, (n,): root mean squares."""
    net = fit.net
    try:
        if _is_small(net, ledger):
            changes = DenseEquations(net, ledger).draw(rng, n_draws)
        else:
            factored = _factored_at(fit, ledger)
            changes = factored.system.draw(factored.seen, rng, n_draws)
    except np.linalg.LinAlgError:
        return np.full(len(X), np.inf)
    # Draws pass through the network itself, not its linearisation: far inputs turn units on and off.
    moved = [_moved(net, Changes(changes.own[..., [i]], changes.shared[:, [i]])).predict(X) for i in range(n_draws)]
    return np.asarray(np.sqrt(np.mean((np.array(moved) - net.predict(X)) ** 2, axis=0)))


def _factored_at(fit: NetFit, ledger: Ledger) -> _Factored:
    """Return the equations at a solution, factored in blocks."""
    if fit.factored is not None:
        return fit.factored
    replies = replies_to(fit.net, ledger)
    seen = compare(fit.net, replies)
    return _Factored(BlockEquations(seen, replies), seen)


def _is_small(net: Net, ledger: Ledger) -> bool:
    """Say whether all equations are to be factored as one, which units without a probe need."""
    few = JOINT.dense if ledger.resolution <= EPS else JOINT.largest
    return net.n_unknowns <= few or None in net.probes


def _moved(net: Net, change: Changes) -> Net:
    own, shared = change.own[:, :, 0], change.shared[:, 0]
    return replace(
        net,
        a=net.a + own[:, :-1],
        b=net.b + own[:, -1],
        u=net.u + shared[: net.k],
        c=net.c + float(shared[net.k]),
        linear=None if net.linear is None else net.linear + shared[net.k + 1 :],
    )


def _within_reach(change: Changes, seen: NetSeen, replies: AllReplies) -> tuple[Changes, NDArray[np.bool_]]:
    """Return the step with each unit's own part so short that none of its arguments changes by more than one on stored
    rows where the unit bends, before or after: further than that, its slopes there say nothing. Say also which parts
    were shortened, (k,)."""
    own = replies.arrays.put(change.own[:, :, 0])
    with all_threads(float(len(replies.X)) * seen.at.net.a.size):
        moves = replies.X @ own[:, :-1].T + own[:, -1]  # (m, k)
    # Where the argument stays beyond flat on the same side, any move is harmless: g does not change.
    before, after = seen.arguments, seen.arguments + moves
    flat = seen.at.net.link.flat
    bends = (abs(before) < flat) | (abs(after) < flat) | (before * after < 0)
    longest = replies.arrays.get(replies.arrays.widest((moves * bends).T))
    return Changes(change.own / np.maximum(longest, 1.0)[:, None, None], change.shared), longest > 1


def _is_better(trial: NetFit, best: NetFit) -> bool:
    """Say whether a step brings the network nearer to the replies: among many units a few may turn late, and what
    spoils most replies for the worst one leads nowhere."""
    if trial.net.k < UNITS.many:
        return trial.chi < best.chi
    now, before = (float(np.median(np.maximum(s.row_chi, EXACT.residuals))) for s in (trial, best))
    return now < 0.5 * before or (trial.chi < best.chi and now <= before)


def _measured(net: Net, replies: AllReplies) -> tuple[NetFit, NetSeen]:
    """Compare a network with all replies."""
    seen = compare(net, replies)
    rows, probes = seen.row_chi(replies.arrays), seen.probe_chi(replies.arrays)
    chi = max(float(rows.max(initial=0.0)), float(probes.max(initial=0.0)))
    return NetFit(net, chi if np.isfinite(chi) else np.inf, rows, probes), seen


class DenseEquations:
    """The weighted, linearised equations around a network; O(m N^2) flops for m replies and N unknowns."""

    def __init__(self, net: Net, ledger: Ledger) -> None:
        self.net, self.ledger, self.n_stored = net, ledger, len(ledger.X)
        X, y = _all_rows(net, ledger)
        self.noise = net.noise(X, ledger)
        self.noise[: self.n_stored] *= ledger.doubts
        arguments, g = net.arguments(X), net.link.odd
        self.residuals = (y - net.predict(X)) / self.noise
        slopes = g.derivative(arguments) * net.u  # (m, k)
        rows = layer_jacobian(net.layout, np.ascontiguousarray(X.T), g.value(arguments).T, slopes.T)
        # Solve min |W (J s - r)| by QR with columns scaled to length one: the normal equations would square the
        # condition, and offsets far out make columns that differ by many orders of magnitude.
        jacobian = np.ascontiguousarray(rows.T) / self.noise[:, None]
        self.scale = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        self.q, self.r = np.linalg.qr(jacobian / self.scale)

    def solve(self, right: Floats) -> Changes:
        """Least squares for several right-hand sides (m, n) of weighted residuals."""
        diagonal = np.abs(np.diag(self.r))
        if diagonal.min() < 1e-14 * diagonal.max():
            raise np.linalg.LinAlgError("The replies leave a direction of the parameters open.")
        answer = solve_triangular(self.r, self.q.T @ right) / self.scale[:, None]
        layout = self.net.layout
        own = answer[layout.units].reshape(layout.n_units, layout.row_length, -1)
        return Changes(own, answer[layout.weights.start :])

    def step(self) -> Changes:
        """Return the Gauss-Newton change of the parameters."""
        return self.solve(self.residuals[:, None])

    def draw(self, rng: np.random.Generator, n_draws: int) -> Changes:
        """Push draws of noise of its standard size through the equations."""
        return self.solve(rng.standard_normal((len(self.residuals), n_draws)))

    def errors(self, rng: np.random.Generator, n_draws: int = 6) -> Errors:
        """Return what draws of noise do, of the size that the residuals show."""
        changes = self.draw(rng, n_draws)
        stored = slice(self.n_stored)
        level = noise_level(self.residuals[stored], self.noise[stored], self.ledger, self.net.k)
        return errors_of(self.net, changes, level)


def _all_rows(net: Net, ledger: Ledger) -> tuple[Floats, Floats]:
    """Return the stored rows and those of all probes, with their answers."""
    rows, answers = [ledger.X], [ledger.y]
    for probe in net.all_probes():
        rows.append(probe.points())
        answers.append(probe.answers)
    return np.concatenate(rows), np.concatenate(answers)

"""The linearised equations of all replies, solved by one orthogonal factorisation: the safest way if they are few."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from ...arguments import Floats
from ...fit import layer_jacobian
from ..far_field.odd_network import Net
from ..ledger import Ledger
from .accuracy import Changes, Errors, noise_level, summarise


class DenseSystem:
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
        own = answer[layout.units].reshape(layout.n_units, layout.stride, -1)
        return Changes(own, answer[layout.weights.start :])

    def newton_change(self) -> Changes:
        """Return the Gauss-Newton change of the parameters."""
        return self.solve(self.residuals[:, None])

    def draws(self, rng: np.random.Generator, n_draws: int) -> Changes:
        """Push draws of noise of its standard size through the equations."""
        return self.solve(rng.standard_normal((len(self.residuals), n_draws)))

    def errors(self, rng: np.random.Generator, n_draws: int = 6) -> Errors:
        """Return what draws of noise do, of the size that the residuals show."""
        changes = self.draws(rng, n_draws)
        stored = slice(self.n_stored)
        level = noise_level(self.residuals[stored], self.noise[stored], self.ledger, self.net.k)
        return summarise(self.net, changes, level)


def _all_rows(net: Net, ledger: Ledger) -> tuple[Floats, Floats]:
    """Return the stored rows and those of all probes, with their answers."""
    rows, answers = [ledger.X], [ledger.y]
    for probe in net.all_probes():
        rows.append(probe.points())
        answers.append(probe.answers)
    return np.concatenate(rows), np.concatenate(answers)

"""Units from derivatives inside the box: gradients span them, two second derivatives separate them (k <= d).

A gradient is ``sum_l s_l a_l``, so a few of them span the units and one more adds nothing. In that span a matrix of
second derivatives is ``A' D A`` with diagonal D, so that the units are the eigenvectors of one such matrix times the
inverse of another. How each coefficient s_l changes along its own unit then gives slope, offset and weight. A linear
term beside the units adds the same to all gradients, so that their differences span less than they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from ...activations import Activation
from ...arguments import Floats
from ...errors import NotIdentifiable
from ...fit import Parameters
from ..ledger import Place
from .settings import NEAR_FIELD


@dataclass
class NearField:
    """The span of the units and what is known about them there.

    Attributes
    ----------
    share : float
        Of the box in which typical units have arguments of about one.
    basis : (k, d) array
        Orthonormal rows that span the units.
    points, gradients : (m, d) and (m, k) arrays
        Gradients in coordinates of the basis.
    line : (d,) array or None
        Part of a linear term that is orthogonal to the units; None where none shows.
    worth : int
        Independent equations among the answers kept so far.
    centers : list of (d,) arrays
    bends : list of (k, k) arrays
        Second derivatives at the centers in these coordinates.
    """

    box: Place
    share: float
    basis: Floats
    points: Floats
    gradients: Floats
    line: Floats | None
    worth: int
    centers: list[Floats]
    bends: list[Floats]

    @property
    def k(self) -> int:
        """Number of units."""
        return len(self.basis)

    def bend_again(self, rng: np.random.Generator) -> None:
        """Take second derivatives at one more point; 1 + k (k + 3) / 2 queries."""
        k, step = self.k, NEAR_FIELD.second_step * self.share
        x = self.box.region.draw(1, NEAR_FIELD.inner * self.share, rng)
        first, second = np.triu_indices(k)
        at = self.box.ask(x, "start").answers
        once = self.box.ask_only(x + step * self.basis, "differences")
        twice = self.box.ask_only(x + step * (self.basis[first] + self.basis[second]), "differences")
        H = np.empty((k, k))
        # Second differences: f(x + s e_i + s e_j) - f(x + s e_i) - f(x + s e_j) + f(x) = s^2 H_ij + O(s^3).
        H[first, second] = (twice - once[first] - once[second] + at) / step**2
        H[second, first] = H[first, second]
        self.centers.append(x[0])
        self.bends.append(H)

    def start(self, g: Activation, rng: np.random.Generator) -> Parameters | None:
        """Return rough units in coordinates of the basis, from two random mixtures of the second derivatives."""
        mix = np.eye(2) if len(self.bends) == 2 else rng.standard_normal((2, len(self.bends)))
        one, other = np.einsum("ij,jkl->ikl", mix, np.array(self.bends))
        try:
            # With H_i = A' D_i A the quotient H_1 H_2^-1 = A' (D_1 D_2^-1) A'^-1 has the units as its eigenvectors, up
            # to their lengths; two random mixtures of all H keep the eigenvalues apart.
            values, vectors = np.linalg.eig(np.linalg.solve(other.T, one.T).T)
            if np.iscomplex(values).any():  # two units whose ratios rounding cannot tell apart
                return None
            units = np.real(vectors).T  # (k, k); some versions of numpy return complex numbers always
            inverse = np.linalg.inv(units)
        except np.linalg.LinAlgError:
            return None
        # Coordinates of gradients and second derivatives in the basis of the units: one coefficient for each unit.
        strengths = self.gradients @ inverse  # (m, k)
        at = self.points @ self.basis.T @ units.T
        bends = np.array([np.diag(inverse.T @ H @ inverse) for H in self.bends])
        bent_at = np.array(self.centers) @ self.basis.T @ units.T
        A, u, b = np.empty((self.k, self.k)), np.empty(self.k), np.empty(self.k)
        for l in range(self.k):  # noqa: E741
            along = _Along(at[:, l], strengths[:, l], bent_at[:, l], bends[:, l], self.line is not None)
            slope, b[l], u[l] = _one_unit(along, g)
            A[l] = slope * units[l]
        return Parameters(A, u, b, 0.0, None if self.line is None else np.zeros(self.k))


def look_near(box: Place, rng: np.random.Generator) -> NearField:
    """Find the span of the units, about ``(k + 1) (d + 1)`` queries.

    Every gradient is a batch of forward differences, whose steps stay inside the box.
    """
    d = box.region.n_features
    ways = box.region.draw(int(np.clip(d // 3, 3, 8)), 1.0, rng)
    share = _bending_share(box, ways)
    n_along = len(box.y)
    step = NEAR_FIELD.first_step * share * np.sqrt(d)
    points, rows = np.empty((0, d)), np.empty((0, d))
    # One gradient after the other until a new one adds nothing to the span: k + 1 of them, k the number of units.
    while len(points) <= d:
        new = box.region.draw(1 if len(points) else NEAR_FIELD.least_gradients, share, rng)
        points, rows = np.concatenate([points, new]), np.concatenate([rows, _gradients(box, new, step)])
        span = _basis(rows)
        if len(span) < len(points):
            break
    _refuse_steps(box, points[0], np.flatnonzero(~rows.any(axis=0)))
    if not len(span):
        raise NotIdentifiable(
            f"All gradients at {len(points)} points inside the box vanish ({box.ledger.n_queries} queries): the "
            "function looks constant there."
        )
    if len(_basis_of_changes(rows)) < len(span):  # a line, or luck: the last of as many differences is often small
        new = box.region.draw(NEAR_FIELD.sure_of_line, share, rng)
        points, rows = np.concatenate([points, new]), np.concatenate([rows, _gradients(box, new, step)])
        span = _basis(rows)
    apart, line = _basis_of_changes(rows), None
    if 0 < len(apart) < len(span):
        # A linear term adds the same vector to all gradients: it drops out of their differences, and what of it is
        # orthogonal to the units is what their span has beside.
        span, line = apart, rows[0] - rows[0] @ apart.T @ apart
    k = len(span)
    worth = len(points) + min(n_along, k * len(ways) + 2 * k + 1)
    return NearField(box, share, span, points, rows @ span.T, line, worth, [], [])


def _gradients(box: Place, points: Floats, step: float) -> Floats:
    """Return the gradients at some points, (n, d), by forward differences; n (d + 1) queries."""
    inwards = np.where(points > 0, -step, step)
    base = box.ask(points, "start").answers
    moved = np.concatenate([x + np.diag(h) for x, h in zip(points, inwards)])
    return np.asarray((box.ask_only(moved, "differences").reshape(points.shape) - base[:, None]) / inwards)


def _basis(rows: Floats) -> Floats:
    """Return an orthonormal basis of what the gradients span, whatever their lengths."""
    _, values, basis = np.linalg.svd(
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300), full_matrices=False
    )
    return np.asarray(basis[values > NEAR_FIELD.negligible * values[0]])


def _basis_of_changes(rows: Floats) -> Floats:
    """Return an orthonormal basis of what the differences of the gradients span."""
    _, values, basis = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return np.asarray(basis[values > NEAR_FIELD.negligible * np.linalg.norm(rows, 2)])


def _refuse_steps(box: Place, point: Floats, still: NDArray[np.intp]) -> None:
    """Raise if some coordinate that small steps do not show is shown by a large one; one query for each."""
    if not len(still):
        return
    moved = np.tile(point, (len(still), 1))
    moved[np.arange(len(still)), still] = np.where(point[still] > 0, -1.0, 1.0)
    apart = np.abs(box.ask_only(moved, "differences") - box.ask_only(point[None], "differences"))
    stepped = still[apart > box.ledger.tolerance(0.0)]
    if len(stepped):
        raise NotIdentifiable(
            f"Small changes of input {stepped[0]} change nothing at any point asked and a large one does: it is an "
            "integer or a category to the oracle (one-hot), and a unit cannot be followed along it; fix such inputs "
            "at a value each and identify the function of the others."
        )


def _bending_share(box: Place, ways: Floats) -> float:
    """Return the largest share of the box, up to halvings, in which differences are nearly proportional."""
    n = len(ways)

    def changes(share: float) -> Floats:
        y = box.ask(share * np.concatenate([ways, -ways]), "start").answers.reshape(2, n)
        return np.asarray(y[0] - y[1])

    def bent(wide: Floats, narrow: Floats) -> bool:
        return bool(np.abs(wide - 2 * narrow).sum() > NEAR_FIELD.bent * np.abs(2 * narrow).sum())

    share = NEAR_FIELD.first_share
    wide, narrow = changes(share), changes(0.5 * share)
    if not bent(wide, narrow):
        while share < 1:
            wider = changes(2 * share)
            if bent(wider, wide):
                break
            share, wide = 2 * share, wider
        return share
    while share > NEAR_FIELD.first_step and bent(wide, narrow):
        share, wide = 0.5 * share, narrow
        narrow = changes(0.5 * share)
    return share


class _Along(NamedTuple):
    """Places along one unit's direction and ``slope u g'`` there, and the same for ``slope^2 u g''``.

    Beside a linear term the former are known up to a constant.
    """

    at: Floats
    strengths: Floats
    bent_at: Floats
    bends: Floats
    beside_line: bool


def _one_unit(along: _Along, g: Activation) -> tuple[float, ...]:
    """Return slope, offset and weight of one unit."""
    at, strengths, bent_at, bends, beside_line = along

    def known(values: Floats) -> Floats:
        return values - values.mean(axis=-1, keepdims=True) if beside_line else values

    spread = max(float(np.std(np.concatenate([at, bent_at]))), 1e-300)
    seen = np.concatenate([known(strengths), spread * bends])

    def shape(slope: Floats, center: Floats) -> Floats:
        z, bent = slope[..., None] * (at - center[..., None]), slope[..., None] * (bent_at - center[..., None])
        return np.concatenate([known(g.derivative(z)), spread * slope[..., None] * g.second_derivative(bent)], axis=-1)

    # Fit u, slope and centre of one unit to its coefficients. Linear in u, so that a grid of slopes and centres gives
    # the best start in closed form; the residuals have several minima.
    slopes = np.geomspace(0.1, 12.0, 40) / spread
    if not g.saturates:  # an odd g may be turned round, others rise one way only
        slopes = np.concatenate([slopes, -slopes])
    centers = float(np.mean(at)) + spread * np.linspace(-6, 6, 121)
    all_slopes, all_centers = (part.ravel() for part in np.meshgrid(slopes, centers))
    shapes = shape(all_slopes, all_centers)
    size = np.maximum((shapes**2).sum(axis=1), 1e-300)
    best = int(np.argmax((shapes @ seen) ** 2 / size))
    scale = float(np.linalg.norm(seen)) or 1.0

    sign = np.sign(all_slopes[best])

    def misfit(p: Floats) -> Floats:
        slope = sign * np.exp(np.clip(p[0], -60, 60))
        return np.asarray((p[2] * shape(slope, p[1] * np.ones(())) * scale - seen) / scale)

    begin = np.array([np.log(abs(all_slopes[best])), all_centers[best], shapes[best] @ seen / size[best] / scale])
    log_slope, center, height = least_squares(misfit, begin, x_scale=(1.0, spread, 1.0), max_nfev=60).x
    slope = float(sign * np.exp(np.clip(log_slope, -60, 60)))
    return slope, -slope * float(center), float(height * scale / slope)

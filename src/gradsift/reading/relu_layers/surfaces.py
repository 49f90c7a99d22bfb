"""The surface on which a unit of the next layer switches: read from one jump of the gradient, and followed over bends.

With phi the known map to features, a unit switches where ``theta (phi(x) - phi(x0)) = 0``. A jump of the gradient gives
theta on the row space of the Jacobian of phi there; each bend of the surface at a known unit gives one equation more.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...fit.jacobian import Layers
from ...tuned import FACTOR, LEAST_GAIN, TRIES
from ..ledger import EPS, Asked
from .box import Box
from .feature_map import FeatureMap, LocalMap
from .line_scan import StraightLine
from .settings import RELU_LAYERS


@dataclass(frozen=True)
class Surface:
    """``theta (phi(x) - phi(x0)) = 0`` as far as theta is known.

    Attributes
    ----------
    point : (d,) array
        x0, an input on it.
    features : (m,) array
        phi(x0).
    theta : (m,) array
    open : (m, n) array
        Orthonormal columns: what may be added to theta.
    size : float
        Length of the jump of the gradient at x0.
    error : float
        Of theta, relative.
    """

    point: Floats
    features: Floats
    theta: Floats
    open: Floats
    size: float
    error: float

    @property
    def offset(self) -> float:
        """Constant of the unit's argument."""
        return -float(self.theta @ self.features)

    def with_equation(self, a: Floats) -> Surface:
        """Return the surface with ``a theta = 0`` as well: one open direction fewer."""
        v = self.open.T @ a
        theta = self.theta - self.open @ v * float(a @ self.theta) / float(v @ v)
        rest = np.linalg.svd(v[None])[2][1:].T  # orthonormal columns across v
        return replace(self, theta=theta, open=self.open @ rest)


def surface_at(phi: FeatureMap, point: Floats, jump: Floats, error: float) -> Surface | None:
    """Return the surface through a kink with this jump of the gradient, or None where theta is lost in its error."""
    here = phi.at(point)
    left, sizes, rows = np.linalg.svd(here.jacobian, full_matrices=True)
    r = int((sizes > 1e-9 * sizes.max(initial=1e-300)).sum())
    # jacobian' theta = jump: theta on the columns of `left` that the Jacobian reaches, the others stay open.
    theta = left[:, :r] @ ((rows[:r] @ jump) / sizes[:r])
    size = float(np.linalg.norm(theta))
    relative = error / max(float(sizes[:r].min(initial=np.inf)) * size, 1e-300)
    if not r or not size > 0 or relative > (_FOLLOWED if r < len(theta) else _ROUGH):
        return None
    return Surface(point, here.features, theta / size, left[:, r:], float(np.linalg.norm(jump)), relative)


_FOLLOWED = FACTOR * EPS**0.5  # relative error of theta beyond which its bends cannot be followed
_MEMBER = 0.45  # share of places that show a kink, from which on a surface is that of a unit; 40-20-10-10-1
_ROUGH = 1e-5  # the same where no bend is needed


class _Crossing(NamedTuple):
    """Where a surface meets the kink of a known unit: the input, the unit, the map before and after it, the way."""

    point: Floats
    unit: int
    before: LocalMap
    after: LocalMap
    informative: bool


def complete(phi: FeatureMap, surface: Surface, box: Box) -> Generator[Floats, Asked, Surface | None]:
    """Follow a surface over known units until theta is known; None where its bends are not as such a unit's."""
    x, failures = surface.point, 0
    for _ in range(RELU_LAYERS.rounds + 4 * surface.open.shape[1]):
        if not surface.open.shape[1]:
            return surface
        crossing = _next_crossing(phi, surface, x, box)
        if crossing is None:
            return None
        if crossing.informative:
            equation = yield from _bend(surface, crossing, box)
            if equation is None or not np.linalg.norm(surface.open.T @ equation) > EPS * np.linalg.norm(equation):
                failures += 1  # answers disagree, or say nothing of what is open
                if failures > TRIES:
                    return None
                x = _at_other_places(phi, surface, x, box)
                continue
            surface = surface.with_equation(equation)
            continue
        beyond = _behind(surface, crossing)
        if beyond is None:
            return None
        x = beyond
    return None


def _next_crossing(phi: FeatureMap, surface: Surface, x: Floats, box: Box) -> _Crossing | None:
    """Return the crossing to go to: the kink of a known unit that tells most, or one on the way to the nearest such."""
    here = phi.at(x)
    normal = here.jacobian.T @ surface.theta
    if not normal.any():
        return None
    normal = _unit(normal)
    lengths = np.linalg.norm(here.gradients, axis=1) + 1e-300
    # What crossing each unit would tell of theta, as a share of what it changes.
    told = np.linalg.norm(here.bends.T @ surface.open, axis=1) / (np.linalg.norm(here.bends, axis=0) + 1e-300)
    tells = told > LEAST_GAIN
    if not tells.any():
        return None
    ways = np.concatenate([box.rng.standard_normal((TRIES, len(x))), here.gradients[tells], -here.gradients[tells]])
    ways = ways - np.outer(ways @ normal, normal)
    sizes = np.linalg.norm(ways, axis=1)
    if not sizes.max(initial=0.0) > 0 or not len(here.gradients):  # NaN: the normal was not known
        return None
    ways = ways[sizes > 1e-9 * sizes.max()] / sizes[sizes > 1e-9 * sizes.max(), None]
    with np.errstate(divide="ignore", invalid="ignore"):
        times = -here.arguments / (ways @ here.gradients.T)  # (ways, K)
    times[~(times > 1e-9 * (1 + np.linalg.norm(x)))] = np.inf
    firsts, units = times.min(axis=1), times.argmin(axis=1)
    across = np.sqrt(np.maximum(0.0, 1 - ((here.gradients @ normal) / lengths) ** 2))
    seconds = np.sort(times, axis=1)[:, 1] if times.shape[1] > 1 else np.full(len(ways), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.minimum(1.0, (seconds - firsts) / firsts)
        value = np.log(told[units]) + np.log(across[units]) + 0.5 * np.log(room) - 0.1 * np.log(firsts)
        value[~(tells[units] & np.isfinite(firsts))] = -np.inf
    best = int(np.argmax(value))
    if not np.isfinite(value[best]):  # on the way to the nearest one
        best = int(np.argmin(np.where(np.isfinite(firsts), times[:, tells].min(axis=1), np.inf)))
        if not np.isfinite(times[best, tells].min()):
            return None
    q = x + firsts[best] * ways[best]
    after = phi.at(q + 0.5 * min(seconds[best] - firsts[best], firsts[best]) * ways[best])
    return _Crossing(q, int(units[best]), here, after, bool(np.isfinite(value[best])))


def _bend(surface: Surface, at: _Crossing, box: Box) -> Generator[Floats, Asked, Floats | None]:
    """Measure how the surface goes on beyond a known unit: an equation for theta, or None where answers disagree.

    u lies in the unit's own plane, across the surface; w along the surface, into the new cell. The gradient's jump n'
    there has ``n' (kappa u + w) = 0`` with kappa minus the change of slope along w over that along u.
    """
    normal = at.before.jacobian.T @ surface.theta
    p = at.before.gradients[at.unit]
    u = normal - p * float(normal @ p) / float(p @ p)
    w = p - normal * float(p @ normal) / float(normal @ normal)
    w = w * (1.0 if at.before.arguments[at.unit] < 0 else -1.0)
    u, w = u / np.linalg.norm(u), w / np.linalg.norm(w)
    q = at.point
    d = 0.1 * min(at.before.room(q, at.unit), at.after.room(q, at.unit), 1.0 + float(np.linalg.norm(q)))
    for width, share in ((d, 0.4), (d, 0.04), (0.1 * d, 0.4), (0.1 * d, 0.04)):
        e, half = share * width, 0.5 * width
        X = q + np.array([half * u, -half * u, width * u, -width * u, half * u + e * w, -half * u + e * w])
        if not np.isfinite(X).all():  # the surface has no tangent here
            return None
        y = (yield X).answers
        rounding = float(box.rounding(X, y).max())
        # Slopes on each side come from answers of that side alone: one at q itself is off the kink by its error.
        up, down = (y[2] - y[0]) / half, (y[1] - y[3]) / half
        change_u, change_w = up - down, ((y[4] - y[0]) - (y[5] - y[1])) / e
        if abs(change_u) * half <= FACTOR**2 * rounding:
            return None
        kappa = -change_w / change_u
        if abs(kappa) * e > 0.3 * width:
            continue
        beside = q + e * w + np.array([[kappa * e + 0.5 * half], [kappa * e - 0.5 * half]]) * u
        seen = (yield beside).answers
        foretold = np.array([y[4] + up * (kappa * e - 0.5 * half), y[5] + down * (kappa * e + 0.5 * half)])
        if (np.abs(seen - foretold) <= FACTOR**2 * rounding).all():
            return np.asarray(at.after.jacobian @ (kappa * u + w))
    return None


def _behind(surface: Surface, at: _Crossing) -> Floats | None:
    """Return a place on the surface in the cell behind a crossing, half way to the next one; None where it ends."""
    normal = at.after.jacobian.T @ surface.theta
    if not normal.any():
        return None
    normal = _unit(normal)
    p = at.after.gradients[at.unit]
    side = 1.0 if at.before.arguments[at.unit] < 0 else -1.0
    way = at.after.point - at.point
    for w in (way, side * p):
        w = _unit(w - normal * float(normal @ w))
        if side * float(p @ w) > 0.1 * np.linalg.norm(p):
            break
    rates = at.after.gradients @ w
    left = at.after.arguments + at.after.gradients @ (at.point - at.after.point)
    left[at.unit] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        times = -left / rates
    size = 1.0 + float(np.linalg.norm(at.point))
    time = float(times[times > 1e-9 * size].min(initial=size))
    return np.asarray(at.point + 0.5 * time * w)


def _at_other_places(phi: FeatureMap, surface: Surface, x: Floats, box: Box) -> Floats:
    """Return another place on the surface in the same cell."""
    here = phi.at(x)
    normal = _unit(here.jacobian.T @ surface.theta)
    way = box.rng.standard_normal(len(x))
    way = way - normal * float(normal @ way)
    return np.asarray(x + 0.5 * min(here.room(), 1.0 + float(np.linalg.norm(x))) * _unit(way))


def _unit(v: Floats) -> Floats:
    return np.asarray(v / np.linalg.norm(v))


def are_next_layer(
    phi: FeatureMap, surfaces: list[Surface], box: Box, above: Layers, scales: Floats
) -> list[bool | None]:
    """Look for each surface at other places, by second differences, until most or few of them show a kink.

    None where the surface, as far as it is known, meets none of the random lines.
    """
    shares = next_layer_shares(phi, surfaces, box, above, scales)
    return [None if np.isnan(share) else bool(share >= _MEMBER) for share in shares]


def next_layer_shares(
    phi: FeatureMap, surfaces: list[Surface], box: Box, above: Layers, scales: Floats, *, all_places: bool = False
) -> Floats:
    """Return the share of other places of each surface at which it shows a kink; not a number without any."""
    n, hits = np.zeros(len(surfaces)), np.zeros(len(surfaces))
    places = [_places(phi, surface, box, above, scales) for surface in surfaces]
    for number in range(RELU_LAYERS.members):
        todo = [
            i for i, found in enumerate(places)
            if number < len(found) and (all_places or n[i] < 2 or abs(hits[i] - 0.5 * n[i]) < 1.0)
        ]  # fmt: skip
        if not todo:
            break
        X = np.concatenate([places[i][number] for i in todo])
        y = box.ask(X, "straight or bent")
        bends = np.abs(y.reshape(-1, 3) @ [1.0, -2.0, 1.0])
        rounding = box.rounding(X, y).reshape(-1, 3).max(axis=1)
        n[todo] += 1
        hits[todo] += bends > FACTOR**2 * rounding
    return np.where(n > 0, (hits + 1) / (n + 2), np.nan)  # the rule of succession: few places say less


def _places(phi: FeatureMap, surface: Surface, box: Box, above: Layers, scales: Floats) -> list[Floats]:
    """Return three inputs each, (3, d), across the surface at other places, where theta suffices to know it."""
    found: list[Floats] = []
    d = len(surface.point)
    for number in range(4 * RELU_LAYERS.members):
        ends = scales[number % len(scales)] * box.rng.standard_normal((2, d))
        line = StraightLine.between(*ends)
        grid = np.concatenate([[0.0], phi.breaks(line).times, [1.0]])
        moved = phi.features(line.points(grid)) - surface.features
        g, beside = moved @ surface.theta, moved @ surface.open
        for i in np.flatnonzero((g[:-1] > 0) != (g[1:] > 0)):
            share = g[i] / (g[i] - g[i + 1])
            lost = np.abs((1 - share) * beside[i] + share * beside[i + 1]).max(initial=0.0)
            point = line.points(grid[i] + share * (grid[i + 1] - grid[i]))
            step = _step_across(phi, surface, point, line, above)
            if lost <= 1e-9 * np.abs(moved).max() and step > 0:
                found.append(point + step * np.array([[-1.0], [0.0], [1.0]]) * _unit(line.way))
                break
        if len(found) == RELU_LAYERS.members:
            break
    return found


def _step_across(phi: FeatureMap, surface: Surface, x: Floats, line: StraightLine, above: Layers) -> float:
    """Return a step across a surface that stays between the kinks of other units; 0 where its error leaves none."""
    here = phi.at(x)
    room = here.room()
    for V, beta in above:
        rows = V @ here.jacobian
        away = np.abs(V @ here.features + beta) / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        room = min(room, float(away.min(initial=np.inf)))
    normal = here.jacobian.T @ surface.theta
    slope = abs(float(normal @ _unit(line.way)))
    error = max(surface.error, 1e-10) * float(np.linalg.norm(here.features)) / max(slope, 1e-300)
    step = 0.1 * room
    return step if step > FACTOR * error else 0.0


SCALES = np.array([1.0, 3.0, 10.0])  # of inputs, over the typical distance of a hyperplane
_AXIS_LENGTH = 300.0  # the same for the axes of a tour


def lines_for(box: Box, phi: FeatureMap, scale: float) -> list[StraightLine]:
    """Return segments that meet every unit of the next layer where features are reachable: rich ones, and a tour along
    the axes of the features; elsewhere rich ones only."""
    rich = [StraightLine.between(*active_points(box, phi, scale, 2)) for _ in range(TRIES)]
    return rich + (list(_crossing_all(box, phi, scale)) if is_within_reach(phi, box.d) else [])


def further_line(box: Box, phi: FeatureMap, scale: float, number: int) -> StraightLine:
    """Return a random segment, or a rich one, in turn."""
    if number % 2:
        return StraightLine.between(*active_points(box, phi, scale, 2))
    radius = scale * np.exp(box.rng.uniform(0, np.log(_AXIS_LENGTH)))
    return StraightLine.between(*radius * box.rng.standard_normal((2, box.d)))


def informative_points(box: Box, phi: FeatureMap, scale: float) -> Floats:
    """Return inputs at which units that random ones seldom activate would show, (n, d).

    Where features are reachable, far out on the axis of each: a unit with any positive weight is active on one of them.
    """
    if not is_within_reach(phi, box.d):
        radii = scale * np.exp(box.rng.uniform(0, np.log(_AXIS_LENGTH), (2 * TRIES, 1)))
        return np.asarray(radii * box.rng.standard_normal((2 * TRIES, box.d)))
    k = phi.n_units
    axes = -0.05 * scale * np.exp(box.rng.standard_normal((k + 1, k)))
    axes[np.arange(k), np.arange(k)] = _AXIS_LENGTH * scale * (1 + box.rng.random(k))
    return _inputs_at(phi, axes)


def is_within_reach(phi: FeatureMap, d: int) -> bool:
    """Say whether any features can be asked for: one layer of no more units than inputs."""
    return len(phi.layers) == 1 and phi.n_units <= d and phi.signed


def _inputs_at(phi: FeatureMap, z: Floats) -> Floats:
    """Return inputs at which the arguments of the first layer are these, (n, k)."""
    ((A, b),) = phi.layers
    return np.asarray((z - b) @ np.linalg.pinv(A).T)


def active_points(box: Box, phi: FeatureMap, scale: float, n: int) -> Floats:
    """Return n inputs, (n, d), at which all units of the last known layer are active, or as many as a search finds."""
    sizes = scale * SCALES[box.rng.integers(3, size=(n, 1))]
    if is_within_reach(phi, box.d):
        return _inputs_at(phi, sizes * np.exp(1.7 * box.rng.standard_normal((n, phi.n_units))))
    if phi.slope or not phi.signed or not phi.layers:
        return np.asarray(sizes * box.rng.standard_normal((n, box.d)))
    found = sizes * box.rng.standard_normal((n, box.d))
    wanted = min(box.d, phi.widths[-1])
    for _ in range(16 * TRIES):
        # Hill climbing on the number of active units, up to as many as one jump of the gradient can tell.
        moved = np.where(box.rng.random((n, 1)) < 0.3, sizes * box.rng.standard_normal((n, box.d)),
                         found + 0.3 * sizes * box.rng.standard_normal((n, box.d)))  # fmt: skip
        better = _n_active(phi, moved, wanted) > _n_active(phi, found, wanted)
        found = np.where(better[:, None], moved, found)
    return np.asarray(found)


def _n_active(phi: FeatureMap, X: Floats, most: int) -> Floats:
    return np.asarray(np.minimum((phi.features(X) > 0).sum(axis=1), most), dtype=np.float64)


def _crossing_all(box: Box, phi: FeatureMap, scale: float) -> Iterator[StraightLine]:
    """Yield a ray from the corner where all features are zero, then a way from axis to axis of the features.

    A row of mixed sign changes sign on the way; one of negative offset and positive weights does on the ray.
    """
    k = phi.n_units
    # Of leaky units all arguments must be far below zero for the sum of their outputs to be.
    depth = _AXIS_LENGTH / np.sqrt(phi.slope) if phi.slope else 0.05
    corner = _inputs_at(phi, -depth * scale * np.ones((1, k)))[0]
    inside = _inputs_at(phi, _AXIS_LENGTH * scale * np.exp(box.rng.standard_normal((1, k))))[0]
    yield StraightLine.between(corner, inside)
    order = box.rng.permutation(k)
    lengths = _AXIS_LENGTH * scale * (1 + box.rng.random(k))
    axes = np.full((k, k), 0.05 * scale) * np.exp(box.rng.standard_normal((k, k)))
    axes[np.arange(k), order] = lengths
    stops = _inputs_at(phi, axes)
    for number in range(k if k > 2 else k - 1):
        yield StraightLine.between(stops[number], stops[(number + 1) % k])
        if number % 3 == 2:
            yield StraightLine.between(*active_points(box, phi, scale, 2))

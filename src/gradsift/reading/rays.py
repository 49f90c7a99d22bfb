"""How large a network is: the radius beyond which nothing changes along a ray, and a linear term beside the units."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arguments import Floats
from ..errors import NotIdentifiable
from ..geometry import orthonormal_rows
from ..tuned import FACTOR, ROUNDINGS
from .ledger import EPS, FAR, NEAR, Ledger
from .odd_form import Link, with_tails
from .plane_frame import frame_through
from .question import ALGEBRAIC, EVERY_DEPTH, GROWING_KINDS, Narrowing, all_but, names_of
from .searches import Search, search_all

_RADII = FAR / FACTOR ** np.arange(3)
# Radii on a ray: the last of them is still nearer than the far end.
_MOST_RADII = int(np.log(_RADII[2]) / np.log(FACTOR))
_SIDEWAYS = _RADII[2]  # crosses few hyperplanes, and crossing one adds 1e-10 of its weight to the term's coordinate
_GAP = _RADII[0] - _RADII[1]
_ESCAPES = float(np.sqrt(FAR))  # growth from a usual distance to the far end: more like a line than like a plateau
_IDLE = EPS**0.75  # of the largest step: a ray on which all units that grow are idle
_OPPOSITE_PAIRS = 8  # with 2, small networks show equal signs on both in every tenth case
_WAYS_SEEN = _OPPOSITE_PAIRS // 2  # where answers differ; "trained logistic" (8,4): at random, all signs turn at once


def linear_term(ledger: Ledger, directions: Floats, far: Floats, near: Floats) -> Floats | None:
    """Return the linear term, shape (d,), of a function that grows along two rays; None if it does not grow linearly.

    Parameters
    ----------
    directions : (2, d) array
        Orthonormal.
    far, near : (2,) arrays
        Answers at the distance FAR along them, and at a usual one.

    Raises
    ------
    NotIdentifiable
        The slopes in opposite directions differ, as those of ReLU units do.

    Notes
    -----
    d + 4 queries, two where slopes differ. Two answers on one ray give the slope along it up to rounding, however
    large the sigmoids are.
    """
    # On the ray that grows most, two answers tell linear growth, and whether it is the same to the opposite side.
    first = int(np.argmax(np.abs(far - near)))
    way, rise = directions[first], float(far[first] - near[first])
    eighth, opposite = ledger.ask(np.stack([_RADII[1] * way, -_RADII[0] * way]), "linear")
    # Between two far answers on one ray all sigmoids are flat: their difference is the linear term alone.
    growth = float(far[first] - eighth) / _GAP
    back = float(near[first] - opposite) / _RADII[0]
    same = ROUNDINGS * ledger.eps * abs(growth) + 8 * float(np.abs(near).max()) / _RADII[0]  # sigmoids differ, too
    if abs(8 * growth * _GAP - 7 * rise) < 0.05 * abs(7 * rise) and abs(back - growth) > same:
        raise NotIdentifiable(
            f"Along a line the function grows linearly, by {growth:.6g} per unit length in one direction and by "
            f"{-back:.6g} in the opposite one ({ledger.n_queries} queries): ReLU or similar units; use "
            "activation='auto'.",
            rules_out=Narrowing(all_but(names_of(*GROWING_KINDS))),
        )
    sixtyfourths = ledger.ask(_RADII[2] * directions, "linear")
    other = ledger.ask(_RADII[1] * directions[1 - first][None], "linear")[0]
    ledger.ask(-_RADII[1] * way[None], "linear")  # one more equation of the term
    eighths = np.array([eighth, other] if first == 0 else [other, eighth])
    # Of a linear function, differences over intervals that shrink by the factor shrink by it, too.
    steps = np.stack([far - eighths, eighths - sixtyfourths])  # (2, directions)
    if not (np.abs(steps[0] - 8 * steps[1]) < 0.4 * np.abs(steps[1]) + _IDLE * np.abs(steps).max()).all():
        return None
    # In the frame of both rays the term has two coordinates along them, and one step across them gives each other one.
    slopes = steps[0] / _GAP
    frame = frame_through(*directions)
    across = frame.across(np.arange(ledger.n_features - 2))
    beside = ledger.ask(FAR * directions[0] + _SIDEWAYS * across, "linear")
    coordinates = np.concatenate([slopes, (beside - far[0]) / _SIDEWAYS])
    return np.asarray(frame.from_frame(coordinates[None])[0])


@dataclass(frozen=True)
class Rays:
    """Two orthonormal directions and the plateaus at their ends.

    Attributes
    ----------
    first, second : (d,) arrays
        `first` has the smaller scale.
    scale, second_scale : float
        Radius beyond which the ray is flat.
    plateaus : (3,) or (4,) array
        Values far out along first, second, -first and perhaps -second, without the linear term if there is one.
    """

    first: Floats
    second: Floats
    scale: float
    second_scale: float
    plateaus: Floats

    @property
    def intercept(self) -> float:
        """Far out along a line every odd unit takes opposite values, so that only the constant is left."""
        return 0.5 * float(self.plateaus[0] + self.plateaus[2])

    def may_cancel(self, tolerance: float) -> bool:
        """Say whether both lines leave the same of opposite plateaus, as one layer does."""
        middles = self.plateaus[:2] + self.plateaus[2:] if len(self.plateaus) == 4 else np.zeros(2)
        return bool(np.ptp(middles) <= 2 * tolerance)


@dataclass
class _Ray:
    """One ray while it is being asked: upwards from radius 1 until it is flat, or downwards until it is not."""

    direction: Floats
    far: float
    radii: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)

    @property
    def next_radius(self) -> float | None:
        if not self.radii:
            return 1.0
        if len(self.radii) > _MOST_RADII or self.changed[-1] != self.changed[0]:
            return None
        return self.radii[-1] * (FACTOR if self.changed[0] else 1 / FACTOR)

    @property
    def settles(self) -> bool:
        return not all(self.changed)

    @property
    def is_growing(self) -> bool:
        """Whether a linear term would explain the end of the ray."""
        if len(self.radii) > 3:
            return not self.settles and bool(np.all(np.abs(self.ratios() - FACTOR) < 0.05 * FACTOR))
        near = np.array(self.values)
        return len(near) == 3 and all(self.changed) and bool(np.abs(self.far - near[-1]) > _ESCAPES * np.ptp(near))

    def ratios(self) -> Floats:
        """Return the ratios of the last differences."""
        steps = np.abs(np.diff(self.values[-4:]))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(steps[1:] / steps[:-1])

    def ask_further(self, ledger: Ledger, most: int) -> Search[None]:
        """Ask at up to so many further radii."""
        for _ in range(most):
            if (radius := self.next_radius) is None:
                return
            rows = radius * self.direction[None]
            reply = yield rows
            value = reply.answers if ledger.linear is None else reply.answers - rows @ ledger.linear
            self.take(radius, float(value[0]), ledger.tolerance(ledger.far))

    def take(self, radius: float, value: float, tolerance: float) -> None:
        self.radii.append(radius)
        self.values.append(value)
        self.changed.append(abs(value - self.far) > tolerance)

    def scale(self, largest: float, link: Link) -> float:
        """Return the radius from which the ray is flat; inf if it never changed."""
        if not any(self.changed):
            return np.inf
        last = max(range(len(self.radii)), key=lambda i: self.radii[i] if self.changed[i] else 0.0)
        # The size of the last change tells how close to saturation the slowest unit was.
        size = float(np.clip(abs(self.values[last] - self.far) / max(largest, 1e-300), 1e-16, 0.5))
        # g(z) = 1 - size at the last radius that changed: the unit is flat at flat / z times that radius.
        argument = np.clip(link.invert(np.array([1 - size]))[0], link.flat / FACTOR, link.flat)
        return float(self.radii[last] * link.flat / argument)


def ask_rays(ledger: Ledger, link: Link, rng: np.random.Generator, both_ways: bool = False) -> Rays:
    """Ask far out and at growing radii along two random directions; about 10 queries, d + 7 more for a linear term,
    which the ledger knows then; one more for both opposite ends (`both_ways`), not one.

    Raises
    ------
    NotIdentifiable
        Nothing changes anywhere, or the function does not settle far out.
    """
    directions = orthonormal_rows(2, ledger.n_features, rng)
    ledger.note_directions(directions)
    rays = _first_rays(ledger, directions)
    if ledger.linear is None and any(ray.is_growing for ray in rays):
        linear = linear_term(
            ledger, directions, np.array([ray.far for ray in rays]), np.array([ray.values[-1] for ray in rays])
        )
        if linear is not None:
            ledger.note_linear_term(linear)
            rays = _without_linear_term(ledger, rays, linear)
        _follow(ledger, rays)
    if not any(any(ray.changed) for ray in rays):
        # Nothing on this side: a hyperplane at any distance crosses either a ray or its opposite.
        rays = _first_rays(ledger, -directions)
        if any(ray.is_growing for ray in rays):
            raise _growing_refusal(ledger.n_queries)
    for ray in rays:
        if not ray.settles:
            raise _refusal(ray, ledger.n_queries)
    rays.sort(key=lambda ray: ray.scale(ledger.largest, link))
    first, second = rays
    if not any(first.changed):
        beside = "constant" if ledger.linear is None else "constant but for a linear term"
        raise NotIdentifiable(
            f"All {ledger.n_queries} answers along two lines agree: the function looks {beside}, so there is no unit "
            "to find."
        )
    opposite = np.stack([first.direction, second.direction][: 2 if both_ways else 1])
    back = _ask(ledger, -ledger.far * opposite)
    if abs(back[0] - first.far) > _ESCAPES * np.ptp([first.far, second.far, *first.values, *second.values]):
        halfway = _ask(ledger, -ledger.far / FACTOR * first.direction[None])
        if abs(back[0] - FACTOR * halfway[0]) < 0.05 * abs(back[0]):
            raise _growing_refusal(ledger.n_queries)
    return Rays(
        first.direction, second.direction, first.scale(ledger.largest, link), second.scale(ledger.largest, link),
        np.array([first.far, second.far, *back]),
    )  # fmt: skip


def _ask(ledger: Ledger, rows: Floats) -> Floats:
    """Return the answers without the linear term."""
    answers = ledger.ask(rows, "rays")
    return answers if ledger.linear is None else answers - rows @ ledger.linear


def _first_rays(ledger: Ledger, directions: Floats) -> list[_Ray]:
    rays = [_Ray(v, float(y)) for v, y in zip(directions, _ask(ledger, ledger.far * directions))]
    _follow(ledger, rays, 3)
    if not any(ray.is_growing for ray in rays):
        _follow(ledger, rays)
    return rays


def _follow(ledger: Ledger, rays: list[_Ray], most: int = _MOST_RADII) -> None:
    """Ask all rays in one batch at their next radii, until none has another one or they had so many."""
    search_all(ledger, [ray.ask_further(ledger, most) for ray in rays], "rays")


def _without_linear_term(ledger: Ledger, rays: list[_Ray], linear: Floats) -> list[_Ray]:
    """Return the rays as they look without the linear term, which the ledger expects already."""
    directions = np.array([ray.direction for ray in rays])
    found = [_Ray(v, float(y)) for v, y in zip(directions, _ask(ledger, ledger.far * directions))]
    for ray, old, slope in zip(found, rays, directions @ linear):
        for radius, value in zip(old.radii, old.values):
            if radius <= NEAR:
                ray.take(radius, value - slope * radius, ledger.tolerance(ledger.far))
    return found


def _growing_refusal(n_queries: int) -> NotIdentifiable:
    return NotIdentifiable(
        f"Along a line the function is constant in one direction and grows linearly in the opposite one ({n_queries} "
        "queries): ReLU or similar units; use activation='auto'.",
        rules_out=Narrowing(all_but(names_of(*GROWING_KINDS))),
    )


def _refusal(ray: _Ray, n_queries: int) -> NotIdentifiable:
    """Name the growth along a ray by the ratio of its last differences."""
    ratios = ray.ratios()
    values = ", ".join(f"{value:.6g}" for value in ray.values[-4:])
    evidence = f"({n_queries} queries; the last answers at radii growing by {FACTOR:g} are {values})"
    # Differences c (1/r - 1/(factor r)) shrink by the factor: an algebraic tail. Those of r^p grow by factor^p.
    if np.all(np.abs(ratios * FACTOR - 1) < 0.05):
        names = " or ".join(f"'{link.activation.name}'" for link in with_tails())
        return NotIdentifiable(
            f"Along a ray the function approaches its limit like one over the radius {evidence}: units with algebraic "
            f"tails; try activation={names}.",
            rules_out=Narrowing(all_but(names_of(ALGEBRAIC)), EVERY_DEPTH - {1}),
        )
    if np.isfinite(ratios).all() and ratios.min() > 1 and np.ptp(ratios) < 0.05 * ratios.max():
        power = float(np.log(ratios[-1]) / np.log(FACTOR))
        return NotIdentifiable(
            f"Along a ray the function grows like the radius to the power {power:.3g} {evidence}, which no sum of "
            "sigmoids beside a linear term does."
        )
    return NotIdentifiable(
        f"Along a ray the function settles neither to a constant nor to a line {evidence}: it is not a sum of "
        "sigmoids, or its answers are noisy."
    )


def opposites_cancel(ledger: Ledger, rng: np.random.Generator) -> bool:
    """Say whether opposite points far out cancel: with one layer of odd units only its constant is left of them.

    Sixteen queries, which no forecast of one layer limits; none, and true, where the function grows far out.
    """
    if ledger.linear is not None:
        return True
    ledger.limit(None)
    ways = rng.standard_normal((_OPPOSITE_PAIRS, ledger.n_features))
    seen = ledger.X[np.unique(ledger.y, return_index=True)[1]]  # by their answers
    seen = seen[np.linalg.norm(seen, axis=1) > 0]
    ways[:_WAYS_SEEN] = seen[np.linspace(0, len(seen) - 1, _WAYS_SEEN + 2)[1:-1].astype(int)]
    ways *= ledger.far / np.linalg.norm(ways, axis=1)[:, None]
    answers = ledger.ask(np.concatenate([ways, -ways]), "depth")
    sums = answers[:_OPPOSITE_PAIRS] + answers[_OPPOSITE_PAIRS:]
    return bool(np.ptp(sums) <= 2 * ledger.tolerance(0.0))

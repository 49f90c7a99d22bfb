"""Is a network certain enough? More answers where an error bound is too large, fresh points, and the verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arguments import Floats
from ...certificate import BOUND, EXACT, Evidence, ExactLimits, Fresh, n_of
from ...geometry import normalize_rows
from ...tuned import FACTOR, TRIES
from ..ledger import Ledger
from ..odd_form import Net, Probe
from ..scan_settings import SCAN
from .joint_fit import NetFit, parameter_errors, solve_jointly
from .large.equations import Errors
from .settings import POLISH


def evidence_of(fit: NetFit, errors: Errors, ledger: Ledger, fresh: Floats, limits: ExactLimits = EXACT) -> Evidence:
    """Hold a fitted network against all replies, fresh ones, and its own conditioning.

    Parameters
    ----------
    fresh : (n,) array
        Residuals at fresh points, taken before these were fitted: over what rounding explains or, with the limits of
        exact answers, over the change that a relative error of one in all parameters would make there.
    """
    net, weights = fit.net, np.abs(fit.net.u)
    met = Fresh(len(fresh), float(np.abs(fresh).max(initial=0.0)), relative=limits is EXACT)
    what, linear = n_of(net.k, "unit"), None
    if net.linear is not None:
        what = f"{what} and a linear term"
        linear = BOUND * float(np.linalg.norm(errors.linear) / np.linalg.norm(net.linear))
    return Evidence(
        what, ledger.n_queries, fit.chi, met, float(errors.relative.max(initial=0.0)), linear=linear,
        spare=ledger.n_queries - net.n_unknowns - net.k,
        faintest=float(weights.min() / weights.max()) if net.k else None,
    )  # fmt: skip


def fresh_points(net: Net, n: int, rng: np.random.Generator) -> Floats:
    """Return points near hyperplanes of random units, at growing distances along them; shape (n, d).

    Near the origin all units are active at once, further out the chosen one and those beside it.
    """
    d = net.a.shape[1]
    squares = (net.a**2).sum(axis=1)
    typical = 1 / np.sqrt(np.median(squares))
    points = np.empty((n, d))
    for number in range(n):
        unit = int(rng.integers(net.k))
        a, b = net.a[unit], net.b[unit]
        # A random point at the argument z ~ N(0, 1) of its unit, moved along the hyperplane, on which that argument
        # stays.
        along = rng.standard_normal(d)
        along -= (along @ a) / squares[unit] * a
        points[number] = (rng.standard_normal() - b) / squares[unit] * a + FACTOR**number * typical * along
    return points


def far_points(net: Net, ledger: Ledger, rng: np.random.Generator) -> Floats:
    """Return opposite points at growing distances beyond those of the scan; (n, d), none without a linear term.

    A linear term keeps the scan near the origin, since it drowns the plateaus far out. Units whose hyperplanes lie
    beyond are not scanned for, but crossing one shows as long as its step is above the rounding there.
    """
    d = net.a.shape[1]
    if net.linear is None or not net.k:
        return np.empty((0, d))
    # Rounding is eps (largest + |linear| r): the radius at which it hides the smallest step bounds the number of radii.
    shows = SCAN.fits * float(np.abs(net.u).min())
    furthest = max(shows / ledger.eps - ledger.largest, 0.0) / float(np.linalg.norm(net.linear))
    n_radii = 1 + int(np.log(max(furthest / ledger.far, 1.0)) / np.log(FACTOR))
    radii = ledger.far * FACTOR ** np.arange(n_radii)
    radii = radii[ledger.rounding(radii) < shows]
    ways = normalize_rows(rng.standard_normal((len(radii), d)))
    return np.concatenate([radii[:, None] * ways, -radii[:, None] * ways])


def smallest_angle(net: Net) -> float:
    """Return the smallest angle between two units, up to sign, in radians; pi/2 for a single unit. O(k^2 d)."""
    if net.k < 2:
        return float(np.pi / 2)
    units = normalize_rows(net.a)
    cosines = np.tril(np.abs(units @ units.T), -1)
    # Cosines cannot tell small angles apart, but they leave few pairs to look at.
    first, second = np.nonzero(cosines >= cosines.max() - 1e-12)
    apart = min(
        min(np.linalg.norm(units[i] - units[j]), np.linalg.norm(units[i] + units[j])) for i, j in zip(first, second)
    )
    # A chord of length c belongs to the angle 2 arcsin(c / 2), which is exact for small angles where a cosine is not.
    return 2 * float(np.arcsin(min(1.0, 0.5 * float(apart))))


def polish(fit: NetFit, ledger: Ledger, rng: np.random.Generator) -> tuple[NetFit, Errors]:
    """Ask for more where the error bound is above what a certificate allows, and fit again.

    A unit whose offset alone is uncertain costs one query, any other d + 1.
    """
    errors = parameter_errors(fit, ledger, rng)
    for _ in range(TRIES):
        asked = ledger.n_queries
        net = fit.net
        for unit in np.flatnonzero(errors.relative > EXACT.error_bound):
            old = net.probes[unit]
            if old is None:
                continue
            whole = bool(errors.direction[unit] > EXACT.error_bound)
            point = None if whole else _mirror_point(net, int(unit), old, ledger)
            if point is None:
                point = _isolated_point(net, int(unit), float(np.linalg.norm(old.base)), whole, rng)
            if point is None:
                continue
            if whole:
                net = _with_probe(net, int(unit), old, point, ledger)
            else:
                ledger.ask(point[None], "polish")
        if ledger.n_queries == asked:
            break
        fit = solve_jointly(net, ledger)
        errors = parameter_errors(fit, ledger, rng)
    return fit, errors


def _step_length(net: Net, unit: int) -> float:
    """Moves this long along a random direction change the argument by about a tenth of its usable range."""
    return float(0.1 * net.link.usable * np.sqrt(net.a.shape[1]) / np.linalg.norm(net.a[unit]))


def _mirror_point(net: Net, unit: int, old: Probe, ledger: Ledger) -> Floats | None:
    """Return the mirror image of a probe's base on the other side of the hyperplane's foot; None if it is no good.

    Between the two the offset is interpolated, where the base alone leaves it to the accuracy of the direction. Units
    that stand still at the base do so there.
    """
    # The foot is the point of the hyperplane nearest to the origin; base and point are opposite beyond it, so that the
    # error of a in the direction between them cancels in the offset.
    foot = -net.b[unit] * net.a[unit] / float(net.a[unit] @ net.a[unit])
    point = np.asarray(2 * foot - old.base)
    others = np.delete(np.arange(net.k), unit)
    clear = np.abs(net.a[others] @ point + net.b[others]).min(initial=np.inf) > net.link.flat
    close = 1e-6 * np.abs(point).max()
    alike = ledger.X[np.abs(ledger.X[:, 0] - point[0]) <= close]  # one input rules out most rows
    asked_before = bool((np.abs(alike - point).max(axis=1, initial=0.0) <= close).any())
    return point if clear and not asked_before else None


def _isolated_point(net: Net, unit: int, present: float, whole: bool, rng: np.random.Generator) -> Floats | None:
    """Return a point of the unit's hyperplane, not much further out than the `present` one and nearer if possible,
    beside which all other units stand still; or None."""
    d = net.a.shape[1]
    length = float(np.linalg.norm(net.a[unit]))
    foot = -net.b[unit] * net.a[unit] / length**2
    others = np.delete(np.arange(net.k), unit)
    step = _step_length(net, unit)
    reach = step * np.linalg.norm(net.a[others], axis=1) if whole else np.zeros(len(others))
    across = rng.standard_normal((POLISH.draws, d))
    # Directions within the hyperplane: on foot + radius * direction the unit's argument is zero.
    across -= np.outer(across @ net.a[unit], net.a[unit]) / length**2
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    at_foot, rates = net.a[others] @ foot + net.b[others], across @ net.a[others].T  # all radii for one product
    radius = 4 * step
    while radius < 1.5 * present:
        clearance = (np.abs(at_foot + radius * rates) - reach).min(axis=1, initial=np.inf)
        best = int(np.argmax(clearance))
        if clearance[best] > net.link.flat:
            return np.asarray(foot + radius * across[best])
        radius *= 2
    return None


def _with_probe(net: Net, unit: int, old: Probe, point: Floats, ledger: Ledger) -> Net:
    """Return the network with a new probe of one unit at `point`; d + 1 queries."""
    step = _step_length(net, unit)
    asked = ledger.ask_rows(np.concatenate([point[None], point + step * old.frame.plane]), "polish")
    lengths = np.full(len(old.lengths), step)
    new = Probe(old.frame, point, lengths, lengths, asked.rows, old)
    answers = ledger.ask_blocks(len(lengths), lambda part: new.points(part, ledger.arrays), "polish")
    probes = list(net.probes)
    probes[unit] = replace(new, answers=answers)
    return replace(net, probes=tuple(probes))

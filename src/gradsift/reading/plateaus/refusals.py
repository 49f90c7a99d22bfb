"""Units to be dropped and looked for again, and why a function has no network to return."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...certificate import n_of
from ...errors import NotIdentifiable
from ..far_field.circle import CircleScan, Discontinuous, Incomplete, likely_family
from ..far_field.odd_network import Net
from ..far_field.probe import evaluate, placed, stack_probes
from ..far_field.settings import digits_of
from ..ledger import Ledger
from ..odd_form import Link
from ..question import Narrowing, all_but
from ..result import Identification
from .joint_fit import Solution
from .settings import PRUNE, REFUSAL


def without_cancelled(net: Net, ledger: Ledger) -> Net:
    """Return the network without pairs of units that add up to nothing: a wrong unit, and what the next scan found
    in its place."""
    keep = np.ones(net.k, dtype=bool)
    form = np.concatenate([net.a, net.b[:, None], net.u[:, None]], axis=1)
    most = digits_of(ledger.resolution).cancels * np.abs(form).max(axis=1)
    flipped = np.ones(form.shape[1])
    flipped[-1] = -1.0  # same unit, opposite weight; or turned, with the same weight
    for sign in (1.0, -1.0):
        near = np.abs(net.b[:, None] - sign * net.b) < most[:, None]  # offsets and weights alone rule out most pairs
        near &= np.abs(net.u[:, None] + sign * net.u) < most[:, None]
        for number, partner in np.argwhere(np.tril(near, -1)):
            apart = np.abs(form[partner] - sign * flipped * form[number]).max()
            if apart < most[number] and keep[number] and keep[partner]:
                keep[[number, partner]] = False
    return net.only(keep)


def without_contaminated(net: Net, ledger: Ledger) -> Net:
    """Return the network without units whose own probes it misses by more than a constant.

    Units still missing stand still during a probe and add a constant to it. One that did not stand still went into the
    unit that was being read; as soon as it is found itself, it shows here.
    """
    keep, most = np.ones(net.k, dtype=bool), digits_of(ledger.resolution).contaminated * np.abs(net.u)
    at = placed(net, ledger.arrays)
    for stack in stack_probes(net, ledger.arrays):
        if stack.latest and ledger.n_features > 2:
            apart = ledger.arrays.spans(evaluate(at, stack, ledger).residuals)
            keep[stack.units] = ledger.arrays.get(apart) <= most[stack.units]
    return net.only(keep)


def suspects(fit: Solution, ledger: Ledger, most: float) -> NDArray[np.bool_]:
    """Say which units are most active on the rows that a fit misses by `most` times the rounding, (k,).

    A few bad units can keep a large fit from its first step, so that most rows are missed: then only those count that
    are missed by far more than the others.
    """
    if fit.astray is not None and fit.few_astray:
        return fit.astray
    found = _most_active(fit, ledger, most)
    if fit.net.k >= PRUNE.many and found.mean() > PRUNE.most:
        found = _most_active(fit, ledger, max(most, PRUNE.share * fit.chi))
    return found


def _most_active(fit: Solution, ledger: Ledger, most: float) -> NDArray[np.bool_]:
    """Say which units are the most active ones on a row that is missed by this much, or miss a probe of their own."""
    net, missed = fit.net, fit.row_chi > most
    xp, found = ledger.arrays, fit.probe_chi > most
    at, rows = placed(net, xp), ledger.placed_rows()[xp.put(np.flatnonzero(missed))]
    active = abs(at.u) * xp.derivative(net.link.odd)(rows @ at.a.T + at.b)  # (n, k)
    found[xp.get(active.argmax(1))] = True
    return found


def raise_if_drowned(ledger: Ledger, radius: float) -> None:
    """Raise if a linear term leaves too few digits of the sigmoids at the radius of the first circle."""
    if ledger.linear is None or ledger.tolerance(radius) < REFUSAL.drowned * ledger.largest:
        return
    raise NotIdentifiable(
        f"The linear term is {np.linalg.norm(ledger.linear) * radius / ledger.largest:.2g} times as large as the rest "
        f"of the function at the radius {radius:.2g} at which units separate ({ledger.n_queries} queries): rounding "
        "leaves too few digits of them; subtract the linear term inside the oracle."
    )


def raise_if_shapeless(scan: CircleScan, link: Link, n_queries: int) -> None:
    """Raise if a circle shows steps, but none of them a unit."""
    name = link.activation.name
    if scan.jumps:
        raise Discontinuous(f"The function {_jumps(scan, n_queries)}.")
    family = likely_family(scan.slopes)
    if family is not None and family != link.odd.name:
        raise NotIdentifiable(
            f"The steps on a circle are not {name} but {family} units ({n_queries} queries): use "
            f"activation='{family}'.",
            rules_out=Narrowing(all_but(frozenset({family}))),
        )
    if len(scan.unresolved) < 2:  # one strange step may be two units that another circle separates
        return
    raise NotIdentifiable(
        f"None of {len(scan.unresolved)} steps on a circle is a single {name} unit or one of another family "
        f"({n_queries} queries). Possible causes: an output link that is not undone, a deeper network, inputs of very "
        "different size (give inputs=), answers that are rounded or noisy, or units in nearly parallel pairs."
    )


def incomplete(
    net: Net, scans: Sequence[CircleScan], link: Link, n_queries: int, found: Identification | None, note: str = ""
) -> NotIdentifiable:
    """Return the refusal of a search that had found some units: what was seen, and what may have stopped it."""
    scan, units = scans[-1], n_of(net.k, "unit")
    note = f" Last {note}." if note else ""
    if scan.jumps:
        return Discontinuous(f"Beside {units} that were found the function {_jumps(scan, n_queries)}.{note}", found)
    if not len(scan.unresolved):
        return Incomplete(
            f"{units} explain the steps on {len(scans)} circles but not all of {n_queries} answers. Possible causes: "
            f"the function is not a sum of sigmoids, or steps cancel.{note}",
            found,
        )
    family = likely_family(scan.slopes)
    mixed = (
        "" if family in (None, link.odd.name) else f"units of different sigmoids (some have the shape of {family}), "
    )
    return NotIdentifiable(
        f"{units} were found, but {n_of(len(scan.unresolved), 'step')} on a circle cannot be separated into single "
        f"units even at radius {scan.radius * 8.0**4:.2g} ({n_queries} queries). {_uneven_columns(net)}Possible "
        f"causes: {mixed}parallel or nearly parallel units, inputs of very different size (give inputs=), or something "
        f"beside the units that is no sigmoid.{note}",
        found,
    )


def _jumps(scan: CircleScan, n_queries: int) -> str:
    largest = max(scan.jumps, key=lambda jump: jump.height)
    return (
        f"jumps by {largest.height:.3g} within {largest.width:.1g} near a circle of radius {scan.radius:.3g} "
        f"({n_queries} queries): it is discontinuous, as a forest or a rule is, or a network that rounds its inputs or "
        "its units"
    )


def _uneven_columns(net: Net) -> str:
    """Say which inputs differ so much in size that circles are wrong for them; "" where none do."""
    if not net.k:
        return ""
    sizes = np.linalg.norm(net.a, axis=0)
    heard = np.flatnonzero(sizes > REFUSAL.silent * sizes.max())
    most, least = heard[np.argmax(sizes[heard])], heard[np.argmin(sizes[heard])]
    if sizes[most] < REFUSAL.uneven * sizes[least]:
        return ""
    return (
        f"The units found turn {sizes[most] / sizes[least]:.1g} times as fast along input {most} as along input "
        f"{least}: give typical rows (inputs=), so that each input is measured by its own size. "
    )

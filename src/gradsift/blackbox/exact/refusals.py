"""Why a function has no network to return, in numbers."""

from __future__ import annotations

import numpy as np

from ...errors import NotIdentifiable
from ..asking import Ledger
from ..links import Link
from .circle import CircleScan
from .exact_policy import REFUSAL
from .families import WrongFamily, likely_family

__all__ = ["raise_if_drowned", "raise_if_shapeless", "why_incomplete"]


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
    if scan.sharp:
        raise NotIdentifiable(
            f"The function jumps by {_largest_jump(scan):.3g} within {scan.radius * 3e-14:.1g} on a circle of radius "
            f"{scan.radius:.3g} ({n_queries} queries): it is discontinuous, for instance a forest or a rule."
        )
    family = likely_family(scan.slopes)
    if family is not None and family != link.odd.name:
        raise WrongFamily(
            f"The steps on a circle are not {name} but {family} units ({n_queries} queries): use "
            f"activation='{family}'.",
            family,
        )
    if len(scan.unresolved) < 2:  # one strange step may be two units that another circle separates
        return
    raise NotIdentifiable(
        f"None of {len(scan.unresolved)} steps on a circle is a single {name} unit or one of another family "
        f"({n_queries} queries): an output link that is not undone, a deeper network, answers that are rounded or "
        "noisy, or units in nearly parallel pairs."
    )


def why_incomplete(n_units: int, scans: list[CircleScan], link: Link, n_queries: int) -> str:
    """Say what stopped a search that had found some units."""
    scan = scans[-1]
    if len(scan.unresolved):
        family = likely_family(scan.slopes)
        mixed = (
            ""
            if family in (None, link.odd.name)
            else f", or units of different sigmoids: some have the shape of {family}"
        )
        return (
            f"{n_units} units were found, but {len(scan.unresolved)} steps on a circle do not separate into single "
            f"units even at radius {scan.radius * 8.0**4:.2g} ({n_queries} queries): parallel or nearly parallel "
            f"units{mixed}."
        )
    return (
        f"{n_units} units explain the steps on {len(scans)} circles but not all of {n_queries} answers: the function "
        "is not a sum of sigmoids, or steps cancel (try another seed)."
    )


def _largest_jump(scan: CircleScan) -> float:
    order = np.argsort(scan.angles)
    return float(np.abs(np.diff(scan.values[order])).max())

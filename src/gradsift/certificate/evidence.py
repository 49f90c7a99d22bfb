"""What a reader of exact or finely rounded answers hands over, and the one certificate that judges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from . import exact_rules as exact
from .check import Check, Verdict
from .limits import BOUND, ExactLimits


class Fresh(NamedTuple):
    """Answers that were foretold before they were asked for.

    n : how many
    worst : the largest miss, over what was to be expected
    relative : the miss is relative instead
    where : at which inputs
    """

    n: int
    worst: float
    relative: bool = False
    where: str = ""


@dataclass(frozen=True)
class Evidence:
    """All that speaks for a network that was read from answers; a rule whose number is None is not asked.

    Attributes
    ----------
    what : str
        What was found, as "3 units and a linear term".
    n_answers : int
        All that were compared with it.
    residual : float or None
        The worst of them over its expected error.
    fresh : Fresh or None
    bound : float or None
        The largest error bound of a parameter: `BOUND` standard errors, relative.
    worst_unit : str
        Whose bound it is, and what makes that unit hard to know.
    linear : float or None
        The error bound of the linear term, relative.
    spare : int or None
        Answers beyond one for each unknown and whatever else is fitted.
    faintest : float or None
        The smallest weight over the largest.
    own : tuple of Check
        Rules that only this reader can ask.
    limit, cause : str
        What limits the answers, and what a miss is usually made by.
    where, kept, rest : str
        Of the claim: where it holds, what the bound is on, and its end.
    """

    what: str
    n_answers: int
    residual: float | None = None
    fresh: Fresh | None = None
    bound: float | None = None
    worst_unit: str = "a unit (precision limit)"
    linear: float | None = None
    spare: int | None = None
    faintest: float | None = None
    own: tuple[Check, ...] = ()
    limit: str = "rounding"
    cause: str = "another activation, or a unit that was not separated"
    where: str = ""
    kept: str = "a relative error"
    rest: str = ""


def certify(evidence: Evidence, limits: ExactLimits) -> Verdict:
    """Return the verdict: the rules that all readers share, as far as there is evidence, and then the reader's own."""
    e = evidence
    checks = (
        None if e.residual is None else exact.residuals(e.residual, e.n_answers, limits, e.limit, e.cause),
        None if e.fresh is None else exact.fresh_answers(*e.fresh, limits=limits, limit=e.limit),
        None if e.bound is None else exact.error_bound(e.bound, limits, e.worst_unit, e.limit),
        None if e.linear is None else exact.linear_term_error(e.linear, limits, e.limit),
        None if e.spare is None else exact.spare_answers(e.spare, limits),
        None if e.faintest is None else exact.negligible_weight(e.faintest, limits),
        *e.own,
    )
    return Verdict(tuple(c for c in checks if c is not None), found=f"{e.what} found{e.where}", claim=_claim(e))


def _claim(e: Evidence) -> str:
    says = f"{e.where.lstrip()} all {e.n_answers} answers agree with {e.what}".lstrip()
    if e.residual is not None:
        met = e.residual if e.fresh is None or e.fresh.relative else max(e.residual, e.fresh.worst)
        says += f" within {met:.2g} times what {e.limit} explains"
    if e.fresh is not None:
        says += f", {e.fresh.n} of them at fresh points{e.fresh.where}"
    if e.bound is not None:
        says += f", and {e.limit} leaves {e.kept} of at most {e.bound:.1g} ({BOUND:g} standard errors)"
    return says + e.rest

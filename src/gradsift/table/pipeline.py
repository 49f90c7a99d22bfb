"""The walk from rows to a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checking import as_generator, at_least
from ..fit import Family
from ..model import SigmoidCombination
from ..sources import Source
from ..sources.labels import LabelSummary
from .finish import finish
from .fit import Fit
from .number import choose_units
from .offsets import offsets_needed
from .problem import TableProblem, prepare
from .settle import Effort, Progress, Settled, settle

__all__ = ["search"]


def search(
    source: Source,
    n_units: int | None = None,
    *,
    activation: str = "tanh",
    labels: bool | None = None,
    slopes: str | float = "each",
    offsets: bool | str = "auto",
    intercept: bool | str = "auto",
    max_units: int = 10,
    n_starts: int | None = None,
    max_rounds: int = 4,
    starts: Sequence[SigmoidCombination] = (),
    rng: Any = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit a combination of sigmoids to rows.

    Parameters
    ----------
    source : Source
    n_units : int, optional
        k; chosen by BIC among 1..`max_units` when it is not given.
    activation : str
    labels : bool, optional
        The target is -1/+1 with mean r(x), weights on the simplex. By default: when y holds nothing else.
    slopes : {"each", "common"} or float
        One slope per unit, one for all, or a known one.
    offsets, intercept : bool or "auto"
        "auto" fits them only when a score test at level 0.001 asks for them (or the rows lie far from the origin).
    n_starts, max_rounds : int
        Starts raced per round (by default 4, and 6 for labels, whose optima lie closer), and how many rounds at most.
    starts : sequence of SigmoidCombination
        Further starts, in the user's coordinates (an earlier fit, or EM's); used where their number of units fits.
    rng : None, int or Generator
    progress : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    Fit
    """
    for name, value in (("n_units", n_units), ("max_units", max_units), ("n_starts", n_starts)):
        if value is not None:
            at_least(name, value, 1)
    rng = as_generator(rng)
    family = _first_family(source, activation, labels, slopes, offsets, intercept)
    wider = _wider_family(family, offsets, intercept)
    effort = Effort(n_starts or (6 if family.labels else 4), max_rounds, tuple(starts))

    def find(problem: TableProblem, *, watch: bool) -> Settled | None:
        wanted = wider if watch and wider != family else None
        if n_units is None:
            return choose_units(problem, max_units, effort, rng, wanted, progress)
        settled = settle(problem, n_units, effort, rng, progress)
        return None if wanted is not None and offsets_needed(problem, wanted, settled.optima.best) else settled

    problem = prepare(source, family, rng)
    settled = find(problem, watch=True)
    if settled is None:
        problem = prepare(source, wider, rng)
        settled = find(problem, watch=False)
    assert settled is not None  # only a watched search may ask for a wider family
    return finish(source, problem, settled)


def _first_family(
    source: Source,
    activation: str,
    labels: bool | None,
    slopes: str | float,
    offsets: bool | str,
    intercept: bool | str,
) -> Family:
    moments = source.moments
    if labels is None:
        labels = _looks_like_labels(source)
    if not labels and moments.y_variance <= (1e-12 * abs(moments.y_mean)) ** 2:
        raise ValueError(f"y must vary, but all {source.n_rows} values are {moments.y_mean:g}.")
    for name, value in (("offsets", offsets), ("intercept", intercept)):
        if value not in (True, False, "auto"):
            raise ValueError(f"{name} must be True, False or 'auto', got {value!r}.")
    spread = np.sqrt(np.maximum(np.diag(moments.covariance), 0))
    far = bool((np.abs(moments.mean) > 3 * spread).any())
    odd = activation != "logistic"  # a logistic unit is odd only about 1/2: it needs the intercept to turn
    return Family.of(
        activation,
        labels=labels,
        slopes=slopes,
        offsets=far if offsets == "auto" else bool(offsets),
        intercept=not labels and (far or not odd if intercept == "auto" else bool(intercept)),
    )


def _wider_family(family: Family, offsets: bool | str, intercept: bool | str) -> Family:
    return Family(
        family.activation,
        family.labels,
        family.slopes,
        family.offsets or offsets == "auto",
        family.intercept or (intercept == "auto" and not family.labels),
    )


def _looks_like_labels(source: Source) -> bool:
    moments = source.moments
    if abs(moments.y_variance + moments.y_mean**2 - 1) > 1e-12:
        return False
    return source.reduce(LabelSummary())

"""How many units? Full fits at k = 1, 2, ... compared by BIC."""

from __future__ import annotations

import numpy as np

from ..checks import TABLE
from ..fit import Family
from .offsets import offsets_needed
from .problem import TableProblem
from .settle import Effort, Progress, Settled, settle
from .simpler import bic

__all__ = ["choose_units"]

_PATIENCE = 4  # numbers of units in a row that BIC may dislike before the search ends


def choose_units(
    problem: TableProblem,
    max_units: int,
    effort: Effort,
    rng: np.random.Generator,
    wider: Family | None = None,
    progress: Progress | None = None,
) -> Settled | None:
    """Return the fit whose number of units BIC prefers, or None when a score test asks for the `wider` family.

    Forward from one unit. Ends at the first number that BIC dislikes and at which the test finds nothing missing: BIC
    alone may rise before it falls (two wrong units can be worth less than one).
    """
    best: Settled | None = None
    lowest, waited = np.inf, 0
    path: list[tuple[int, float]] = []
    for k in range(1, max_units + 1):
        if progress is not None:
            progress("number of units", k - 1, max_units)
        settled = settle(problem, k, effort._replace(max_rounds=min(2, effort.max_rounds)), rng)
        if wider is not None and offsets_needed(problem, wider, settled.optima.best):
            return None
        best_here = settled.optima.best
        n_parameters = problem.family.n_parameters(k, problem.n_features)
        score = bic(problem.family, best_here.loss, best_here.mass, n_parameters)
        path.append((k, score))
        if score < lowest:
            best, lowest, waited = settled, score, 0
            continue
        waited += 1
        if waited >= _PATIENCE or not settled.p_better < TABLE.further_unit:
            break
    return None if best is None else best._replace(bic_path=tuple(path))

"""How many units? Full fits at k = 1, 2, ... compared by a criterion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..certificate import TABLE
from ..fit import Family
from ..tuned import TRIES
from .nested_models import criterion, offsets_needed
from .optimum import Progress, SearchLimits, Settled, settle
from .problem import TableProblem
from .sandwich import price_factor

_BEYOND_BEST = 3  # times max_units: where the search ends though the criterion still falls


class Score(NamedTuple):
    """What a criterion is made of: twice minus the log-likelihood, parameters, and what one costs over BIC's price."""

    deviance: float
    n_parameters: int
    inflation: float

    def at(self, price: float) -> float:
        """Return the criterion at a price per parameter; smaller is better."""
        return self.deviance + price * self.inflation * self.n_parameters


def score_of(problem: TableProblem, settled: Settled) -> Score:
    """Return the parts of a fit's criterion, comparable between families.

    A parameter costs more where rows scatter more than their noise model says.
    """
    best, family = settled.optima.best, problem.family
    deviance = criterion(family, best.loss, best.mass, 0)
    if not family.labels:
        deviance += best.mass * 2 * float(np.log(problem.frame.y_scale))
    n_parameters = family.n_parameters(len(best.theta.u), problem.n_features)
    return Score(deviance, n_parameters, price_factor(problem, best))


def price_of(problem: TableProblem) -> float:
    """Return what the criterion in use takes for a parameter."""
    return 2.0 if problem.choices.criterion == "aic" else float(np.log(problem.mass))


def over_more(problem: TableProblem, own: Score, larger: Sequence[Score]) -> float:
    """Return by how much a criterion milder than BIC prefers a fit to those with more units; infinite if there is none.

    The price lies between AIC's and BIC's, above what noise gains by a unit that it may place where it likes. What
    BIC calls too dear and this one would take is in doubt.
    """
    price = min(TABLE.mild_price, price_of(problem))
    return min((one._replace(inflation=own.inflation).at(price) - own.at(price) for one in larger), default=np.inf)


def choose_units(
    problem: TableProblem,
    max_units: int,
    effort: SearchLimits,
    rng: np.random.Generator,
    wider: Family | None = None,
    progress: Progress | None = None,
) -> Settled:
    """Return the fit whose number of units the criterion prefers, as far as it got when a `wider` family is wanted.

    Forward from one unit. Ends at the first number that the criterion dislikes and at which the test finds nothing
    missing: BIC alone may rise before it falls (two wrong units can be worth less than one). Goes beyond `max_units`,
    up to three times as far, while the criterion still falls there; but not where rows are too few for the parameters.
    """
    room = max(1, problem.room())
    best: Settled | None = None
    price, lowest, waited = price_of(problem), np.inf, 0
    scores: list[Score] = []
    k, smaller, settled = 0, None, None
    while k < min(room, max_units) or (k < min(room, _BEYOND_BEST * max_units) and waited == 0):
        k += 1
        if progress is not None:
            progress("number of units", k - 1, max(k, max_units))
        settled = settle(problem, k, effort._replace(max_rounds=min(2, effort.max_rounds)), rng, smaller=smaller)
        smaller = settled.optima.best.theta
        scores.append(score_of(problem, settled))
        score = scores[-1].at(price)
        if best is None or score < lowest:
            best, lowest, waited = settled, score, 0
        else:
            waited += 1
        if wider is not None and offsets_needed(problem, wider, settled.optima.best):
            return best._replace(wider=True)
        if waited and (waited >= TRIES or not settled.p_better < TABLE.further_unit):
            break
    assert best is not None  # one unit is always tried
    capped = waited == 0 and k >= min(room, _BEYOND_BEST * max_units)
    chosen = len(best.optima.best.theta.u)
    doubt = over_more(problem, scores[chosen - 1], scores[chosen:])
    path = tuple((number + 1, score.at(price)) for number, score in enumerate(scores))
    return best._replace(path=path, over_more=doubt, capped=capped)

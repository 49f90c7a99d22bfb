"""Which pipeline fits a black box: how good its answers are, and where it may be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..checks import any_method
from ..errors import BudgetSpent, NotIdentifiable
from ..oracle import Oracle
from .answers import Floor, choose_path
from .bounded import identify_bounded
from .exact import AlgebraicTails, WrongFamily, identify
from .noisy import identify_imperfect
from .result import Identification, Progress
from .second_look import LOOK_COST, look_again
from .verify import n_affordable, verified

__all__ = ["identify_box"]


def identify_box(
    oracle: Oracle,
    activation: str,
    rng: np.random.Generator,
    *,
    accuracy: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    n_verify: int = 0,
    **options: Any,
) -> Identification:
    """Find out how good the answers are (two queries if they are exact) and take the pipeline made for that.

    Parameters
    ----------
    oracle : Oracle
        With one output.
    accuracy : float, optional
        Direction error wanted of a noisy oracle; an exact one is identified to the last digits anyway.
    n_verify : int
        Fresh inputs to ask at the end, for nothing but to see whether the network foretells their answers.
    **options
        Of :func:`gradsift.blackbox.identify`, which only takes exact answers.
    """
    if oracle.bounds is not None and not np.isfinite([oracle.bounds.low, oracle.bounds.high]).all():
        raise ValueError("bounds must all be finite to find units inside them: name a range for every input.")
    floor = choose_path(oracle, rng)
    if oracle.bounds is not None:
        found = identify_bounded(oracle, activation, rng, accuracy=accuracy, floor=floor, progress=progress, **options)
    elif floor.kind == "exact":
        try:
            found = identify(oracle, activation, rng, progress=progress, n_verify=n_verify, **options)
        except NotIdentifiable as refused:
            found, floor = _after_all(refused, oracle, activation, rng, accuracy, progress)
    else:
        found = identify_imperfect(
            oracle, activation, rng, accuracy=accuracy, floor=floor, progress=progress, **options
        )
    found = replace(found, floor=floor, diagnostics={**found.diagnostics, "answers": str(floor)})
    return found if found.verification is not None else verified(found, oracle, n_verify, rng)


def _after_all(
    refused: NotIdentifiable, oracle: Oracle, activation: str, rng: np.random.Generator, accuracy: float | None,
    progress: Callable[[Progress], None] | None,
) -> tuple[Identification, Floor]:  # fmt: skip
    """Take the pipeline for noise where answers are random after all, or nearly those of units; else refuse."""
    if (
        activation == "auto"
        or n_affordable(oracle, LOOK_COST) < LOOK_COST
        or isinstance(refused, (AlgebraicTails, WrongFamily))
    ):
        raise refused
    seen = look_again(oracle, rng)
    if seen is None:
        raise refused
    try:
        found = identify_imperfect(oracle, activation, rng, accuracy=accuracy, floor=seen.floor, progress=progress)
    except (NotIdentifiable, BudgetSpent) as other:
        raise (other if seen.is_noise else refused) from None
    if not seen.is_noise:
        checks = (any_method.remainder(seen.floor.sd), *found.checks)
        found = replace(found, judgement=replace(found.judgement, checks=checks))
    return found, seen.floor

"""Units beside a linear term behind imperfect answers: the term is measured far out and taken off the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...model import SigmoidCombination
from ...network import Network
from ...oracle import Oracle
from ..question import attempted
from ..result import Reading
from .identify import identify_imperfect
from .settings import LINE


def identify_beside_line(oracle: Oracle, activation: str, rng: np.random.Generator, **options: Any) -> Reading:
    """Find units as :func:`identify_imperfect` does, and the linear term that stands beside them, if there is one.

    A linear term is noticed by answers that grow far out, at no cost where there is none; it then takes 2 d queries.
    """
    found = attempted(lambda: identify_imperfect(oracle, activation, rng, **options))
    if not isinstance(found, NotIdentifiable):
        return found
    if found.rules_out is None:  # anything but growth
        raise found
    linear = far_slope(oracle)
    if linear is None:
        raise NotIdentifiable(
            "Far out the answers grow at different rates in opposite directions: ReLU or similar units; name their "
            "activation.",
            rules_out=found.rules_out,
        )
    found = identify_imperfect(oracle.without_line(linear), activation, rng, **options)
    m = found.model
    model = SigmoidCombination(m.units, m.weights, m.slopes, m.offsets, m.intercept, m.activation, linear)
    return replace(found, network=Network.of(model))


def far_slope(oracle: Oracle) -> Floats | None:
    """Return the slope of a function that grows linearly, (d,); None if it grows otherwise. 2 d queries.

    So far out that noise and sigmoids are rounding errors of the slope: at the distances where units are looked for,
    nothing is left of the term.
    """
    rows = LINE.far * np.eye(oracle.n_features)
    ahead, behind = np.split(oracle(np.concatenate([rows, -rows])), 2)
    if np.abs(ahead + behind).max() > LINE.even * np.abs(ahead - behind).max():
        return None
    return np.asarray((ahead - behind) / (2 * LINE.far))

"""Which pipeline fits a black box: how good its answers are, and where it may be asked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import NotIdentifiable
from ..oracle import Oracle
from ..oracle.undo import likely_link
from .answers import choose_path, with_roughness
from .bounded import identify_bounded
from .exact import identify, identify_coarse, is_fine
from .links import link_of
from .noisy import identify_imperfect
from .result import Identification, Progress

__all__ = ["identify_box"]

_LOOKED_AT = 16  # inputs that tell whether outputs look like probabilities


@contextlib.contextmanager
def naming_the_link(oracle: Oracle) -> Iterator[None]:
    """Add to a refusal the option that undoes a link, where outputs look like one."""
    try:
        yield
    except NotIdentifiable as refusal:
        hint = _hint(oracle)
        if not hint:
            raise
        raise NotIdentifiable(f"{hint[0].upper()}{hint[1:]}. {refusal}", refusal.partial) from refusal


def _hint(oracle: Oracle) -> str:
    """Return what the outputs at a few random inputs look like; no query where a budget or a box is in the way."""
    if oracle.link is not None or oracle.bounds is not None or oracle.max_queries is not None:
        return ""
    return likely_link(oracle.outputs(np.random.default_rng(0).standard_normal((_LOOKED_AT, oracle.n_features))))


def identify_box(
    oracle: Oracle,
    activation: str,
    rng: np.random.Generator,
    *,
    accuracy: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Identification:
    """Find out how good the answers are (two queries if they are exact) and take the pipeline made for that.

    Parameters
    ----------
    oracle : Oracle
        With one output.
    accuracy : float, optional
        Direction error wanted of a noisy oracle; an exact one is identified to the last digits anyway.
    **options
        Of :func:`gradsift.blackbox.identify`, which only takes exact answers.
    """
    if oracle.bounds is not None and not np.isfinite([oracle.bounds.low, oracle.bounds.high]).all():
        raise ValueError("bounds must all be finite to find units inside them: name a range for every input.")
    with naming_the_link(oracle):
        return _identify(oracle, activation, rng, accuracy, progress, options)


def _identify(
    oracle: Oracle, activation: str, rng: np.random.Generator, accuracy: float | None,
    progress: Callable[[Progress], None] | None, options: dict[str, Any],
) -> Identification:  # fmt: skip
    """Choose the pipeline by the first answers, and follow it."""
    floor = choose_path(oracle, rng)
    link = None if activation == "auto" else link_of(activation)
    if oracle.bounds is None and floor.kind == "exact":
        found = identify(oracle, activation, rng, progress=progress, **options)
    elif oracle.bounds is None and is_fine(floor, link, oracle.n_features):
        found = identify_coarse(oracle, activation, rng, floor, progress)
    else:
        method = identify_imperfect if oracle.bounds is None else identify_bounded
        floor = with_roughness(floor, oracle, rng)
        found = method(oracle, activation, rng, accuracy=accuracy, floor=floor, progress=progress, **options)
    return replace(found, diagnostics={**found.diagnostics, "answers": str(floor)}, roundings=floor.outputs)

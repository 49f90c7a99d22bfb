"""Which pipeline fits a black box: how good its answers are, and where it may be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import NotIdentifiable
from ..oracle import Oracle
from .answers import choose_path
from .bounded import identify_bounded
from .depth import identify_exact
from .noisy import identify_imperfect
from .result import Identification, Progress

__all__ = ["identify_box"]


def identify_box(
    oracle: Oracle,
    activation: str,
    rng: np.random.Generator,
    *,
    accuracy: float | None = None,
    layers: int | str = "auto",
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
    layers : {"auto", 1, 2, 3}
        Hidden layers; several only where answers are exact and not bounded.
    **options
        Of :func:`gradsift.blackbox.identify`, which only takes exact answers.
    """
    if oracle.bounds is not None and not np.isfinite([oracle.bounds.low, oracle.bounds.high]).all():
        raise ValueError("bounds must all be finite to find units inside them: name a range for every input.")
    floor = choose_path(oracle, rng)
    if layers in (2, 3) and (oracle.bounds is not None or floor.kind != "exact"):
        where = "inside bounds" if oracle.bounds is not None else f"where {floor}"
        raise NotIdentifiable(
            "Several hidden layers are read from exact answers far out, where all units of the first one stand still: "
            f"{where} that is not possible."
        )
    if oracle.bounds is not None:
        found = identify_bounded(oracle, activation, rng, accuracy=accuracy, floor=floor, progress=progress, **options)
    elif floor.kind == "exact":
        found = identify_exact(oracle, activation, rng, layers=layers, progress=progress, **options)
    else:
        found = identify_imperfect(
            oracle, activation, rng, accuracy=accuracy, floor=floor, progress=progress, **options
        )
    return replace(found, diagnostics={**found.diagnostics, "answers": str(floor)})

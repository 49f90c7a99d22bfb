"""How many queries an oracle will be asked, before the first one is.

The formulas are fits to the medians of ``benchmarks/results/black_box_exact.json``, ``black_box_noisy.json``,
``black_box_kinked.json``, ``black_box_deep_relu.json`` and ``real_boxes.json``;
``benchmarks/boxes/forecast_error.py`` compares them with every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .activations import get_activation
from .arguments import at_least, whole

_KINDS = ("exact", "float32", "noise", "labels", "decisions")


class Patience(NamedTuple):
    """A run without a budget stops at this many times its forecast, and never before `least`."""

    times: float
    least: int


PATIENCE = Patience(50, 5000)
HASTE = Patience(3, 300)  # where another way may be tried (guess; black_box_deep, row float32)


@dataclass(frozen=True)
class Forecast:
    """Queries to expect.

    Attributes
    ----------
    queries : int
        About the median of like networks.
    low, high : int
        Nine of ten such networks take a number in between; verification on fresh inputs is included in `high`.
    """

    queries: int
    low: int
    high: int

    def __str__(self) -> str:
        return f"about {self.queries:,} queries ({self.low:,} to {self.high:,})"


def forecast(
    n_features: int,
    n_units: int | None = None,
    answers: str = "exact",
    noise: float | None = None,
    accuracy: float | None = None,
    bounds: Any = None,
    n_outputs: int = 1,
    layers: int | Sequence[int] = 1,
    activation: str | None = None,
) -> Forecast:
    """Say how many queries `recover` will ask of an oracle.

    Parameters
    ----------
    n_features, n_units : int
        Inputs and hidden units; for the latter a guess will do. Units may stand in `layers` instead.
    answers : {"exact", "float32", "noise", "labels", "decisions"}
        Answers rounded to decimals count as "float32"; "decisions" are labels that never change.
    noise : float, optional
        Standard deviation of the answers over the size of a weight; by default 0.1. Implies "noise".
    accuracy : float, optional
        Direction error wanted under noise, by default 0.1, and behind decisions, by default 1e-6.
    bounds : anything but None
        Inputs must stay in a box.
    n_outputs : int
        All are read from the same queries.
    layers : 1, or sequence of int
        Units of each hidden layer; several are measured for ReLU and leaky ReLU behind exact answers only.
    activation : str, optional
        By default sigmoids. Of units that grow exact answers are measured, and decisions of ReLU.

    Examples
    --------
    >>> import gradsift as gs
    >>> print(gs.forecast(10, 5))
    about 100 queries (80 to 265)
    >>> gs.forecast(20, layers=[10, 10], activation="relu").queries
    1780
    """
    widths = _widths(n_units, layers)
    for name, value in (("n_features", n_features), ("n_outputs", n_outputs), *(("n_units", k) for k in widths)):
        whole(name, value)
    if answers not in _KINDS:
        raise ValueError(f"answers must be one of {', '.join(_KINDS)}, got {answers!r}.")
    for name, given in (("noise", noise), ("accuracy", accuracy)):
        if given is not None:
            at_least(name, given, 0, strict=True)
    if noise is not None and answers == "exact":
        answers = "noise"
    if answers == "decisions" and len(widths) == 1:
        told = median_decisions(int(n_features), widths[0], accuracy or 1e-6)
        return Forecast(round(told), round(0.75 * told), round(2 * told) + 160)
    if len(widths) > 1 or (activation is not None and not get_activation(activation).saturates):
        return _growing(int(n_features), widths, activation, answers, bounds)
    queries = _median(int(n_features), widths[0], answers, noise or 0.1, accuracy or 0.1, bounds is not None)
    spread = 3.5 if answers == "labels" else 2.25
    return Forecast(round(queries), round(0.8 * queries), round(spread * queries) + 40)


def _widths(n_units: int | None, layers: int | Sequence[int]) -> tuple[int, ...]:
    """Return the units of each hidden layer, from either of both arguments."""
    if not isinstance(layers, (int, np.integer)):
        if n_units is not None or not len(layers):
            raise ValueError("Give either n_units, or in layers the units of each hidden layer.")
        return tuple(int(k) for k in layers)
    if layers != 1:
        raise ValueError(f"layers must be 1, or the units of each hidden layer as a list, got {layers!r}.")
    if n_units is None:
        raise ValueError("n_units is missing: the hidden units, of which a guess will do.")
    return (n_units,)


def _growing(d: int, widths: tuple[int, ...], activation: str | None, answers: str, bounds: Any) -> Forecast:
    """Return the queries of units that grow, in one layer or several, behind exact answers."""
    sharp = activation is not None and get_activation(activation).homogeneous
    if answers != "exact" or bounds is not None or (len(widths) > 1 and not sharp):
        raise ValueError(
            "The queries are not measured: several hidden layers are forecast for activation='relu' or leaky ReLU, and "
            "units that grow for exact answers without bounds."
        )
    if len(widths) == 1:
        told = median_kinks(d, widths[0])
        return Forecast(round(told), round(0.7 * told), round(1.5 * told) + 40)
    told = median_relu_layers(d, widths)
    return Forecast(round(told), round(0.6 * told), round(3 * told))


def median_kinks(n_features: int, n_units: int) -> float:
    """Return about how many exact answers one layer of units that grow takes: rows "exact" of black_box_kinked."""
    return 30.0 + (n_units + 1) * (n_features + 5.5)


def median_relu_layers(n_features: int, widths: Sequence[int]) -> float:
    """Return about how many exact answers several layers of ReLU take: all rows of black_box_deep_relu."""
    d, k = n_features, sum(widths)
    # Every kink on a path takes a gradient, and every unit its few equations; with more units below than inputs most of
    # these are found one by one, and a third layer is looked for after the second.
    crowded = any(below < above for below, above in pairwise((d, *widths)))
    return (60.0 + k * (60.0 + 1.3 * d)) * 2.2 ** (len(widths) - 2) * (4.5 if crowded else 1.0)


def median_queries(n_features: int, n_units: int) -> float:
    """Return about how many exact answers one layer of sigmoids takes: all rows of black_box_exact."""
    return _median(n_features, n_units, "exact", 0.1, 0.1, False)


def median_decisions(n_features: int, n_units: int, accuracy: float = 1e-6) -> float:
    """Return about how many decisions one layer takes: all rows of black_box_decisions."""
    d, k = n_features, n_units
    digits = max(0.0, float(np.log2(1e-6 / accuracy)))  # every point that is asked in the end costs as many bits more
    return 300.0 + 28.0 * k * (d - 1) + 270.0 * k + digits * k * (d + 2)


def _median(d: int, k: int, answers: str, noise: float, accuracy: float, bounded: bool) -> float:
    unknowns = k * (d + 2) + 1
    if answers == "labels":  # rows "labels"; fewer or more by accuracy is a guess
        return float(97 * k**2.31 * d**0.76 * max(1.0, 0.1 / accuracy))
    if answers == "noise":  # rows "sd .1"; how the noise counts is a guess
        decades = max(0.0, float(np.log10(0.1 / accuracy)))
        return unknowns * ((3.6 + 7 / k) * (0.6 + 0.4 * (noise / 0.1) ** 2) + 2.3 * decades)
    if bounded:  # rows "box 5"
        return 20 + 2.5 * unknowns
    exact = 15 + k * (d + 7)  # all rows of black_box_exact
    return exact if answers == "exact" else 23 + exact + 2.2 * unknowns  # rows "float32" and "decimals"


class QueryLimit(NamedTuple):
    """What a run should cost by the units seen so far, and when one without a budget stops."""

    answers: str
    bounded: bool = False
    patience: Patience = PATIENCE

    def expected(self, n_features: int, n_units: int) -> int | None:
        """Return the queries in all that these units should cost; None where that depends on more than them."""
        if not n_units or self.bounded or self.answers not in ("exact", "float32"):
            return None
        return round(self._median(n_features, n_units))

    def most(self, n_features: int, n_units: int) -> int:
        """Return the rows after which a run without a budget stops."""
        least = 20 if self.bounded else 1  # inside a box units are not seen one by one
        return max(self.patience.least, int(self.patience.times * self._median(n_features, max(n_units, least))))

    def _median(self, n_features: int, n_units: int) -> float:
        return _median(n_features, n_units, self.answers, 0.1, 1e-3, self.bounded)

"""Figures of what was found: units, their uncertainty and likeness, the scan of a black box, queries spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checking import Floats, finite_matrix, finite_vector, matching_rows
from ..model import SigmoidCombination
from .style import PALETTE, axes_or_new, color, pyplot

__all__ = ["query_spending", "step_scan", "unit_errors", "unit_similarity"]

_PANELS = ("weights", "slopes", "offsets")


def unit_errors(model: SigmoidCombination, standard_errors: Mapping[str, Any] | None = None, axes: Any = None) -> Any:
    """Draw weight, slope and offset of each unit with 95% intervals where standard errors are known.

    Parameters
    ----------
    model : SigmoidCombination
    standard_errors : dict, optional
        (k,) arrays under "weights", "slopes", "offsets".
    axes : three Axes, optional

    Returns
    -------
    array of three axes
    """
    errors = standard_errors or {}
    if axes is None:
        height = 1.3 + 0.28 * min(model.n_units, 40)
        _, axes = pyplot().subplots(1, 3, figsize=(7.6, height), sharey=True, layout="constrained")
    places = np.arange(1, model.n_units + 1)
    for ax, name in zip(axes, _PANELS):
        values = getattr(model, name)
        spread = np.asarray(errors.get(name, np.nan), dtype=np.float64)
        known = spread.shape == values.shape and bool(np.isfinite(spread).all())
        half = 1.96 * spread if known else None
        ax.errorbar(values, places, xerr=half, fmt="o", color=PALETTE[0], ecolor=PALETTE[1], capsize=3, markersize=4.5)
        if name != "slopes":
            ax.axvline(0, color=color(-1), linewidth=0.8, linestyle=":")
        ax.set_title(name if known else f"{name} (no interval)", fontsize=10)
        ax.set_xlim(*_readable_limits(values, 0.0 if half is None else half))
        ax.locator_params(axis="x", nbins=4)  # panels are narrow, and labels like -0.04 wide
    steps = max(1, -(-model.n_units // 20))
    axes[0].set(ylabel="unit", yticks=places[::steps], ylim=(model.n_units + 0.5, 0.5))
    return axes


def _readable_limits(values: Floats, half: Any) -> tuple[float, float]:
    """Return limits around the intervals, never so narrow that the axis would need an offset."""
    low, high = float((values - half).min()), float((values + half).max())
    room = max(0.12 * (high - low), 0.05 * float(np.abs(values).max()), 0.05)
    return low - room, high + room


def unit_similarity(units: ArrayLike, ax: Any = None) -> Any:
    """Draw the cosines between found units: bright off the diagonal means hard to tell apart.

    Parameters
    ----------
    units : (k, d) array of unit rows

    Returns
    -------
    Axes
    """
    rows = finite_matrix("units", units)
    cosines = rows @ rows.T
    k = len(rows)
    ax = axes_or_new(ax, 4.6, 3.9)
    drawn = ax.imshow(cosines, vmin=-1, vmax=1, cmap="RdBu_r", extent=(0.5, k + 0.5, k + 0.5, 0.5))
    ax.figure.colorbar(drawn, ax=ax, label="cosine", shrink=0.85)
    if k <= 10:
        for i in range(k):
            for j in range(k):
                ink = "white" if abs(cosines[i, j]) > 0.6 else "black"
                ax.text(
                    j + 1,
                    i + 1,
                    f"{round(cosines[i, j], 2) + 0.0:.2f}",
                    ha="center",
                    va="center",
                    color=ink,
                    fontsize=8,
                )
    ticks = np.arange(1, k + 1, max(1, -(-k // 12)))
    ax.set(xlabel="unit", ylabel="unit", xticks=ticks, yticks=ticks)
    return ax


def step_scan(angles: ArrayLike, values: ArrayLike, centers: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw a black box on a large half circle: plateaus with a step wherever a unit's hyperplane is crossed.

    Parameters
    ----------
    angles, values : (n,) arrays
        The samples of the scan, angles in radians.
    centers : (k,) array, optional
        Angles at which the found units cross the circle.

    Returns
    -------
    Axes
    """
    at, heights = finite_vector("angles", angles), finite_vector("values", values)
    matching_rows(at, heights)
    ax = axes_or_new(ax, 6.4, 3.4)
    order = np.argsort(at, kind="stable")
    ax.plot(np.degrees(at[order]), heights[order], color=PALETTE[0], linewidth=1, marker="o", markersize=3.5)
    if centers is not None:
        for i, center in enumerate(finite_vector("centers", centers)):
            name = "found unit" if i == 0 else None
            ax.axvline(np.degrees(center), color=PALETTE[1], linestyle="--", linewidth=0.9, label=name)
        ax.legend(fontsize=9, frameon=False, loc="best")
    ax.set(xlabel="angle on the half circle (degrees)", ylabel="answer of the black box")
    return ax


def query_spending(spent: Mapping[str, int], n_parameters: int | None = None, ax: Any = None) -> Any:
    """Draw the queries of each step, in the order in which the steps began.

    Parameters
    ----------
    spent : dict
        Queries by step.
    n_parameters : int, optional
        Unknowns of the model, for comparison: no method can do with fewer queries.

    Returns
    -------
    Axes
    """
    if not spent:
        raise ValueError("spent must name at least one step, got none.")
    ax = axes_or_new(ax, 6.4, 1.4 + 0.32 * len(spent))
    names, counts = list(spent), np.array([spent[name] for name in spent])
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    ax.barh(names, counts, left=starts, color=PALETTE[0], height=0.6)
    for name, start, count in zip(names, starts, counts):
        ax.text(start + count, name, f" {count:,}", va="center", fontsize=9)
    if n_parameters is not None:
        ax.axvline(n_parameters, color=PALETTE[1], linestyle="--", label=f"unknowns ({n_parameters:,})")
        ax.legend(fontsize=9, frameon=False, loc="upper right")
    ax.set(xlabel=f"queries, one step after the other ({counts.sum():,} in all)")
    ax.set_xlim(0, 1.14 * max(float(counts.sum()), float(n_parameters or 0)))
    ax.invert_yaxis()
    return ax

"""Figures of a fit to rows: residuals, calibration, the number of units, error against rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checking import Floats, at_least, finite_vector, matching_rows
from .style import PALETTE, axes_or_new, color

__all__ = ["bic_path", "calibration", "error_against_rows", "residual_plot"]


def residual_plot(predicted: ArrayLike, y: ArrayLike, ax: Any = None) -> Any:
    """Draw residuals against predictions, with their running mean: it should stay on zero.

    Parameters
    ----------
    predicted, y : (n,) arrays

    Returns
    -------
    Axes
    """
    r, target = finite_vector("predicted", predicted), finite_vector("y", y)
    matching_rows(r, target)
    ax = axes_or_new(ax)
    shown = np.linspace(0, len(r) - 1, min(len(r), 2000)).astype(int)  # enough to see, small enough to send
    ax.scatter(r[shown], (target - r)[shown], s=7, color=PALETTE[5], alpha=0.5, linewidths=0, rasterized=True)
    groups = _equal_groups(r, 20)
    middle = [float(r[g].mean()) for g in groups]
    means = [float((target - r)[g].mean()) for g in groups]
    errors = [1.96 * float((target - r)[g].std()) / np.sqrt(len(g)) for g in groups]
    ax.errorbar(middle, means, errors, color=PALETTE[1], marker="o", markersize=3.5, capsize=2, label="mean, 95%")
    ax.axhline(0, color=color(-1), linewidth=0.8)
    ax.set(xlabel="prediction", ylabel="residual")
    ax.legend(fontsize=9, frameon=False)
    return ax


def calibration(probabilities: ArrayLike, positive: ArrayLike, n_bins: int = 10, ax: Any = None) -> Any:
    """Draw how often the second class occurs where it was predicted with a given probability.

    Parameters
    ----------
    probabilities : (n,) array in [0, 1]
    positive : (n,) array of 0 and 1
        Whether the second class was seen.
    n_bins : int
        Groups of equal size.

    Returns
    -------
    Axes
    """
    p, seen = finite_vector("probabilities", probabilities), finite_vector("positive", positive)
    matching_rows(p, seen)
    at_least("n_bins", n_bins, 1)
    if (p < 0).any() or (p > 1).any() or not np.isin(seen, (0, 1)).all():
        raise ValueError("calibration needs probabilities in [0, 1] and positive in {0, 1}.")
    ax = axes_or_new(ax, 4.4, 4.2)
    groups = _equal_groups(p, n_bins)
    share = np.array([seen[g].mean() for g in groups])
    sizes = np.array([len(g) for g in groups])
    ax.plot([0, 1], [0, 1], color=color(-1), linestyle=":", label="perfect")
    errors = 1.96 * np.sqrt(np.maximum(share * (1 - share), 0.25 / sizes) / sizes)
    ax.errorbar(
        [p[g].mean() for g in groups], share, errors, color=PALETTE[0], marker="o", capsize=3, label="rows, 95%"
    )
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="predicted probability", ylabel="share seen", aspect="equal")
    ax.legend(fontsize=9, frameon=False, loc="upper left")
    return ax


def bic_path(n_units: ArrayLike, bic: ArrayLike, ax: Any = None) -> Any:
    """Draw Schwarz's criterion against the number of units, from the best one upwards.

    Parameters
    ----------
    n_units, bic : (m,) arrays

    Returns
    -------
    Axes
    """
    k, scores = finite_vector("n_units", n_units), finite_vector("bic", bic)
    matching_rows(k, scores)
    ax = axes_or_new(ax)
    order = np.argsort(k)
    best = int(np.argmin(scores))
    ax.plot(k[order], scores[order] - scores[best], color=PALETTE[0], marker="o")
    ax.plot(k[best], 0, marker="o", markersize=10, color=PALETTE[1], linestyle="none", label=f"chosen: {k[best]:.0f}")
    ax.set(xlabel="number of units", ylabel="BIC above the best", xticks=k[order])
    ax.legend(fontsize=9, frameon=False)
    return ax


def error_against_rows(n_rows: ArrayLike, errors: ArrayLike, bound: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw the error against the number of rows, both on logarithmic axes, beside the Cramer-Rao bound.

    Parameters
    ----------
    n_rows : (m,) array
    errors : (m,) or (m, repeats) array
        Repeats are drawn as dots, their root mean square as the line.
    bound : (m,) array, optional

    Returns
    -------
    Axes
    """
    n = finite_vector("n_rows", n_rows)
    values: Floats = np.asarray(errors, dtype=np.float64)
    values = values.reshape(len(values), -1)
    matching_rows(values, n)
    ax = axes_or_new(ax)
    if values.shape[1] > 1:
        ax.plot(np.repeat(n, values.shape[1]), values.ravel(), ".", color=PALETTE[5], alpha=0.6, label="one fit")
    label = "root mean square" if values.shape[1] > 1 else "error"
    ax.plot(n, np.sqrt((values**2).mean(axis=1)), color=PALETTE[0], marker="o", label=label)
    if bound is not None:
        ax.plot(n, finite_vector("bound", bound, len(n)), color=PALETTE[1], linestyle="--", label="Cramer-Rao bound")
    ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="error")
    ax.legend(fontsize=9, frameon=False)
    return ax


def _equal_groups(values: Floats, n_groups: int) -> list[Any]:
    """Split the rows, ordered by value, into groups of nearly equal size (empty ones left out)."""
    return [g for g in np.array_split(np.argsort(values, kind="stable"), n_groups) if len(g)]

"""Figures of the paper's method: gradients, candidates, norms, the mirror's eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..checking import Floats, finite_matrix, finite_vector
from .style import PALETTE, axes_or_new, color, pyplot

if TYPE_CHECKING:
    from ..paper_method.candidates import Candidates

__all__ = ["candidate_panels", "gradient_field", "mirror_scree", "norm_histogram"]


def candidate_panels(
    candidates: Candidates, labels: ArrayLike, centers: ArrayLike, truth: ArrayLike | None = None, axes: Any = None
) -> Any:
    """Draw the three panels of an execution in three dimensions.

    (a) all gradient estimates, (b) the candidates on the sphere, (c) the candidates coloured by cluster, with the
    centres as arrows (and the true units as dashed lines, where known).

    Parameters
    ----------
    candidates : Candidates
    labels : (m,) ints
    centers : (k, 3) array
    truth : (k, 3) array, optional
    axes : three 3-D axes, optional

    Returns
    -------
    array of three axes
    """
    middle = finite_matrix("centers", centers)
    if middle.shape[1] != 3:
        raise ValueError(f"candidate_panels draws three dimensions, got {middle.shape[1]}: project first.")
    if axes is None:
        figure = pyplot().figure(figsize=(12.6, 5.0))
        axes = figure.subplots(1, 3, subplot_kw={"projection": "3d"})
        figure.subplots_adjust(left=0.01, right=0.96, bottom=0.14, top=0.93, wspace=0.06)
    colors = [color(int(label)) for label in np.asarray(labels)]
    values, directions = candidates.estimates.values, candidates.directions
    reach = float(np.quantile(np.abs(values), 0.999)) or 1.0
    axes[0].scatter(*values.T, s=3, color="#444444", alpha=0.35, linewidths=0)
    axes[0].set_title(f"(a) {len(values)} gradient estimates")
    axes[1].scatter(*directions.T, s=9, color="#444444", alpha=0.8, linewidths=0)
    axes[1].set_title(f"(b) {len(directions)} candidates")
    axes[2].scatter(*directions.T, s=9, c=colors, alpha=0.8, linewidths=0)
    axes[2].set_title(f"(c) {len(middle)} clusters, centres as arrows")
    for i, center in enumerate(middle):
        axes[2].quiver(0, 0, 0, *center, color=color(i), linewidth=2.4, arrow_length_ratio=0.12)
    if truth is not None:
        for unit in finite_matrix("truth", truth, 3):
            axes[2].plot(*np.stack((np.zeros(3), unit)).T, color="black", linestyle="--", linewidth=1.1)
    for ax, limit in zip(axes, (reach, 1.05, 1.05)):
        _dress_cube(ax, limit)
    return axes


def _dress_cube(ax: Any, limit: float) -> None:
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), zlim=(-limit, limit))
    ticks = np.array([-1.0, 0.0, 1.0]) * (1.0 if limit > 0.99 else float(f"{0.8 * limit:.1g}"))
    ax.set(xticks=ticks, yticks=ticks, zticks=ticks)
    ax.set_box_aspect((1, 1, 1), zoom=0.92)
    ax.view_init(elev=24, azim=38)
    ax.tick_params(labelsize=8, pad=0)
    for name, setter in (("$x_1$", ax.set_xlabel), ("$x_2$", ax.set_ylabel), ("$x_3$", ax.set_zlabel)):
        setter(name, labelpad=-2)


def gradient_field(points: ArrayLike, values: ArrayLike, units: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw gradients in the plane as arrows, coloured by length; the units' hyperplanes as dashed lines.

    Parameters
    ----------
    points, values : (m, 2) arrays
    units : (k, 2) array, optional

    Returns
    -------
    Axes
    """
    xi: Floats = finite_matrix("points", points, 2)
    arrows: Floats = finite_matrix("values", values, 2)
    ax = axes_or_new(ax, 6.2, 5.2)
    norms = np.linalg.norm(arrows, axis=1)
    drawn = ax.quiver(*xi.T, *arrows.T, norms, cmap="viridis_r", angles="xy", width=0.004)
    ax.figure.colorbar(drawn, ax=ax, label="length of the gradient estimate", shrink=0.85)
    limit = 1.06 * float(np.abs(xi).max())
    if units is not None:
        for i, unit in enumerate(finite_matrix("units", units, 2)):
            across = np.array([-unit[1], unit[0]]) / np.linalg.norm(unit)
            ends = np.outer([-2 * limit, 2 * limit], across)
            ax.plot(*ends.T, color=color(i), linestyle="--", linewidth=1.2, label=f"normal to unit {i + 1}")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, fontsize=9, frameon=False)
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xlabel=r"$\xi_1$", ylabel=r"$\xi_2$")
    return ax


def norm_histogram(candidates: Candidates, ax: Any = None) -> Any:
    """Draw the lengths of all gradient estimates, the threshold, and the effective samples behind each.

    Parameters
    ----------
    candidates : Candidates
    ax : Axes, optional

    Returns
    -------
    Axes
        Histogram of log10 length; its twin on the right shows the median support per bin.
    """
    ax = axes_or_new(ax)
    norms, support = candidates.estimates.norms, candidates.estimates.support
    positive = norms > 0
    logs, support = np.log10(norms[positive]), support[positive]
    edges = np.linspace(logs.min() - 0.01, logs.max() + 0.01, 41)
    ax.hist(logs, edges, color=PALETTE[5], label="all estimates")
    kept = np.log10(candidates.norms)
    ax.hist(kept, edges, color=PALETTE[0], label=f"kept ({len(kept)})")
    if candidates.min_norm > 0:
        ax.axvline(np.log10(candidates.min_norm), color=PALETTE[1], linestyle="--", label="threshold")
    ax.set(xlabel="length of the gradient estimate (log10)", ylabel="points")
    lines, names = ax.get_legend_handles_labels()
    if np.isfinite(support).all():
        twin = ax.twinx()
        bins = np.clip(np.digitize(logs, edges) - 1, 0, len(edges) - 2)
        filled = np.unique(bins)
        middle = 0.5 * (edges[filled] + edges[filled + 1])
        medians = [max(float(np.median(support[bins == b])), 1e-3) for b in filled]
        (drawn,) = twin.plot(middle, medians, color=PALETTE[2], marker=".", label="support (right)")
        twin.set(yscale="log", ylabel="effective samples, median")
        lines, names = [*lines, drawn], [*names, "support (right)"]
    ax.legend(lines, names, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=9, frameon=False)
    return ax


def mirror_scree(
    eigenvalues: ArrayLike, noise_edge: float | None = None, n_chosen: int | None = None, ax: Any = None
) -> Any:
    """Draw SpectralMirror's eigenvalues by distance from their median, with the edge of what noise explains.

    Parameters
    ----------
    eigenvalues : (d,) array
    noise_edge : float, optional
        Distance from the median that noise alone reaches.
    n_chosen : int, optional
        How many were taken.

    Returns
    -------
    Axes
    """
    values = finite_vector("eigenvalues", eigenvalues)
    ax = axes_or_new(ax)
    away = np.sort(np.abs(values - np.median(values)))[::-1]
    chosen = len(away) if n_chosen is None else n_chosen
    places = np.arange(1, len(away) + 1)
    ax.plot(places, away, color=color(-1), linewidth=1)
    ax.plot(places[:chosen], away[:chosen], "o", color=PALETTE[0], label="taken")
    if chosen < len(away):
        ax.plot(places[chosen:], away[chosen:], "o", color=color(-1), label="left")
    if noise_edge is not None:
        ax.axhline(noise_edge, color=PALETTE[1], linestyle="--", label="edge of the noise")
    ax.set(xlabel="eigenvalue, by rank", ylabel="distance from the median", ylim=(0, None))
    ax.locator_params(axis="x", integer=True)
    ax.legend(fontsize=9, frameon=False)
    return ax

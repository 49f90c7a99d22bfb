"""Figures, one function each; every function takes ``ax=`` (or ``axes=``) and returns what it drew on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .checking import Floats, finite_matrix
from .errors import MissingExtra

if TYPE_CHECKING:
    from .candidates import Candidates

__all__ = ["PALETTE", "candidate_panels", "gradient_field"]

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")  # Okabe and Ito
_LEFT_OUT = "#9a9a9a"


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("Figures need matplotlib: pip install 'gradsift[plot]'.") from None
    return plt


def _color(label: int) -> str:
    return PALETTE[label % len(PALETTE)] if label >= 0 else _LEFT_OUT


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
        figure = _pyplot().figure(figsize=(12.6, 5.0))
        axes = figure.subplots(1, 3, subplot_kw={"projection": "3d"})
        figure.subplots_adjust(left=0.01, right=0.96, bottom=0.14, top=0.93, wspace=0.06)
    colors = [_color(int(label)) for label in np.asarray(labels)]
    values, directions = candidates.estimates.values, candidates.directions
    reach = float(np.quantile(np.abs(values), 0.999)) or 1.0
    axes[0].scatter(*values.T, s=3, color="#444444", alpha=0.35, linewidths=0)
    axes[0].set_title(f"(a) {len(values)} gradient estimates")
    axes[1].scatter(*directions.T, s=9, color="#444444", alpha=0.8, linewidths=0)
    axes[1].set_title(f"(b) {len(directions)} candidates")
    axes[2].scatter(*directions.T, s=9, c=colors, alpha=0.8, linewidths=0)
    axes[2].set_title(f"(c) {len(middle)} clusters, centres as arrows")
    for i, center in enumerate(middle):
        axes[2].quiver(0, 0, 0, *center, color=_color(i), linewidth=2.4, arrow_length_ratio=0.12)
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
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(6.2, 5.2), layout="constrained")
    norms = np.linalg.norm(arrows, axis=1)
    drawn = ax.quiver(*xi.T, *arrows.T, norms, cmap="viridis_r", angles="xy", width=0.004)
    ax.figure.colorbar(drawn, ax=ax, label="length of the gradient estimate", shrink=0.85)
    limit = 1.06 * float(np.abs(xi).max())
    if units is not None:
        for i, unit in enumerate(finite_matrix("units", units, 2)):
            across = np.array([-unit[1], unit[0]]) / np.linalg.norm(unit)
            ends = np.outer([-2 * limit, 2 * limit], across)
            ax.plot(*ends.T, color=_color(i), linestyle="--", linewidth=1.2, label=f"normal to unit {i + 1}")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, fontsize=9, frameon=False)
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xlabel=r"$\xi_1$", ylabel=r"$\xi_2$")
    return ax

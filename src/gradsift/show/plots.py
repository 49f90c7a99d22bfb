"""Figures, one function each; every function takes ``ax=`` (or ``axes=``) and returns what it drew on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Floats, at_least, finite_matrix, finite_vector, same_rows
from ..model import SigmoidCombination
from ..runtime import load_extra

if TYPE_CHECKING:
    from ..paper.method.candidates import Candidates

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")  # Okabe and Ito
LEFT_OUT = "#9a9a9a"  # what belongs to no unit


def place_for(ax: Any, width: float = 5.6, height: float = 3.8) -> Any:
    """Return the given axes, or new ones in a figure of this size (inches)."""
    if ax is None:
        _, ax = load_extra("matplotlib.pyplot", "plot").subplots(figsize=(width, height), layout="constrained")
    return ax


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
        _, axes = load_extra("matplotlib.pyplot", "plot").subplots(
            1, 3, figsize=(7.6, height), sharey=True, layout="constrained"
        )
    places = np.arange(1, model.n_units + 1)
    for ax, name in zip(axes, _PANELS):
        values = getattr(model, name)
        spread = np.asarray(errors.get(name, np.nan), dtype=np.float64)
        known = spread.shape == values.shape and bool(np.isfinite(spread).all())
        half = 1.96 * spread if known else None
        ax.errorbar(values, places, xerr=half, fmt="o", color=PALETTE[0], ecolor=PALETTE[1], capsize=3, markersize=4.5)
        if name != "slopes":
            ax.axvline(0, color=LEFT_OUT, linewidth=0.8, linestyle=":")
        ax.set_title(name if known else f"{name} (no interval)", fontsize=10)
        ax.set_xlim(*_limits(values, 0.0 if half is None else half))
        ax.locator_params(axis="x", nbins=4)  # panels are narrow, and labels like -0.04 wide
    steps = max(1, -(-model.n_units // 20))
    axes[0].set(ylabel="unit", yticks=places[::steps], ylim=(model.n_units + 0.5, 0.5))
    return axes


def _limits(values: Floats, half: Any) -> tuple[float, float]:
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
    ax = place_for(ax, 4.6, 3.9)
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
    same_rows(at, heights)
    ax = place_for(ax, 6.4, 3.4)
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
    ax = place_for(ax, 6.4, 1.4 + 0.32 * len(spent))
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
    same_rows(r, target)
    ax = place_for(ax)
    shown = np.linspace(0, len(r) - 1, min(len(r), 2000)).astype(int)  # enough to see, small enough to send
    ax.scatter(r[shown], (target - r)[shown], s=7, color=PALETTE[5], alpha=0.5, linewidths=0, rasterized=True)
    groups = _equal_groups(r, 20)
    middle = [float(r[g].mean()) for g in groups]
    means = [float((target - r)[g].mean()) for g in groups]
    errors = [1.96 * float((target - r)[g].std()) / np.sqrt(len(g)) for g in groups]
    ax.errorbar(middle, means, errors, color=PALETTE[1], marker="o", markersize=3.5, capsize=2, label="mean, 95%")
    ax.axhline(0, color=LEFT_OUT, linewidth=0.8)
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
    same_rows(p, seen)
    at_least("n_bins", n_bins, 1)
    if (p < 0).any() or (p > 1).any() or not np.isin(seen, (0, 1)).all():
        raise ValueError("calibration needs probabilities in [0, 1] and positive in {0, 1}.")
    ax = place_for(ax, 4.4, 4.2)
    groups = _equal_groups(p, n_bins)
    share = np.array([seen[g].mean() for g in groups])
    sizes = np.array([len(g) for g in groups])
    ax.plot([0, 1], [0, 1], color=LEFT_OUT, linestyle=":", label="perfect")
    # Binomial standard errors; a share of 0 or 1 in a small group still has one, that of half a row.
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
    same_rows(k, scores)
    ax = place_for(ax)
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
    same_rows(values, n)
    ax = place_for(ax)
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
        figure = load_extra("matplotlib.pyplot", "plot").figure(figsize=(12.6, 5.0))
        axes = figure.subplots(1, 3, subplot_kw={"projection": "3d"})
        figure.subplots_adjust(left=0.01, right=0.96, bottom=0.14, top=0.93, wspace=0.06)
    colors = [PALETTE[label % len(PALETTE)] if label >= 0 else LEFT_OUT for label in np.asarray(labels).tolist()]
    values, directions = candidates.estimates.values, candidates.directions
    reach = float(np.quantile(np.abs(values), 0.999)) or 1.0
    axes[0].scatter(*values.T, s=3, color="#444444", alpha=0.35, linewidths=0)
    axes[0].set_title(f"(a) {len(values)} gradient estimates")
    axes[1].scatter(*directions.T, s=9, color="#444444", alpha=0.8, linewidths=0)
    axes[1].set_title(f"(b) {len(directions)} candidates")
    axes[2].scatter(*directions.T, s=9, c=colors, alpha=0.8, linewidths=0)
    axes[2].set_title(f"(c) {len(middle)} clusters, centres as arrows")
    for i, center in enumerate(middle):
        axes[2].quiver(0, 0, 0, *center, color=PALETTE[i % len(PALETTE)], linewidth=2.4, arrow_length_ratio=0.12)
    if truth is not None:
        for unit in finite_matrix("truth", truth, 3):
            axes[2].plot(*np.stack((np.zeros(3), unit)).T, color="black", linestyle="--", linewidth=1.1)
    for ax, limit in zip(axes, (reach, 1.05, 1.05)):
        ticks = np.array([-1.0, 0.0, 1.0]) * (1.0 if limit > 0.99 else float(f"{0.8 * limit:.1g}"))
        for axis, number in zip("xyz", (1, 2, 3)):
            ax.set(**{f"{axis}lim": (-limit, limit), f"{axis}ticks": ticks})
            getattr(ax, f"set_{axis}label")(f"$x_{number}$", labelpad=-2)
        ax.set_box_aspect((1, 1, 1), zoom=0.92)
        ax.view_init(elev=24, azim=38)
        ax.tick_params(labelsize=8, pad=0)
    return axes


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
    ax = place_for(ax, 6.2, 5.2)
    norms = np.linalg.norm(arrows, axis=1)
    drawn = ax.quiver(*xi.T, *arrows.T, norms, cmap="viridis_r", angles="xy", width=0.004)
    ax.figure.colorbar(drawn, ax=ax, label="length of the gradient estimate", shrink=0.85)
    limit = 1.06 * float(np.abs(xi).max())
    if units is not None:
        for i, unit in enumerate(finite_matrix("units", units, 2)):
            across = np.array([-unit[1], unit[0]]) / np.linalg.norm(unit)
            ends = np.outer([-2 * limit, 2 * limit], across)
            ax.plot(
                *ends.T, color=PALETTE[i % len(PALETTE)], linestyle="--", linewidth=1.2, label=f"normal to unit {i + 1}"
            )
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
    ax = place_for(ax)
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
    ax = place_for(ax)
    away = np.sort(np.abs(values - np.median(values)))[::-1]
    chosen = len(away) if n_chosen is None else n_chosen
    places = np.arange(1, len(away) + 1)
    ax.plot(places, away, color=LEFT_OUT, linewidth=1)
    ax.plot(places[:chosen], away[:chosen], "o", color=PALETTE[0], label="taken")
    if chosen < len(away):
        ax.plot(places[chosen:], away[chosen:], "o", color=LEFT_OUT, label="left")
    if noise_edge is not None:
        ax.axhline(noise_edge, color=PALETTE[1], linestyle="--", label="edge of the noise")
    ax.set(xlabel="eigenvalue, by rank", ylabel="distance from the median", ylim=(0, None))
    ax.locator_params(axis="x", integer=True)
    ax.legend(fontsize=9, frameon=False)
    return ax

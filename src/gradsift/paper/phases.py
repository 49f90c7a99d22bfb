"""Where the literal algorithm works: angle of its worst centre over point scale, threshold, rows and dimension.

Exact gradients show the bias (two units active at once near the origin), estimated ones add the variance (few rows far
out). Both are in one picture, so that the corner between them can be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import Floats
from ..files import open_whole
from ..geometry import match_units
from ..model import SigmoidCombination
from ..progress import report
from ..runtime import load_extra
from ..show.plots import PALETTE
from .method.clustering import DirectionalKMeans
from .method.gradients import KernelGradients
from .method.literal import row_options


@dataclass(frozen=True)
class PhasesGrid:
    """What is varied.

    Attributes
    ----------
    scales : point scales (xi0)
    shares : shares of the gradients that are kept, longest first (the threshold w0 as a quantile)
    rows : numbers of rows
    n_points, n_seeds : int
    """

    scales: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0)
    shares: tuple[float, ...] = (0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
    rows: tuple[int, ...] = (1_000, 10_000, 100_000)
    n_points: int = 400
    n_seeds: int = 3


@dataclass(frozen=True)
class Phases:
    """Median angles over seeds, in degrees.

    Attributes
    ----------
    n_features : int
    grid : PhasesGrid
    exact : (scales, shares) array
        With exact mean gradients: bias alone.
    estimated : (rows, scales, shares) array
        With kernel estimates from so many rows: bias and variance.
    error : (rows, scales) array
        Median relative error of a single gradient estimate: variance alone.
    """

    n_features: int
    grid: PhasesGrid
    exact: Floats
    estimated: Floats
    error: Floats


def run_phases(n_features: int, grid: PhasesGrid, seed: int = 1, answers: Any = 0.1) -> Phases:
    """Run the algorithm over the grid for two orthonormal units of slope 2 and weights 1/2.

    O(n_seeds scales n_points sum(rows) d) flops.
    """
    shape = (grid.n_seeds, len(grid.scales), len(grid.shares))
    exact, error = np.empty(shape), np.empty((grid.n_seeds, len(grid.rows), len(grid.scales)))
    estimated = np.empty((grid.n_seeds, len(grid.rows), *shape[1:]))
    model = SigmoidCombination(np.eye(n_features)[:2], [0.5, 0.5], 2.0)
    for s in range(grid.n_seeds):
        X, y = model.sample(max(grid.rows), answers, rng=np.random.default_rng([seed, s, 1]))
        directions = np.random.default_rng([seed, s, 2]).standard_normal((grid.n_points, n_features))
        for i, scale in enumerate(grid.scales):
            truth = model.smoothed_gradient(scale * directions)
            exact[s, i] = _angles(truth, grid.shares, model.units)
            for j, n in enumerate(grid.rows):
                values = KernelGradients().estimate((X[:n], y[:n]), scale * directions).values
                estimated[s, j, i] = _angles(values, grid.shares, model.units)
                sizes = np.maximum(np.linalg.norm(truth, axis=1), 1e-12)
                error[s, j, i] = np.median(np.linalg.norm(values - truth, axis=1) / sizes)
            report("phases", s * len(grid.scales) + i + 1, grid.n_seeds * len(grid.scales))
    return Phases(n_features, grid, *(np.median(part, axis=0) for part in (exact, estimated, error)))


def _angles(gradients: Floats, shares: Sequence[float], units: Floats) -> list[float]:
    """Angle of the worst centre when the longest share of the gradients is clustered, for each share."""
    order = np.argsort(-np.linalg.norm(gradients, axis=1), kind="stable")
    found = []
    for share in shares:
        kept = gradients[order[: max(8, round(share * len(order)))]]
        kept = kept[np.linalg.norm(kept, axis=1) > 0]
        centers = DirectionalKMeans(len(units), n_init=5, random_state=0).fit(kept).cluster_centers_
        found.append(float(np.degrees(2 * np.arcsin(min(1.0, match_units(centers, units).max_error / 2)))))
    return found


def draw_phases(diagram: Phases) -> Any:
    """Draw the maps (exact, then each number of rows; a star marks the defaults) and bias against variance."""
    plt, grid = load_extra("matplotlib.pyplot", "plot"), diagram.grid
    maps = [("exact gradients", diagram.exact)]
    maps += [(f"{n:,} rows", values) for n, values in zip(grid.rows, diagram.estimated)]
    figure, axes = plt.subplots(1, len(maps) + 1, figsize=(3.1 * (len(maps) + 1), 3.6), layout="constrained")
    for ax, (title, values) in zip(axes, maps):
        image = ax.imshow(values.T, origin="lower", aspect="auto", vmin=0, vmax=60, cmap="viridis_r")
        ax.set(title=title, xlabel="point scale", xticks=range(len(grid.scales)), yticks=range(len(grid.shares)))
        ax.set_xticklabels([f"{s:g}" for s in grid.scales], rotation=60)
        ax.set_yticklabels([f"{q:.0%}" for q in grid.shares])
        for (i, j), value in np.ndenumerate(values):
            ax.text(i, j, f"{value:.0f}", ha="center", va="center", fontsize=6.5, color="w" if value > 30 else "k")
    for ax, n in zip(axes[1:], grid.rows):
        _, scale, share = row_options(n, diagram.n_features, 2)
        x = np.interp(scale, grid.scales, np.arange(len(grid.scales)))
        ax.plot(x, np.interp(share, grid.shares, np.arange(len(grid.shares))), "*", ms=12, mfc="none", mec="#d55e00")
    axes[0].set_ylabel("share of gradients kept")
    figure.colorbar(image, ax=axes[len(maps) - 1], label="angle of the worst centre (degrees)")
    last, kept = axes[-1], int(np.argmin(np.abs(np.array(grid.shares) - 0.8)))
    last.plot(grid.scales, diagram.exact[:, kept], "k--", label="exact: bias")
    for j, n in enumerate(grid.rows):
        last.plot(grid.scales, diagram.estimated[j, :, kept], color=PALETTE[j], marker="o", ms=3, label=f"{n:,} rows")
    last.set(title=f"{grid.shares[kept]:.0%} kept", xlabel="point scale", ylabel="degrees", xscale="log", ylim=(0, 95))
    last.legend(fontsize=7)
    figure.suptitle(f"d = {diagram.n_features}, two units of slope 2, values with noise 0.1; stars: the defaults")
    return figure


def write_phases(
    folder: str | Path, seed: int = 1, grid: PhasesGrid | None = None, dims: Sequence[int] = (3, 10)
) -> list[Path]:
    """Write one PNG for each dimension into `folder` (made if missing); return the paths."""
    plt, target = load_extra("matplotlib.pyplot", "plot"), Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for d in dims:
        figure = draw_phases(run_phases(d, grid or PhasesGrid(), seed))
        paths.append(target / f"phases_d{d}.png")
        with open_whole(paths[-1], "wb") as stream:
            figure.savefig(stream, format="png", dpi=130)
        plt.close(figure)
    return paths

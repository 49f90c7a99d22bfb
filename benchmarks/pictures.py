"""Pictures of the page of evidence, drawn from rows of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Rows = list[dict[str, Any]]
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by everybody


def _figure(*shape: Any, **options: Any) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "gradsift"  # the same picture, byte for byte
    return pyplot.subplots(*shape, layout="constrained", **options)


def _write(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
    pyplot.close(figure)


def boxes(rows: Rows, path: Path) -> None:
    """Queries per unknown of each method on each box; filled where it succeeds on nine of ten runs or more."""
    names = list(dict.fromkeys(row["box"] for row in rows))
    methods = sorted({row["method"] for row in rows}, key=lambda name: (name != "ours", name))
    figure, ax = _figure(figsize=(8.5, 0.42 * len(names) + 1.6))
    for number, (method, color) in enumerate(zip(methods, _COLORS)):
        lift = 0.12 * (number - 2)  # marks of the same place stay apart
        mine = [row for row in rows if row["method"] == method and "success" in row]
        good = [int(row["success"].split()[0]) >= 0.9 * int(row["success"].split()[2]) for row in mine]
        x, y = [row["queries per unknown"] for row in mine], [names.index(row["box"]) + lift for row in mine]
        face = [color if g else "none" for g in good]
        marks = {"s": 70, "marker": "D", "zorder": 3} if method == "ours" else {"s": 45, "marker": "o", "zorder": 2}
        ax.scatter(x, y, facecolors=face, edgecolors=color, linewidths=1.5, label=method, **marks)
    ax.set(xscale="log", xlabel="queries per unknown", yticks=range(len(names)), yticklabels=names)
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    legend = figure.legend(loc="outside lower center", ncol=3, frameon=False, fontsize=8)
    for handle, color in zip(legend.legend_handles, _COLORS):
        handle.set_facecolor(color)
    ax.set_title("filled: at least nine of ten runs find every unit", fontsize=9, loc="left")
    _write(figure, path)


def growth(rows: Rows, path: Path) -> None:
    """Own seconds, seconds of evaluating the box, and peak memory over the number of unknowns."""
    figure, (left, right) = _figure(1, 2, figsize=(8.5, 3.2))
    unknowns = [row["unknowns"] for row in rows]
    left.loglog(unknowns, [row["own_seconds"] for row in rows], "o-", color=_COLORS[0], label="gradsift itself")
    left.loglog(
        unknowns, [row["evaluation_seconds"] for row in rows], "s--", color=_COLORS[1], label="evaluating the box"
    )
    left.set(xlabel="unknowns", ylabel="seconds, one thread")
    left.legend(frameon=False, fontsize=8)
    right.loglog(unknowns, [row["peak_megabytes"] for row in rows], "o-", color=_COLORS[0])
    right.set(xlabel="unknowns", ylabel="peak memory, MB")
    for ax in (left, right):
        ax.grid(alpha=0.3)
    _write(figure, path)


def phases(rows: Rows, path: Path) -> None:
    """Share of tables whose units are found, over rows (across) and units (up), ours and the MLP's."""
    n, k = sorted({row["n"] for row in rows}), sorted({row["k"] for row in rows})
    held = {(row["n"], row["k"]): row for row in rows}
    figure, panels = _figure(1, 2, figsize=(8.5, 3.4), sharey=True)
    titles = {
        "ours": "gradsift, number of units not given",
        "scikit-learn's MLP": "scikit-learn's MLP, told the number",
    }
    for ax, (name, title) in zip(panels, titles.items()):
        share = np.array([[held[i, j][name] / held[i, j]["tables"] for i in n] for j in k])
        image = ax.imshow(share, origin="lower", vmin=0, vmax=1, cmap="viridis", aspect="auto")
        for (row, column), value in np.ndenumerate(share):
            ax.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=7,
                    color="black" if value > 0.55 else "white")  # fmt: skip
        ax.set(xticks=range(len(n)), yticks=range(len(k)), yticklabels=k, xlabel="rows")
        ax.set_xticklabels([f"{i:,}" for i in n], fontsize=7)
        ax.set_title(title, fontsize=9)
    panels[0].set_ylabel("units")
    figure.colorbar(image, ax=panels, label="share found", fraction=0.04)
    _write(figure, path)
